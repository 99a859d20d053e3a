// SPDX-License-Identifier: MIT
/*
 * cpc.h - the events of cpustat and cputrack: UltraSPARC III's names, and how they follow from the counters of the
 * interconnect model.
 *
 * SEE ALSO    docs/userland.md, include/uapi/fireplane.h; UltraSPARC III Cu User's Manual, chapter "Performance
 *             Instrumentation"
 */
#ifndef CPC_H
#define CPC_H

#include <stdbool.h>
#include <stdio.h>

#include "fireplane.h"

#define CPC_PICS 2  /* counters that count at the same time */
#define CPC_SETS 32 /* the most -c options */

/* The request of one -c option. */
struct cpc_set {
    int event[CPC_PICS]; /* index of the event; -1: none */
};

/* All -c options; each sample uses the next one in turn. */
struct cpc_sets {
    struct cpc_set set[CPC_SETS];
    int count;
    int pics;    /* columns: the highest pic in use, plus 1 */
    bool cycles; /* -t: a column of cycles before those of the pics */
};

/* cpc_add - adds the argument of a -c option.  Returns 0; -1 after a message that says what is wrong with it. */
int cpc_add(const char *program, struct cpc_sets *sets, const char *spec);

/*
 * cpc_header - prints the names of the columns; cpc_values - prints their values in *c, each with a blank before it.
 * Both end the line.  With several sets the events follow, as a comment.
 */
void cpc_header(FILE *out, const struct cpc_sets *sets);
void cpc_values(FILE *out, const struct cpc_sets *sets, int which, const struct fp_counts *c);

/* cpc_help - prints the list of events, for -h. */
void cpc_help(FILE *out);

/*
 * cpc_start - opens the model and arms it if it is not armed.  Returns 0; -1 after a message.  cpc_arm - arms it again
 * if a program has disarmed it since.  cpc_stop - disarms it if one of these two armed it.
 */
int cpc_start(const char *program);
int cpc_arm(void);
void cpc_stop(void);

/* cpc_difference - sets *d = *a - *b, counter by counter.  cpc_sum - adds *a to *sum. */
void cpc_difference(struct fp_counts *d, const struct fp_counts *a, const struct fp_counts *b);
void cpc_sum(struct fp_counts *sum, const struct fp_counts *a);

/*
 * cpc_now - seconds, on the clock of the lines of SYS_track.  cpc_interval - parses a number of seconds, up to a day.
 * Returns 0 or -1.
 */
double cpc_now(void);
int cpc_interval(const char *text, double *seconds);

#endif
