// SPDX-License-Identifier: MIT
/*
 * test_acpi.c - the ACPI parsers: the tables of QEMU, each malformation, and thousands of mutations.
 *
 * The tables are on the heap with their exact size, so the address sanitizer reports a read beyond the end.
 */
#include "acpi/acpi.h"
#include "lib/errno.h"
#include "tests/host/check.h"
#include "tests/host/mktables.h"

#include <stdlib.h>
#include <string.h>

static const char *why;

/* ---- MADT ---- */

static struct acpi_header *qemu_madt(unsigned ncpus)
{
    struct mk m;

    mk_madt_begin(&m);
    for (unsigned i = 0; i < ncpus; i++)
        mk_madt_cpu(&m, i, true);
    mk_u8(&m, 1), mk_u8(&m, 12), mk_u8(&m, 0), mk_u8(&m, 0); /* IOAPIC */
    mk_u32(&m, 0xfec00000), mk_u32(&m, 0);
    mk_u8(&m, 2), mk_u8(&m, 10), mk_u8(&m, 0), mk_u8(&m, 0); /* IRQ 0 -> GSI 2 */
    mk_u32(&m, 2), mk_u16(&m, 0);
    mk_u8(&m, 4), mk_u8(&m, 6), mk_u8(&m, 0xff), mk_u16(&m, 0), mk_u8(&m, 1); /* NMI */
    return mk_end(&m);
}

TEST(madt_of_qemu)
{
    static struct acpi_madt madt;
    struct acpi_header *h = qemu_madt(72);

    CHECK_EQ(acpi_parse_madt(&madt, h, &why), 0);
    CHECK_EQ(madt.ncpus, 72);
    CHECK_EQ(madt.cpu[71].apic_id, 71);
    CHECK(madt.cpu[71].enabled && !madt.cpu[71].x2apic);
    CHECK_EQ(madt.lapic_addr, 0xfee00000);
    CHECK(madt.has_8259);
    CHECK_EQ(madt.nioapics, 1);
    CHECK_EQ(madt.ioapic[0].addr, 0xfec00000);
    CHECK_EQ(madt.noverrides, 1);
    CHECK_EQ(madt.override[0].gsi, 2);
    free(h);
}

TEST(madt_x2apic_entries)
{
    static struct acpi_madt madt;
    struct acpi_header *h;
    struct mk m;

    mk_madt_begin(&m);
    mk_madt_cpu(&m, 3, true);
    mk_madt_x2apic(&m, 3, true); /* the same CPU again */
    mk_madt_x2apic(&m, 700, true);
    mk_madt_x2apic(&m, 0xffffffff, true); /* an unused slot */
    mk_madt_cpu(&m, 0xff, true);          /* also an unused slot */
    mk_madt_cpu(&m, 9, false);
    h = mk_end(&m);
    CHECK_EQ(acpi_parse_madt(&madt, h, &why), 0);
    CHECK_EQ(madt.ncpus, 3);
    CHECK_EQ(madt.cpu[1].apic_id, 700);
    CHECK(madt.cpu[1].x2apic && madt.cpu[1].enabled);
    CHECK(!madt.cpu[2].enabled);
    free(h);
}

TEST(madt_more_cpus_than_we_can_use)
{
    static struct acpi_madt madt;
    struct acpi_header *h;
    struct mk m;

    mk_madt_begin(&m);
    for (unsigned i = 0; i < CPU_MAX + 10; i++)
        mk_madt_x2apic(&m, i, true);
    h = mk_end(&m);
    CHECK_EQ(acpi_parse_madt(&madt, h, &why), 0);
    CHECK_EQ(madt.ncpus, CPU_MAX);
    CHECK_EQ(madt.ndropped, 10);
    free(h);
}

