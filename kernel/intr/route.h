// SPDX-License-Identifier: MIT
/*
 * route.h - on which CPU a device interrupt is to arrive: pure policy.
 *
 * THEORY      An interrupt arrives where its driver wants it (the board of its queue, say), as long as that CPU takes
 *             interrupts.  Else the CPUs that may take it are searched level by level of distance from there; the
 *             nearest level that has any gives the one at which the fewest interrupts arrive.  An interrupt that is
 *             wanted nowhere in particular sees the whole machine as one level.  Among equals it is the next one after
 *             the wanted CPU, going round, so that what leaves one CPU is spread.
 * LOCKING     none
 * SEE ALSO    kernel/intr/intr.c (who calls it), docs/psets.md, tests/host/test_route.c
 */
#ifndef INTR_ROUTE_H
#define INTR_ROUTE_H

#include "lgrp/lgrp.h"
#include "lib/cpumask.h"

struct intr_route {
    const struct lgrp_topo *topo;
    const struct cpumask *cand; /* CPUs that take interrupts and that this one may arrive at */
    const uint16_t *narrive;    /* by CPU id: interrupts that arrive there                   */
    unsigned wanted;            /* CPU; CPU_MAX: none in particular                          */
};

/* intr_route - the CPU; CPU_MAX when `cand` is empty. */
unsigned intr_route(const struct intr_route *r);

#endif
