// SPDX-License-Identifier: MIT
/*
 * page.h - page frames: their descriptors and their allocator.
 *
 * THEORY      The kernel allocates RAM in frames of 4 KiB.  Each frame has a descriptor, struct page, that
 *             records what the frame is used for and how many references there are.  The descriptors are a
 *             virtual array, indexed by frame number.  The descriptor of a frame lies in memory of the frame's
 *             own node (board).
 *             A buddy allocator for each node allocates blocks of 2^order frames.  Each CPU has a magazine of
 *             single free frames, so that most allocations need no lock.
 *             A descriptor is initialised when its frame is allocated.  Of a free block, only the
 *             descriptor of the first frame, the head, is valid.
 *             If the modelled machine has an external cache, frames have colours: frames of one colour
 *             occupy the same places of the cache.  User pages then come from bins, one for each colour of
 *             a node.  When a block is split to get one frame, its other frames go to the bins (Kessler and
 *             Hill, "Page Placement Algorithms for Large Real-Indexed Caches", ACM TOCS 10, 1992).
 *             QEMU translates code that runs from a frame, and keeps the translation until a store changes that
 *             code.  Until then, each store to the frame costs about a hundred times as much as usual.  So a
 *             frame that may have held code (of the firmware, the boot loader or a program) is zeroed before a
 *             use that does not overwrite all of it.
 * INVARIANTS  I1  a frame is freed to the node that owns it, never to the caller's
 *             I2  refs > 0 for an allocated frame.  refs == 0 for a free frame, which is not mapped and belongs
 *                 to no object
 *             I3  a block of order n starts at a frame number that is a multiple of 2^n
 * LOCKING     [b] node's buddy lock  [a] atomic  [o] owner of the frame (see pages/object.h)  [c] constant
 */
#ifndef MEM_PAGE_H
#define MEM_PAGE_H

#include "lib/list.h"
#include "lib/spinlock.h"
#include "lib/types.h"
#include "x86/layout.h"

enum page_flags {
    PG_FREE = 1 << 0,   /* [b] head of a free block */
    PG_HEAD = 1 << 1,   /* [o] first frame of a block of order > 0 (2 MiB user pages, stacks) */
    PG_DIRTY = 1 << 2,  /* [a] file page that differs from its backing store */
    PG_DISK = 1 << 3,   /* [o] file page of an object with a disk (pages/pcache.c) */
    PG_LOCKED = 1 << 4, /* [a] busy: I/O or migration in progress */
    PG_MARKED = 1 << 5, /* [a] moves to the board of the next thread that touches it (madvise) */
    PG_ANON = 1 << 6,   /* [o] belongs to an anonymous object */
    PG_EXEC = 1 << 7,   /* [o] file page that has been mapped for execution */
    PG_SLAB = 1 << 8,   /* [o] frame of a slab (kmem.c) */
    PG_PT = 1 << 9,     /* [o] page table */
    PG_WRITEBACK = 1 << 11, /* [a] being written to its backing store */
    /* [a] touched by a system call (or swapped in) since the front hand passed */
    PG_REFERENCED = 1 << 12,
    PG_UPTODATE = 1 << 10, /* [o] holds valid data */
    PG_CACHED = 1 << 13,   /* [a] on its node's cache list (pages/cachelist.c) */
    PG_HEAD_ONLY =
        1 << 14,          /* [b] head of a free block whose other descriptors were never written */
    PG_SWAPPED = 1 << 15, /* [c] stand-in without a frame for a page on swap (pages/swap.c) */
    PG_PRIVATE = 1 << 17, /* [c] with PG_ANON: a private page, of a fork family */
    /* [a] disk blocks are being allocated for a store (fault.c); the page must stay in its file */
    PG_MKWRITE = 1 << 18,
    /* [a] the pageout daemon has chosen the page: free it once it is written */
    PG_RECLAIM = 1 << 16,
    PG_UNPAGEABLE = 1 << 19, /* [c] head of a block that mem_unpageable() counts */
    /* [a] with PG_ANON: the page equals its copy on swap, and keeps its swap slot */
    PG_SLOT = 1 << 20,
    PG_AHEAD = 1 << 21, /* [a] read from disk because a neighbour was needed; not touched yet */
    PG_BAD = 1 << 22,   /* [a] with PG_SWAPPED: the last attempt to read the page failed */
    /* [a] a translation is hidden, to see which thread touches the page next (vm/observe.c) */
    PG_SAMPLED = 1 << 23,
};

