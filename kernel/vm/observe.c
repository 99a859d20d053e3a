// SPDX-License-Identifier: MIT
/*
 * observe.c - observes which threads touch which pages, and moves pages and threads.
 *
 * THEORY      lgrp/observe.h has the idea and the rules.  This file samples: it hides translations, and handles the
 *             faults that follow.
 *             A *hidden* entry of a page table has PTE_P cleared, and keeps its other bits.  The next access faults.
 *             For all other purposes (counts of mappings, reverse mapping, unmapping, fork) the entry is still in
 *             use.  So hiding is cheap, and a page that is hidden is neither freed nor taken for unused.
 *             Together with the entry, the page gets PG_SAMPLED.  A fault that finds this flag clears it and records
 *             the home of the thread as the page's user.  If the page is to move, migrate.c moves it at once, because
 *             the entry must change anyway.
 *             Each process earns samples with the CPU time that it uses, so the cost is a bounded part of this time.
 *             A process that has used less than OBSERVE_DELAY_NS is not sampled: it may end soon.  The pages of a space
 *             are sampled in the order of their addresses, in a circle.  All pages of the circle have the same chance,
 *             and one TLB flush is enough for many pages.
 *             These pages are left alone: of files; of locked memory; of 2 MiB; of memory with a placement policy of
 *             its own (a shared object with advice for any part is left alone as a whole); and those that relatives
 *             share since fork().
 * INVARIANTS  I1  a translation is hidden only while the lock that protects the entry is held (pt.h), so its page is
 *                 in the object
 * LOCKING     as->lock for reading while pages are hidden; then the object's lock, for HIDE_PER_HOLD entries at a time.
 *             The object's lock also guards page.observed.  Fields of struct observed without [a] belong to the
 *             observer.
 * SEE ALSO    lgrp/observe.h, migrate.c, proc/observer.c, docs/lgroups.md, tests/test_observe.py
 */
#include "vm/observe.h"

#include "disp/thread.h"
#include "lgrp/lgrp.h"
#include "lgrp/observe.h"
#include "lib/bitmap.h"
#include "lib/rng.h"
#include "mem/kmem.h"
#include "vm/migrate.h"
#include "vm/pt.h"

#define NS_PER_S         1000000000ul
#define OBSERVE_DELAY_NS (NS_PER_S / 10) /* CPU time of a process before the first sample */
#define HIDE_PER_HOLD    64u             /* entries looked at while a lock is held */
#define SLICE_LEAST      64u             /* pages: fewer do not justify a TLB flush */
#define SLICE_MOST       4096ul          /* pages sampled at a time */
#define LOOKS_PER_PAGE   16u             /* entries looked at for each page that may be sampled */

/* What is known of an address space.  [a] atomic: faults change or read it */
struct observed {
    uint64_t cpu_ns;          /* CPU time of the process when it last earned samples */
    uint64_t credit;          /* earned and not used, in pages * ns */
    uint64_t cursor;          /* address of the next page to be sampled */
    uint32_t rate;            /* pages for each second of CPU time */
    _Atomic uint32_t samples; /* [a] since the rate was last chosen */
    _Atomic uint32_t wrong;   /* [a] of these, on pages that are likely to move */
    _Atomic uint32_t hot;     /* [a] lgroup whose shared pages are being spread; LGRP_NONE: none */
    _Atomic uint32_t
        shared[LGRP_MAX]; /* [a] samples of shared pages, by lgroup of the page; decays */
};

_Atomic uint64_t observe_counts[OBSERVE_NCOUNTS];

static void count_observed(enum observe_count what, uint64_t n)
{
    atomic_fetch_add_explicit(&observe_counts[what], n, memory_order_relaxed);
}

/* ---- sampling -------------------------------------------------------------------------------- */

static bool is_seg_observable(const struct seg *s)
{
    if (s->locked || seg_huge(s))
        return false;
    if (seg_shared(s))
        return s->obj->kind == OBJ_ANON && s->obj->nadvised == 0 && !s->obj->locked;
    return s->obj == NULL && s->policy == LGRP_MEM_POLICY_DEFAULT;
}

