// SPDX-License-Identifier: MIT
/*
 * vm.h - address spaces and the operations on them.
 *
 * THEORY      Each program has an address space: the program uses addresses as if all memory were its own.  The
 *             kernel decides for each page (4 KiB) of addresses which frame of RAM is behind it, and the
 *             processor reads the decision from page tables.  Most pages get a frame only at the first access:
 *             the processor raises a page fault, the kernel finds or makes the page, and the program continues.
 *             An address space is an ordered tree of segments.  A segment maps a range of addresses to a range
 *             of an object (a file or shared memory), to private anonymous memory, or to a file with private
 *             copies.  Page tables are only a cache of segments and objects: a fault can always fill an entry
 *             again.
 * LOCKING     as->lock is a sleeping rwlock.  Faults hold it for reading; a change of segments holds it for
 *             writing.  After it come the locks of family and object.  Page tables have no lock (pt.h).  These
 *             functions do not follow user pointers: addresses are numbers.
 * SEE ALSO    as.h, fault.c, docs/memory.md
 */
#ifndef VM_VM_H
#define VM_VM_H

#include "lib/types.h"

struct as;
struct vm_object;
struct vnode;
struct thread;
struct regs;

/* prot and flags have Linux's values, because they come directly from mmap(2). */
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
/* FAULT_FORCE: a debugger writes; private memory gets a copy of the page even if the program cannot write there */
enum fault_access { FAULT_READ, FAULT_WRITE, FAULT_EXEC, FAULT_FORCE };

/* as_create - make an empty space with one user; NULL: no memory. */
struct as *as_create(void);
/*
 * as_fork - make a copy of `parent` for fork: shared memory is shared, private memory is copy-on-write.
 * Returns NULL if there is no memory.  Takes parent->lock for writing.
 */
struct as *as_fork(struct as *parent);
/* as_hold - become a user of `as`.  The caller is one, or holds a lock that keeps one. */
void as_hold(struct as *as);
/*
 * as_is_shared - whether `as` has other users: another process (CLONE_VM), or for a moment a reader of another
 * process's memory.
 */
bool as_is_shared(const struct as *as);
/*
 * as_release - cease to be a user of `as`; the last one unmaps everything and frees the tables before it returns.
 * Takes as->lock.  Can sleep.  If curthread->as is the space that ends, curthread->as becomes NULL.
 */
void as_release(struct as *as);
/* as_memory_returns - whether the pages of an ended address space are being freed now.  Takes no locks. */
bool as_memory_returns(void);

/*
 * as_map - map `len` bytes (rounded up to pages of 4 KiB, or of 2 MiB with MAP_HUGETLB).
 * @addr   in: hint or, with MAP_FIXED, the address; out: the address that was chosen
 * @obj    object to map, or NULL for anonymous memory (MAP_ANONYMOUS); a reference is taken
 * @off    byte offset into obj, a multiple of PAGE_SIZE
 * @vn     file that obj belongs to, or NULL; a reference is taken
 * @never  PROT_* that mprotect must not set later: PROT_WRITE (for MAP_SHARED) and PROT_EXEC of a file
 * 0, -EINVAL (len 0, misaligned, bad flags), -ENOMEM (no memory or address range, over a limit of
 * as_set_limits()), -EPERM (MAP_FIXED below USER_LOW), -EEXIST (MAP_FIXED_NOREPLACE), -EOVERFLOW (end of the
 * range in obj), -EAGAIN (after mlockall(MCL_FUTURE): too much would be locked).
 * Takes as->lock for writing.  Sleeps.
 */
int as_map(struct as *as, uint64_t *addr, uint64_t len, int prot, int flags, struct vm_object *obj,
           uint64_t off, struct vnode *vn, int never);