struct page {
    _Atomic uint32_t flags;
    uint8_t node;
    uint8_t order; /* order of the block whose first frame is this one */
    union {
        uint16_t pt_live;  /* PG_PT: entries in use */
        uint16_t observed; /* [o] user page: which lgroups touched it (lgrp/observe.h) */
    };
    /* references: objects that name the page, mapping in progress, I/O */
    _Atomic uint32_t refs;
    _Atomic uint32_t mapcount; /* page-table entries that map the page */
    union {
        struct vm_object *obj; /* [o] user page: the object to which the page belongs */
        /* [o] private page: the fork family to which the page belongs */
        struct anon_family *family;
        struct slab *slab;
        uint64_t priv;
    };
    uint64_t index;            /* [o] position in the object, in 4 KiB pages */
    struct list link;          /* on a free list, a bin, the cache list, or a caller's own list */
    _Atomic uint32_t nsharers; /* private page: number of objects that name the page */
    /*
     * the frame has held no code since it was zeroed; stays valid while the frame is free; no lock
     */
    bool no_code;
    uint32_t swap_area, swap_slot; /* PG_SWAPPED, PG_SLOT: position of the page on swap */
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
    ALLOC_NEAR = 0,        /* the given node, else the nearest with a free frame */
    ALLOC_STRICT = 1 << 0, /* only the given node */
    ALLOC_ZERO = 1 << 1,   /* contents zeroed */
    ALLOC_WAIT = 1 << 2,   /* the caller holds no spin lock; may sleep until pages are freed */
    /* the pageout daemon cannot take the block; mem_unpageable() counts it */
    ALLOC_UNPAGEABLE = 1 << 3,
    /* the caller overwrites the whole block, so old code need not be zeroed */
    ALLOC_WHOLE = 1 << 4,
};

/*
 * page_alloc - take a block of 2^order frames, preferring memory node `node`.
 * Returns the block's first page with one reference and cleared fields (flags PG_HEAD if order > 0), or NULL if
 * no allowed node has a block.  With ALLOC_WAIT it sleeps: for a single frame as long as memory can become
 * free, for a larger block only for some rounds of the pageout daemon.  Without ALLOC_WAIT it does not sleep,
 * and the caller can hold spin locks of a rank below RANK_BUDDY.
 * @flags  enum alloc_flags
 */
struct page *page_alloc(unsigned node, unsigned order, unsigned flags);

/*
 * page_alloc_colored - page_alloc() of one frame of `color` (below page_colors).  If no frame has
 * this colour, the function takes a frame of another colour, or finally of another node.
 */
struct page *page_alloc_colored(unsigned node, unsigned color, unsigned flags);

/*
 * page_coloring_init - give frames `colors` colours: a power of two, at most 2^MAX_ORDER (a larger one is
 * reduced).  Frames have no colours if `colors` is 1 or not a power of two, or if use_page_coloring is 0.
 * Called once at boot, when frames can be allocated.  A node without memory for its bins has no colours.
 */
void page_coloring_init(unsigned colors);
extern uint32_t page_colors;       /* [c] 1: frames have no colours */
extern uint32_t use_page_coloring; /* tunable, read at boot */

static inline unsigned page_color(const struct page *pg)
{
    return (unsigned)(pg - vmemmap) & (page_colors - 1);
}

/* page_free - give a block back to its node (I1).  Its reference count must be 1 or 0. */
void page_free(struct page *pg);

/* page_hold, page_release - take and drop a reference; dropping the last one frees the block. */
static inline void page_hold(struct page *pg)
{
    atomic_fetch_add_explicit(&pg->refs, 1, memory_order_relaxed);
}
static inline void page_release(struct page *pg)
{
    if (atomic_fetch_sub_explicit(&pg->refs, 1, memory_order_acq_rel) == 1)
        page_free(pg);
}

/*
 * page_has_code - record that n frames may hold code from now on.  page_drop_code - zero the frames of a block
 * that may hold code.
 */
static inline void page_has_code(struct page *pg, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (pg[i].no_code) /* a store only if needed: the cache line stays shared */
            pg[i].no_code = false;
}
void page_drop_code(struct page *pg, unsigned order);

/* page_zero, page_copy - zero or copy the contents of 2^order frames. */
void page_zero(struct page *pg, unsigned order);
void page_copy(struct page *dst, struct page *src, unsigned order);

/* phys_node - the node of a physical address; -1: not installed, usable memory (with a struct page). */
int phys_node(paddr_t pa);

