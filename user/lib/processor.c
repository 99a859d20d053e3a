// SPDX-License-Identifier: MIT
/*
 * processor.c - CPUs: state, information, binding, and where the caller is.
 *
 * SEE ALSO  user/include/sys/processor.h for what each call does
 */
#include <sys/processor.h>

#include <errno.h>

#include "homeroom.h"
#include "idtype.h"

int p_online(processorid_t cpu, int flag)
{
    return (int)hr_call(SYS_p_online, cpu, flag, 0, 0, 0, 0);
}

int processor_info(processorid_t cpu, processor_info_t *info)
{
    return (int)hr_call(SYS_processor_info, cpu, (long)info, 0, 0, 0, 0);
}

int processor_bind(idtype_t idtype, id_t id, processorid_t cpu, processorid_t *obind)
{
    int type = hr_idtype(idtype);

    if (type < 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)hr_call(SYS_processor_bind, type, (int)id, cpu, (long)obind, 0, 0);
}

processorid_t getcpuid(void)
{
    return (processorid_t)hr_call(SYS_getcpuid, 0, 0, 0, 0, 0, 0);
}

lgrpid_t gethomelgroup(void)
{
    return (lgrpid_t)hr_call(SYS_gethomelgroup, 0, 0, 0, 0, 0, 0);
}

lgrpid_t gethomegroup(void)
{
    return gethomelgroup();
}
