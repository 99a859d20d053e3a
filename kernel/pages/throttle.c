// SPDX-License-Identifier: MIT
/*
 * throttle.c - when a writer must wait for the disk: see throttle.h.
 */
#include "pages/throttle.h"

/* LAB paging-throttle: begin */
bool throttle_blocks(const struct throttle *t, uint64_t bytes)
{
    return t->on && bytes > t->hw;
}

/* At 0 the sleepers always wake up.  With only `before >= lw && after <= lw`, they could sleep for ever if hw < lw. */
bool throttle_wakes(const struct throttle *t, uint64_t before, uint64_t after)
{
    return (t->on && before >= t->lw && after <= t->lw) || after == 0;
}

bool pacing_blocks(const struct pacing *p, uint64_t pages)
{
    return p->maxpout != 0 && pages >= p->maxpout;
}

bool pacing_wakes(const struct pacing *p, uint64_t pages)
{
    return p->maxpout == 0 || pages <= p->minpout || pages == 0;
}
/* LAB paging-throttle: end */
