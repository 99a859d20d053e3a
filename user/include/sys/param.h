// SPDX-License-Identifier: MIT
/*
 * sys/param.h - musl's header, with the page size under both of Solaris's names.
 *
 * PAGESIZE is the size of a small page, 4096 bytes. meminfo(2) reports larger pages.
 */
#ifndef HR_SYS_PARAM_H
#define HR_SYS_PARAM_H

#include_next <sys/param.h>

#ifndef PAGESIZE
#define PAGESIZE 4096
#endif
#ifndef PAGEOFFSET
#define PAGEOFFSET (PAGESIZE - 1)
#endif

#endif
