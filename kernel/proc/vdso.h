// SPDX-License-Identifier: MIT
/*
 * vdso.h - the vDSO: a shared object in the memory of every process, and the data page that it reads.
 *
 * THEORY      Some system calls, such as gettimeofday(2), only read data that the kernel could share.  The
 *             vDSO is user code that does this without entering the kernel.
 *             One read-only object has the data page, which the kernel writes and programs read, and
 *             after it the pages of code.  A reader loads `seq`, reads the data, and starts again if seq
 *             was odd or has changed.
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
/* vdso_init - build the pages.  Called once at boot, after vm_init(), when the clock's scale is known. */
void vdso_init(void);
/* vdso_map - map the pages into `as`.  Returns the address of the ELF header, for AT_SYSINFO_EHDR; 0: no space. */
uint64_t vdso_map(struct as *as);
#endif

#endif
