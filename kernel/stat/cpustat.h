// SPDX-License-Identifier: MIT
/*
 * cpustat.h - the counters of each CPU: the columns of mpstat and vmstat, and events of the dispatcher.
 *
 * LOCKING  A CPU adds only to its own counters, without a lock, whether interrupts are on or off.  Each
 *          addition is one instruction relative to the CPU's GS base, so no interrupt and no thread switch can
 *          happen in the middle.
 */
#ifndef STAT_CPUSTAT_H
#define STAT_CPUSTAT_H

#include "lib/cpu.h"

#define CPU_STATS(X)                                                                               \
    X(minf, "minor faults")                                                                        \
    X(mjf, "major faults")                                                                         \
    X(xcal, "cross-calls sent")                                                                    \
    X(intr, "interrupts taken")                                                                    \
    X(ithr, "interrupts handled as threads")                                                       \
    X(csw, "context switches")                                                                     \
    X(icsw, "involuntary context switches")                                                        \
    X(migr, "threads resumed here that last ran elsewhere")                                        \
    X(smtx, "mutexes not obtained at first try")                                                   \
    X(srw, "rwlocks not obtained at first try")                                                    \
    X(syscl, "system calls")                                                                       \
    X(usr_ticks, "clock ticks in user mode")                                                       \
    X(sys_ticks, "clock ticks in the kernel")                                                      \
    X(wt_ticks, "clock ticks idle with I/O pending")                                               \
    X(idl_ticks, "clock ticks idle")                                                               \
    X(disp_home, "threads dispatched on their home lgroup")                                        \
    X(disp_remote, "threads dispatched elsewhere")                                                 \
    X(steals, "threads stolen from another CPU")                                                   \
    X(pokes, "wake-up interrupts sent")                                                            \
    X(tlb_ipi, "TLB shootdowns received")                                                          \
    X(parks, "halts of a CPU that waits for another's lock or answer")                             \
    X(forks, "processes created")                                                                  \
    X(execs, "programs executed")                                                                  \
    X(zero_pages, "pages zeroed")                                                                  \
    X(cow_faults, "copy-on-write copies")                                                          \
    X(pgrec, "page reclaims: pages found again before they were used otherwise")                   \
    X(pgfrec, "page reclaims from the cache list")                                                 \
    X(pgin, "page-ins: requests")                                                                  \
    X(pgpgin, "pages paged in")                                                                    \
    X(pgout, "page-outs: requests")                                                                \
    X(pgpgout, "pages paged out")                                                                  \
    X(scan, "pages examined by the pageout daemon")                                                \
    X(rev, "revolutions of the pageout daemon's hand")                                             \
    X(dfree, "pages freed by the pageout daemon")                                                  \
    X(execpgin, "pages of executables paged in")                                                   \
    X(execpgout, "pages of executables paged out")                                                 \
    X(execfree, "pages of executables freed")                                                      \
    X(anonpgin, "anonymous pages paged in")                                                        \
    X(anonpgout, "anonymous pages paged out")                                                      \
    X(anonfree, "anonymous pages freed")                                                           \
    X(fspgin, "file pages paged in")                                                               \
    X(fspgout, "file pages paged out")                                                             \
    X(fsfree, "file pages freed")                                                                  \
    X(around_read, "pages read because a fault needed a neighbour")                                \
    X(around_used, "of those, pages touched")                                                      \
    X(around_wasted, "of those, pages freed untouched")

struct cpu_stat {
#define X(name, doc) uint64_t name;
    CPU_STATS(X)
#undef X
};

/* A struct cpu followed by the counters of that CPU.  The CPU's GS base points to this struct. */
struct cpu_counted {
    struct cpu cpu;
    struct cpu_stat stat;
};

#define CPUSTAT_INC(field)                                                                         \
    __asm__ volatile("incq %%gs:%c0" ::"i"(offsetof(struct cpu_counted, stat.field))               \
                     : "memory", "cc")

#define CPUSTAT_ADD(field, n)                                                                      \
    __asm__ volatile("addq %1, %%gs:%c0"                                                           \
                     :                                                                             \
                     : "i"(offsetof(struct cpu_counted, stat.field)), "r"((uint64_t)(n))           \
                     : "memory", "cc")

#endif
