// SPDX-License-Identifier: MIT
/*
 * itree.c - an ordered set of intervals; see itree.h.
 *
 * THEORY      A change records the path from the root to the node.  Then it goes back up and restores height and
 *             max_last, only as far as they change.
 * SEE ALSO    tests/host/test_itree.c
 */
#include "lib/itree.h"

enum { DEPTH_MAX = 48 }; /* enough for 2^33 nodes: the height is at most 1.44 log2(n + 2) */

static inline int32_t itree_height(const struct itree_node *n)
{
    return n != NULL ? n->height : 0;
}

static inline uint64_t itree_max_last(const struct itree_node *n)
{
    return n != NULL ? n->max_last : 0;
}

/* The order of the tree (I1); `a` begins at a_first, and may be freed. */
static inline bool itree_before(const struct itree_node *a, uint64_t a_first,
                                const struct itree_node *b)
{
    return a_first != b->first ? a_first < b->first : a < b;
}

static void itree_refresh(struct itree_node *n)
{
    n->height = 1 + max_of(itree_height(n->left), itree_height(n->right));
    n->max_last = max_of(n->last, max_of(itree_max_last(n->left), itree_max_last(n->right)));
}

static struct itree_node *itree_rotate_right(struct itree_node *n)
{
    struct itree_node *l = n->left;

    n->left = l->right;
    l->right = n;
    itree_refresh(n);
    itree_refresh(l);
    return l;
}

static struct itree_node *itree_rotate_left(struct itree_node *n)
{
    struct itree_node *r = n->right;

    n->right = r->left;
    r->left = n;
    itree_refresh(n);
    itree_refresh(r);
    return r;
}

/* Restores I2 and I3 at `n`, if they hold in both subtrees of n; returns the new root of the subtree. */
static struct itree_node *itree_rebalance(struct itree_node *n)
{
    int32_t lean = itree_height(n->left) - itree_height(n->right);

    if (lean > 1) {
        if (itree_height(n->left->left) < itree_height(n->left->right))
            n->left = itree_rotate_left(n->left);
        return itree_rotate_right(n);
    }
    if (lean < -1) {
        if (itree_height(n->right->right) < itree_height(n->right->left))
            n->right = itree_rotate_right(n->right);
        return itree_rotate_left(n);
    }
    itree_refresh(n);
    return n;
}

/* The links from the root to a node: *link[0] is the root, *link[depth] the node, or NULL where it belongs. */
struct itree_path {
    unsigned depth;
    struct itree_node **link[DEPTH_MAX];
};

static void itree_find_path(struct itree *t, const struct itree_node *n, struct itree_path *p)
{
    struct itree_node **link = &t->root;

    for (p->depth = 0; *link != NULL && *link != n; p->depth++) {
        p->link[p->depth] = link;
        link = itree_before(n, n->first, *link) ? &(*link)->left : &(*link)->right;
    }
    p->link[p->depth] = link;
}

/*
 * Restores I2 and I3 at the nodes of a path, from the last one up.  From `depth` on, stops at a node that has not
 * changed: then nothing changes above it.
 */
static void itree_fix_path(struct itree_path *p, unsigned depth)
{
    for (unsigned i = p->depth + 1; i-- != 0;) {
        struct itree_node *old = *p->link[i], *new;
        int32_t height = old->height;
        uint64_t max_last = old->max_last;

        new = itree_rebalance(old);
        *p->link[i] = new;
        if (i <= depth && new->height == height &&new->max_last == max_last)
            return;
    }
}

void itree_insert(struct itree *t, struct itree_node *n)
{
    struct itree_path p;

    *n = (struct itree_node){.first = n->first, .last = n->last};
    itree_find_path(t, n, &p);
    *p.link[p.depth] = n;
    itree_fix_path(&p, p.depth);
}

/* Puts the next node of the tree in the place of `n`, which has a right subtree; the path is extended to that place. */
static void itree_replace(struct itree_node *n, struct itree_path *p)
{
    unsigned at = p->depth;
    struct itree_node *heir;

    for (p->link[++p->depth] = &n->right; (*p->link[p->depth])->left != NULL; p->depth++)
        p->link[p->depth + 1] = &(*p->link[p->depth])->left;
    heir = *p->link[p->depth];
    *p->link[p->depth] = heir->right;
    heir->left = n->left;
    heir->right = n->right;
    heir->height = n->height;
    heir->max_last = n->max_last;
    *p->link[at] = heir;
    p->link[at + 1] = &heir->right;
}

void itree_remove(struct itree *t, struct itree_node *n)
{
    struct itree_path p;
    unsigned at;

    itree_find_path(t, n, &p);
    at = p.depth;
    if (n->right == NULL)
        *p.link[at] = n->left;
    else
        itree_replace(n, &p);
    if (p.depth-- != 0)
        itree_fix_path(&p, at);
}

void itree_set_last(struct itree *t, struct itree_node *n, uint64_t last)
{
    struct itree_path p;

    itree_find_path(t, n, &p);
    n->last = last;
    itree_fix_path(&p, p.depth);
}

/* itree_after() in the subtree of `at`. */
static struct itree_node *itree_after_below(struct itree_node *at, const struct itree_node *n,
                                            uint64_t n_first, uint64_t first, uint64_t last)
{
    struct itree_node *found;

    if (at == NULL || at->max_last < first)
        return NULL;
    if (itree_before(n, n_first, at)) {
        /*
         * If the left subtree has an interval that ends at or above `first`, and `at` begins at or below `last`, this
         * interval overlaps.  So the search turns back only where `n` or `last` lies in the subtree.
         */
        found = itree_after_below(at->left, n, n_first, first, last);
        if (found != NULL || at->first > last)
            return found;
        if (at->last >= first)
            return at;
    }
    return itree_after_below(at->right, n, n_first, first, last);
}

struct itree_node *itree_after(const struct itree *t, const struct itree_node *n, uint64_t n_first,
                               uint64_t first, uint64_t last)
{
    return itree_after_below(t->root, n, n_first, first, last);
}
