// SPDX-License-Identifier: MIT
/*
 * procfs_system.c - the files of /proc that describe the whole machine.
 *
 * THEORY      top, free, uptime, mount and sysctl read these files, in Linux's formats.  No state is kept
 *             here: a read fetches the numbers from the parts of the kernel that own them.  The CPU lines of
 *             `stat` are the clock's samples, in ticks.
 *             Numbers for features that do not exist here (buffers, a swap cache,
 *             blocked processes) are zero.
 * LOCKING     this file has no lock of its own
 * SEE ALSO    procfs.c, proc(5), docs/devices.md
 */
#include "disp/disp.h"
#include "disp/loadavg.h"
#include "disp/timer.h"
#include "ipc/ipc.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/page.h"
#include "net/net.h"
#include "procfs/procfs.h"
#include "proc/ptrace.h"
#include "proc/uts.h"
#include "stat/cpustat.h"
#include "pages/cachelist.h"
#include "pages/pageout.h"
#include "pages/reserve.h"
#include "pages/swap.h"
#include "x86/package.h"

enum { KB_PER_PAGE = PAGE_SIZE / 1024, NS_PER_TICK = 1000000000 / HZ };

/* Sum of one counter over all CPUs.  off: offset of the counter in struct cpu_stat. */
static uint64_t sum_stat(size_t off)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < ncpu; i++)
        sum += *(uint64_t *)((char *)cpus[i]->stat + off);
    return sum;
}
#define SUM(field) sum_stat(offsetof(struct cpu_stat, field))

/* The columns: user nice system idle iowait irq softirq steal guest guest_nice. */
static void show_cpu_ticks(struct text *out, uint64_t usr, uint64_t sys, uint64_t idl, uint64_t wt)
{
    text_add(out, " %lu 0 %lu %lu %lu 0 0 0 0 0\n", usr, sys, idl, wt);
}

static PROCFS_SHOW(show_stat)
{
    text_str(out, "cpu ");
    show_cpu_ticks(out, SUM(usr_ticks), SUM(sys_ticks), SUM(idl_ticks), SUM(wt_ticks));
    for (unsigned i = 0; i < ncpu; i++) {
        const struct cpu_stat *s = cpus[i]->stat;

        if (!cpumask_test(&cpu_online_mask, i))
            continue;
        text_add(out, "cpu%u", i);
        show_cpu_ticks(out, s->usr_ticks, s->sys_ticks, s->idl_ticks, s->wt_ticks);
    }
    text_add(out, "intr %lu\nctxt %lu\n", SUM(intr), SUM(csw));
    text_add(out, "btime %lu\nprocesses %lu\nprocs_running %u\nprocs_blocked 0\n",
             (clock_real_ns() - clock_mono_ns()) / 1000000000, SUM(forks), disp_runnable());
    return 0;
}

/* For vfs_each(): add the pages of a tmpfs to the number at `arg`. */
static int add_tmpfs_pages(struct vfs *vfs, const char *path, void *arg)
{
    uint64_t blocks, bfree, files, ffree;

    if (strcmp(vfs->type, "tmpfs") == 0) {
        vfs->op->statfs(vfs, &blocks, &bfree, &files, &ffree);
        *(uint64_t *)arg += blocks - bfree;
    }
    return 0;
}

static PROCFS_SHOW(show_meminfo)
{
    uint64_t free = 0, shmem = 0, cached = cachelist_pages(), promised, limit, swap, swap_free;

    for (unsigned i = 0; i < nnodes; i++)
        free += mem_free_pages(i);
    swap_total(&swap, &swap_free);
    reserve_state(&promised, &limit);
    vfs_each(add_tmpfs_pages, &shmem); /* tmpfs counts its blocks in pages */
    text_add(out, "MemTotal:       %8lu kB\nMemFree:        %8lu kB\nMemAvailable:   %8lu kB\n",
             mem_total_pages() * KB_PER_PAGE, free * KB_PER_PAGE, (free + cached) * KB_PER_PAGE);
    text_add(out, "Buffers:        %8u kB\nCached:         %8lu kB\nSwapCached:     %8u kB\n", 0,
             (shmem + cached) * KB_PER_PAGE, 0);
    text_add(out, "SwapTotal:      %8lu kB\nSwapFree:       %8lu kB\nShmem:          %8lu kB\n",
             swap * KB_PER_PAGE, swap_free * KB_PER_PAGE, shmem * KB_PER_PAGE);
    text_add(out, "CommitLimit:    %8lu kB\nCommitted_AS:   %8lu kB\n", limit * KB_PER_PAGE,
             promised * KB_PER_PAGE);
    return 0;
}

