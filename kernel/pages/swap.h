// SPDX-License-Identifier: MIT
/*
 * swap.h - anonymous pages on disk.  See swap.c, and swap_area.c for the areas.
 */
#ifndef PAGES_SWAP_H
#define PAGES_SWAP_H

#include "pages/around.h"
#include "vm/as.h"

struct disk;

#define SWAP_CLUSTER 32u /* pages of one transfer, at most */

void swap_boot(void);
/* swap_room - is there a slot for a page?  swap_kept - pages in memory that keep the slot they came from. */
bool swap_room(void);
uint64_t swap_kept(void);
/* swap_cluster_pages - how many neighbours, aligned, leave memory together: the tunable swap_cluster. */
unsigned swap_cluster_pages(void);

/* What a page on its way out belongs to; a reference of it is held.  One of the two. */
struct swap_owner {
    struct vm_object *obj;
    struct anon_family *family;
};
/* What swap_out() did: pages that needed no write, and are free; pages that are being written. */
struct swap_out_result {
    unsigned freed, writing;
};
/*
 * swap_out - write anonymous pages to swap and free them; those that keep a slot need no write, and are freed at once.
 * Each is PG_LOCKED by the caller, held, unmapped and flushed.  Those that cannot go (in use, no slot) are unlocked and
 * released.  Their order is that of the slots they get.  Does not sleep; no spin lock may be held.
 */
struct swap_out_result swap_out(struct page **pages, struct swap_owner *owners, unsigned n);
/*
 * swap_forget - a page with PG_SLOT is about to differ from what is in its slot, which is given back.  The object that
 * alone names the page is locked, or the page's family: no translation of it is writable.
 */
void swap_forget(struct page *pg);
/*
 * swap_in - bring back the page of `o` that `pg` (PG_SWAPPED, held by the caller) stands for, in all objects that name
 * it; and its neighbours, if they lie beside it on the disk as well and there is memory enough.
 * @pl      where the page is to lie; the others accordingly
 * @around  pages of `o` that may be read with it, of which they get PG_AHEAD; becomes those that are read
 * @wait    until it is there; else 0 says that it was begun, and the others are wanted as well: no PG_AHEAD
 * 0 (the caller looks again), -EIO, -ENOMEM.  Sleeps.
 */
int swap_in(struct vm_object *o, struct page *pg, const struct placement *pl,
            struct page_run *around, bool wait);
/* swap_in_fault - the same for a fault at `addr` of segment `s`, which reads around (around.h). */
int swap_in_fault(struct seg *s, uint64_t addr, struct vm_object *o, struct page *pg);
/*
 * swap_in_range - the same for all of [start, end) of a space's private memory; as->lock is held.  0, -EIO, -ENOMEM.
 * swap_in_object - for all of an object, which also gives up slots of areas that are being removed.
 */
int swap_in_range(struct as *as, uint64_t start, uint64_t end);
int swap_in_object(struct vm_object *o);
/*
 * swap_in_ahead - start reading what is on swap of pages first .. last of `o`, the segment's object or its space's own,
 * without waiting for it.  Ends where memory would become short, and when the process is ending.  as->lock is held.
 */
void swap_in_ahead(struct seg *s, struct vm_object *o, uint64_t first, uint64_t last);

/* A new area: pages 1 .. pages - 1 of a disk, or of a file on it, whose pages begin at sector[]. */
struct swap_new {
    struct vnode *vn;
    const char *name;
    struct disk *disk;
    uint64_t *sector; /* kmem_alloc'ed, becomes the area's; NULL: the whole disk */
    uint64_t pages;
};
/*
 * swap_add - swapon(2): -EINVAL (too small) -EBUSY (is one already, or its disk is mounted) -ENOMEM.
 * swap_remove - swapoff(2): -EINVAL (is none) -ENOMEM (no room for what is on it, or promised) -EIO -EBUSY (pages are
 *               on their way out: try again).
 */
int swap_add(const struct swap_new *n);
int swap_remove(struct vnode *vn);

struct swap_info {
    char name[64];
    uint64_t dev; /* of the disk */
    uint64_t pages, free;
    bool file;
};
/* swap_next - the i'th area; false: there are no more.  swap_total - pages of all, and free ones. */
bool swap_next(unsigned i, struct swap_info *out);
void swap_total(uint64_t *pages, uint64_t *free);

#endif
