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

/* clock_runnable_now - threads that wait on CPUs of `lgrp`, or run anywhere and are at home there, at this instant. */
unsigned clock_runnable_now(const struct lgrp_part *part, unsigned lgrp);

extern unsigned watchdog_s; /* [c] set at boot from the launcher's option             */

#endif
