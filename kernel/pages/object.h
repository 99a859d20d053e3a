// SPDX-License-Identifier: MIT
/*
 * object.h - page objects: what every user page belongs to.
 *
 * THEORY      An object is an index of pages: a radix tree from page number to frame.  Two kinds:
 *               VNODE  the pages of one file; owned by its vnode; shared by read, write, mmap and exec;
 *               ANON   memory without a file: a shared mapping's, or the private pages of one segment.
 *             A private anonymous object is cloned at fork: the clone's tree names the same frames, each frame's
 *             `nsharers` counts the objects that name it, and all clones of one ancestor form an anon_family, so that
 *             the family and the index of a page lead to every mapping of it (reverse mapping).
 *             An object with an object_io is a cache of something on a disk (pcache.c): its pages can be dirty, read
 *             ahead, written behind, and thrown away.
 *             The placement policy of shared memory lives here, that of private memory in the segment.
 * INVARIANTS  I1  a page in a VNODE or shared ANON object has page->obj == object and page->index == its index
 *             I2  a private page has page->family == its objects' family, and nsharers == number of objects naming it
 *             I3  a slot's page has at least one reference for each object that names it
 * LOCKING     obj->lock (RANK_VM_OBJ) guards the tree and the list of segments; family->lock (RANK_VM_FAMILY)
 *             guards the family's list and comes first.
 */
#ifndef PAGES_OBJECT_H
#define PAGES_OBJECT_H

#include "disp/sync.h"
#include "lib/list.h"
#include "lib/spinlock.h"
#include "mem/page.h"
#include "pages/around.h"
#include "pages/radix.h"

enum obj_kind { OBJ_VNODE, OBJ_ANON };

struct vm_object;

/* What the owner of an object (a file system) provides; any member may be NULL. */
struct pager_ops {
    /* Fill a new page; the page is PG_LOCKED and already in the tree.  NULL: zero-filled.  0 or -EIO.  May sleep. */
    int (*getpage)(struct vm_object *obj, struct page *pg);
    /* A shared writable mapping is about to dirty the page (times, reservations).  0 or -ENOSPC, -EIO. */
    int (*page_mkwrite)(struct vm_object *obj, struct page *pg);
    /*
     * Start reading `n` pages of consecutive indices into a file's cache; they are PG_LOCKED and in the tree.
     * 0: object_read_done() is called once for each of them, in any context.  An error: for none of them.
     * NULL: pages are read one by one by getpage.
     */
    int (*readpages)(struct vm_object *obj, struct page **pages, unsigned n);
    /*
     * Start writing `n` (at most PCACHE_CLUSTER_MAX) pages of consecutive indices; they are PG_WRITEBACK, no longer
     * PG_DIRTY, and have blocks.
     * @sync  somebody waits for them
     * 0: object_write_done() is called once for each of them, in any context.  An error: for none of them.
     */
    int (*writepages)(struct vm_object *obj, struct page **pages, unsigned n, bool sync);
    /* The caller begins to wait for pages that are being written, or read.  NULL: that makes no difference. */
    void (*hurry)(struct vm_object *obj, bool write);
};

struct vm_object {
    struct spinlock lock;
    uint8_t kind;          /* [c] enum obj_kind                                            */
    uint8_t order;         /* [c] of its pages: 0 or HUGE_ORDER (indices are of 4 KiB)     */
    bool shared;           /* [c] ANON: shared between address spaces (MAP_SHARED, shm)    */
    bool sysv;             /* [c] ANON shared: made by shmget                              */
    _Atomic bool locked;   /* [a] ANON shared: does not go to swap (SHM_LOCK)              */
    _Atomic uint32_t refs; /* [a] ANON shared: segments and owners; else not used          */
    struct radix tree;     /* [o] pages by index                                           */
    uint64_t npages;       /* [o] pages present, in 4 KiB                                  */
    struct list advised;   /* [o] ranges with a policy of their own (vm/placement.c), sorted   */
    unsigned nadvised;     /* [o] how many                                                */
    _Atomic uint64_t
        size_pages;        /* [a] faults at or beyond it are SIGBUS; ANON: placement size, too  */
    struct list segs;      /* [o] segments that map it (not of private ANON)               */
    _Atomic uint32_t zaps; /* [a] of as->zaps, those of segments that map it               */
    struct anon_family *family;  /* [c] private ANON: those that descend from the same exec      */
    struct list family_link;     /* under family->lock; of those of shmget: under their list's */
    const struct pager_ops *ops; /* [c] VNODE                                                    */
    void *owner;                 /* [c] VNODE: the vnode                                         */
    struct object_io *io;        /* [c] VNODE on a disk; NULL: memory is all there is            */
    _Atomic uint64_t number;     /* [a] of this object alone, for ever (futex keys); 0: none yet */
};

