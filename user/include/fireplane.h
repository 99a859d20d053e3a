// SPDX-License-Identifier: MIT
/*
 * fireplane.h - the interconnect model's clocks and counters, for benchmarks.
 *
 * Works on Homeroom (/dev/fireplane) and on Linux (the BAR of the ivshmem device, as root).  Without the model
 * fp_open() fails and every other call does nothing and returns zeros, so a benchmark needs no second path.
 *
 * SEE ALSO  docs/fireplane.md, include/uapi/fireplane.h, cpustat, cputrack
 */
#ifndef FIREPLANE_H
#define FIREPLANE_H

#include <stdint.h>

#include "uapi/fireplane.h"

/* fp_open - find the model.  0, or -1 with errno (ENODEV: no model is attached). */
int fp_open(void);

/* fptest's exit status: it does not fit the model's parameters, so nothing was tested */
enum { FPTEST_UNFIT = 4 };

/*
 * fp_arm - begin to watch memory accesses, of all CPUs.  The first to arm the model has it tested.
 * 0, or -1 and a line on stderr: it could not be tested, and is not armed.
 */
int fp_arm(void);

/*
 * fp_disarm - end what the same process's fp_arm() began, unless another had armed the model before; it goes on.
 * 0, also without the model; -1 and a line on stderr: another program disarmed it meanwhile, so what was counted since
 * fp_arm() is not whole.
 */
int fp_disarm(void);

/* fp_now_ps - modelled time of the calling thread, in picoseconds; 0 without the model. */
uint64_t fp_now_ps(void);

/* fp_read - the counters of all CPUs added up (time_ps: the latest). */
void fp_read(struct fp_counts *sum);

/* fp_read_cpu - the counters of one CPU.  0, or -1 if there is no such CPU or no model. */
int fp_read_cpu(int cpu, struct fp_counts *counts);

/* fp_header - the model's header; NULL without the model. */
const struct fp_header *fp_header(void);

#endif