TEST(madt_malformed)
{
    static struct acpi_madt madt;
    struct acpi_header *h;
    struct mk m;

    CHECK_EQ(acpi_parse_madt(&madt, NULL, &why), -EINVAL);
    CHECK_STR(why, "there is no MADT");
    mk_begin(&m, "APIC", 1);
    h = mk_end(&m);
    CHECK_EQ(acpi_parse_madt(&madt, h, &why), -EINVAL);
    CHECK_STR(why, "MADT is too short");
    free(h);

    static const uint8_t bad[][4] = {{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 9, 0, 0}, {0, 4, 0, 0}};
    for (unsigned i = 0; i < array_size(bad); i++) {
        mk_madt_begin(&m);
        mk_madt_cpu(&m, 0, true);
        mk_bytes(&m, bad[i], 4);
        h = mk_end(&m);
        CHECK_EQ(acpi_parse_madt(&madt, h, &why), -EINVAL);
        CHECK_STR(why, "MADT has a record of wrong length");
        CHECK_EQ(madt.ncpus, 0);
        free(h);
    }
}

/* ---- SRAT, SLIT, HMAT ---- */

TEST(srat_entries)
{
    static struct acpi_srat srat;
    struct acpi_header *h;
    struct mk m;

    mk_srat_begin(&m);
    mk_srat_cpu(&m, 5, 0x01020304, true); /* all four bytes of the domain */
    mk_srat_cpu(&m, 6, 1, false);
    mk_srat_x2apic(&m, 300, 7, true);
    mk_srat_mem(&m, 0, 0xa0000, 0, 1);
    mk_srat_mem(&m, 0x100000, 0x7ff00000, 0, 1);
    mk_srat_mem(&m, 0x100000000, 0x40000000, 9, 3);
    mk_srat_mem(&m, 0, 0, 0, 0); /* QEMU pads with disabled entries */
    h = mk_end(&m);
    CHECK_EQ(acpi_parse_srat(&srat, h, &why), 0);
    CHECK_EQ(srat.ncpus, 2);
    CHECK_EQ(srat.cpu[0].pxm, 0x01020304);
    CHECK_EQ(srat.cpu[1].apic_id, 300);
    CHECK_EQ(srat.nmem, 3);
    CHECK(srat.mem[2].hotplug && !srat.mem[1].hotplug);
    CHECK_EQ(srat.mem[2].pxm, 9);
    free(h);
}

TEST(srat_malformed)
{
    static struct acpi_srat srat;
    struct acpi_header *h;
    struct mk m;

    mk_srat_begin(&m);
    mk_srat_mem(&m, 0xffffffffffff0000, 0x20000, 0, 1);
    h = mk_end(&m);
    CHECK_EQ(acpi_parse_srat(&srat, h, &why), -EINVAL);
    CHECK_STR(why, "SRAT memory range wraps round");
    free(h);

    for (unsigned type = 0; type < 3; type++) {
        mk_srat_begin(&m);
        mk_srat_cpu(&m, 1, 1, true);
        mk_u8(&m, type), mk_u8(&m, 6), mk_u32(&m, 0);
        h = mk_end(&m);
        CHECK_EQ(acpi_parse_srat(&srat, h, &why), -EINVAL);
        CHECK_STR(why, "SRAT has a record of wrong length");
        CHECK_EQ(srat.ncpus, 0);
        free(h);
    }

    mk_srat_begin(&m);
    for (unsigned i = 0; i <= ACPI_RANGE_MAX; i++)
        mk_srat_mem(&m, (uint64_t)i << 32, 1 << 20, i % 3, 1);
    h = mk_end(&m);
    CHECK_EQ(acpi_parse_srat(&srat, h, &why), -EINVAL);
    CHECK_STR(why, "SRAT has too many memory ranges");
    free(h);
}

