// SPDX-License-Identifier: MIT
/*
 * wake.c - ends the sleep of a thread: a wake-up, or a signal.
 *
 * LOCKING     t->lock (RANK_THREAD), then run-queue locks
 * SEE ALSO    sync.c, where threads go to sleep; docs/dispatcher.md
 */
#include "disp/disp.h"
#include "stat/modelled.h"

bool thread_wake(struct thread *t, struct thread *from)
{
    spin_lock(&t->lock);
    if (from != NULL) /* even if t does not sleep yet: this wake-up lets t continue */
        modelled_pass(from->modelled, t->modelled);
    if (t->state != TS_SLEEP) {
        spin_unlock(&t->lock);
        return false;
    }
    t->state = TS_RUNNABLE;
    class_slept(t);
    disp_enqueue(t, QUEUE_WOKEN);
    spin_unlock(&t->lock);
    return true;
}

void thread_interrupt(struct thread *t)
{
    struct cpu *c = NULL;

    atomic_fetch_or(&t->ast, AST_SIGNAL);
    spin_lock(&t->lock);
    if (t->state == TS_SLEEP && t->sleep_sig) {
        modelled_pass(curthread->modelled, t->modelled);
        t->state = TS_RUNNABLE;
        class_slept(t);
        disp_enqueue(t, QUEUE_WOKEN);
    } else if (t->state == TS_ONPROC && t != curthread) {
        c = t->cpu;
    }
    spin_unlock(&t->lock);
    if (c != NULL)
        disp_poke(c, POKE_SIGNAL); /* c checks the thread's ast before it returns to user mode */
}
