// SPDX-License-Identifier: MIT
/*
 * radix.c - the page index of an object; see radix.h for the structure and its invariants.
 *
 * THEORY      A look-up goes down from the root.  If a prefix differs from the index, there is no item.  In
 *             that case an insertion adds an inner node at the highest bit group in which the new index and the
 *             old subtree differ.  If a removal leaves an inner node with one child, the child takes its place
 *             (I1).
 *             Most look-ups hit the same leaf as the previous look-up.  This leaf is kept in
 *             `hint`.
 * LOCKING     The caller holds the lock of the tree's owner.
 * SEE ALSO    tests/host/test_radix.c
 */
#include "pages/radix.h"
#include "lib/errno.h"
#include "lib/string.h"

#ifdef HR_HOST
#include <stdlib.h>
#define node_alloc() malloc(sizeof(struct radix_node))
#define node_free(n) free(n)
void radix_boot(void)
{
}
#else
#include "mem/kmem.h"
#include "stat/panic.h"
static struct kmem_cache *node_cache; /* [c] */
#define node_alloc() kmem_cache_alloc(node_cache)
#define node_free(n) kmem_cache_free(node_cache, n)
void radix_boot(void)
{
    node_cache = kmem_cache_create("radix_node", sizeof(struct radix_node), 0);
    if (node_cache == NULL)
        panic("no memory for radix nodes");
    kmem_cache_pageable(
        node_cache); /* sparse files must not reduce the memory that can be promised */
}
#endif

static inline unsigned radix_slot_of(const struct radix_node *n, uint64_t index)
{
    return (unsigned)(index >> n->shift) % RADIX_SLOTS;
}

static inline bool radix_node_covers(const struct radix_node *n, uint64_t index)
{
    return index >> n->shift >> RADIX_BITS == n->prefix;
}

static inline bool radix_node_has(const struct radix_node *n, unsigned i)
{
    return (n->present >> i & 1) != 0;
}

/* The first index that a node covers. */
static inline uint64_t radix_node_base(const struct radix_node *n)
{
    return n->prefix << n->shift << RADIX_BITS;
}

/* A node without items that covers `index`; NULL: no memory. */
static struct radix_node *radix_node_new(uint64_t index, uint32_t shift)
{
    struct radix_node *n = node_alloc();

    if (n != NULL) {
        n->present = 0;
        n->tag[RADIX_DIRTY] = n->tag[RADIX_WRITEBACK] = 0;
        n->prefix = index >> shift >> RADIX_BITS;
        n->shift = shift;
    }
    return n;
}

static inline void radix_node_set(struct radix_node *n, unsigned i, void *p)
{
    n->slot[i] = p;
    n->present |= 1ull << i;
}

struct radix_node *radix_leaf_slow(struct radix *r, uint64_t index)
{
    struct radix_node *n = r->root;

    while (n != NULL && radix_node_covers(n, index)) {
        unsigned i = radix_slot_of(n, index);

        if (n->shift == 0)
            return r->hint = n;
        n = radix_node_has(n, i) ? n->slot[i] : NULL;
    }
    return NULL;
}

/* Links `leaf` into the tree, where no leaf covers its range.  0, or -ENOMEM: no memory for an inner node. */
static int link_leaf(struct radix *r, struct radix_node *leaf)
{
    uint64_t index = radix_node_base(leaf);
    struct radix_node **link = &r->root, *n, *inner;

    while ((n = *link) != NULL && radix_node_covers(n, index)) {
        unsigned i = radix_slot_of(n, index);

        if (!radix_node_has(n, i)) {
            radix_node_set(n, i, leaf);
            return 0;
        }
        link = (struct radix_node **)&n->slot[i];
    }
    if (n != NULL) {
        uint64_t differ = index ^ radix_node_base(n);
        uint32_t shift = (63u - (uint32_t)__builtin_clzll(differ)) / RADIX_BITS * RADIX_BITS;

        inner = radix_node_new(index, shift);
        if (inner == NULL)
            return -ENOMEM;
        radix_node_set(inner, radix_slot_of(inner, index), leaf);
        radix_node_set(inner, radix_slot_of(inner, radix_node_base(n)), n);
        for (unsigned t = 0; t < RADIX_TAGS; t++)
            if (n->tag[t] != 0)
                inner->tag[t] = 1ull << radix_slot_of(inner, radix_node_base(n));
        leaf = inner;
    }
    *link = leaf;
    return 0;
}

