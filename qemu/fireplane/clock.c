// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock.c - while the model is armed, the guest's clock is the model's.
 *
 * THEORY      With -icount QEMU counts instructions, and its virtual clock, which timers and the time-stamp counter
 *             follow, is their number in nanoseconds, whatever the host does.  But it counts those of all CPUs as if
 *             they followed one another, and no waits for memory.  So while the model is armed the virtual clock is
 *                 what it was then
 *                 + what the slowest active CPU's modelled clock has gained
 *                 + a nanosecond for each instruction of the kernel, divided by the number of CPUs
 *                 + what QEMU skipped because all CPUs were idle.
 *             QEMU asks two functions of the class "tcg-accel-ops" for the time; both are icount_get() with -icount,
 *             and are replaced here when the kernel begins, which finds the clock at a multiple of START_NS however
 *             long the boot loader took.  Without -icount nothing is changed, and the guest's clock is the host's.
 *             QEMU's main thread asks as well, whenever the host wakes it, and runs the timers that are due.  By the
 *             counted clock none is due while a CPU runs, since a slice of QEMU's ends where the next one is; the
 *             modelled clock can have passed it.  So while armed the main thread is told of no progress until all CPUs
 *             are idle, and timers run in the CPUs' thread, between two slices: at the same instruction in each run.
 * INVARIANTS  K1  the clock never goes back, as either thread sees it
 * SEE ALSO    docs/fireplane.md, QEMU's docs/devel/tcg-icount.rst
 */
#include "clock.h"

#include "qemu_api.h"

#define START_NS 10000000000 /* CHOICE: no boot loader takes as long */

static const struct fp_model *model;
static bool armed;
static int64_t lag;    /* of the guest's clock behind icount_get() while disarmed */
static int64_t latest; /* that was told (K1)                                      */
static int64_t outside; /* that the main thread was told while armed (K1)         */
static struct {
    int64_t ns, skipped, instr; /* the guest's clock, what was skipped, instructions of all CPUs */
    uint64_t user, progress;    /* instructions of programs, the model's progress               */
} begin; /* when the model was armed */

static uint64_t user_instructions(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < model->p.ncpus; i++)
        sum += model->cpu[i].n.instr;
    return sum;
}

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
        ns = begin.ns + (ns - icount_to_ns(instr) - begin.skipped) + (int64_t)(model->progress - begin.progress) / 1000;
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

    if (&use_icount_of_qemu == NULL || use_icount_of_qemu == 0) /* not there, or not asked for */
        return 0;
    if (icount_get == NULL || icount_get_raw == NULL || icount_to_ns == NULL || object_class_by_name == NULL ||
        qemu_in_vcpu_thread == NULL || all_cpu_threads_idle == NULL)
        return -1;
    at = object_class_by_name("tcg-accel-ops");
    if (at == NULL)
        return -1;
    for (unsigned i = 0; i < 64 && found < 2; i++) /* the class has some 30 pointers, these two side by side */
        if (at[i] == icount_get && (found == 0 || at[i - 1] == guest_clock)) {
            at[i] = guest_clock;
            found++;
        }
    if (found < 2)
        return -1;
    model = m;
    lag = icount_get() - (icount_get() / START_NS + 1) * START_NS;
    cpu_exit(qemu_get_cpu(0)); /* it runs: the slices to come do not depend on where in one the boot loader ended */
    return 0;
}
