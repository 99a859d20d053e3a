// SPDX-License-Identifier: MIT
/*
 * rtc.h - the battery-backed clock.
 */
#ifndef DRIVERS_RTC_H
#define DRIVERS_RTC_H

#include "lib/types.h"

/* rtc_read - read the CMOS clock: seconds since 1970 (UTC).  Boot only, because it polls the clock. */
uint64_t rtc_read(void);

#endif
