// SPDX-License-Identifier: MIT
/*
 * benchpaging.h - what the system has paged so far, of all CPUs: for benchmarks on files and memory.
 */
#ifndef BENCHPAGING_H
#define BENCHPAGING_H

/* Counts since boot, in pages unless said otherwise; the names are those of the CPUs' statistics. */
struct bench_paging {
    unsigned long long pgpgin, pgpgout, scan;
    unsigned long long execpgin, anonpgin, fspgin;
    unsigned long long execpgout, anonpgout, fspgout;
    unsigned long long pgrec; /* reclaims */
};

/* bench_paging - read them now.  0; -1, with all of them 0, on a system that does not count (Linux). */
int bench_paging(struct bench_paging *out);

#endif
