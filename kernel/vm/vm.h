// SPDX-License-Identifier: MIT
/*
 * vm.h - address spaces and what can be done to them.
 *
 * THEORY      docs/memory.md.  An address space is an ordered tree of segments; a segment maps a range of addresses to
 *             a range of an object (a file or shared memory), to private anonymous memory, or to a file with private
 *             copies.  Pages come by faults; the page tables are a cache of what segments and objects say.
 * LOCKING     as->lock (sleeping rwlock): read for faults, write for changes of segments.  Then family, object and
 *             page-table locks.  Nothing here sees a user pointer: addresses are numbers.
 */
#ifndef VM_VM_H
#define VM_VM_H

#include "lib/types.h"

struct as;
struct vm_object;
struct vnode;
struct thread;
struct regs;

/* prot and flags have Linux's values (they come straight from mmap). */
enum { PROT_READ = 1, PROT_WRITE = 2, PROT_EXEC = 4 };
enum {
    MAP_SHARED = 0x1,
    MAP_PRIVATE = 0x2,
    MAP_SHARED_VALIDATE = 0x3,
    MAP_FIXED = 0x10,
    MAP_ANONYMOUS = 0x20,
    MAP_GROWSDOWN = 0x100,
    MAP_DENYWRITE = 0x800,
    MAP_EXECUTABLE = 0x1000,
    MAP_LOCKED = 0x2000,
    MAP_NORESERVE = 0x4000,
    MAP_POPULATE = 0x8000,
    MAP_NONBLOCK = 0x10000,
    MAP_STACK = 0x20000,
    MAP_HUGETLB = 0x40000,
    MAP_FIXED_NOREPLACE = 0x100000,
};
enum fault_access { FAULT_READ, FAULT_WRITE, FAULT_EXEC };

/* as_create - an empty space with one reference; NULL: no memory. */
struct as *as_create(void);
/*
 * as_fork - a copy of `parent` for fork: shared memory shared, private memory copy-on-write.
 * Returns NULL when there is no memory.  Takes parent->lock for writing.
 */
struct as *as_fork(struct as *parent);
void as_hold(struct as *as);
/* as_release - drop a reference; the last one unmaps everything and frees the tables.  May sleep.
 * If curthread->as is the space that ends, it becomes NULL. */
void as_release(struct as *as);
/* as_memory_returns - are the pages of any address space that ended being freed?  Takes no locks. */
bool as_memory_returns(void);

/*
 * as_map - map `len` bytes (rounded up to pages).
 * @addr   in: hint or, with MAP_FIXED, the place; out: where it was put
 * @obj    object to map, or NULL for anonymous memory (MAP_ANONYMOUS); a reference is taken
 * @off    byte offset into obj, a multiple of PAGE_SIZE
 * @never  PROT_* that mprotect must not give later: PROT_WRITE (for MAP_SHARED) and PROT_EXEC of a file
 * Errors: -EINVAL (len 0, misaligned, bad flags), -ENOMEM (no room, over RLIMIT_AS given by as_set_limits),
 * -EEXIST (FIXED_NOREPLACE), -EOVERFLOW.
 */
int as_map(struct as *as, uint64_t *addr, uint64_t len, int prot, int flags, struct vm_object *obj,
           uint64_t off, struct vnode *vn, int never);
int as_unmap(struct as *as, uint64_t addr, uint64_t len);
/*
 * as_detach - unmap what shmat() mapped at `addr`.  *obj: whose mapping it was, to be compared with, not to be used.
 * -EINVAL: no mapping of such an object begins there.
 */
int as_detach(struct as *as, uint64_t addr, struct vm_object **obj);
int as_protect(struct as *as, uint64_t addr, uint64_t len, int prot);
/* as_remap - mremap(2); *new_addr in (MREMAP_FIXED) and out. */
int as_remap(struct as *as, uint64_t old, uint64_t old_len, uint64_t new_len, int flags,
             uint64_t *new_addr);
/* as_brk_init - set the heap's start at exec.  as_brk - brk(2): returns the break now in force. */
void as_brk_init(struct as *as, uint64_t start);
uint64_t as_brk(struct as *as, uint64_t want);
/*
 * as_advise - madvise(2), Linux's advices and HR_MADV_ACCESS_*.  -EINVAL (unknown; COLD and PAGEOUT of locked memory or
 * 2 MiB pages) -ENOMEM (a hole) -EAGAIN (too many segments).  -EACCES: HR_MADV_ACCESS_* of shared memory that the
 * caller, not the superuser, could not write.  -EINTR: the process is ending.  Takes as->lock: for reading for
 * WILLNEED, COLD and PAGEOUT.  Sleeps.
 */
int as_advise(struct as *as, uint64_t addr, uint64_t len, int advice);
/* as_msync - msync(2).  MS_SYNC: what was stored is on disk.  -EINVAL -ENOMEM (a hole) -EIO. */
int as_msync(struct as *as, uint64_t addr, uint64_t len, int flags);
int as_mincore(struct as *as, uint64_t addr, uint64_t len, uint8_t *vec);

struct as_limits {
    uint64_t as_bytes, data_bytes, stack_bytes; /* RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK */
};
void as_set_limits(struct as *as, const struct as_limits *lim);

/*
 * as_fault - resolve a fault of curthread at `addr`.
 * Returns 0, or the signal to send: SIGSEGV with *code SEGV_MAPERR 1 or SEGV_ACCERR 2, SIGBUS with BUS_ADRERR 2, or
 * -ENOMEM (kill the process with a message).  May sleep.  Called by the trap handler with interrupts on.
 */
