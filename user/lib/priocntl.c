// SPDX-License-Identifier: MIT
/*
 * priocntl.c - scheduling class and user priority of LWPs, after Solaris's priocntl(2).
 */
#include "homeroom.h"

#include <strings.h>

static const char *const class_name[] = {
    [HR_CLASS_TS] = "TS",   [HR_CLASS_IA] = "IA", [HR_CLASS_FX] = "FX",
    [HR_CLASS_FSS] = "FSS", [HR_CLASS_RT] = "RT", [HR_CLASS_SYS] = "SYS",
};
#define NCLASSES ((int)(sizeof class_name / sizeof class_name[0]))

int hr_priocntl(int idtype, id_t id, int op, struct hr_pcinfo *info)
{
    return (int)hr_call(SYS_priocntl, idtype, (int)id, op, (long)info, 0, 0);
}

const char *hr_class_name(int cls)
{
    return cls >= 0 && cls < NCLASSES ? class_name[cls] : "?";
}

int hr_class_number(const char *name)
{
    for (int i = 0; i < NCLASSES; i++)
        if (strcasecmp(name, class_name[i]) == 0)
            return i;
    return -1;
}
