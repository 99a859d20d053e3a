// SPDX-License-Identifier: MIT
/*
 * pageout.c - the pageout daemon and fsflush, which carry out the decisions of paging.h.
 *
 * THEORY      Memory is a cache of the disks: pages of files and programs stay in it while there is room.
 *             The pageout daemon is the kernel thread that makes room.  fsflush is the kernel thread that
 *             writes dirty pages to the disk regularly, so that a crash loses little.
 *             All frames of all boards are in one circle.  The daemon wakes up four times a second, and at
 *             once when a thread finds fewer than minfree pages free.  While fewer pages than paging_mark() are
 *             free, it moves both hands through the circle.
 *             To take a page, the daemon first unmaps it and makes it busy (PG_LOCKED).  For some dozens of
 *             such pages it then flushes the TLBs once, and frees the pages or puts them on the cache
 *             list.  Dirty file pages are written with their neighbours, and anonymous pages go to swap;
 *             both are freed when the disk has stored them.  A thread that finds fewer than throttlefree
 *             pages free sleeps until a round has ended.
 *             fsflush moves through the same circle, and sees every frame once in autoup seconds.  In each turn
 *             of the circle, it starts to write the dirty pages of each cluster of a file once.  It also counts
 *             the frames that cannot be freed.
 * INVARIANTS  I1  a page is freed only when no CPU's TLB can have a translation of it
 * LOCKING     scan_lock() locks the owner of one page at a time.  sleeping_lock (RANK_VM_TLB) is for threads
 *             that wait for memory.
 * TUNABLES    lotsfree ... max_percent_cpu, pageout_policy, priority_paging, cachefree: paging.h; autoup,
 *             tune_t_fsflushr, dopageflush, doiflush; pageout_timescale
 * SEE ALSO    victims.c, scan.c, cachelist.c, swap.c, docs/pageout.md
 */
#include "pages/pageout.h"

#include "disp/sync.h"
#include "disp/thread.h"
#include "disp/timer.h"
#include "mem/kstack.h"
#include "mem/usermem.h"
#include "stat/cpustat.h"
#include "stat/panic.h"
#include "stat/tunable.h"
#include "pages/cachelist.h"
#include "pages/deferred_release.h"
#include "pages/pcache.h"
#include "pages/reserve.h"
#include "pages/scan.h"
#include "pages/swap.h"
#include "pages/victims.h"

static uint64_t lotsfree, desfree, minfree, throttlefree, pageout_reserve, cachefree;
static uint64_t fastscan, slowscan, handspreadpages, maxpgio, min_percent_cpu, max_percent_cpu;
static uint64_t priority_paging, pages_before_pager = 200, deficit, needfree;
static uint32_t po_share = PO_SHARE_MIN, pageout_policy = 2;
static int64_t autoup = 30, tune_t_fsflushr = 5;
static uint32_t dopageflush = 1, doiflush = 1, pageout_timescale = 1;

#define PAGES_MAX (1ul << 30) /* 4 TiB; paging_setup() limits values to this machine's memory */

/* Whether the policy uses priority_paging and cachefree, which Solaris 8 and later do not have. */
static bool before_solaris_8(void)
{
    return pageout_policy < 2;
}
TUNABLE_BOOT(
    pageout_policy, 0, 2,
    "default 2: 0 before Solaris 7, 1 Solaris 7, 2 Solaris 8's cache list; read at boot; paging.h");
TUNABLE_BOOT_IF(priority_paging, before_solaris_8, 0, 1,
                "default 0: 1 makes cachefree 2 x lotsfree; policy 1; read at boot");
TUNABLE_IF(cachefree, before_solaris_8, 128, PAGES_MAX,
           "pages, default lotsfree: below it file pages are taken; policy 1; live");
TUNABLE(lotsfree, 128, PAGES_MAX,
        "pages, default memory/64, at least 512 KiB: below it the scanner runs; live");
TUNABLE(desfree, 64, PAGES_MAX, "pages, default lotsfree/2; live");
TUNABLE(minfree, 32, PAGES_MAX,
        "pages, default desfree/2: below it the scanner is woken at once; live");
TUNABLE(throttlefree, 32, PAGES_MAX,
        "pages, default minfree: below it threads that want memory sleep; live");
TUNABLE(pageout_reserve, 16, PAGES_MAX,
        "pages, default throttlefree/2: the last ones, for the scanner itself; live");
TUNABLE(
    fastscan, 1000, PAGES_MAX,
    "pages a second, default 64 MiB or half of memory: speed of the scanner when nothing is free; live");
