// SPDX-License-Identifier: MIT
/*
 * sys_mem.c - memory calls: mmap and related calls, meminfo(2), memcntl(2).
 *
 * THEORY      These functions check the arguments and find the memory object of a descriptor.  The address
 *             space (vm/vm.h) does the other work.  Only mincore and meminfo copy user memory here; all other
 *             calls use addresses only as numbers.
 * SEE ALSO    vm/vm.h, docs/memory.md, include/uapi/homeroom.h; semantics: Solaris 9
 *             meminfo(2), memcntl(2)
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "lgrp/lgrp.h"
#include "mem/page.h"
#include "sys/path.h"
#include "sys/sys.h"
#include "uapi/homeroom.h"

enum { MREMAP_MAYMOVE = 1, MREMAP_FIXED = 2, MREMAP_DONTUNMAP = 4 };
enum { MS_ASYNC = 1, MS_INVALIDATE = 2, MS_SYNC = 4 };

static struct as *current_as(void)
{
    return curproc()->as;
}

/* The memory object with the pages of a file; NULL: the file cannot be mapped. */
static struct vm_object *object_of_file(struct file *f)
{
    if (f->vn != NULL && f->vn->type == VREG && f->vn->op->read == NULL)
        return &f->vn->obj;
    return f->ops->object;
}

/*
 * Checks whether the file's type, open mode and mount allow the mapping.  Stores in *never the PROT_* bits
 * that mprotect() must not add later.  0, -EBADF, -ENODEV, -EACCES, -EPERM.
 */
static int check_mapping(struct file *f, int prot, int flags, int *never)
{
    unsigned acc = atomic_load(&f->flags);

    if ((acc & O_PATH) != 0)
        return -EBADF;
    acc &= O_ACCMODE;
    if (object_of_file(f) == NULL)
        return -ENODEV;
    if (acc == O_WRONLY)
        return -EACCES;
    *never = acc == O_RDWR ? 0 : PROT_WRITE;
    if (f->vn != NULL && (f->vn->vfs->flags & MS_NOEXEC) != 0)
        *never |= PROT_EXEC;
    if (f->vn != NULL && (f->vn->attr & VN_APPEND) && (flags & MAP_SHARED) && acc == O_RDWR)
        return -EACCES;
    if ((prot & *never & PROT_EXEC) != 0)
        return -EPERM;
    if ((flags & MAP_SHARED) && (prot & *never & PROT_WRITE))
        return -EACCES;
    return 0;
}

/* Is `f` /dev/zero?  Mapping it is the traditional way to get anonymous memory. */
static bool is_dev_zero(const struct file *f)
{
    return f->vn != NULL && f->vn->type == VCHR && f->vn->rdev == makedev(1, 5);
}

/* Number of bytes that the caller is allowed to lock in memory. */
static uint64_t memlock_limit(void)
{
    return cred_superuser(curcred()) ? UINT64_MAX : limit(RLIMIT_MEMLOCK);
}

/*
 * MAP_LOCKED: locks a new mapping and returns its address.  If the mapping exceeds the limit,
 * unmaps it and returns -EAGAIN.
 */
static long lock_mapping(uint64_t addr, uint64_t len)
{
    if (as_mlock(current_as(), addr, len, true, memlock_limit()) == 0 ||
        memlock_limit() == UINT64_MAX)
        return (long)addr;
    as_unmap(current_as(), addr, len);
    return -EAGAIN;
}

/* Flags allowed with MAP_SHARED_VALIDATE.  Other kinds of mapping ignore unknown flags. */
enum {
    MAP_KNOWN = MAP_SHARED | MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_GROWSDOWN |
                MAP_DENYWRITE | MAP_EXECUTABLE | MAP_LOCKED | MAP_NORESERVE | MAP_POPULATE |
                MAP_NONBLOCK | MAP_STACK | MAP_HUGETLB | MAP_FIXED_NOREPLACE,
    MAP_HUGE_BITS = 0x3f << 26,
};

/* mmap() of an open file; *addr as for as_map().  0 or -errno. */
static int map_open_file(struct file *f, uint64_t *addr, uint64_t len, int prot, int flags,
                         uint64_t off)
{
    int never, err;

    if (is_dev_zero(f))
        return as_map(current_as(), addr, len, prot, flags | MAP_ANONYMOUS, NULL, 0, NULL, 0);
    err = check_mapping(f, prot, flags, &never);
    if (err != 0)
        return err;
    return as_map(current_as(), addr, len, prot, flags, object_of_file(f), off, f->vn, never);
}