TEST(slit)
{
    static const uint8_t good[] = {10, 20, 20, 10};
    struct acpi_slit slit;
    struct acpi_header *h = mk_slit(2, good);
    struct mk m;

    CHECK_EQ(acpi_parse_slit(&slit, h, &why), 0);
    CHECK_EQ(slit.n, 2);
    CHECK_EQ(slit.matrix[1], 20);
    free(h);

    static const uint64_t bad_n[] = {0, 3, 65536, 0x100000000, UINT64_MAX};
    for (unsigned i = 0; i < array_size(bad_n); i++) {
        mk_begin(&m, "SLIT", 1);
        mk_u64(&m, bad_n[i]);
        mk_bytes(&m, good, 4);
        h = mk_end(&m);
        CHECK_EQ(acpi_parse_slit(&slit, h, &why), -EINVAL);
        CHECK_STR(why, "SLIT is shorter than its matrix");
        CHECK_EQ(slit.n, 0);
        free(h);
    }
    mk_begin(&m, "SLIT", 1);
    h = mk_end(&m);
    CHECK_EQ(acpi_parse_slit(&slit, h, &why), -EINVAL);
    CHECK_STR(why, "SLIT is too short");
    free(h);
}

/* One latency structure for `n` domains that are both initiators and targets. */
static void hmat_latency(struct mk *m, unsigned n, const uint16_t *ns)
{
    mk_u16(m, 1), mk_u16(m, 0), mk_u32(m, 32 + 8 * n + 2 * n * n);
    mk_u8(m, 0), mk_u8(m, 0), mk_u16(m, 0);
    mk_u32(m, n), mk_u32(m, n), mk_u32(m, 0), mk_u64(m, 1000);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < n; i++)
            mk_u32(m, i);
    for (unsigned i = 0; i < n * n; i++)
        mk_u16(m, ns[i]);
}

TEST(hmat)
{
    static const uint16_t ns[] = {180, 333, 333, 180};
    static struct acpi_hmat hmat;
    struct acpi_header *h;
    struct mk m;

    mk_begin(&m, "HMAT", 2);
    mk_u32(&m, 0);
    mk_u16(&m, 0), mk_u16(&m, 0), mk_u32(&m, 40), mk_zero(&m, 32); /* proximity attributes */
    hmat_latency(&m, 2, ns);
    h = mk_end(&m);
    CHECK_EQ(acpi_parse_hmat(&hmat, h, &why), 0);
    CHECK_EQ(hmat.n, 2);
    CHECK_EQ(hmat.latency_ps[0][0], 180000);
    CHECK_EQ(hmat.latency_ps[0][1], 333000);
    free(h);

    for (unsigned cut = 1; cut < 56; cut += 3) {
        mk_begin(&m, "HMAT", 2);
        mk_u32(&m, 0);
        hmat_latency(&m, 2, ns);
        m.len -= cut;
        m.p = realloc(m.p, m.len);
        h = mk_end(&m);
        CHECK_EQ(acpi_parse_hmat(&hmat, h, &why), -EINVAL);
        CHECK_EQ(hmat.n, 0);
        free(h);
    }
}

/* ---- FADT, DSDT, HPET ---- */

static struct acpi_header *qemu_fadt(uint64_t dsdt)
{
    struct mk m;

    mk_begin(&m, "FACP", 3);
    mk_zero(&m, 244 - m.len);
    memcpy(m.p + 40, &(uint32_t){(uint32_t)dsdt}, 4);
    memcpy(m.p + 46, &(uint16_t){9}, 2);
    memcpy(m.p + 64, &(uint32_t){0x604}, 4);
    memcpy(m.p + 76, &(uint32_t){0x608}, 4);
    m.p[91] = 4;
    memcpy(m.p + 112, &(uint32_t){1 << 10 | 1 << 5}, 4);
    m.p[116] = 1, m.p[117] = 8;
    memcpy(m.p + 120, &(uint64_t){0xcf9}, 8);
    m.p[128] = 0x0f;
    memcpy(m.p + 140, &dsdt, 8);
    return mk_end(&m);
}

static struct acpi_header *dsdt_with(const void *aml, size_t len)
{
    struct mk m;

