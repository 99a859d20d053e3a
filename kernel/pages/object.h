// SPDX-License-Identifier: MIT
/*
 * object.h - page objects: what every user page belongs to.
 *
 * THEORY      A program's page may come from a file, from shared memory, or from its own private memory.
 *             The kernel must find a page by its position there, and must find all mappings of a page.  So each
 *             user page belongs to a page object.  An object is an index of pages: a radix tree from page
 *             number to frame.  There are two kinds:
 *               VNODE  the pages of one file; its vnode owns it; read, write, mmap and exec share it
 *               ANON   memory without a file: of a shared mapping, or the private pages of one
 *                      address space
 *             A private anonymous object is cloned at fork: the clone's tree names the same frames, and
 *             each frame's `nsharers` counts the objects that name it.  All clones of one ancestor form an
 *             anon_family.  So the family and the index of a page lead to every mapping of it (reverse
 *             mapping).
 *             An object with an object_io is a cache of a disk (pcache.c).  Its pages can be dirty, can be read
 *             ahead or written behind, and can be freed because the data stay on the disk.
 *             The placement policy of shared memory is kept in the object, that of private memory
 *             in the segment.
 * INVARIANTS  I1  a page in a VNODE or shared ANON object has page->obj == object and page->index == its
 *                 index
 *             I2  a private page has page->family == the family of its objects, and page->nsharers
 *                 == the number of objects that name it
 *             I3  a page has at least one reference for each object that names it
 * LOCKING     [c] constant  [a] atomic
 *             [o] obj->lock (RANK_VM_OBJ) guards the tree of pages and the tree of segments; family->lock
 *             (RANK_VM_FAMILY) guards the family's list and is taken first.
 */
#ifndef PAGES_OBJECT_H
#define PAGES_OBJECT_H

#include "disp/sync.h"
#include "lib/itree.h"
#include "lib/list.h"
#include "lib/spinlock.h"
#include "mem/page.h"
#include "pages/around.h"
#include "pages/radix.h"

enum obj_kind { OBJ_VNODE, OBJ_ANON };

struct vm_object;

/* Why pages are written to the disk. */
enum write_why {
    WRITE_BEHIND,  /* no thread waits for the pages */
    WRITE_SYNC,    /* a thread waits for the pages, or will wait */
    WRITE_RECLAIM, /* pageout: do not wait for a thread that may wait for memory */
};

/* Functions that the owner of an object (a file system) provides; each of them may be NULL. */
struct pager_ops {
    /*
     * Fill a new page, which is PG_LOCKED and already in the tree.  0 or -EIO.  May sleep.  NULL: new pages
     * are zeroed.
     */
    int (*getpage)(struct vm_object *obj, struct page *pg);
    /*
     * A store through a shared mapping is about to make the page dirty: allocate blocks, set times.  0,
     * -ENOSPC or -EIO.
     */
    int (*page_mkwrite)(struct vm_object *obj, struct page *pg);
    /*
     * Allocate disk blocks for bytes off .. off+len-1, which lie in one page and were already copied into it.
     * The caller holds the file's lock for writing (vnode.h).  A file system that orders data before metadata
     * must mark the page dirty (object_dirty_range) before the change of metadata can be committed.  The caller
     * marks it when this function has returned.  0, -ENOSPC, -EIO, -EROFS, -ENOMEM.  NULL: nothing to do.
     */
    int (*prepare_write)(struct vm_object *obj, uint64_t off, uint64_t len);
    /*
     * Whether page `index` has all its blocks, so that prepare_write cannot fail for this page.
     * The function is allowed to return false if it does not know.  NULL: as if it always returned
     * false.
     */
    bool (*has_blocks)(struct vm_object *obj, uint64_t index);
    /*
     * Start reading `n` pages of consecutive indices; they are PG_LOCKED and in the tree.
     * If the result is 0, object_read_done() is called once for each page, in any context.  After
     * an error it is called for no page.  NULL: getpage reads the pages one by one.
     */
    int (*readpages)(struct vm_object *obj, struct page **pages, unsigned n);
    /*
     * Start writing `n` (at most PCACHE_CLUSTER_MAX) pages of consecutive indices; they are PG_WRITEBACK,
     * no longer PG_DIRTY, and have blocks.
     * If the result is 0, object_write_done() is called once for each page, in any context.  After
     * an error it is called for no page.  The errors are those of object_write_done().
     */
    int (*writepages)(struct vm_object *obj, struct page **pages, unsigned n, enum write_why why);
    /*
     * Called when a thread begins to wait for pages that are being read, or with `write`, for pages
     * that are being written.  NULL: nothing to do.
     */
    void (*hurry)(struct vm_object *obj, bool write);
};