/* as_unmap - munmap(2).  0, -EINVAL or -ENOMEM. */
int as_unmap(struct as *as, uint64_t addr, uint64_t len);
/*
 * as_drop_private - unmap and free the private copies of pages first .. last of `obj` in all address spaces, for a file
 * that became smaller, and had no page after `last`.  The caller has set the new size, so that no fault makes a copy
 * again, and holds the lock of the file for writing.  Takes as->lock of each space with such copies once, for writing.
 * Repeats this if meanwhile spaces with copies were forked, but only up to DROP_WALKS times: then copies may be left in
 * processes that fork all the time.  Sleeps; a signal does not end it.  Each fork() of such a space makes it sleep
 * once: 150 processes that map the file and fork all the time made it sleep 255 times.
 */
void as_drop_private(struct vm_object *obj, uint64_t first, uint64_t last);
/*
 * as_detach - unmap the System V shared memory that shmat() mapped at `addr`.
 * 0, -EINVAL (no such mapping begins there) or -ENOMEM.
 * @obj  out: the object that was mapped.  The object may already be freed, so the caller must only compare the
 *       pointer
 */
int as_detach(struct as *as, uint64_t addr, struct vm_object **obj);
/* as_protect - mprotect(2).  0, -EINVAL, -EACCES (the file forbids it), or -ENOMEM (also for a hole). */
int as_protect(struct as *as, uint64_t addr, uint64_t len, int prot);
/*
 * as_remap - mremap(2).  0, -EINVAL, -EFAULT (not in one segment), -EAGAIN (too much would be locked), -ENOMEM,
 * -EIO.
 * @new_addr  in: the new address (MREMAP_FIXED); out: where the mapping is now
 */
int as_remap(struct as *as, uint64_t old, uint64_t old_len, uint64_t new_len, int flags,
             uint64_t *new_addr);
/* as_brk_init - set the heap's start at exec.  as_brk - brk(2): returns the break, even if it is unchanged. */
void as_brk_init(struct as *as, uint64_t start);
uint64_t as_brk(struct as *as, uint64_t want);
/*
 * as_advise - madvise(2), Linux's advices and HR_MADV_ACCESS_*.
 * 0, -EINVAL (unknown advice; advice that does not fit the segment, such as COLD for locked memory or 2 MiB
 * pages, or POPULATE_* for an access that is not allowed), -ENOMEM (a hole; no memory), -EAGAIN (segments cannot be
 * split), -EACCES (HR_MADV_ACCESS_* for shared memory that the caller, not the superuser, cannot write), -EFAULT
 * (POPULATE_* beyond the end of a file), -EINTR (the process is ending).
 * Takes as->lock for writing; for reading if the advice is WILLNEED, COLD, PAGEOUT or POPULATE_*.  Sleeps.
 */
int as_advise(struct as *as, uint64_t addr, uint64_t len, int advice);
/* as_msync - msync(2).  After MS_SYNC, stored data is on disk.  0, -EINVAL, -ENOMEM (a hole), -EIO. */
int as_msync(struct as *as, uint64_t addr, uint64_t len, int flags);
/* as_mincore - mincore(2): fills a byte of vec[] (in the kernel) per page.  0, -EINVAL, -ENOMEM (a hole). */
int as_mincore(struct as *as, uint64_t addr, uint64_t len, uint8_t *vec);

struct as_limits {
    uint64_t as_bytes, data_bytes, stack_bytes; /* RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK */
};
void as_set_limits(struct as *as, const struct as_limits *lim);

/*
 * as_fault - resolve a page fault of curthread at `addr`.
 * Returns 0, or the signal to send (SIGSEGV with *code SEGV_MAPERR 1 or SEGV_ACCERR 2, SIGBUS with *code
 * BUS_ADRERR 2), or -ENOMEM: the caller kills the process with a message; or -EINTR: no memory, and the process
 * is ending.  Can sleep.  The trap handler calls it with interrupts on.
 */
int as_fault(struct as *as, uint64_t addr, enum fault_access access, int *code);

