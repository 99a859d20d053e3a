// SPDX-License-Identifier: MIT
/*
 * acpi.h - what the firmware says about the machine, as plain structs.
 *
 * THEORY      acpi_tables_find() walks RSDP -> XSDT or RSDT and remembers where each table
 *             lies; acpi_tables_replace() lays tables from elsewhere over them.  Each
 *             acpi_parse_*() turns one table into a struct.  There is no policy here: what to
 *             do about a bad table is the caller's business (lgrp/topo.c, chapter "Bad tables"
 *             of docs/lgroups.md).
 * INVARIANTS  I1  no parser reads outside [table, table + length of its header]
 *             I2  a parser that fails leaves in *out only what is safe to use: zero counts
 *             I3  the counts in the structs never exceed their arrays
 * ERRORS      each parser returns 0 or -EINVAL and sets *why to a constant one-line reason.
 * LOCKING     none: called by the boot CPU before the others start.  Nothing is allocated; the
 *             structs are large, so keep them static.
 * SEE ALSO    docs/lgroups.md, tests/host/test_acpi.c, ACPI specification 6.4 chapters 5 and 17
 */
#ifndef ACPI_ACPI_H
#define ACPI_ACPI_H

#include "lib/types.h"

#define ACPI_SIG(a, b, c, d)                                                                       \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum {
    ACPI_TABLE_MAX = 64,
    ACPI_IOAPIC_MAX = 16,
    ACPI_OVERRIDE_MAX = 24,
    ACPI_RANGE_MAX = 256,     /* SRAT memory ranges */
    ACPI_SRAT_CPU_MAX = 1024, /* SRAT may name CPUs that MADT does not */
    ACPI_DOMAIN_MAX = 64,
};

/* The header that every table begins with; `length` counts it. */
struct acpi_header {
    uint32_t sig;
    uint32_t length;
    uint8_t revision;
    uint8_t checksum; /* all bytes of the table add up to 0 */
    char oem_id[6];
    char oem_table_id[8];
    uint32_t oem_revision;
    uint32_t creator_id;
    uint32_t creator_revision;
} __attribute__((packed));

struct acpi_tables {
    unsigned n;
    const struct acpi_header *table[ACPI_TABLE_MAX]; /* mapped, length and checksum verified */
    unsigned n_bad;                                  /* tables dropped by the checks */
    uint32_t first_bad;                              /* signature of the first one dropped */
};

/* Maps `len` bytes of physical memory; NULL if they are not readable. */
typedef const void *(*acpi_map_fn)(uint64_t phys, size_t len);

/*
 * acpi_tables_find - collect the tables that an RSDP leads to.  `rsdp` points to `len` readable
 * bytes of it (20 or 36; the boot loader's copy will do).  A table whose length or checksum is
 * wrong is left out and counted.  The DSDT, to which only the FADT points, is added like the
 * others. -EINVAL when RSDP or RSDT/XSDT is unusable: *t is empty.
 */
int acpi_tables_find(struct acpi_tables *t, const void *rsdp, size_t len, acpi_map_fn map,
                     const char **why);

/*
 * acpi_tables_replace - lay `blob` (tables one after another) over *t: each replaces the table
 * of its signature or is added; an 8-byte record {signature, length 8} removes it.  Checksums
 * of the replacements are not verified: a test may want any contents.  The blob must stay
 * mapped. -EINVAL on a length under 8, between 9 and 35, or beyond the blob: what came before
 * is applied.
 */
int acpi_tables_replace(struct acpi_tables *t, const void *blob, size_t len, const char **why);

/* acpi_find - the first table with that signature, or NULL. */
const struct acpi_header *acpi_find(const struct acpi_tables *t, uint32_t sig);

struct acpi_cpu {
    uint32_t apic_id;
    uint32_t uid;
    bool enabled; /* else a place that a CPU could be plugged into */
    bool x2apic;  /* came from an x2APIC entry */
};

struct acpi_ioapic {
    uint8_t id;
    uint32_t addr;
    uint32_t gsi_base;
};

struct acpi_override { /* ISA interrupt `irq` is wired to `gsi` */
    uint8_t irq;
    uint32_t gsi;
    uint16_t flags;
};

struct acpi_madt {
    uint64_t lapic_addr;
    bool has_8259;
    unsigned ncpus;
    unsigned ndropped; /* CPUs beyond CPU_MAX */
    struct acpi_cpu cpu[CPU_MAX];
    unsigned nioapics;
    struct acpi_ioapic ioapic[ACPI_IOAPIC_MAX];
    unsigned noverrides;
    struct acpi_override override[ACPI_OVERRIDE_MAX];
};

struct acpi_srat_cpu {
    uint32_t apic_id;
    uint32_t pxm;
};

struct acpi_srat_mem {
    uint64_t base;
    uint64_t len;
    uint32_t pxm;
    bool hotplug;
};

struct acpi_srat { /* enabled entries only */
    unsigned ncpus;
    struct acpi_srat_cpu cpu[ACPI_SRAT_CPU_MAX];
    unsigned nmem;
    struct acpi_srat_mem mem[ACPI_RANGE_MAX];
};

struct acpi_slit {
    uint32_t n;            /* localities: proximity domains 0 .. n-1 */
    const uint8_t *matrix; /* n * n bytes, row = from; 255: unreachable */
};

struct acpi_hmat {
    unsigned n;                                            /* domains in ids[] */
    uint32_t pxm[ACPI_DOMAIN_MAX];                         /* proximity domain of each */
    uint32_t latency_ps[ACPI_DOMAIN_MAX][ACPI_DOMAIN_MAX]; /* [initiator][target], 0: none */
};

struct acpi_fadt {
    uint16_t sci_irq;
    uint16_t pm_timer_port; /* 0: none */
    uint8_t pm_timer_bits;  /* 24 or 32 */
    uint16_t pm1a_cnt_port;
    uint16_t pm1b_cnt_port; /* 0: none */
    uint64_t dsdt;          /* physical address */
    bool has_reset;         /* reset_port and reset_value are usable */
    uint16_t reset_port;
    uint8_t reset_value;
    bool has_s5;        /* s5_a, s5_b are usable (acpi_parse_s5) */
    uint8_t s5_a, s5_b; /* SLP_TYP values for soft-off */
};

struct acpi_hpet {
    uint64_t addr;
    uint16_t min_tick;
};

int acpi_parse_madt(struct acpi_madt *out, const struct acpi_header *h, const char **why);
int acpi_parse_srat(struct acpi_srat *out, const struct acpi_header *h, const char **why);
int acpi_parse_slit(struct acpi_slit *out, const struct acpi_header *h, const char **why);
int acpi_parse_hmat(struct acpi_hmat *out, const struct acpi_header *h, const char **why);
int acpi_parse_fadt(struct acpi_fadt *out, const struct acpi_header *h, const char **why);
int acpi_parse_hpet(struct acpi_hpet *out, const struct acpi_header *h, const char **why);
/* acpi_parse_s5 - find the package \_S5 in a DSDT and set has_s5, s5_a, s5_b of *out. */
int acpi_parse_s5(struct acpi_fadt *out, const struct acpi_header *dsdt, const char **why);

#endif
