// SPDX-License-Identifier: MIT
/*
 * swap_area.c - swap areas: adding and removing them, and allocating their slots.
 *
 * THEORY      A swap area is a set of page-sized slots on a disk, or in a file.  The blocks of a file are
 *             looked up once, when the area is added.  Before an area is removed, all pages on it are read
 *             back, and the slots that pages in memory keep there are freed.
 *             A slot that could not be written is never used again.  So a disk that fails runs out of
 *             slots, and allocations of memory fail.
 * LOCKING     areas_lock (RANK_VM_TLB) guards slots and counts.  areas_mutex is held while an area is added or
 *             removed.
 * SEE ALSO    slots.c, swap.c, docs/paging.md
 */
#include "pages/swap_area.h"

#include "blk/blk.h"
#include "disp/sync.h"
#include "disp/thread.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "pages/mapping.h"
#include "pages/pageout.h"
#include "pages/reserve.h"

struct swap_area swap_areas[SWAP_AREAS];
static struct spinlock areas_lock = SPINLOCK_INIT(RANK_VM_TLB);
static struct mutex areas_mutex;

/* ---- slots ----------------------------------------------------------------------------------- */

static bool is_open_for_pages(const struct swap_area *a)
{
    return a->vn != NULL && !a->leaving && a->slots.free != 0;
}

unsigned swap_take(unsigned want, struct swap_place *first)
{
    unsigned got = 0, n = 0;

    spin_lock(&areas_lock);
    for (unsigned i = 0; i < SWAP_AREAS && n == 0; i++) {
        struct swap_area *a = &swap_areas[i];

        if (!is_open_for_pages(a))
            continue;
        first->area = i;
        got = slots_take(&a->slots, want, &first->slot);
        for (n = 1; n < got && swap_follows((struct swap_place){i, first->slot + n - 1},
                                            (struct swap_place){i, first->slot + n});)
            n++;
        for (unsigned k = n; k < got; k++) /* not adjacent on the disk */
            slots_give(&a->slots, first->slot + k);
    }
    spin_unlock(&areas_lock);
    return n;
}

void swap_give(struct swap_place p)
{
    spin_lock(&areas_lock);
    slots_give(&swap_areas[p.area].slots, p.slot);
    spin_unlock(&areas_lock);
}

bool swap_room(void)
{
    for (unsigned i = 0; i < SWAP_AREAS; i++)
        if (is_open_for_pages(&swap_areas[i]))
            return true;
    return false;
}

bool swap_plenty(unsigned area)
{
    uint64_t pages, free;

    swap_total(&pages, &free);
    return !swap_areas[area].leaving && 2 * free >= pages;
}

void swap_retire(unsigned area)
{
    struct swap_area *a = &swap_areas[area];
    bool first;

    spin_lock(&areas_lock);
    first = a->usable-- == a->slots.pages - 1;
    spin_unlock(&areas_lock);
    if (first)
        warn("%s: a page of swap cannot be written", a->name);
}

/* ---- areas ----------------------------------------------------------------------------------- */

void swap_areas_boot(void)
{
    mutex_init(&areas_mutex, SLEEP_SWAP);
}

int swap_add(const struct swap_new *n)
{
    struct swap_area *a = NULL;
    uint64_t *bitmap;
    int err = -ENOMEM;

    if (n->pages < 2 || n->pages > UINT32_MAX)
        return -EINVAL;
    mutex_enter(&areas_mutex);
    for (unsigned i = 0; i < SWAP_AREAS; i++) {
        if (swap_areas[i].vn == NULL && a == NULL)
            a = &swap_areas[i];
        if (swap_areas[i].vn == n->vn)
            err = -EBUSY;
    }
    bitmap = kmem_zalloc(slots_bytes(n->pages));
    if (err != -EBUSY && a != NULL && bitmap != NULL && n->sector == NULL &&
        disk_claim(n->disk) != 0)
        err = -EBUSY; /* the disk of a swap file is claimed by its file system */
    if (err != -EBUSY && a != NULL && bitmap != NULL) {
        vnode_hold(n->vn);
        str_copy(a->name, n->name, sizeof a->name);
        a->disk = n->disk;
        a->sector = n->sector;
        /* the first page keeps its contents, which can be a label */
        slots_init(&a->slots, bitmap, n->pages);
        a->usable = n->pages - 1;
        a->leaving = false;
        atomic_thread_fence(memory_order_seq_cst);
        a->vn = n->vn;
        err = 0;
    } else {
        kmem_free(bitmap);
    }
    mutex_exit(&areas_mutex);
    return err;
}

