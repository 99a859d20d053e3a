// SPDX-License-Identifier: MIT
/*
 * iosched.h - the scheduling policy of a disk: which request is carried out next.
 */
#ifndef BLK_IOSCHED_H
#define BLK_IOSCHED_H

#include "blk/blk.h"

enum sched_mode { IOSCHED_FIFO, IOSCHED_ELEVATOR, IOSCHED_FAIR, IOSCHED_MODES };

/* Classes of the fair order, the most important one first: real time, best effort, background, idle. */
enum io_class { IO_RT, IO_BE, IO_BACK, IO_IDLE, IO_CLASSES };

/*
 * Indices of the flows of a disk.
 * 0 .. FLOW_RT-1         one process each; a user has at most FLOW_USER of these flows; further
 *                        processes of this user share them
 * FLOW_RT + level        all requests of that level of real time
 * FLOW_BACK, FLOW_IDLE   the background; all requests of class idle
 */
enum {
    FLOW_RT = 64,
    FLOW_USER = FLOW_RT / 4,
    FLOW_BACK = FLOW_RT + IOPRIO_LEVELS,
    FLOW_IDLE,
    SCHED_FLOWS
};

/* A queue of requests that are carried out in sweeps over the disk, each sweep in the order of sectors. */
struct sched_queue {
    struct blk_req *heap;   /* the request with the lowest (pass, sector), or NULL */
    struct list arrived[2]; /* the requests of the heap in the order of arrival: reads, writes */
    unsigned n;             /* requests */
    uint64_t pass;          /* number of the current sweep */
    uint64_t pass_ns;       /* when the current sweep began */
    uint64_t head;          /* the sector after the last request that was taken */
};

/* The requests of one process, of one level of real time, of the background, or of class idle. */
struct sched_flow {
    struct sched_queue q;
    uint8_t cls;        /* enum io_class */
    uint32_t pid, user; /* the process that uses the flow, or used the flow last */
    struct list turn;   /* in sched_line.turns while the flow has requests */
    uint64_t tag;       /* key of the order in sched_line.turns: the lowest tag comes first */
    unsigned stride;    /* each turn adds this number to `tag` */
    unsigned running;   /* commands at the device */
    uint64_t idle_ns; /* when the flow became empty; 0: it has a request, or never had a request */
    /* fraction of the flow's pauses that were short: moving average, 0 .. QUICK_ALL */
    unsigned quick;
};

/* The flows of one class that wait for a turn. */
struct sched_line {
    struct list turns; /* flows that have requests, the lowest tag first */
    uint64_t tag;      /* highest tag of a flow that has had its turn */
    unsigned running;  /* commands at the device */
    uint64_t since_ns; /* when its last command was taken, or when the line was last empty */
    uint64_t above_ns; /* ns for which more important classes have used the disk after since_ns */
};

/*
 * The measured cost of commands: a command of n sectors takes position_ns + n * sector_ns.  This is the
 * least-squares line through the latest commands.  It is computed from moving averages of the sectors (n),
 * the ns (t), n * n and n * t, which are fixed-point numbers with 8 fraction bits.
 */
struct disk_cost {
    uint64_t position_ns, sector_ns; /* 0: not known yet */
    uint64_t n, t, nn, nt;
};

struct sched {
    uint8_t mode;            /* enum sched_mode: the order in which requests are queued now */
    struct list fifo;        /* the queue of IOSCHED_FIFO */
    bool late;               /* elevator: the last command was for a request that had expired */
    uint64_t seq;            /* commands taken so far */
    uint64_t flow_ns;        /* fair: end of the last command of class IO_RT or IO_BE */
    struct sched_flow *last; /* fair: the flow of the command that ended at flow_ns */
    uint64_t done_ns;        /* end of the last command */
    struct disk_cost cost;
    struct sched_flow flow[SCHED_FLOWS]; /* the elevator uses only FLOW_BACK */
    struct sched_line line[IO_CLASSES];
};

/* The requests that become one command. */
struct sched_batch {
    struct list reqs; /* each request begins at the sector where the previous one ends */
    /* most sectors of the command; only a part of a longer request is carried out */
    uint32_t sectors;
    int flow; /* argument of sched_done(); -1: no flow */
};

/* The limits of one command. */
struct sched_room {
    uint32_t sectors;
    unsigned vecs; /* pieces of memory */
};

void sched_init(struct sched *s);
/* The caller of all functions below holds the disk's lock.  `now`: clock_mono_ns(). */
/* sched_add - queue `r`.  The rest of a request that was carried out in part (r->sdone) goes to the front. */
void sched_add(struct sched *s, struct blk_req *r, uint64_t now);
/*
 * sched_take - choose the requests of the next command.  Returns false if none should start now.  In that case,
 * if *again is not UINT64_MAX, the caller must call again at the time *again (ns), even if no request arrives
 * or ends before that time.
 */
bool sched_take(struct sched *s, const struct sched_room *room, uint64_t now,
                struct sched_batch *out, uint64_t *again);
/*
 * sched_done - record the end of a command.  The requests of the command were of `flow`.  The
 * command began at `begun` (ns) and was for `sectors` sectors.  Called before the caller adds the
 * unfinished parts of the command's requests again.
 */
void sched_done(struct sched *s, int flow, uint32_t sectors, uint64_t begun, uint64_t now);

/*
 * sched_hurry - called when process `by` begins to wait for the queued writes, or reads, of `file`
 * (blk_req.file).  Moves those of these requests that are in the background or in class idle to the flow of
 * `by`, unless `by` itself has class idle.
 */
void sched_hurry(struct sched *s, uint64_t file, bool write, struct blk_owner by, uint64_t now);
/* disk_cost_learn - update *c after a command of n > 0 sectors that took `took_ns`.  Pure. */
void disk_cost_learn(struct disk_cost *c, uint32_t n, uint64_t took_ns);

/* Tunables; iosched.c describes them. */
extern unsigned disk_sched, disk_coalesce, disk_read_expire, disk_write_expire, disk_fair_hold,
    disk_fair_starve, disk_fair_turns, disk_fair_linger, disk_fair_sectors, disk_fair_slice,
    disk_fair_idle;

#endif
