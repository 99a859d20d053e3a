// SPDX-License-Identifier: MIT
/*
 * sys/procset.h - which LWPs a call is about.
 *
 * THEORY    idtype_t is POSIX's and comes from <sys/wait.h>; there P_PID has Linux's value 1
 *           where Solaris has 0.  The library translates, so programs use the names only.
 */
#ifndef HR_SYS_PROCSET_H
#define HR_SYS_PROCSET_H

#include <sys/types.h>
#include <sys/wait.h>
#include <uapi/homeroom.h>

#define P_LWPID ((idtype_t)HR_P_LWPID) /* id is an LWP of the calling process, 1 and up */

#endif
