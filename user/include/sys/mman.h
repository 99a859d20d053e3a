// SPDX-License-Identifier: MIT
/*
 * sys/mman.h - musl's header plus Solaris's meminfo(2), memcntl(2) and MADV_ACCESS_* advices.
 *
 * THEORY      madvise(2) is Linux's system call and passes its advice on unchanged.  Solaris's values of the
 *             MADV_ACCESS_* advices are 6, 7 and 8, and on Linux 8 is MADV_FREE.  So the names have values of
 *             Homeroom's own.  A program is compiled with the names and does not see the difference.
 * SEE ALSO    docs/userland.md, include/uapi/homeroom.h
 */
#ifndef HR_SYS_MMAN_H
#define HR_SYS_MMAN_H

#include_next <sys/mman.h>
#include <sys/types.h>
#include <uapi/homeroom.h>

#define MADV_ACCESS_DEFAULT HR_MADV_ACCESS_DEFAULT /* the policy for the segment's size and type */
#define MADV_ACCESS_LWP     HR_MADV_ACCESS_LWP     /* migrate to the next LWP that touches it */
#define MADV_ACCESS_MANY    HR_MADV_ACCESS_MANY    /* many LWPs use it: place its pages at random */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * meminfo - returns facts about the memory behind addresses of the caller (Solaris meminfo(2)).
 *
 * @inaddr      addr_count virtual addresses (physical ones for MEMINFO_PLGRP)
 * @addr_count  1 ..; more than MAX_MEMINFO_CNT (256) are silently cut to 256
 * @info_req    info_count request codes, MEMINFO_*
 * @info_count  1 .. MAX_MEMINFO_REQ (31)
 * @outdata     answers: request j of address i is at [i * info_count + j]; 0 where not valid
 * @validity    for each address: bit 0: the address is mapped; bit j+1: request j was answered.
 *              A mapped page that no thread has touched gives 1, an unmapped one 0.
 *
 * Touches no page.  Returns 0; -1 with EINVAL for a count out of range, EFAULT for an array that cannot be read or
 * written.
 */
int meminfo(const uint64_t inaddr[], int addr_count, const uint_t info_req[], int info_count,
            uint64_t outdata[], uint_t validity[]);

/*
 * memcntl - controls memory (Solaris memcntl(2)); the only command is MC_ADVISE.
 *
 * @arg   the advice, a MADV_* value, cast to a pointer
 * @attr  0
 * @mask  0
 *
 * Returns 0; -1 with EINVAL for another command or advice, an unaligned address, a length of 0, or an attr or mask
 * that is not 0; ENOMEM if part of the range is not mapped.
 */
int memcntl(caddr_t addr, size_t len, int cmd, caddr_t arg, int attr, int mask);

#ifdef __cplusplus
}
#endif

#endif
