// SPDX-License-Identifier: MIT
/*
 * floor.c - the ground below the frame allocator in the lab "frames".
 *
 * THEORY      The kernel's checks of spin locks (HR_TEST) call two functions here.  They record which
 *             nodes' locks were taken, and how much of a node changed while its lock was held.  The CPUs
 *             run in turn, so a lock that is not free when it is taken was never released.
 */
#include "labs/frames/floor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/cpu.h"
#include "stat/panic.h"

struct cpu *cpus[CPU_MAX];
unsigned ncpu;
struct floor_record floor_record;

void floor_forget(void)
{
    floor_record = (struct floor_record){0};
}

static uint64_t allocs_counted(const struct mem_node *n)
{
    return n->n_local + n->n_foreign;
}

/* The record of the node that a lock belongs to; NULL: of none. */
static struct floor_node *record_of(const struct spinlock *l, const struct mem_node **n)
{
    for (unsigned i = 0; i < NODE_MAX; i++)
        if (l == &mem_nodes[i].lock) {
            *n = &mem_nodes[i];
            return &floor_record.node[i];
        }
    return NULL;
}

void spin_check_acquire(struct spinlock *l, enum spin_how how)
{
    const struct mem_node *n;
    struct floor_node *r = record_of(l, &n);

    (void)how;
    if (l->cpu != 0)
        panic("a spin lock is taken that CPU %u holds already", l->cpu - 1u);
    floor_record.uncovered += this_cpu()->nlock == 1; /* spin_lock() has turned interrupts off */
    floor_record.held++;
    floor_record.held_most = max_of(floor_record.held_most, floor_record.held);
    if (r == NULL)
        return;
    r->holds++;
    r->frames_before = n->nfree_pages;
    r->allocs_before = allocs_counted(n);
}

void spin_check_release(struct spinlock *l)
{
    const struct mem_node *n;
    struct floor_node *r = record_of(l, &n);

    if (l->cpu != this_cpu()->id + 1)
        panic("a spin lock is released that CPU %u does not hold", this_cpu()->id);
    floor_record.held--;
    if (r == NULL)
        return;
    r->frames += n->nfree_pages - r->frames_before;
    r->allocs += allocs_counted(n) - r->allocs_before;
}

void spin_bad_sleep(void)
{
    panic("an allocation that may sleep, with %lx", cpu_context());
}

void panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    abort();
}
