// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fpmachine.h - a machine for the interconnect model, for tests.
 *
 * The test is the host program.  A virtual address is its physical address, QEMU's raw address is RAW above it, and
 * each board has BOARD bytes from board * BOARD on.  A CPU's slice ends when yielded[] is set for it.
 */
#ifndef TESTS_HOST_FPMACHINE_H
#define TESTS_HOST_FPMACHINE_H

#include "model.h"

#define RAW   0x700000000ull
#define BOARD (64ull << 20)
#define LINE  FP_LINE_BYTES
#define NS    1000ull

/* Parameters of all machines; of a mid-range server; of a high-end server. */
extern const char common[], mid[], high[];

extern struct fp_model *m;
extern char page[FP_SHARED_BYTES];
extern unsigned ncpus, nboards;
extern bool yielded[FP_MAX_CPUS];

/*
 * machine - makes a machine of `boards` boards with four CPUs each, probed and armed; `more` replaces parameters ("key
 * = value\n").
 */
void machine(unsigned boards, const char *family, const char *more);
/* probe_board - CPU 0 tells the model again where the board's memory is. */
void probe_board(unsigned board);

uint64_t clock_of(unsigned cpu);
struct fp_counts *n(unsigned cpu);

/* load, store - access eight bytes.  Return how long the CPU takes. */
uint64_t load(unsigned cpu, uint64_t address);
uint64_t load_float(unsigned cpu, uint64_t address); /* of a floating-point register */
uint64_t store(unsigned cpu, uint64_t address);
/* store_line - stores all bytes of a line. */
void store_line(unsigned cpu, uint64_t address);

#endif
