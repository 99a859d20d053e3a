// SPDX-License-Identifier: MIT
/*
 * rtc.h - the battery-backed clock.
 */
#ifndef DRIVERS_RTC_H
#define DRIVERS_RTC_H

#include "lib/types.h"

/* rtc_read - seconds since 1970 (UTC) by the CMOS clock.  For boot: takes up to a second on
 * real hardware. */
uint64_t rtc_read(void);

#endif