struct vm_object {
    struct spinlock lock;
    uint8_t kind;          /* [c] enum obj_kind                                            */
    uint8_t order;         /* [c] order of its pages: 0 or HUGE_ORDER; an index counts 4 KiB */
    bool shared;           /* [c] ANON: shared between address spaces (MAP_SHARED, shm)    */
    bool sysv;             /* [c] ANON shared: made by shmget                              */
    _Atomic bool locked;   /* [a] ANON shared: must not go to swap (SHM_LOCK)              */
    _Atomic uint32_t refs; /* [a] ANON shared: references of segments and owners           */
    struct radix tree;     /* [o] pages by index                                           */
    uint64_t npages;       /* [o] pages in the tree, in units of 4 KiB                     */
    struct list advised;   /* [o] ranges with their own policy (pages/advice.c), sorted       */
    unsigned nadvised;     /* [o] length of the list `advised`                             */
    uint32_t seg_changes;  /* [o] how often a segment with copies came into `segs`, or grew */
    _Atomic uint64_t cuts; /* [a] how often as_drop_private() was called for the object     */
    struct range_policy *policies; /* [o] the policies with nodes of these ranges (rangepolicy.h) */
    /* [a] a fault at or beyond this index is SIGBUS; ANON: promised pages */
    _Atomic uint64_t size_pages;
    struct itree segs; /* [o] segments that map the object, by page (not for private ANON) */
    /* [a] threads between emptying entries of these segments and the TLB flush (as.h I8) */
    _Atomic uint32_t zaps;
    struct anon_family *family; /* [c] private ANON: the fork family of the object              */
    /* in family->objs, under family->lock; sysv: in a list under sysv_lock (object.c) */
    struct list family_link;
    const struct pager_ops *ops; /* [c] VNODE                                                    */
    void *owner;                 /* [c] VNODE: the vnode                                         */
    struct object_io *io;        /* [c] VNODE on a disk; NULL: the pages are only in memory      */
    /* [a] unique number for futex keys, never reused; 0: not assigned yet */
    _Atomic uint64_t number;
};

/* Counts of pages that could not be written; each such page became dirty again. */
struct write_tally {
    uint32_t failed;  /* because of an error      */
    uint32_t put_off; /* because memory was short */
};

/* The part of an object that only objects on a disk need.  The file system embeds it beside the vnode. */
struct object_io {
    uint32_t ndirty;          /* [o] pages tagged dirty                                           */
    uint32_t nwriteback;      /* [o] pages tagged as being written                                */
    struct write_tally tally; /* [o]                                                              */
    int error;   /* [o] error of the last write that failed; 0: no write has failed               */
    bool behind; /* [o] a write was put off, and no sync of the whole object has ended since      */
    bool exec;   /* [a] the object has been mapped for execution: its pages count as executable */
    uint32_t nthrottled; /* [o] writers that sleep in the write throttle                     */
    uint32_t npaced;     /* [o] writers that sleep for pacing                                */
    struct cv throttled; /* used with o->lock: the nthrottled writers sleep here             */
    struct cv paced;     /* used with o->lock: the npaced writers sleep here                 */
    /* under dirty_set.lock (pcache.c): threads that use the object without a reference */
    uint32_t pins;
    /* under dirty_set.lock: in dirty_set.objs, the list of objects with dirty pages */
    struct list dirty_link;
    struct vm_object *obj; /* [c] the object to which this part belongs */
    /* history of reads without an open file; unlocked: errors only cost reads */
    struct readahead ra;
    struct around around;  /* history of faults; unlocked: errors only cost reads */
    struct disk *disk;     /* [c] the disk that holds the file                                */
    struct writebehind wb; /* under vn->lock                                                  */
};
#define PCACHE_CLUSTER_MAX 64u /* most pages of one call of readpages or writepages */

