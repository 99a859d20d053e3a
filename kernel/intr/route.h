// SPDX-License-Identifier: MIT
/*
 * route.h - on which CPU a device interrupt arrives: pure policy.
 *
 * THEORY      A driver may want its interrupt on a certain CPU, for example on the board that uses the queue
 *             of the device.  The interrupt arrives there, if that CPU takes interrupts.  Otherwise the CPUs
 *             that can take it are searched level by level, by distance from the wanted CPU.  On the nearest
 *             level that has such a CPU, the one with the fewest interrupts is chosen.  Among equals it is the
 *             first after the wanted CPU, wrapping around.  So the interrupts that leave one CPU are spread
 *             over several CPUs.  For an interrupt without a wanted CPU, the whole machine is one level.
 * LOCKING     There are no locks: the function uses only its arguments.
 * SEE ALSO    kernel/intr/intr.c (the caller), docs/psets.md, tests/host/test_route.c
 */
#ifndef INTR_ROUTE_H
#define INTR_ROUTE_H

#include "lgrp/lgrp.h"
#include "lib/cpumask.h"

struct intr_route {
    const struct lgrp_topo *topo;
    const struct cpumask *cand; /* CPUs that take interrupts and can get this interrupt */
    const uint16_t *narrive;    /* by CPU id: interrupts that arrive there */
    unsigned wanted;            /* the wanted CPU; CPU_MAX: no wanted CPU */
};

/* intr_route - the CPU for the interrupt; CPU_MAX if `cand` is empty. */
unsigned intr_route(const struct intr_route *r);

#endif
