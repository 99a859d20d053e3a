// SPDX-License-Identifier: MIT
/*
 * vdso.h - the shared object that every process finds in its memory, and the page it reads.
 *
 * THEORY      Two mappings' worth of pages in one read-only object: the data page, which the
 *             kernel writes and programs read, and after it the code. A reader takes `seq`,
 *             reads, and starts again if seq was odd or has changed.
 */
#ifndef PROC_VDSO_H
#define PROC_VDSO_H

#include "lib/types.h"

struct vdso_data {
    uint32_t seq; /* odd while the kernel writes                           */
    uint32_t pad;
    uint64_t base_tsc; /* monotonic ns = base_ns + ((tsc - base_tsc) * mult >> 32) */
    uint64_t base_ns;
    uint64_t mult;           /* ns per cycle, 32.32 fixed point                       */
    uint64_t real_offset_ns; /* time of day = monotonic + this                        */
};

#ifndef HR_VDSO
struct as;
/* vdso_init - build the pages; once at boot, after the clock is known and vm_init(). */
void vdso_init(void);
/* vdso_map - map them into `as`.  The address of the ELF header for AT_SYSINFO_EHDR; 0: no room. */
uint64_t vdso_map(struct as *as);
/* vdso_update - the clock's parameters have changed. */
void vdso_update(void);
#endif

#endif
