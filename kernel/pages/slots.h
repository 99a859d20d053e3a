// SPDX-License-Identifier: MIT
/*
 * slots.h - which page-sized slots of a swap area are in use.
 *
 * THEORY      Pages that leave memory together are read again together if they lie side by side.  So a run of slots is
 *             taken where the last one ended, as long as there is room for all of it; else at the beginning of the next
 *             64 slots that are all free; and only when there are none, wherever a slot is free.  `whole` counts the
 *             words that are all free, so that a search which must fail is not begun.
 * INVARIANTS  I1  free is the number of zero bits below `pages`
 *             I2  whole is the number of words with 64 slots and no bit set
 * LOCKING     the caller's; pure
 * SEE ALSO    swap_area.c, tests/host/test_slots.c
 */
#ifndef PAGES_SLOTS_H
#define PAGES_SLOTS_H

#include "lib/types.h"

struct slots {
    uint64_t *used; /* a bit for each */
    uint64_t pages, free, whole;
    uint64_t next; /* where the search begins */
};

/* slots_bytes - size of the bitmap of so many slots. */
static inline size_t slots_bytes(uint64_t pages)
{
    return (pages + 63) / 64 * 8;
}
/* slots_init - `pages` slots, at least 2, of which the first is in use for ever; `bitmap` is all zero. */
void slots_init(struct slots *s, uint64_t *bitmap, uint64_t pages);
/* slots_take - up to `want` slots in a row, and their first one.  0: all are in use. */
unsigned slots_take(struct slots *s, unsigned want, uint64_t *first);
/* slots_give - a slot that was taken is free again. */
void slots_give(struct slots *s, uint64_t slot);

#endif