    mk_begin(&m, "DSDT", 1);
    mk_bytes(&m, "\x10\x20\\_SB_", 7);
    mk_bytes(&m, aml, len);
    return mk_end(&m);
}

TEST(fadt)
{
    struct acpi_fadt f;
    struct acpi_header *h = qemu_fadt(0x7fe0040);

    CHECK_EQ(acpi_parse_fadt(&f, h, &why), 0);
    CHECK_EQ(f.pm_timer_port, 0x608);
    CHECK_EQ(f.pm_timer_bits, 24);
    CHECK_EQ(f.pm1a_cnt_port, 0x604);
    CHECK_EQ(f.pm1b_cnt_port, 0);
    CHECK_EQ(f.sci_irq, 9);
    CHECK_EQ(f.dsdt, 0x7fe0040);
    CHECK(f.has_reset);
    CHECK_EQ(f.reset_port, 0xcf9);
    CHECK_EQ(f.reset_value, 0x0f);
    h->length = 100;
    CHECK_EQ(acpi_parse_fadt(&f, h, &why), -EINVAL);
    CHECK_STR(why, "FADT is too short");
    free(h);
}

TEST(s5)
{
    /* as QEMU writes it: Name(_S5, Package(4){0, 0, 0, 0}) */
    static const uint8_t plain[] = {0x08, '_', 'S', '5', '_', 0x12, 0x06, 4, 0, 0, 0, 0};
    static const uint8_t bytes[] = {0x08, '\\', '_', 'S',  '5', '_', 0x12, 0x08,
                                    4,    0x0a, 5,   0x0a, 7,   0,   0};
    static const uint8_t call[] = {0x70, '_', 'S', '5', '_', 0x12, 0x06, 4, 0, 0, 0, 0};
    static const uint8_t broken[] = {0x08, '_', 'S', '5', '_', 0x12, 0xc6};
    struct acpi_fadt f = {0};
    struct acpi_header *h;

    h = dsdt_with(plain, sizeof plain);
    CHECK_EQ(acpi_parse_s5(&f, h, &why), 0);
    CHECK(f.has_s5 && f.s5_a == 0 && f.s5_b == 0);
    free(h);
    h = dsdt_with(bytes, sizeof bytes);
    CHECK_EQ(acpi_parse_s5(&f, h, &why), 0);
    CHECK(f.has_s5 && f.s5_a == 5 && f.s5_b == 7);
    free(h);
    h = dsdt_with(call, sizeof call);
    CHECK_EQ(acpi_parse_s5(&f, h, &why), -EINVAL);
    free(h);
    h = dsdt_with(broken, sizeof broken);
    CHECK_EQ(acpi_parse_s5(&f, h, &why), -EINVAL);
    CHECK_STR(why, "DSDT has no constant \\_S5 package");
    CHECK(!f.has_s5);
    free(h);
}

TEST(hpet)
{
    struct acpi_hpet hp;
    struct acpi_header *h;
    struct mk m;

    mk_begin(&m, "HPET", 1);
    mk_u32(&m, 0x8086a201);
    mk_u32(&m, 0);
    mk_u64(&m, 0xfed00000);
    mk_u8(&m, 0), mk_u16(&m, 0x80), mk_u8(&m, 0);
    h = mk_end(&m);
    CHECK_EQ(acpi_parse_hpet(&hp, h, &why), 0);
    CHECK_EQ(hp.addr, 0xfed00000);
    CHECK_EQ(hp.min_tick, 0x80);
    free(h);
}

/* ---- finding and replacing ---- */

/* Simulated physical memory: table i lies at (i + 1) << 20. */
static struct {
    uint8_t *p;
    size_t len;
} mem[16];

static const void *map(uint64_t phys, size_t len)
{
    uint64_t i = (phys >> 20) - 1;

    if ((phys & 0xfffff) != 0 || i >= array_size(mem) || len > mem[i].len)
        return NULL;
    return mem[i].p;
}

