// SPDX-License-Identifier: MIT
/*
 * pset.c - processor sets.
 *
 * SEE ALSO    user/include/sys/pset.h for what each call does
 */
#include <sys/pset.h>

#include <errno.h>

#include "homeroom.h"
#include "idtype.h"

int pset_create(psetid_t *new_set)
{
    return (int)hr_call(SYS_pset_create, (long)new_set, 0, 0, 0, 0, 0);
}

int pset_destroy(psetid_t set)
{
    return (int)hr_call(SYS_pset_destroy, set, 0, 0, 0, 0, 0);
}

int pset_assign(psetid_t set, processorid_t cpu, psetid_t *old)
{
    return (int)hr_call(SYS_pset_assign, set, cpu, (long)old, 0, 0, 0);
}

int pset_assign_forced(psetid_t set, processorid_t cpu, psetid_t *old)
{
    return (int)hr_call(SYS_pset_assign, set, cpu, (long)old, 1, 0, 0);
}

int pset_bind(psetid_t set, idtype_t idtype, id_t id, psetid_t *old)
{
    int type = hr_idtype(idtype);

    if (type < 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)hr_call(SYS_pset_bind, set, type, (int)id, (long)old, 0, 0);
}

int pset_bind_lwp(psetid_t set, id_t lwp, pid_t pid, psetid_t *old)
{
    return (int)hr_call(SYS_pset_bind, set, HR_P_LWPID, (int)lwp, (long)old, pid, 0);
}

int pset_info(psetid_t set, int *type, uint_t *ncpus, processorid_t *list)
{
    return (int)hr_call(SYS_pset_info, set, (long)type, (long)ncpus, (long)list, 0, 0);
}

int pset_list(psetid_t *list, uint_t *nsets)
{
    return (int)hr_call(SYS_pset_list, (long)list, (long)nsets, 0, 0, 0, 0);
}

int pset_setattr(psetid_t set, uint_t attr)
{
    return (int)hr_call(SYS_pset_setattr, set, attr, 0, 0, 0, 0);
}

int pset_getattr(psetid_t set, uint_t *attr)
{
    return (int)hr_call(SYS_pset_getattr, set, (long)attr, 0, 0, 0, 0);
}

int pset_getloadavg(psetid_t set, double avg[], int n)
{
    unsigned fixed[3];
    int got = (int)hr_call(SYS_pset_getloadavg, set, (long)fixed, n, 0, 0, 0);

    for (int i = 0; i < got; i++)
        avg[i] = fixed[i] / 2048.0;
    return got;
}
