// SPDX-License-Identifier: MIT
/*
 * dispmachine.h - processors that run threads when the test says so, for host tests of disp/.
 *
 * THEORY      intr_poke() only records which CPU was poked, and a CPU looks at its queue when the test calls come().
 *             So a CPU can be late, as virtual CPUs are, and what the others do meanwhile is determined by the test.
 *             The test defines what differs: cpupart_default and disp_cpu_online(), or it links pset.c and cpu.c.
 * INVARIANTS  those that switch_to() of disp/switch.c and disp_idle_loop() of disp/idle.c keep: runpri, idle,
 *             steal_requested, the mask of idle CPUs
 */
#ifndef TESTS_HOST_DISPMACHINE_H
#define TESTS_HOST_DISPMACHINE_H

#include "disp/disp.h"
#include "stat/cpustat.h"

enum { BOARDS = 3, EACH = 4, CPUS = BOARDS * EACH, THREADS_MAX = 100 };

extern struct cpu_counted counted[CPUS];
extern struct disp_cpu disp[CPUS];
extern struct thread idle[CPUS], t[THREADS_MAX];
extern bool poked[CPUS];

#define CPU(i) (&counted[i].cpu)

/* start_as - makes a machine of idle CPUs, all in the default set.  All threads sleep, on no list. */
void start_as(unsigned boards, unsigned each);
/* on - from now on the code runs on CPU `id`. */
void on(unsigned id);
/* run - this CPU runs `next`, which disp_next() has chosen. */
void run(struct thread *next);
/* come - CPU `id` looks at its queue, poked or not.  Returns the thread that it then runs. */
struct thread *come(unsigned id);
/* poked_come - poked CPUs look at their queues, beginning with CPU `first`, until none is poked any more. */
void poked_come(unsigned first);
/*
 * block - the thread of CPU `id` goes to sleep.  Returns the thread that the CPU runs after the idle thread has looked
 * for work.
 */
struct thread *block(unsigned id);
/* wake - an interrupt on CPU `id` wakes the thread. */
void wake(struct thread *th, unsigned id);
/* sleeper - makes thread i sleep, with its home on `board`; it has just run on CPU `last`. */
struct thread *sleeper(unsigned i, unsigned board, unsigned last);

#endif
