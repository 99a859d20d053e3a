// SPDX-License-Identifier: MIT
/*
 * sys_misc.c - calls about the whole system: names, memory, messages, random numbers, reboot.
 *
 * SEE ALSO    proc/uts.h, stat/panic.h (messages, machine_exit), lib/crng.h
 */
#include "disp/loadavg.h"
#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/crng.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/page.h"
#include "proc/proc.h"
#include "proc/uts.h"
#include "stat/panic.h"
#include "sys/sys.h"
#include "pages/swap.h"

long sys_uname(struct regs *r)
{
    struct utsname u;

    uts_get(&u);
    return copy_out(r->arg[0], &u, sizeof u);
}

static long set_system_name(struct regs *r, int (*set)(const char *, size_t))
{
    char name[UTS_LEN];
    int err;

    if (!cred_superuser(curcred()))
        return -EPERM;
    if (r->arg[1] >= UTS_LEN)
        return -EINVAL;
    err = copy_in(name, r->arg[0], r->arg[1]);
    return err != 0 ? err : set(name, r->arg[1]);
}

long sys_sethostname(struct regs *r)
{
    return set_system_name(r, uts_set_nodename);
}

long sys_setdomainname(struct regs *r)
{
    return set_system_name(r, uts_set_domainname);
}

/* Linux's struct sysinfo. */
struct user_sysinfo {
    int64_t uptime;
    uint64_t loads[3]; /* 65536 = 1.0 */
    uint64_t totalram, freeram, sharedram, bufferram, totalswap, freeswap;
    uint16_t procs, pad;
    uint32_t pad2;
    uint64_t totalhigh, freehigh;
    uint32_t mem_unit;
    uint32_t pad3;
};
_Static_assert(sizeof(struct user_sysinfo) == 112, "Linux's struct sysinfo");

long sys_sysinfo(struct regs *r)
{
    struct user_sysinfo si = {
        .uptime = (int64_t)(clock_mono_ns() / 1000000000),
        .totalram = mem_total_pages() * PAGE_SIZE,
        .mem_unit = 1,
    };

    for (unsigned i = 0; i < 3; i++)
        si.loads[i] = (uint64_t)loadavg[i] << (16 - LOADAVG_SHIFT);
    swap_total(&si.totalswap, &si.freeswap);
    si.totalswap *= PAGE_SIZE;
    si.freeswap *= PAGE_SIZE;
    for (unsigned node = 0; node < nnodes; node++)
        si.freeram += mem_free_pages(node) * PAGE_SIZE;
    for (int pid = proc_next(1); pid != 0; pid = proc_next(pid + 1))
        si.procs++;
    return copy_out(r->arg[0], &si, sizeof si);
}

/*
 * syslog(2): read or clear the message buffer.  Messages that were cleared can still be read from /dev/kmsg.
 * There are no console levels.  Only the superuser can read the buffer, because it contains this run's random seed.
 */
long sys_syslog(struct regs *r)
{
    enum {
        READ_ALL = 3,
        READ_CLEAR = 4,
        CLEAR = 5,
        CONSOLE_LEVEL = 8,
        SIZE_BUFFER = 10,
        LOG_MAX = 65536
    };
    uint64_t size = min_of(r->arg[2], (uint64_t)LOG_MAX);
    char *buf;
    long n;

    if (r->arg[0] == SIZE_BUFFER)
        return LOG_MAX;
    if (!cred_superuser(curcred()))
        return -EPERM;
    if (r->arg[0] == CLEAR) {
        klog_read(NULL, 0, false, true);
        return 0;
    }
    if (r->arg[0] != READ_ALL && r->arg[0] != READ_CLEAR)
        return r->arg[0] > CLEAR && r->arg[0] <= CONSOLE_LEVEL ? 0 : -EINVAL;
    if ((int)r->arg[2] < 0 || r->arg[1] == 0)
        return -EINVAL;
    if (size == 0)
        return 0;
    buf = kmem_alloc(size);
    if (buf == NULL)
        return -ENOMEM;
    n = (long)klog_read(buf, size, false, r->arg[0] == READ_CLEAR);
    if (copy_out(r->arg[1], buf, (size_t)n) != 0)
        n = -EFAULT;
    kmem_free(buf);
    return n;
}

/*
 * getrandom(buf, len, flags): never waits, with any flags, because the generator is seeded at boot.
 */
long sys_getrandom(struct regs *r)
{
    enum { GRND_ALL = 7, INSECURE_AND_RANDOM = 6, CHUNK = 256 };
    uint8_t words[CHUNK];
    size_t done = 0, len = min_of(r->arg[1], (uint64_t)INT32_MAX);

    if ((r->arg[2] & ~(uint64_t)GRND_ALL) ||
        (r->arg[2] & INSECURE_AND_RANDOM) == INSECURE_AND_RANDOM)
        return -EINVAL;
    while (done < len) {
        size_t n = min_of(len - done, sizeof words);

        crng_bytes(words, n);
        if (copy_out(r->arg[0] + done, words, n) != 0)
            return -EFAULT;
        done += n;
        if (done < len && signal_pending())
            break;
    }
    return (long)done;
}

/* reboot(magic1, magic2, command): halting and powering off are the same here. */
long sys_reboot(struct regs *r)
{
    enum { RESTART = 0x01234567, CAD_OFF = 0, POWER_OFF = 0x4321fedc };
    const uint32_t magic1 = 0xfee1dead, halt = 0xcdef0123, cad_on = 0x89abcdef;
    static const uint32_t magic2[] = {0x28121969, 0x05121996, 0x16041998, 0x20112000};
    uint32_t cmd = (uint32_t)r->arg[2];
    bool known = false;

    for (unsigned i = 0; i < array_size(magic2); i++)
        known |= (uint32_t)r->arg[1] == magic2[i];
    if (!cred_superuser(curcred()))
        return -EPERM;
    if ((uint32_t)r->arg[0] != magic1 || !known)
        return -EINVAL;
    if (cmd == POWER_OFF || cmd == halt) {
        vfs_shutdown();
        machine_exit(EXIT_CLEAN);
    }
    if (cmd == RESTART) {
        vfs_shutdown();
        verdict("@reboot");
        machine_reset();
    }
    return cmd == CAD_OFF || cmd == cad_on ? 0 : -EINVAL;
}
