// SPDX-License-Identifier: MIT
/*
 * radix.h - the page index of an object: from a page number to the item that is kept there.
 *
 * THEORY      An object must find the page at an index, the next page after it, and the next dirty page,
 *             even if its indices are far apart.  This is a radix tree with 64 slots per node and path
 *             compression.  A node stores the upper bits that all indices below it share
 *             (`prefix`).  So one small region anywhere in a 52-bit range costs one leaf, and two
 *             distant regions cost two leaves and one inner node.  `present` shows which slots are
 *             in use; the others hold garbage, so a new node needs no clearing.
 *             An item may have tags.  For each tag a node shows which of its slots lead to an item with the
 *             tag.  So the next item with the tag is found without looking at items that do not have it.
 * INVARIANTS  I1  a node in a tree has at least one slot in use, an inner node at least two
 *             I2  an inner node's child lies within the range of the child's slot
 *             I3  a slot of an inner node has a tag exactly if the node below has it on any slot
 * LOCKING     The caller holds the lock of the tree's owner.  Look-ups write the hint, so they need the lock,
 *             too.
 * SEE ALSO    docs/memory.md, tests/host/test_radix.c
 */
#ifndef PAGES_RADIX_H
#define PAGES_RADIX_H

#include "lib/types.h"

#define RADIX_BITS  6
#define RADIX_SLOTS 64

enum radix_tag { RADIX_DIRTY, RADIX_WRITEBACK, RADIX_TAGS };

struct radix_node {
    uint64_t present; /* bit i: slot[i] is in use                          */
    uint64_t prefix;  /* index >> (shift + RADIX_BITS), equal for all items below the node */
    uint32_t shift;   /* 0: a leaf, whose slots are items; else the slots are nodes */
    uint32_t pad;
    /* bit i: the item in slot[i], or an item below slot[i], has the tag */
    uint64_t tag[RADIX_TAGS];
    void *slot[RADIX_SLOTS];
};

struct radix {
    struct radix_node *root;
    struct radix_node *hint; /* the leaf used last, or NULL */
};

/* radix_boot - make the kmem cache of nodes; called once, before the first insertion. */
void radix_boot(void);

/* radix_leaf - the leaf that covers `index`, or NULL. */
struct radix_node *radix_leaf_slow(struct radix *r, uint64_t index);

static inline struct radix_node *radix_leaf(struct radix *r, uint64_t index)
{
    struct radix_node *n = r->hint;

    if (n != NULL && n->prefix == index >> RADIX_BITS)
        return n;
    return radix_leaf_slow(r, index);
}

/* radix_lookup - the item at `index`, or NULL. */
static inline void *radix_lookup(struct radix *r, uint64_t index)
{
    struct radix_node *n = radix_leaf(r, index);
    unsigned i = index % RADIX_SLOTS;

    return n != NULL && (n->present >> i & 1) != 0 ? n->slot[i] : NULL;
}

/* radix_insert - put `item` (not NULL) at `index`.  0, -EEXIST when something is there, -ENOMEM. */
int radix_insert(struct radix *r, uint64_t index, void *item);
/* radix_replace - change the item at `index`, which exists, and keep its tags.  Returns the old item. */
void *radix_replace(struct radix *r, uint64_t index, void *item);
/* radix_remove - remove the item at `index`, with its tags, and return it; NULL: there is none. */
void *radix_remove(struct radix *r, uint64_t index);

/* radix_next - the first item at or after *index; *index becomes its index.  NULL: there is none. */
void *radix_next(struct radix *r, uint64_t *index);
/* radix_next_leaf - the first leaf with an item at or after `index`, or NULL. */
struct radix_node *radix_next_leaf(struct radix *r, uint64_t index);

/* radix_tag, radix_untag - set or clear a tag of the item at `index`, which exists. */
void radix_tag(struct radix *r, uint64_t index, enum radix_tag tag);
void radix_untag(struct radix *r, uint64_t index, enum radix_tag tag);
/* radix_next_tagged - like radix_next(), but only among items with the tag. */
void *radix_next_tagged(struct radix *r, uint64_t *index, enum radix_tag tag);

/*
 * radix_clone_leaf - insert a copy of another tree's leaf `n`, without tags.  No leaf of this tree covers the
 * range of `n`.  Returns the copy, whose slots the caller can still change; NULL: no memory.
 */
struct radix_node *radix_clone_leaf(struct radix *r, const struct radix_node *n);

/* radix_destroy - call fn(arg, item) for each item, and free all nodes.  The tree is empty afterwards. */
void radix_destroy(struct radix *r, void (*fn)(void *arg, void *item), void *arg);

#endif
