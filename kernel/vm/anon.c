// SPDX-License-Identifier: MIT
/*
 * anon.c - private pages: an address space's own object, and copy on write between relatives.
 *
 * THEORY      Copying all memory in fork() would be slow, and mostly useless, because the child often calls
 *             exec() at once.  So fork() copies no page and no page table.  Parent and child share the pages,
 *             and a page is copied only when one of them writes to it (*copy on write*).
 *             The child's object gets a copy of the parent's tree, so that both name the same frames.  A
 *             page's `nsharers` is the number of objects that name it.  The parent's translations become
 *             read-only; the child has none.  A write by either faults.  If nsharers > 1, the writer gets a
 *             copy.  If nsharers is 1, the writer is the only user and keeps the frame.
 *             nsharers rises only in fork(), which holds the parent's as->lock for writing, so no fault of that
 *             space runs at the same time.  So if a fault finds nsharers == 1, the number cannot rise during
 *             the fault.
 *             All objects that descend from one exec() are a family.  A page leads to its family, and the
 *             family to every mapping of the page (rmap.c).
 * INVARIANTS  I1  A private page's nsharers, and its references from objects, rise under the family's lock.
 *                 nsharers rises before another thread can find an object that names the page.  Both fall with
 *                 or without locks, nsharers first.  So at most one object names a page with nsharers 1.  A page
 *                 whose refs and nsharers do not match counts as in use, which is safe
 * LOCKING     The family's lock is taken, then the lock of the parent's object.  The child's object needs no
 *             lock yet, because other threads find it only through the family.  Only a few leaves of the tree
 *             are copied before the locks are released and taken again.
 * SEE ALSO    docs/memory.md
 */
#include "lib/errno.h"
#include "mem/kmem.h"
#include "pages/busy.h"
#include "pages/placement.h"
#include "vm/pt.h"
#include "pages/swap.h"

/* leaves (of 64 pages) copied under one hold of the locks: limits the time with interrupts off */
#define LEAVES_PER_HOLD 16
/* pages freed under one hold of the lock: limits the time with interrupts off */
#define PAGES_PER_HOLD  128

int anon_init(struct as *as, struct anon_family *f)
{
    struct vm_object *o = &as->anon;

    object_init_vnode(o, NULL, as);
    o->kind = OBJ_ANON;
    o->shared = false;
    if (f == NULL) {
        f = kmem_alloc(sizeof *f);
        if (f == NULL)
            return -ENOMEM;
        spin_init(&f->lock, RANK_VM_FAMILY);
        list_init(&f->objs);
        atomic_store_explicit(&f->refs, 0, memory_order_relaxed);
    }
    o->family = f;
    spin_lock(&f->lock);
    list_push_back(&f->objs, &o->family_link);
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    spin_unlock(&f->lock);
    return 0;
}

/* Drops an object's share of the page and its reference.  The object no longer names or maps the page. */
static void anon_decref(struct page *pg)
{
    atomic_fetch_sub_explicit(&pg->nsharers, 1, memory_order_relaxed);
    page_release(pg);
}

static void decref_anon_item(void *arg, void *item)
{
    (void)arg;
    anon_decref(item);
}

void anon_fini(struct as *as)
{
    struct anon_family *f = as->anon.family;

    spin_lock(&f->lock);
    list_remove(&as->anon.family_link);
    spin_unlock(&f->lock);
    /* No lock is needed: no other thread can find the tree. */
    radix_destroy(&as->anon.tree, decref_anon_item, NULL);
    anon_family_release(f);
}

/* Write-protects the parent's translations of a leaf's pages. */
static void protect_leaf(struct as *parent, const struct radix_node *leaf)
{
    uint64_t addr = leaf->prefix << RADIX_BITS << PAGE_SHIFT;
    uint64_t *table = pt_leaf(parent, addr);

    if (table == NULL) { /* nothing is mapped there, or a 2 MiB page */
        uint64_t *pd = pt_pd(parent, addr), *e = pd != NULL ? pt_entry(pd, addr, PT_L2) : NULL;

        if (e != NULL && *e != 0)
            __atomic_fetch_and(e, ~PTE_W, __ATOMIC_RELAXED);
        return;
    }
    table += pt_slot(addr);
    for (uint64_t bits = leaf->present; bits != 0; bits &= bits - 1) {
        uint64_t *e = &table[__builtin_ctzll(bits)];

        if ((*e & PTE_W) != 0)
            __atomic_fetch_and(e, ~PTE_W, __ATOMIC_RELAXED);
    }
}

/*
 * Shares one leaf's pages with the child; false: no memory.  The caller has locked the family and the parent's
 * object.
 */
static bool share_leaf(struct as *child, struct as *parent, const struct radix_node *leaf)
{
    if (radix_clone_leaf(&child->anon.tree, leaf) == NULL)
        return false;
    for (uint64_t bits = leaf->present; bits != 0; bits &= bits - 1) {
        struct page *pg = leaf->slot[__builtin_ctzll(bits)];

        atomic_fetch_add_explicit(&pg->nsharers, 1, memory_order_relaxed);
        page_hold(pg);
    }
    protect_leaf(parent, leaf);
    return true;
}

