// SPDX-License-Identifier: MIT
/*
 * tables.c - finds the ACPI tables, and replaces them.
 *
 * THEORY      The boot loader passes the RSDP to the kernel.  An RSDP of revision 2 or later points to the
 *             XSDT, a list of 64-bit addresses.  If the RSDP is older, or its XSDT is bad, the kernel uses the
 *             RSDT, a list of 32-bit addresses.  The header of a table is mapped first, because it contains the
 *             length of the table.
 * INVARIANTS  I1  every table in the list has length >= 36 and is completely mapped
 *             I2  tables found in memory have a correct checksum
 * SEE ALSO    acpi.h, docs/lgroups.md
 */
#include "acpi/acpi.h"

#include "acpi/bytes.h"
#include "lib/errno.h"
#include "lib/string.h"

enum {
    RSDP_V1_LEN = 20,
    RSDP_V2_LEN = 36,
    TABLE_LEN_MAX = 1 << 20, /* a DSDT can be large; a longer table is invalid */
    FADT_DSDT = 40,
    FADT_X_DSDT = 140,
    RECORD_REMOVE = 8,
};

static uint8_t sum_bytes(const uint8_t *p, size_t len)
{
    uint8_t sum = 0;

    while (len-- > 0)
        sum = (uint8_t)(sum + *p++);
    return sum;
}

static int reject_acpi_tables(const char **why, const char *reason)
{
    *why = reason;
    return -EINVAL;
}

/*
 * Maps the whole table at physical address `phys`, and sets *sig to its signature.  NULL: length or
 * checksum of the table is wrong (I1, I2), or the table cannot be mapped.
 */
static const struct acpi_header *map_acpi_table(uint64_t phys, acpi_map_fn map, uint32_t *sig)
{
    const struct acpi_header *h = phys != 0 ? map(phys, sizeof *h) : NULL;
    uint32_t len;

    *sig = 0;
    if (h == NULL)
        return NULL;
    *sig = h->sig;
    len = h->length;
    if (len < sizeof *h || len > TABLE_LEN_MAX)
        return NULL;
    h = map(phys, len);
    if (h == NULL || h->length != len || sum_bytes((const uint8_t *)h, len) != 0)
        return NULL;
    return h;
}

/* Adds the table at `phys`, or counts it as bad. */
static void add_acpi_table(struct acpi_tables *t, uint64_t phys, acpi_map_fn map)
{
    uint32_t sig;
    const struct acpi_header *h = map_acpi_table(phys, map, &sig);

    if (h == NULL || t->n == ACPI_TABLE_MAX) {
        if (t->n_bad++ == 0)
            t->first_bad = sig;
        return;
    }
    t->table[t->n++] = h;
}

/* Adds every table in root table `root`, whose entries are `width` bytes long (8: XSDT, 4: RSDT). */
static void add_listed_tables(struct acpi_tables *t, const struct acpi_header *root, size_t width,
                              acpi_map_fn map)
{
    const uint8_t *at = (const uint8_t *)root + sizeof *root;
    size_t n = (root->length - sizeof *root) / width;

    for (size_t i = 0; i < n; i++, at += width)
        add_acpi_table(t, width == 8 ? get64(at) : get32(at), map);
}

static void add_dsdt(struct acpi_tables *t, acpi_map_fn map)
{
    const struct acpi_header *fadt = acpi_find(t, ACPI_SIG('F', 'A', 'C', 'P'));
    const uint8_t *p = (const uint8_t *)fadt;
    uint64_t dsdt = 0;

    if (fadt == NULL)
        return;
    if (fadt->length >= FADT_X_DSDT + 8)
        dsdt = get64(p + FADT_X_DSDT);
    if (dsdt == 0 && fadt->length >= FADT_DSDT + 4)
        dsdt = get32(p + FADT_DSDT);
    if (dsdt != 0)
        add_acpi_table(t, dsdt, map);
}

int acpi_tables_find(struct acpi_tables *t, const void *rsdp, size_t len, acpi_map_fn map,
                     const char **why)
{
    const uint8_t *p = rsdp;
    const struct acpi_header *root = NULL;
    uint32_t sig;

    memset(t, 0, sizeof *t);
    if (len < RSDP_V1_LEN)
        return reject_acpi_tables(why, "RSDP is too short");
    if (memcmp(p, "RSD PTR ", 8) != 0)
        return reject_acpi_tables(why, "RSDP has no signature");
    if (sum_bytes(p, RSDP_V1_LEN) != 0)
        return reject_acpi_tables(why, "RSDP checksum is wrong");

    if (p[15] >= 2 && len >= RSDP_V2_LEN && sum_bytes(p, RSDP_V2_LEN) == 0) {
        root = map_acpi_table(get64(p + 24), map, &sig);
        if (root != NULL && root->sig == ACPI_SIG('X', 'S', 'D', 'T')) {
            add_listed_tables(t, root, 8, map);
            add_dsdt(t, map);
            return 0;
        }
    }
    root = map_acpi_table(get32(p + 16), map, &sig);
    if (root == NULL || root->sig != ACPI_SIG('R', 'S', 'D', 'T'))
        return reject_acpi_tables(why, "neither XSDT nor RSDT is usable");
    add_listed_tables(t, root, 4, map);
    add_dsdt(t, map);
    return 0;
}

const struct acpi_header *acpi_find(const struct acpi_tables *t, uint32_t sig)
{
    for (unsigned i = 0; i < t->n; i++)
        if (t->table[i]->sig == sig)
            return t->table[i];
    return NULL;
}

static void remove_acpi_table(struct acpi_tables *t, uint32_t sig)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < t->n; i++)
        if (t->table[i]->sig != sig)
            t->table[kept++] = t->table[i];
    t->n = kept;
}

int acpi_tables_replace(struct acpi_tables *t, const void *blob, size_t len, const char **why)
{
    const uint8_t *p = blob;

    while (len > 0) {
        const struct acpi_header *h = (const struct acpi_header *)(const void *)p;
        uint32_t size;

        if (len < RECORD_REMOVE)
            return reject_acpi_tables(why, "replacement tables end in a fragment");
        size = get32(p + 4);
        if (size > len || size < RECORD_REMOVE || (size > RECORD_REMOVE && size < sizeof *h))
            return reject_acpi_tables(why, "replacement table has a wrong length");
        remove_acpi_table(t, get32(p));
        if (size > RECORD_REMOVE) {
            if (t->n == ACPI_TABLE_MAX)
                return reject_acpi_tables(why, "too many tables");
            t->table[t->n++] = h;
        }
        p += size;
        len -= size;
    }
    return 0;
}
