// SPDX-License-Identifier: MIT
/*
 * vmcoreinfo.h - tables of the fields of structs, for programs outside the machine.
 *
 * A struct that is private to a folder has its table there.
 * SEE ALSO    kernel/vmcoreinfo.c, tools/homeroom/live/kernel.py (the reader)
 */
#ifndef STAT_VMCOREINFO_H
#define STAT_VMCOREINFO_H

#include "lib/types.h"

/* A field of a struct, or with an empty field name a struct itself.  All numbers are bytes. */
struct vmcoreinfo_field {
    char type[20], field[20];
    uint32_t offset, size;
};

#define VMCOREINFO_FIELD(type, field)                                                              \
    {#type, #field, offsetof(struct type, field), sizeof(((struct type *)NULL)->field)}
#define VMCOREINFO_STRUCT(type) {#type, "", 0, sizeof(struct type)}

extern const struct vmcoreinfo_field vmcoreinfo_fields[], vmcoreinfo_as[], vmcoreinfo_disk[];

#endif
