// SPDX-License-Identifier: MIT
/*
 * throttle.h - when a writer must wait for the disk: two independent rules.
 *
 * THEORY      A program can write to memory much faster than a disk can store the data.  Without a limit,
 *             one writer could fill the disk's queue, and other programs would wait long.  So a writer
 *             sleeps while too much data of its file is in flight to the disk.  There are two rules; each can
 *             be off.
 *             The write throttle of UFS counts, for each file, the bytes of in-flight writes: passed to the
 *             disk and not finished.  A write(2) that finds more than ufs_HW bytes sleeps.  When the count
 *             falls to ufs_LW bytes, all sleepers wake up and test again.  Pages that are only dirty do not
 *             count.
 *             AIX's disk I/O pacing counts pages: a write that finds maxpout pages or more in flight sleeps
 *             until minpout or fewer are left.
 *             Both are tested once per write(2), before any byte is copied, so one write can exceed the limit.
 * SOURCES     Solaris 8: defaults 384 KiB and 256 KiB (Solaris Tunable Parameters Reference); the rule as in
 *             ufs_rdwr and ufs_iodone.  AIX Performance Tuning Guide, "Disk-I/O Pacing".
 * LOCKING     These are pure functions; the caller provides the lock.
 * SEE ALSO    docs/pagecache.md, tests/host/test_cluster.c
 */
#ifndef PAGES_THROTTLE_H
#define PAGES_THROTTLE_H

#include "lib/types.h"

/* The values in force.  They can change at any time, so each write(2) reads them again. */
struct throttle {
    bool on;         /* ufs_WRITES */
    uint64_t hw, lw; /* bytes      */
};

/* throttle_blocks - whether a write must wait while `bytes` bytes of the file are in flight. */
bool throttle_blocks(const struct throttle *t, uint64_t bytes);
/* throttle_wakes - whether the sleepers must wake up when the count falls from `before` to `after` bytes. */
bool throttle_wakes(const struct throttle *t, uint64_t before, uint64_t after);

struct pacing {
    uint64_t maxpout, minpout; /* pages; maxpout 0: off */
};

/* pacing_blocks, pacing_wakes - the same rules for pages; `pages` pages of the file are in flight now. */
bool pacing_blocks(const struct pacing *p, uint64_t pages);
bool pacing_wakes(const struct pacing *p, uint64_t pages);

#endif