static uint64_t place(unsigned i, struct acpi_header *h, size_t len)
{
    free(mem[i].p);
    mem[i].p = (void *)h;
    mem[i].len = len;
    return (uint64_t)(i + 1) << 20;
}

static void forget(void)
{
    for (unsigned i = 0; i < array_size(mem); i++)
        place(i, NULL, 0);
}

static void mk_rsdp(uint8_t r[36], unsigned revision, uint32_t rsdt, uint64_t xsdt)
{
    memset(r, 0, 36);
    memcpy(r, "RSD PTR ", 8);
    r[15] = (uint8_t)revision;
    memcpy(r + 16, &rsdt, 4);
    r[20] = 36;
    memcpy(r + 24, &xsdt, 8);
    mk_checksum(r, 20, &r[8]);
    mk_checksum(r, 36, &r[32]);
}

static struct acpi_header *root_of(const char *sig, unsigned width, unsigned n, const uint64_t *at)
{
    struct mk m;

    mk_begin(&m, sig, 1);
    for (unsigned i = 0; i < n; i++)
        mk_bytes(&m, &at[i], width);
    return mk_end(&m);
}

static struct acpi_tables tables;

/* Makes a machine with RSDT and XSDT; fills in the RSDP. */
static void machine(uint8_t rsdp[36], unsigned revision)
{
    static const uint8_t d[] = {10, 20, 20, 10};
    struct acpi_header *dsdt = dsdt_with("", 0), *madt = qemu_madt(4), *slit = mk_slit(2, d);
    uint64_t at[4] = {0};

    at[0] = place(0, qemu_fadt(place(3, dsdt, dsdt->length)), 244);
    at[1] = place(1, madt, madt->length);
    at[2] = place(2, slit, slit->length);
    at[3] = 0x9000000; /* there is no table at this address */
    mk_rsdp(rsdp, revision, (uint32_t)place(4, root_of("RSDT", 4, 4, at), 52),
            place(5, root_of("XSDT", 8, 3, at), 60));
}

TEST(find_tables)
{
    uint8_t rsdp[36];

    machine(rsdp, 2);
    CHECK_EQ(acpi_tables_find(&tables, rsdp, 36, map, &why), 0);
    CHECK_EQ(tables.n, 4); /* FADT, MADT, SLIT and, through the FADT, DSDT */
    CHECK_EQ(tables.n_bad, 0);
    CHECK(acpi_find(&tables, ACPI_SIG('D', 'S', 'D', 'T')) != NULL);
    CHECK(acpi_find(&tables, ACPI_SIG('S', 'R', 'A', 'T')) == NULL);

    machine(rsdp, 0); /* an old machine: RSDT, with one invalid entry */
    CHECK_EQ(acpi_tables_find(&tables, rsdp, 20, map, &why), 0);
    CHECK_EQ(tables.n, 4);
    CHECK_EQ(tables.n_bad, 1);

    machine(rsdp, 2); /* XSDT is broken: RSDT is used */
    mem[5].p[40]++;
    CHECK_EQ(acpi_tables_find(&tables, rsdp, 36, map, &why), 0);
    CHECK_EQ(tables.n, 4);

    mem[4].p[40]++;
    CHECK_EQ(acpi_tables_find(&tables, rsdp, 36, map, &why), -EINVAL);
    CHECK_STR(why, "neither XSDT nor RSDT is usable");
    CHECK_EQ(tables.n, 0);
    forget();
}