int as_fault(struct as *as, uint64_t addr, enum fault_access access, int *code);

/*
 * as_activate - load `next`'s space on this CPU (disp_ops.switch_as); a thread without one keeps what is loaded
 * (lazily).  Interrupts off.  exec() sets curthread->as and calls it for curthread.
 */
void as_activate(struct thread *next);

/* What one address is backed by: meminfo(2), /proc/PID/pagemap-like files. */
struct as_page_info {
    bool mapped;   /* inside a segment                    */
    bool present;  /* there is a page, mapped now or not  */
    uint64_t phys; /* of the byte asked for               */
    uint64_t pagesize;
    unsigned lgrp;
};
/* as_query - `n` addresses at once; does not fault pages in.  Takes as->lock for reading. */
void as_query(struct as *as, const uint64_t *addr, unsigned n, struct as_page_info *out);
/* as_skip_absent - the first address of [addr, end) from which on as_query() may find a page soon; `end`: none. */
uint64_t as_skip_absent(struct as *as, uint64_t addr, uint64_t end);

/* Segments in address order, for /proc/PID/maps, pmap and core images. */
struct seg_info {
    uint64_t start, end, off;
    int prot, flags;  /* MAP_SHARED or MAP_PRIVATE, MAP_ANONYMOUS, MAP_GROWSDOWN, MAP_HUGETLB */
    struct vnode *vn; /* held for the caller; NULL for anonymous memory */
    uint64_t rss_pages, anon_pages;
    int policy; /* LGRP_MEM_POLICY_* in force */
    enum { SEG_OTHER, SEG_HEAP, SEG_STACK, SEG_VDSO } what;
};
/* as_next_seg - the first segment that ends above `addr`.  Returns 0 or -ENOENT. */
int as_next_seg(struct as *as, uint64_t addr, struct seg_info *out);

struct as_usage {
    uint64_t virt_pages, rss_pages, data_pages, stack_pages, text_pages, peak_rss_pages,
        locked_pages;
};
void as_usage(struct as *as, struct as_usage *out);
/*
 * as_unpromised - resident pages beyond those promised: of MAP_NORESERVE, and of files and shared memory; and page
 * tables beyond those that promised memory needs.
 * @own  those of private memory, and the tables, alone; not negative
 * @rss  all resident pages
 * A guess; as->lock is tried for only.
 */
int64_t as_unpromised(struct as *as, int64_t *own, uint64_t *rss);
/*
 * as_mlock - keep the pages of [addr, addr + len) in memory, and bring them in; without `on`, let them go again.
 * @limit  bytes that the space may have locked
 * 0; -ENOMEM: a hole, over the limit, or a page cannot be had; -EAGAIN: too much is locked on this machine.
 * as_mlockall - the same for all segments (MCL_CURRENT), and those that are made from now on (MCL_FUTURE); 0 unlocks
 * all.  -EINVAL for other flags.  Both take as->lock for writing, and sleep.
 */
enum { MCL_CURRENT = 1, MCL_FUTURE = 2, MCL_ONFAULT = 4 };
int as_mlock(struct as *as, uint64_t addr, uint64_t len, bool on, uint64_t limit);
int as_mlockall(struct as *as, int flags, uint64_t limit);
/* vm_locked_pages - pages of locked segments on the whole machine. */
uint64_t vm_locked_pages(void);
/* as_access_remote - copy bytes of another process's space (/proc/PID/mem, cmdline).  Returns bytes moved. */
long as_access_remote(struct as *as, uint64_t addr, void *buf, size_t n, bool write);

/* Futex keys: identifies the word at addr whatever mapping it is reached by. */
struct futex_key {
    uint64_t a, b; /* (as, address) for private memory, (object's number, byte offset) for shared */
};
/* as_futex_key - 0; -EFAULT: no memory that may be looked at.  @private_hint  it is private: addr is not looked at. */
int as_futex_key(struct as *as, uint64_t addr, bool private_hint, struct futex_key *key);

/* vm_init - caches, kernel side of address spaces; after kmem_init(). */
void vm_init(void);
struct cpu;
/* vm_cpu_init - make c->vm in memory of the CPU's node; for each CPU before it runs a thread. */
void vm_cpu_init(struct cpu *c);
/* vm_tlb_ipi - answer other CPUs' requests to forget translations: handler of IPI_TLB, interrupts off. */
void vm_tlb_ipi(void);
/* vm_cached_tables - empty page tables kept for reuse, in frames: not free, not leaked. */
uint64_t vm_cached_tables(void);
/* vm_check - walk all page tables: panics on a page that is writable and executable, or a kernel page open to users. */
void vm_check(void);

/* The calls that vm makes upwards, about vnodes (filled in by fs). */
struct vm_vnode_ops {
    void (*hold)(struct vnode *);
    void (*release)(struct vnode *);
    void (*map_write)(struct vnode *,
                      int n); /* n more mappings may write to it: they count as openings */
    int (*fsync)(struct vnode *, bool data_only); /* 0 or -EIO.  Sleeps */
    void (*sync_inodes)(void);         /* write what is delayed of inodes, not pages.  Sleeps */
    bool (*may_write)(struct vnode *); /* does the file belong to the caller, or may it write it? */
    bool (*ending)(void); /* is the calling process ending?  Then long calls end, too */
};
extern struct vm_vnode_ops vm_vnode_ops;
static inline bool vm_ending(void)
{
    return vm_vnode_ops.ending != NULL && vm_vnode_ops.ending();
}

#endif
