// SPDX-License-Identifier: MIT
/*
 * query.c - information about an address space, for meminfo(2), /proc, futexes and debuggers.
 *
 * THEORY      Results are snapshots: they are read from page tables, segments and objects under as->lock, and
 *             may be out of date when the caller uses them.  A query does not bring a page in.  Only
 *             as_access_remote() does: it faults pages in as the other process would, and copies the bytes
 *             through the kernel's direct map.
 * LOCKING     as->lock is held for reading.
 * SEE ALSO    docs/memory.md
 */
#include "lib/errno.h"
#include "lib/number.h"
#include "lib/string.h"
#include "vm/segplace.h"
#include "vm/pt.h"

static void fill_page_info(struct as_page_info *out, const struct page *pg, uint64_t addr)
{
    out->present = true;
    out->pagesize = PAGE_SIZE << pg->order;
    out->phys = page_to_phys(pg) + addr % out->pagesize;
    out->lgrp = lgrp_topo.node_lgrp[pg->node];
}

/*
 * Fills in *out for an address without a page-table entry.  Memory that was touched may still have a
 * page (after fork, or marked for migration).  A page of a file does not count, because its presence does not
 * mean that this space has touched it.
 */
static void query_unmapped_page(struct as_page_info *out, struct seg *s, uint64_t addr)
{
    struct vm_object *o = seg_shared(s) ? s->obj : &s->as->anon;
    uint64_t base = round_down(addr, seg_huge(s) ? HUGE_SIZE : PAGE_SIZE);
    struct page *pg;

    if (o->kind == OBJ_VNODE)
        return;
    spin_lock(&o->lock);
    pg = radix_lookup(&o->tree, seg_shared(s) ? seg_index(s, base) : base >> PAGE_SHIFT);
    if (pg != NULL && (atomic_load(&pg->flags) & PG_SWAPPED) == 0)
        fill_page_info(out, pg, addr);
    spin_unlock(&o->lock);
}

void as_query(struct as *as, const uint64_t *addr, unsigned n, struct as_page_info *out)
{
    rw_enter_read(&as->lock);
    for (unsigned i = 0; i < n; i++, out++) {
        bool huge;
        uint64_t e;

        struct seg *s = addr[i] < USER_TOP ? seg_find(as, addr[i]) : NULL;

        *out = (struct as_page_info){.mapped = s != NULL};
        if (s == NULL)
            continue;
        e = pt_find(as, addr[i], &huge);
        if (e != 0)
            fill_page_info(out, pte_page(e), addr[i]);
        else
            query_unmapped_page(out, s, addr[i]);
    }
    rw_exit_read(&as->lock);
}

uint64_t seg_skip_absent(struct seg *s, uint64_t addr, uint64_t end)
{
    struct vm_object *o = seg_shared(s) ? s->obj : &s->as->anon;
    uint64_t *pd, next = pt_next_present(s->as, addr, end, &pd);
    uint64_t from = seg_shared(s) ? seg_index(s, addr) : addr >> PAGE_SHIFT;
    uint64_t index = round_down(from, seg_huge(s) ? HUGE_SIZE >> PAGE_SHIFT : 1ul);

    if (o->kind == OBJ_VNODE) /* a page of a file does not count: see query_unmapped_page() */
        return next;
    spin_lock(&o->lock);
    if (radix_next(&o->tree, &index) != NULL && index < from + ((next - addr) >> PAGE_SHIFT))
        next = addr + (max_of(index, from) - from) * PAGE_SIZE;
    spin_unlock(&o->lock);
    return next;
}

uint64_t as_skip_absent(struct as *as, uint64_t addr, uint64_t end)
{
    uint64_t next = end;
    struct seg *s;

    rw_enter_read(&as->lock);
    s = seg_after(as, addr);
    if (s != NULL && s->n.start < end)
        next = seg_skip_absent(s, max_of(addr, s->n.start), min_of(end, s->n.end));
    rw_exit_read(&as->lock);
    return next;
}

/* Adds the mapped pages of a segment to *rss, and those of them with PG_ANON to *anon. */
static void count_mapped_pages(struct seg *s, uint64_t *rss, uint64_t *anon)
{
    uint64_t *pd, step;
    bool huge;

    for (uint64_t a = s->n.start; (a = pt_next_present(s->as, a, s->n.end, &pd)) < s->n.end;
         a += step) {
        uint64_t e = pt_find(s->as, a, &huge);

        step = huge ? HUGE_SIZE : PAGE_SIZE;
        if (e == 0)
            continue;
        *rss += step >> PAGE_SHIFT;
        if ((atomic_load_explicit(&pte_page(e)->flags, memory_order_relaxed) & PG_ANON) != 0)
            *anon += step >> PAGE_SHIFT;
    }
}

