// SPDX-License-Identifier: MIT
/*
 * timer.c - the clock, and timers: functions called at a given time.
 *
 * THEORY      The kernel must know the time.  It must also act at given times: end a sleep, a timeout, a time
 *             slice.
 *             The clock is the time-stamp counter (TSC), which is the same on all CPUs.  The TSC and the local
 *             APIC's timer are measured once against the ACPI power-management timer (3.579545 MHz).
 *             Each CPU has a heap of timers, ordered by deadline (timerq.h).  The hardware timer is set for the
 *             first deadline or the end of the running thread's time slice, whichever is earlier.  There is no
 *             periodic tick.
 *             A CPU without interrupts (no-intr) keeps no timers, nor does an off-line one.  Its timers move
 *             to another CPU (timer_leave).  Timers armed on such a CPU later are queued on the CPU at the
 *             end of its timer_cpu chain.  On a no-intr CPU the time slice ends by an interrupt only while
 *             another thread waits for the CPU; otherwise the CPU checks once a second.
 *             A timer that is armed while its function runs goes to the CPU that runs the function (I4).  So
 *             the function never runs on two CPUs at the same time.  timer_arm() need not wait for it, so its
 *             caller may hold a lock that the function takes.
 * INVARIANTS  I1  timer_set_for <= the earliest future event of its CPU, or an interrupt is pending
 *             I2  a timer is in the heap of t->cpu or in none; timer_cpu == the CPU itself iff it keeps timers
 *             I3  a timer_cpu chain has an end: each link was set to a CPU that kept timers at that time
 *             I4  while a timer's function runs on a CPU, that CPU keeps its timers, and t->cpu is that CPU
 * LOCKING     d->timer_lock (RANK_TIMER).  To move timers, a CPU takes the locks of both CPUs.  Timer functions
 *             run without the lock.
 * SEE ALSO    ACPI specification 4.8.3.3 (power management timer)
 */
#include "disp/timer.h"

#include "disp/disp.h"
#include "disp/timerq.h"
#include "lib/math.h"
#include "stat/panic.h"
#include "uapi/homeroom.h"
#include "x86/apic.h"
#include "x86/asm.h"
#include "x86/pio.h"

#define PM_HZ 3579545ull

struct clock_params clock_params;

static uint64_t tsc_khz, apic_khz;
static uint64_t ns_mult; /* ns = cycles * mult >> 32 */

uint64_t tsc_to_ns(uint64_t cycles)
{
    return (uint64_t)(((unsigned __int128)cycles * ns_mult) >> 32);
}

/* Times beyond 2^60 ns (36 years) count as 36 years, so that the product fits. */
static uint64_t ns_to_tsc(uint64_t ns)
{
    return mul_div(min_of(ns, 1ul << 60), tsc_khz, 1000000);
}

uint64_t clock_tsc_per_ms(void)
{
    return tsc_khz;
}

uint64_t clock_mono_ns(void)
{
    return tsc_to_ns(rdtsc() - clock_params.base_tsc);
}

uint64_t clock_real_ns(void)
{
    return clock_mono_ns() + clock_params.real_offset_ns;
}

void clock_set_real(uint64_t ns)
{
    clock_params.real_offset_ns = ns - clock_mono_ns();
    vdso_update();
}

/* The values of three counters at one moment: TSC, power-management timer, APIC timer (counts down). */
struct moment {
    uint64_t tsc;
    uint32_t pm, apic;
};

/*
 * Reads the three counters as close together as possible: it makes several tries, and returns the
 * values of the try that took the fewest cycles.  With only one try, a virtual machine could lose
 * its CPU in the middle of the try; then the clock would be many times too fast.
 */
static struct moment read_clock_counters(uint16_t port)
{
    enum { TRIES = 8 };
    struct moment best = {0};
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t before = rdtsc();
        uint32_t pm = inl(port), apic = apic_timer_read();
        uint64_t took = rdtsc() - before;

