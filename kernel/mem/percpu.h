// SPDX-License-Identifier: MIT
/*
 * percpu.h - what mem keeps for each CPU: magazines of free frames and of free objects.
 *
 * LOCKING  used by its own CPU with interrupts off
 */
#ifndef MEM_PERCPU_H
#define MEM_PERCPU_H

#include "mem/page.h"

enum { PAGE_MAG = 64, PAGE_MAG_BATCH = 32, KMEM_CACHES = 96, OBJ_MAG = 30, QUARANTINE = 64 };

struct obj_mag {
    uint32_t n;
    uint32_t
        live; /* objects handed out minus objects taken back by this CPU; may wrap below zero */
    void *obj[OBJ_MAG];
};

struct mem_cpu {
    uint32_t npages;  /* of the CPU's own node */
    uint64_t n_local; /* allocations that the magazine served */
    struct page *page[PAGE_MAG];
    struct obj_mag *mag[KMEM_CACHES]; /* by cache number; made on first use */
#ifdef HR_TEST
    void *freed[QUARANTINE]; /* a ring of poisoned objects, not to be used yet */
    uint32_t nfreed;
#endif
};

#endif