/* object_init_vnode - set up the object embedded in a vnode; it lives as long as the vnode. */
void object_init_vnode(struct vm_object *o, const struct pager_ops *ops, void *vnode);
/*
 * object_create_anon - make a shared anonymous object for `pages` pages of 4 KiB, all promised
 * (pages/reserve.h), with one reference; NULL: no memory.
 * @huge  its pages are of 2 MiB
 */
struct vm_object *object_create_anon(uint64_t pages, bool huge);
/*
 * object_create_sysv - like object_create_anon(), for shmget().  Such an object can have pages while no address
 * space maps it.
 * object_each_sysv - call fn(o, arg) for each shmget() object until a call fails.  Returns 0 or that error.
 * Sleeps.
 */
struct vm_object *object_create_sysv(uint64_t pages, bool huge);
int object_each_sysv(int (*fn)(struct vm_object *o, void *arg), void *arg);
/*
 * object_hold, object_release - take and drop a reference to a shared anonymous object.  They do nothing
 * for the object of a vnode, which the vnode owns.
 */
void object_hold(struct vm_object *o);
void object_release(struct vm_object *o);

/*
 * object_page_find - the page at `index`, with a reference; NULL: it is absent.  Waits while the page is busy.
 * object_page_get - the same, but make the page if it is absent (zeroed, or filled by ops->getpage), placed for
 * curthread by the object's policy.  Returns 0 and *out, -ENOMEM, -EIO, or for an object on a disk -ENXIO
 * (beyond the end).  Can sleep.
 */
struct page *object_page_find(struct vm_object *o, uint64_t index);
int object_page_get(struct vm_object *o, uint64_t index, struct page **out);
/*
 * object_page_get_overwrite - like object_page_get(), for a page that the caller will overwrite
 * entirely.  A new page is neither zeroed nor read.  Other threads find the page at once, so it must lie beyond
 * the end of the file, where they do not read it.
 */
int object_page_get_overwrite(struct vm_object *o, uint64_t index, struct page **out);
/*
 * object_remove_page - remove the page from the object's tree; the caller then owns the tree's reference.  The
 * caller holds o->lock.  page->obj becomes NULL, because a scanner can find the page until the page is freed,
 * and the object may be freed before that (scan.c).
 */
static inline void object_remove_page(struct vm_object *o, struct page *pg)
{
    radix_remove(&o->tree, pg->index);
    o->npages -= 1ul << o->order;
    pg->obj = NULL;
}
/*
 * object_truncate - unmap and free all pages with index >= first, for truncate and unlink.  Waits for busy
 * pages.
 * object_punch - unmap and free pages first .. last, in the same way.
 */
void object_truncate(struct vm_object *o, uint64_t first);
void object_punch(struct vm_object *o, uint64_t first, uint64_t last);

/* Data to choose the board of a new page of a segment. */
struct placement {
    unsigned policy; /* LGRP_MEM_POLICY_*, not DEFAULT; or as in rangepolicy.h             */
    uint64_t bytes;  /* size of the segment                                                */
    uint64_t index;  /* number of the page, for round robin: see segplace.c                */
    bool advised;    /* set by madvise() or mbind(): overrides the thread's (lgrp/mempolicy.h) */
};
/*
 * Objects on a disk: pcache.c.
 * object_io_init - make the object of a vnode a cache of a disk; called after vn_init().
 * object_io_fini - wait for threads that still use the object or its object_io, before the memory of both is
 * freed.  The object must have no pages (object_truncate).  Sleeps.
 */
