// SPDX-License-Identifier: MIT
/*
 * fireplane.h - the clocks and counters of the interconnect model, for benchmarks.
 *
 * Works on Homeroom (/dev/fireplane) and on Linux (the BAR of the ivshmem device, as root).  Without the model
 * fp_open() fails, and all other calls do nothing and return zeros.  So a benchmark needs no separate path for that
 * case.
 *
 * SEE ALSO    docs/fireplane.md, include/uapi/fireplane.h, cpustat, cputrack
 */
#ifndef FIREPLANE_H
#define FIREPLANE_H

#include <stdint.h>

#include "uapi/fireplane.h"

/* fp_open - finds the model.  Returns 0; -1 with errno (ENODEV: no model is attached). */
int fp_open(void);

/* The exit status of fptest when it does not fit the model's parameters, so that nothing was tested. */
enum { FPTEST_UNFIT = 4 };

/*
 * fp_arm - begins to watch the memory accesses of all CPUs.  The first caller also tests the model.  Returns 0; -1
 * after a message on standard error if the model could not be tested, and is not armed.
 */
int fp_arm(void);

/*
 * fp_disarm - ends what fp_arm() of the same process began.  If another process had armed the model before, it stays
 * armed.  Returns 0, also without the model; -1 after a message on standard error if another program disarmed the
 * model meanwhile, so that the counts since fp_arm() are incomplete.
 */
int fp_disarm(void);

/* fp_now_ps - the modelled time of the calling thread, in picoseconds; 0 without the model. */
uint64_t fp_now_ps(void);

/* fp_read - the sums of the counters of all CPUs; time_ps is the latest of them. */
void fp_read(struct fp_counts *sum);

/* fp_read_cpu - the counters of one CPU.  Returns 0; -1 if there is no such CPU or no model. */
int fp_read_cpu(int cpu, struct fp_counts *counts);

/* fp_header - the model's header; NULL without the model. */
const struct fp_header *fp_header(void);

#endif
