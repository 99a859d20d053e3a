// SPDX-License-Identifier: MIT
/*
 * itree.h - an ordered set of intervals, which may overlap: which of them contain a number?
 *
 * THEORY      An AVL tree (a search tree that stays balanced), ordered by the first number of an interval.  Each node
 *             knows the greatest last number in its subtree.  So a search for the intervals that overlap a range skips
 *             each subtree that ends below the range (Cormen et al., Introduction to Algorithms, "interval trees").
 *             Inserting, removing and finding the next interval take logarithmic time.
 *             Like a list, the tree needs no memory of its own: each element contains a struct itree_node.
 * INVARIANTS  I1  nodes are in order of `first`, nodes with equal `first` in order of their addresses
 *             I2  the heights of a node's subtrees differ by at most one
 *             I3  max_last is the greatest `last` of the node and its subtrees
 * LOCKING     The file that owns a tree defines its lock.
 * SEE ALSO    tests/host/test_itree.c
 */
#ifndef LIB_ITREE_H
#define LIB_ITREE_H

#include "lib/types.h"

struct itree_node {
    uint64_t first, last; /* the interval, both ends included */
    struct itree_node *left, *right;
    uint64_t max_last; /* I3 */
    int32_t height;
};

struct itree {
    struct itree_node *root; /* NULL: the set is empty */
};

static inline bool itree_empty(const struct itree *t)
{
    return t->root == NULL;
}

/* itree_insert - add `n`, whose ends are set, first <= last. */
void itree_insert(struct itree *t, struct itree_node *n);
/* itree_remove - remove `n`, which is in the tree. */
void itree_remove(struct itree *t, struct itree_node *n);
/* itree_set_last - change the last number of `n`, which is in the tree. */
void itree_set_last(struct itree *t, struct itree_node *n, uint64_t last);
/*
 * itree_after - the next interval in the tree's order that overlaps first .. last; NULL: there is none.
 * @n, @n_first  begin after this node, whose interval begins at n_first; it may be freed.  NULL and 0: begin with the
 *               first interval
 */
struct itree_node *itree_after(const struct itree *t, const struct itree_node *n, uint64_t n_first,
                               uint64_t first, uint64_t last);
/* itree_next - itree_after() for a node `n` with its ends, which need not be in the tree any more, or for NULL. */
static inline struct itree_node *itree_next(const struct itree *t, const struct itree_node *n,
                                            uint64_t first, uint64_t last)
{
    return itree_after(t, n, n != NULL ? n->first : 0, first, last);
}

/*
 * Each element of type `type` whose interval overlaps lo .. hi, in order.  The loop may remove, but not free, `var`.
 */
#define ITREE_FOREACH(var, t, member, lo, hi)                                                      \
    for (struct itree_node *_n = itree_next(t, NULL, lo, hi);                                      \
         _n != NULL && (var = container_of(_n, typeof(*var), member), true);                       \
         _n = itree_next(t, _n, lo, hi))

#endif
