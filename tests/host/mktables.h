// SPDX-License-Identifier: MIT
/*
 * mktables.h - makes ACPI tables byte by byte, for tests.
 *
 * A table is begun with its signature and head, filled with the put functions, and finished, which sets length and
 * checksum.  The memory is exactly as long as the table, so that the address sanitizer sees any read beyond it.
 */
#ifndef TESTS_HOST_MKTABLES_H
#define TESTS_HOST_MKTABLES_H

#include "acpi/acpi.h"

struct mk {
    uint8_t *p;
    size_t len;
};

void mk_begin(struct mk *m, const char *sig, uint8_t revision);
void mk_bytes(struct mk *m, const void *p, size_t n);
void mk_zero(struct mk *m, size_t n);
void mk_u8(struct mk *m, unsigned v);
void mk_u16(struct mk *m, unsigned v);
void mk_u32(struct mk *m, uint32_t v);
void mk_u64(struct mk *m, uint64_t v);
/* mk_end - sets length and checksum.  The caller frees the result. */
struct acpi_header *mk_end(struct mk *m);
/* mk_checksum - makes the bytes of a table add up to 0 again. */
void mk_checksum(void *p, size_t len, uint8_t *field);

void mk_madt_begin(struct mk *m);
void mk_madt_cpu(struct mk *m, unsigned apic_id, bool enabled);
void mk_madt_x2apic(struct mk *m, uint32_t apic_id, bool enabled);
void mk_srat_begin(struct mk *m);
void mk_srat_cpu(struct mk *m, unsigned apic_id, uint32_t pxm, bool enabled);
void mk_srat_x2apic(struct mk *m, uint32_t apic_id, uint32_t pxm, bool enabled);
void mk_srat_mem(struct mk *m, uint64_t base, uint64_t len, uint32_t pxm, uint32_t flags);
/* mk_slit - a SLIT of `n` localities, with the distances row by row. */
struct acpi_header *mk_slit(unsigned n, const uint8_t *matrix);

#endif
