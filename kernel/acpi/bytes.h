// SPDX-License-Identifier: MIT
/*
 * bytes.h - reads little-endian fields at any alignment; only for the ACPI parsers.
 */
#ifndef ACPI_BYTES_H
#define ACPI_BYTES_H

#include "lib/string.h"
#include "lib/types.h"

static inline uint16_t get16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t get32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t get64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* The rest of a table's list of records {type8, length8, ...}: from `at` to `end`. */
struct acpi_walk {
    const uint8_t *at;
    const uint8_t *end;
};

/*
 * acpi_walk_next - take the next record, at least 2 bytes long and completely inside the list.
 * Returns 1 and sets *rec and *len (bytes); 0 at the end; -1 if the list is malformed.
 */
static inline int acpi_walk_next(struct acpi_walk *w, const uint8_t **rec, size_t *len)
{
    size_t left = (size_t)(w->end - w->at);

    if (left == 0)
        return 0;
    if (left < 2 || w->at[1] < 2 || w->at[1] > left)
        return -1;
    *rec = w->at;
    *len = w->at[1];
    w->at += *len;
    return 1;
}

#endif
