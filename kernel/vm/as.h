// SPDX-License-Identifier: MIT
/*
 * as.h - the inside of an address space, shared by the files of this folder.
 *
 * THEORY      An address space has one private object: all memory that only it can write, whatever
 *             segment it belongs to, is a page in `anon` at the index virtual address / 4 KiB.  So a
 *             private page leads back to its mapping without a list: in each object of the page's
 *             family, the address is index * 4 KiB.  A segment adds where pages come from when `anon`
 *             has none: zeroes, or an object (a file).  A shared segment uses only its object.
 * INVARIANTS  I1  anon holds no page outside private segments
 *             I2  a table of the user half exists only where a segment overlaps what it covers, except
 *                 while the segments are being changed
 *             I3  a page-table entry for a private page exists only while anon names that page there
 *             I4  a writable entry for a private page exists only while its share is 1
 *             I5  while `tidy`, every page of anon is mapped: an empty entry of private memory without a file
 *                 means that there is no page
 *             I6  a segment lies in the user half
 *             I7  `tables` is the number of page tables, the top one among them, when no segment is being changed
 *             I8  while `zaps` is not 0, a CPU may have translations that are in no table any more: who takes a page
 *                 away, and finds that it is not mapped, flushes too
 * LOCKING     [r] written with as->lock held for writing, read with it held at all
 *             [a] atomic  [c] constant
 */
#ifndef VM_AS_H
#define VM_AS_H

#include "disp/sync.h"
#include "lib/cpumask.h"
#include "pages/around.h"
#include "vm/deferred_release.h"
#include "pages/object.h"
#include "vm/segtree.h"
#include "vm/vm.h"
#include "x86/uaccess.h"

#define USER_LOW       0x10000ul /* lowest address that can be mapped              */
#define STACK_GUARD    0x100000u /* bytes kept free below a growing stack          */
#define SEG_COUNT_MAX  65530     /* segments of one address space                  */
#define SEG_COUNT_FREE 256 /* of these, beyond so many each counts with the user (mem/usermem.h) */
#define AROUND_PAGES   16u /* pages mapped together at a fault, if present   */

struct seg {
    struct seg_node n;     /* [r] first member                                              */
    struct as *as;         /* [c]                                                           */
    uint8_t prot;          /* [r] PROT_*                                                    */
    uint8_t max_prot;      /* [r] what mprotect may give                                    */
    uint8_t policy;        /* [r] LGRP_MEM_POLICY_* set by madvise; 0: by kind and size     */
    uint8_t what;          /* [r] SEG_HEAP, ...                                             */
    bool locked;           /* [r] its pages stay in memory (mlock.c)                        */
    uint8_t advice;        /* [r] enum read_advice set by madvise                            */
    uint32_t flags;        /* [c] MAP_SHARED or MAP_PRIVATE, MAP_ANONYMOUS, ...             */
    uint64_t size;         /* [r] bytes at creation (or after growth): decides the default policy */
    struct vm_object *obj; /* [c] the file or shared memory it maps; NULL: private zeroes   */
    uint64_t obj_first;    /* [r] page of obj at n.start                                    */
    struct list obj_link;  /* obj->segs, under obj->lock                                    */
    struct vnode *vn;      /* [c] held; NULL for anonymous memory                           */
    struct usermem *payer; /* [c] NULL: one of the first SEG_COUNT_FREE                     */
    struct around around;  /* of its pages on swap                                          */
};

struct anon_family {
    struct spinlock lock;  /* RANK_VM_FAMILY                              */
    struct list objs;      /* private objects that descend from one exec  */
    _Atomic uint32_t refs; /* objects on the list, pages on their way out */
};

struct as {
    _Atomic uint32_t refs;
    struct rwlock lock;
    struct seg_tree segs;     /* [r]                                                        */
    struct vm_object anon;    /* private pages; owner is the address space                  */
    uint64_t *pml4;           /* [c] top-level table (direct-map address)                   */
    paddr_t cr3;              /* [c] the same, physical                                     */
    bool tidy;                /* [r], and cleared under family and object lock: I5          */
    struct cpumask cpus;      /* [a] CPUs that have it loaded                               */
    _Atomic uint64_t tlb_gen; /* [a] flushes asked for                                      */
    _Atomic uint32_t zaps;    /* [a] whoever takes entries out and has not flushed yet: I8        */
    _Atomic int64_t rss_pages;  /* [a] page-table entries in use, in 4 KiB pages              */
    _Atomic int64_t peak_pages; /* [a] largest rss_pages before one of its falls              */
    uint64_t virt_pages;        /* [r] in segments                                            */
    uint64_t data_pages;        /* [r] private and writable, the stack apart                  */
    uint64_t stack_pages;       /* [r] growing down                                           */
    uint64_t text_pages;        /* [r] executable                                             */
    uint64_t locked_pages;      /* [r] in locked segments                                    */
    uint64_t lock_limit;        /* [r] bytes that may be locked, as of the last mlock()        */
    bool lock_future;           /* [r] mlockall(MCL_FUTURE): new segments are locked           */
    uint64_t need_pages;        /* [r] anonymous memory that segments need: reserve.h         */
    _Atomic int tables;         /* [a] page tables                                            */
    _Atomic int charged_tables; /* [a] of these, promised by themselves: reserve.c         */
    uint64_t resv_pages;        /* [r] promised to it                                         */
    struct as_limits limits;    /* [r]                                                        */
    uint64_t brk_start, brk;    /* [r] bytes                                               */
    uint64_t map_top;           /* [r] new mappings are placed below this address             */
    struct list dead;           /* [r] segments taken out, to be freed by as_unlock()         */
    uint32_t color_start;       /* [c] added to page numbers for their colours (placement.c)      */
    struct list all_link;       /* list of all address spaces (as.c)                          */
    struct dying dying;         /* for as_release_later()                                     */
};

