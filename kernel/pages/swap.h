// SPDX-License-Identifier: MIT
/*
 * swap.h - anonymous pages on disk.  See swap.c, and swap_area.c for the areas.
 */
#ifndef PAGES_SWAP_H
#define PAGES_SWAP_H

#include "pages/owner.h"

struct disk;

#define SWAP_CLUSTER 32u /* most pages of one transfer */

void swap_boot(void);
/*
 * swap_room - whether a slot is free.  swap_kept - number of pages in memory that keep the slot from which they
 * were read.
 */
bool swap_room(void);
uint64_t swap_kept(void);
/* swap_cluster_pages - size of the aligned clusters in which pages leave memory: the tunable swap_cluster. */
unsigned swap_cluster_pages(void);

/* Result of swap_out(): pages that needed no write and are free; pages that are being written. */
struct swap_out_result {
    unsigned freed, writing;
};
/*
 * swap_out - write anonymous pages to swap, and free them when they are written.  A page that equals its
 * slot (PG_SLOT) is freed at once.  The caller has made each page PG_LOCKED, unmapped it and flushed the TLBs,
 * and has a reference to the page and to its owner.  The function drops both references.  Pages that cannot be
 * written (in use, no free slot) are unlocked.  The slots have the order of the pages.  Does not sleep; the
 * caller must hold no spin lock.
 */
struct swap_out_result swap_out(struct page **pages, struct page_owner *owners, unsigned n);
/*
 * swap_forget - free the slot of a page with PG_SLOT, because the page is about to differ from the slot.  The
 * caller has locked the page's family, or the only object that names the page.  No translation of the page is
 * writable.
 */
void swap_forget(struct page *pg);
/*
 * swap_in - read the page of `o` for which `pg` (PG_SWAPPED; the caller has a reference) stands, and replace
 * `pg` in all objects that name it.  Also reads neighbours, if they are adjacent on the disk, too, and enough
 * memory is free.
 * @pl      placement of the page; the placement of its neighbours follows from it
 * @around  pages of `o` that can be read with it, with PG_AHEAD; set to the pages that are read
 * @wait    wait for the page.  If false, a result of 0 means that the read was started; the neighbours then
 *          count as wanted, too, and get no PG_AHEAD
 * 0 (the caller looks the page up again), -EIO, -ENOMEM.  Sleeps.
 */
int swap_in(struct vm_object *o, struct page *pg, const struct placement *pl,
            struct page_run *around, bool wait);
/*
 * swap_in_around - like swap_in(), for a fault, with reading around (around.h).
 * @within  pages of `o` that may be read
 * @a       history of the faults on these pages
 * @advice  enum read_advice
 */
int swap_in_around(struct vm_object *o, struct page *pg, const struct placement *pl,
                   struct page_run within, struct around *a, unsigned advice);
/*
 * swap_find - get the first page of `o` at or after *index that is on swap and is not being read, with a
 * reference.  *index becomes its index.  NULL: there is none up to `last`.  Takes o->lock.
 */
struct page *swap_find(struct vm_object *o, uint64_t *index, uint64_t last);

/* A new area: pages 1 .. pages - 1 of a disk, or of a file on it; page n begins at sector[n]. */
struct swap_new {
    struct vnode *vn;
    const char *name;
    struct disk *disk;
    uint64_t *sector; /* from kmem_alloc(); after success the area owns it.  NULL: the whole disk */
    uint64_t pages;
};
/*
 * swap_add - swapon(2).  -EINVAL (too small or too large), -EBUSY (already a swap area, or the disk is in use),
 * -ENOMEM (also: too many areas).
 * swap_remove - swapoff(2).  -EINVAL (not a swap area), -ENOMEM (too little memory for the pages on it, or too
 * much is promised), -EIO, -EBUSY (pages are being written to it: try again), -EINTR (the process is ending).
 */
int swap_add(const struct swap_new *n);
int swap_remove(struct vnode *vn);

struct swap_info {
    char name[64];
    uint64_t dev; /* device number of the disk */
    uint64_t pages, free;
    bool file;
};
/*
 * swap_next - describe the i'th area; false: there are no more.
 * swap_total - total number of pages, and number of free pages, of all areas that are not being removed.
 */
bool swap_next(unsigned i, struct swap_info *out);
void swap_total(uint64_t *pages, uint64_t *free);

#endif
