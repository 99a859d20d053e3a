// SPDX-License-Identifier: MIT
/*
 * as.h - the inside of an address space, shared by the files of this folder.
 *
 * THEORY      An address space has one private object, `anon`.  It holds the private pages of all segments of
 *             the space.  The index of a page is its virtual address / 4 KiB.  So no list is needed to find the
 *             mappings of a private page: in each space of the page's family (anon.c), its address is index * 4
 *             KiB.  If `anon` has no page at an address, the segment tells where to get one: zeroes, or an
 *             object (a file).  A shared segment uses only its object.
 * INVARIANTS  I1  anon holds no page outside private segments
 *             I2  a page table of the user half exists only if a segment overlaps the range that it covers,
 *                 except while segments are being changed
 *             I3  an entry for a private page exists only while anon holds that page at that address
 *             I4  a writable entry for a private page exists only while the page's nsharers is 1
 *             I5  while `anon_all_mapped` is set, every page of anon is mapped: in private memory without a file, an
 *                 empty entry means that there is no page
 *             I6  a segment lies in the user half
 *             I7  while no segment is being changed, resv.tables is the number of page tables, with the top one
 *             I8  while `zaps` is not 0, a CPU's TLB may hold translations that are in no table any more.  So
 *                 code that removes a page must flush the TLBs even if the page is not mapped
 *             I9  the users together have one reference.  So `refs` is not 0 while a segment is in the tree of its
 *                 object or `anon` is in its family
 * LOCKING     [r] to write, hold as->lock for writing; to read, hold it for reading or writing
 *             [a] atomic  [c] constant
 */
#ifndef VM_AS_H
#define VM_AS_H

#include "disp/sync.h"
#include "lib/cpumask.h"
#include "pages/around.h"
#include "pages/owner.h"
#include "pages/reserve.h"
#include "vm/segtree.h"
#include "vm/vm.h"
#include "x86/uaccess.h"

#define USER_LOW       0x10000ul /* lowest address that can be mapped */
#define STACK_GUARD    0x100000u /* bytes kept free below a growing stack */
#define SEG_COUNT_FREE 256 /* the user's account is charged only beyond these (mem/usermem.h) */
#define AROUND_PAGES   16u /* pages mapped together at a fault, if present */

/* Whether the pages of a segment stay in memory, and when missing pages come in (mlock.c). */
enum seg_lock { SEG_UNLOCKED, SEG_LOCKED, SEG_LOCKED_ON_FAULT };

struct seg {
    struct seg_node n; /* [r] must be the first member: see seg_of() */
    struct as *as;     /* [c] */
    uint8_t prot;      /* [r] PROT_* */
    uint8_t max_prot;  /* [r] PROT_* that mprotect may set */
    uint8_t what;      /* [r] SEG_HEAP, ... */
    uint8_t locked;    /* [r] enum seg_lock */
    uint8_t advice;    /* [r] enum read_advice set by madvise; 0: none */
    bool nodump;       /* [r] not in core files: MADV_DONTDUMP */
    uint32_t flags;    /* [c] MAP_SHARED or MAP_PRIVATE, MAP_ANONYMOUS, ... */
    /* [r] LGRP_MEM_POLICY_* set by madvise, or a policy with nodes set by mbind; 0: by kind and size */
    uint32_t policy;
    /* [r] bytes when the segment was made or last grown; the default policy depends on this size */
    uint64_t size;
    /* [c] the file or shared memory that the segment maps; NULL: anonymous memory */
    struct vm_object *obj;
    uint64_t obj_first; /* [r] page of obj that is mapped at n.start */
    /* [a] obj->cuts when the segment had no private copies of pages beyond the end of the file, for the last time */
    _Atomic uint64_t cut;
    struct itree_node
        obj_link;     /* on obj->segs, the pages of obj that are mapped; under obj->lock */
    struct vnode *vn; /* [c] a reference is held; NULL for anonymous memory */
    /* [c] account of the user that is charged for this struct; NULL: none (SEG_COUNT_FREE) */
    struct usermem *payer;
    struct around around; /* history of reads from swap around faulting pages */
};

