// SPDX-License-Identifier: MIT
/*
 * madt.c - the MADT: the CPUs and interrupt controllers of the machine.
 *
 * THEORY      The table is a fixed head and a list of records.  xAPIC (type 0) and x2APIC (type 9) records
 *             name CPUs.  Firmware provides one of the two for each CPU.  If it provides both, the first one
 *             counts.  Records of unknown type are skipped.  If a record is too short, the whole table is
 *             invalid.
 * SEE ALSO    acpi.h, tests/host/test_acpi.c
 */
#include "acpi/acpi.h"

#include "acpi/bytes.h"
#include "lib/errno.h"

enum {
    MADT_HEAD = 44,
    MADT_PCAT = 1, /* flag: the machine also has 8259s */
    LAPIC_ENABLED = 1,
    X2APIC_ID_NONE = -1,

    MADT_LAPIC = 0,
    MADT_IOAPIC = 1,
    MADT_OVERRIDE = 2,
    MADT_LAPIC_64 = 5,
    MADT_X2APIC = 9,
};

/* Adds a CPU.  If its APIC id is already known, only merges the enabled flag. */
static void madt_add_cpu(struct acpi_madt *out, uint32_t apic_id, uint32_t uid, uint32_t flags,
                         bool x2apic)
{
    for (unsigned i = 0; i < out->ncpus; i++) {
        if (out->cpu[i].apic_id == apic_id) {
            out->cpu[i].enabled |= (flags & LAPIC_ENABLED) != 0;
            return;
        }
    }
    if (out->ncpus == CPU_MAX) {
        out->ndropped++;
        return;
    }
    out->cpu[out->ncpus++] = (struct acpi_cpu){
        .apic_id = apic_id,
        .uid = uid,
        .enabled = (flags & LAPIC_ENABLED) != 0,
        .x2apic = x2apic,
    };
}

/* Parses one record; returns false if the record is too short for its type. */
static bool parse_madt_record(struct acpi_madt *out, const uint8_t *r, size_t len)
{
    switch (r[0]) {
    case MADT_LAPIC:
        if (len < 8)
            return false;
        if (r[3] != 0xff) /* id 255 is the broadcast id: the record describes no CPU */
            madt_add_cpu(out, r[3], r[2], get32(r + 4), false);
        return true;
    case MADT_X2APIC:
        if (len < 16)
            return false;
        if (get32(r + 4) != (uint32_t)X2APIC_ID_NONE)
            madt_add_cpu(out, get32(r + 4), get32(r + 12), get32(r + 8), true);
        return true;
    case MADT_IOAPIC:
        if (len < 12)
            return false;
        if (out->nioapics < ACPI_IOAPIC_MAX)
            out->ioapic[out->nioapics++] =
                (struct acpi_ioapic){.id = r[2], .addr = get32(r + 4), .gsi_base = get32(r + 8)};
        return true;
    case MADT_OVERRIDE:
        if (len < 10)
            return false;
        if (out->noverrides < ACPI_OVERRIDE_MAX)
            out->override[out->noverrides++] =
                (struct acpi_override){.irq = r[3], .gsi = get32(r + 4), .flags = get16(r + 8)};
        return true;
    case MADT_LAPIC_64:
        if (len < 12)
            return false;
        out->lapic_addr = get64(r + 4);
        return true;
    }
    return true;
}

int acpi_parse_madt(struct acpi_madt *out, const struct acpi_header *h, const char **why)
{
    const uint8_t *p = (const uint8_t *)h;
    const uint8_t *rec;
    struct acpi_walk w;
    size_t len;
    int more;

    memset(out, 0, sizeof *out);
    if (h == NULL || h->length < MADT_HEAD) {
        *why = h == NULL ? "there is no MADT" : "MADT is too short";
        return -EINVAL;
    }
    out->lapic_addr = get32(p + 36);
    out->has_8259 = (get32(p + 40) & MADT_PCAT) != 0;
    w = (struct acpi_walk){p + MADT_HEAD, p + h->length};
    while ((more = acpi_walk_next(&w, &rec, &len)) > 0 && parse_madt_record(out, rec, len))
        ;
    if (more != 0) {
        memset(out, 0, sizeof *out);
        *why = "MADT has a record of wrong length";
        return -EINVAL;
    }
    return 0;
}