TUNABLE(slowscan, 4, PAGES_MAX,
        "pages a second, default 100 or fastscan/10: speed at the mark; live");
TUNABLE_BOOT(handspreadpages, 1, PAGES_MAX,
             "pages, default fastscan: distance of the clock's hands; read at boot");
TUNABLE(maxpgio, 4, 1 << 20, "default 40: page-outs started in a second; live");
TUNABLE(min_percent_cpu, 1, 100,
        "default 4: part of one CPU that the scanner may take at the mark; live");
TUNABLE(max_percent_cpu, 1, 100, "default 80: the same with nothing free; live");
TUNABLE(po_share, PO_SHARE_MIN, PO_SHARE_MAX,
        "default 8: pages that more address spaces map are passed over; moves by itself");
TUNABLE(pages_before_pager, 0, PAGES_MAX,
        "default 200 pages above lotsfree: sequential readers free what they leave behind; live");
TUNABLE_RO(deficit,
           "pages that are going to be wanted: always 0, for nothing is swapped in as a whole");
TUNABLE_RO(needfree, "threads that wait for memory");
TUNABLE(autoup, 1, 86400, "default 30 s: in so much time fsflush looks at all of memory; live");
TUNABLE(tune_t_fsflushr, 1, 86400, "default 5 s: fsflush wakes so often; live");
TUNABLE(dopageflush, 0, 1, "default 1: fsflush writes pages; live");
TUNABLE(doiflush, 0, 1, "default 1: fsflush writes inodes; live");
TUNABLE(pageout_timescale, 1, 1000,
        "default 1: pageout and fsflush run so many times as often, for disks with divided times");

#define NS_PER_S 1000000000ull
#define ROUND_NS (NS_PER_S / PAGING_HZ)

static struct thread *pageout_thread, *fsflush_thread;
static struct spinlock sleeping_lock = SPINLOCK_INIT(RANK_VM_TLB);
static struct cv pageout_cv; /* the daemon sleeps here       */
static struct cv memory_cv;  /* threads wait here for memory */
static _Atomic bool kicked;
static _Atomic uint64_t progress; /* calls of pageout_freed() while threads waited */
/*
 * `progress` when a thread last gave up waiting: threads are not throttled until `progress`
 * changes.
 */
static _Atomic uint64_t in_vain = UINT64_MAX;
/* frames that cannot be freed and that mem_unpageable() does not count */
static uint64_t other_frames;

/*
 * Divides the time `ns` of a daemon by pageout_timescale.  If the times of the modelled disks are divided by a
 * number, the times of the daemons must be divided by it, too.  Otherwise a disk would fill all
 * memory between two rounds of a daemon, which a disk with real times never does.
 */
static uint64_t scale_pageout_time(uint64_t ns)
{
    return ns / max_of(pageout_timescale, 1u);
}

/* Reads the tunables as they are now, and replaces invalid values by valid ones. */
static struct paging load_paging_tunables(void)
{
    struct paging p = {lotsfree,        desfree,      minfree,         throttlefree,
                       pageout_reserve, cachefree,    fastscan,        slowscan,
                       handspreadpages, maxpgio,      min_percent_cpu, max_percent_cpu,
                       priority_paging, scan_total(), pageout_policy};

    paging_setup(&p, PAGE_SIZE);
    return p;
}

/* Sets the tunables to the valid values that are in force, with a warning where a different value was set. */
static void clamp_paging_tunables(void)
{
    struct paging p = load_paging_tunables();
    const struct {
        const char *name;
        uint64_t *var, value;
    } v[] = {
        {"lotsfree", &lotsfree, p.lotsfree},
        {"desfree", &desfree, p.desfree},
        {"minfree", &minfree, p.minfree},
        {"throttlefree", &throttlefree, p.throttlefree},
        {"pageout_reserve", &pageout_reserve, p.pageout_reserve},
        {"cachefree", &cachefree, p.cachefree},
        {"fastscan", &fastscan, p.fastscan},
        {"slowscan", &slowscan, p.slowscan},
        {"handspreadpages", &handspreadpages, p.handspreadpages},
        {"maxpgio", &maxpgio, p.maxpgio},
        {"min_percent_cpu", &min_percent_cpu, p.min_percent_cpu},
        {"max_percent_cpu", &max_percent_cpu, p.max_percent_cpu},
    };

    for (unsigned i = 0; i < array_size(v); i++) {
        if (*v[i].var != 0 && *v[i].var != v[i].value &&
            (v[i].var != &cachefree || before_solaris_8()))
            warn(
                "%s=%lu does not fit this machine's memory or the other variables; %lu is in force",
                v[i].name, *v[i].var, v[i].value);
        *v[i].var = v[i].value;
    }
}