int as_next_seg(struct as *as, uint64_t addr, struct seg_info *out)
{
    struct seg *s;
    int err = -ENOENT;

    rw_enter_read(&as->lock);
    s = seg_after(as, addr);
    if (s != NULL) {
        struct placement pl = place_of_seg(s, s->n.start);

        *out = (struct seg_info){.start = s->n.start,
                                 .end = s->n.end,
                                 .prot = s->prot,
                                 .flags = (int)s->flags,
                                 .off = s->vn != NULL ? s->obj_first << PAGE_SHIFT : 0,
                                 .vn = s->vn,
                                 .policy = (int)pl.policy,
                                 .what = s->what,
                                 .nodump = s->nodump};
        if (s->vn != NULL)
            vnode_hold(s->vn);
        count_mapped_pages(s, &out->rss_pages, &out->anon_pages);
        err = 0;
    }
    rw_exit_read(&as->lock);
    return err;
}

void as_usage(struct as *as, struct as_usage *out)
{
    int64_t rss = atomic_load_explicit(&as->rss_pages, memory_order_relaxed);
    int64_t peak = atomic_load_explicit(&as->peak_pages, memory_order_relaxed);

    rw_enter_read(&as->lock);
    *out = (struct as_usage){
        .virt_pages = as->virt_pages,
        .rss_pages = (uint64_t)max_of(rss, (int64_t)0),
        .data_pages = as->data_pages,
        .stack_pages = as->stack_pages,
        .text_pages = as->text_pages,
        .locked_pages = as->locked_pages,
        .peak_rss_pages = (uint64_t)max_of(rss, peak),
    };
    rw_exit_read(&as->lock);
}

/* Counts the private pages of a segment that are in memory. */
static int64_t count_private_frames(struct seg *s)
{
    struct vm_object *o = &s->as->anon;
    uint64_t i = s->n.start >> PAGE_SHIFT, end = s->n.end >> PAGE_SHIFT;
    struct page *pg;
    int64_t n = 0;

    do { /* in parts, so that the lock is not held for long */
        uint64_t stop = min_of(end, i + PT_ENTRIES);

        spin_lock(&o->lock);
        while ((pg = radix_next(&o->tree, &i)) != NULL && i < stop) {
            if ((atomic_load_explicit(&pg->flags, memory_order_relaxed) & PG_SWAPPED) == 0)
                n += 1l << pg->order;
            i++;
        }
        spin_unlock(&o->lock);
        if (pg == NULL)
            break;
    } while (i < end);
    return n;
}

int64_t as_unpromised(struct as *as, int64_t *own, uint64_t *rss)
{
    int64_t all = max_of(atomic_load_explicit(&as->rss_pages, memory_order_relaxed), (int64_t)0);
    int64_t resv = (int64_t)as->resv.pages, n = (int64_t)as->anon.npages - resv;
    struct seg_node *node;

    if (rw_tryenter_read(&as->lock)) {
        n = 0;
        LIST_FOREACH (node, &as->segs.order, link) {
            struct seg *s = seg_of(node);

            if (!seg_shared(s) && seg_need(s->prot, s->flags, 1) == 0)
                n += count_private_frames(s);
        }
        rw_exit_read(&as->lock);
    }
    *own =
        max_of(n, 0l) + max_of((int64_t)as->resv.tables - RESERVE_TABLES - resv / PT_ENTRIES, 0l);
    /*
     * Locked pages of files count as own pages of the space, because pageout cannot take these
     * pages.
     */
    *own += max_of(min_of((int64_t)as->locked_pages, all - resv - *own), 0l);
    *rss = (uint64_t)all;
    return max_of(all - resv, *own);
}

/*
 * The page at `index` of `o`, if it is the one that entry `e` maps and is not busy; else NULL.  The caller
 * gets a reference.  While it holds the reference, the page neither migrates nor goes to swap.
 */
static struct page *hold_mapped_page(struct vm_object *o, uint64_t index, uint64_t e)
{
    struct page *pg;

    spin_lock(&o->lock);
    pg = radix_lookup(&o->tree, index);
    if (pg != NULL && (pg != pte_page(e) || (atomic_load(&pg->flags) & PG_LOCKED) != 0))
        pg = NULL;
    if (pg != NULL)
        page_hold(pg);
    spin_unlock(&o->lock);
    return pg;
}

/*
 * Whether the mapped page may be changed, although its entry is not writable: it is a private page that only this
 * space has, and there is no copy on swap.  That stays so while the page and as->lock are held.
 */
