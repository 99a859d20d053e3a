// SPDX-License-Identifier: MIT
/*
 * deferred_release.c - the end of what had its last user where nobody may sleep.
 *
 * THEORY      Whoever unmaps or protects pages of others holds their address spaces for the time of the flush (tlb.h).
 *             When a process has ended meanwhile, that reference is the last one, and the end of the space lets files
 *             go.  That may wait for what the holder has in hand: pages under way to the disk, a commit, a pinned
 *             object.  A page on its way to swap holds its object, and the disk's interrupt gives it up.
 *             So a thread of its own ends them.
 * LOCKING     dying_lock (RANK_VM_TLB)
 * SEE ALSO    tlb.c, as.c, swap.c
 */
#include "vm/deferred_release.h"

#include "disp/sync.h"
#include "disp/thread.h"
#include "stat/panic.h"
#include "vm/as.h"
#include "vm/tlb.h"

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

static void release_dying_as(struct dying *d)
{
    as_release(container_of(d, struct as, dying));
}

void as_release_later(struct as *as)
{
    uint32_t n = as->refs;

    while (n > 1 && !atomic_compare_exchange_weak(&as->refs, &n, n - 1))
        ;
    if (n <= 1)
        dying_later(&as->dying, release_dying_as);
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
    if (kthread_create("spaces", PRI_SYS, dying_main, NULL) == NULL)
        panic("no memory for the thread that ends spaces");
}
