// SPDX-License-Identifier: MIT
/* idtype.h - translates POSIX's idtype_t into Solaris's numbers, which the kernel takes. */
#ifndef HR_LIB_IDTYPE_H
#define HR_LIB_IDTYPE_H

#include <sys/procset.h>

/* hr_idtype - HR_P_PID or HR_P_LWPID; -1 for a kind of id that the calls do not take. */
static inline int hr_idtype(idtype_t idtype)
{
    if (idtype == P_PID)
        return HR_P_PID;
    return idtype == P_LWPID ? HR_P_LWPID : -1;
}

#endif
