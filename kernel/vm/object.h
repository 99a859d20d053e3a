// SPDX-License-Identifier: MIT
/*
 * object.h - page objects: what every user page belongs to.
 *
 * THEORY      An object is an index of pages: a radix tree from page number to frame.  Two kinds:
 *               VNODE  the pages of one file; owned by its vnode; shared by read, write, mmap and exec;
 *               ANON   memory without a file: a shared mapping's, or the private pages of one segment.
 *             A private anonymous object is cloned at fork: the clone's tree names the same frames, each frame's
 *             `share` counts the objects that name it, and all clones of one ancestor form an anon_family, so that
 *             the family and the index of a page lead to every mapping of it (reverse mapping).
 *             The placement policy of shared memory lives here, that of private memory in the segment.
 * INVARIANTS  I1  a page in a VNODE or shared ANON object has page->obj == object and page->index == its index
 *             I2  a private page has page->family == its objects' family, and share == number of objects naming it
 *             I3  a slot's page has at least one reference for each object that names it
 * LOCKING     obj->lock (RANK_VM_OBJ) guards the tree and the list of segments; family->lock (RANK_VM_FAMILY)
 *             guards the family's list and comes first.
 */
#ifndef VM_OBJECT_H
#define VM_OBJECT_H

#include "lib/list.h"
#include "lib/spinlock.h"
#include "mem/page.h"
#include "vm/radix.h"

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
     */
    int (*readpages)(struct vm_object *obj, struct page **pages, unsigned n);
    /*
     * Start writing `n` pages of consecutive indices; they are PG_WRITEBACK, no longer PG_DIRTY, and have blocks.
     * @sync  somebody waits for them
     * 0: object_write_done() is called once for each of them, in any context.  An error: for none of them.
     */
    int (*writepages)(struct vm_object *obj, struct page **pages, unsigned n, bool sync);
};

struct vm_object {
    struct spinlock         lock;
    uint8_t                 kind;    /* [c] enum obj_kind                                            */
    uint8_t                 order;   /* [c] of its pages: 0 or HUGE_ORDER (indices are of 4 KiB)     */
    bool                    shared;  /* [c] ANON: shared between address spaces (MAP_SHARED, shm)    */
    _Atomic uint32_t        refs;    /* [a] ANON shared: segments and owners; else not used          */
    struct radix            tree;    /* [o] pages by index                                           */
    uint64_t                npages;  /* [o] pages present, in 4 KiB                                  */
    struct list             advised; /* [o] ranges with a policy of their own (vm/place.c), sorted   */
    _Atomic uint64_t        size_pages; /* [a] VNODE: faults at or beyond it are SIGBUS; ANON: placement size */
    struct list             segs;    /* [o] segments that map it (not of private ANON)               */
    struct anon_family     *family;  /* [c] private ANON: those that descend from the same exec      */
    struct list             family_link; /* under family->lock                                       */
    const struct pager_ops *ops;     /* [c] VNODE                                                    */
    void                   *owner;   /* [c] VNODE: the vnode                                         */
};

/* object_init_vnode - set up the object embedded in a vnode; it lives as long as the vnode. */
void object_init_vnode(struct vm_object *o, const struct pager_ops *ops, void *vnode);
/* object_create_anon - a shared anonymous object for `pages` pages, with one reference; NULL: no memory. */
struct vm_object *object_create_anon(uint64_t pages);
/* object_create_huge - the same, of 2 MiB pages; `pages` counts 4 KiB. */
struct vm_object *object_create_huge(uint64_t pages);
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
};
/* object_page_make - as object_page_get with create, placed as told.  0, -ENOMEM, -EIO. */
int object_page_make(struct vm_object *o, uint64_t index, const struct placement *pl, struct page **out);
void object_boot(void);

#endif
