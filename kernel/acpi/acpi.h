// SPDX-License-Identifier: MIT
/*
 * acpi.h - the firmware's description of the machine (ACPI tables), as plain structs.
 *
 * THEORY      A kernel cannot find out by itself how many CPUs and boards a machine has, or how to switch the
 *             machine off.  The firmware describes this in tables in memory, in a format called ACPI.
 *             acpi_tables_find() follows the pointers RSDP -> XSDT or RSDT -> tables and stores a pointer to
 *             each table.  acpi_tables_replace() replaces some of them by tables from another source.  Each
 *             acpi_parse_*() converts one table to a struct.  These files contain no policy: the caller decides
 *             how to handle a bad table (lgrp/topo.c, chapter "Bad tables" of docs/lgroups.md).
 * INVARIANTS  I1  no parser reads outside [table, table + length of its header]
 *             I2  a parser that fails leaves *out safe to use: all counts are 0
 *             I3  a count is never greater than the size of its array
 * ERRORS      Each parser returns 0, or returns -EINVAL and sets *why to a constant one-line reason.
 * LOCKING     There are no locks: the boot CPU calls these functions before the other CPUs start.  The
 *             functions allocate no memory.  The structs are large, so they should be static.
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
    ACPI_SRAT_CPU_MAX = 1024, /* the SRAT may name CPUs that are not in the MADT */
    ACPI_DOMAIN_MAX = 64,
};

/* The header of every table; `length` (bytes) includes the header. */
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
    unsigned n_bad;                                  /* number of tables that were left out */
    /* signature of the first table that was left out */
    uint32_t first_bad;
};

/* Maps `len` bytes of physical memory; NULL: these bytes are not readable. */
typedef const void *(*acpi_map_fn)(uint64_t phys, size_t len);

/*
 * acpi_tables_find - collect the tables to which an RSDP leads.  `rsdp` points to `len` readable bytes of the
 * RSDP (20 or 36); a copy by the boot loader can be used.  A table with a wrong length or checksum is left out
 * and counted.  The DSDT, to which only the FADT points, is added like the others.  0, or -EINVAL: the RSDP, or
 * both RSDT and XSDT, are unusable, and *t is empty.
 */
int acpi_tables_find(struct acpi_tables *t, const void *rsdp, size_t len, acpi_map_fn map,
                     const char **why);

/*
 * acpi_tables_replace - apply `blob`, a sequence of tables, to *t.  Each table replaces the tables with the
 * same signature, or is added.  An 8-byte record {signature, length 8} only removes tables.  Checksums are not
 * verified, because a test may need arbitrary contents.  The blob must stay mapped.  0, or -EINVAL: a length is
 * below 8, between 9 and 35, or beyond the blob, or there are too many tables.  After an error, the tables
 * before the bad one are applied.
 */
int acpi_tables_replace(struct acpi_tables *t, const void *blob, size_t len, const char **why);

/* acpi_find - the first table with signature `sig`, or NULL. */
const struct acpi_header *acpi_find(const struct acpi_tables *t, uint32_t sig);

struct acpi_cpu {
    uint32_t apic_id;
    uint32_t uid;
    bool enabled; /* false: an empty place for a CPU (hot plugging) */
    bool x2apic;  /* named by an x2APIC entry */
};

struct acpi_ioapic {
    uint8_t id;
    uint32_t addr;
    uint32_t gsi_base;
};

struct acpi_override { /* ISA interrupt `irq` is connected to input `gsi` */
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
    unsigned n;                                            /* domains in pxm[] */
    uint32_t pxm[ACPI_DOMAIN_MAX];                         /* proximity domain of each index */
    uint32_t latency_ps[ACPI_DOMAIN_MAX][ACPI_DOMAIN_MAX]; /* [initiator][target]; 0: not given */
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

/*
 * acpi_parse_* - convert table `h` to *out.  If h is NULL there is no such table: -EINVAL.  acpi_slit points
 * into the table, so the table must stay mapped.
 */
int acpi_parse_madt(struct acpi_madt *out, const struct acpi_header *h, const char **why);
int acpi_parse_srat(struct acpi_srat *out, const struct acpi_header *h, const char **why);
int acpi_parse_slit(struct acpi_slit *out, const struct acpi_header *h, const char **why);
int acpi_parse_hmat(struct acpi_hmat *out, const struct acpi_header *h, const char **why);
int acpi_parse_fadt(struct acpi_fadt *out, const struct acpi_header *h, const char **why);
int acpi_parse_hpet(struct acpi_hpet *out, const struct acpi_header *h, const char **why);
/* acpi_parse_s5 - find the package \_S5 in a DSDT, and set has_s5, s5_a, s5_b of *out. */
int acpi_parse_s5(struct acpi_fadt *out, const struct acpi_header *dsdt, const char **why);

#endif
