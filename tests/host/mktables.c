// SPDX-License-Identifier: MIT
/*
 * mktables.c - see mktables.h.
 */
#include "tests/host/mktables.h"

#include <stdlib.h>
#include <string.h>

void mk_bytes(struct mk *m, const void *p, size_t n)
{
    m->p = realloc(m->p, m->len + n);
    memcpy(m->p + m->len, p, n);
    m->len += n;
}

void mk_zero(struct mk *m, size_t n)
{
    while (n-- > 0)
        mk_u8(m, 0);
}

void mk_u8(struct mk *m, unsigned v)
{
    uint8_t b = (uint8_t)v;

    mk_bytes(m, &b, 1);
}

void mk_u16(struct mk *m, unsigned v)
{
    uint16_t b = (uint16_t)v;

    mk_bytes(m, &b, 2);
}

void mk_u32(struct mk *m, uint32_t v)
{
    mk_bytes(m, &v, 4);
}

void mk_u64(struct mk *m, uint64_t v)
{
    mk_bytes(m, &v, 8);
}

void mk_begin(struct mk *m, const char *sig, uint8_t revision)
{
    m->p = NULL;
    m->len = 0;
    mk_bytes(m, sig, 4);
    mk_u32(m, 0);
    mk_u8(m, revision);
    mk_u8(m, 0);
    mk_bytes(m, "BOCHS BXPC    ", 14);
    mk_u32(m, 1);
    mk_bytes(m, "BXPC", 4);
    mk_u32(m, 1);
}

void mk_checksum(void *p, size_t len, uint8_t *field)
{
    uint8_t sum = 0;

    *field = 0;
    for (size_t i = 0; i < len; i++)
        sum = (uint8_t)(sum + ((uint8_t *)p)[i]);
    *field = (uint8_t)-sum;
}

struct acpi_header *mk_end(struct mk *m)
{
    struct acpi_header *h = (void *)m->p;

    h->length = (uint32_t)m->len;
    mk_checksum(h, m->len, &h->checksum);
    return h;
}

void mk_madt_begin(struct mk *m)
{
    mk_begin(m, "APIC", 1);
    mk_u32(m, 0xfee00000);
    mk_u32(m, 1);
}

void mk_madt_cpu(struct mk *m, unsigned apic_id, bool enabled)
{
    mk_u8(m, 0);
    mk_u8(m, 8);
    mk_u8(m, apic_id);
    mk_u8(m, apic_id);
    mk_u32(m, enabled);
}

void mk_madt_x2apic(struct mk *m, uint32_t apic_id, bool enabled)
{
    mk_u8(m, 9);
    mk_u8(m, 16);
    mk_u16(m, 0);
    mk_u32(m, apic_id);
    mk_u32(m, enabled);
    mk_u32(m, apic_id);
}

void mk_srat_begin(struct mk *m)
{
    mk_begin(m, "SRAT", 1);
    mk_u32(m, 1);
    mk_u64(m, 0);
}

void mk_srat_cpu(struct mk *m, unsigned apic_id, uint32_t pxm, bool enabled)
{
    mk_u8(m, 0);
    mk_u8(m, 16);
    mk_u8(m, pxm);
    mk_u8(m, apic_id);
    mk_u32(m, enabled);
    mk_u8(m, 0);
    mk_u8(m, pxm >> 8);
    mk_u8(m, pxm >> 16);
    mk_u8(m, pxm >> 24);
    mk_u32(m, 0);
}

void mk_srat_x2apic(struct mk *m, uint32_t apic_id, uint32_t pxm, bool enabled)
{
    mk_u8(m, 2);
    mk_u8(m, 24);
    mk_u16(m, 0);
    mk_u32(m, pxm);
    mk_u32(m, apic_id);
    mk_u32(m, enabled);
    mk_u32(m, 0);
    mk_u32(m, 0);
}

void mk_srat_mem(struct mk *m, uint64_t base, uint64_t len, uint32_t pxm, uint32_t flags)
{
    mk_u8(m, 1);
    mk_u8(m, 40);
    mk_u32(m, pxm);
    mk_u16(m, 0);
    mk_u64(m, base);
    mk_u64(m, len);
    mk_u32(m, 0);
    mk_u32(m, flags);
    mk_u64(m, 0);
}

struct acpi_header *mk_slit(unsigned n, const uint8_t *matrix)
{
    struct mk m;

    mk_begin(&m, "SLIT", 1);
    mk_u64(&m, n);
    mk_bytes(&m, matrix, (size_t)n * n);
    return mk_end(&m);
}
