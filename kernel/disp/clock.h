// SPDX-License-Identifier: MIT
/*
 * clock.h - the 100 Hz clock's public side.
 */
#ifndef DISP_CLOCK_H
#define DISP_CLOCK_H

#include "lgrp/load.h"
#include "lib/types.h"

/* clock_start - begin ticking, on the running CPU. */
void clock_start(void);

extern unsigned watchdog_s; /* [c] set at boot from the launcher's option             */

#endif
