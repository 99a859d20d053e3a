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

/*
 * clock_runnable_now - number of threads of the set of `part` that wait on its CPUs in `lgrp`, or run on any
 * of its CPUs and are at home in `lgrp`, now.  Takes no lock: a snapshot.
 */
unsigned clock_runnable_now(const struct lgrp_part *part, unsigned lgrp);

extern unsigned watchdog_s; /* [c] seconds without progress that count as hung; 0: off */

#endif
