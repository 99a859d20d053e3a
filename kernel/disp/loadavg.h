// SPDX-License-Identifier: MIT
/*
 * loadavg.h - load averages: threads that run or wait for a CPU, averaged over 1, 5 and 15 minutes.
 *
 * LOCKING  Only the clock calls loadavg_update().  Readers take no lock.
 */
#ifndef DISP_LOADAVG_H
#define DISP_LOADAVG_H

#include "lib/types.h"

#define LOADAVG_SHIFT 11 /* fixed point: 2048 = 1.00 */

extern _Atomic uint32_t loadavg[3]; /* [a] of the machine, over 1, 5, 15 minutes; fixed point */

/* loadavg_update - update three averages; called every 5 seconds.  `runnable`: threads that run or wait now. */
void loadavg_update(_Atomic uint32_t avg[3], unsigned runnable);

/* disp_runnable - number of threads of the machine that run (not idle threads) or are queued: a snapshot. */
unsigned disp_runnable(void);

#endif
