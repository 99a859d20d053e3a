// SPDX-License-Identifier: MIT
/*
 * page.h - page frames: their descriptors and their allocator.
 *
 * THEORY      Every 4 KiB frame of RAM has a struct page in a virtual array indexed by frame number whose
 *             backing memory lies on the frame's own node (board).  A buddy allocator per node hands out
 *             blocks of 2^order frames; per-CPU magazines of single frames stand before it.
 *             A descriptor is initialised when its frame is allocated; nobody reads one that is free
 *             except for the head of a free block.
 *             Where the model has an external cache, frames have colours: frames of one colour share the same places of
 *             the cache.  User pages then come from bins by colour, one list for each, in which a node keeps
 *             the rest of blocks that were opened for one frame (Kessler and Hill, "Page Placement Algorithms for Large
 *             Real-Indexed Caches", ACM TOCS 10, 1992).
 *             QEMU keeps what it has translated of a frame's code until a store hits that code, and meanwhile each
 *             store to the frame costs about a hundred times as much.  So a frame that may have held code (the
 *             firmware's, the boot loader's, a program's) is zeroed before it is used for something that is not
 *             written whole.
 * INVARIANTS  I1  a frame is freed to the node that owns it, never to the caller's
 *             I2  refs > 0 for an allocated frame; 0 for a free one, which nothing maps and no list has
 *             I3  a block of order n starts at a frame number that is a multiple of 2^n
 * LOCKING     [b] node's buddy lock  [a] atomic  [o] owner of the frame (see pages/object.h)
 */
#ifndef MEM_PAGE_H
#define MEM_PAGE_H

#include "lib/list.h"
#include "lib/spinlock.h"
#include "lib/types.h"
#include "x86/layout.h"

enum page_flags {
    PG_FREE = 1 << 0,   /* [b] head of a free block                                           */
    PG_HEAD = 1 << 1,   /* [o] first frame of a block of order > 0 (2 MiB user pages, stacks) */
    PG_DIRTY = 1 << 2,  /* [a] file page that differs from its backing store                  */
    PG_DISK = 1 << 3,   /* [o] file page of an object with a disk (pages/pcache.c)                */
    PG_LOCKED = 1 << 4, /* [a] busy: I/O or migration in progress                             */
    PG_MARKED = 1 << 5, /* [a] migrate to the next toucher (madvise ACCESS_*)                 */
    PG_ANON = 1 << 6,   /* [o] belongs to an anonymous object                                 */
    PG_EXEC = 1 << 7,   /* [o] file page of an executable                                     */
    PG_SLAB = 1 << 8,
    PG_PT = 1 << 9,         /* page-table page                                                    */
    PG_WRITEBACK = 1 << 11, /* [a] being written to its backing store                         */
    PG_REFERENCED = 1 << 12, /* [a] read or written by a call since the clock's front hand passed */
    PG_UPTODATE = 1 << 10,   /* [o] file page holds valid data                                  */
    PG_CACHED = 1 << 13, /* [a] on its node's cache list (pages/cachelist.c)                   */
    PG_HEAD_ONLY =
        1 << 14,          /* [b] head of a free block whose other descriptors were never written */
    PG_SWAPPED = 1 << 15, /* [c] no frame: stands for a page that is on swap (pages/swap.c)     */
    PG_PRIVATE = 1 << 17, /* [c] PG_ANON: a private page, of a family                        */
    PG_MKWRITE =
        1 << 18, /* [a] getting its place on the disk before a store (fault.c): not to be cut off */
    PG_RECLAIM = 1 << 16,    /* [a] to be freed when it has been written                        */
    PG_UNPAGEABLE = 1 << 19, /* [c] heads a block that mem_unpageable() counts                */
    PG_SLOT = 1 << 20,       /* [a] PG_ANON: is as it is in its slot of swap, which it keeps      */
    PG_AHEAD = 1 << 21,      /* [a] read because a neighbour was needed, and not touched since    */
    PG_BAD = 1 << 22,        /* [a] PG_SWAPPED: could not be read the last time                  */
};

