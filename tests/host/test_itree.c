// SPDX-License-Identifier: MIT
/*
 * test_itree.c - the tree of intervals compared with an array: random insertions, removals, changes and searches.
 */
#include "tests/host/check.h"

#include <stdlib.h>

#include "lib/itree.h"

enum { MANY = 300, RANGE = 400, STEPS = 4000 };

struct item {
    struct itree_node n;
    bool in;
};

static struct item items[MANY];
static struct itree tree;

static int verify_node(const struct itree_node *n, uint64_t *max_last, unsigned *count)
{
    uint64_t left = 0, right = 0;
    int l = 0, r = 0;

    if (n->left != NULL) {
        CHECK(n->left->first < n->first || (n->left->first == n->first && n->left < n)); /* I1 */
        l = verify_node(n->left, &left, count);
    }
    if (n->right != NULL) {
        CHECK(n->right->first > n->first || (n->right->first == n->first && n->right > n));
        r = verify_node(n->right, &right, count);
    }
    CHECK(abs(l - r) <= 1); /* I2 */
    *max_last = max_of(n->last, max_of(left, right));
    CHECK_EQ(n->max_last, *max_last); /* I3 */
    CHECK_EQ(n->height, 1 + max_of(l, r));
    ++*count;
    return n->height;
}

static bool overlaps(const struct item *i, uint64_t first, uint64_t last)
{
    return i->in && i->n.first <= last && i->n.last >= first;
}

/* A search finds each interval that overlaps, once and in order. */
static void verify_search(uint64_t first, uint64_t last)
{
    const struct item *before = NULL;
    struct item *i;
    unsigned found = 0, right = 0;

    ITREE_FOREACH (i, &tree, n, first, last) {
        CHECK(overlaps(i, first, last));
        CHECK(before == NULL || before->n.first < i->n.first ||
              (before->n.first == i->n.first && before < i));
        before = i;
        found++;
    }
    for (unsigned k = 0; k < MANY; k++)
        right += overlaps(&items[k], first, last);
    CHECK_EQ(found, right);
}

static void verify(unsigned count)
{
    uint64_t max_last, first = check_below(RANGE);
    unsigned seen = 0;

    if (tree.root != NULL)
        verify_node(tree.root, &max_last, &seen);
    CHECK_EQ(seen, count);
    CHECK_EQ(itree_empty(&tree), count == 0);
    verify_search(first, first);
    verify_search(first, first + check_below(RANGE / 4));
    verify_search(0, UINT64_MAX);
}

/* Intervals of random length; most are short, and some begin at the same number. */
static void set_ends(struct item *i)
{
    i->n.first = check_below(RANGE);
    i->n.last = i->n.first + check_below(check_below(8) == 0 ? RANGE : 5);
}

TEST(random_changes)
{
    unsigned count = 0;

    tree.root = NULL;
    for (unsigned k = 0; k < MANY; k++)
        items[k].in = false;
    for (unsigned step = 0; step < STEPS; step++) {
        struct item *i = &items[check_below(step < STEPS / 4 ? MANY / 8 : MANY)];

        if (!i->in) {
            set_ends(i);
            itree_insert(&tree, &i->n);
        } else if (check_below(3) == 0) {
            itree_set_last(&tree, &i->n, i->n.first + check_below(RANGE));
            continue;
        } else {
            itree_remove(&tree, &i->n);
        }
        i->in = !i->in;
        count += i->in ? 1 : -1u;
        verify(count);
    }
}

/* A loop may remove the element that it has reached. */
TEST(removal_in_a_loop)
{
    struct item *i;
    unsigned left = 0;

    tree.root = NULL;
    for (unsigned k = 0; k < MANY; k++) {
        items[k] = (struct item){.n = {.first = k, .last = k}, .in = true};
        itree_insert(&tree, &items[k].n);
    }
    ITREE_FOREACH (i, &tree, n, 100, 199) {
        itree_remove(&tree, &i->n);
        i->in = false;
    }
    for (unsigned k = 0; k < MANY; k++) {
        CHECK_EQ(items[k].in, k < 100 || k > 199);
        left += items[k].in;
    }
    verify(left);
}
