// SPDX-License-Identifier: MIT
/*
 * machine.c - see machine.h.
 */
#include "labs/sets/machine.h"

#include "lgrp/lgrpstat.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "tests/host/machine.h"
#include "x86/apic.h"

enum { ROUNDS = 1000, SETS = 2 * CPUS + 1 };

struct calls calls;
struct intr_cpu intr_counts[CPUS];

static uint64_t now_ns;

struct lgrp_counters lgrp_counters[LGRP_MAX];

/* ---- spin locks: the kernel's checks (HR_TEST) ---- */

/* What its lock guarded when it was last released: a sum of load records and `live`, and the set of each thread. */
static uint64_t records_before;
static struct cpupart *parts_before[THREADS_MAX];

static uint64_t sum_of_records(void)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < SETS; i++) {
        const struct cpupart *p = cpuparts[i];

        if (p == NULL)
            continue;
        sum += p->live ? i + 1 : 0;
        for (uint64_t g = 0; g < lgrp_topo.nlgrps; g++)
            sum += (i * LGRP_MAX + g + 1) *
                   (p->lgrps.lpl[g].ncpus * 1000003ul + p->lgrps.lpl[g].homed * 1000000007ul);
    }
    return sum;
}

static void compare_records(void)
{
    uint64_t now = sum_of_records();

    calls.unguarded += now != records_before;
    records_before = now;
}

static void compare_thread(unsigned i)
{
    calls.unguarded += t[i].part != parts_before[i];
    parts_before[i] = t[i].part;
}

void locks_compare(void)
{
    compare_records();
    for (unsigned i = 0; i < THREADS_MAX; i++)
        compare_thread(i);
}

/* The thread that a lock belongs to; THREADS_MAX: none. */
static unsigned thread_of(const struct spinlock *l)
{
    for (unsigned i = 0; i < THREADS_MAX; i++)
        if (l == &t[i].lock)
            return i;
    return THREADS_MAX;
}

/* Another CPU could look now: each thread's set must have a CPU. */
static void look_for_stranded(void)
{
    for (unsigned i = 0; i < THREADS_MAX && calls.stranded == 0; i++)
        if (t[i].state != TS_ZOMBIE && cpumask_empty(&t[i].part->cpus))
            calls.stranded = i + 1;
}

void spin_check_acquire(struct spinlock *l, enum spin_how how)
{
    struct cpu *c = this_cpu();
    unsigned i = thread_of(l), slot = CPU_HELD_MAX;

    if (l->cpu == c->id + 1)
        panic("a CPU takes a spin lock that it holds, and waits for ever");
    for (unsigned k = 0; k < CPU_HELD_MAX; k++) {
        const struct spinlock *h = c->held[k];

        if (h == NULL)
            slot = k;
        else if (how == SPIN_PLAIN && h->rank >= l->rank)
            calls.bad_order++;
    }
    if (slot == CPU_HELD_MAX)
        panic("too many spin locks held");
    c->held[slot] = l;
    if (l == &cpupart_lock)
        compare_records();
    if (i < THREADS_MAX)
        compare_thread(i);
    look_for_stranded();
}

void spin_check_release(struct spinlock *l)
{
    struct cpu *c = this_cpu();
    unsigned i = thread_of(l);

    for (unsigned k = 0; k < CPU_HELD_MAX; k++)
        if (c->held[k] == l)
            c->held[k] = NULL;
    if (l == &cpupart_lock)
        records_before = sum_of_records();
    if (i < THREADS_MAX)
        parts_before[i] = t[i].part;
    look_for_stranded();
}

/* ---- functions that the kernel's files call ---- */

void *kmem_zalloc(size_t size)
{
    static _Alignas(64) uint8_t memory[1 << 20];
    static size_t used;
    size_t from = used;

    if (size > sizeof memory - used)
        return NULL;
    used += (size + 63) & ~63ul;
    return memory + from;
}

void *kmem_alloc_node(size_t size, unsigned node)
{
    return kmem_zalloc(size);
}

void kmem_free(void *p)
{
}

void mutex_enter(struct mutex *m)
{
    calls.bad_locks += calls.has_cpu_lock || this_cpu()->nlock != 0;
    calls.has_cpu_lock = true;
    calls.enters++;
}