struct as {
    _Atomic uint32_t users; /* [a] processes, and readers of their memory; at 0 all is unmapped */
    _Atomic uint32_t refs;  /* [a] as_pin(), and one for all users; at 0 the struct is freed */
    struct rwlock lock;
    struct seg_tree segs;  /* [r] */
    struct vm_object anon; /* private pages; owner is the address space */
    uint64_t *pml4;        /* [r] top-level table (direct-map address); NULL: the space has ended */
    paddr_t cr3;           /* [c] physical address of pml4 */
    bool anon_all_mapped;  /* [r], and cleared under family and object lock: I5 */
    struct cpumask cpus;   /* [a] CPUs that have this space loaded */
    _Atomic uint64_t tlb_gen; /* [a] number of the last TLB flush requested */
    /* [a] threads that have begun to empty entries and have not flushed the TLBs yet (I8) */
    _Atomic uint32_t zaps;
    _Atomic int64_t rss_pages;  /* [a] page-table entries in use, in 4 KiB pages */
    _Atomic int64_t peak_pages; /* [a] peak of rss_pages, updated before rss_pages falls */
    uint64_t virt_pages;        /* [r] pages of all segments */
    uint64_t data_pages;        /* [r] pages of private writable segments, without the stack */
    uint64_t stack_pages;       /* [r] pages of MAP_GROWSDOWN segments */
    uint64_t text_pages;        /* [r] pages of executable segments */
    uint64_t locked_pages;      /* [r] pages of locked segments */
    uint64_t lock_limit;        /* [r] bytes that may be locked, as of the last mlock() */
    uint8_t lock_future;        /* [r] enum seg_lock of new segments, by mlockall(MCL_FUTURE) */
    struct reservation resv;    /* memory promised to this space */
    struct as_limits limits;    /* [r] */
    uint64_t brk_start, brk;    /* [r] start and end of the heap, byte addresses */
    uint64_t map_top;           /* [r] new mappings are placed below this address */
    struct list dead;           /* [r] deleted segments, to be freed by as_unlock() */
    /* [c] colour offset: added to page numbers to choose colours (segplace.c) */
    uint32_t color_start;
    struct observed *_Atomic observed; /* [a] what observe.c knows of the space; NULL: nothing */
    struct list all_link;              /* list of all address spaces (as.c) */
};

/*
 * as_may_lock - whether both the process's limit and the machine's limit allow locking `pages` more pages.
 * Called before a locked segment grows, and for a new segment that is locked at once.
 */
bool as_may_lock(const struct as *as, uint64_t pages);

static inline struct seg *seg_of(struct seg_node *n)
{
    return (struct seg *)n; /* seg_node is the first member, so NULL stays NULL */
}

/* as_has_ended - whether no user is left and all memory is freed.  The caller holds as->lock. */
static inline bool as_has_ended(const struct as *as)
{
    return as->pml4 == NULL;
}

static inline bool seg_shared(const struct seg *s)
{
    return (s->flags & MAP_SHARED) != 0;
}

/* Pages of anonymous memory that must be reserved for `pages` pages of a segment. */
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

/* The pages that the segment covers: of its object, or, for a private segment, of its space's own object. */
static inline struct page_run seg_pages(const struct seg *s)
{
    uint64_t first = seg_shared(s) ? s->obj_first : s->n.start >> PAGE_SHIFT;

    return (struct page_run){first, (s->n.end - s->n.start) >> PAGE_SHIFT};
}

static inline struct as *as_of_anon(struct vm_object *anon)
{
    return container_of(anon, struct as, anon);
}

/* seg.c: segments and their borders.  Callers hold as->lock for writing, except for seg_create and seg_free. */
/* seg_create - make a segment of `as` over [start, end), not yet in the tree; NULL: no memory, or over a limit. */
struct seg *seg_create(struct as *as, uint64_t start, uint64_t end);
/* seg_insert - add `s` to the tree, its object's tree and the counts; takes references of obj and vn. */
void seg_insert(struct seg *s);
/*
 * seg_delete - remove `s` from the tree, its object's tree and the counts; as_unlock() frees it.  The caller has
 * already removed the translations of `s`.
 */
void seg_delete(struct seg *s);
/* seg_free - drop the references of a segment that is no longer in a tree, and free it.  Can sleep. */
void seg_free(struct seg *s);
/*
 * seg_split - cut `s` at `addr`, which lies inside s; s keeps the lower part.  Returns the upper part; NULL: no
 * memory.
 */
