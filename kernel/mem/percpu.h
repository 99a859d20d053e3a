// SPDX-License-Identifier: MIT
/*
 * percpu.h - the data of mem/ for each CPU: magazines of free frames and of free objects.
 *
 * LOCKING     Only the CPU itself uses its data, with interrupts off.
 */
#ifndef MEM_PERCPU_H
#define MEM_PERCPU_H

#include "mem/page.h"

enum { PAGE_MAG = 64, PAGE_MAG_BATCH = 32, KMEM_CACHES = 96, OBJ_MAG = 30, QUARANTINE = 64 };

struct obj_mag {
    uint32_t n;
    uint32_t live; /* objects allocated minus objects freed by this CPU; may wrap below zero */
    void *obj[OBJ_MAG];
};

struct mem_cpu {
    uint32_t npages;  /* frames in page[], all of the CPU's own node */
    uint64_t n_local; /* allocations that the magazine served */
    struct page *page[PAGE_MAG];
    struct obj_mag *mag[KMEM_CACHES]; /* by cache number; NULL: not used yet */
#ifdef HR_TEST
    void *freed[QUARANTINE]; /* ring of freed objects, not to be used yet (kmem.c) */
    uint32_t nfreed;
#endif
};

#endif
