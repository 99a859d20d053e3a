// SPDX-License-Identifier: MIT
/*
 * power.c - FADT, DSDT's \_S5 and HPET: timers, reset and power-off.
 *
 * THEORY      To switch the machine off, the kernel must write the value of SLP_TYP for state S5 to a register.
 *             Only the byte code (AML) in the DSDT contains this value.  But no interpreter is needed, because
 *             firmware writes Name(_S5, Package(){a, b, ..}) with constants.  Their encoding is short and
 *             fixed, so this file searches the DSDT for these bytes.
 * SEE ALSO    acpi.h, tests/host/test_acpi.c; ACPI specification, "AML Specification"
 */
#include "acpi/acpi.h"

#include "acpi/bytes.h"
#include "lib/errno.h"

enum {
    FADT_V1_LEN = 116, /* up to and including `flags` */
    FADT_V2_LEN = 129, /* up to and including RESET_VALUE */
    FADT_SCI = 46,
    FADT_DSDT = 40,
    FADT_PM1A_CNT = 64,
    FADT_PM1B_CNT = 68,
    FADT_PM_TMR = 76,
    FADT_PM_TMR_LEN = 91,
    FADT_FLAGS = 112,
    FADT_RESET_REG = 116,
    FADT_RESET_VALUE = 128,
    FADT_X_DSDT = 140,
    FLAG_TMR_VAL_EXT = 1 << 8,
    FLAG_RESET_SUP = 1 << 10,
    GAS_SYSTEM_MEMORY = 0,
    GAS_SYSTEM_IO = 1,

    HPET_LEN = 56,

    AML_ZERO = 0x00,
    AML_ONE = 0x01,
    AML_NAME = 0x08,
    AML_BYTE = 0x0a,
    AML_PACKAGE = 0x12,
};

/* Returns the register address as a port number; 0: the address cannot be a port. */
static uint16_t io_port_of_register(uint32_t addr)
{
    return addr <= 0xffff ? (uint16_t)addr : 0;
}

int acpi_parse_fadt(struct acpi_fadt *out, const struct acpi_header *h, const char **why)
{
    const uint8_t *p = (const uint8_t *)h;
    uint32_t flags;

    memset(out, 0, sizeof *out);
    if (h == NULL || h->length < FADT_V1_LEN) {
        *why = h == NULL ? "there is no FADT" : "FADT is too short";
        return -EINVAL;
    }
    flags = get32(p + FADT_FLAGS);
    out->sci_irq = get16(p + FADT_SCI);
    out->dsdt = get32(p + FADT_DSDT);
    out->pm1a_cnt_port = io_port_of_register(get32(p + FADT_PM1A_CNT));
    out->pm1b_cnt_port = io_port_of_register(get32(p + FADT_PM1B_CNT));
    if (p[FADT_PM_TMR_LEN] == 4)
        out->pm_timer_port = io_port_of_register(get32(p + FADT_PM_TMR));
    out->pm_timer_bits = (flags & FLAG_TMR_VAL_EXT) != 0 ? 32 : 24;

    if (h->length >= FADT_V2_LEN && (flags & FLAG_RESET_SUP) != 0 &&
        p[FADT_RESET_REG] == GAS_SYSTEM_IO && get64(p + FADT_RESET_REG + 4) <= 0xffff) {
        out->has_reset = true;
        out->reset_port = (uint16_t)get64(p + FADT_RESET_REG + 4);
        out->reset_value = p[FADT_RESET_VALUE];
    }
    if (h->length >= FADT_X_DSDT + 8 && get64(p + FADT_X_DSDT) != 0)
        out->dsdt = get64(p + FADT_X_DSDT);
    return 0;
}

int acpi_parse_hpet(struct acpi_hpet *out, const struct acpi_header *h, const char **why)
{
    const uint8_t *p = (const uint8_t *)h;

    *out = (struct acpi_hpet){0};
    if (h == NULL || h->length < HPET_LEN) {
        *why = h == NULL ? "there is no HPET" : "HPET table is too short";
        return -EINVAL;
    }
    if (p[40] != GAS_SYSTEM_MEMORY || get64(p + 44) == 0) {
        *why = "HPET is not in memory space";
        return -EINVAL;
    }
    out->addr = get64(p + 44);
    out->min_tick = get16(p + 53);
    return 0;
}

/* Reads a small integer constant (AML) at *at and advances *at past it; false: there is none before `end`. */
static bool aml_small_int(const uint8_t **at, const uint8_t *end, uint8_t *v)
{
    size_t left = (size_t)(end - *at);

    if (left >= 1 && (**at == AML_ZERO || **at == AML_ONE)) {
        *v = **at;
        *at += 1;
        return true;
    }
    if (left >= 2 && **at == AML_BYTE) {
        *v = (*at)[1];
        *at += 2;
        return true;
    }
    return false;
}

/*
 * Decodes the bytes after the name: Package, a length of 1 to 4 bytes, a count, then the integers.  false: the
 * bytes are not such a package.
 */
static bool decode_s5_package(struct acpi_fadt *out, const uint8_t *at, const uint8_t *end)
{
    size_t left = (size_t)(end - at), len_bytes;

    if (left < 3 || at[0] != AML_PACKAGE)
        return false;
    len_bytes = 1u + (at[1] >> 6);
    if (left < 2 + len_bytes || at[1 + len_bytes] < 1)
        return false;
    bool has_b = at[1 + len_bytes] >= 2;

    at += 2 + len_bytes;
    if (!aml_small_int(&at, end, &out->s5_a))
        return false;
    if (!has_b || !aml_small_int(&at, end, &out->s5_b))
        out->s5_b = out->s5_a;
    out->has_s5 = true;
    return true;
}

int acpi_parse_s5(struct acpi_fadt *out, const struct acpi_header *dsdt, const char **why)
{
    const uint8_t *p = (const uint8_t *)dsdt;
    const uint8_t *end = dsdt != NULL ? p + dsdt->length : NULL;

    out->has_s5 = false;
    if (dsdt == NULL || dsdt->length < sizeof *dsdt) {
        *why = dsdt == NULL ? "there is no DSDT" : "DSDT is too short";
        return -EINVAL;
    }
    for (const uint8_t *at = p + sizeof *dsdt; end - at >= 4; at++) {
        if (memcmp(at, "_S5_", 4) != 0)
            continue;
        if (at[-1] != AML_NAME && !(at[-1] == '\\' && at[-2] == AML_NAME))
            continue;
        if (decode_s5_package(out, at + 4, end))
            return 0;
    }
    *why = "DSDT has no constant \\_S5 package";
    return -EINVAL;
}