        if (took < shortest) {
            shortest = took;
            best = (struct moment){before + took / 2, pm, apic};
        }
    }
    return best;
}

void clock_calibrate(uint16_t port, unsigned bits)
{
    const uint32_t mask = bits >= 32 ? UINT32_MAX : (1u << bits) - 1;
    const uint32_t want = PM_HZ / 250; /* 4 ms */
    struct moment first, last;
    uint64_t pm;

    if (port == 0)
        panic(
            "the firmware names no power-management timer (FADT): nothing to measure the clock with");
    apic_timer_set(UINT32_MAX);
    first = read_clock_counters(port);
    while (((inl(port) - first.pm) & mask) < want)
        ;
    last = read_clock_counters(port);
    apic_timer_set(0);
    pm = (last.pm - first.pm) & mask;
    tsc_khz = mul_div(last.tsc - first.tsc, PM_HZ, pm * 1000);
    apic_khz = (uint64_t)(first.apic - last.apic) * PM_HZ / pm / 1000;
    ns_mult = (1000000ull << 32) / tsc_khz;
    clock_params.base_tsc = first.tsc;
    clock_params.mult = (uint32_t)(ns_mult >> 8);
    clock_params.shift = 24;
}

void timer_cpu_init(struct cpu *c)
{
    spin_init(&c->disp->timer_lock, RANK_TIMER);
    c->disp->first_ns = UINT64_MAX;
    c->disp->timer_cpu = c;
}

/* Updates the copy of the first deadline, which is read unlocked; called after each change of the heap. */
static void update_first_deadline(struct disp_cpu *d)
{
    d->first_ns = d->timers != NULL ? d->timers->deadline_ns : UINT64_MAX;
}

static void timer_remove(struct disp_cpu *d, struct timer *t)
{
    timerq_remove(&d->timers, t);
    update_first_deadline(d);
}

void timer_program(struct cpu *c)
{
    struct disp_cpu *d = c->disp;
    uint64_t now = rdtsc(), when = d->quantum_end, ticks;

    if (unlikely(d->state == P_NOINTR) && disp_waiting(c) < 0 && when != UINT64_MAX)
        when = max_of(when, now + tsc_khz * 1000); /* one second from now */
    if (d->first_ns != UINT64_MAX)
        when = min_of(when, clock_params.base_tsc + ns_to_tsc(d->first_ns) + 1);
    d->timer_set_for = when;
    if (when == UINT64_MAX)
        return;
    ticks = when <= now ? 1 : mul_div(when - now, apic_khz, tsc_khz) + 1;
    apic_timer_set((uint32_t)min_of(ticks, (uint64_t)UINT32_MAX));
}

/* Finds the CPU that keeps the timers of CPU `c`, and returns it with its timer_lock held. */
static struct cpu *lock_timer_keeper(struct cpu *c)
{
    for (;;) {
        struct cpu *next = atomic_load_explicit(&c->disp->timer_cpu, memory_order_relaxed);

        if (next == c) {
            spin_lock(&c->disp->timer_lock);
            if (likely(c->disp->timer_cpu == c))
                return c;
            spin_unlock(&c->disp->timer_lock);
        }
        c = next;
    }
}

/*
 * Takes `t` out of its heap; *was: whether t was armed.  Returns the CPU on which t was last armed,
 * with the timer_lock of that CPU held; NULL: t was never armed.
 */
static struct cpu *disarm_timer_lock(struct timer *t, bool *was)
{
    struct cpu *c;

    *was = false;
    while ((c = __atomic_load_n(&t->cpu, __ATOMIC_RELAXED)) != NULL) {
        spin_lock(&c->disp->timer_lock);
        if (likely(t->cpu == c)) {
            *was = timer_armed(t);
            if (*was)
                timer_remove(c->disp, t);
            break;
        }
        spin_unlock(&c->disp->timer_lock); /* t has moved to another CPU: try again */
    }
    return c;
}