/* mmap(addr, len, prot, flags, fd, off) */
long sys_mmap(struct regs *r)
{
    uint64_t addr = r->arg[0], off = r->arg[5];
    int prot = (int)r->arg[2] & (PROT_READ | PROT_WRITE | PROT_EXEC);
    int flags = (int)r->arg[3];
    int kind = flags & (MAP_SHARED | MAP_PRIVATE);
    bool locked = (flags & MAP_LOCKED) != 0;
    struct file *f;
    int err;

    if (kind == 0 || (off & ~PAGE_MASK) != 0)
        return -EINVAL;
    if (locked && memlock_limit() == 0)
        return -EPERM;
    if (kind == MAP_SHARED_VALIDATE) {
        if ((flags & ~(MAP_KNOWN | MAP_HUGE_BITS)) != 0 || (flags & MAP_ANONYMOUS) != 0)
            return flags & MAP_ANONYMOUS ? -EINVAL : -EOPNOTSUPP;
        flags &= ~MAP_PRIVATE;
    }
    if (flags & MAP_ANONYMOUS) {
        err = as_map(current_as(), &addr, r->arg[1], prot, flags, NULL, 0, NULL, 0);
    } else {
        f = fd_file(r->arg[4]);
        if (f == NULL)
            return -EBADF;
        err = map_open_file(f, &addr, r->arg[1], prot, flags, off);
        file_release(f);
    }
    if (err != 0)
        return err;
    return locked ? lock_mapping(addr, r->arg[1]) : (long)addr;
}

long sys_munmap(struct regs *r)
{
    return as_unmap(current_as(), r->arg[0], r->arg[1]);
}

long sys_mprotect(struct regs *r)
{
    enum { PROT_GROWSDOWN = 0x01000000 };

    if (r->arg[2] & ~(uint64_t)(PROT_READ | PROT_WRITE | PROT_EXEC | PROT_GROWSDOWN))
        return -EINVAL;
    return as_protect(current_as(), r->arg[0], r->arg[1], (int)r->arg[2] & 7);
}

long sys_mremap(struct regs *r)
{
    uint64_t new_addr = r->arg[4];
    int flags = (int)r->arg[3];
    int err;

    if (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED))
        return -EINVAL;
    if ((flags & MREMAP_FIXED) && !(flags & MREMAP_MAYMOVE))
        return -EINVAL;
    err = as_remap(current_as(), r->arg[0], r->arg[1], r->arg[2], flags, &new_addr);
    return err != 0 ? err : (long)new_addr;
}

long sys_brk(struct regs *r)
{
    return (long)as_brk(current_as(), r->arg[0]);
}

long sys_madvise(struct regs *r)
{
    return as_advise(current_as(), r->arg[0], r->arg[1], (int)r->arg[2]);
}

long sys_msync(struct regs *r)
{
    int flags = (int)r->arg[2];

    if ((flags & ~(MS_ASYNC | MS_INVALIDATE | MS_SYNC)) || (flags & (MS_ASYNC | MS_SYNC)) == 5)
        return -EINVAL;
    return as_msync(current_as(), r->arg[0], r->arg[1], flags);
}

/* mincore(addr, len, vec): one query of the address space for each CHUNK pages. */
long sys_mincore(struct regs *r)
{
    enum { CHUNK = 256 };
    uint8_t vec[CHUNK];
    uint64_t addr = r->arg[0], pages = (r->arg[1] + PAGE_SIZE - 1) >> PAGE_SHIFT;

    if (addr & ~PAGE_MASK)
        return -EINVAL;
    if (addr > USER_TOP || r->arg[1] > USER_TOP - addr)
        return -ENOMEM;
    for (uint64_t done = 0; done < pages; done += CHUNK) {
        uint64_t n = min_of(pages - done, (uint64_t)CHUNK);
        int err = as_mincore(current_as(), addr + (done << PAGE_SHIFT), n << PAGE_SHIFT, vec);

        if (err == 0)
            err = proc_is_ending() ? -EINTR : copy_out(r->arg[2] + done, vec, n);
        if (err != 0)
            return err;
    }
    return 0;
}

long sys_mlock(struct regs *r)
{
    return memlock_limit() == 0
               ? -EPERM
               : as_mlock(current_as(), r->arg[0], r->arg[1], true, memlock_limit());
}

long sys_munlock(struct regs *r)
{
    return as_mlock(current_as(), r->arg[0], r->arg[1], false, 0);
}

