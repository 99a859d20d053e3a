// SPDX-License-Identifier: MIT
/*
 * test_segtree.c - the tree of address ranges compared with a map of pages: random insertions, removals, resizing,
 * gaps.
 */
#include "tests/host/check.h"

#include <stdlib.h>
#include <string.h>

#include "vm/segtree.h"

enum { PAGES = 512, GUARD = 3 };

static char map[PAGES + 1]; /* 1: covered  2: guard of a stack */
static struct seg_tree tree;

static uint64_t bytes(unsigned page)
{
    return (uint64_t)page * PAGE_SIZE;
}

static void mark(const struct seg_node *n, char c)
{
    for (uint64_t a = n->start; a < n->end; a += PAGE_SIZE)
        map[a / PAGE_SIZE] = c;
}

/* Marks the guards anew: they cover free pages only. */
static void draw_guards(void)
{
    struct seg_node *n;

    for (unsigned i = 0; i < PAGES; i++)
        if (map[i] == 2)
            map[i] = 0;
    LIST_FOREACH (n, &tree.order, link)
        for (uint64_t k = 1; k <= n->guard / PAGE_SIZE && map[n->start / PAGE_SIZE - k] != 1; k++)
            map[n->start / PAGE_SIZE - k] = 2; /* at most down to the neighbour */
}

static int verify_node(struct seg_node *n, uint64_t *max_gap)
{
    uint64_t left = 0, right = 0;
    int l = 0, r = 0;

    if (n->left != NULL) {
        CHECK(n->left->end <= n->start);
        l = verify_node(n->left, &left);
    }
    if (n->right != NULL) {
        CHECK(n->right->start >= n->end);
        r = verify_node(n->right, &right);
    }
    CHECK(abs(l - r) <= 1); /* I2 */
    *max_gap = max_of(n->gap, max_of(left, right));
    CHECK_EQ(n->max_gap, *max_gap); /* I3 */
    CHECK_EQ(n->height, 1 + max_of(l, r));
    return n->height;
}

/* The highest free run of `len` pages in [lo, hi), found page by page; 0: none. */
static unsigned gap_by_hand(unsigned len, unsigned lo, unsigned hi)
{
    for (unsigned at = hi; at >= lo + len; at--) {
        unsigned k = 0;

        while (k < len && map[at - 1 - k] == 0)
            k++;
        if (k == len)
            return at - len;
    }
    return 0;
}

static void verify(void)
{
    struct seg_node *n;
    uint64_t gap, at = 0;
    unsigned count = 0, len, lo, hi;

    if (tree.root != NULL)
        verify_node(tree.root, &gap);
    LIST_FOREACH (n, &tree.order, link) {
        CHECK(n->start >= at && n->end > n->start);
        at = n->end;
        count++;
    }
    CHECK_EQ(tree.count, count);
    draw_guards();
    for (unsigned i = 0; i < PAGES; i++) {
        n = segtree_find(&tree, bytes(i) + 5);
        CHECK((n != NULL) == (map[i] == 1));
        CHECK(n == NULL || (n->start <= bytes(i) && n->end > bytes(i)));
    }
    for (unsigned k = 0; k < 8; k++) {
        len = 1 + (unsigned)check_below(20);
        lo = 1 + (unsigned)check_below(PAGES / 2);
        hi = lo + 1 + (unsigned)check_below(PAGES - lo);
        CHECK_EQ(segtree_gap_below(&tree, bytes(len), bytes(lo), bytes(hi)),
                 bytes(gap_by_hand(len, lo, hi)));
    }
}

static struct seg_node *make(unsigned at, unsigned len, bool stack)
{
    struct seg_node *n = calloc(1, sizeof *n);

    n->start = bytes(at);
    n->end = bytes(at + len);
    n->guard = stack ? GUARD * PAGE_SIZE : 0;
    return n;
}

static void add_somewhere(void)
{
    unsigned len = 1 + (unsigned)check_below(12), at = GUARD + (unsigned)check_below(PAGES - 16);
    struct seg_node *n;

    for (unsigned i = 0; i < len; i++)
        if (map[at + i] == 1)
            return;
    n = make(at, len, check_below(8) == 0);
    segtree_insert(&tree, n);
    mark(n, 1);
}

static void remove_at(struct seg_node *n)
{
    mark(n, 0);
    segtree_remove(&tree, n);
    free(n);
}

static void resize_some(struct seg_node *n)
{
    struct seg_node *next = segtree_next(&tree, n), *prev = segtree_prev(&tree, n);
    uint64_t lo = prev != NULL ? prev->end : bytes(GUARD),
             hi = next != NULL ? next->start : bytes(PAGES);
    uint64_t start = lo + check_below((n->end - lo) / PAGE_SIZE) * PAGE_SIZE;
    uint64_t end = start + (1 + check_below((hi - start) / PAGE_SIZE)) * PAGE_SIZE;

    mark(n, 0);
    segtree_resize(&tree, n, start, end);
    mark(n, 1);
}

static void clear_all(void)
{
    struct seg_node *n;

    while ((n = segtree_first(&tree)) != NULL)
        remove_at(n);
    CHECK(tree.root == NULL && tree.count == 0);
}

static void fill(unsigned steps)
{
    memset(map, 0, sizeof map);
    segtree_init(&tree);
    for (unsigned i = 0; i < steps; i++) {
        struct seg_node *n = segtree_find(&tree, bytes((unsigned)check_below(PAGES)));

        if (n == NULL)
            add_somewhere();
        else if (check_below(3) == 0)
            remove_at(n);
        else
            resize_some(n);
        if (i % 16 == 0)
            verify();
    }
}

TEST(random_operations)
{
    fill(4000);
    clear_all();
}

static struct seg_node *copy_node(void *arg, struct seg_node *n)
{
    unsigned *left = arg;

    (void)n;
    return (*left)-- != 0 ? calloc(1, sizeof(struct seg_node)) : NULL;
}

TEST(clone)
{
    struct seg_tree to;
    struct seg_node *a, *b;
    unsigned left = 100000;
    uint64_t gap;

    fill(300);
    segtree_init(&to);
    CHECK(segtree_clone(&to, &tree, copy_node, &left));
    CHECK_EQ(to.count, tree.count);
    verify_node(to.root, &gap);
    b = segtree_first(&to);
    LIST_FOREACH (a, &tree.order, link) {
        CHECK(a->start == b->start && a->end == b->end && a->guard == b->guard);
        b = segtree_next(&to, b);
    }
    while ((b = segtree_first(&to)) != NULL) {
        segtree_remove(&to, b);
        free(b);
    }
    left = tree.count / 2; /* memory runs out half-way */
    segtree_init(&to);
    CHECK(!segtree_clone(&to, &tree, copy_node, &left));
    while ((b = list_pop(&to.order, struct seg_node, link)) != NULL)
        free(b);
    clear_all();
}
