// SPDX-License-Identifier: MIT
/*
 * slots.h - which page-sized slots of a swap area are in use.
 *
 * THEORY      Pages that leave memory together are read back with one request if their slots are adjacent.
 *             So a run of slots is taken where the last run ended, if the whole run fits there.  Otherwise it
 *             is taken at the next word (64 slots) that is all free, or else at the next free slot.
 *             `whole` counts the words that are all free, so that a search for such a word always finds one.
 * INVARIANTS  I1  free is the number of zero bits below `pages`
 *             I2  whole is the number of words with 64 slots and no bit set
 * LOCKING     The functions are pure; the caller provides the lock.
 * SEE ALSO    swap_area.c, tests/host/test_slots.c
 */
#ifndef PAGES_SLOTS_H
#define PAGES_SLOTS_H

#include "lib/types.h"

struct slots {
    uint64_t *used; /* bitmap, one bit for each slot */
    uint64_t pages, free, whole;
    uint64_t next; /* slot where the search begins */
};

/* slots_bytes - size in bytes of the bitmap for `pages` slots. */
static inline size_t slots_bytes(uint64_t pages)
{
    return (pages + 63) / 64 * 8;
}
/*
 * slots_init - manage `pages` slots, at least 2, of which the first is always in use.  `bitmap` is all
 * zero.
 */
void slots_init(struct slots *s, uint64_t *bitmap, uint64_t pages);
/*
 * slots_take - take up to `want` adjacent slots; *first is the first of them.  Returns their
 * number; 0: all slots are in use.
 */
unsigned slots_take(struct slots *s, unsigned want, uint64_t *first);
/* slots_give - free a slot that was taken. */
void slots_give(struct slots *s, uint64_t slot);

#endif
