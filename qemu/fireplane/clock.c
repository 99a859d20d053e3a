// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock.c - while the model is armed, the guest's clock is the model's.
 *
 * THEORY      With -icount QEMU's virtual clock is the number of instructions executed, in nanoseconds; the speed of
 *             the host does not matter.  Timers and the time-stamp counter use this clock.  But QEMU adds up the
 *             instructions of all CPUs as if they ran one after the other, and does not count waits for memory.  So
 *             while the model is armed, the virtual clock is the sum of
 *                 its value when the model was armed,
 *                 the progress of the slowest active CPU's modelled clock,
 *                 a nanosecond for each instruction of the kernel, divided by the number of CPUs,
 *                 the time that QEMU skipped because all CPUs were idle.
 *             QEMU reads the time by two function pointers in the class "tcg-accel-ops".  With -icount both are
 *             icount_get().  This file replaces them when the kernel starts, and sets the clock to a multiple of
 *             START_NS, so that the time of the boot loader does not matter.  Without -icount it changes nothing, and
 *             the guest's clock is that of the host.
 *             When the host wakes up QEMU's main thread, this thread also reads the time, and runs the timers that
 *             have expired.  By QEMU's own clock no timer can expire while a CPU runs, because a slice of QEMU ends at
 *             the next timer.  But the modelled clock can pass the next timer.  So while the model is armed, the main
 *             thread sees a clock that does not advance until all CPUs are idle.  Then timers run in the thread of the
 *             CPUs, between two slices, and so at the same instruction in each run.
 * INVARIANTS  K1  neither thread sees the clock go back
 * SEE ALSO    docs/fireplane.md, QEMU's docs/devel/tcg-icount.rst
 */
#include "clock.h"

#include "qemu_api.h"

#define START_NS 10000000000 /* CHOICE: more than any boot loader takes */

static const struct fp_model *model;
static bool armed;
static int64_t lag;     /* ns by which the guest's clock is behind icount_get() while disarmed */
static int64_t latest;  /* the highest time that any thread has read, ns (K1) */
static int64_t outside; /* the last time that the main thread has read, ns (K1) */
static struct {
    /* the guest's clock and the skipped time, ns; instructions of all CPUs */
    int64_t ns, skipped, instr;
    uint64_t user, progress; /* instructions of programs; model->progress, ps */
} begin;                     /* the values when the model was armed */

static uint64_t user_instructions(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < model->p.ncpus; i++)
        sum += model->cpu[i].n.instr;
    return sum;
}

/* The guest's clock, ns.  Replaces icount_get() in QEMU. */
static int64_t guest_clock(void)
{
    int64_t ns, instr, kernel;
    bool main_thread;

    main_thread = !qemu_in_vcpu_thread();
    if (main_thread && __atomic_load_n(&armed, __ATOMIC_ACQUIRE) && !all_cpu_threads_idle())
        return __atomic_load_n(&outside, __ATOMIC_RELAXED);
    ns = icount_get();
    if (!__atomic_load_n(&armed, __ATOMIC_ACQUIRE)) {
        ns -= lag;
    } else {
        instr = icount_get_raw();
        kernel = instr - begin.instr - (int64_t)(user_instructions() - begin.user);
        ns = begin.ns + (ns - icount_to_ns(instr) - begin.skipped) +
             (int64_t)(model->progress - begin.progress) / 1000;
        if (kernel > 0)
            ns += kernel / (int64_t)model->p.ncpus;
    }
    if (ns < __atomic_load_n(&latest, __ATOMIC_RELAXED))
        ns = __atomic_load_n(&latest, __ATOMIC_RELAXED);
    __atomic_store_n(&latest, ns, __ATOMIC_RELAXED);
    if (main_thread)
        __atomic_store_n(&outside, ns, __ATOMIC_RELAXED);
    return ns;
}

void fp_clock_follow(bool follow)
{
    int64_t now;

    if (model == NULL || follow == armed)
        return;
    now = guest_clock();
    if (follow) {
        begin.ns = now;
        __atomic_store_n(&outside, now, __ATOMIC_RELAXED);
        begin.instr = icount_get_raw();
        begin.skipped = icount_get() - icount_to_ns(begin.instr);
        begin.user = user_instructions();
        begin.progress = model->progress;
    } else {
        lag = icount_get() - now;
    }
    __atomic_store_n(&armed, follow, __ATOMIC_RELEASE);
}

int fp_clock_take(const struct fp_model *m)
{
    typedef int64_t clock_function(void);
    clock_function **at;
    unsigned found = 0;

    /* QEMU has no -icount, or it is not used */
    if (&use_icount_of_qemu == NULL || use_icount_of_qemu == 0)
        return 0;
    if (icount_get == NULL || icount_get_raw == NULL || icount_to_ns == NULL ||
        object_class_by_name == NULL || qemu_in_vcpu_thread == NULL || all_cpu_threads_idle == NULL)
        return -1;
    at = object_class_by_name("tcg-accel-ops");
    if (at == NULL)
        return -1;
    /* the class has about 30 pointers; these two are adjacent */
    for (unsigned i = 0; i < 64 && found < 2; i++)
        if (at[i] == icount_get && (found == 0 || at[i - 1] == guest_clock)) {
            at[i] = guest_clock;
            found++;
        }
    if (found < 2)
        return -1;
    model = m;
    lag = icount_get() - (icount_get() / START_NS + 1) * START_NS;
    /* end the slice in which the boot loader ended, so that all slices repeat in each run */
    cpu_exit(qemu_get_cpu(0));
    return 0;
}
