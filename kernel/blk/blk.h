// SPDX-License-Identifier: MIT
/*
 * blk.h - disks: requests, their queue, their order.
 *
 * THEORY      A disk is an array of sectors of 512 bytes.  A request moves consecutive sectors from or to pieces of
 *             page frames and says for which file and process it does so.  Requests wait in the disk's queue, in an
 *             order that the tunable disk_sched names (iosched.c), until the driver has room for them.  A partition is a
 *             disk whose requests are shifted and passed on.
 * INVARIANTS  I1  done() is called exactly once for each submitted request, with `error` (0 or -EIO) and `bad` set
 *             I2  a BLK_FLUSH ends after all whose done() was called before it was submitted is on stable storage
 * LOCKING     the disk's lock (RANK_BLK); done() is called with no lock held, in interrupt context or the submitter's
 */
#ifndef BLK_BLK_H
#define BLK_BLK_H

#include "lib/list.h"
#include "lib/types.h"
#include "mem/page.h"

#define SECTOR_SIZE  512
#define BLK_MAX_VECS 64 /* pieces of a request: 256 KiB in whole pages */

struct disk;

enum blk_op { BLK_READ, BLK_WRITE, BLK_FLUSH };

/*
 * Priorities of requests as ioprio_set(2) has them: a class, and within it a level, 0 (first) to 7.  0: the kernel's,
 * which count as best effort, level IOPRIO_NORMAL.
 */
enum { IOPRIO_NONE, IOPRIO_RT, IOPRIO_BE, IOPRIO_IDLE };
enum { IOPRIO_SHIFT = 13, IOPRIO_LEVELS = 8, IOPRIO_NORMAL = 4 };
#define IOPRIO(cls, level) ((uint16_t)((cls) << IOPRIO_SHIFT | (level)))

struct blk_owner {
    uint32_t pid;  /* the process, 0: the kernel */
    uint16_t prio; /* IOPRIO()                   */
    uint32_t user; /* real user id               */
};

struct
    blk_vec { /* `len` bytes at byte `off` of a frame, or of consecutive frames; multiples of SECTOR_SIZE */
    struct page *pg;
    uint32_t off, len;
};

struct blk_req {
    struct disk *disk;
    uint8_t op;      /* enum blk_op                                         */
    bool sync;       /* a thread waits for it                               */
    uint64_t sector; /* from the start of `disk`                            */
    uint32_t nsect;  /* sum of the pieces; 0 for a flush                    */
    unsigned nvecs;
    const struct blk_vec *vec; /* stays until done()                                  */
    uint64_t file;             /* identity of the file it serves, 0: none             */
    struct blk_owner by;       /* for whom: blk_owner(); zero: the kernel             */
    void (*done)(struct blk_req *r);
    void *arg;        /* the submitter's                                     */
    int error;        /* when done: 0 or -EIO                                */
    uint64_t bad;     /* when done: bit i: piece i is not done               */
    struct list link; /* the block layer's, from here on                     */
    uint64_t submitted_ns;
    uint64_t lba;   /* from the start of the whole disk                    */
    uint32_t sdone; /* sectors done                                        */
    bool alone;     /* not to be merged: it was part of a command that failed */
    bool split;     /* piece by piece: it failed as a whole                */
    struct blk_req *child, *next, *prev; /* in the heap of the requests that wait: iosched.c */
    uint64_t pass;                       /* the sweep that will carry it out                    */
    uint64_t seq;                        /* commands that had ended when it was submitted       */
};

/*
 * disk_find - by name ("vda", "vda1", "hda"); disk_by_dev - by device number.  NULL: there is none.  Disks live for
 * ever.
 */
struct disk *disk_find(const char *name);
struct disk *disk_by_dev(uint64_t rdev);
/* disk_next - all disks, each followed by its partitions: NULL gives the first; NULL after the last. */
struct disk *disk_next(struct disk *d);
const char *disk_name(const struct disk *d);
uint64_t disk_dev(const struct disk *d); /* major << 8 | minor */
uint64_t disk_sectors(const struct disk *d);
uint64_t
disk_start(const struct disk *d); /* of a partition: its first sector; 0 for a whole disk */
bool disk_readonly(const struct disk *d);
struct disk *
disk_whole(struct disk *d); /* the disk a partition is part of; itself for a whole one */

/*
 * disk_claim - take a disk or partition for a mounted file system or a swap area, which nothing else may write.
 *              0;  -EBUSY if it is taken, or the whole disk that it is part of, or one of its partitions.
 * disk_release - give back what disk_claim() took.  Both take claims_lock (RANK_BLK) and do not sleep.
 */
int disk_claim(struct disk *d);
void disk_release(struct disk *d);

/* disk_owner, disk_set_owner - what the file system layer keeps with the disk; NULL at first. */
void *disk_owner(const struct disk *d);
void disk_set_owner(struct disk *d, void *owner);

/* blk_submit - queue a request.  Does not sleep; a request beyond the end of the disk ends with -EIO. */
void blk_submit(struct blk_req *r);
/* blk_hurry - the running process begins to wait for what is written, or read, of `file` (blk_req.file).  No sleep. */
void blk_hurry(struct disk *d, uint64_t file, bool write);
/*
 * blk_rw - move `len` bytes (a multiple of SECTOR_SIZE, at most BLK_MAX_VECS pages) between memory of the kernel's
 *          direct map and the disk, and wait.  blk_flush - wait until what was written is on stable storage.  0, -EIO.
 */
int blk_rw(struct disk *d, enum blk_op op, uint64_t sector, void *buf, size_t len);
int blk_flush(struct disk *d);

/*
 * blk_owner - the process that runs and its priority, for blk_req.by; zero in the kernel's own threads.  proc fills in
 *             the call-up.  Takes no lock.
 */
extern struct blk_owner (*blk_owner_upcall)(void);
static inline struct blk_owner blk_owner(void)
{
    return blk_owner_upcall != NULL ? blk_owner_upcall() : (struct blk_owner){0};
}
/*
 * blk_share - on: what the running thread asks of disks is for everybody (metadata, a commit), and blk_owner() gives
 *             the kernel's priority.  Returns what it was, to be set again afterwards.  Takes no lock.
 */
bool blk_share(bool on);

/* disk_count - what was counted of a whole disk since boot: requests, bytes, ns from submission to end, errors. */
struct disk_counts {
    uint64_t reads, writes, reads_merged, writes_merged, nread, nwritten, rns, wns, inflight,
        busy_ns, flushes, flush_ns;
};
void disk_count(struct disk *d, struct disk_counts *out);

/*
 * disk_worth - blocks of `sectors` that a disk transfers in the time that it needs to reach one (around.h); DISK_WORTH
 * while that is not known.  No lock: a guess.
 */
uint32_t disk_worth(struct disk *d, uint32_t sectors);
#define DISK_WORTH 8u

/* disks_report - print which disks have something to do.  Takes no lock: for the end of a machine that hangs. */
void disks_report(void);
/* disks_init - find all disks and their partitions.  Boot thread: reads from them. */
void disks_init(void);

#endif
