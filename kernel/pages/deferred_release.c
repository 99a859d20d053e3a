// SPDX-License-Identifier: MIT
/*
 * deferred_release.c - a kernel thread that drops last references for threads that must not sleep.
 *
 * THEORY      A page on its way to swap holds a reference to its object.  The disk's interrupt handler must
 *             drop that reference, and must not sleep.  If it is the last reference, the object is freed, which
 *             takes a mutex.  So a kernel thread drops it.
 * LOCKING     dying_lock (RANK_VM_TLB)
 * SEE ALSO    swap.c
 */
#include "pages/deferred_release.h"

#include "disp/sync.h"
#include "disp/thread.h"
#include "stat/panic.h"

static struct spinlock dying_lock = SPINLOCK_INIT(RANK_VM_TLB);
static struct list dying = LIST_INIT(dying);
static struct cv dying_cv;

void dying_later(struct dying *d, void (*end)(struct dying *d))
{
    d->end = end;
    spin_lock(&dying_lock);
    list_push_back(&dying, &d->link);
    cv_signal(&dying_cv);
    spin_unlock(&dying_lock);
}

static void dying_main(void *arg)
{
    struct dying *d;

    (void)arg;
    for (;;) {
        spin_lock(&dying_lock);
        while ((d = list_pop(&dying, struct dying, link)) == NULL)
            cv_wait_spin(&dying_cv, &dying_lock, "last references");
        spin_unlock(&dying_lock);
        d->end(d);
    }
}

void dying_start(void)
{
    cv_init(&dying_cv);
    if (kthread_create("last refs", PRI_SYS, dying_main, NULL) == NULL)
        panic("no memory for the thread that drops last references");
}