long sys_mlockall(struct regs *r)
{
    if (r->arg[0] == 0 || r->arg[0] > INT32_MAX)
        return -EINVAL;
    return memlock_limit() == 0 ? -EPERM
                                : as_mlockall(current_as(), (int)r->arg[0], memlock_limit());
}

long sys_munlockall(struct regs *r)
{
    return as_mlockall(current_as(), 0, 0);
}

/* memcntl(addr, len, cmd, arg, attr, mask): only MC_ADVISE, where arg is the advice by Solaris's number. */
long sys_memcntl(struct regs *r)
{
    static const int solaris_access[] = {HR_MADV_ACCESS_DEFAULT, HR_MADV_ACCESS_LWP,
                                         HR_MADV_ACCESS_MANY};
    uint64_t advice = r->arg[3];

    if (r->arg[2] != MC_ADVISE || r->arg[4] != 0 || r->arg[5] != 0)
        return -EINVAL;
    if (advice >= 6 && advice <= 8)
        advice = (uint64_t)solaris_access[advice - 6];
    else if (advice == 5)
        advice = 8; /* MADV_FREE is 5 on Solaris and 8 on Linux */
    if (advice > INT32_MAX)
        return -EINVAL;
    return as_advise(current_as(), r->arg[0], r->arg[1], (int)advice);
}

/* Stores the result of one meminfo(2) request for one address in *out; false: there is no result. */
static bool meminfo_answer(uint32_t req, uint64_t addr, const struct as_page_info *pi,
                           uint64_t *out)
{
    int node;

    switch (req & MEMINFO_MASK) {
    case MEMINFO_VPHYSICAL:
        *out = pi->phys;
        return pi->present;
    case MEMINFO_VLGRP:
        *out = pi->lgrp;
        return pi->present;
    case MEMINFO_VPAGESIZE:
        *out = pi->pagesize;
        return pi->present;
    case MEMINFO_VREPLCNT: /* the kernel never makes replicas of pages */
        *out = 0;
        return pi->present;
    case MEMINFO_PLGRP:
        node = lgrp_phys_node(&lgrp_topo, addr);
        *out = node < 0 ? 0 : lgrp_topo.node_lgrp[node];
        return node >= 0;
    default:
        return false;
    }
}

/*
 * meminfo(inaddr, addr_count, info_req, info_count, outdata, validity).  If the first request is PLGRP, the
 * addresses are physical and there is one result per address.  The address space is queried once for each
 * GROUP addresses.
 */
long sys_meminfo(struct regs *r)
{
    enum { GROUP = 8 };
    uint64_t in[GROUP], out[MAX_MEMINFO_REQ];
    struct as_page_info pi[GROUP];
    uint32_t req[MAX_MEMINFO_REQ], valid;
    int naddr = (int)r->arg[1], nreq = (int)r->arg[3];
    bool physical;
    int err;

    if (naddr < 1 || nreq < 1 || nreq > MAX_MEMINFO_REQ)
        return -EINVAL;
    naddr = min_of(naddr, MAX_MEMINFO_CNT);
    err = copy_in(req, r->arg[2], (size_t)nreq * sizeof req[0]);
    if (err != 0)
        return err;
    physical = (req[0] & MEMINFO_MASK) == MEMINFO_PLGRP;
    for (int done = 0; done < naddr; done += GROUP) {
        unsigned n = (unsigned)min_of(naddr - done, (int)GROUP);

        err = copy_in(in, r->arg[0] + (uint64_t)done * 8, n * sizeof in[0]);
        if (err != 0)
            return err;
        memset(pi, 0, sizeof pi);
        if (!physical)
            as_query(current_as(), in, n, pi);
        for (unsigned i = 0; i < n; i++) {
            uint64_t index = (uint64_t)done + i;
            int answers = physical ? 1 : nreq;

            valid = physical ? lgrp_phys_node(&lgrp_topo, in[i]) >= 0 : pi[i].mapped;
            for (int k = 0; k < answers; k++) {
                out[k] = 0;
                if (physical ? meminfo_answer(req[k], in[i], &pi[i], &out[k])
                             : (req[k] & MEMINFO_MASK) != MEMINFO_PLGRP &&
                                   meminfo_answer(req[k], in[i], &pi[i], &out[k]))
                    valid |= 2u << k;
                else
                    out[k] = 0;
            }
            err = copy_out(r->arg[4] + (physical ? index : index * (uint64_t)nreq) * 8, out,
                           (size_t)answers * 8);
            if (err == 0)
                err = copy_out(r->arg[5] + index * 4, &valid, sizeof valid);
            if (err != 0)
                return err;
        }
    }
    return 0;
}