void object_io_init(struct vm_object *o, struct object_io *io, struct disk *disk);
void object_io_fini(struct vm_object *o);
/*
 * object_dirty - mark a page as different from the disk, if it is not marked already.  The page is in the tree,
 * and the caller has a reference to it.  Without an object_io, the function only sets PG_DIRTY.
 * Inline, because most pages that are written are marked already.
 * object_set_dirty - the part of object_dirty() for a page that was not marked when it was tested.
 * object_dirty_range - do this for those of pages first .. last that are in memory; the object has an
 * object_io.
 * All can be called in any context, and take o->lock.
 */
void object_set_dirty(struct vm_object *o, struct page *pg);
static inline void object_dirty(struct vm_object *o, struct page *pg)
{
    /* A thread that clears the flag after it is read here must see the data that were stored before. */
    if (o->io != NULL)
        atomic_thread_fence(memory_order_seq_cst);
    if ((atomic_load_explicit(&pg->flags, memory_order_relaxed) & PG_DIRTY) == 0)
        object_set_dirty(o, pg);
}
void object_dirty_range(struct vm_object *o, uint64_t first, uint64_t last);
/*
 * object_prepare_begin - begin to allocate disk blocks for a page to which the caller has a reference.  Until
 * object_prepare_end(), other threads wait here, and no fault maps the page writable, even if it is dirty.
 * Sleeps.
 * object_prepare_end - end the allocation.  After an error the page may have only some of its blocks.  Then the
 * page is written and becomes clean, so that the next store allocates the other blocks.  Sleeps.
 */
void object_prepare_begin(struct page *pg);
void object_prepare_end(struct vm_object *o, struct page *pg, int err);
/*
 * object_read_done, object_write_done - called by the file system when it has read or written one page of
 * readpages or writepages.  Any context.
 * @err  0 or -EIO.  A write can also have -ENOMEM, or -EAGAIN: memory is short and no thread waits, so the
 *       write is tried again later
 */
void object_read_done(struct page *pg, int err);
void object_write_done(struct page *pg, int err);
/*
 * object_writeback - start writing the dirty pages of first .. last.
 * @why  WRITE_SYNC: wait for dirty pages that are busy or being written, then write them (again); otherwise
 *       skip them
 * Returns 0 or the first error of writepages; the pages of that call are dirty again.  Sleeps.
 * object_sync - write the dirty pages of first .. last, and wait.  Returns 0 when all pages that were dirty or
 * being written at the call are on the disk.  That includes pages whose write was postponed because memory was
 * short.  Otherwise returns -EIO or -ENOMEM, to each caller and in each call, as long as pages cannot be
 * written: they stay dirty.
 */
int object_writeback(struct vm_object *o, uint64_t first, uint64_t last, enum write_why why);
int object_sync(struct vm_object *o, uint64_t first, uint64_t last);
/* object_is_clean - whether no page is dirty or being written.  Takes o->lock. */
static inline bool object_is_clean(struct vm_object *o)
{
    bool clean = true;

    if (o->io != NULL) {
        spin_lock(&o->lock); /* a page whose write fails moves from one count to the other */
        clean = o->io->ndirty == 0 && o->io->nwriteback == 0;
        spin_unlock(&o->lock);
    }
    return clean;
}
/*
 * object_is_behind - whether pages are being written, or are dirty because a write was put off.  A caller that has
 * begun to write all dirty pages must then call object_sync().  Takes o->lock.
 */