/*
 * as_may_lock - whether `pages` more may be locked, by the process's limit and the machine's, because a locked segment
 * grows or new ones are locked.
 */
bool as_may_lock(const struct as *as, uint64_t pages);

static inline struct seg *seg_of(struct seg_node *n)
{
    return (struct seg *)n; /* first member; NULL stays NULL */
}

static inline bool seg_shared(const struct seg *s)
{
    return (s->flags & MAP_SHARED) != 0;
}

/* Pages of anonymous memory that have to be promised for `pages` of a segment. */
static inline uint64_t seg_need(int prot, uint32_t flags, uint64_t pages)
{
    return (flags & (MAP_SHARED | MAP_NORESERVE)) == 0 &&
                   ((prot & PROT_WRITE) != 0 || (flags & MAP_GROWSDOWN) != 0)
               ? pages
               : 0;
}

static inline bool seg_huge(const struct seg *s)
{
    return (s->flags & MAP_HUGETLB) != 0;
}

/* Page of the object at an address of the segment. */
static inline uint64_t seg_index(const struct seg *s, uint64_t addr)
{
    return s->obj_first + ((addr - s->n.start) >> PAGE_SHIFT);
}

static inline struct as *as_of_anon(struct vm_object *anon)
{
    return container_of(anon, struct as, anon);
}

/* seg.c: segments and their borders; as->lock held for writing. */
/* seg_create - a segment of `as` over [start, end), not yet in the tree; NULL: no memory. */
struct seg *seg_create(struct as *as, uint64_t start, uint64_t end);
/* seg_insert - put it in the tree, its object's list and the counts; takes references of obj and vn. */
void seg_insert(struct seg *s);
/* seg_delete - take it out of tree, object and counts; as_unlock() will free it. */
void seg_delete(struct seg *s);
/* seg_unlink_object - off its object's list; pages that nobody maps any more count as free.  Nothing maps its own. */
void seg_unlink_object(struct seg *s);
/* seg_free - drop the references of a segment that is in no tree any more, and free it. */
void seg_free(struct seg *s);
/* seg_split - cut at `addr`, inside it: s keeps the lower part.  Returns the upper one, or NULL. */
struct seg *seg_split(struct seg *s, uint64_t addr);
/* seg_isolate - make segment borders at start and end where they cut a segment.  0 or -ENOMEM. */
int seg_isolate(struct as *as, uint64_t start, uint64_t end);
/* seg_join - join `s` with its neighbours where they are alike; returns what contains s afterwards. */
struct seg *seg_join(struct seg *s);
/* seg_set_prot, seg_set_locked - change protection, or whether pages stay, with the counts. */
void seg_set_prot(struct seg *s, int prot);
void seg_set_locked(struct seg *s, bool locked);
/* seg_resize - move the ends (the lower one of private memory only), with the counts. */
void seg_resize(struct seg *s, uint64_t start, uint64_t end);
/* as_unlock - end a write hold of as->lock, then free deleted segments: a vnode's last reference may go. */
void as_unlock(struct as *as);
/* seg_clone_all - the segments of `from` in `to`, which has none.  0 or -ENOMEM. */
int seg_clone_all(struct as *to, struct as *from);
void seg_boot(void);

static inline struct seg *seg_find(struct as *as, uint64_t addr)
{
    return seg_of(segtree_find(&as->segs, addr));
}
static inline struct seg *seg_after(struct as *as, uint64_t addr)
{
    return seg_of(segtree_after(&as->segs, addr));
}
static inline struct seg *seg_next(struct seg *s)
{
    return seg_of(segtree_next(&s->as->segs, &s->n));
}

/* anon.c: private pages. */
int anon_init(struct as *as, struct anon_family *family); /* NULL: a new family.  0 or -ENOMEM */
void anon_fini(struct as *as);
/* anon_family_release - drop a reference: an object's, or that of a page on its way to swap. */
void anon_family_release(struct anon_family *f);
/* anon_clone - give `child` the private pages of `parent`, copy on write.  0 or -ENOMEM. */
int anon_clone(struct as *child, struct as *parent);
/* anon_drop - give back the private pages of [start, end), which nothing maps any more. */
void anon_drop(struct as *as, uint64_t start, uint64_t end);
/* anon_move - move the private pages of [from, from + len) to `to`; see as_remap.  0 or -ENOMEM. */
int anon_move(struct as *as, uint64_t from, uint64_t to, uint64_t len);

/* mlock.c */
extern _Atomic uint64_t locked_total; /* pages in locked segments of all spaces */
/* as_bring_in_locked - fault in what is missing of the locked segments in [start, end).  No locks are held. */
void as_bring_in_locked(struct as *as, uint64_t start, uint64_t end);

/* range.c */
/* range_unmap - take [start, end) out of the space, whatever is there.  as->lock for writing. 0 or -ENOMEM. */
int range_unmap(struct as *as, uint64_t start, uint64_t end);
/* range_zap - drop the translations of [start, end), and flush.  Returns whether there were any. */
bool range_zap(struct as *as, uint64_t start, uint64_t end);

/* fault.c */
/* fault_resolve - as as_fault, for any address space; placement follows curthread. */
int fault_resolve(struct as *as, uint64_t addr, enum fault_access access, int *code);

/* as.c */
/* as_hold_living - take a reference, if somebody else has one; whether it was taken.  `as` is not freed meanwhile. */
bool as_hold_living(struct as *as);
/* as_next - the space after `as` (held by the caller; NULL: the first) on the list of all, held; NULL: none. */
struct as *as_next(struct as *as);

#endif
