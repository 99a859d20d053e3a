// SPDX-License-Identifier: MIT
/*
 * rtc.c - wall-clock time from the CMOS clock (MC146818).
 *
 * THEORY      The clock's registers are read through an index port and a data port.  Once a second the clock
 *             updates the registers; during the update they are inconsistent, and a bit of status
 *             register A is set.
 *             The fields are read until two readings in a row are equal, because an update may begin between
 *             two registers.  Status register B shows whether the fields are BCD or binary, and whether the
 *             clock has 12 or 24 hours.
 * LOCKING     There are no locks: the boot CPU calls rtc_read() before the other CPUs start.
 */
#include "drivers/rtc.h"
#include "lib/cpu.h"
#include "lib/string.h"
#include "x86/pio.h"

enum { CMOS_INDEX = 0x70, CMOS_DATA = 0x71, STATUS_A = 0x0a, STATUS_B = 0x0b, NMI_OFF = 0x80 };
enum { A_UPDATING = 0x80, B_24H = 0x02, B_BINARY = 0x04, HOUR_PM = 0x80 };
enum { SEC, MIN, HOUR, DAY, MONTH, YEAR, CENTURY, NFIELD };

static const uint8_t field_reg[NFIELD] = {0x00, 0x02, 0x04, 0x07, 0x08, 0x09, 0x32};

static uint8_t read_cmos(uint8_t reg)
{
    outb(CMOS_INDEX, (uint8_t)(NMI_OFF | reg));
    return inb(CMOS_DATA);
}

static void read_clock_fields(uint8_t f[NFIELD])
{
    while (read_cmos(STATUS_A) & A_UPDATING)
        cpu_pause();
    for (unsigned i = 0; i < NFIELD; i++)
        f[i] = read_cmos(field_reg[i]);
}

/*
 * Days from 1970-01-01 to the first day of a month.  The calculation counts years from March, so
 * that a leap day is the last day of a year.
 */
static uint64_t days_before_month(unsigned year, unsigned month)
{
    unsigned y = month > 2 ? year : year - 1;
    unsigned m = month > 2 ? month - 3 : month + 9; /* March = 0 */

    return 365ull * y + y / 4 - y / 100 + y / 400 + (153ull * m + 2) / 5 - 719468;
}

uint64_t rtc_read(void)
{
    uint8_t a[NFIELD], b[NFIELD], status;
    bool pm;
    unsigned year;

    read_clock_fields(a);
    for (;;) {
        read_clock_fields(b);
        if (memcmp(a, b, sizeof a) == 0)
            break;
        memcpy(a, b, sizeof a);
    }
    status = read_cmos(STATUS_B);
    outb(CMOS_INDEX, 0); /* enables NMIs again */
    pm = !(status & B_24H) && (a[HOUR] & HOUR_PM);
    if (!(status & B_24H))
        a[HOUR] &= (uint8_t)~HOUR_PM;
    if (!(status & B_BINARY))
        for (unsigned i = 0; i < NFIELD; i++)
            a[i] = (uint8_t)((a[i] >> 4) * 10 + (a[i] & 15));
    if (!(status & B_24H))
        a[HOUR] = (uint8_t)(a[HOUR] % 12 + (pm ? 12 : 0));
    year = (a[CENTURY] >= 19 ? a[CENTURY] : 20u) * 100 + a[YEAR];
    return ((days_before_month(year, a[MONTH]) + a[DAY] - 1) * 24 + a[HOUR]) * 3600 +
           a[MIN] * 60ull + a[SEC];
}
