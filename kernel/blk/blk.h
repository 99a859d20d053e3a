// SPDX-License-Identifier: MIT
/*
 * blk.h - the block layer: disks and the requests to read and write them.
 *
 * THEORY      A disk is an array of sectors of 512 bytes.  File systems and swapping do not talk to
 *             the driver of the disk.  They submit requests here, and the block layer chooses the
 *             order in which the disk carries them out.  A request transfers consecutive sectors
 *             from or to pieces of page frames.  It also names the file and the process for which
 *             it is made.  Requests wait in the disk's queue until the driver has room for them;
 *             the tunable disk_sched selects the order of the queue (iosched.c).
 *             A partition is also a struct disk.  The start of the partition is added to the sector of its
 *             requests, and the requests go into the queue of the whole disk.
 * INVARIANTS  I1  done() is called exactly once for each submitted request, with `error` (0 or -EIO) and
 *                 `bad` set
 *             I2  when a BLK_FLUSH ends, every write whose done() was called before the flush was submitted
 *                 is on stable storage
 * LOCKING     Each whole disk has a lock (RANK_BLK).  done() is called without locks, in interrupt context or
 *             in the context of the submitter.
 */
#ifndef BLK_BLK_H
#define BLK_BLK_H

#include "lib/list.h"
#include "lib/types.h"
#include "mem/page.h"

#define SECTOR_SIZE  512
#define BLK_MAX_VECS 64 /* most pieces of one request: 256 KiB if each piece is a page */

struct disk;

enum blk_op { BLK_READ, BLK_WRITE, BLK_FLUSH };

/*
 * The priority of a request, in the format of ioprio_set(2): a class, and within the class a level from 0
 * (served first) to 7.  Requests of the kernel have the value 0, which counts as best effort, level
 * IOPRIO_NORMAL.
 */
enum { IOPRIO_NONE, IOPRIO_RT, IOPRIO_BE, IOPRIO_IDLE };
enum { IOPRIO_SHIFT = 13, IOPRIO_LEVELS = 8, IOPRIO_NORMAL = 4 };
#define IOPRIO(cls, level) ((uint16_t)((cls) << IOPRIO_SHIFT | (level)))

struct blk_owner {
    uint32_t pid;  /* process id; 0: the kernel */
    uint16_t prio; /* IOPRIO() */
    uint32_t user; /* real user id */
};

/* A piece of memory: `len` bytes from byte `off` of frame `pg`; it can extend over the frames that follow. */
struct blk_vec {
    struct page *pg;
    uint32_t off, len; /* bytes, multiples of SECTOR_SIZE */
};

/* The submitter fills in the fields up to `arg`.  All others belong to the block layer until done(). */
struct blk_req {
    struct disk *disk;
    uint8_t op;      /* enum blk_op */
    bool sync;       /* a thread waits for the request */
    uint64_t sector; /* first sector, counted from the start of `disk` */
    uint32_t nsect;  /* sectors, the sum of the pieces; 0 for a flush */
    unsigned nvecs;
    const struct blk_vec *vec; /* the pieces; must stay in memory until done() */
    uint64_t file;             /* identifies the file to which the data belongs; 0: no file */
    /* the process that needs the request: blk_current_owner(); zero: the kernel */
    struct blk_owner by;
    void (*done)(struct blk_req *r);
    void *arg;        /* for the use of the submitter */
    int error;        /* result: 0 or -EIO */
    uint64_t bad;     /* result: bit i is set if piece i was not transferred */
    struct list link; /* in the queue, later in a command */
    uint64_t submitted_ns;
    uint64_t lba;   /* first sector, counted from the start of the whole disk */
    uint32_t sdone; /* sectors that are finished, from the first on */
    bool alone;     /* never merge the request again: a command that contained it has failed */
    bool split;     /* send one piece at a time, because the whole request has failed */
    struct blk_req *child, *next, *prev; /* links of the heap of waiting requests: iosched.c */
    uint64_t pass;                       /* number of the sweep that will carry out the request */
    uint64_t seq; /* commands that had ended when the request was submitted */
};

/*
 * disk_find - find a disk by its name ("vda", "vda1", "hda").  disk_by_dev - find a disk by its
 * device number.
 * Both return NULL if there is none.  A struct disk is never freed.
 */
