// SPDX-License-Identifier: MIT
/*
 * sched.h - the order in which a disk's requests are carried out.
 */
#ifndef BLK_SCHED_H
#define BLK_SCHED_H

#include "blk/blk.h"

enum sched_mode { SCHED_FIFO, SCHED_ELEVATOR, SCHED_FAIR, SCHED_MODES };

#define SCHED_FLOWS 64 /* processes told apart; those whose numbers are equal modulo this share */

struct sched_flow { /* of one process: requests it waits for */
    struct list reqs;
    struct list turn;     /* link of sched.turns while reqs is not empty            */
    unsigned    running;  /* commands                                               */
    uint64_t    idle_ns;  /* since when it has had none, if it is quick             */
    bool        quick;    /* its last pause was shorter than what is waited for it  */
};

struct sched {
    uint8_t           mode;      /* enum sched_mode that the queues are in                           */
    struct list       fifo;      /* SCHED_FIFO                                                       */
    struct blk_req   *heap;      /* the others: the lowest (pass, lba) first                         */
    uint64_t          pass;      /* elevator: the sweep that goes on                                 */
    uint64_t          head;      /* the sector behind the last one that was begun                    */
    uint64_t          seq;       /* commands taken                                                   */
    unsigned          nback;     /* fair: requests in the heap                                       */
    unsigned          running_back; /* fair: commands                                                */
    uint64_t          back_ns;   /* fair: when one of the heap was last taken, or the heap was empty */
    unsigned          turns_since_back; /* fair: commands of flows meanwhile, that the heap had to wait for */
    unsigned          running_flows; /* fair: commands                                               */
    uint64_t          flow_ns;   /* fair: when a command of a flow last ended                        */
    struct sched_flow *last;     /* fair: whose                                                      */
    uint64_t          done_ns;   /* when a command last ended                                        */
    uint64_t          service_ns; /* what a command takes, moving average; 0: not known yet          */
    uint64_t          sector_ns; /* and what it takes for each sector                                */
    struct sched_flow flow[SCHED_FLOWS];
    struct list       turns;
};

/* What is to become one command. */
struct sched_batch {
    struct list reqs;    /* each begins where the one before it ends */
    uint32_t    sectors; /* at most so many of them                  */
    int         flow;    /* for sched_done(); -1: none               */
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
bool sched_take(struct sched *s, const struct sched_room *room, uint64_t now, struct sched_batch *out,
                uint64_t *again);
/*
 * sched_done - a command has ended that was made of a batch of `flow`, begun at `begun` and moved `sectors`; before the
 * rest of it is added again.
 */
void sched_done(struct sched *s, int flow, uint32_t sectors, uint64_t begun, uint64_t now);

/* Tunables; sched.c describes them. */
extern unsigned disk_sched, disk_coalesce, disk_fair_hold, disk_fair_starve, disk_fair_turns, disk_fair_linger,
    disk_fair_sectors, disk_fair_slice;

#endif
