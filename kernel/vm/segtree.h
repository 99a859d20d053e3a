// SPDX-License-Identifier: MIT
/*
 * segtree.h - the ordered set of address ranges of one address space.
 *
 * THEORY      A page fault must find the range that contains an address, and mmap() must find a gap that is
 *             large enough.  Both take logarithmic time here: the ranges are in an AVL tree (a search tree
 *             that stays balanced), ordered by start address.  Each node knows the free gap below its range,
 *             and the largest gap of its subtree.  A list links the ranges in the same order.
 *             The `guard` bytes below a stack stay free, so they do not belong to the gap.
 * INVARIANTS  I1  ranges do not overlap and start < end
 *             I2  the heights of a node's subtrees differ by at most one
 *             I3  max_gap is the largest gap of the node and its subtrees
 * LOCKING     The caller holds the lock of the address space.  Readers write `hint`, too; any range in the tree
 *             is a valid hint.
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
    uint64_t gap;     /* free bytes from the end of the previous range to (start - guard) */
    uint64_t max_gap; /* largest gap of this node and its subtrees (I3) */
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

/* segtree_insert - add a range that overlaps no other range.  Its start, end and guard are set. */
void segtree_insert(struct seg_tree *t, struct seg_node *n);
void segtree_remove(struct seg_tree *t, struct seg_node *n);
/* segtree_resize - move the ends of a range without passing a neighbour. */
void segtree_resize(struct seg_tree *t, struct seg_node *n, uint64_t start, uint64_t end);
/* segtree_gap_below - the highest free range of `len` bytes in [lo, hi); its address, or 0. */
uint64_t segtree_gap_below(struct seg_tree *t, uint64_t len, uint64_t lo, uint64_t hi);
/* segtree_is_free - whether [addr, addr + len) touches no range and no guard. */
bool segtree_is_free(struct seg_tree *t, uint64_t addr, uint64_t len);
/*
 * segtree_clone - copy the tree `from` to the empty tree `to`.
 * @copy  copy(arg, node) allocates the copy of a node, or returns NULL; this function fills in the
 *        struct seg_node of the copy
 * Returns false if a copy was NULL: then to->order lists the ranges copied so far, and `to` has no tree.
 */
bool segtree_clone(struct seg_tree *to, struct seg_tree *from,
                   struct seg_node *(*copy)(void *arg, struct seg_node *n), void *arg);

#endif
