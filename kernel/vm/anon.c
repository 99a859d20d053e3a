// SPDX-License-Identifier: MIT
/*
 * anon.c - private pages: an address space's own object, and copy on write between relatives.
 *
 * THEORY      fork() copies no page and no page table.  The child's object gets a copy of the parent's
 *             tree, so that both name the same frames; `share` says how many objects name a frame.
 *             The parent's translations become read-only, the child has none.  A write by either side
 *             faults: with share > 1 it gets a copy, with share 1 it is alone again and keeps the frame.
 *             Share can rise only in fork(), which excludes faults of the space whose object names the
 *             page; so a fault that sees 1 may rely on it.
 *             All objects that descend from one exec() are a family; a page leads to it, and so to every
 *             mapping it has (rmap.c).
 * INVARIANTS  I1  share and refs of a private page rise under the family's lock, share before another thread can see
 *                 an object name the page; they fall anywhere, share first.  So a page with share 1 is named by one
 *                 object at most, and one whose counts do not fit together is in use, which is the safe answer
 * LOCKING     family, then the object of the parent; the child's is reached only through the family.  A few leaves
 *             are copied per hold.
 * SEE ALSO    docs/memory.md
 */
#include "lib/errno.h"
#include "mem/kmem.h"
#include "pages/pageout.h"
#include "vm/placement.h"
#include "vm/pt.h"
#include "pages/swap.h"

#define LEAVES_PER_HOLD 16  /* of 64 pages each: bounds the time with interrupts off */
#define PAGES_PER_HOLD  128 /* freed with one hold of the lock                      */

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

/* Lets go of a page that one object does not name any more, and that it does not map. */
static void anon_decref(struct page *pg)
{
    atomic_fetch_sub_explicit(&pg->share, 1, memory_order_relaxed);
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
    radix_destroy(&as->anon.tree, decref_anon_item, NULL); /* nobody finds it any more */
    anon_family_release(f);
}

void anon_family_release(struct anon_family *f)
{
    if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
        return;
    pageout_quiesce();
    kmem_free(f);
}

/* Write-protects the parent's translations of a leaf's pages. */
static void protect_leaf(struct as *parent, const struct radix_node *leaf)
{
    uint64_t addr = leaf->prefix << RADIX_BITS << PAGE_SHIFT;
    uint64_t *table = pt_leaf(parent, addr);

    if (table == NULL) { /* none there, or a 2 MiB page */
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

/* Gives the child one leaf's pages.  All locks are held. */
static bool share_leaf(struct as *child, struct as *parent, const struct radix_node *leaf)
{
    if (radix_clone_leaf(&child->anon.tree, leaf) == NULL)
        return false;
    for (uint64_t bits = leaf->present; bits != 0; bits &= bits - 1) {
        struct page *pg = leaf->slot[__builtin_ctzll(bits)];

        atomic_fetch_add_explicit(&pg->share, 1, memory_order_relaxed);
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
    child->tidy = parent->anon.npages == 0;
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

/* A copy of a page that relatives share, at a new index of `as`; NULL: no memory. */
static struct page *copy_for_move(struct page *from)
{
    struct page *to = page_alloc(from->node, from->order, ALLOC_WHOLE);

    if (to != NULL) {
        page_copy(to, from, from->order);
        atomic_fetch_or_explicit(&to->flags, PG_ANON | PG_PRIVATE | PG_UPTODATE,
                                 memory_order_relaxed);
        to->family = from->family;
        atomic_store_explicit(&to->share, 1, memory_order_relaxed);
    }
    return to;
}

/* Gets a page back from swap.  Locks of family and object are held, and released. */
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

int anon_move(struct as *as, uint64_t from, uint64_t to, uint64_t len)
{
    struct vm_object *o = &as->anon;
    uint64_t index = from >> PAGE_SHIFT, last = (from + len - 1) >> PAGE_SHIFT;
    uint64_t shift = (to - from) >> PAGE_SHIFT; /* may be "negative": wraps */
    struct page *pg, *moved;
    unsigned tries = 0;
    int err = 0;

    as->tidy = false;
    for (; err == 0; index++) {
        spin_lock(&o->family->lock);
        spin_lock(&o->lock);
        pg = radix_next(&o->tree, &index);
        if (pg != NULL && index <= last) {
            bool movable =
                atomic_load(&pg->share) == 1 && (atomic_load(&pg->flags) & PG_LOCKED) == 0;

            if (!movable && (atomic_load(&pg->flags) & PG_SWAPPED) !=
                                0) { /* its bytes are needed: here, and again */
                err = swap_in_anon_unlock(o, pg);
                index--;
                continue;
            }
            moved = movable ? pg : copy_for_move(pg);
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
        if (unlikely(err == -ENOMEM) && pageout_make_room(tries++)) {
            err = 0;
            index--;
        }
    }
    return err;
}
