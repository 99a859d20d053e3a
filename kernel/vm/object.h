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

enum obj_kind { OBJ_VNODE, OBJ_ANON };

struct vm_object;

/* What the owner of an object (a file system) provides; any member may be NULL. */
struct pager_ops {
    /* Fill a new page; the page is PG_LOCKED and already in the tree.  NULL: zero-filled.  0 or -EIO.  May sleep. */
    int (*getpage)(struct vm_object *obj, struct page *pg);
    /* A shared writable mapping is about to dirty the page (times, reservations).  0 or -ENOSPC, -EIO. */
    int (*page_mkwrite)(struct vm_object *obj, struct page *pg);
};

struct radix_node;

struct vm_object {
    struct spinlock         lock;
    uint8_t                 kind;    /* [c] enum obj_kind                                            */
    uint8_t                 policy;  /* [o] LGRP_MEM_POLICY_* set by madvise; 0: by size and kind    */
    bool                    shared;  /* [c] ANON: shared between address spaces (MAP_SHARED, shm)    */
    uint8_t                 height;  /* [o] of the radix tree                                        */
    _Atomic uint32_t        refs;    /* [a] segments and owners                                      */
    struct radix_node      *root;    /* [o] (low bit: see radix.c)                                   */
    uint64_t                npages;  /* [o] pages present                                            */
    _Atomic uint64_t        size_pages; /* [a] VNODE: faults at or beyond it are SIGBUS; ANON: placement size */
    struct list             segs;    /* [o] segments that map it                                     */
    struct anon_family     *family;  /* [c] private ANON                                             */
    struct list             family_link;
    const struct pager_ops *ops;     /* [c] VNODE                                                    */
    void                   *owner;   /* [c] VNODE: the vnode                                         */
};

/* object_init_vnode - set up the object embedded in a vnode; it lives as long as the vnode. */
void object_init_vnode(struct vm_object *o, const struct pager_ops *ops, void *vnode);
/* object_create_anon - a shared anonymous object for `pages` pages, with one reference; NULL: no memory. */
struct vm_object *object_create_anon(uint64_t pages);
void object_hold(struct vm_object *o);
void object_release(struct vm_object *o);

/*
 * object_page_get - the page at `index` with a reference held.
 * @create  make it (zeroed, or through ops->getpage) when absent, placed for curthread by the object's policy.
 * Returns 0 and *out (NULL when absent and !create), -ENOMEM, -EIO.  May sleep when create.
 */
int object_page_get(struct vm_object *o, uint64_t index, bool create, struct page **out);
/* As above for a page the caller will overwrite entirely: not zeroed, not read. */
int object_page_get_overwrite(struct vm_object *o, uint64_t index, struct page **out);
/*
 * object_truncate - drop all pages with index >= first: unmaps them everywhere, frees them.  Used by truncate, unlink.
 * object_punch - drop pages first .. last.
 */
void object_truncate(struct vm_object *o, uint64_t first);
void object_punch(struct vm_object *o, uint64_t first, uint64_t last);

#endif
