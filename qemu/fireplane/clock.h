// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock.h - lets the guest's clock follow the model while the model is armed.
 *
 * SEE ALSO  clock.c
 */
#ifndef FIREPLANE_CLOCK_H
#define FIREPLANE_CLOCK_H

#include "model.h"

/*
 * fp_clock_take - replace QEMU's clock by the clock of clock.c if QEMU counts instructions (-icount).  Called once, by
 * the thread that runs all CPUs, between two blocks of code.
 * Returns 0, also without -icount; -1: this version of QEMU counts instructions in an unknown way.
 */
int fp_clock_take(const struct fp_model *m);

/* fp_clock_follow - must be called after the model was armed (true) or disarmed (false), while no CPU runs. */
void fp_clock_follow(bool follow);

#endif
