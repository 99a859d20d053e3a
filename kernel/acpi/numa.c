// SPDX-License-Identifier: MIT
/*
 * numa.c - SRAT, SLIT and HMAT: the boards of CPUs and memory, and the distances between boards.
 *
 * THEORY      The SRAT assigns CPUs (by APIC id) and memory ranges to proximity domains, whose numbers are 32
 *             bits wide and can be sparse.  The SLIT is a square matrix of relative distances between domains 0
 *             .. n-1.  The HMAT gives absolute latencies between initiators and targets.  This file checks only
 *             the format; lgrp/topo.c and lgrp/distance.c check the contents.
 * SEE ALSO    acpi.h, lgrp/topo.c, tests/host/test_acpi.c
 */
#include "acpi/acpi.h"

#include "acpi/bytes.h"
#include "lib/errno.h"

enum {
    SRAT_HEAD = 48,
    SRAT_LAPIC = 0,
    SRAT_MEMORY = 1,
    SRAT_X2APIC = 2,
    SRAT_ENABLED = 1,
    SRAT_HOTPLUG = 2,

    SLIT_HEAD = 44,

    HMAT_HEAD = 40,
    HMAT_LATENCY = 1, /* structure type: latency and bandwidth */
    HMAT_LAT_HEAD = 32,
    HMAT_ACCESS = 0, /* data types: latency of all accesses; of reads */
    HMAT_READ = 1,
    HMAT_UNREACHABLE = 0xffff,
};

static int reject_numa_table(const char **why, const char *reason)
{
    *why = reason;
    return -EINVAL;
}

static const char *srat_add_cpu(struct acpi_srat *out, uint32_t apic_id, uint32_t pxm)
{
    if (out->ncpus == ACPI_SRAT_CPU_MAX)
        return "SRAT has too many CPU entries";
    out->cpu[out->ncpus++] = (struct acpi_srat_cpu){.apic_id = apic_id, .pxm = pxm};
    return NULL;
}

static const char *srat_add_mem(struct acpi_srat *out, const uint8_t *r, uint32_t flags)
{
    uint64_t base = get64(r + 8), len = get64(r + 16);

    if (len == 0)
        return NULL;
    if (base + len < base)
        return "SRAT memory range wraps round";
    if (out->nmem == ACPI_RANGE_MAX)
        return "SRAT has too many memory ranges";
    out->mem[out->nmem++] = (struct acpi_srat_mem){
        .base = base,
        .len = len,
        .pxm = get32(r + 2),
        .hotplug = (flags & SRAT_HOTPLUG) != 0,
    };
    return NULL;
}

/* Parses one record.  Returns NULL, or the reason why the table is bad. */
static const char *parse_srat_record(struct acpi_srat *out, const uint8_t *r, size_t len)
{
    static const char *const short_rec = "SRAT has a record of wrong length";

    switch (r[0]) {
    case SRAT_LAPIC: /* domain number: low byte in byte 2, the other bytes in bytes 9..11 */
        if (len < 16)
            return short_rec;
        if (get32(r + 4) & SRAT_ENABLED)
            return srat_add_cpu(out, r[3],
                                r[2] | (uint32_t)r[9] << 8 | (uint32_t)r[10] << 16 |
                                    (uint32_t)r[11] << 24);
        return NULL;
    case SRAT_X2APIC:
        if (len < 24)
            return short_rec;
        if (get32(r + 12) & SRAT_ENABLED)
            return srat_add_cpu(out, get32(r + 8), get32(r + 4));
        return NULL;
    case SRAT_MEMORY:
        if (len < 40)
            return short_rec;
        if (get32(r + 28) & SRAT_ENABLED)
            return srat_add_mem(out, r, get32(r + 28));
        return NULL;
    }
    return NULL;
}

int acpi_parse_srat(struct acpi_srat *out, const struct acpi_header *h, const char **why)
{
    const char *wrong = NULL;
    const uint8_t *rec;
    struct acpi_walk w;
    size_t len;
    int more;

    out->ncpus = out->nmem = 0;
    if (h == NULL || h->length < SRAT_HEAD)
        return reject_numa_table(why, h == NULL ? "there is no SRAT" : "SRAT is too short");
    w = (struct acpi_walk){(const uint8_t *)h + SRAT_HEAD, (const uint8_t *)h + h->length};
    while ((more = acpi_walk_next(&w, &rec, &len)) > 0 && wrong == NULL)
        wrong = parse_srat_record(out, rec, len);
    if (more < 0 && wrong == NULL)
        wrong = "SRAT has a record of wrong length";
    if (wrong != NULL) {
        out->ncpus = out->nmem = 0;
        return reject_numa_table(why, wrong);
    }
    return 0;
}

