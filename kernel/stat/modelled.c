// SPDX-License-Identifier: MIT
/*
 * modelled.c - see modelled.h.
 *
 * THEORY      Counters only grow, so a thread's share of a CPU's is what they grew by while it ran there.  The clock
 *             jumps, too, when a thread comes that is later; that jump is before `since` is taken, so it is nobody's.
 */
#include "stat/modelled.h"

#include "lib/cpu.h"

void *modelled_page;

static struct fp_cpu *slot_of(unsigned cpu)
{
    return FP_CPU(modelled_page, cpu);
}

/* sum += now - since, for each counter. */
static void add_difference(struct fp_counts *sum, const struct fp_counts *now, const struct fp_counts *since)
{
    for (unsigned i = 0; i < sizeof *sum / sizeof(uint64_t); i++)
        ((uint64_t *)sum)[i] += ((const uint64_t *)now)[i] - ((const uint64_t *)since)[i];
}

void modelled_switch_now(struct modelled *from, struct modelled *to)
{
    struct fp_cpu *slot = slot_of(this_cpu()->id);

    slot->arg[0] = to != NULL ? to->time_ps : 0;
    FP_DOORBELL(FP_OP_SWITCH);
    if (from != NULL) {
        add_difference(&from->used, &slot->counts, &from->since);
        from->time_ps = max_of(from->time_ps, slot->counts.time_ps);
    }
    if (to != NULL) {
        to->since = slot->counts;
        to->since.time_ps = max_of(slot->counts.time_ps, to->time_ps);
    }
}

void modelled_pass_now(const struct modelled *from, struct modelled *to)
{
    struct cpu *c = this_cpu();

    if (from == NULL || to == NULL || c->irq_depth > 0)
        return;
    FP_DOORBELL(FP_OP_SYNC);
    to->time_ps = max_of(to->time_ps, slot_of(c->id)->counts.time_ps);
}

uint64_t modelled_read(const struct modelled *m, int cpu, struct fp_counts *used)
{
    struct fp_counts now;

    *used = m->used;
    if (cpu < 0)
        return m->time_ps;
    if ((unsigned)cpu == this_cpu()->id)
        FP_DOORBELL(FP_OP_SYNC);
    now = slot_of((unsigned)cpu)->counts;
    now.time_ps = max_of(now.time_ps, m->since.time_ps); /* not published since it came there */
    add_difference(used, &now, &m->since);
    return now.time_ps;
}
