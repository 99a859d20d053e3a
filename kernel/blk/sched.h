// SPDX-License-Identifier: MIT
/*
 * sched.h - the order in which a disk's requests are carried out.
 */
#ifndef BLK_SCHED_H
#define BLK_SCHED_H

#include "blk/blk.h"

struct sched {
    struct list fifo;
};

void sched_init(struct sched *s);
void sched_add(struct sched *s, struct blk_req *r);
/* sched_take - the request to be carried out now, taken out of the queue; NULL: none. */
struct blk_req *sched_take(struct sched *s);

#endif