struct page {
    _Atomic uint32_t flags;
    uint8_t node;
    uint8_t order;             /* of the block it heads                                       */
    uint16_t pt_live;          /* PG_PT: entries in use                                       */
    _Atomic uint32_t refs;     /* holders: object slots, mappings in progress, I/O            */
    _Atomic uint32_t mapcount; /* page-table entries that map it                              */
    union {
        struct vm_object *obj;      /* [o] user page: the object it belongs to                   */
        struct anon_family *family; /* [o] PG_ANON private page: the fork family instead       */
        struct slab *slab;
        uint64_t priv;
    };
    uint64_t index;   /* [o] position in the object, in 4 KiB pages                           */
    struct list link; /* free list; later: the pageout lists                                  */
    _Atomic uint32_t nsharers; /* PG_ANON private page: objects of the family that hold it        */
    bool no_code; /* kept while it is free: no code has been in it since it was zeroed; unlocked */
    uint32_t swap_area, swap_slot; /* PG_SWAPPED, PG_SLOT: where the page is (pages/swap.c)    */
};
_Static_assert(sizeof(struct page) == PAGE_DESC_SIZE, "struct page is one cache line");

#define vmemmap ((struct page *)VMEMMAP_BASE)

static inline struct page *phys_to_page(paddr_t pa)
{
    return vmemmap + (pa >> PAGE_SHIFT);
}

static inline paddr_t page_to_phys(const struct page *pg)
{
    return (paddr_t)(pg - vmemmap) << PAGE_SHIFT;
}

static inline void *page_to_virt(const struct page *pg)
{
    return phys_to_virt(page_to_phys(pg));
}

static inline struct page *virt_to_page(const void *va)
{
    return phys_to_page(virt_to_phys(va));
}

enum alloc_flags {
    ALLOC_NEAR = 0,        /* the node, else the nearest with a free frame */
    ALLOC_STRICT = 1 << 0, /* only that node                               */
    ALLOC_ZERO = 1 << 1,   /* contents zeroed                              */
    ALLOC_WAIT =
        1 << 2, /* the caller holds no spin lock and may sleep until pages have been freed */
    ALLOC_UNPAGEABLE = 1 << 3, /* no page daemon will take it; counted by mem_unpageable() */
    ALLOC_WHOLE = 1 << 4,      /* the caller writes all of it: code in it does no harm */
};

/*
 * page_alloc - take a block of 2^order frames, preferring memory node `node`.
 * Returns its first page with one reference and cleared fields (flags PG_HEAD when order > 0), or NULL when no
 * allowed node has one.  With ALLOC_WAIT a single frame is waited for, a larger block for some rounds of the pageout
 * daemon.  Otherwise it does not sleep; callable with spin locks of rank below RANK_BUDDY.
 */
struct page *page_alloc(unsigned node, unsigned order, unsigned flags);

/*
 * page_alloc_colored - the same for one frame of `color` (below page_colors).  Takes one of another colour, or of
 * another node, rather than fail, in that order.
 */
struct page *page_alloc_colored(unsigned node, unsigned color, unsigned flags);

/*
 * page_coloring_init - frames have `colors` colours from now on: a power of two, at most 2^MAX_ORDER.  Called at
 * boot, when frames can be allocated.  1, or no memory for the bins: none.
 */
void page_coloring_init(unsigned colors);
extern uint32_t page_colors;       /* [c] 1: frames have no colours      */
extern uint32_t use_page_coloring; /* tunable, read at boot              */

static inline unsigned page_color(const struct page *pg)
{
    return (unsigned)(pg - vmemmap) & (page_colors - 1);
}

/* page_free - give a block back to its node (I1).  Its reference count must be 1 or 0. */
void page_free(struct page *pg);

/* page_hold, page_release - take and drop a reference; the last drop frees the block. */
static inline void page_hold(struct page *pg)
{
    atomic_fetch_add_explicit(&pg->refs, 1, memory_order_relaxed);
}
static inline void page_release(struct page *pg)
{
    if (atomic_fetch_sub_explicit(&pg->refs, 1, memory_order_acq_rel) == 1)
        page_free(pg);
}

/* page_has_code - code may be run from n frames from now on.  page_drop_code - zero those that may have any. */
static inline void page_has_code(struct page *pg, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (pg[i].no_code) /* else the line stays shared */
            pg[i].no_code = false;
}
void page_drop_code(struct page *pg, unsigned order);