/* Pages whose writing came to nothing so far; each was dirty again. */
struct write_tally {
    uint32_t failed;  /* with an error          */
    uint32_t put_off; /* for want of memory     */
};

/* The side of a file's object that faces the disk.  Its file system embeds it beside the vnode. */
struct object_io {
    uint32_t ndirty;     /* [o] pages tagged dirty                                              */
    uint32_t nwriteback; /* [o] pages tagged as being written                                   */
    struct write_tally
        tally;           /* [o]                                                                 */
    int error;           /* [o] of the last write that failed; 0: none has                      */
    bool exec;           /* [a] has been mapped for execution: its pages count as executable    */
    uint32_t nthrottled; /* [o] writers that the write throttle has stopped                     */
    uint32_t npaced;     /* [o] writers that pacing has stopped                                 */
    struct cv throttled; /*     with [o]: the former                                            */
    struct cv paced;     /*     with [o]: the latter                                            */
    uint32_t pins;       /* under the list's lock: who works on the object without a reference  */
    struct list
        dirty_link;        /* under the list's lock: objects with dirty pages (pcache.c)          */
    struct vm_object *obj; /* [c]                                                                 */
    struct readahead
        ra; /* of reads without an open file; unlocked: a wrong guess is a wrong read */
    struct around around;  /* likewise, of faults                                                 */
    struct disk *disk;     /* [c] it lies on                                                      */
    struct writebehind wb; /* under vn->lock                                                      */
};
#define PCACHE_CLUSTER_MAX 64u /* pages of one readpages or writepages */

/* object_init_vnode - set up the object embedded in a vnode; it lives as long as the vnode. */
void object_init_vnode(struct vm_object *o, const struct pager_ops *ops, void *vnode);
/*
 * object_create_anon - a shared anonymous object for `pages` pages of 4 KiB, all promised (pages/reserve.h), with one
 * reference; NULL: no memory.
 * @huge  of 2 MiB pages
 */
struct vm_object *object_create_anon(uint64_t pages, bool huge);
/*
 * object_create_sysv - the same for shmget(): it may have pages and no mapping.
 * object_each_sysv - fn for each such object, up to the first that gives an error.  Sleeps.
 */
struct vm_object *object_create_sysv(uint64_t pages, bool huge);
int object_each_sysv(int (*fn)(struct vm_object *));
/* object_hold, object_release - references of a shared anonymous object; nothing for a vnode's, which it owns. */
void object_hold(struct vm_object *o);
void object_release(struct vm_object *o);

/*
 * object_page_get - the page at `index` with a reference held.
 * @create  make it (zeroed, or through ops->getpage) when absent, placed for curthread by the object's policy.
 * Returns 0 and *out (NULL when absent and !create), -ENOMEM, -EIO.  May sleep when create.
 */
int object_page_get(struct vm_object *o, uint64_t index, bool create, struct page **out);
/*
 * object_page_get_overwrite - as above with create, for a page that the caller will overwrite entirely: a new one is
 * neither zeroed nor read.  Others can see it at once: nothing but its size must keep them from looking.
 */
int object_page_get_overwrite(struct vm_object *o, uint64_t index, struct page **out);
/*
 * object_remove_page - the page leaves the object's tree, and the caller owns the tree's reference.  o->lock is held.
 * The page forgets its object: until it is freed a scanner may come across it, and the object may be gone by then
 * (scan.c).
 */
static inline void object_remove_page(struct vm_object *o, struct page *pg)
{
    radix_remove(&o->tree, pg->index);
    o->npages -= 1ul << o->order;
    pg->obj = NULL;
}
/*
 * object_truncate - drop all pages with index >= first: unmaps them everywhere, frees them.  Used by truncate, unlink.
 * object_punch - drop pages first .. last.
 */
void object_truncate(struct vm_object *o, uint64_t first);
void object_punch(struct vm_object *o, uint64_t first, uint64_t last);

/* What placement needs to know about a page that is made for a segment. */
struct placement {
    unsigned policy; /* LGRP_MEM_POLICY_*, not DEFAULT                     */
    uint64_t bytes;  /* of the segment                                     */
    uint64_t index;  /* page of the segment, for round robin               */
    bool
        advised; /* madvise() has set it: the thread's own policy (lgrp/mempolicy.h) stands behind it */
};
/*
 * Objects on a disk: pcache.c.
 * object_io_init - make the object of a vnode a cache of a disk; after vn_init().
 * object_io_fini - before the memory of both goes: no page is left (object_truncate).  May sleep.
 */
void object_io_init(struct vm_object *o, struct object_io *io, struct disk *disk);
void object_io_fini(struct vm_object *o);
/*
 * object_dirty - the page, in the tree and held by the caller, differs from the disk from now on.
 * object_dirty_range - the same for the pages of first .. last that are there.
 * Any context; take o->lock.  Nothing for an object without object_io but the flag.
 */
