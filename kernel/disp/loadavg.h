// SPDX-License-Identifier: MIT
/*
 * loadavg.h - how many threads ran or waited for a CPU, averaged over 1, 5 and 15 minutes.
 *
 * LOCKING  loadavg_update() is called by the clock alone; readers take what is there
 */
#ifndef DISP_LOADAVG_H
#define DISP_LOADAVG_H

#include "lib/types.h"

#define LOADAVG_SHIFT 11 /* fixed point: 2048 = 1.00 */

extern _Atomic uint32_t loadavg[3]; /* [a] over 1, 5, 15 minutes; of the machine */

/* loadavg_update - one step of three averages: call every 5 seconds with the threads running or runnable now. */
void loadavg_update(_Atomic uint32_t avg[3], unsigned runnable);

/* disp_runnable - threads running (idle threads excepted) or queued on all CPUs, as a snapshot. */
unsigned disp_runnable(void);

#endif