/*
 * The names are Linux's, except for around_* (pages that were read around a fault) and swap_kept.
 * pgpgin and pgpgout are in KiB.
 */
static PROCFS_SHOW(show_vmstat)
{
    text_add(out, "nr_free_pages %lu\npgpgin %lu\npgpgout %lu\npswpin %lu\npswpout %lu\n",
             freemem(), SUM(pgpgin) * KB_PER_PAGE, SUM(pgpgout) * KB_PER_PAGE, SUM(anonpgin),
             SUM(anonpgout));
    text_add(out, "pgfault %lu\npgmajfault %lu\npgscan %lu\npgsteal %lu\n", SUM(minf) + SUM(mjf),
             SUM(mjf), SUM(scan), SUM(dfree));
    text_add(out, "around_read %lu\naround_used %lu\naround_wasted %lu\nswap_kept %lu\n",
             SUM(around_read), SUM(around_used), SUM(around_wasted), swap_kept());
    return 0;
}

/* The swap areas, sizes in KiB, as on Linux. */
static PROCFS_SHOW(show_swaps)
{
    struct swap_info s;

    text_add(out, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
    for (unsigned i = 0; swap_next(i, &s); i++)
        text_add(out, "%-40s%s\t%lu\t\t%lu\t\t-1\n", s.name, s.file ? "file     " : "partition",
                 s.pages * KB_PER_PAGE, (s.pages - s.free) * KB_PER_PAGE);
    return 0;
}

static PROCFS_SHOW(show_loadavg)
{
    unsigned threads = 0;
    int last = 0, pid = 0;

    while ((pid = proc_next(pid + 1)) > 0) {
        struct proc *p;

        spin_lock(&proc_lock);
        p = proc_find(pid);
        if (p != NULL)
            threads += p->nlwps;
        spin_unlock(&proc_lock);
        last = pid;
    }
    for (unsigned i = 0; i < 3; i++)
        text_add(out, "%u.%02u ", loadavg[i] >> LOADAVG_SHIFT,
                 ((loadavg[i] & ((1u << LOADAVG_SHIFT) - 1)) * 100) >> LOADAVG_SHIFT);
    text_add(out, "%u/%u %d\n", disp_runnable(), threads, last);
    return 0;
}

static void show_seconds(struct text *out, uint64_t ticks, const char *end)
{
    text_add(out, "%lu.%02lu%s", ticks / HZ, ticks % HZ, end);
}

static PROCFS_SHOW(show_uptime)
{
    show_seconds(out, clock_mono_ns() / NS_PER_TICK, " ");
    show_seconds(out, SUM(idl_ticks), "\n");
    return 0;
}

static PROCFS_SHOW(show_version)
{
    struct utsname u;

    uts_get(&u);
    text_add(out, "%s version %s (gcc %s) %s\n", u.sysname, u.release, __VERSION__, u.version);
    return 0;
}

/* The feature bits that the supported machines can have, by Linux's names. */
static void show_cpu_flags(struct text *out, const struct cpu_model *m)
{
    static const struct {
        uint8_t word, bit; /* 0: 1.edx  1: 1.ecx  2: ext.edx  3: ext.ecx  4: 7.ebx */
        const char *name;
    } flag[] = {
        {0, 0, "fpu"},      {0, 3, "pse"},      {0, 4, "tsc"},         {0, 5, "msr"},
        {0, 6, "pae"},      {0, 8, "cx8"},      {0, 9, "apic"},        {0, 11, "sep"},
        {0, 13, "pge"},     {0, 15, "cmov"},    {0, 16, "pat"},        {0, 19, "clflush"},
        {0, 23, "mmx"},     {0, 24, "fxsr"},    {0, 25, "sse"},        {0, 26, "sse2"},
        {0, 28, "ht"},      {2, 11, "syscall"}, {2, 20, "nx"},         {2, 26, "pdpe1gb"},
        {2, 27, "rdtscp"},  {2, 29, "lm"},      {1, 0, "pni"},         {1, 9, "ssse3"},
        {1, 13, "cx16"},    {1, 19, "sse4_1"},  {1, 20, "sse4_2"},     {1, 21, "x2apic"},
        {1, 23, "popcnt"},  {1, 30, "rdrand"},  {1, 31, "hypervisor"}, {3, 0, "lahf_lm"},
        {4, 0, "fsgsbase"}, {4, 7, "smep"},     {4, 9, "erms"},        {4, 20, "smap"},
    };
    const uint32_t word[] = {m->features_edx, m->features_ecx, m->ext_edx, m->ext_ecx,
                             m->leaf7_ebx};

    for (unsigned i = 0; i < array_size(flag); i++)
        if (word[flag[i].word] >> flag[i].bit & 1)
            text_add(out, " %s", flag[i].name);
    text_str(out, "\n\n");
}

static PROCFS_SHOW(show_cpuinfo)
{
    struct cpu_model m;
    uint64_t khz = ((1000000ull << clock_params.shift) / max_of(clock_params.mult, 1u));

    cpu_model_get(&m);
    for (unsigned i = 0; i < ncpu; i++) {
        struct cpu_place at = cpu_place_of(cpus[i]->apic_id);

        if (!cpumask_test(&cpu_online_mask, i))
            continue;
        text_add(out, "processor\t: %u\nvendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\n", i,
                 m.vendor, m.family, m.model);
        text_add(out, "model name\t: %s\nstepping\t: %u\ncpu MHz\t\t: %lu.%03lu\n", m.name,
                 m.stepping, khz / 1000, khz % 1000);
        text_add(out, "physical id\t: %u\ncore id\t\t: %u\napicid\t\t: %u\nflags\t\t:", at.package,
                 at.core, cpus[i]->apic_id);
        show_cpu_flags(out, &m);
    }
    return 0;
}

static PROCFS_SHOW(show_filesystems)
{
    const struct vfs_type *t = NULL;

    while ((t = vfs_next_type(t)) != NULL)
        text_add(out, "%s\t%s\n", t->disk ? "" : "nodev", t->name);
    return 0;
}

static int read_mounts_link(const struct pseudo_node *n, struct pseudo_arg arg, char *buf,
                            size_t size)
{
    return (int)min_of(str_copy(buf, "self/mounts", size), size);
}

/* ---- /proc/sys ---------------------------------------------------------------------------------------- */

enum { SYS_OSTYPE, SYS_OSRELEASE, SYS_VERSION, SYS_HOSTNAME, SYS_DOMAINNAME };

static PROCFS_SHOW(show_uts)
{
    struct utsname u;
    const char *field[] = {
        [SYS_OSTYPE] = u.sysname,    [SYS_OSRELEASE] = u.release,     [SYS_VERSION] = u.version,
        [SYS_HOSTNAME] = u.nodename, [SYS_DOMAINNAME] = u.domainname,
    };

    uts_get(&u);
    text_add(out, "%s\n", field[n->tag]);
    return 0;
}

static int store_uts(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t len)
{
    if (len > 0 && buf[len - 1] == '\n')
        len--;
    return n->tag == SYS_HOSTNAME ? uts_set_nodename(buf, len) : uts_set_domainname(buf, len);
}

static PROCFS_SHOW(show_core_pattern)
{
    char pattern[CORE_PATTERN_MAX];

    core_pattern_get(pattern);
    text_add(out, "%s\n", pattern);
    return 0;
}

static int store_core_pattern(const struct pseudo_node *n, struct pseudo_arg arg, char *buf,
                              size_t len)
{
    if (len > 0 && buf[len - 1] == '\n')
        len--;
    return core_pattern_set(buf, len);
}

/* A file that shows a constant number: the tag of its node. */
static PROCFS_SHOW(show_tag)
{
    text_add(out, "%u\n", n->tag);
    return 0;
}

static const struct pseudo_node sys_kernel_files[] = {
    {.name = "ostype", .type = VREG, .mode = 0444, .tag = SYS_OSTYPE, .show = show_uts},
    {.name = "osrelease", .type = VREG, .mode = 0444, .tag = SYS_OSRELEASE, .show = show_uts},
    {.name = "version", .type = VREG, .mode = 0444, .tag = SYS_VERSION, .show = show_uts},
    {.name = "hostname",
     .type = VREG,
     .mode = 0644,
     .tag = SYS_HOSTNAME,
     .show = show_uts,
     .store = store_uts},
    {.name = "domainname",
     .type = VREG,
     .mode = 0644,
     .tag = SYS_DOMAINNAME,
     .show = show_uts,
     .store = store_uts},
    {.name = "tainted", .type = VREG, .mode = 0444, .tag = 0, .show = show_tag},
    {.name = "core_pattern",
     .type = VREG,
     .mode = 0644,
     .show = show_core_pattern,
     .store = store_core_pattern},
    {.name = "pid_max", .type = VREG, .mode = 0444, .tag = 32768, .show = show_tag},
    {.name = "ngroups_max", .type = VREG, .mode = 0444, .tag = NGROUPS_MAX, .show = show_tag},
    {.name = "shmmax", .type = VREG, .mode = 0444, .tag = SHOW_SHMMAX, .show = procfs_show_shm},
    {.name = "shmall", .type = VREG, .mode = 0444, .tag = SHOW_SHMALL, .show = procfs_show_shm},
    {.name = "shmmni", .type = VREG, .mode = 0444, .tag = SHOW_SHMMNI, .show = procfs_show_shm},
    {.name = "sem", .type = VREG, .mode = 0444, .tag = SHOW_SEM_LIMITS, .show = procfs_show_sem},
    {.name = NULL},
};

/* 2: memory is promised only if there is enough, and nothing changes that (pages/reserve.c). */
static const struct pseudo_node sys_vm_files[] = {
    {.name = "overcommit_memory", .type = VREG, .mode = 0444, .tag = 2, .show = show_tag},
    {.name = NULL},
};

static const struct pseudo_node sys_fs_files[] = {
    {.name = "pipe-max-size", .type = VREG, .mode = 0444, .tag = PIPE_MAX_SIZE, .show = show_tag},
    {.name = NULL},
};

static const struct pseudo_node sys_dirs[] = {
    {.name = "fs", .type = VDIR, .mode = 0555, .children = sys_fs_files},
    {.name = "kernel", .type = VDIR, .mode = 0555, .children = sys_kernel_files},
    {.name = "vm", .type = VDIR, .mode = 0555, .children = sys_vm_files},
    {.name = NULL},
};

static const struct pseudo_node sysvipc_files[] = {
    {.name = "shm", .type = VREG, .mode = 0444, .tag = SHOW_LIST, .show = procfs_show_shm},
    {.name = "sem", .type = VREG, .mode = 0444, .tag = SHOW_LIST, .show = procfs_show_sem},
    {.name = NULL},
};

#define NET_FILE(file, what)                                                                       \
    {.name = file, .type = VREG, .mode = 0444, .tag = what, .show = net_show}
static const struct pseudo_node net_files[] = {
    NET_FILE("tcp", NET_SHOW_TCP),
    NET_FILE("udp", NET_SHOW_UDP),
    NET_FILE("raw", NET_SHOW_RAW),
    NET_FILE("unix", NET_SHOW_UNIX),
    NET_FILE("packet", NET_SHOW_PACKET),
    NET_FILE("dev", NET_SHOW_DEV),
    NET_FILE("route", NET_SHOW_ROUTE),
    NET_FILE("arp", NET_SHOW_ARP),
    {0},
};

const struct pseudo_node procfs_system_files[] = {
    {.name = "net", .type = VDIR, .mode = 0555, .children = net_files},
    {.name = "stat", .type = VREG, .mode = 0444, .show = show_stat},
    {.name = "meminfo", .type = VREG, .mode = 0444, .show = show_meminfo},
    {.name = "vmstat", .type = VREG, .mode = 0444, .show = show_vmstat},
    {.name = "swaps", .type = VREG, .mode = 0444, .show = show_swaps},
    {.name = "loadavg", .type = VREG, .mode = 0444, .show = show_loadavg},
    {.name = "uptime", .type = VREG, .mode = 0444, .show = show_uptime},
    {.name = "version", .type = VREG, .mode = 0444, .show = show_version},
    {.name = "cpuinfo", .type = VREG, .mode = 0444, .show = show_cpuinfo},
    {.name = "filesystems", .type = VREG, .mode = 0444, .show = show_filesystems},
    {.name = "interrupts", .type = VREG, .mode = 0444, .show = procfs_show_interrupts},
    {.name = "partitions", .type = VREG, .mode = 0444, .show = procfs_show_partitions},
    {.name = "diskstats", .type = VREG, .mode = 0444, .show = procfs_show_diskstats},
    {.name = "mounts", .type = VLNK, .mode = 0777, .link = read_mounts_link},
    {.name = "self", .type = VLNK, .mode = 0777, .tag = TAG_WHOLE, .link = procfs_self_link},
    {.name = "thread-self",
     .type = VLNK,
     .mode = 0777,
     .tag = TAG_THREAD,
     .link = procfs_self_link},
    {.name = "irq", .type = VDIR, .mode = 0555, .prefix = "", .next = procfs_irq_next},
    {.name = "sys", .type = VDIR, .mode = 0555, .children = sys_dirs},
    {.name = "sysvipc", .type = VDIR, .mode = 0555, .children = sysvipc_files},
    {.name = NULL},
};
