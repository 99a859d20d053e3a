// SPDX-License-Identifier: MIT
/*
 * floor.h - the lab "placement": kernel memory and accounts of users, as the student's code sees them.
 */
#ifndef LABS_PLACEMENT_FLOOR_H
#define LABS_PLACEMENT_FLOOR_H

#include "lib/types.h"
#include "pages/object.h"

/* Memory that the student's code holds now, and how the next calls go. */
struct floor {
    uint64_t nblocks, bytes; /* allocated and not freed */
    uint64_t charge_max;     /* an account refuses to hold more bytes */
    uint64_t fails;          /* set of the next allocations that fail: bit 0 is the next one */
    uint64_t misuses;        /* calls of the allocator, or of the account, with the lock held */
    unsigned user;           /* the caller: 0 or 1 */
};

extern struct floor floor_state;
extern struct vm_object floor_object; /* the object that gets advice */

/* floor_prepare - start the CPU and make the object.  Called once, before the sandbox is closed. */
void floor_prepare(void);
/* floor_charged - bytes on the account of user 0 or 1. */
uint64_t floor_charged(unsigned user);

#endif
