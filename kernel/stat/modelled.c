// SPDX-License-Identifier: MIT
/*
 * modelled.c - see modelled.h.
 *
 * THEORY      A CPU's counters only grow, so a thread's share is the difference between two readings: when
 *             the thread leaves the CPU and when it came.  Each CPU of the interconnect model has a clock
 *             of its own.  When a thread comes from a CPU whose clock is ahead, this CPU's clock jumps
 *             forward to the reading at which the thread left that CPU.  After this CPU was idle, its clock
 *             jumps forward to the clocks of the other CPUs.  So the difference of two clock readings is not
 *             the time that the thread has run.  That time is one clock cycle per instruction, plus the waits
 *             for memory and for floating-point results.
 */
#include "stat/modelled.h"

#include "lib/cpu.h"

void *modelled_page;

static struct fp_cpu *fp_cpu_slot(unsigned cpu)
{
    return FP_CPU(modelled_page, cpu);
}

/* Adds now - since to *sum for each counter.  sum->time_ps is computed as THEORY says. */
static void add_difference(struct fp_counts *sum, const struct fp_counts *now,
                           const struct fp_counts *since)
{
    uint64_t clock_ps = ((const struct fp_header *)modelled_page)->clock_ps, ran = sum->time_ps;

    ran += (now->instr - since->instr) * clock_ps;
    ran += now->stall_ps - since->stall_ps + now->fp_stall_ps - since->fp_stall_ps;
    for (unsigned i = 0; i < sizeof *sum / sizeof(uint64_t); i++)
        ((uint64_t *)sum)[i] += ((const uint64_t *)now)[i] - ((const uint64_t *)since)[i];
    sum->time_ps = ran;
}

void modelled_switch_now(struct modelled *from, struct modelled *to)
{
    struct fp_cpu *slot = fp_cpu_slot(this_cpu()->id);

    if (to != NULL)
        atomic_store(&to->coming,
                     true); /* set before the doorbell, which makes this CPU count for `to` */
    slot->arg[0] = to != NULL ? to->time_ps : 0;
    FP_DOORBELL(FP_OP_SWITCH);
    if (from != NULL) {
        add_difference(&from->used, &slot->counts, &from->since);
        from->time_ps = max_of(from->time_ps, slot->counts.time_ps);
        from->on = 0;
    }
    if (to != NULL) {
        to->since = slot->counts;
        to->on = this_cpu()->id + 1;
        atomic_store_explicit(&to->coming, false, memory_order_release);
    }
}

void modelled_pass_now(const struct modelled *from, struct modelled *to)
{
    struct cpu *c = this_cpu();

    if (from == NULL || to == NULL || c->irq_depth > 0)
        return;
    FP_DOORBELL(FP_OP_SYNC);
    to->time_ps = max_of(to->time_ps, fp_cpu_slot(c->id)->counts.time_ps);
}

void modelled_new_frames_now(uint64_t base, uint64_t bytes)
{
    struct fp_cpu *slot;

    irq_push();
    slot = fp_cpu_slot(this_cpu()->id);
    slot->arg[0] = base;
    slot->arg[1] = bytes;
    FP_DOORBELL(FP_OP_NEW_FRAMES);
    irq_pop();
}

uint64_t modelled_read(const struct modelled *m, struct fp_counts *used)
{
    struct fp_counts now;

    while (atomic_load_explicit(&m->coming, memory_order_acquire))
        cpu_pause();
    *used = m->used;
    if (m->on == 0)
        return m->time_ps;
    if (m->on - 1 == this_cpu()->id)
        FP_DOORBELL(FP_OP_SYNC);
    now = fp_cpu_slot(m->on - 1)->counts;
    add_difference(used, &now, &m->since);
    return max_of(now.time_ps, m->time_ps);
}
