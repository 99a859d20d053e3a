// SPDX-License-Identifier: MIT
/*
 * sched.c - see sched.h.
 */
#include "blk/sched.h"

void sched_init(struct sched *s)
{
    list_init(&s->fifo);
}

void sched_add(struct sched *s, struct blk_req *r)
{
    list_push_back(&s->fifo, &r->link);
}

struct blk_req *sched_take(struct sched *s)
{
    return list_pop(&s->fifo, struct blk_req, link);
}
