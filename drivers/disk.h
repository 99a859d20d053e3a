// SPDX-License-Identifier: MIT
/*
 * disk.h - the interface between the block layer and the drivers of disks.
 *
 * THEORY      The block layer manages the queues and the order of requests, but knows no hardware.  A driver
 *             knows only the hardware.
 *             At boot, a driver describes each disk that it finds with a struct disk_dev.  The block layer then
 *             starts commands, at most `depth` at a time.  The driver calls done() once for each command, when
 *             the command has ended.  The disk can carry out commands in any order.  When a flush ends, the
 *             data of all commands that ended before the flush was started is on stable storage.
 * LOCKING     The block layer holds its lock of the disk (RANK_BLK) when it calls start(), so a driver's own
 *             locks have RANK_DRIVER.  The driver calls done() without locks, in interrupt or timer context,
 *             and never from start().
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

struct disk_seg { /* a piece of physical memory */
    paddr_t pa;
    uint32_t len; /* bytes, a multiple of DISK_SECTOR */
};

struct disk_cmd {
    uint8_t op; /* enum disk_op                                     */
    uint64_t sector;
    uint32_t nsect; /* sectors, the sum of the segments                 */
    unsigned nsegs;
    struct disk_seg seg[DISK_MAX_SEGS];
    void (*done)(struct disk_cmd *c, int error); /* 0 or -EIO                   */
    void *arg;        /* private to the block layer                       */
    struct list link; /* private to the driver while the command runs     */
    uint8_t hw[32];   /* private to the driver; the device can read and write it */
} __attribute__((aligned(16)));

struct disk_dev {
    char name[8]; /* "vda"                                                */
    unsigned major, minor;
    uint64_t sectors;
    bool readonly;
    bool cached;                    /* written data is on stable storage only after a flush */
    unsigned depth;                 /* commands that can run at the same time               */
    unsigned max_segs, max_sectors; /* most segments and sectors of one command             */
    void *soft;                     /* private to the driver                                */
    /* Start `c`.  false: there is no room now; try again when a command has ended. */
    bool (*start)(void *soft, struct disk_cmd *c);
    /* Returns the number of errors that the device has reported.  Can be NULL. */
    uint64_t (*hw_errors)(void *soft);
};

/* A driver calls this function for each disk; *d is copied. */
typedef void (*disk_attach_fn)(const struct disk_dev *d);

/* virtio_blk_probe, ide_probe - find the disks of one kind, and call `attach` for each.  Boot thread only. */
void virtio_blk_probe(disk_attach_fn attach);
void ide_probe(disk_attach_fn attach);

#endif
