// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock.h - the guest's clock follows the model while it is armed.
 *
 * SEE ALSO  clock.c
 */
#ifndef FIREPLANE_CLOCK_H
#define FIREPLANE_CLOCK_H

#include "model.h"

/*
 * fp_clock_take - have QEMU ask here for the time, if it counts instructions; called once, by the thread that runs all
 * CPUs, between two blocks of code.
 * Returns 0, also where it does not; -1: it does, but not in a way that is known here.
 */
int fp_clock_take(const struct fp_model *m);

/* fp_clock_follow - the model has been armed (true) or disarmed; called while no CPU runs. */
void fp_clock_follow(bool follow);

#endif
