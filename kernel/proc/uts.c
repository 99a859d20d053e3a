// SPDX-License-Identifier: MIT
/*
 * uts.c - the names of the system.
 *
 * LOCKING  uts_lock (RANK_LOG) guards the two names that can change; no other lock is taken under it
 * SEE ALSO uname(2), docs/syscalls.md
 */
#include "proc/uts.h"
#include "lib/errno.h"
#include "lib/spinlock.h"
#include "lib/string.h"

static struct spinlock uts_lock = SPINLOCK_INIT(RANK_LOG);

static struct utsname uts = {
    .sysname = "Linux",
    .nodename = "homeroom",
    .release = "6.1.0-homeroom",
    .version = "Homeroom 0.1 SMP",
    .machine = "x86_64",
    .domainname = "(none)",
};

void uts_get(struct utsname *out)
{
    spin_lock(&uts_lock);
    *out = uts;
    spin_unlock(&uts_lock);
}

static int set_uts_field(char field[UTS_LEN], const char *name, size_t len)
{
    if (len >= UTS_LEN)
        return -EINVAL;
    spin_lock(&uts_lock);
    memset(field, 0, UTS_LEN);
    memcpy(field, name, len);
    spin_unlock(&uts_lock);
    return 0;
}

int uts_set_nodename(const char *name, size_t len)
{
    return set_uts_field(uts.nodename, name, len);
}

int uts_set_domainname(const char *name, size_t len)
{
    return set_uts_field(uts.domainname, name, len);
}