/* Hides the translation in an entry, if its page may move.  Returns whether it did.  The caller holds the lock (I1). */
static bool hide_entry(uint64_t *entry)
{
    uint64_t e = __atomic_load_n(entry, __ATOMIC_RELAXED);
    struct page *pg = pte_page(e);
    uint32_t flags;

    if ((e & (PTE_P | PTE_LOCKED)) != PTE_P)
        return false;
    flags = atomic_load_explicit(&pg->flags, memory_order_relaxed);
    if ((flags & (PG_LOCKED | PG_MARKED)) != 0 ||
        ((flags & PG_PRIVATE) != 0 &&
         atomic_load_explicit(&pg->nsharers, memory_order_relaxed) != 1))
        return false;
    atomic_fetch_or_explicit(&pg->flags, PG_SAMPLED, memory_order_relaxed);
    __atomic_fetch_and(entry, ~PTE_P, __ATOMIC_RELEASE);
    return true;
}

/* How far a turn of the circle has come. */
struct sweep {
    uint64_t at;    /* address of the next page */
    unsigned pages; /* translations that may still be hidden */
    unsigned looks; /* entries that may still be looked at */
};

/* Hides translations of a segment, from w->at on. */
static void hide_pages_of_seg(struct seg *s, struct sweep *w)
{
    struct vm_object *o = seg_shared(s) ? s->obj : &s->as->anon;
    uint64_t a = max_of(w->at, s->n.start), *pd;

    while (w->pages > 0 && w->looks > 0 &&
           (a = pt_next_present(s->as, a, s->n.end, &pd)) < s->n.end) {
        uint64_t stop = min_of(round_down(a, PT_SPAN) + PT_SPAN, s->n.end);
        uint64_t *entry = pt_table_of(*pt_entry(pd, a, PT_L2)) + pt_slot(a);

        stop = min_of(stop, a + min_of(w->looks, HIDE_PER_HOLD) * PAGE_SIZE);
        w->looks -= (unsigned)((stop - a) >> PAGE_SHIFT);
        spin_lock(&o->lock);
        for (; a < stop && w->pages > 0; a += PAGE_SIZE, entry++)
            w->pages -= hide_entry(entry);
        spin_unlock(&o->lock);
    }
    w->at = a;
}

/* Samples up to `pages` pages of the space, from ob->cursor on. */
static void sample_space(struct as *as, struct observed *ob, unsigned pages)
{
    struct sweep w = {ob->cursor, pages, pages * LOOKS_PER_PAGE};

    rw_enter_read(&as->lock);
    for (struct seg *s = seg_after(as, w.at); s != NULL && w.pages > 0 && w.looks > 0;
         s = seg_next(s))
        if (is_seg_observable(s))
            hide_pages_of_seg(s, &w);
    rw_exit_read(&as->lock);
    if (w.pages != pages)
        tlb_flush(as, ob->cursor, max_of(w.at, ob->cursor + PAGE_SIZE));
    ob->cursor = w.pages == 0 || w.looks == 0 ? w.at : 0;
    count_observed(OBSERVE_SAMPLED, pages - w.pages);
}

/* Chooses the rate and the hot lgroup again, if there are enough samples. */
static void review_samples(struct observed *ob, uint64_t users)
{
    uint32_t shared[LGRP_MAX], samples = ob->samples, wrong = ob->wrong;

    if (samples < OBSERVE_ENOUGH)
        return;
    ob->rate = observe_rate(ob->rate, samples, wrong);
    atomic_fetch_sub(&ob->samples, samples);
    atomic_fetch_sub(&ob->wrong, wrong);
    for (unsigned g = 0; g < LGRP_MAX; g++)
        shared[g] = ob->shared[g];
    ob->hot = observe_hot(shared, users, ob->hot);
    for (unsigned g = 0; g < LGRP_MAX; g++)
        atomic_fetch_sub(&ob->shared[g], (shared[g] + 1) / 2);
}