static bool may_force_write(const struct page *pg)
{
    return atomic_load(&pg->nsharers) == 1 && (atomic_load(&pg->flags) & PG_SLOT) == 0;
}

/*
 * Copies `n` bytes, all in one page, from `addr` to `buf` or, for a write, from `buf` to `addr`.  Returns false
 * if `addr` is not mapped now, or not writable; then nothing was copied.  The caller holds as->lock for
 * reading.
 */
static bool copy_mapped_bytes(struct as *as, uint64_t addr, char *buf, size_t n, enum as_access how)
{
    bool write = how != ACCESS_READ, force;
    struct seg *s = seg_find(as, addr);
    bool huge;
    uint64_t e = s != NULL ? pt_find(as, addr, &huge) : 0, base;
    struct vm_object *o;
    struct page *pg = NULL;
    char *at;

    force = s != NULL && how == ACCESS_FORCE && !seg_shared(s);
    if (e == 0 || (write && !force && (e & PTE_W) == 0))
        return false;
    base = round_down(addr, huge ? HUGE_SIZE : PAGE_SIZE);
    o = seg_shared(s) ? s->obj : &as->anon;
    pg = hold_mapped_page(o, seg_shared(s) ? seg_index(s, base) : base >> PAGE_SHIFT, e);
    if (pg == NULL && !seg_shared(s) && s->obj != NULL && !write) {
        o = s->obj;
        pg = hold_mapped_page(o, seg_index(s, base), e);
    }
    if (pg == NULL)
        return false;
    if ((write && ((pt_find(as, addr, &huge) ^ e) & (PTE_ADDR | PTE_W)) !=
                      0) || /* the page was swapped out and in meanwhile */
        (force && !may_force_write(pg))) {
        page_release(pg);
        return false;
    }
    at = (char *)page_to_virt(pg) + (addr - base);
    if (write) {
        memcpy(at, buf, n);
        if (o->kind == OBJ_VNODE)
            object_dirty(o, pg); /* the page may have been cleaned since the entry was read */
    } else {
        memcpy(buf, at, n);
    }
    page_release(pg);
    return true;
}

long as_access_remote(struct as *as, uint64_t addr, void *buf, size_t n, enum as_access how)
{
    static const enum fault_access fault[] = {
        [ACCESS_READ] = FAULT_READ, [ACCESS_WRITE] = FAULT_WRITE, [ACCESS_FORCE] = FAULT_FORCE};
    size_t done = 0;

    while (done < n && addr < USER_TOP) {
        size_t piece = min_of(n - done, PAGE_SIZE - addr % PAGE_SIZE);
        bool copied = false;
        int code;

        while (!copied) {
            if (fault_resolve(as, addr, fault[how], &code) != 0)
                return (long)done;
            rw_enter_read(&as->lock);
            copied = copy_mapped_bytes(as, addr, (char *)buf + done, piece, how);
            rw_exit_read(&as->lock);
        }
        done += piece;
        addr += piece;
    }
    return (long)done;
}

bool as_is_untouched(struct as *as, uint64_t addr)
{
    struct vm_object *o;
    struct seg *s;
    uint64_t base;
    bool untouched = false;

    rw_enter_read(&as->lock);
    s = seg_find(as, addr);
    if (s != NULL && s->vn == NULL) {
        o = seg_shared(s) ? s->obj : &as->anon;
        base = round_down(addr, seg_huge(s) ? HUGE_SIZE : PAGE_SIZE);
        spin_lock(&o->lock);
        untouched =
            radix_lookup(&o->tree, seg_shared(s) ? seg_index(s, base) : base >> PAGE_SHIFT) == NULL;
        spin_unlock(&o->lock);
    }
    rw_exit_read(&as->lock);
    return untouched;
}

/*
 * The number of an object, for futex keys.  Unlike its address, the number is never used again: a thread may
 * still wait with the key when the object is freed.
 */
static uint64_t object_number(struct vm_object *o)
{
    static _Atomic uint64_t last;

    return number_at(&o->number, &last);
}

int as_futex_key(struct as *as, uint64_t addr, struct futex_key *key)
{
    struct seg *s;

    *key = (struct futex_key){(uint64_t)as, addr};
    rw_enter_read(&as->lock);
    s = seg_find(as, addr);
    if (s != NULL && (s->prot & (PROT_READ | PROT_WRITE)) == 0)
        s = NULL;
    if (s != NULL && seg_shared(s))
        *key = (struct futex_key){object_number(s->obj),
                                  (s->obj_first << PAGE_SHIFT) + (addr - s->n.start)};
    rw_exit_read(&as->lock);
    return s != NULL ? 0 : -EFAULT;
}