TEST(find_bad_checksums)
{
    uint8_t rsdp[36];

    machine(rsdp, 2);
    mem[1].p[50]++;
    CHECK_EQ(acpi_tables_find(&tables, rsdp, 36, map, &why), 0);
    CHECK_EQ(tables.n_bad, 1);
    CHECK_EQ(tables.first_bad, ACPI_SIG('A', 'P', 'I', 'C'));
    CHECK(acpi_find(&tables, ACPI_SIG('A', 'P', 'I', 'C')) == NULL);

    rsdp[9]++;
    CHECK_EQ(acpi_tables_find(&tables, rsdp, 36, map, &why), -EINVAL);
    CHECK_STR(why, "RSDP checksum is wrong");
    rsdp[0] = 'X';
    CHECK_EQ(acpi_tables_find(&tables, rsdp, 36, map, &why), -EINVAL);
    CHECK_STR(why, "RSDP has no signature");
    CHECK_EQ(acpi_tables_find(&tables, rsdp, 19, map, &why), -EINVAL);
    CHECK_STR(why, "RSDP is too short");
    forget();
}

TEST(replace_tables)
{
    static const uint8_t d[] = {10, 30, 30, 10};
    uint8_t rsdp[36];
    struct acpi_header *slit = mk_slit(2, d), *blob;
    struct mk m = {0};
    struct acpi_slit s;

    machine(rsdp, 2);
    CHECK_EQ(acpi_tables_find(&tables, rsdp, 36, map, &why), 0);
    mk_bytes(&m, slit, slit->length);  /* replaces a table */
    mk_bytes(&m, "APIC\x08\0\0\0", 8); /* removes a table */
    mk_bytes(&m, "NONE\x08\0\0\0", 8); /* removes a table that does not exist */
    blob = (void *)m.p;
    CHECK_EQ(acpi_tables_replace(&tables, blob, m.len, &why), 0);
    CHECK(acpi_find(&tables, ACPI_SIG('A', 'P', 'I', 'C')) == NULL);
    CHECK_EQ(acpi_parse_slit(&s, acpi_find(&tables, ACPI_SIG('S', 'L', 'I', 'T')), &why), 0);
    CHECK_EQ(s.matrix[1], 30);

    for (size_t cut = 1; cut < 8; cut++)
        CHECK_EQ(acpi_tables_replace(&tables, blob, m.len - cut, &why), -EINVAL);
    CHECK_STR(why, "replacement tables end in a fragment");
    blob->length = 20;
    CHECK_EQ(acpi_tables_replace(&tables, blob, m.len, &why), -EINVAL);
    CHECK_STR(why, "replacement table has a wrong length");
    blob->length = 4000;
    CHECK_EQ(acpi_tables_replace(&tables, blob, m.len, &why), -EINVAL);
    free(blob);
    free(slit);
    forget();
}

/* ---- mutations ---- */

/* Changes some bytes of a copy of `h`, sometimes its length too; the copy has exactly that
 * length. */
static struct acpi_header *mutate(const struct acpi_header *h)
{
    static const uint8_t special[] = {0, 1, 2, 0x7f, 0x80, 0xfe, 0xff};
    size_t len = h->length, new_len = len;
    uint8_t *p;

    if (check_below(3) == 0)
        new_len = sizeof *h + check_below(len + 64 - sizeof *h);
    p = calloc(1, new_len);
    memcpy(p, h, min_of(len, new_len));
    for (uint64_t n = check_below(12); n > 0; n--) {
        size_t at = sizeof *h + check_below(new_len);

        if (at < new_len)
            p[at] = check_below(2) ? special[check_below(sizeof special)] : (uint8_t)check_random();
    }
    ((struct acpi_header *)(void *)p)->length = (uint32_t)new_len;
    return (void *)p;
}

