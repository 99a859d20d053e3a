// SPDX-License-Identifier: MIT
/*
 * clock.h - the public interface of the 100 Hz clock.
 */
#ifndef DISP_CLOCK_H
#define DISP_CLOCK_H

#include "lgrp/load.h"
#include "lib/types.h"

/* clock_start - start the clock, on this CPU. */
void clock_start(void);

extern _Atomic uint64_t
    clock_ns;               /* clock_mono_ns() at the last tick; read from outside by make live */
extern unsigned watchdog_s; /* [c] seconds without progress that count as hung; 0: off */

#endif
