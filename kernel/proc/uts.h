// SPDX-License-Identifier: MIT
/*
 * uts.h - the names of the system: uname(2), sethostname(2), /proc/sys/kernel.
 */
#ifndef PROC_UTS_H
#define PROC_UTS_H

#include "lib/types.h"

#define UTS_LEN 65 /* with the NUL */

struct utsname { /* Linux's struct new_utsname */
    char sysname[UTS_LEN], nodename[UTS_LEN], release[UTS_LEN], version[UTS_LEN], machine[UTS_LEN],
        domainname[UTS_LEN];
};

/* uts_get - copy all names; no name changes during the copy.  Any context. */
void uts_get(struct utsname *out);
/* uts_set_nodename, uts_set_domainname - name[len] has no NUL.  0, or -EINVAL: longer than 64 bytes. */
int uts_set_nodename(const char *name, size_t len);
int uts_set_domainname(const char *name, size_t len);

#endif
