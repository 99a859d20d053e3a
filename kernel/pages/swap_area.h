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
    struct vnode *vn; /* held; NULL: no area here                                  */
    struct disk *disk;
    uint64_t *sector; /* of each slot, in a file; NULL: slot n at page n            */
    struct slots slots;
    uint64_t usable; /* slots: all but the label's and bad ones                    */
    bool leaving;    /* no new pages                                              */
    char name[64];
};
extern struct swap_area swap_areas[SWAP_AREAS];

/* A page on disk.  area SWAP_AREAS: none. */
struct swap_place {
    unsigned area;
    uint64_t slot;
};

static inline uint64_t swap_sector(const struct swap_area *a, uint64_t slot)
{
    return a->sector != NULL ? a->sector[slot] : slot * SWAP_SECTORS;
}

/* swap_follows - whether slot `b` lies behind slot `a` of the same area on the disk.  No lock. */
static inline bool swap_follows(struct swap_place a, struct swap_place b)
{
    return a.area == b.area && a.area != SWAP_AREAS &&
           swap_sector(&swap_areas[b.area], b.slot) ==
               swap_sector(&swap_areas[a.area], a.slot) + SWAP_SECTORS;
}

/*
 * swap_take - up to `want` slots, each behind the one before on the disk.  Returns how many, 0: none is free; *first.
 * swap_give - a slot is free again.
 * swap_retire - a slot could not be written, and is in use for ever.
 * Each takes areas_lock (RANK_VM_TLB).  Any context.
 */
unsigned swap_take(unsigned want, struct swap_place *first);
void swap_give(struct swap_place p);
void swap_retire(unsigned area);
/* swap_plenty - may pages that come back from an area keep their slots?  At least half of swap is free.  No lock. */
bool swap_plenty(unsigned area);
void swap_areas_boot(void);

#endif