struct mem_node {
    struct spinlock lock;             /* rank RANK_BUDDY */
    struct list free[HUGE_ORDER + 2]; /* [b] free blocks by order, up to MAX_ORDER */
    uint64_t free_mask;               /* [b] bit o: free[o] is not empty */
    _Atomic uint64_t nfree_pages;     /* [b] to write: in free[] and bins, not in magazines */
    uint64_t low_pages;               /* below this, mem_wait() is called; set by pages/ */
    uint64_t ninstalled_pages;        /* [c] */
    uint64_t navail_pages;  /* [c] installed pages that were given to the allocator at boot */
    uint8_t near[NODE_MAX]; /* [c] all nodes with memory, nearest first */
    unsigned nnear;         /* [c] */
    uint64_t
        n_local; /* [b] struct mem_counts; frames that a magazine hands out are counted there */
    uint64_t n_foreign;          /* [b] struct mem_counts */
    _Atomic uint64_t n_fallback; /* [a] struct mem_counts */
    struct list *bin;            /* [b] free frames by colour; NULL: no colours */
    uint64_t nbinned;            /* [b] frames in all bins */
} cacheline_aligned;
#define MAX_ORDER (HUGE_ORDER + 1) /* 4 MiB */

extern struct mem_node mem_nodes[NODE_MAX];
extern unsigned nnodes;

/*
 * mem_free_pages - number of free frames of a node, including those in magazines.  mem_total_pages - installed
 * frames of all nodes.
 */
uint64_t mem_free_pages(unsigned node);
uint64_t mem_total_pages(void);

/*
 * mem_stretch - the i'th range of frames that were ever given to the allocator: descriptors
 * first .. end - 1.  false: there are no more.  In a free block whose head has PG_HEAD_ONLY, only the head's
 * descriptor is valid.
 */
struct mem_stretch {
    struct page *first, *end;
};
bool mem_stretch(unsigned i, struct mem_stretch *out);

/*
 * mem_unpageable - frames allocated with ALLOC_UNPAGEABLE: most slabs, kernel stacks, pipes, files in
 * memory.  The error is less than UNPAGEABLE_BATCH frames for each CPU.  Takes no lock.  Solaris subtracts such
 * frames from availrmem.
 */
enum { UNPAGEABLE_BATCH = 16 };
uint64_t mem_unpageable(void);

/* mem_node_counts - allocations of a node since boot or since mem_node_counts_clear(). */
struct mem_counts {
    uint64_t local;    /* this node requested and used */
    uint64_t fallback; /* this node requested, another used */
    uint64_t foreign;  /* another node requested, this one used */
};
void mem_node_counts(unsigned node, struct mem_counts *out);
void mem_node_counts_clear(unsigned node);

/*
 * State of one allocation, over all its attempts, for mem_wait().  An allocation that may sleep waits in
 * page_alloc() or kmem_cache_alloc_wait().  Where an allocation has failed under a spin lock, the code releases
 * the lock, calls mem_wait(), and tries again only after MEM_FREED.
 */
struct mem_need {
    uint32_t node;  /* preferred node */
    uint32_t tries; /* attempts left: another thread may take the freed frames each time */
    bool may_sleep; /* the caller can sleep, as with ALLOC_WAIT */
    bool failed;    /* an attempt has failed; false: few frames are left, so delay the caller */
};
enum { MEM_TRIES = 1000 };
/* mem_need - the initial value for a thread that can sleep and whose attempt has failed. */
static inline struct mem_need mem_need(void)
{
    return (struct mem_need){this_cpu()->node, MEM_TRIES, true, true};
}

enum mem_wait {
    MEM_FREED,        /* frames may be free now: try again */
    MEM_CANNOT_SLEEP, /* no frame was free, and the caller must not sleep */
    MEM_EXHAUSTED,    /* no frame can be freed, or other threads took them; do not try again */
    MEM_ENDING,       /* like MEM_EXHAUSTED, and the process of the calling thread is ending */
};

/* ---- implemented by pages/ ---- */
/*
 * mem_wait - the only function that waits for memory.  A caller that can sleep must hold no spin
 * lock.  If interrupts are on, the function frees pages of the cache list.  If the list is empty,
 * it may wake up the pageout daemon and, if the caller can sleep, wait until pages have been
 * freed.  Ignores signals.
 * pageout_may_take - whether the running thread is allowed to take a frame while fewer than low_pages of a node
 * are free.
 * swap_free_slot - called when the last reference to a page with PG_SWAPPED or PG_SLOT was dropped.  Frees the
 * page's swap slot, and with PG_SWAPPED also its descriptor.
 */
enum mem_wait mem_wait(struct mem_need *need);
bool pageout_may_take(void);
void swap_free_slot(struct page *pg);

/* ---- implemented by vm/ ---- */
/*
 * tlb_flush_kernel - invalidate translations of kernel stacks, which are not global, on all CPUs.  The caller
 * must hold no spin lock.
 */
void tlb_flush_kernel(void);

#endif
