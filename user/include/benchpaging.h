// SPDX-License-Identifier: MIT
/* benchpaging.h - paging of all CPUs and requests to all disks since boot, for benchmarks on files and memory. */
#ifndef BENCHPAGING_H
#define BENCHPAGING_H

/* Counts since boot, in pages unless another unit is named.  The names are those of the CPUs' statistics. */
struct bench_paging {
    unsigned long long pgpgin, pgpgout, scan;
    unsigned long long execpgin, anonpgin, fspgin;
    unsigned long long execpgout, anonpgout, fspgout;
    unsigned long long pgrec; /* reclaims */
    /*
     * Of all disks, as in kstat_io(9S): bytes, requests, and ns times the number of requests that waited and that were
     * at a disk.
     */
    unsigned long long nread, nwritten, reads, writes, wlentime, rlentime;
};

/* bench_paging - reads the counts.  Returns 0; -1 on a system without them (Linux), with all set to 0. */
int bench_paging(struct bench_paging *out);

#endif
