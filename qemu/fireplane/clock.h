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
 * fp_clock_take - replace QEMU's clock by that of this file if QEMU counts instructions (-icount).  Called once, by the
 * thread that runs all CPUs, between two blocks of code.
 * Returns 0, also without -icount; -1: this QEMU counts instructions in a way that is not known here.
 */
int fp_clock_take(const struct fp_model *m);

/* fp_clock_follow - the model has been armed (true) or disarmed (false).  Called while no CPU runs. */
void fp_clock_follow(bool follow);

#endif