int anon_clone(struct as *child, struct as *parent)
{
    struct anon_family *f = parent->anon.family;
    struct radix_node *leaf;
    uint64_t index = 0;
    bool ok = true;

    do {
        spin_lock(&f->lock);
        spin_lock(&parent->anon.lock);
        for (unsigned n = 0; n < LEAVES_PER_HOLD && ok; n++) {
            leaf = radix_next_leaf(&parent->anon.tree, index);
            if (leaf == NULL)
                break;
            ok = share_leaf(child, parent, leaf);
            index = (leaf->prefix + 1) << RADIX_BITS;
        }
        spin_unlock(&parent->anon.lock);
        spin_unlock(&f->lock);
    } while (leaf != NULL && ok);
    child->anon_all_mapped = parent->anon.npages == 0;
    child->anon.npages = parent->anon.npages;
    tlb_flush_all(parent);
    return ok ? 0 : -ENOMEM;
}

void anon_drop(struct as *as, uint64_t start, uint64_t end)
{
    struct vm_object *o = &as->anon;
    uint64_t index = start >> PAGE_SHIFT, last = (end - 1) >> PAGE_SHIFT;
    struct page *pg;
    unsigned n;

    if (o->tree.root == NULL)
        return;
    do {
        n = 0;
        spin_lock(&o->lock);
        while (n < PAGES_PER_HOLD && (pg = radix_next(&o->tree, &index)) != NULL && index <= last) {
            radix_remove(&o->tree, index);
            o->npages -= 1ul << pg->order;
            anon_decref(pg);
            n++;
        }
        spin_unlock(&o->lock);
    } while (n == PAGES_PER_HOLD);
}

/*
 * Copies a page that relatives share, because such a page cannot itself change its index.  The copy is on the same
 * node, and the caller sets its index.  NULL: no memory.
 */
static struct page *copy_for_move(struct page *from)
{
    struct page *to = page_alloc(from->node, from->order, ALLOC_WHOLE);

    if (to != NULL) {
        page_copy(to, from, from->order);
        atomic_fetch_or_explicit(&to->flags, PG_ANON | PG_PRIVATE | PG_UPTODATE,
                                 memory_order_relaxed);
        to->family = from->family;
        atomic_store_explicit(&to->nsharers, 1, memory_order_relaxed);
    }
    return to;
}

/*
 * Reads a page back from swap.  0, -ENOMEM or -EIO.  The caller holds the locks of family and object; the
 * function releases them.
 */
static int swap_in_anon_unlock(struct vm_object *o, struct page *pg)
{
    struct placement pl = {LGRP_MEM_POLICY_NEXT, PAGE_SIZE, pg->index, true};
    int err;

    page_hold(pg);
    spin_unlock(&o->lock);
    spin_unlock(&o->family->lock);
    err = swap_in(o, pg, &pl, &(struct page_run){pg->index, 1}, true);
    page_release(pg);
    return err;
}

/*
 * Prepares a page for a change of its index: waits while a page of this space alone is busy, or reads a shared page
 * that must be copied from swap.  false: the page needs no preparation.  true: the caller must look at this index
 * again, after it has checked *err (0, -ENOMEM or -EIO).  The caller holds the locks of family and object; they are
 * released if the result is true.
 * @alone  no relative shares the page
 */
static bool prepare_move_unlock(struct vm_object *o, struct page *pg, bool alone, int *err)
{
    if ((atomic_load(&pg->flags) & (alone ? PG_LOCKED : PG_SWAPPED)) == 0)
        return false;
    if (!alone) {
        *err = swap_in_anon_unlock(o, pg);
        return true;
    }
    page_hold(pg);
    spin_unlock(&o->lock);
    spin_unlock(&o->family->lock);
    page_lock_wait(pg);
    page_release(pg);
    return true;
}

int anon_move(struct as *as, uint64_t from, uint64_t to, uint64_t len)
{
    struct vm_object *o = &as->anon;
    uint64_t index = from >> PAGE_SHIFT, last = (from + len - 1) >> PAGE_SHIFT;
    uint64_t shift = (to - from) >> PAGE_SHIFT; /* wraps around if to < from */
    struct page *pg, *moved;
    struct mem_need need = mem_need();
    int err = 0;

    as->anon_all_mapped = false;
    for (; err == 0; index++) {
        spin_lock(&o->family->lock);
        spin_lock(&o->lock);
        pg = radix_next(&o->tree, &index);
        if (pg != NULL && index <= last) {
            bool alone = atomic_load(&pg->nsharers) == 1;

            if (prepare_move_unlock(o, pg, alone, &err)) {
                index--;
                continue;
            }
            moved = alone ? pg : copy_for_move(pg);
            err = moved == NULL
                      ? -ENOMEM
                      : radix_insert(&o->tree, (index + shift) & (~0ul >> PAGE_SHIFT), moved);
            if (err == 0) {
                radix_remove(&o->tree, index);
                moved->index = (index + shift) & (~0ul >> PAGE_SHIFT);
                if (moved != pg)
                    anon_decref(pg);
            } else if (moved != NULL && moved != pg) {
                page_release(moved);
            }
        }
        spin_unlock(&o->lock);
        spin_unlock(&o->family->lock);
        if (pg == NULL || index > last)
            break;
        if (unlikely(err == -ENOMEM) && mem_wait(&need) == MEM_FREED) {
            err = 0;
            index--;
        }
    }
    return err;
}