int radix_insert(struct radix *r, uint64_t index, void *item)
{
    struct radix_node *n = radix_leaf(r, index);
    unsigned i = index % RADIX_SLOTS;

    if (n != NULL) {
        if (radix_node_has(n, i))
            return -EEXIST;
        radix_node_set(n, i, item);
        return 0;
    }
    n = radix_node_new(index, 0);
    if (n == NULL)
        return -ENOMEM;
    radix_node_set(n, i, item);
    if (link_leaf(r, n) != 0) {
        node_free(n);
        return -ENOMEM;
    }
    r->hint = n;
    return 0;
}

void *radix_replace(struct radix *r, uint64_t index, void *item)
{
    struct radix_node *n = radix_leaf(r, index);
    void *old = n->slot[index % RADIX_SLOTS];

    n->slot[index % RADIX_SLOTS] = item;
    return old;
}

/* Takes an empty leaf out of the tree and frees it. */
static void unlink_leaf(struct radix *r, struct radix_node *leaf)
{
    uint64_t index = radix_node_base(leaf);
    struct radix_node **link = &r->root, **up = NULL, *n;

    if (r->hint == leaf)
        r->hint = NULL;
    while ((n = *link) != leaf) {
        up = link;
        link = (struct radix_node **)&n->slot[radix_slot_of(n, index)];
    }
    if (up == NULL) {
        r->root = NULL;
    } else {
        n = *up;
        n->present &= ~(1ull << radix_slot_of(n, index));
        if ((n->present & (n->present - 1)) == 0) { /* only one child is left: I1 */
            *up = n->slot[__builtin_ctzll(n->present)];
            node_free(n);
        }
    }
    node_free(leaf);
}

void *radix_remove(struct radix *r, uint64_t index)
{
    struct radix_node *n = radix_leaf(r, index);
    unsigned i = index % RADIX_SLOTS;
    void *item;

    if (n == NULL || !radix_node_has(n, i))
        return NULL;
    item = n->slot[i];
    if (unlikely(((n->tag[RADIX_DIRTY] | n->tag[RADIX_WRITEBACK]) >> i & 1) != 0))
        for (unsigned t = 0; t < RADIX_TAGS; t++)
            radix_untag(r, index, t);
    n->present &= ~(1ull << i);
    if (n->present == 0)
        unlink_leaf(r, n);
    return item;
}

/* ---- tags ------------------------------------------------------------------------------------ */

#define DEPTH_MAX 11 /* most nodes on the path to a 64-bit index */

void radix_tag(struct radix *r, uint64_t index, enum radix_tag tag)
{
    struct radix_node *n = r->root;

    for (;;) {
        n->tag[tag] |= 1ull << radix_slot_of(n, index);
        if (n->shift == 0)
            return;
        n = n->slot[radix_slot_of(n, index)];
    }
}

void radix_untag(struct radix *r, uint64_t index, enum radix_tag tag)
{
    struct radix_node *path[DEPTH_MAX], *n = r->root;
    unsigned depth = 0;

    for (; n->shift != 0; n = n->slot[radix_slot_of(n, index)])
        path[depth++] = n;
    n->tag[tag] &= ~(1ull << radix_slot_of(n, index));
    while (n->tag[tag] == 0 && depth > 0) {
        n = path[--depth];
        n->tag[tag] &= ~(1ull << radix_slot_of(n, index));
    }
}