struct paging pageout_now(uint64_t *share, uint64_t *waiting)
{
    *share = po_share;
    *waiting = needfree;
    return load_paging_tunables();
}

static uint64_t count_free_frames(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < nnodes; i++)
        n += mem_nodes[i].nfree_pages;
    return n;
}

uint64_t freemem(void)
{
    return count_free_frames() + cachelist_pages();
}

bool pageout_is_short(void)
{
    return freemem() <= lotsfree;
}

bool pageout_spare(uint64_t n)
{
    bool yes = freemem() > throttlefree + n;

    if (!yes)
        pageout_kick();
    return yes;
}

uint64_t pageout_spare_pages(void)
{
    uint64_t n = freemem();

    return n - min_of(n, throttlefree);
}

bool pageout_low_file_memory(void)
{
    return freemem() < lotsfree + pages_before_pager;
}

uint64_t pageout_promisable(void)
{
    return scan_total() - min_of(scan_total(), other_frames + desfree);
}

/* ---- threads that need memory ---------------------------------------------------------------- */

/*
 * Frames that the hands have passed since a page was last freed, pushed, or seen in I/O.  After
 * BARREN_TURNS turns of the circle without such a page, no page can be taken.  Without this
 * counter, a useless wait would end only by the number of waits, after minutes.
 */
static _Atomic uint64_t barren;
#define BARREN_TURNS 4u

void pageout_kick(void)
{
    if (!atomic_exchange(&kicked, true))
        cv_signal(&pageout_cv);
}

void pageout_freed(void)
{
    if (needfree != 0) {
        atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
        atomic_store_explicit(&barren, 0, memory_order_relaxed);
        cv_broadcast(&memory_cv);
    }
}

/* Sleeps until the daemon has made a round or pages have become free. */
static void wait_pageout_round(void)
{
    spin_lock(&sleeping_lock);
    needfree++;
    pageout_kick();
    cv_wait_spin(&memory_cv, &sleeping_lock, "memory");
    needfree--;
    spin_unlock(&sleeping_lock);
}

#define RECLAIM_BATCH 64u  /* pages taken from the cache list at once                        */
#define HOPELESS      200u /* waits in a row without a freed page: then the allocation fails */

static bool is_pageout_daemon(void)
{
    return curthread == pageout_thread;
}

/*
 * Number of frames that only the daemon may take, because it needs frames to write pages to the
 * disk.
 */
static uint64_t daemon_reserve(void)
{
    return pageout_reserve < throttlefree ? pageout_reserve : throttlefree / 2;
}

/*
 * The number of frames that the caller must leave free.  An ordinary user leaves some frames to the
 * superuser, who needs them for commands that end processes.
 */
static uint64_t frames_to_leave(void)
{
    bool user = this_cpu()->irq_depth == 0 && !proc_is_superuser();

    return user ? throttlefree : daemon_reserve();
}

bool pageout_may_take(void)
{
    return count_free_frames() >= frames_to_leave() || is_pageout_daemon();
}

/*
 * Frees pages of the node's cache list; after a failed attempt, of the cache list of any node.
 * Returns their number.
 */
static unsigned reclaim_cached_pages(const struct mem_need *need)
{
    const struct mem_node *n = &mem_nodes[need->node];
    unsigned got = cachelist_reclaim(need->node, RECLAIM_BATCH);

    for (unsigned k = 0; need->failed && got == 0 && k < n->nnear; k++)
        got = cachelist_reclaim(n->near[k], RECLAIM_BATCH);
    return got;
}

static bool is_frame_for_caller(void)
{
    return freemem() > frames_to_leave();
}

static bool has_nothing_to_take(void)
{
    return barren >= BARREN_TURNS * scan_total();
}

/* While few frames are free, waits until the daemon has freed some, unless a thread has just given up waiting. */
static void throttle_allocation(void)
{
    uint64_t since = progress;
    unsigned i = 0;

    while (i < HOPELESS && freemem() < throttlefree && since != in_vain) {
        wait_pageout_round();
        i = has_nothing_to_take() ? HOPELESS : i + 1;
    }
    if (i == HOPELESS && progress == since)
        in_vain = since;
}

