// SPDX-License-Identifier: MIT
/*
 * idle.c - the idle threads: what a CPU runs when no thread waits for it.
 *
 * THEORY      Each CPU has an idle thread, in which the CPU starts.  The idle thread looks for another thread
 *             on this CPU's queue and then on those of other CPUs (runq.c).  While there is none, it halts the
 *             CPU.  The idle thread is never queued and has priority -1.
 * LOCKING     The idle thread holds its own lock during a switch.  Interrupts are off while it looks for a
 *             thread.
 * TUNABLES    halt_fenced_cpus
 * SEE ALSO    docs/dispatcher.md, docs/psets.md
 */
#include "disp/disp.h"
#include "disp/switch.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/kstack.h"
#include "stat/panic.h"
#include "stat/tunable.h"
#include "uapi/homeroom.h"
#include "x86/asm.h"

uint32_t halt_fenced_cpus = 1;
TUNABLE(halt_fenced_cpus, 0, 1,
        "1: a CPU without interrupts halts when idle; 0: it looks for work all the time; idle.c");

/*
 * Waits until there may be a thread to run.  Interrupts are off on entry and on when the function returns.  A
 * CPU that sets the idle thread's ast and then reads `polls` as true need not send an IPI.  Either the loop
 * below sees the ast, or the loop has ended.  In that case the idle thread looks at its queue after it set
 * `polls` to false, and so after the ast was set.
 */
static void idle_wait(struct cpu *c, struct thread *idle)
{
    if (likely(halt_fenced_cpus != 0 || c->disp->state != P_NOINTR)) {
        sti_hlt();
        return;
    }
    atomic_store(&c->disp->polls, true);
    irq_enable();
    while (atomic_load_explicit(&idle->ast, memory_order_relaxed) == 0 && halt_fenced_cpus == 0 &&
           c->disp->state == P_NOINTR)
        cpu_pause();
    atomic_store(&c->disp->polls, false);
}

void disp_idle_loop(void)
{
    struct cpu *c = this_cpu();
    struct thread *idle = c->disp->idle_thread;

    irq_disable();
    c->idle = true;
    cpumask_set_atomic(&cpu_idle_mask, c->id);
    for (;;) {
        struct thread *next;

        irq_disable();
        /*
         * Clear the ast before reading the queue, so that a CPU that polls does not lose a
         * notification (idle_wait()).
         */
        atomic_store(&idle->ast, 0);
        c->disp->steal_requested = !cpumask_test(&cpu_idle_mask, c->id);
        if (c->disp->steal_requested)
            cpumask_set_atomic(&cpu_idle_mask, c->id);
        next = disp_next(c);
        if (next == idle) {
            idle_wait(c, idle);
            continue;
        }
        spin_lock(&idle->lock);
        switch_to(idle, next);
        irq_enable();
    }
}

void disp_cpu_init(struct cpu *c)
{
    struct disp_cpu *d = kmem_alloc_node(sizeof *d, c->node);
    struct thread *t = kmem_alloc_node(sizeof *t, c->node);

    if (d == NULL || t == NULL)
        panic("no memory for the run queue of CPU %u", c->id);
    memset(d, 0, sizeof *d);
    disp_queue_init(&d->q, c);
    d->runpri = d->promised = -1;
    d->quantum_end = d->timer_set_for = UINT64_MAX;
    c->disp = d;
    d->part = &cpupart_default;
    timer_cpu_init(c);
    thread_prepare(t, NULL);
    if (thread_init(t, "idle", NULL, NULL) != 0)
        panic("no memory for the idle thread of CPU %u", c->id);
    t->cls = CLASS_SYS;
    t->base_pri = t->pri = -1;
    t->state = TS_ONPROC;
    t->cpu = c;
    t->bound_cpu = (int)c->id;
    d->idle_thread = t;
    c->thread = t;
    c->kstack_top = (uint64_t)t->kstack + KSTACK_SIZE;
}
