// SPDX-License-Identifier: MIT
/*
 * promise.h - private to lgrp/: the expected load of threads that are too young to appear in an average, and
 * the functions that promises and averages need from each other.
 *
 * LOCKING     The caller holds cpupart_lock, as in load.h.
 */
#ifndef LGRP_PROMISE_H
#define LGRP_PROMISE_H

#include "lgrp/load.h"

enum { AVG_FULL = 65536 }; /* lpl.avg of an lgroup whose every CPU has one runnable thread */

/* promise_creation - called when thread `creator` of process `p` creates another thread of p, in `part`. */
void promise_creation(struct lgrp_part *part, struct lgrp_proc *p, struct lgrp_thread *creator);
/*
 * promise_load - add the promise for `t`, which has just got its home.  If its process creates threads in its
 * partition, hold t; otherwise charge it as a single arrival.
 * promise_take_back - end the promise for `t`, which leaves its home.
 */
void promise_load(struct lgrp_thread *t);
void promise_take_back(struct lgrp_thread *t, uint64_t now_ns);
/* promises_expire - end the creations whose last thread is more than lgrp_create_hold updates old. */
void promises_expire(struct lgrp_part *part);

/* ---- load.c ---- */
/*
 * lgrp_threads_seen - number of threads that seem to run in `lgrp`, minus `excluded` threads that are counted
 * elsewhere.
 */
uint16_t lgrp_threads_seen(const struct lgrp_part *part, unsigned lgrp, unsigned excluded);
/* lpl_load_of_halves - the load of `halves` half threads, in units of LGRP_LOAD_FULL. */
uint32_t lpl_load_of_halves(const struct lpl *l, uint64_t halves);

#endif
