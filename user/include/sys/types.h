// SPDX-License-Identifier: MIT
/*
 * sys/types.h - musl's types plus the names that Solaris programs expect from this header.
 *
 * THEORY      Solaris's <sys/types.h> defines the exact-width integers and a few short names (uint_t, processorid_t,
 *             ...).  Programs written for it do not include <stdint.h>.
 * SEE ALSO    docs/userland.md, tests/test_paper.py
 */
#ifndef HR_SYS_TYPES_H
#define HR_SYS_TYPES_H

#include_next <sys/types.h>
#include <stdint.h>

typedef unsigned char uchar_t;
typedef unsigned short ushort_t;
typedef unsigned int uint_t;
typedef unsigned long ulong_t;

typedef int processorid_t; /* a CPU, 0 and up; there may be gaps */
typedef int psetid_t;      /* a processor set, 1 and up */
typedef ushort_t lgrpid_t; /* an lgroup as gethomelgroup(3C) returns it */
typedef id_t lwpid_t;      /* an LWP within its process, 1 and up */

#endif