/* The page behind one address: for meminfo(2) and files such as /proc/PID/pagemap. */
struct as_page_info {
    bool mapped;   /* the address is inside a segment */
    bool present;  /* there is a page, mapped now or not */
    uint64_t phys; /* physical address of the byte */
    uint64_t pagesize;
    unsigned lgrp;
};
/* as_query - fill out[] for `n` addresses; does not fault pages in.  Takes as->lock for reading. */
void as_query(struct as *as, const uint64_t *addr, unsigned n, struct as_page_info *out);
/*
 * as_skip_absent - skip addresses without a page: returns an address of [addr, end], such that
 * as_query() finds no page from addr up to that address.  Looks at one segment only, so perhaps
 * there is no page at the result, either.  Takes as->lock for reading.
 */
uint64_t as_skip_absent(struct as *as, uint64_t addr, uint64_t end);

/*
 * Moving pages between nodes at once, for Linux's calls: movepages.c, and mbind.c for the policies of ranges.
 * as_page_node - the node of the page at `addr`; -EFAULT: no segment; -ENOENT: no page in memory.
 * as_move_page - move the page at `addr` to `node`, and return `node`.  -EFAULT: no segment, or none that can
 * move; -ENOENT: no page in memory; -EACCES: other processes use the page, and not `all`; -ENOMEM: no free frame
 * there; -EBUSY: the page is in use, or locked in memory.
 * as_move_pages - move the pages of the space that lie on a node n to node to[n]; *failed counts the pages that
 * did not move.  0, or -EINTR: the process of the caller is ending.
 * All take as->lock for reading, and sleep.
 */
int as_page_node(struct as *as, uint64_t addr);
int as_move_page(struct as *as, uint64_t addr, unsigned node, bool all);
int as_move_pages(struct as *as, const uint8_t *to, bool all, uint64_t *failed);

/* Flags of as_mbind(). */
enum { MPOL_MF_STRICT = 1, MPOL_MF_MOVE = 2, MPOL_MF_MOVE_ALL = 4 };
struct mempolicy;
/*
 * as_mbind - mbind(2): set the policy of a range (MPOL_DEFAULT: no policy).  0; -EINVAL: the range is not a range
 * of pages, or would cut a 2 MiB page; -EFAULT: a hole; -EACCES: shared memory that the caller, not the superuser,
 * cannot write; -EIO: with MPOL_MF_STRICT, a page is on another node, or did not move; -ENOMEM; -EINTR: the process
 * is ending.  Errors leave the policy as it was, with three exceptions: it is set after -EIO for a page that did not
 * move, and after -EINTR, and for a part of the range after -ENOMEM.  Takes as->lock for writing, then for reading
 * while pages move.  Sleeps.
 * as_set_home_node - set_mempolicy_home_node(2): set the node from which the policies of a range count distances.
 * 0, -EINVAL, -ENOENT (no policy in the range), -EOPNOTSUPP (neither MPOL_BIND nor MPOL_PREFERRED_MANY), -ENOMEM.
 * as_policy_at - the policy that as_mbind() has set for an address (MPOL_DEFAULT: none).  0, or -EFAULT: no segment.
 */
int as_mbind(struct as *as, uint64_t addr, uint64_t len, const struct mempolicy *mp,
             unsigned flags);
int as_set_home_node(struct as *as, uint64_t addr, uint64_t len, unsigned node);
int as_policy_at(struct as *as, uint64_t addr, struct mempolicy *out);

/* The pages of a range that are in memory, by node, for /proc/PID/numa_maps.  Each counts 1, also one of 2 MiB. */
struct as_node_usage {
    uint64_t pages, anon, dirty;
    uint64_t max_users; /* most mappings or sharers of a page */
    uint64_t on_node[NODE_MAX];
};
/* as_count_nodes - fill *out for [start, end).  Takes as->lock for reading. */
void as_count_nodes(struct as *as, uint64_t start, uint64_t end, struct as_node_usage *out);