struct seg *seg_split(struct seg *s, uint64_t addr);
/* seg_isolate - split the segments that reach across start or end.  0 or -ENOMEM. */
int seg_isolate(struct as *as, uint64_t start, uint64_t end);
/* seg_join - join `s` with neighbours that differ only in their range; returns the segment that then contains s. */
struct seg *seg_join(struct seg *s);
/* seg_set_prot, seg_set_locked - change `prot` or `locked` of a segment, and the counts of its space. */
void seg_set_prot(struct seg *s, int prot);
void seg_set_locked(struct seg *s, enum seg_lock locked);
/*
 * seg_set_policy - set the policy of [start, end), inside `s`; takes a reference (pages/rangepolicy.h).  Splits
 * and joins segments.  0 or -ENOMEM.
 */
int seg_set_policy(struct seg *s, uint64_t start, uint64_t end, unsigned policy);
/* seg_resize - move the ends, and adjust the counts.  The lower end moves only if `s` has no object. */
void seg_resize(struct seg *s, uint64_t start, uint64_t end);
/*
 * as_unlock - release as->lock, which the caller holds for writing, then free the deleted segments.  Can sleep,
 * because freeing a segment can drop the last reference to a vnode.
 */
void as_unlock(struct as *as);
/* seg_clone_all - copy the segments of `from` to `to`, which has none.  0 or -ENOMEM. */
int seg_clone_all(struct as *to, struct as *from);
void seg_boot(void);
extern uint32_t max_map_count; /* the most segments of an address space; a tunable */

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

/* seg_skip_absent - as_skip_absent() for [addr, end) inside one segment.  The caller holds as->lock. (query.c) */
uint64_t seg_skip_absent(struct seg *s, uint64_t addr, uint64_t end);

/* anon.c: private pages. */
/* anon_init - make the private object of `as`, a member of `family` (NULL: a new family).  0 or -ENOMEM. */
int anon_init(struct as *as, struct anon_family *family);
/* anon_fini - drop all private pages of `as` and leave the family.  `as` does not map any of these pages. */
void anon_fini(struct as *as);
/* anon_clone - share the private pages of `parent` with `child`, copy-on-write.  0 or -ENOMEM. */
int anon_clone(struct as *child, struct as *parent);
/* anon_drop - drop the private pages of [start, end), which `as` does not map any more. */
void anon_drop(struct as *as, uint64_t start, uint64_t end);
/*
 * anon_move - move the private pages of [from, from + len) to `to`, for as_remap().  0, -ENOMEM or -EIO (from
 * swap).  After an error, some pages have moved.
 */
int anon_move(struct as *as, uint64_t from, uint64_t to, uint64_t len);

/* mlock.c */
extern _Atomic uint64_t locked_total; /* pages in locked segments of all spaces */
/* as_bring_in_locked - fault in missing pages of SEG_LOCKED segments in [start, end).  The caller holds no locks. */
void as_bring_in_locked(struct as *as, uint64_t start, uint64_t end);

/* range.c */
/*
 * range_unmap - remove all mappings of [start, end), if there are any.  The caller holds as->lock for writing.
 * 0, -ENOMEM, or -EINVAL (an end inside a 2 MiB page).
 */
int range_unmap(struct as *as, uint64_t start, uint64_t end);
/* range_zap - drop the translations of [start, end), and flush.  Returns whether there were any. */
bool range_zap(struct as *as, uint64_t start, uint64_t end);

/* fault.c */
/* fault_resolve - like as_fault(), but for any address space; curthread's policy and home place the page. */
int fault_resolve(struct as *as, uint64_t addr, enum fault_access access, int *code);

/* as.c */
/*
 * as_pin - take a reference, which keeps the struct but not the memory.  The caller has one, or holds a lock under
 * which I9 holds.
 */
void as_pin(struct as *as);
/* as_unpin - drop a reference of as_pin() or as_next().  Never sleeps. */
void as_unpin(struct as *as);
/*
 * as_next - get the space after `as` on the list of all spaces, with a reference for the caller; NULL: none.  It may
 * have ended.
 * @as  a space to which the caller has a reference; NULL: begin with the first space
 */
struct as *as_next(struct as *as);

#endif