void timer_arm(struct timer *t, uint64_t deadline_ns, void (*fn)(struct timer *))
{
    struct cpu *c;
    struct disp_cpu *d;
    bool was;

    irq_push();
    c = disarm_timer_lock(t, &was);
    if (c == NULL || c->disp->running_timer != t) { /* the function of t is not running (I4) */
        if (c != NULL)
            spin_unlock(&c->disp->timer_lock);
        c = lock_timer_keeper(this_cpu());
    }
    d = c->disp;
    t->deadline_ns = deadline_ns;
    t->fn = fn;
    t->cpu = c;
    timerq_insert(&d->timers, t);
    update_first_deadline(d);
    if (d->timers == t) {
        if (unlikely(c != this_cpu()))
            x86_send_ipi(c->id, VEC_TIMER);
        else if (clock_params.base_tsc + ns_to_tsc(deadline_ns) < d->timer_set_for)
            timer_program(c);
    }
    spin_unlock(&d->timer_lock);
    irq_pop();
}

bool timer_cancel(struct timer *t)
{
    struct cpu *c;
    bool was = false, armed, running;

    spin_check_sleep(0);
    while ((c = disarm_timer_lock(t, &armed)) != NULL) {
        was |= armed;
        running = c->disp->running_timer == t; /* the function of t runs, and may arm t again */
        spin_unlock(&c->disp->timer_lock);
        if (!running)
            break;
        cpu_pause();
    }
    return was;
}

void timer_leave(struct cpu *c, struct cpu *to)
{
    struct disp_cpu *d = c->disp, *e = to->disp;
    struct timer *t;

    spin_lock_pair(&d->timer_lock, &e->timer_lock);
    while (d->running_timer != NULL) { /* wait until no function runs on c (I4) */
        spin_unlock_pair(&d->timer_lock, &e->timer_lock);
        cpu_pause();
        spin_lock_pair(&d->timer_lock, &e->timer_lock);
    }
    d->timer_cpu = to;
    while ((t = d->timers) != NULL) {
        timerq_remove(&d->timers, t);
        __atomic_store_n(&t->cpu, to, __ATOMIC_RELAXED);
        timerq_insert(&e->timers, t);
    }
    update_first_deadline(d);
    update_first_deadline(e);
    spin_unlock_pair(&d->timer_lock, &e->timer_lock);
    x86_send_ipi(to->id, VEC_TIMER);
}

void timer_return(struct cpu *c)
{
    c->disp->timer_cpu = c;
}

void timer_interrupt(void)
{
    struct cpu *c = this_cpu();
    struct disp_cpu *d = c->disp;
    bool over;

    d->timer_set_for = UINT64_MAX;
    spin_lock(&d->timer_lock);
    while (d->timers != NULL && d->timers->deadline_ns <= clock_mono_ns()) {
        struct timer *t = d->timers;

        timer_remove(d, t);
        d->running_timer = t;
        spin_unlock(&d->timer_lock);
        t->fn(t);
        spin_lock(&d->timer_lock);
        d->running_timer = NULL;
    }
    over =
        rdtsc() >= d->quantum_end; /* read once: if `over` is false, the timer must be set again */
    if (over && c->thread->runtime_tsc + (rdtsc() - c->thread->oncpu_since) >= c->thread->alarm_tsc)
        atomic_fetch_or(&c->thread->ast, AST_ALARM);
    if (!over) {
        timer_program(c);
    } else {
        uint64_t end = d->quantum_end;

        atomic_fetch_or(&c->thread->ast, AST_RESCHED);
        /* the slice is over: timer_program() must use only the deadline of the first timer */
        d->quantum_end = UINT64_MAX;
        timer_program(c);
        d->quantum_end = end;
    }
    spin_unlock(&d->timer_lock);
}