TEST(fuzz_parsers)
{
    static struct acpi_madt madt;
    static struct acpi_srat srat;
    static struct acpi_hmat hmat;
    static const uint16_t ns[] = {180, 333, 333, 180};
    static const uint8_t d[] = {10, 20, 20, 10};
    static const uint8_t aml[] = {0x08, '_', 'S', '5', '_', 0x12, 0x08, 4, 0x0a, 5, 0x0a, 7, 0, 0};
    struct acpi_slit slit;
    struct acpi_fadt fadt;
    struct acpi_hpet hp;
    struct acpi_header *seed[6];
    struct mk m;

    seed[0] = qemu_madt(8);
    mk_srat_begin(&m);
    for (unsigned i = 0; i < 4; i++) {
        mk_srat_cpu(&m, i, i / 2, true);
        mk_srat_x2apic(&m, 256 + i, i / 2, true);
        mk_srat_mem(&m, (uint64_t)i << 30, 1 << 30, i / 2, 1);
    }
    seed[1] = mk_end(&m);
    seed[2] = mk_slit(2, d);
    mk_begin(&m, "HMAT", 2);
    mk_u32(&m, 0);
    hmat_latency(&m, 2, ns);
    seed[3] = mk_end(&m);
    seed[4] = qemu_fadt(0);
    seed[5] = dsdt_with(aml, sizeof aml);

    for (unsigned round = 0; round < 20000; round++) {
        struct acpi_header *h = mutate(seed[round % 6]);
        uint32_t n = 0;

        why = NULL;
        switch (check_below(4) == 0 ? check_below(7) : round % 6) { /* sometimes the wrong parser */
        case 0:
            CHECK(acpi_parse_madt(&madt, h, &why) == 0 || (why != NULL && madt.ncpus == 0));
            CHECK(madt.ncpus <= CPU_MAX && madt.nioapics <= ACPI_IOAPIC_MAX);
            break;
        case 1:
            CHECK(acpi_parse_srat(&srat, h, &why) == 0 || (why != NULL && srat.ncpus == 0));
            CHECK(srat.nmem <= ACPI_RANGE_MAX && srat.ncpus <= ACPI_SRAT_CPU_MAX);
            break;
        case 2:
            CHECK(acpi_parse_slit(&slit, h, &why) == 0 || (why != NULL && slit.n == 0));
            for (uint32_t i = 0; i < slit.n * slit.n; i++)
                n += slit.matrix[i]; /* all entries can be read */
            CHECK(n <= 255u * 65535u);
            break;
        case 3:
            CHECK(acpi_parse_hmat(&hmat, h, &why) == 0 || (why != NULL && hmat.n == 0));
            CHECK(hmat.n <= ACPI_DOMAIN_MAX);
            break;
        case 4:
            (void)acpi_parse_fadt(&fadt, h, &why);
            break;
        case 5:
            CHECK((acpi_parse_s5(&fadt, h, &why) == 0) == fadt.has_s5);
            break;
        case 6:
            (void)acpi_parse_hpet(&hp, h, &why);
            break;
        }
        free(h);
    }
    for (unsigned i = 0; i < 6; i++)
        free(seed[i]);
}

TEST(fuzz_find_and_replace)
{
    uint8_t rsdp[36];

    for (unsigned round = 0; round < 3000; round++) {
        machine(rsdp, (unsigned)check_below(3));
        for (uint64_t n = check_below(6); n > 0; n--) {
            unsigned i = (unsigned)check_below(6);

            mem[i].p[check_below(mem[i].len)] = (uint8_t)check_random();
            if (check_below(2)) /* an invalid table with a valid checksum */
                mk_checksum(mem[i].p, mem[i].len, &mem[i].p[9]);
        }
        if (check_below(4) == 0)
            rsdp[check_below(36)] ^= (uint8_t)check_random();
        int err = acpi_tables_find(&tables, rsdp, check_below(2) ? 36 : 20, map, &why);

        CHECK(err == 0 || tables.n == 0);
        for (unsigned i = 0; i < tables.n; i++)
            CHECK(tables.table[i]->length >= sizeof(struct acpi_header));
        size_t len = check_below(200);
        uint8_t *blob = malloc(len + 1);

        for (size_t i = 0; i < len; i++)
            blob[i] = check_below(3) ? (uint8_t)check_below(64) : 0;
        (void)acpi_tables_replace(&tables, blob, len, &why);
        CHECK(tables.n <= ACPI_TABLE_MAX);
        free(blob);
    }
    forget();
}