/* The first item with the tag below `n`, at or after `index`; *at becomes its index.  NULL: there is none. */
static void *next_tagged_below(struct radix_node *n, uint64_t index, enum radix_tag tag,
                               uint64_t *at)
{
    uint64_t bits = n->tag[tag];

    if (index > radix_node_base(n)) {
        if (!radix_node_covers(n, index))
            return NULL;
        bits &= ~0ull << radix_slot_of(n, index);
    }
    for (; bits != 0; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctzll(bits);
        void *item;

        if (n->shift == 0) {
            *at = radix_node_base(n) + i;
            return n->slot[i];
        }
        item = next_tagged_below(n->slot[i], index, tag, at);
        if (item != NULL)
            return item;
    }
    return NULL;
}

void *radix_next_tagged(struct radix *r, uint64_t *index, enum radix_tag tag)
{
    return r->root != NULL ? next_tagged_below(r->root, *index, tag, index) : NULL;
}

/* Like radix_next_leaf(), for the part of the tree below `n`. */
static struct radix_node *next_leaf_below(struct radix_node *n, uint64_t index)
{
    uint64_t first = radix_node_base(n);
    uint64_t bits = n->present;
    struct radix_node *leaf;

    if (index > first) {
        if (!radix_node_covers(n, index))
            return NULL; /* the node ends before index */
        bits &= ~0ull << radix_slot_of(n, index);
    }
    if (n->shift == 0)
        return bits != 0 ? n : NULL;
    for (; bits != 0; bits &= bits - 1) {
        leaf = next_leaf_below(n->slot[__builtin_ctzll(bits)], index);
        if (leaf != NULL)
            return leaf;
    }
    return NULL;
}

struct radix_node *radix_next_leaf(struct radix *r, uint64_t index)
{
    return r->root != NULL ? next_leaf_below(r->root, index) : NULL;
}

void *radix_next(struct radix *r, uint64_t *index)
{
    struct radix_node *n = r->hint;
    uint64_t bits = 0;
    unsigned i;

    if (n != NULL && n->prefix == *index >> RADIX_BITS)
        bits = n->present & ~0ull << (*index % RADIX_SLOTS);
    if (bits == 0) {
        n = radix_next_leaf(r, *index);
        if (n == NULL)
            return NULL;
        r->hint = n;
        bits = n->present;
        if (radix_node_base(n) < *index)
            bits &= ~0ull << (*index % RADIX_SLOTS);
    }
    i = (unsigned)__builtin_ctzll(bits);
    *index = radix_node_base(n) + i;
    return n->slot[i];
}

struct radix_node *radix_clone_leaf(struct radix *r, const struct radix_node *n)
{
    struct radix_node *copy = node_alloc();

    if (copy == NULL)
        return NULL;
    copy->present = n->present;
    copy->prefix = n->prefix;
    copy->shift = 0;
    copy->tag[RADIX_DIRTY] = copy->tag[RADIX_WRITEBACK] = 0;
    if (link_leaf(r, copy) != 0) {
        node_free(copy);
        return NULL;
    }
    for (uint64_t bits = n->present; bits != 0; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctzll(bits);

        copy->slot[i] = n->slot[i];
    }
    return copy;
}

static void destroy_radix_subtree(struct radix_node *n, void (*fn)(void *, void *), void *arg)
{
    for (uint64_t bits = n->present; bits != 0; bits &= bits - 1) {
        void *p = n->slot[__builtin_ctzll(bits)];

        if (n->shift == 0)
            fn(arg, p);
        else
            destroy_radix_subtree(p, fn, arg);
    }
    node_free(n);
}

void radix_destroy(struct radix *r, void (*fn)(void *arg, void *item), void *arg)
{
    struct radix_node *root = r->root;

    r->root = r->hint = NULL;
    if (root != NULL)
        destroy_radix_subtree(root, fn, arg);
}
