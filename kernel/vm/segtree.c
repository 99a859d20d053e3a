// SPDX-License-Identifier: MIT
/*
 * segtree.c - the ordered set of address ranges of one address space; see segtree.h.
 *
 * THEORY      A textbook AVL tree with recursive functions; their depth is at most 1.44 log2(count).
 *             Inserting or removing a range changes its node and the gap of the next range.  Both nodes are on
 *             one path from the root.  On the way back up, rebalance_subtree() restores height and max_gap
 *             along this path.
 * SEE ALSO    tests/host/test_segtree.c
 */
#include "vm/segtree.h"

static inline int32_t subtree_height(const struct seg_node *n)
{
    return n != NULL ? n->height : 0;
}

static inline uint64_t subtree_max_gap(const struct seg_node *n)
{
    return n != NULL ? n->max_gap : 0;
}

static void refresh_seg_node(struct seg_node *n)
{
    n->height = 1 + max_of(subtree_height(n->left), subtree_height(n->right));
    n->max_gap = max_of(n->gap, max_of(subtree_max_gap(n->left), subtree_max_gap(n->right)));
}

static struct seg_node *rotate_right(struct seg_node *n)
{
    struct seg_node *l = n->left;

    n->left = l->right;
    l->right = n;
    refresh_seg_node(n);
    refresh_seg_node(l);
    return l;
}

static struct seg_node *rotate_left(struct seg_node *n)
{
    struct seg_node *r = n->right;

    n->right = r->left;
    r->left = n;
    refresh_seg_node(n);
    refresh_seg_node(r);
    return r;
}

/* Restores I2 and I3 at `n`, if they hold in both subtrees of n; returns the new root of the subtree. */
static struct seg_node *rebalance_subtree(struct seg_node *n)
{
    int32_t lean = subtree_height(n->left) - subtree_height(n->right);

    if (lean > 1) {
        if (subtree_height(n->left->left) < subtree_height(n->left->right))
            n->left = rotate_left(n->left);
        return rotate_right(n);
    }
    if (lean < -1) {
        if (subtree_height(n->right->right) < subtree_height(n->right->left))
            n->right = rotate_right(n->right);
        return rotate_left(n);
    }
    refresh_seg_node(n);
    return n;
}

/* Computes n->gap from the previous range in the list. */
static void set_gap_below(struct seg_tree *t, struct seg_node *n)
{
    struct seg_node *prev = segtree_prev(t, n);
    uint64_t from = prev != NULL ? prev->end : 0;

    n->gap = n->start > from + n->guard ? n->start - n->guard - from : 0;
}

void segtree_init(struct seg_tree *t)
{
    t->root = NULL;
    atomic_store_explicit(&t->hint, NULL, memory_order_relaxed);
    list_init(&t->order);
    t->count = 0;
}

struct seg_node *segtree_after(struct seg_tree *t, uint64_t addr)
{
    struct seg_node *n = t->root, *best = NULL;

    while (n != NULL)
        if (n->end > addr) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    return best;
}

static struct seg_node *insert_in_subtree(struct seg_node *at, struct seg_node *n)
{
    if (at == NULL) {
        refresh_seg_node(n);
        return n;
    }
    if (n->start < at->start)
        at->left = insert_in_subtree(at->left, n);
    else
        at->right = insert_in_subtree(at->right, n);
    return rebalance_subtree(at);
}

void segtree_insert(struct seg_tree *t, struct seg_node *n)
{
    struct seg_node *next = segtree_after(t, n->start);

    /* insert n into the list before `next` */
    list_push_back(next != NULL ? &next->link : &t->order, &n->link);
    n->left = n->right = NULL;
    set_gap_below(t, n);
    if (next != NULL)
        /* `next` is an ancestor of the new leaf, so insert_in_subtree() updates its max_gap */
        set_gap_below(t, next);
    t->root = insert_in_subtree(t->root, n);
    t->count++;
}

/* Removes the leftmost node of a subtree; returns the new root.  @min  out: the removed node */
static struct seg_node *remove_leftmost_node(struct seg_node *at, struct seg_node **min)
{
    if (at->left == NULL) {
        *min = at;
        return at->right;
    }
    at->left = remove_leftmost_node(at->left, min);
    return rebalance_subtree(at);
}