static inline bool object_is_behind(struct vm_object *o)
{
    bool behind = false;

    if (o->io != NULL) {
        spin_lock(&o->lock); /* a page whose write is put off moves from one count to the other */
        behind = o->io->nwriteback != 0 || (o->io->behind && o->io->ndirty != 0);
        spin_unlock(&o->lock);
    }
    return behind;
}
/*
 * object_free_behind - a reader has passed pages first .. last.  If it reads sequentially and memory is
 * short, the pages that are not in use are freed, or go to the front of the cache list.
 * @ra  read-ahead state of the reader; NULL: that of the file itself
 */
void object_free_behind(struct vm_object *o, const struct readahead *ra, uint64_t first,
                        uint64_t last);
/*
 * object_forget_clean - start writing the dirty pages of first .. last, and free those that are clean, not
 * mapped and not in use.  Sleeps.
 */
void object_forget_clean(struct vm_object *o, uint64_t first, uint64_t last);
/*
 * object_throttle - sleep while too much of the file is in flight to the disk (pages/throttle.h).  Ignores
 * signals.
 */
void object_throttle(struct vm_object *o);
/*
 * object_writeback_all - object_writeback(WRITE_SYNC) of each object with dirty pages for which
 * want(owner, arg) is true.  Sleeps.
 */
void object_writeback_all(bool (*want)(void *owner, void *arg), void *arg);
/*
 * object_page_read - get the page at `index` of an object on a disk, with a reference.  If absent, it is read,
 * with read-ahead.
 * @want  pages that the caller will read from here on
 * @pl    placement of the page; NULL: as for read() and write()
 * @how   how the file is read; NULL: without advice, and with the read-ahead of the file itself
 * 0, -ENOMEM, -EIO, -ENXIO (beyond the end).  Sleeps; the caller must hold no locks.
 */
struct placement;
struct read_how;
int object_page_read(struct vm_object *o, uint64_t index, uint64_t want, const struct placement *pl,
                     const struct read_how *how, struct page **out);
/*
 * object_read_ahead - start reading the absent pages of first .. last, placed as for read() and write(),
 * without waiting for them.  Stops early if memory would become short, or if the process is ending.
 * @budget  number of pages that may still be read; the function subtracts the pages that it reads
 * Does nothing for an object without a disk.  Sleeps while a file system looks up blocks, so the caller must
 * hold no spin lock.
 */
void object_read_ahead(struct vm_object *o, uint64_t first, uint64_t last, uint64_t *budget);
/*
 * object_page_new - make a page for `index`, placed as for read() and write(), with one reference.  It is not
 * in a tree yet.  NULL: no memory.
 * object_page_insert - put a new page into the tree, which takes its own reference.  0, -EEXIST,
 * -ENOMEM.
 */
struct page *object_page_new(struct vm_object *o, uint64_t index);
int object_page_insert(struct vm_object *o, uint64_t index, struct page *pg);

/*
 * object_page_make - like object_page_get(), but with placement `pl`.
 * @advice  enum read_advice
 */
int object_page_make(struct vm_object *o, uint64_t index, const struct placement *pl,
                     unsigned advice, struct page **out);
void object_boot(void);

/* ---- implemented by vfs/ ---- */
/*
 * vnode_hold, vn_release - take and drop a reference to a file.  The last release may sleep.
 * vn_count_write - add n (which may be negative) to the opens for writing and the writable shared mappings of
 *                  a file that is already open for writing.
 * vn_fsync - write the file's data and attributes to the disk, and wait.  0, -EIO or -ENOMEM.
 * vn_may_write - whether the calling thread owns the file or may write to it.
 * vfs_sync_inodes - write the delayed changes of inodes of all file systems, but not of pages.  Sleeps.
 */
struct vnode;
void vnode_hold(struct vnode *vn);
void vn_release(struct vnode *vn);
void vn_count_write(struct vnode *vn, int n);
int vn_fsync(struct vnode *vn, bool data_only);
bool vn_may_write(struct vnode *vn);
void vfs_sync_inodes(void);

/* ---- implemented by proc/ ---- */
/* proc_is_ending - whether the process of the calling thread is ending; if so, long operations stop early. */
bool proc_is_ending(void);

#endif
