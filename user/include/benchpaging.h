// SPDX-License-Identifier: MIT
/*
 * benchpaging.h - what the system has paged so far, of all CPUs, and what its disks did: for benchmarks on files
 *                 and memory.
 */
#ifndef BENCHPAGING_H
#define BENCHPAGING_H

/* Counts since boot, in pages unless said otherwise; the names are those of the CPUs' statistics. */
struct bench_paging {
    unsigned long long pgpgin, pgpgout, scan;
    unsigned long long execpgin, anonpgin, fspgin;
    unsigned long long execpgout, anonpgout, fspgout;
    unsigned long long pgrec; /* reclaims */
    /* Of all disks, as kstat_io(9S) has it: bytes, requests, and ns times requests that waited and that disks had. */
    unsigned long long nread, nwritten, reads, writes, wlentime, rlentime;
};

/* bench_paging - read them now.  0; -1, with all of them 0, on a system that does not count (Linux). */
int bench_paging(struct bench_paging *out);

#endif