static struct seg_node *remove_from_subtree(struct seg_node *at, struct seg_node *n)
{
    if (at == n) {
        struct seg_node *heir;

        if (n->right == NULL)
            return n->left;
        n->right = remove_leftmost_node(n->right, &heir);
        heir->left = n->left;
        heir->right = n->right;
        return rebalance_subtree(heir);
    }
    if (n->start < at->start)
        at->left = remove_from_subtree(at->left, n);
    else
        at->right = remove_from_subtree(at->right, n);
    return rebalance_subtree(at);
}

void segtree_remove(struct seg_tree *t, struct seg_node *n)
{
    struct seg_node *next = segtree_next(t, n);

    list_remove(&n->link);
    if (next != NULL)
        /*
         * `next` is an ancestor of n, or takes the place of n; in both cases remove_from_subtree()
         * updates its max_gap
         */
        set_gap_below(t, next);
    t->root = remove_from_subtree(t->root, n);
    if (atomic_load_explicit(&t->hint, memory_order_relaxed) == n)
        atomic_store_explicit(&t->hint, NULL, memory_order_relaxed);
    t->count--;
}

/* Recomputes height and max_gap from `n` up to `at`, one of its ancestors. */
static void refresh_path(struct seg_node *at, struct seg_node *n)
{
    if (at != n)
        refresh_path(n->start < at->start ? at->left : at->right, n);
    refresh_seg_node(at);
}

void segtree_resize(struct seg_tree *t, struct seg_node *n, uint64_t start, uint64_t end)
{
    struct seg_node *next = segtree_next(t, n);

    if (n->start != start) {
        n->start = start;
        set_gap_below(t, n);
        refresh_path(t->root, n);
    }
    if (n->end == end)
        return;
    n->end = end;
    if (next != NULL) {
        set_gap_below(t, next);
        refresh_path(t->root, next);
    }
}

/* The highest address in [lo, hi) of `len` free bytes in the gap below a node of this subtree; 0: none. */
static uint64_t find_gap_in_subtree(struct seg_tree *t, struct seg_node *n, uint64_t len,
                                    uint64_t lo, uint64_t hi)
{
    uint64_t addr, from, to;

    if (subtree_max_gap(n) < len)
        return 0;
    if (n->end < hi) {
        addr = find_gap_in_subtree(t, n->right, len, lo, hi);
        if (addr != 0)
            return addr;
    }
    if (n->gap >= len) {
        to = min_of(n->start - n->guard, hi);
        from = max_of(n->start - n->guard - n->gap, lo);
        if (to > from && to - from >= len)
            return to - len;
    }
    return n->start > lo ? find_gap_in_subtree(t, n->left, len, lo, hi) : 0;
}

uint64_t segtree_gap_below(struct seg_tree *t, uint64_t len, uint64_t lo, uint64_t hi)
{
    struct seg_node *last = t->count != 0 ? list_entry(t->order.prev, struct seg_node, link) : NULL;
    uint64_t from = last != NULL ? max_of(last->end, lo) : lo;

    if (from < hi && hi - from >= len)
        return hi - len;
    return find_gap_in_subtree(t, t->root, len, lo, hi);
}

bool segtree_is_free(struct seg_tree *t, uint64_t addr, uint64_t len)
{
    struct seg_node *n = segtree_after(t, addr);

    return n == NULL || n->start - n->guard >= addr + len;
}

struct clone {
    struct seg_tree *to;
    struct seg_node *(*copy)(void *, struct seg_node *);
    void *arg;
};

/* Copies a subtree in address order; returns the copy of its root; NULL: a copy failed. */
static struct seg_node *clone_subtree(struct clone *c, struct seg_node *n)
{
    struct seg_node *m, *left = NULL;

    if (n->left != NULL) {
        left = clone_subtree(c, n->left);
        if (left == NULL)
            return NULL;
    }
    m = c->copy(c->arg, n);
    if (m == NULL)
        return NULL;
    *m = *n;
    list_push_back(&c->to->order, &m->link);
    c->to->count++;
    m->left = left;
    m->right = NULL;
    if (n->right != NULL) {
        m->right = clone_subtree(c, n->right);
        if (m->right == NULL)
            return NULL;
    }
    return m;
}

bool segtree_clone(struct seg_tree *to, struct seg_tree *from,
                   struct seg_node *(*copy)(void *arg, struct seg_node *n), void *arg)
{
    struct clone c = {.to = to, .copy = copy, .arg = arg};

    if (from->root == NULL)
        return true;
    to->root = clone_subtree(&c, from->root);
    return to->root != NULL;
}
