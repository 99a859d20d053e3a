// SPDX-License-Identifier: MIT
/*
 * disk.h - what the block layer and a driver of disks see of each other.
 *
 * THEORY      A driver tells of each disk it finds by struct disk_dev, once, at boot.  The block layer then starts
 *             commands, at most `depth` at a time, and the driver ends each by calling its done(), once.
 *             Commands may be carried out in any order.  A flush ends when all that ended before it was started is on
 *             stable storage.
 * LOCKING     start() is called with the block layer's lock of the disk held (RANK_BLK): a driver's own locks have
 *             RANK_DRIVER.  done() is called with no lock held, in interrupt context, and never from within start().
 * SEE ALSO    kernel/blk/blk.h
 */
#ifndef DRIVERS_DISK_H
#define DRIVERS_DISK_H

#include "lib/list.h"
#include "lib/types.h"
#include "x86/layout.h"

#define DISK_SECTOR   512
#define DISK_MAX_SEGS 64

enum disk_op { DISK_READ, DISK_WRITE, DISK_FLUSH };

struct disk_seg { /* memory, a multiple of DISK_SECTOR */
    paddr_t pa;
    uint32_t len;
};

struct disk_cmd {
    uint8_t op; /* enum disk_op                                     */
    uint64_t sector;
    uint32_t nsect; /* sum of the segments                              */
    unsigned nsegs;
    struct disk_seg seg[DISK_MAX_SEGS];
    void (*done)(struct disk_cmd *c, int error); /* 0 or -EIO                   */
    void *arg;        /* the block layer's                                */
    struct list link; /* the driver's while the command runs              */
    uint8_t hw[32];   /* the driver's, for the device to read and write   */
} __attribute__((aligned(16)));

struct disk_dev {
    char name[8]; /* "vda"                                                */
    unsigned major, minor;
    uint64_t sectors;
    bool readonly;
    bool cached;                    /* writes are safe only after a flush                   */
    unsigned depth;                 /* commands at a time                                   */
    unsigned max_segs, max_sectors; /* of one command                           */
    void *soft;                     /* the driver's own                                     */
    /* Start `c`.  false: no room now; there will be when a command ends. */
    bool (*start)(void *soft, struct disk_cmd *c);
    uint64_t (*hw_errors)(
        void *soft); /* errors that the device reported, by the driver's count; may be NULL */
};

/* What the drivers call for each disk; *d is copied. */
typedef void (*disk_attach_fn)(const struct disk_dev *d);

/* virtio_blk_probe, ide_probe - find disks.  Boot thread. */
void virtio_blk_probe(disk_attach_fn attach);
void ide_probe(disk_attach_fn attach);

#endif