struct disk *disk_find(const char *name);
struct disk *disk_by_dev(uint64_t rdev);
/*
 * disk_next - the disk after `d`; NULL after the last.  If `d` is NULL, the first disk.  Partitions
 * follow their disk.
 */
struct disk *disk_next(struct disk *d);
const char *disk_name(const struct disk *d);
uint64_t disk_dev(const struct disk *d); /* major << 8 | minor */
uint64_t disk_sectors(const struct disk *d);
/* disk_start - the first sector of a partition on its disk; 0 for a whole disk. */
uint64_t disk_start(const struct disk *d);
bool disk_readonly(const struct disk *d);
/* disk_whole - the whole disk to which a partition belongs; `d` itself if it is a whole disk. */
struct disk *disk_whole(struct disk *d);

/*
 * disk_claim - reserve a disk or a partition for one mounted file system or swap area.  Programs can still open
 *              the device.  0, or -EBUSY: the device itself, its whole disk, or one of its
 *              partitions is already claimed.
 * disk_release - end the claim.  Both take claims_lock (RANK_BLK) and do not sleep.
 */
int disk_claim(struct disk *d);
void disk_release(struct disk *d);

/* disk_owner, disk_set_owner - a pointer that the file system layer stores with the disk; NULL at first. */
void *disk_owner(const struct disk *d);
void disk_set_owner(struct disk *d, void *owner);

/*
 * blk_submit - queue a request.  Takes the disk's lock, does not sleep.  An invalid request (beyond the end
 *              of the disk, or a write to a read-only disk) ends with -EIO before the call returns.
 * blk_hurry - called when the running process begins to wait for the queued writes, or reads, of `file`
 *             (blk_req.file).  The function gives these requests the priority of that process.
 *             Takes the disk's lock, does not sleep.
 */
void blk_submit(struct blk_req *r);
void blk_hurry(struct disk *d, uint64_t file, bool write);
/*
 * blk_rw - move `len` bytes between the disk and memory of the kernel's direct map, and wait for the end.
 *          `len` is a multiple of SECTOR_SIZE and at most BLK_MAX_VECS pages; `buf` must not lie on a stack.
 * blk_flush - wait until all earlier writes are on stable storage.
 * Both return 0 or -EIO.
 */
int blk_rw(struct disk *d, enum blk_op op, uint64_t sector, void *buf, size_t len);
int blk_flush(struct disk *d);

/*
 * blk_use_kernel_pri - with `on`, the disk requests of the running thread serve all processes (metadata, a
 *             commit), so blk_current_owner() gives these requests the priority of the kernel.  Returns the old
 *             setting, which the caller must restore.  Takes no locks.
 */
bool blk_use_kernel_pri(bool on);

/*
 * disk_read_stats - the counters of a whole disk since boot.  Takes the disk's lock.
 * reads, writes, flushes: requests.  nread, nwritten: bytes.  rns, wns, flush_ns: ns from submission to the
 * end, summed over the requests.  inflight: requests that wait or run now.  busy_ns: ns in which the disk had
 * a request.
 */
struct disk_counts {
    uint64_t reads, writes, reads_merged, writes_merged, nread, nwritten, rns, wns, inflight,
        busy_ns, flushes, flush_ns;
};
void disk_read_stats(struct disk *d, struct disk_counts *out);

/*
 * disk_seek_blocks - how many blocks of `sectors` sectors the disk transfers in the time that it needs to reach one
 *              (around.h); DISK_SEEK_BLOCKS until this time has been measured.  Takes no locks, because the
 *              result is an estimate.
 */
uint32_t disk_seek_blocks(struct disk *d, uint32_t sectors);
#define DISK_SEEK_BLOCKS 8u

/*
 * disks_report - print the disks that have waiting or running requests, after the machine has hung.  Takes no
 *                locks, because the thread that hangs may hold one.
 * disks_init - find all disks and read their partition tables.  Called in the boot thread.
 */
void disks_report(void);
void disks_init(void);

/* ---- implemented by proc/ ---- */
/*
 * blk_current_owner - the running process and its priority, for blk_req.by; zero in a kernel thread.  Takes no
 * locks.
 */
struct blk_owner blk_current_owner(void);

#endif
