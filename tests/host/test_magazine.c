// SPDX-License-Identifier: MIT
/*
 * test_magazine.c - the magazine of one CPU, over a buddy system that is only a stack of frames.
 *
 * THEORY      The test owns the frames of one node and checks each frame that the magazine takes and returns, and that
 *             the node's lock is held meanwhile.  The lock's ticket counts how often it was taken.
 */
#include "tests/host/check.h"
#include "tests/host/machine.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cpu.h"
#include "mem/buddy.h"
#include "mem/color.h"
#include "mem/magazine.h"
#include "stat/cpustat.h"
#include "stat/panic.h"

enum { NODE = 1, FRAMES = 4 * PAGE_MAG };

struct mem_node mem_nodes[NODE_MAX];

static struct mem_node *node = &mem_nodes[NODE];
static struct cpu_counted cpu;
static struct mem_cpu mag;
static struct page frame[FRAMES], *stack[FRAMES];
static unsigned binned; /* frames that only bins_empty() puts on the stack */

void panic(const char *fmt, ...)
{
    fprintf(stderr, "panic: %s\n", fmt);
    abort();
}

/* ---- the buddy system ---- */

static void check_node(const struct mem_node *n)
{
    CHECK(n == node);
    CHECK(n->lock.owner != n->lock.next);
}

struct page *block_take(struct mem_node *n, unsigned order)
{
    check_node(n);
    CHECK_EQ(order, 0);
    return n->nfree_pages > 0 ? stack[--n->nfree_pages] : NULL;
}

void block_give(struct mem_node *n, struct page *pg, unsigned order)
{
    check_node(n);
    CHECK_EQ(order, 0);
    for (unsigned i = 0; i < n->nfree_pages; i++)
        CHECK(stack[i] != pg);
    stack[n->nfree_pages++] = pg;
}

void bins_empty(struct mem_node *n)
{
    check_node(n);
    for (unsigned i = 0; i < binned; i++)
        stack[n->nfree_pages++] = &frame[FRAMES - 1 - i];
    n->nbinned = 0;
}

/* The node has `nfree` frames, and `bins` more in its bins; the magazine is empty. */
static void start(unsigned nfree, unsigned bins)
{
    static const struct machine_ops none;

    cpu.cpu = (struct cpu){.self = &cpu.cpu, .node = NODE, .stat = &cpu.stat, .mem = &mag};
    machine_start(&cpu, &none);
    memset(&mag, 0, sizeof mag);
    *node = (struct mem_node){.nfree_pages = nfree, .nbinned = bins};
    spin_init(&node->lock, RANK_BUDDY);
    binned = bins;
    for (unsigned i = 0; i < nfree; i++)
        stack[i] = &frame[i];
}

/* Like page_alloc(): a frame, or NULL. */
static struct page *take(void)
{
    return mag.npages > 0 || magazine_fill(&mag, NODE) ? magazine_pop(&mag) : NULL;
}

/* ---- tests ---- */

/* A thread that allocates and frees in turn takes the lock at most once in PAGE_MAG_BATCH times. */
TEST(the_lock_is_taken_for_a_batch)
{
    struct page *pg[PAGE_MAG_BATCH + 1];

    start(FRAMES, 0);
    for (unsigned i = 0; i < PAGE_MAG_BATCH; i++)
        pg[i] = take();
    CHECK_EQ(node->lock.next, 1);
    CHECK_EQ(mag.npages, 0);
    pg[PAGE_MAG_BATCH] = take();
    CHECK_EQ(node->lock.next, 2);
    for (unsigned i = 0; i <= PAGE_MAG_BATCH; i++) /* at the limit of a batch */
        magazine_push(&mag, NODE, pg[i]);
    CHECK_EQ(mag.npages, PAGE_MAG);
    CHECK_EQ(node->lock.next, 2);
    for (unsigned i = 0; i < 10 * PAGE_MAG_BATCH; i++)
        magazine_push(&mag, NODE, take());
    CHECK_EQ(node->lock.next, 2);
    CHECK_EQ(mag.n_local, PAGE_MAG_BATCH + 1 + 10 * PAGE_MAG_BATCH);
}