void observe_as(struct as *as, uint64_t cpu_ns, uint64_t users)
{
    struct observed *ob = as->observed;
    uint64_t pages;

    if (ob == NULL) {
        if (cpu_ns < OBSERVE_DELAY_NS)
            return;
        ob = kmem_zalloc(sizeof *ob);
        if (ob == NULL)
            return;
        ob->cpu_ns = cpu_ns;
        ob->rate = OBSERVE_RATE_MAX;
        ob->hot = LGRP_NONE;
        as->observed = ob;
    }
    review_samples(ob, users);
    ob->credit += (max_of(cpu_ns, ob->cpu_ns) - ob->cpu_ns) * ob->rate;
    ob->cpu_ns = max_of(cpu_ns, ob->cpu_ns);
    pages = min_of(ob->credit / NS_PER_S, SLICE_MOST);
    if (pages < SLICE_LEAST)
        return;
    ob->credit = 0;
    sample_space(as, ob, (unsigned)pages);
}

/* ---- samples --------------------------------------------------------------------------------- */

/*
 * Counts a sample for curthread, and chooses its home again if it has enough samples.  Returns whether the page should
 * stay where it is, because the thread will perhaps follow it.
 */
static bool follow_own_pages(const struct observe_result *r, unsigned at)
{
    struct thread *t = curthread;
    unsigned to;
    bool leans;

    if (t->observed == NULL)
        t->observed = kmem_zalloc(sizeof *t->observed);
    if (t->observed == NULL || !r->known)
        return false;
    observe_thread_add(t->observed, r->own, at);
    leans = observe_thread_leans(t->observed, at);
    to = observe_thread_choose(t->observed);
    if (to != LGRP_NONE && to != t->lg.home && thread_follow_pages(t, to, true)) {
        count_observed(OBSERVE_THREADS, 1);
        return true;
    }
    return to == LGRP_NONE && leans && r->own && r->verdict == OBSERVE_MOVE &&
           thread_follow_pages(t, at, false);
}

/* The lgroup to which a shared page of `at` moves; LGRP_NONE: it stays. */
static unsigned spread_shared_page(struct observed *ob, struct page *pg, unsigned at)
{
    uint64_t users = curthread->lg.proc->bitmap;

    atomic_fetch_add_explicit(&ob->shared[at], 1, memory_order_relaxed);
    if (ob->hot != at || users == 0 || observe_page_spread(&pg->observed))
        return LGRP_NONE;
    for (uint64_t skip = rng_below(bit_count(users)); skip > 0; skip--)
        users &= users - 1;
    return bit_first(users);
}

/* Moves the page.  The caller holds o->lock; the function releases it. */
static void move_observed_page_unlock(struct vm_object *o, struct page *pg, unsigned to,
                                      enum observe_count what)
{
    enum trace_moved why = what == OBSERVE_SPREAD ? TRACE_MOVED_SPREAD : TRACE_MOVED_USED;

    count_observed(migrate_to(o, pg, to, why) ? what : OBSERVE_FAILED, 1);
}

bool observe_touch_unlock(struct seg *s, struct vm_object *o, struct page *pg)
{
    struct thread *t = curthread;
    struct observed *ob = s->as->observed;
    unsigned home = t->lg.home, at = lgrp_topo.node_lgrp[pg->node], to = LGRP_NONE;
    struct observe_result r;
    bool follows;

    atomic_fetch_and(&pg->flags, ~(uint32_t)PG_SAMPLED);
    if (ob == NULL || t->as != s->as || home >= LGRP_MAX || !is_seg_observable(s) ||
        (o->family != NULL && pg->nsharers != 1))
        return false;
    count_observed(OBSERVE_SAMPLES, 1);
    atomic_fetch_add_explicit(&ob->samples, 1, memory_order_relaxed);
    r = observe_page(&pg->observed, &(struct observe_sample){(uint8_t)home, (uint8_t)at, t->tid});
    follows = follow_own_pages(&r, at);
    if (r.verdict == OBSERVE_SHARED)
        to = spread_shared_page(ob, pg, at);
    else if (r.verdict == OBSERVE_MOVE && !follows)
        to = home;
    if (r.verdict == OBSERVE_WAIT || r.verdict == OBSERVE_MOVE || to != LGRP_NONE)
        atomic_fetch_add_explicit(&ob->wrong, 1, memory_order_relaxed);
    if (to == LGRP_NONE || to == at)
        return false;
    move_observed_page_unlock(o, pg, to,
                              r.verdict == OBSERVE_SHARED ? OBSERVE_SPREAD : OBSERVE_MOVED);
    return true;
}
