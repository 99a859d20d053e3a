// SPDX-License-Identifier: MIT
/*
 * thread.c - creates threads, and frees them when they have ended.
 *
 * THEORY      A new thread inherits from its creator, gets a kernel stack in the memory of its home, and on that
 *             stack the registers with which context_switch() continues it in context_begin().
 *             A thread that ends leaves its CPU for good (thread_exit_switch()); another thread frees it.
 * INVARIANTS  thread.h I1-I3
 * LOCKING     t->lock (RANK_THREAD), then run-queue locks; all_threads_lock
 * SEE ALSO    switch.c, wake.c, thread_home.c; docs/dispatcher.md
 */
#include "disp/disp.h"

#include "disp/context.h"
#include "disp/runtime.h"
#include "disp/switch.h"
#include "lgrp/lgrp.h"
#include "lgrp/place.h"
#include "lib/errno.h"
#include "lib/rng.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/kstack.h"
#include "stat/modelled.h"
#include "stat/panic.h"

struct list all_threads = LIST_INIT(all_threads);
unsigned all_threads_count;
struct spinlock all_threads_lock = SPINLOCK_INIT(RANK_VM_TLB);

static struct kmem_cache *fpu_cache;
/* ids of kernel threads; the ids of programs come from proc/ */
static _Atomic uint32_t next_tid = 1u << 22;

void disp_init(void)
{
    fpu_cache = kmem_cache_create("fpu", FPU_SIZE, 16);
}

void thread_prepare(struct thread *t, struct thread *creator)
{
    memset(t, 0, sizeof *t);
    spin_init(&t->lock, RANK_THREAD);
    list_init(&t->runq_link);
    list_init(&t->all_link);
    t->state = TS_SLEEP;
    t->inherit_pri = -1;
    t->bound_cpu = -1;
    t->cpu = this_cpu();
    t->part = &cpupart_default;
    t->lg.home = t->lg.touch = LGRP_NONE;
    t->alarm_tsc = ALARM_NEVER;
    if (creator != NULL) {
        if (unlikely(creator->lg.has_mempolicy)) {
            t->mempolicy = creator->mempolicy;
            t->lg.has_mempolicy = true;
        }
        spin_lock(&creator->lock);
        t->part = creator->part;
        t->bound_cpu = creator->bound_cpu;
        t->affinity = creator->affinity;
        t->restricted = creator->restricted;
        class_init_thread(t, creator);
        /*
         * The child continues the time slice of its parent.  A new slice for each child would be
         * unfair (class.c).
         */
        t->oncpu_since = rdtsc();
        t->slice_left = max_of(slice_rest(this_cpu()->disp, t->oncpu_since), 1ul);
        t->slice_whole = curthread->slice_whole;
        spin_unlock(&creator->lock);
    } else {
        class_init_thread(t, NULL);
    }
}

/*
 * Returns the memory node for the kernel memory of a thread whose home lgroup is `home` (LGRP_NONE:
 * no home).
 */
static unsigned home_node(unsigned home)
{
    return home == LGRP_NONE ? this_cpu()->node
                             : lgrp_mem_node(&lgrp_topo, home, (uint32_t)rng_next());
}

int thread_init(struct thread *t, const char *name, void (*entry)(void *), void *arg)
{
    unsigned node = home_node(t->lg.home);
    void *stack = kstack_alloc(node);
    uint64_t *sp;

    if (stack == NULL)
        return -ENOMEM;
    if (t->lwp != NULL) {
        t->fpu = kmem_cache_alloc_node(fpu_cache, node);
        if (t->fpu == NULL)
            t->fpu = kmem_cache_alloc_wait(fpu_cache);
        if (t->fpu == NULL) {
            kstack_free(stack);
            return -ENOMEM;
        }
        thread_fpu_init(t);
        if (modelled_page != NULL) {
            t->modelled = kmem_zalloc(sizeof *t->modelled);
            if (t->modelled == NULL) {
                kmem_cache_free(fpu_cache, t->fpu);
                kstack_free(stack);
                return -ENOMEM;
            }
        }
    }
    str_copy(t->name, name, sizeof t->name);
    t->kstack = stack;
    *(uint64_t *)t->kstack = STACK_GUARD;
    t->entry = entry;
    t->entry_arg = arg;
    t->uregs = thread_regs(t);
    if (t->tid == 0)
        t->tid = next_tid++;
    sp = (uint64_t *)t->uregs;
    *--sp = 0; /* keeps the stack aligned as after a call */
    *--sp = (uint64_t)context_begin;
    sp -= 6; /* the registers that context_switch pops; frame pointer 0 ends back traces */
    memset(sp, 0, 6 * sizeof *sp);
    t->ksp = (uint64_t)sp;
    spin_lock(&all_threads_lock);
    list_push_back(&all_threads, &t->all_link);
    all_threads_count++;
    spin_unlock(&all_threads_lock);
    return 0;
}

void thread_start(struct thread *t)
{
    spin_lock(&t->lock);
    if (t->bound_cpu >= 0 && !disp_cpu_online(cpus[t->bound_cpu]))
        /* t has inherited a binding that was just removed from its creator (cpu.c) */
        t->bound_cpu = -1;
    modelled_pass(curthread->modelled, t->modelled);
    t->state = TS_RUNNABLE;
    t->last_ran = lbolt; /* age_thread() counts the waiting time of t from now on */
    disp_enqueue(t, QUEUE_NEW);
    spin_unlock(&t->lock);
}

void thread_destroy(struct thread *t)
{
    bool gone;

    /*
     * The thread may still be leaving its CPU, with interrupts off.  That CPU releases t->lock when it no
     * longer uses the stack of t.
     */
    do {
        spin_lock(&t->lock);
        gone = t->state == TS_ZOMBIE || t->state == TS_SLEEP;
        ASSERT(gone || (t->state == TS_ONPROC && t->exiting),
               "destroyed after it ended or before it began");
        spin_unlock(&t->lock);
        if (!gone)
            cpu_pause();
    } while (!gone);
    spin_lock(&all_threads_lock);
    class_forget_thread_locked(t);
    list_remove(&t->all_link);
    all_threads_count--;
    spin_unlock(&all_threads_lock);
    if (t->fpu != NULL)
        kmem_cache_free(fpu_cache, t->fpu);
    if (t->modelled != NULL)
        kmem_free(t->modelled);
    kstack_free(t->kstack);
}

struct thread *kthread_create(const char *name, int pri, void (*fn)(void *), void *arg)
{
    struct thread *t = kmem_alloc(sizeof *t);

    if (t == NULL)
        return NULL;
    thread_prepare(t, NULL);
    t->base_pri = t->pri = (int16_t)pri;
    if (thread_init(t, name, fn, arg) != 0) {
        kmem_free(t);
        return NULL;
    }
    thread_start(t);
    return t;
}
