// SPDX-License-Identifier: MIT
/*
 * swap.h - anonymous pages on disk.  See swap.c.
 */
#ifndef VM_SWAP_H
#define VM_SWAP_H

#include "vm/as.h"

struct disk;

void swap_boot(void);
/* swap_room - is there a slot for a page? */
bool swap_room(void);

/* What a page on its way out belongs to; a reference of it is held.  One of the two. */
struct swap_owner {
    struct vm_object   *obj;
    struct anon_family *family;
};
/*
 * swap_out - write anonymous pages to swap and free them.  Each is PG_LOCKED by the caller, held, unmapped and flushed.
 * Those that cannot go (in use, no slot) are unlocked and released.  Returns how many are on their way.
 */
unsigned swap_out(struct page **pages, struct swap_owner *owners, unsigned n);
#define SWAP_CLUSTER 32u /* pages of one call */
/*
 * swap_in - bring back the page of `o` that `pg` (PG_SWAPPED, held by the caller) stands for, in all objects that name
 * it.  @pl  where it is to lie.  0 (the caller looks again), -EIO, -ENOMEM.  Sleeps.
 */
int swap_in(struct vm_object *o, struct page *pg, const struct placement *pl);
/* swap_in_range - the same for all of [start, end) of a space's private memory; as->lock is held.  0, -EIO, -ENOMEM. */
int swap_in_range(struct as *as, uint64_t start, uint64_t end);

/* A new area: pages 1 .. pages - 1 of a disk, or of a file on it, whose pages begin at sector[]. */
struct swap_new {
    struct vnode *vn;
    const char   *name;
    struct disk  *disk;
    uint64_t     *sector; /* kmem_alloc'ed, becomes the area's; NULL: the whole disk */
    uint64_t      pages;
};
/*
 * swap_add - swapon(2): -EINVAL (too small) -EBUSY (is one already, or its disk is mounted) -ENOMEM.
 * swap_remove - swapoff(2): -EINVAL (is none) -ENOMEM (no room for what is on it, or promised) -EIO -EBUSY (pages are
 *               on their way out: try again).
 */
int swap_add(const struct swap_new *n);
int swap_remove(struct vnode *vn);

struct swap_info {
    char     name[64];
    uint64_t dev; /* of the disk */
    uint64_t pages, free;
    bool     file;
};
/* swap_next - the i'th area; false: there are no more.  swap_total - pages of all, and free ones. */
bool swap_next(unsigned i, struct swap_info *out);
void swap_total(uint64_t *pages, uint64_t *free);

#endif