/* Waits until a frame is free.  false: there were HOPELESS waits in a row without a freed page. */
static bool wait_for_frame(void)
{
    uint64_t since = progress, now;
    unsigned i = 0;

    while (i < HOPELESS) {
        wait_pageout_round();
        if (is_frame_for_caller())
            return true;
        now = progress;
        if (now != since)
            i = 0;
        else
            i = has_nothing_to_take() ? HOPELESS : i + 1;
        since = now;
        if (i == HOPELESS && oom_frees())
            i = 0;
    }
    if (progress == since)
        in_vain = since;
    return is_frame_for_caller();
}

enum mem_wait mem_wait(struct mem_need *need)
{
    if (pageout_thread == NULL || (need->failed && need->tries == 0))
        return MEM_EXHAUSTED;
    need->tries -= need->failed;
    if (cachelist_on && irq_enabled() && reclaim_cached_pages(need) != 0)
        return MEM_FREED;
    if (freemem() < minfree || (cachelist_on && !need->may_sleep))
        pageout_kick();
    if (!need->may_sleep || is_pageout_daemon())
        return MEM_CANNOT_SLEEP;
    if (!need->failed)
        throttle_allocation();
    if (need->failed ? wait_for_frame() : is_frame_for_caller())
        return MEM_FREED;
    return proc_is_ending() ? MEM_ENDING : MEM_EXHAUSTED;
}

/* ---- taking pages -------------------------------------------------------------------------------- */

struct round {
    struct paging p;
    struct victims v;
    uint64_t pushes; /* page-outs started                                         */
    uint64_t taken;  /* pages                                                     */
    /* anonymous pages can go to swap; if not set, anonymous pages are passed over */
    bool swap;
    bool waits; /* the scan found a page that is in I/O                            */
};

/* Flushes TLBs, then frees or starts to write the pages taken so far, and counts them in the round. */
static void finish_scan_round(struct round *r)
{
    struct swap_out_result went = victims_finish(&r->v); /* I1 */

    r->pushes += went.writing != 0;
    r->taken += went.freed + went.writing;
}

/*
 * Unmaps a dirty page, and starts writing it and its dirty neighbours.  The caller has locked the owner; the
 * function unlocks it.
 */
static void push_file_unlock(struct round *r, const struct scan_page *sp)
{
    struct vm_object *o = sp->own.obj;
    uint64_t cluster = pcache_cluster(), first = sp->pg->index - sp->pg->index % cluster;

    rmap_unmap(sp->own, sp->pg, &r->v.tlb);
    atomic_fetch_or_explicit(&sp->pg->flags, PG_RECLAIM, memory_order_relaxed);
    pcache_pin(o);
    spin_unlock(&o->lock);
    tlb_batch_done(&r->v.tlb);
    object_writeback(o, first, first + cluster - 1, WRITE_RECLAIM);
    pcache_unpin(o);
    r->pushes++;
    r->taken++;
}

/*
 * The verdict on a page.  A page is kept if it cannot be written now, because this round has reached maxpgio or
 * swap is full.
 */
static enum page_verdict judge_page(const struct round *r, const struct page_seen *s,
                                    const struct page *pg, enum hand hand)
{
    enum page_verdict verdict = paging_judge(&r->p, s, hand, freemem(), po_share);
    /* A page that keeps its swap slot needs no write. */
    bool kept = (atomic_load_explicit(&pg->flags, memory_order_relaxed) & PG_SLOT) != 0;

    if (verdict == PAGE_PUSH && !kept &&
        (r->pushes >= max_of(r->p.maxpgio / PAGING_HZ, 1ul) ||
         (s->kind == KIND_ANON && !swap_room())))
        verdict = PAGE_KEEP;
    return verdict;
}

enum { FEW_SPACES = 16 };

/*
 * Whether few segments or private objects can map the page.  If so, the mappings of its whole cluster can be
 * searched quickly.  That matters because interrupts are off during the search.
 */
static bool is_in_few_spaces(const struct scan_page *sp)
{
    uint64_t index = sp->pg->index;
    unsigned n = 0;

    if (sp->own.family != NULL) {
        const struct list *all = &sp->own.family->objs, *l = all->next;

        for (; l != all && n <= FEW_SPACES; l = l->next)
            n++;
    } else {
        struct itree *all = &sp->own.obj->segs;
        struct itree_node *s = itree_next(all, NULL, index, index);

        for (; s != NULL && n <= FEW_SPACES; s = itree_next(all, s, index, index))
            n++;
    }
    return n <= FEW_SPACES;
}

