// SPDX-License-Identifier: MIT
/*
 * blkpriv.h - what the files of this room share.
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
 * What Solaris keeps of a device (kstat_io, <sys/kstat.h>): counts, and for the two queues, of requests that wait and
 * of those that the device has, the time it was not empty and the sum of each moment's length (Riemann sum).  Times in
 * ns.
 */
struct io_stats {
    uint64_t nread, nwritten;              /* bytes                                    */
    uint64_t reads, writes;                /* requests ended                           */
    uint64_t wtime, wlentime, wlastupdate; /* requests that wait                       */
    uint64_t rtime, rlentime, rlastupdate; /* requests at the device                   */
    uint64_t wcnt, rcnt;                   /* how many now                             */
    uint64_t flushes, rmerged, wmerged, rerrors, werrors, ferrors;
    uint64_t rns, wns; /* from submission to the end, sums         */
    uint64_t fns;      /* of flushes, from submission to the end, sum */
    uint64_t rahead,
        raheadmax; /* commands that were begun or under way before a read's: sum, most */
};

/* Lock key: [c] constant once attached  [l] lock */
struct disk {
    struct list link;        /* [c] all disks                                             */
    char name[12];           /* [c]                                                       */
    uint64_t rdev;           /* [c]                                                       */
    struct disk *whole;      /* [c] NULL: this is a whole disk                            */
    uint64_t start;          /* [c] of a partition: its first sector                      */
    uint64_t sectors;        /* [c]                                                       */
    bool readonly;           /* [c]                                                       */
    bool claimed;            /*     claims_lock: disk_claim()                             */
    void *owner;             /*     disk_owner()                                          */
    struct disk_dev dev;     /* [c] the driver's; of whole disks, as all that follows     */
    struct spinlock lock;    /*     RANK_BLK                                              */
    struct sched sched;      /* [l] requests that wait                                    */
    struct list flushes;     /* [l] flushes that wait                                     */
    struct list free;        /* [l] commands that do not run                              */
    unsigned running;        /* [l] commands                                              */
    struct timer again;      /* [l] looks at the queue once more                          */
    struct command *stalled; /* [l] ready to be started, when the driver has room again   */
    struct io_stats stats;   /* [l]                                                       */
    struct kstat kstat;
};

/* blk_open_queue - the queue of a new disk.  0, -ENOMEM. */
int blk_open_queue(struct disk *d);

/* iostat.c: a request joins and leaves the two queues; the lock is held. */
void stats_wait(struct io_stats *s, uint64_t now);
void stats_unwait(struct io_stats *s, uint64_t now);
void stats_run(struct io_stats *s, uint64_t now);
void stats_unrun(struct io_stats *s, uint64_t now);
void stats_register(struct disk *d, unsigned instance);

#endif