int acpi_parse_slit(struct acpi_slit *out, const struct acpi_header *h, const char **why)
{
    uint64_t n;

    *out = (struct acpi_slit){0};
    if (h == NULL || h->length < SLIT_HEAD)
        return reject_numa_table(why, h == NULL ? "there is no SLIT" : "SLIT is too short");
    n = get64((const uint8_t *)h + 36);
    if (n == 0 || n > 65535 || n * n > h->length - SLIT_HEAD)
        return reject_numa_table(why, "SLIT is shorter than its matrix");
    out->n = (uint32_t)n;
    out->matrix = (const uint8_t *)h + SLIT_HEAD;
    return 0;
}

/*
 * Returns the index of domain `pxm` in *out, and adds a domain that is new.  ACPI_DOMAIN_MAX: there
 * is no room.
 */
static unsigned hmat_domain_slot(struct acpi_hmat *out, uint32_t pxm)
{
    for (unsigned i = 0; i < out->n; i++)
        if (out->pxm[i] == pxm)
            return i;
    if (out->n == ACPI_DOMAIN_MAX)
        return ACPI_DOMAIN_MAX;
    out->pxm[out->n] = pxm;
    return out->n++;
}

/*
 * Parses one latency structure: lists of initiators and targets, then a matrix of 16-bit multiples of a base
 * unit.  Returns NULL, or the reason why the table is bad.
 */
static const char *parse_hmat_latency(struct acpi_hmat *out, const uint8_t *r, size_t len)
{
    const uint8_t *ini, *tgt, *val;
    uint64_t ni, nt, base;

    if (len < HMAT_LAT_HEAD)
        return "HMAT has a structure of wrong length";
    if (r[9] != HMAT_ACCESS && r[9] != HMAT_READ)
        return NULL;
    if ((r[8] & 0xf) != 0) /* latency of a memory-side cache, not of the memory */
        return NULL;
    ni = get32(r + 12);
    nt = get32(r + 16);
    base = get64(r + 24); /* picoseconds */
    if (ni > len / 4 || nt > len / 4 || HMAT_LAT_HEAD + 4 * (ni + nt) + 2 * ni * nt > len)
        return "HMAT has a matrix beyond its structure";
    ini = r + HMAT_LAT_HEAD;
    tgt = ini + 4 * ni;
    val = tgt + 4 * nt;
    for (uint64_t i = 0; i < ni; i++) {
        for (uint64_t j = 0; j < nt; j++) {
            unsigned si = hmat_domain_slot(out, get32(ini + 4 * i));
            unsigned sj = hmat_domain_slot(out, get32(tgt + 4 * j));
            uint64_t v = get16(val + 2 * (i * nt + j));

            if (si == ACPI_DOMAIN_MAX || sj == ACPI_DOMAIN_MAX)
                return "HMAT names too many domains";
            if (v == 0 || v == HMAT_UNREACHABLE || base == 0 || base > UINT32_MAX / v)
                continue;
            out->latency_ps[si][sj] = (uint32_t)(v * base);
        }
    }
    return NULL;
}

int acpi_parse_hmat(struct acpi_hmat *out, const struct acpi_header *h, const char **why)
{
    const uint8_t *p = (const uint8_t *)h;
    const char *wrong = NULL;
    size_t at = HMAT_HEAD;

    memset(out, 0, sizeof *out);
    if (h == NULL || h->length < HMAT_HEAD)
        return reject_numa_table(why, h == NULL ? "there is no HMAT" : "HMAT is too short");
    while (at < h->length && wrong == NULL) { /* {type16, reserved16, length32, ...} */
        size_t left = h->length - at;
        size_t len = left >= 8 ? get32(p + at + 4) : 0;

        if (len < 8 || len > left)
            wrong = "HMAT has a structure of wrong length";
        else if (get16(p + at) == HMAT_LATENCY)
            wrong = parse_hmat_latency(out, p + at, len);
        at += len;
    }
    if (wrong != NULL) {
        memset(out, 0, sizeof *out);
        return reject_numa_table(why, wrong);
    }
    return 0;
}
