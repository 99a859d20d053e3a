// SPDX-License-Identifier: MIT
/*
 * iosched.h - the order in which a disk's requests are carried out.
 */
#ifndef BLK_IOSCHED_H
#define BLK_IOSCHED_H

#include "blk/blk.h"

enum sched_mode { SCHED_FIFO, SCHED_ELEVATOR, SCHED_FAIR, SCHED_MODES };

/* Classes of the fair order, each before the next. */
enum io_class { IO_RT, IO_BE, IO_BACK, IO_IDLE, IO_CLASSES };

/*
 * Flows: of FLOW_RT processes at a time that are told apart, FLOW_USER of each user (with more, some share one); of
 * others.
 */
enum {
    FLOW_RT = 64,
    FLOW_USER = FLOW_RT / 4,
    FLOW_BACK = FLOW_RT + IOPRIO_LEVELS,
    FLOW_IDLE,
    SCHED_FLOWS
};

/* Requests that are carried out in sweeps. */
struct sched_queue {
    struct blk_req *heap;   /* the lowest (pass, lba) first                               */
    struct list arrived[2]; /* the same in the order of their arrival: reads, writes      */
    unsigned n;
    uint64_t pass;    /* the sweep that goes on                                     */
    uint64_t pass_ns; /* since when                                                 */
    uint64_t head;    /* the sector behind the last one of it that was begun        */
};

struct sched_flow {
    struct sched_queue q;
    uint8_t cls;        /* enum io_class                                       */
    uint32_t pid, user; /* whose it is, or was                                */
    struct list turn;   /* link of sched_line.turns while it has requests         */
    uint64_t tag;       /* its place there: the lowest comes first                */
    unsigned stride;    /* what a turn adds to the tag                            */
    unsigned running;   /* commands                                               */
    uint64_t idle_ns;   /* since when it has had none; 0: it has                  */
    unsigned quick;     /* how many of its pauses are short: moving average, of QUICK_ALL */
};

struct sched_line {    /* of a class */
    struct list turns; /* flows that have requests, the lowest tag first         */
    uint64_t tag;      /* the highest of a flow that had its turn                */
    unsigned running;  /* commands                                               */
    uint64_t since_ns; /* when one was last taken, or it was empty               */
    uint64_t above_ns; /* what the classes before it had of the disk since, while it waited */
};

/*
 * What commands take: position_ns, and sector_ns for each sector.  The line of least squares through the latest, from
 * moving averages of sectors (n), time (t), n * n and n * t, with 8 bits behind the point.
 */
struct disk_cost {
    uint64_t position_ns, sector_ns; /* 0: not known yet */
    uint64_t n, t, nn, nt;
};

struct sched {
    uint8_t mode;            /* enum sched_mode that the queues are in                           */
    struct list fifo;        /* SCHED_FIFO                                                       */
    bool late;               /* elevator: the last command was one that had waited too long      */
    uint64_t seq;            /* commands taken                                                   */
    uint64_t flow_ns;        /* fair: when a command that a process waited for last ended        */
    struct sched_flow *last; /* fair: whose                                                      */
    uint64_t done_ns;        /* when a command last ended                                        */
    struct disk_cost cost;
    struct sched_flow
        flow[SCHED_FLOWS]; /* elevator: all is in that of the background               */
    struct sched_line line[IO_CLASSES];
};

/* What is to become one command. */
struct sched_batch {
    struct list reqs; /* each begins where the one before it ends */
    uint32_t sectors; /* at most so many of them                  */
    int flow;         /* for sched_done(); -1: none               */
};

/* What a command may carry at most. */
struct sched_room {
    uint32_t sectors;
    unsigned vecs;
};

void sched_init(struct sched *s);
/* sched_add - queue `r`; if it was carried out in part (r->sdone), its rest, before all others of its kind. */
void sched_add(struct sched *s, struct blk_req *r, uint64_t now);
/*
 * sched_take - what to carry out now.  false: nothing; if *again is not UINT64_MAX, something may be taken then even if
 * nothing happens.
 */
bool sched_take(struct sched *s, const struct sched_room *room, uint64_t now,
                struct sched_batch *out, uint64_t *again);
/*
 * sched_done - a command has ended that was made of a batch of `flow`, begun at `begun` and moved `sectors`; before the
 * rest of it is added again.
 */
void sched_done(struct sched *s, int flow, uint32_t sectors, uint64_t begun, uint64_t now);

/*
 * sched_hurry - `by` begins to wait for what is to be written, or read, of `file` (blk_req.file): what of it is in the
 * background or idle is its own from now on, unless `by` is idle itself.
 */
void sched_hurry(struct sched *s, uint64_t file, bool write, struct blk_owner by, uint64_t now);
/* disk_cost_learn - a command of n > 0 sectors took so long.  Pure. */
void disk_cost_learn(struct disk_cost *c, uint32_t n, uint64_t took_ns);

/* Tunables; iosched.c describes them. */
extern unsigned disk_sched, disk_coalesce, disk_read_expire, disk_write_expire, disk_fair_hold,
    disk_fair_starve, disk_fair_turns, disk_fair_linger, disk_fair_sectors, disk_fair_slice,
    disk_fair_idle;

#endif
