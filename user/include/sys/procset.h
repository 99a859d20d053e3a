// SPDX-License-Identifier: MIT
/*
 * sys/procset.h - the sets of LWPs to which calls apply.
 *
 * THEORY      idtype_t is POSIX's and comes from <sys/wait.h>.  There P_PID has Linux's value 1; on Solaris it is 0.
 *             The library translates the value, so programs must use the names.
 */
#ifndef HR_SYS_PROCSET_H
#define HR_SYS_PROCSET_H

#include <sys/types.h>
#include <sys/wait.h>
#include <uapi/homeroom.h>

#define P_LWPID ((idtype_t)HR_P_LWPID) /* id is an LWP of the calling process, 1 and up */

#endif