void object_dirty(struct vm_object *o, struct page *pg);
void object_dirty_range(struct vm_object *o, uint64_t first, uint64_t last);
/*
 * object_prepare_begin - blocks are about to be looked for, for a page that the caller holds: one thread at a time, and
 *                        until the end no store through a mapping finds it ready, also if it is dirty.  Sleeps.
 * object_prepare_end - they were found, or not (err): a page that may have got a part of them is clean afterwards, so
 *                      that the next store asks for the rest.  Sleeps.
 */
void object_prepare_begin(struct page *pg);
void object_prepare_end(struct vm_object *o, struct page *pg, int err);
/*
 * object_read_done, object_write_done - the file system is done with one page of readpages, writepages.  0 or -EIO;
 * a write also -ENOMEM, and -EAGAIN: not now, which is no error (only where nobody waits).
 */
void object_read_done(struct page *pg, int err);
void object_write_done(struct page *pg, int err);
/*
 * object_writeback - start writing the dirty pages of first .. last.
 * @sync  somebody will wait: pages that are busy or being written already are waited for, and written (again);
 *        else they are left out
 * Returns 0 or what writepages said first (-EIO): those pages are dirty again.  Sleeps.
 * object_sync - and wait: what was dirty or being written at the call is on the disk, also where such a write was put
 *               off for want of memory.  Else -EIO or -ENOMEM, to each caller and at each call: those pages are dirty.
 */
int object_writeback(struct vm_object *o, uint64_t first, uint64_t last, bool sync);
int object_sync(struct vm_object *o, uint64_t first, uint64_t last);
/*
 * object_free_behind - a reader has passed pages first .. last: if it reads sequentially and memory is short, those not
 * in use are freed, or are the next to be.
 * @ra  the reader's; NULL: that of the file itself
 */
void object_free_behind(struct vm_object *o, const struct readahead *ra, uint64_t first,
                        uint64_t last);
/*
 * object_forget_clean - of pages first .. last: starts writing those that are dirty; frees those that are clean, not
 * mapped and not in use.  Sleeps.
 */
void object_forget_clean(struct vm_object *o, uint64_t first, uint64_t last);
/* object_throttle - sleep, deaf to signals, while the file has too much on its way to the disk (pages/throttle.h). */
void object_throttle(struct vm_object *o);
/* object_writeback_all - object_writeback of each object with dirty pages for which want(owner, arg).  Sleeps. */
void object_writeback_all(bool (*want)(void *owner, void *arg), void *arg, bool sync);
/*
 * object_page_read - the page at `index` of an object on a disk, held, read if absent, with read-ahead.
 * @want  pages that the caller will read from here on
 * @pl    where it is to lie; NULL: as for read and write
 * @how   how it is read; NULL: without advice, and with the read-ahead of the file itself
 * 0, -ENOMEM, -EIO, -ENXIO (beyond the end).  Sleeps; no locks are held.
 */
struct placement;
struct read_how;
int object_page_read(struct vm_object *o, uint64_t index, uint64_t want, const struct placement *pl,
                     const struct read_how *how, struct page **out);
/*
 * object_read_ahead - start reading what is absent of pages first .. last, placed as for read and write, and do not
 * wait for it.  Ends where memory would become short, and when the process is ending.
 * @budget  pages that may be read, and are left
 * Nothing for an object without a disk.  Sleeps while a file system looks for blocks; no spin lock is held.
 */
void object_read_ahead(struct vm_object *o, uint64_t first, uint64_t last, uint64_t *budget);
/*
 * object_page_new - a frame for page `index`, placed as for read and write, held once, in no tree.  NULL: no memory.
 * object_page_insert - put it into the tree, which takes a reference of its own.  0, -EEXIST, -ENOMEM.
 */
struct page *object_page_new(struct vm_object *o, uint64_t index);
int object_page_insert(struct vm_object *o, uint64_t index, struct page *pg);

/* object_page_make - as object_page_get with create, placed as told; @advice  enum read_advice.  0, -ENOMEM, -EIO. */
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
 * vfs_sync_inodes - write delayed changes of inodes of all file systems, but no pages.  Sleeps.
 */
struct vnode;
void vnode_hold(struct vnode *vn);
void vn_release(struct vnode *vn);
void vn_count_write(struct vnode *vn, int n);
int vn_fsync(struct vnode *vn, bool data_only);
bool vn_may_write(struct vnode *vn);
void vfs_sync_inodes(void);

/* ---- implemented by proc/ ---- */
/* proc_is_ending - the calling thread's process is ending, so long calls must end, too. */
bool proc_is_ending(void);

#endif
