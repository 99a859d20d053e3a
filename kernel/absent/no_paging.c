// SPDX-License-Identifier: MIT
/*
 * no_paging.c - a kernel without pageout and swap: pages in memory are never written to a disk.
 *
 * THEORY      No more memory is promised than there is (pages/reserve.c).  If memory is short nevertheless, it cannot
 *             be freed by writing pages to a disk.  The kernel can only kill a process to free its memory
 *             (proc/oom.c).
 * SEE ALSO    kernel/profile.mk
 */
#include "absent/absent.h"
#include "disp/thread.h"
#include "mem/page.h"
#include "mem/usermem.h"
#include "pages/cachelist.h"
#include "pages/object.h"
#include "pages/pageout.h"
#include "pages/pcache.h"
#include "pages/reserve.h"
#include "pages/swap.h"
#include "stat/panic.h"
#include "vm/cold.h"

/* The default limits of pageout (pages/paging.c), as fractions of memory: 64 means 1/64. */
enum { LOTSFREE_PART = 64, DESFREE_PART = 128, USER_PART = 256, ROOT_PART = 512 };

/* ---- free memory ---- */

uint64_t freemem(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < nnodes; i++)
        n += mem_nodes[i].nfree_pages;
    return n;
}

bool pageout_is_short(void)
{
    return freemem() <= mem_total_pages() / LOTSFREE_PART;
}

bool pageout_low_file_memory(void)
{
    return false;
}

uint64_t pageout_spare_pages(void)
{
    uint64_t n = freemem();

    return n - min_of(n, mem_total_pages() / USER_PART);
}

bool pageout_spare(uint64_t n)
{
    return pageout_spare_pages() > n;
}

uint64_t pageout_promisable(void)
{
    return mem_total_pages() - mem_total_pages() / DESFREE_PART;
}

bool pageout_may_take(void)
{
    bool user = this_cpu()->irq_depth == 0 && !proc_is_superuser();

    return freemem() >= mem_total_pages() / (user ? USER_PART : ROOT_PART);
}

/* No page can be freed by writing it to a disk, so only the end of a process helps. */
enum mem_wait mem_wait(struct mem_need *need)
{
    if (!need->failed || need->tries == 0 || !spin_threads_run)
        return MEM_EXHAUSTED;
    need->tries--;
    if (!need->may_sleep)
        return MEM_CANNOT_SLEEP;
    if (oom_frees())
        return MEM_FREED;
    return proc_is_ending() ? MEM_ENDING : MEM_EXHAUSTED;
}

void pageout_quiesce(void)
{
}

/* This kernel has no pageout daemons to start; the function only sets the limits. */
void pageout_start(void)
{
    for (unsigned i = 0; i < nnodes; i++)
        mem_nodes[i].low_pages = mem_total_pages() / DESFREE_PART / nnodes;
    reserve_recount();
    pageout_stats_init();
}

struct paging pageout_now(uint64_t *share, uint64_t *waiting)
{
    *share = *waiting = 0;
    return (struct paging){.physmem = mem_total_pages()};
}

/* ---- pages of files on disks: there are none, so there is no cache list ---- */

bool cachelist_on;

void cachelist_boot(void)
{
}

void cachelist_put(struct page *pg, bool first)
{
    (void)first;
    panic("page %p: this kernel has no cache list", pg);
}

void cachelist_take(struct page *pg)
{
    (void)pg;
}

unsigned cachelist_reclaim(unsigned node, unsigned want)
{
    (void)node, (void)want;
    return 0;
}

uint64_t cachelist_pages(void)
{
    return 0;
}

int object_page_read(struct vm_object *o, uint64_t index, uint64_t want, const struct placement *pl,
                     const struct read_how *how, struct page **out)
{
    (void)index, (void)want, (void)pl, (void)how, (void)out;
    panic("object %p is on a disk, but this kernel has no paging", o);
}

struct page *object_page_new(struct vm_object *o, uint64_t index)
{
    panic("page %lu of object %p on a disk: this kernel has no paging", index, o);
}

int object_page_insert(struct vm_object *o, uint64_t index, struct page *pg)
{
    panic("page %p, %lu of object %p on a disk: this kernel has no paging", pg, index, o);
}

void object_read_ahead(struct vm_object *o, uint64_t first, uint64_t last, uint64_t *budget)
{
    (void)o, (void)first, (void)last, (void)budget;
}

void cold_mark(struct seg *s, uint64_t start, uint64_t end)
{
    (void)s, (void)start, (void)end;
}

void cold_out(struct seg *s, uint64_t start, uint64_t end)
{
    (void)s, (void)start, (void)end;
}

/* ---- swap: no page is ever in a swap area ---- */

ABSENT_CALL(swapon)
ABSENT_CALL(swapoff)

void swap_boot(void)
{
}

void swap_total(uint64_t *pages, uint64_t *free)
{
    *pages = *free = 0;
}

bool swap_next(unsigned i, struct swap_info *out)
{
    (void)i, (void)out;
    return false;
}

uint64_t swap_kept(void)
{
    return 0;
}

struct page *swap_find(struct vm_object *o, uint64_t *index, uint64_t last)
{
    (void)o, (void)index, (void)last;
    return NULL;
}

static noreturn void panic_without_swap(const struct page *pg)
{
    panic("page %p is on swap, but this kernel has none", pg);
}

void swap_forget(struct page *pg)
{
    panic_without_swap(pg);
}

void swap_free_slot(struct page *pg)
{
    panic_without_swap(pg);
}

int swap_in(struct vm_object *o, struct page *pg, const struct placement *pl,
            struct page_run *around, bool wait)
{
    (void)o, (void)pl, (void)around, (void)wait;
    panic_without_swap(pg);
}

int swap_in_around(struct vm_object *o, struct page *pg, const struct placement *pl,
                   struct page_run within, struct around *a, unsigned advice)
{
    (void)o, (void)pl, (void)within, (void)a, (void)advice;
    panic_without_swap(pg);
}
