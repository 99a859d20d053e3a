// SPDX-License-Identifier: MIT
/*
 * segtree.h - the ordered set of address ranges of one address space.
 *
 * THEORY      An AVL tree by start address, threaded by a list in the same order.  Each node knows the
 *             free gap below it, each subtree the largest gap in it, so that a place for a new mapping
 *             is found in logarithmic time.  A stack keeps `guard` bytes below it free: they do not
 *             count as gap.
 * INVARIANTS  I1  ranges do not overlap and start < end
 *             I2  the heights of a node's subtrees differ by at most one
 *             I3  max_gap is the largest gap of the node and its subtrees
 * LOCKING     the address space's; `hint` is written by readers too: any value it can have is right
 * SEE ALSO    tests/host/test_segtree.c
 */
#ifndef VM_SEGTREE_H
#define VM_SEGTREE_H

#include "lib/list.h"
#include "lib/types.h"

struct seg_node {
    uint64_t start, end; /* bytes */
    struct seg_node *left, *right;
    struct list link; /* in address order */
    uint64_t gap;     /* free bytes between the range before and start - guard */
    uint64_t max_gap; /* I3 */
    uint32_t guard;   /* bytes below start that must stay free */
    int32_t height;
};

struct seg_tree {
    struct seg_node *root;
    struct seg_node *_Atomic hint; /* the range found last, or NULL */
    struct list order;
    unsigned count;
};

void segtree_init(struct seg_tree *t);
/* segtree_after - the first range that ends above `addr` (it may contain addr), or NULL. */
struct seg_node *segtree_after(struct seg_tree *t, uint64_t addr);
/* segtree_find - the range that contains `addr`, or NULL. */
static inline struct seg_node *segtree_find(struct seg_tree *t, uint64_t addr)
{
    struct seg_node *n = atomic_load_explicit(&t->hint, memory_order_relaxed);

    if (n != NULL && addr >= n->start && addr < n->end)
        return n;
    n = segtree_after(t, addr);
    if (n == NULL || n->start > addr)
        return NULL;
    atomic_store_explicit(&t->hint, n, memory_order_relaxed);
    return n;
}
/* segtree_next, segtree_prev - neighbours in address order, or NULL. */
static inline struct seg_node *segtree_next(struct seg_tree *t, struct seg_node *n)
{
    return n->link.next == &t->order ? NULL : list_entry(n->link.next, struct seg_node, link);
}
static inline struct seg_node *segtree_prev(struct seg_tree *t, struct seg_node *n)
{
    return n->link.prev == &t->order ? NULL : list_entry(n->link.prev, struct seg_node, link);
}
static inline struct seg_node *segtree_first(struct seg_tree *t)
{
    return list_empty(&t->order) ? NULL : list_first(&t->order, struct seg_node, link);
}

/* segtree_insert - add a range (start, end and guard set) that overlaps none. */
void segtree_insert(struct seg_tree *t, struct seg_node *n);
void segtree_remove(struct seg_tree *t, struct seg_node *n);
/* segtree_resize - move the ends of a range without passing a neighbour. */
void segtree_resize(struct seg_tree *t, struct seg_node *n, uint64_t start, uint64_t end);
/* segtree_gap_below - the highest free range of `len` bytes in [lo, hi); its address, or 0. */
uint64_t segtree_gap_below(struct seg_tree *t, uint64_t len, uint64_t lo, uint64_t hi);
/* segtree_is_free - whether [addr, addr + len) touches no range and no guard. */
bool segtree_is_free(struct seg_tree *t, uint64_t addr, uint64_t len);
/*
 * segtree_clone - fill the empty tree `to` with the same shape; copy(arg, node) makes each node's copy
 * (all of struct seg_node is overwritten here) or returns NULL.  Returns false when one was NULL: `to`
 * then holds a part of the ranges in its list `order` only, without a tree.
 */
bool segtree_clone(struct seg_tree *to, struct seg_tree *from,
                   struct seg_node *(*copy)(void *arg, struct seg_node *n), void *arg);

#endif
