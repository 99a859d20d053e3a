// SPDX-License-Identifier: MIT
/*
 * swap_area.h - swap areas, and the slots of each: shared by swap.c and swap_area.c.
 */
#ifndef PAGES_SWAP_AREA_H
#define PAGES_SWAP_AREA_H

#include "pages/slots.h"
#include "pages/swap.h"

enum { SWAP_AREAS = 8, SWAP_SECTORS = PAGE_SIZE / 512 };

struct swap_area {
    struct vnode *vn; /* the disk or file, with a reference; NULL: this element is not in use */
    struct disk *disk;
    uint64_t *sector; /* first sector of each slot of a file; NULL: slot n is page n of the disk */
    struct slots slots;
    uint64_t usable; /* number of slots that can be used: all except the label and bad slots */
    bool leaving;    /* the area is being removed and gets no new pages    */
    char name[64];
};
extern struct swap_area swap_areas[SWAP_AREAS];

/* The position of a page on swap.  If `area` is SWAP_AREAS, the page has no slot. */
struct swap_place {
    unsigned area;
    uint64_t slot;
};

static inline uint64_t swap_sector(const struct swap_area *a, uint64_t slot)
{
    return a->sector != NULL ? a->sector[slot] : slot * SWAP_SECTORS;
}

/* swap_follows - whether slot `b` lies directly behind slot `a` on the disk, in the same area.  Takes no lock. */
static inline bool swap_follows(struct swap_place a, struct swap_place b)
{
    return a.area == b.area && a.area != SWAP_AREAS &&
           swap_sector(&swap_areas[b.area], b.slot) ==
               swap_sector(&swap_areas[a.area], a.slot) + SWAP_SECTORS;
}

/*
 * swap_take - take up to `want` slots of one area that are adjacent on the disk; *first becomes the first of
 * them.  Returns their number; 0: no slot is free.
 * swap_give - free a slot.
 * swap_retire - count one usable slot less, because a slot could not be written.  That slot stays
 * marked as in use.
 * Each takes areas_lock (RANK_VM_TLB), and can be called in any context.
 */
unsigned swap_take(unsigned want, struct swap_place *first);
void swap_give(struct swap_place p);
void swap_retire(unsigned area);
/*
 * swap_plenty - whether pages read back from `area` may keep their slots: at least half of swap is free,
 * and the area is not being removed.  Takes no lock.
 */
bool swap_plenty(unsigned area);
void swap_areas_boot(void);
/*
 * swap_in_leaving - for swapoff: read back those pages of an object that are on areas being removed, and free
 * slots there that pages in memory keep.  Stops early, with 0, when the calling process is ending, or the space whose
 * private object this is: its end waits for the lock.  0, -EIO, -ENOMEM.
 */
int swap_in_leaving(struct vm_object *o);

#endif
