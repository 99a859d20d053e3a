// SPDX-License-Identifier: MIT
/*
 * fpwork.h - work that adds known amounts to the counters of the interconnect model, for the model's self-test.
 *
 * THEORY      The test works between fpw_begin() and fpw_end().  fpw_right() compares the added counts with the
 *             expected ones.  What fpw_begin() and fpw_end() add by themselves is subtracted before.
 * INVARIANTS  I1  each piece of work has a known number of instructions, so all are in assembly
 *             I2  work on FPW_BYTES of memory at a multiple of FPW_BYTES has a separate place in level 1 for each line
 * SEE ALSO    user/bench/fptest.c, docs/fireplane.md
 */
#ifndef FPWORK_H
#define FPWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "fireplane.h"

enum {
    FPW_LINE = 64,   /* bytes: FP_LINE_BYTES of the model */
    FPW_LINES = 512, /* of a piece of memory that fits into the model's level 1 */
    FPW_BYTES = FPW_LINES * FPW_LINE,
    FPW_SLACK = 32, /* of each counter: what happens around the measured work may add so much */
};

/*
 * The model's parameters that the test needs.  They are read once, because functions on text would bring much data
 * into level 1 between two measurements.
 */
struct fpw_given {
    uint64_t clock_ps, own_ps, pair_ps, board_ps, expander_ps, remote_ps;
    uint64_t ask_ps;         /* that a load waits for the external cache */
    uint64_t misses, stores; /* that can be in flight */
    uint64_t queue;          /* stores that can wait while the CPU goes on; they leave in order */
    uint64_t rate; /* the lowest rate of a CPU's port, the memory and the address bus, MB/s */
    bool reads;    /* a store that misses reads its line at once */
    /* the CPU's seat on its board, -1 on a MaxCPU board; the number of a board's CPUs with a seat */
    int seat[FP_MAX_CPUS], seats[FP_MAX_BOARDS];
};
extern struct fpw_given fpw_given;

/* Reads fpw_given from the model's parameters. */
void fpw_read_params(void);

int fpw_board_of(int cpu);

/*
 * fpw_limits - whether the parameters are such that the expected counts are known.  If not, fpw_why names the
 * parameter.  With a cache of a few pages, or with very slow wires, the measuring itself would add too much.
 */
bool fpw_limits(void);

/* fpw_latency - sets the bounds, in ps, of the mean latency of lines of a board (-1: unknown) for a CPU. */
void fpw_latency(int cpu, int home, uint64_t *least, uint64_t *most);

/* ---- work whose counts are known ---- */

/*
 * fpw_read_lines - a load from each line, five instructions for each.  None continues a stream of misses, so the CPU
 * waits for each.  fpw_write_lines - a store to each of FPW_LINES lines, four instructions for each.
 */
void fpw_read_lines(const char *p, size_t lines);
void fpw_write_lines(char *p);

/*
 * Work on `length` bytes, all 0: rep stosq, rep stosb, repe scasb, repe cmpsq (compares the halves), rep movsq (copies
 * the second half to the first), where each iteration counts as an instruction; and stores and loads of 16 bytes, five
 * instructions for 32 bytes.
 */
void fpw_store_words(char *p, size_t length);
void fpw_store_bytes(char *p, size_t length);
void fpw_scan_bytes(char *p, size_t length);
void fpw_compare_words(char *p, size_t length);
void fpw_move_half(char *p, size_t length);
void fpw_store_pairs(char *p, size_t length);
void fpw_load_pairs(char *p, size_t length);

/* fpw_spin - two instructions for each turn; fpw_rest - three, one of which is pause. */
void fpw_spin(size_t turns);
void fpw_rest(size_t turns);

/* Blocks of code with accesses to *p that the plugin counts in different ways (qemu/fireplane/plugin.c). */
void fpw_loads(void *p, size_t turns);
void fpw_stores(void *p, size_t turns);
void fpw_both(void *p, size_t turns);
void fpw_calls(void *p, size_t turns);
void fpw_small(void *p, size_t turns);
void fpw_atomics(void *p, size_t turns);

/* ---- counts ---- */

extern struct fp_counts fpw_added; /* what the work added between fpw_begin() and fpw_end() */
/* lines moved in that time from and to the CPU's board, by any of its CPUs */
extern uint64_t fpw_moved;
extern struct fp_counts fpw_looking; /* what fpw_begin() and fpw_end() add by themselves */
extern unsigned fpw_delay;           /* turns for which fpw_begin() spins first */
extern const char *fpw_doing;        /* the name of the current part of the test */
extern char fpw_why[160];            /* the last fault found */
/*
 * The counts may contain those of another thread that ran meanwhile, or the model published during the reading.  Once
 * true, it stays true.
 */
extern bool fpw_disturbed;

void fpw_begin(int cpu);
void fpw_end(int cpu);

/*
 * fpw_within, fpw_about - whether a count is in [least, most], or equal to the expected one up to FPW_SLACK.  If not,
 * fpw_why says so.
 */
bool fpw_within(const char *what, int cpu, int64_t count, int64_t least, int64_t most);
bool fpw_about(const char *what, int cpu, uint64_t count, uint64_t expected);

/* fpw_waited - whether the CPU waited least_ps to most_ps.  It may have waited for a few lines of the stack, too. */
bool fpw_waited(int cpu, uint64_t least_ps, uint64_t most_ps);

/*
 * What a piece of work must add.  home: the board of all misses; -1: unknown.  A line that misses moves once, also
 * when it is written as a whole (a miss and a write-back).  Lines of the other CPUs of the board move, too.
 */
struct fpw_work {
    uint64_t instr, loads, stores, hits, misses, writebacks;
    uint64_t least_ps, most_ps; /* for which the CPU waits */
    int home;
};

/* fpw_right - whether fpw_added is what *w says.  If not, fpw_why says so. */
bool fpw_right(int cpu, const struct fpw_work *w);

#endif
