// SPDX-License-Identifier: MIT
/*
 * report.c - prints what each thread waits for, when the machine seems to hang.
 *
 * THEORY      A sleep that a signal can end is normal: a program waits for input, for example.  Other sleeps
 *             should be short, so in a machine that hangs they show the reason.  Runnable threads that wait for
 *             a CPU are printed, too.
 *             context_switch() (entry.S) has saved the registers of a sleeping thread on its stack: six
 *             registers, and above them the address at which it will continue.
 * LOCKING     The functions take no locks, because the thread that hangs may hold one.  The machine is about to
 *             stop.
 * SEE ALSO    kernel/main.c (nmi), tools/gdb/homeroom.py
 */
#include "disp/disp.h"
#include "disp/sync.h"
#include "stat/panic.h"

enum { AT_RBP = 4, AT_RIP = 6, MOST = 2000 /* threads: the list may be broken */ };

/* Prints one line and a back trace for `t`, which sleeps. */
static void print_sleeping_thread(const struct thread *t)
{
    const uint64_t *saved = (const uint64_t *)t->ksp;
    const struct sleeplock *l = t->blocked_on;
    const struct thread *owner = l != NULL ? lock_writer(l->word) : NULL;

    kprintf("thread %u %s waits for %s%s%s", t->tid, t->name,
            t->wait_what != NULL ? t->wait_what : "its start", owner != NULL ? "; held by " : "",
            owner != NULL ? owner->name : "");
    backtrace_from(saved[AT_RIP], saved[AT_RBP]);
}

void disp_report(void)
{
    const struct thread *t;
    unsigned left = MOST;

    LIST_FOREACH (t, &all_threads, all_link) {
        const struct disp_queue *on = t->queued_on;

        if (left-- == 0)
            break;
        if (t->state == TS_RUNNABLE)
            kprintf("thread %u %s waits for CPU %d, priority %d", t->tid, t->name,
                    on != NULL && on->cpu != NULL ? (int)on->cpu->id : -1, t->pri);
        else if (t->state == TS_SLEEP && !t->sleep_sig)
            print_sleeping_thread(t);
    }
}
