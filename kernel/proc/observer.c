// SPDX-License-Identifier: MIT
/*
 * observer.c - the observer: a kernel thread that samples the memory of processes.
 *
 * THEORY      With lgrp_balance=1, the observer looks at all processes 20 times a second, and tells vm/observe.c how
 *             much CPU time each of them has used.  vm/observe.c then samples pages of the process.  A process with a
 *             thread that is placed (disp/follow.c) is not sampled, because its program decides itself what is near.
 *             If processes share an address space, the one that has used most CPU time counts.
 *             Without lgrp_balance, and on a machine of one lgroup, the thread does not exist, and no page is sampled.
 * LOCKING     proc_lock while the threads of a process are counted
 * TUNABLES    lgrp_balance
 * SEE ALSO    vm/observe.c, lgrp/observe.h, docs/lgroups.md
 */
#include "lgrp/lgrp.h"
#include "proc/proc.h"
#include "stat/kstat.h"
#include "stat/panic.h"
#include "stat/tunable.h"
#include "vm/observe.h"

enum { OBSERVER_NS = 50000000 }; /* 50 ms between two looks */

static uint32_t lgrp_balance;
TUNABLE_BOOT(lgrp_balance, 0, 1,
             "1: pages and threads move to each other, as sampled touches show; 0; read at boot");

static const char *const observe_names[OBSERVE_NCOUNTS] = {
#define X(id, name) name,
    OBSERVE_COUNTS(X)
#undef X
};

/*
 * Finds process `pid`, if it may be sampled.  Returns it, with a reference, or NULL.
 * @cpu_ns  out: its CPU time
 * @users   out: set of lgroups that are homes of its threads
 */
static struct proc *find_observable_proc(int pid, uint64_t *cpu_ns, uint64_t *users)
{
    struct proc *p;
    struct lwp *l;

    spin_lock(&proc_lock);
    p = proc_find(pid);
    if (p != NULL && p->state == PROC_LIVE && !p->exiting) {
        *cpu_ns = p->runtime_dead_ns;
        *users = p->lgrp.bitmap;
        proc_hold(p);
        LIST_FOREACH (l, &p->lwps, proc_link) {
            *cpu_ns += thread_runtime_ns(&l->t);
            if (thread_is_placed(&l->t))
                *users = 0;
        }
    } else {
        p = NULL;
    }
    spin_unlock(&proc_lock);
    return p;
}

static void observe_process(int pid)
{
    uint64_t cpu_ns, users;
    struct proc *p = find_observable_proc(pid, &cpu_ns, &users);
    struct as *as;

    if (p == NULL)
        return;
    as = users != 0 ? proc_as_hold(p) : NULL;
    proc_release(p);
    if (as != NULL) {
        observe_as(as, cpu_ns, users);
        as_release(as);
    }
}

static void observer_main(void *arg)
{
    for (;;) {
        thread_sleep_ns(OBSERVER_NS);
        for (int pid = 0; (pid = proc_next(pid + 1)) > 0;)
            observe_process(pid);
    }
}

void observer_start(void)
{
    static struct kstat ks = {.module = "lgrp",
                              .name = "balance",
                              .kclass = "misc",
                              .nstat = OBSERVE_NCOUNTS,
                              .names = observe_names,
                              .values = observe_counts};

    if (lgrp_balance == 0 || nlgrps < 2)
        return;
    kstat_register(&ks);
    if (kthread_create("observer", PRI_SYS, observer_main, NULL) == NULL)
        panic("no memory for the observer");
}
