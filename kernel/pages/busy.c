// SPDX-License-Identifier: MIT
/*
 * busy.c - waiting for a busy page.
 *
 * THEORY      A page with PG_LOCKED is busy: it is being filled or replaced by another frame, or it is on its
 *             way to swap.  A page with PG_WRITEBACK is being written to its file, and a page with
 *             PG_MKWRITE is getting its disk blocks.  A thread that must wait for a page sleeps on
 *             one of a few condition variables, chosen by the frame number.
 * LOCKING     the lock of a condition variable (RANK_VM_TLB)
 * SEE ALSO    docs/memory.md
 */
#include "pages/busy.h"

#include "disp/sync.h"

#define WAIT_BUCKETS 32

static struct {
    struct spinlock lock;
    struct cv cv;
} waiting[WAIT_BUCKETS];

static unsigned page_wait_bucket(const struct page *pg)
{
    return (unsigned)(page_to_phys(pg) >> PAGE_SHIFT) % WAIT_BUCKETS;
}

void page_wait(struct page *pg, uint32_t mask)
{
    unsigned i = page_wait_bucket(pg);

    spin_lock(&waiting[i].lock);
    while ((atomic_load(&pg->flags) & mask) != 0)
        cv_wait_disk(&waiting[i].cv, &waiting[i].lock, "busy page");
    spin_unlock(&waiting[i].lock);
}

void page_done(struct page *pg, uint32_t mask)
{
    unsigned i = page_wait_bucket(pg);

    spin_lock(&waiting[i].lock);
    atomic_fetch_and(&pg->flags, ~mask);
    cv_broadcast(&waiting[i].cv);
    spin_unlock(&waiting[i].lock);
}

void busy_boot(void)
{
    for (unsigned i = 0; i < WAIT_BUCKETS; i++) {
        spin_init(&waiting[i].lock, RANK_VM_TLB);
        cv_init(&waiting[i].cv);
    }
}