void mutex_exit(struct mutex *m)
{
    calls.bad_locks += !calls.has_cpu_lock || this_cpu()->nlock != 0;
    calls.has_cpu_lock = false;
}

void thread_sleep_ns(uint64_t ns)
{
    calls.bad_locks += this_cpu()->nlock != 0;
    calls.sleeps++;
    look_for_stranded();
    if (calls.sleeps == calls.meanwhile.at) {
        if (calls.meanwhile.cpu == WAKES)
            wake(calls.meanwhile.t, 0);
        else
            calls.meanwhile.result = thread_bind(calls.meanwhile.t, calls.meanwhile.cpu);
    }
    settle(0);
}

uint64_t clock_mono_ns(void)
{
    return now_ns += 1000000;
}

uint64_t clock_real_ns(void)
{
    return now_ns;
}

unsigned clock_runnable_now(const struct lgrp_part *part, unsigned lgrp)
{
    return 0;
}

void timer_leave(struct cpu *c, struct cpu *to)
{
}

void timer_return(struct cpu *c)
{
}

void timer_interrupt(void)
{
}

void kstat_register(struct kstat *ks)
{
    calls.kstats++;
}

void kstat_unregister(struct kstat *ks)
{
    calls.kstats--;
}

void warn(const char *fmt, ...)
{
}

uint64_t trace_name(const char *s)
{
    return 0;
}

void vm_tlb_ipi(void)
{
}

void apic_eoi(void)
{
}

int ioapic_route(unsigned irq, unsigned vector, uint32_t apic_id)
{
    return 0;
}

void ioapic_retarget(unsigned irq, uint32_t apic_id)
{
}

void x86_send_ipi(unsigned cpu, unsigned vector)
{
    look_for_stranded();
    if (vector == IPI_RESCHED)
        poked[cpu] = true;
    else if (vector == IPI_SETTLE)
        intr_counts[cpu].settle++;
}

/* dispmachine.c calls this function for a change of the CPU; here it is always CPU 0. */
void machine_start(const void *gs, const struct machine_ops *ops)
{
}

/* ---- CPUs that look at their queues ---- */

/* CPU `c` goes on with thread `next`. */
static void run_on(struct cpu *c, struct thread *next)
{
    bool to_idle = next == c->disp->idle_thread;

    c->thread->last_ran = lbolt;
    c->idle = to_idle;
    if (to_idle) {
        c->disp->runpri = -1;
        cpumask_set(&cpu_idle_mask, c->id);
    } else {
        cpumask_clear(&cpu_idle_mask, c->id);
    }
    next->ast = disp_waiting(c) > c->disp->runpri ? AST_RESCHED : 0;
    c->thread = next;
}

/* CPU `c` takes a poke: a thread that may not stay leaves, and the idle thread looks for work. */
static void look(struct cpu *c)
{
    struct thread *th = c->thread;

    poked[c->id] = false;
    atomic_fetch_and(&th->ast, ~(uint32_t)AST_RESCHED);
    if (th != c->disp->idle_thread) {
        if (disp_may_run(th, c))
            return;
        spin_lock(&th->lock);
        th->state = TS_RUNNABLE;
        run_on(c, disp_next(c));
        disp_enqueue(th, QUEUE_AGAIN);
        spin_unlock(&th->lock);
    }
    if (c->thread == c->disp->idle_thread) {
        c->disp->steal_requested = !cpumask_test(&cpu_idle_mask, c->id);
        cpumask_set(&cpu_idle_mask, c->id);
        th = disp_next(c);
        if (th != c->thread)
            run_on(c, th);
    }
}

/* Poked CPUs look, beginning with CPU `first`, until none is poked any more. */
void settle(unsigned first)
{
    bool any = true;

    for (unsigned round = 0; any && round < ROUNDS; round++) {
        any = false;
        for (unsigned i = 0; i < ncpu; i++) {
            struct cpu *c = CPU((first + i) % ncpu);

            if (poked[c->id] || (c->thread->ast & AST_RESCHED) != 0) {
                look(c);
                any = true;
            }
        }
    }
}
