// SPDX-License-Identifier: MIT
/*
 * blkpriv.h - types and functions that only the files of kernel/blk share.
 */
#ifndef BLK_BLKPRIV_H
#define BLK_BLKPRIV_H

#include "blk/blk.h"
#include "blk/iosched.h"
#include "disp/timer.h"
#include "drivers/disk.h"
#include "lib/spinlock.h"
#include "stat/kstat.h"

/*
 * The statistics of a device as Solaris keeps them (kstat_io, <sys/kstat.h>), and some more.  There are two
 * queues: w: requests that wait, r: requests at the device.  For each queue, time is the ns in which it was
 * not empty, and lentime is the integral of its length over time, in requests * ns.
 */
struct io_stats {
    uint64_t nread, nwritten;              /* bytes */
    uint64_t reads, writes;                /* requests that have ended */
    uint64_t wtime, wlentime, wlastupdate; /* requests that wait */
    uint64_t rtime, rlentime, rlastupdate; /* requests at the device */
    uint64_t wcnt, rcnt;                   /* length of the two queues now */
    uint64_t flushes, rmerged, wmerged, rerrors, werrors, ferrors;
    uint64_t rns, wns;          /* ns from submission to the end, summed over the requests */
    uint64_t fns;               /* ns from submission to the end, summed over the flushes */
    uint64_t rahead, raheadmax; /* commands at the device before that of a read: sum, maximum */
};

/* Lock key: [c] constant once attached  [l] lock */
struct disk {
    struct list link;   /* [c] in the list of all disks */
    char name[12];      /* [c] */
    uint64_t rdev;      /* [c] major << 8 | minor */
    struct disk *whole; /* [c] the disk that contains the partition; NULL: this is a whole disk */
    uint64_t start;     /* [c] first sector of a partition */
    uint64_t sectors;   /* [c] */
    bool readonly;      /* [c] */
    bool claimed;       /*     disk_claim() was called; under claims_lock */
    void *owner;        /*     disk_owner() */
    /* [c] the driver's description; this and all fields below: only of whole disks */
    struct disk_dev dev;
    struct spinlock lock;    /*     RANK_BLK */
    struct sched sched;      /* [l] reads and writes that wait */
    struct list flushes;     /* [l] flushes that wait */
    struct list free;        /* [l] commands that are not in use */
    unsigned running;        /* [l] commands in use */
    struct timer again;      /* [l] its function tries to start commands again */
    struct command *stalled; /* [l] command that the driver had no room for; or NULL */
    struct io_stats stats;   /* [l] */
    struct kstat kstat;
};

/* blk_open_queue - prepare the queue and the commands of a new whole disk.  0 or -ENOMEM. */
int blk_open_queue(struct disk *d);

/*
 * iostat.c.  io_waitq_enter, io_waitq_exit - record that a request joins, or leaves, the queue of waiting
 * requests.
 * io_runq_enter, io_runq_exit - record the same for the queue of requests at the device.  The caller holds
 * d->lock.
 * stats_register - create the kstat of disk `d`.
 */
void io_waitq_enter(struct io_stats *s, uint64_t now);
void io_waitq_exit(struct io_stats *s, uint64_t now);
void io_runq_enter(struct io_stats *s, uint64_t now);
void io_runq_exit(struct io_stats *s, uint64_t now);
void stats_register(struct disk *d, unsigned instance);

#endif
