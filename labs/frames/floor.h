// SPDX-License-Identifier: MIT
/*
 * floor.h - the ground below the frame allocator in the lab "frames": CPUs, and locks that are recorded.
 */
#ifndef LABS_FRAMES_FLOOR_H
#define LABS_FRAMES_FLOOR_H

#include "mem/page.h"

/* What happened under the nodes' locks since floor_forget(). */
struct floor_record {
    unsigned held, held_most; /* locks held now; the most that were held at the same time */
    unsigned uncovered;       /* locks that were taken while interrupts were on */
    struct floor_node {
        uint64_t holds; /* how often the lock was taken */
        uint64_t frames,
            allocs; /* sums of the changes under the lock: free frames; allocations counted */
        uint64_t frames_before, allocs_before; /* the values when the lock was taken */
    } node[NODE_MAX];
};
extern struct floor_record floor_record;

void floor_forget(void);

#endif
