// SPDX-License-Identifier: MIT
/*
 * cpc.h - the events of cpustat and cputrack: what UltraSPARC III calls them, and how they follow from the
 *         interconnect model's counters.
 *
 * SEE ALSO  docs/userland.md, include/uapi/fireplane.h; UltraSPARC III Cu User's Manual, chapter "Performance
 *           Instrumentation"
 */
#ifndef CPC_H
#define CPC_H

#include <stdbool.h>
#include <stdio.h>

#include "fireplane.h"

#define CPC_PICS 2  /* counters that count at a time */
#define CPC_SETS 32 /* -c options */

/* What one -c option asks for. */
struct cpc_set {
    int event[CPC_PICS]; /* index of the event; -1: none */
};

/* All -c options; they take turns, one for each sample. */
struct cpc_sets {
    struct cpc_set set[CPC_SETS];
    int count;
    int pics;    /* columns: the highest pic in use, plus 1 */
    bool cycles; /* -t: a column of cycles before the pics */
};

/* cpc_add - take the argument of a -c option.  0; -1 after printing what is wrong with it. */
int cpc_add(const char *program, struct cpc_sets *sets, const char *spec);

/* cpc_header - the columns' names, cpc_values - their values in *c, each with a blank before; both end the line.
 * With several sets the events follow, as a comment. */
void cpc_header(FILE *out, const struct cpc_sets *sets);
void cpc_values(FILE *out, const struct cpc_sets *sets, int which, const struct fp_counts *c);

/* cpc_help - what events there are, for -h. */
void cpc_help(FILE *out);

/* cpc_start - open the model and arm it if it is not armed.  0; -1 after printing why not.
 * cpc_arm - arm it again if a program has disarmed it since.  cpc_stop - disarm it if one of these armed it. */
int cpc_start(const char *program);
int cpc_arm(void);
void cpc_stop(void);

/* cpc_difference - *d = a - b for each counter.  cpc_sum - *sum += a. */
void cpc_difference(struct fp_counts *d, const struct fp_counts *a, const struct fp_counts *b);
void cpc_sum(struct fp_counts *sum, const struct fp_counts *a);

/* cpc_now - seconds, on the clock of SYS_track's lines.  cpc_interval - a number of seconds, 0 .. a day; 0 or -1. */
double cpc_now(void);
int cpc_interval(const char *text, double *seconds);

#endif