/* The frame that was freed last, which is still in the caches, is allocated first. */
TEST(the_last_freed_is_first)
{
    struct page *a, *b;

    start(FRAMES, 0);
    a = take();
    b = take();
    magazine_push(&mag, NODE, a);
    magazine_push(&mag, NODE, b);
    CHECK(take() == b);
    CHECK(take() == a);
}

/* A full magazine is emptied by a batch, so neither the next free nor the next allocation needs the lock. */
TEST(a_full_magazine_is_drained)
{
    start(0, 0);
    for (unsigned i = 0; i < PAGE_MAG; i++)
        magazine_push(&mag, NODE, &frame[i]);
    CHECK_EQ(node->lock.next, 0);
    magazine_push(&mag, NODE, &frame[PAGE_MAG]);
    CHECK_EQ(node->lock.next, 1);
    CHECK_EQ(node->nfree_pages, PAGE_MAG_BATCH);
    CHECK_EQ(mag.npages, PAGE_MAG - PAGE_MAG_BATCH + 1);
    CHECK(mag.page[mag.npages - 1] == &frame[PAGE_MAG]);
    magazine_drain(&mag, NODE, 3);
    CHECK_EQ(mag.npages, 3);
    magazine_drain(&mag, NODE, 5); /* the magazine has fewer */
    CHECK_EQ(mag.npages, 3);
    magazine_drain(&mag, NODE, 0);
    CHECK_EQ(node->nfree_pages, PAGE_MAG + 1);
}

/* While the node has few free frames, a magazine takes only the one requested frame. */
TEST(a_scarce_node_gives_one)
{
    start(100, 0);
    node->low_pages = 101;
    CHECK(is_node_scarce(node));
    CHECK(magazine_fill(&mag, NODE));
    CHECK_EQ(mag.npages, 1);
    CHECK_EQ(node->nfree_pages, 99);
    (void)magazine_pop(&mag);
    node->low_pages = 99;
    CHECK(!is_node_scarce(node));
    CHECK(magazine_fill(&mag, NODE));
    CHECK_EQ(mag.npages, PAGE_MAG_BATCH);
}

/* The last frames of a node, then those of its bins, then none. */
TEST(an_empty_node)
{
    start(5, 3);
    CHECK(magazine_fill(&mag, NODE));
    CHECK_EQ(mag.npages, 8);
    CHECK_EQ(node->nbinned, 0);
    for (unsigned i = 0; i < 8; i++)
        CHECK(take() != NULL);
    CHECK(take() == NULL);
    CHECK(take() == NULL);
    CHECK_EQ(mag.n_local, 8);
    CHECK_EQ(mag.npages, 0);
}

/* Whatever is allocated and freed, each frame is in one place, and the magazine never holds more than its size. */
TEST(no_frame_is_lost)
{
    static struct page *held[FRAMES];
    unsigned nheld = 0;

    start(FRAMES, 0);
    for (unsigned step = 0; step < 100000; step++) {
        if (step % 2000 == 0)
            node->low_pages = check_below(FRAMES);
        if (check_below(2 * FRAMES) >= nheld) {
            struct page *pg = take();

            if (pg != NULL)
                held[nheld++] = pg;
        } else {
            unsigned k = (unsigned)check_below(nheld);

            magazine_push(&mag, NODE, held[k]);
            held[k] = held[--nheld];
        }
        CHECK(mag.npages <= PAGE_MAG);
        CHECK_EQ(nheld + mag.npages + node->nfree_pages, FRAMES);
    }
    while (nheld > 0)
        magazine_push(&mag, NODE, held[--nheld]);
    magazine_drain(&mag, NODE, 0);
    for (unsigned i = 0; i < FRAMES; i++)
        stack[i]->index++;
    for (unsigned i = 0; i < FRAMES; i++)
        CHECK_EQ(frame[i].index, 1);
}