/*
 * Takes an anonymous page, and also those neighbours in its aligned cluster that the hand would
 * take.  So these pages get adjacent slots on the disk, and can be read back together.  The caller
 * has locked the owner; the function unlocks it.
 */
static void take_cluster_unlock(struct round *r, const struct scan_page *sp, enum hand hand)
{
    uint64_t n = is_in_few_spaces(sp) ? swap_cluster_pages() : 1,
             first = sp->pg->index - sp->pg->index % n;
    struct scan_page near;
    struct page_seen s;

    for (uint64_t i = first; i < first + n; i++) {
        if (i == sp->pg->index) {
            if (!victims_take_anon(&r->v, sp))
                break;
            continue;
        }
        if (!scan_neighbour(sp, i, &near))
            continue;
        s = page_seen_now(&near, &r->v.tlb);
        if (judge_page(r, &s, near.pg, hand) == PAGE_PUSH)
            victims_take_anon(&r->v, &near);
        if (near.own.family != NULL)
            page_release(near.pg);
    }
    scan_unlock(sp);
}

/* Lets one hand look at one page.  Returns whether the page counts for the goal of the round. */
static bool check_page(struct round *r, struct page *pg, enum hand hand)
{
    enum scan_use use = scan_use(pg);
    struct scan_page sp;
    struct page_seen s;
    enum page_verdict verdict;

    CPUSTAT_INC(scan);
    r->waits |=
        (atomic_load_explicit(&pg->flags, memory_order_relaxed) & (PG_WRITEBACK | PG_LOCKED)) != 0;
    if ((use != SCAN_DISK && use != SCAN_ANON) ||
        (use == SCAN_ANON && (!r->swap || paging_spares(&r->p, KIND_ANON, freemem()))) ||
        !scan_lock(SCAN_PAGEOUT, pg, &sp))
        return false;
    s = page_seen_now(&sp, &r->v.tlb);
    verdict = judge_page(r, &s, pg, hand);
    if (verdict == PAGE_CLEAR)
        page_referenced(&sp, true, &r->v.tlb);
    if (verdict == PAGE_PUSH && s.kind == KIND_ANON)
        take_cluster_unlock(r, &sp, hand);
    else if (verdict == PAGE_PUSH)
        push_file_unlock(r, &sp);
    else if (verdict == PAGE_FREE)
        victims_take_file(&r->v, &sp);
    else
        scan_unlock(&sp);
    if (victims_full(&r->v))
        finish_scan_round(r);
    return verdict != PAGE_SKIP;
}

static struct scan_pos front, back;

/* Moves the hands for one round (a second has four rounds).  Returns the number of pages taken. */
static uint64_t scan_round(void)
{
    struct round r = {.p = load_paging_tunables(), .swap = swap_room() || swap_kept() != 0};
    uint64_t goal = paging_goal(&r.p, freemem(), deficit, needfree != 0), done = 0, looked = 0;
    uint64_t budget = paging_percent(&r.p, freemem()) * scale_pageout_time(ROUND_NS) / 100;
    uint64_t start = clock_mono_ns();
    const unsigned check = 256; /* the clock is read after each 256 frames */

    victims_init(&r.v);
    while (done < goal && freemem() < paging_mark(&r.p) + needfree && looked < 2 * r.p.physmem) {
        bool wrapped = false, ignored = false, counts;

        counts = check_page(&r, scan_next(&front, &wrapped), FRONT);
        counts |= check_page(&r, scan_next(&back, &ignored), BACK);
        if (wrapped)
            CPUSTAT_INC(rev);
        done += counts;
        if (++looked % check == 0 && clock_mono_ns() - start > budget)
            break;
    }
    finish_scan_round(&r);
    barren = r.taken == 0 && r.pushes == 0 && !r.waits ? barren + looked : 0;
    return r.taken;
}

/* Frees pages of the cache list on nodes with few free frames, for allocations that cannot wait. */
static void refill_low_nodes(void)
{
    for (unsigned i = 0; cachelist_on && i < nnodes; i++)
        if (mem_nodes[i].nfree_pages < mem_nodes[i].low_pages)
            cachelist_reclaim(i, (unsigned)mem_nodes[i].low_pages);
}