/* One segment, for /proc/PID/maps and pmap. */
struct seg_info {
    uint64_t start, end, off;
    int prot, flags;  /* MAP_SHARED or MAP_PRIVATE, MAP_ANONYMOUS, MAP_GROWSDOWN, MAP_HUGETLB */
    struct vnode *vn; /* a reference for the caller; NULL for anonymous memory */
    uint64_t rss_pages, anon_pages; /* mapped pages; mapped pages that are private or anonymous */
    int policy;                     /* LGRP_MEM_POLICY_* in force at the start of the segment */
    enum { SEG_OTHER, SEG_HEAP, SEG_STACK, SEG_VDSO } what;
    bool nodump; /* not in core files */
};
/* as_next_seg - the first segment that ends above `addr`.  0 or -ENOENT.  Takes as->lock for reading. */
int as_next_seg(struct as *as, uint64_t addr, struct seg_info *out);

struct as_usage {
    uint64_t virt_pages, rss_pages, data_pages, stack_pages, text_pages, peak_rss_pages,
        locked_pages;
};
void as_usage(struct as *as, struct as_usage *out);
/*
 * as_unpromised - an estimate of the pages that a space uses without a reservation: resident pages of
 * MAP_NORESERVE memory, of files and of shared memory, and page tables that are not reserved with memory.
 * @own  out: how many of these are pages of private memory, page tables and locked pages; not negative
 * @rss  out: all resident pages
 * Does not wait for as->lock; without it the estimate is coarser.
 */
int64_t as_unpromised(struct as *as, int64_t *own, uint64_t *rss);
/*
 * as_mlock - lock the pages of [addr, addr + len) in memory, and bring the missing pages in.  If
 * `on` is false, unlock the pages.
 * @limit  how many bytes the space is allowed to have locked
 * 0, -ENOMEM (a hole, over the limit, or no memory), or -EAGAIN (too much is locked on this machine).
 * as_mlockall - lock all segments (MCL_CURRENT) and all later segments (MCL_FUTURE); flags 0 unlocks all.
 * -EINVAL for other flags.  Both take as->lock for writing, and sleep.
 */
enum { MCL_CURRENT = 1, MCL_FUTURE = 2, MCL_ONFAULT = 4 };
int as_mlock(struct as *as, uint64_t addr, uint64_t len, bool on, uint64_t limit);
int as_mlockall(struct as *as, int flags, uint64_t limit);
/* vm_locked_pages - pages of locked segments on the whole machine. */
uint64_t vm_locked_pages(void);
/*
 * as_access_remote - read or write bytes of another process's space (/proc/PID/mem, cmdline).  Returns the
 * number of bytes copied, which is less than `n` if a page cannot be accessed.  Sleeps.
 * @buf  in the kernel
 * @how  ACCESS_FORCE: write as a debugger does, also to private memory that the process itself cannot write.  Such a
 *       write never changes a file or another process.
 */
enum as_access { ACCESS_READ, ACCESS_WRITE, ACCESS_FORCE };
long as_access_remote(struct as *as, uint64_t addr, void *buf, size_t n, enum as_access how);
/*
 * as_is_untouched - whether `addr` is in anonymous memory and has no page there, neither in memory nor on swap.  Takes
 * as->lock for reading.
 */
bool as_is_untouched(struct as *as, uint64_t addr);

/* Identifies a futex's memory word, the same through every mapping of the word. */
struct futex_key {
    uint64_t a, b; /* (as, address) for private memory, (object's number, byte offset) for shared */
};
/* as_futex_key - the key of the word at `addr`.  0, or -EFAULT (the word cannot be accessed). */
int as_futex_key(struct as *as, uint64_t addr, struct futex_key *key);

/* vm_init - make the caches of this folder and initialise its parts.  Called after kmem_init(). */
void vm_init(void);
struct cpu;
/* vm_cpu_init - make c->vm in memory of the CPU's node.  Called for each CPU before it runs a thread. */
void vm_cpu_init(struct cpu *c);
/* vm_cached_tables - number of empty page tables that CPUs keep for reuse; their frames are not free. */
uint64_t vm_cached_tables(void);
/* vm_check - walk all page tables; panic if a page has a right that it must not have (check.c).  Sleeps. */
void vm_check(void);

#endif
