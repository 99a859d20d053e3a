// SPDX-License-Identifier: MIT
/*
 * dying.c - the end of address spaces whose last reference a user of reverse mappings had.
 *
 * THEORY      Whoever unmaps or protects pages of others holds their spaces for the time of the flush (tlb.h).  When a
 *             process has ended meanwhile, that reference is the last one, and the end of the space lets files go.
 *             That may wait for what the holder has in hand: pages under way to the disk, a commit, a pinned object.
 *             So a thread of its own does it.
 * LOCKING     dying_lock (RANK_VM_TLB)
 * SEE ALSO    tlb.c, as.c
 */
#include "disp/sync.h"
#include "disp/thread.h"
#include "stat/panic.h"
#include "vm/as.h"
#include "vm/tlb.h"

static struct spinlock dying_lock = SPINLOCK_INIT(RANK_VM_TLB);
static struct list     dying = LIST_INIT(dying);
static struct cv       dying_cv;

void as_release_later(struct as *as)
{
    uint32_t n = as->refs;

    while (n > 1 && !atomic_compare_exchange_weak(&as->refs, &n, n - 1))
        ;
    if (n > 1)
        return;
    spin_lock(&dying_lock);
    list_init(&as->dead_link);
    list_push_back(&dying, &as->dead_link);
    cv_signal(&dying_cv);
    spin_unlock(&dying_lock);
}

static void dying_main(void *arg)
{
    struct as *as;

    (void)arg;
    for (;;) {
        spin_lock(&dying_lock);
        while ((as = list_pop(&dying, struct as, dead_link)) == NULL)
            cv_wait_spin(&dying_cv, &dying_lock, "spaces");
        spin_unlock(&dying_lock);
        as_release(as);
    }
}

void dying_start(void)
{
    cv_init(&dying_cv);
    if (kthread_create("spaces", PRI_SYS, dying_main, NULL) == NULL)
        panic("no memory for the thread that ends spaces");
}