static void pageout_main(void *arg)
{
    unsigned fruitless = 0;

    (void)arg;
    for (;;) {
        struct paging p;

        spin_lock(&sleeping_lock);
        cv_broadcast(&memory_cv);
        if (!atomic_load(&kicked))
            (void)cv_wait_sig_spin(&pageout_cv, &sleeping_lock,
                                   clock_mono_ns() + scale_pageout_time(ROUND_NS), "pageout");
        atomic_store(&kicked, false);
        spin_unlock(&sleeping_lock);
        refill_low_nodes();
        clamp_paging_tunables();
        p = load_paging_tunables();
        if ((freemem() < paging_mark(&p) + needfree || kstack_many()) && kstack_reap() != 0)
            pageout_freed();
        if (freemem() < paging_mark(&p) + needfree)
            fruitless = scan_round() == 0 ? fruitless + 1 : 0;
        else
            fruitless = 0;
        po_share = paging_share(po_share, fruitless, freemem() > p.lotsfree);
        /* there is no page to take: wait until disks have written some */
        if (needfree != 0 && fruitless != 0)
            thread_sleep_ns(scale_pageout_time(NS_PER_S / 100));
    }
}

/* ---- fsflush --------------------------------------------------------------------------------- */

#define PATIENCE 16 /* attempts to lock an owner; after them the page waits for the next turn */

/*
 * Starts writing the dirty pages of a cluster, if this frame holds the first page of the cluster that is in
 * memory.  So each cluster is written once in a turn of the circle, wherever its frames are.
 */
static void flush_cluster(struct page *pg)
{
    uint64_t cluster = pcache_cluster(), first, resident, dirty;
    struct vm_object *o;
    struct scan_page sp;

    for (unsigned i = 0; !scan_lock(SCAN_FSFLUSH, pg, &sp); i++) {
        if (i == PATIENCE)
            return;
        cpu_pause();
    }
    if ((atomic_load(&pg->flags) & PG_DISK) == 0) { /* the frame has got another use meanwhile */
        scan_unlock(&sp);
        return;
    }
    o = sp.own.obj;
    first = resident = dirty = pg->index - pg->index % cluster;
    if (radix_next(&o->tree, &resident) != pg ||
        radix_next_tagged(&o->tree, &dirty, RADIX_DIRTY) == NULL || dirty >= first + cluster) {
        scan_unlock(&sp);
        return;
    }
    pcache_pin(o);
    scan_unlock(&sp);
    object_writeback(o, first, first + cluster - 1, WRITE_BEHIND);
    pcache_unpin(o);
}

static void fsflush_main(void *arg)
{
    struct scan_pos pos = scan_start(0);
    uint64_t other = 0, seconds = 0;

    (void)arg;
    for (;;) {
        struct fsflush f = {autoup, tune_t_fsflushr};
        uint64_t n;

        if (fsflush_setup(&f)) {
            warn("autoup %ld, tune_t_fsflushr %ld: %ld and %ld are in force", autoup,
                 tune_t_fsflushr, f.autoup, f.interval);
            autoup = f.autoup;
            tune_t_fsflushr = f.interval;
        }
        thread_sleep_ns(scale_pageout_time((uint64_t)f.interval * NS_PER_S));
        for (n = fsflush_pages(&f, scan_total()); n > 0; n--) {
            bool wrapped = false;
            struct page *pg = scan_next(&pos, &wrapped);
            enum scan_use what = scan_use(pg);

            other += what == SCAN_OTHER;
            if (wrapped) {
                other_frames = other;
                reserve_recount();
                other = 0;
            }
            if (dopageflush != 0 && what == SCAN_DISK)
                flush_cluster(pg);
        }
        seconds += (uint64_t)f.interval;
        if (doiflush != 0 && seconds >= (uint64_t)f.autoup) {
            vfs_sync_inodes();
            seconds = 0;
        }
    }
}

void pageout_start(void)
{
    clamp_paging_tunables();
    cachelist_on = pageout_policy == 2;
    back = scan_start(0);
    front = scan_start(handspreadpages);
    cv_init(&pageout_cv);
    cv_init(&memory_cv);
    other_frames = scan_total() - count_free_frames() - mem_unpageable();
    reserve_recount();
    for (unsigned i = 0; i < nnodes; i++)
        mem_nodes[i].low_pages =
            max_of((cachelist_on ? desfree : minfree) / nnodes, (uint64_t)RECLAIM_BATCH);
    dying_start();
    fsflush_thread = kthread_create("fsflush", PRI_SYS, fsflush_main, NULL);
    pageout_thread = kthread_create("pageout", PRI_SYS, pageout_main, NULL);
    if (pageout_thread == NULL || fsflush_thread == NULL)
        panic("no memory for the pageout daemon");
    pageout_stats_init();
}