static bool is_area_unused(const struct swap_area *a)
{
    return a->slots.free == a->usable;
}

/* Calls swap_in_leaving() for an object while area `arg` is being removed; -EINTR: the process is ending. */
static int swap_in_object(struct vm_object *o, void *arg)
{
    if (proc_is_ending())
        return -EINTR;
    return is_area_unused(arg) ? 0 : swap_in_leaving(o);
}

/* Reads back all pages on an area that is being removed.  Returns the errors of swap_in_object(). */
static int swap_in_area(struct swap_area *a)
{
    int err = object_each_sysv(swap_in_object, a);

    return err != 0 ? err : as_each_anon(swap_in_object, a);
}

/* attempts, one every 10 ms: pages may be on their way to swap, spaces may be ending */
#define TRIES 200

/* Repeats swap_in_area() until the area is empty.  Also returns -EBUSY: the area is not empty after TRIES attempts. */
static int empty_swap_area(struct swap_area *a)
{
    int err = swap_in_area(a);

    for (unsigned i = 0; err == 0 && !is_area_unused(a) && i < TRIES; i++) {
        thread_sleep_ns(10000000);
        err = swap_in_area(a);
    }
    return err == 0 && !is_area_unused(a) ? -EBUSY : err;
}

int swap_remove(struct vnode *vn)
{
    struct swap_area *a = NULL;
    int err = -EINVAL;

    mutex_enter(&areas_mutex);
    for (unsigned i = 0; i < SWAP_AREAS; i++)
        if (swap_areas[i].vn == vn)
            a = &swap_areas[i];
    if (a != NULL) {
        uint64_t used = a->usable - a->slots.free, kept = min_of(swap_kept(), used), total, others,
                 promised, limit;

        swap_total(&total, &others);
        reserve_state(&promised, &limit);
        a->leaving = true;
        if (promised + a->usable > limit || used - kept > freemem() + others - a->slots.free)
            err = -ENOMEM;
        else
            err = empty_swap_area(a);
        if (err == 0) {
            a->vn = NULL;
            if (a->sector == NULL)
                disk_release(a->disk);
            kmem_free(a->slots.used);
            kmem_free(a->sector);
            vn_release(vn);
        } else {
            a->leaving = false;
        }
    }
    mutex_exit(&areas_mutex);
    return err;
}

bool swap_next(unsigned i, struct swap_info *out)
{
    for (unsigned k = 0; k < SWAP_AREAS; k++) {
        const struct swap_area *a = &swap_areas[k];

        if (a->vn != NULL && i-- == 0) {
            *out = (struct swap_info){.dev = disk_dev(a->disk),
                                      .pages = a->usable,
                                      .free = a->slots.free,
                                      .file = a->sector != NULL};
            str_copy(out->name, a->name, sizeof out->name);
            return true;
        }
    }
    return false;
}

void swap_total(uint64_t *pages, uint64_t *free)
{
    *pages = *free = 0;
    for (unsigned i = 0; i < SWAP_AREAS; i++)
        if (swap_areas[i].vn != NULL && !swap_areas[i].leaving) {
            *pages += swap_areas[i].usable;
            *free += swap_areas[i].slots.free;
        }
}
