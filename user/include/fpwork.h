// SPDX-License-Identifier: MIT
/*
 * fpwork.h - work of which it is known what it must add to the interconnect model's counters, for its self-test.
 *
 * THEORY      Work is done between fpw_begin() and fpw_end(); fpw_right() compares what that added with what it must.
 *             What the two add by themselves is taken off.
 * INVARIANTS  I1  the number of instructions of each piece of work is known, so they are in assembly
 *             I2  work on FPW_BYTES at a multiple of FPW_BYTES has a place of its own in level 1 for each line
 * SEE ALSO    user/bench/fptest.c, docs/fireplane.md
 */
#ifndef FPWORK_H
#define FPWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "fireplane.h"

enum {
    FPW_LINE = 64,   /* bytes: FP_LINE_BYTES of the model */
    FPW_LINES = 512, /* of a piece of memory: it fits into the model's level 1 */
    FPW_BYTES = FPW_LINES * FPW_LINE,
    FPW_SLACK = 32, /* of each counter: what is done around the measured work */
};

/* What is needed of them, read once: text functions would bring much into level 1 between two measurements. */
struct fpw_given {
    uint64_t clock_ps, own_ps, pair_ps, board_ps, expander_ps, remote_ps;
    uint64_t ask_ps;         /* what a load waits for the external cache */
    uint64_t misses, stores; /* in flight */
    uint64_t queue;          /* stores that wait while the CPU goes on; they leave in order */
    uint64_t rate;           /* the least of a CPU's port, the memory and the address bus, MB/s */
    bool reads;              /* a store miss reads its line at once */
    /* -1: on a MaxCPU board; CPUs of a board, without those */
    int seat[FP_MAX_CPUS], seats[FP_MAX_BOARDS];
};
extern struct fpw_given fpw_given;

void fpw_read_params(void);

int fpw_board_of(int cpu);

/*
 * fpw_limits - are the parameters such that what the work must add is known?  If not, fpw_why says which is not.  With
 * a cache of some pages or the slowest wires, what the measuring itself does would be too much of the work.
 */
bool fpw_limits(void);

/* fpw_latency - the mean latency of lines of a board (-1: unknown) for a CPU: the least and the most it may be, ps. */
void fpw_latency(int cpu, int home, uint64_t *least, uint64_t *most);

/* ---- work that is known ---- */

/*
 * fpw_read_lines - a load from each line, five instructions.  None continues a stream of misses, so the CPU waits for
 * each.  fpw_write_lines - a store to each of FPW_LINES lines, four instructions.
 */
void fpw_read_lines(const char *p, size_t lines);
void fpw_write_lines(char *p);

/*
 * On `length` bytes, all of them 0: rep stosq, rep stosb, repe scasb, repe cmpsq (of the halves), rep movsq (the second
 * half to the first), each time round an instruction; stores and loads of 16 bytes, five instructions for 32.
 */
void fpw_store_words(char *p, size_t length);
void fpw_store_bytes(char *p, size_t length);
void fpw_scan_bytes(char *p, size_t length);
void fpw_compare_words(char *p, size_t length);
void fpw_move_half(char *p, size_t length);
void fpw_store_pairs(char *p, size_t length);
void fpw_load_pairs(char *p, size_t length);

/* Two instructions each turn; three, one of them pause. */
void fpw_spin(size_t turns);
void fpw_rest(size_t turns);

/* Blocks of code with accesses to *p, which the plugin counts in different ways (qemu/fireplane/plugin.c). */
void fpw_loads(void *p, size_t turns);
void fpw_stores(void *p, size_t turns);
void fpw_both(void *p, size_t turns);
void fpw_calls(void *p, size_t turns);
void fpw_small(void *p, size_t turns);
void fpw_atomics(void *p, size_t turns);

/* ---- what was counted ---- */

extern struct fp_counts fpw_added; /* between fpw_begin() and fpw_end() */
extern uint64_t fpw_moved; /* then: lines, from and to the CPU's board, by any of its CPUs */
extern struct fp_counts fpw_looking; /* what the two add by themselves */
extern unsigned fpw_delay;           /* turns that fpw_begin() spins first */
extern const char *fpw_doing;        /* the part of the test */
extern char fpw_why[160];            /* what the last thing wrong was */
extern bool fpw_disturbed; /* what was added may be another's: a thread ran meanwhile, or the model
                                        published while we read.  It stays true. */

void fpw_begin(int cpu);
void fpw_end(int cpu);

/* fpw_within, fpw_about - is a count so, or within FPW_SLACK?  If not, fpw_why says so. */
bool fpw_within(const char *what, int cpu, int64_t count, int64_t least, int64_t most);
bool fpw_about(const char *what, int cpu, uint64_t count, uint64_t expected);

/* fpw_waited - did the CPU wait so long?  A few lines of the stack may be among what it waited for. */
bool fpw_waited(int cpu, uint64_t least_ps, uint64_t most_ps);

/*
 * What a piece of work must add.  home: the board of all misses, -1: not known.  A line that misses moves once, as well
 * when it is written whole, which is a miss and a write-back.  The lines of the board's other CPUs are moved as well.
 */
struct fpw_work {
    uint64_t instr, loads, stores, hits, misses, writebacks;
    uint64_t least_ps, most_ps; /* that the CPU waits */
    int home;
};

/* fpw_right - is that what was added? */
bool fpw_right(int cpu, const struct fpw_work *w);

#endif