/* page_zero, page_copy - `rep` over one 4 KiB frame, or 2^order of them. */
void page_zero(struct page *pg, unsigned order);
void page_copy(struct page *dst, struct page *src, unsigned order);

/* phys_node - the node of a physical address, or -1: not installed, usable memory (with a struct page). */
int phys_node(paddr_t pa);

struct mem_node {
    struct spinlock lock;             /* rank RANK_BUDDY                                      */
    struct list free[HUGE_ORDER + 2]; /* by order; the largest is MAX_ORDER                   */
    uint64_t free_mask;               /* bit o: free[o] is not empty                          */
    _Atomic uint64_t nfree_pages;     /* in buddy lists and bins (magazines not counted)      */
    uint64_t low_pages; /* fewer than these: pageout_low_memory(); set by pages/             */
    uint64_t ninstalled_pages;   /* [c]                                                  */
    uint64_t navail_pages;       /* [c] of these, what the allocator has had; after boot */
    uint8_t near[NODE_MAX];      /* [c] all nodes with memory, nearest first             */
    unsigned nnear;              /* [c]                                                  */
    uint64_t n_local;            /* [b] see struct mem_counts; what magazines served is  */
    uint64_t n_foreign;          /* [b]     counted there                                */
    _Atomic uint64_t n_fallback; /* [a]                                                  */
    struct list *bin;            /* [b] by colour: free frames                           */
    uint64_t nbinned;            /* [b] in all of them                                   */
} cacheline_aligned;
#define MAX_ORDER (HUGE_ORDER + 1) /* 4 MiB */

extern struct mem_node mem_nodes[NODE_MAX];
extern unsigned nnodes;

/* mem_free_pages - free frames of a node, magazines included (a sum over CPUs).  mem_total_pages - installed frames. */
uint64_t mem_free_pages(unsigned node);
uint64_t mem_total_pages(void);

/*
 * mem_stretch - the i'th run of frames that the allocator has had: descriptors first .. end - 1; false: there are no
 * more. In a free block whose head has PG_HEAD_ONLY only the head's descriptor means anything.
 */
struct mem_stretch {
    struct page *first, *end;
};
bool mem_stretch(unsigned i, struct mem_stretch *out);

/*
 * mem_unpageable - frames allocated with ALLOC_UNPAGEABLE: most slabs, kernel stacks, pipes, files in memory.
 * Right to within UNPAGEABLE_BATCH frames for each CPU.  No lock.  Solaris subtracts such frames from availrmem.
 */
enum { UNPAGEABLE_BATCH = 16 };
uint64_t mem_unpageable(void);

/* mem_node_counts - how many allocations a node saw since boot or since mem_node_counts_clear(). */
struct mem_counts {
    uint64_t local;    /* asked for here and served here           */
    uint64_t fallback; /* asked for here and served elsewhere      */
    uint64_t foreign;  /* served here and asked for elsewhere      */
};
void mem_node_counts(unsigned node, struct mem_counts *out);
void mem_node_counts_clear(unsigned node);

/* ---- implemented by pages/ ---- */
/*
 * pageout_low_memory - fewer than low_pages frames of a node are free.  Takes pages off the cache list if interrupts
 *                      are on, wakes the pageout daemon, and with `wait` sleeps until pages have been freed.
 *                      @wait  as ALLOC_WAIT.  @failed  an allocation has just failed.  Returns whether it is worth
 *                      while to try again; false before the daemon has started.
 * pageout_may_take - fewer than low_pages frames of a node are free: may the running thread take one?
 * swap_free_slot - the last reference of a page with PG_SWAPPED or PG_SLOT was dropped.  Frees its swap slot, and
 *                  with PG_SWAPPED its descriptor.
 */
bool pageout_low_memory(unsigned node, bool wait, bool failed);
bool pageout_may_take(void);
void swap_free_slot(struct page *pg);

/* ---- implemented by vm/ ---- */
/* tlb_flush_kernel - invalidate the translations of kernel stacks, which are not global, on all CPUs.  No spin lock. */
void tlb_flush_kernel(void);

#endif
