// SPDX-License-Identifier: MIT
/*
 * timerq.c - see timerq.h.
 */
#include "disp/timerq.h"

/* Joins two trees without siblings: the later root becomes the first child of the earlier. */
static struct timer *join(struct timer *a, struct timer *b)
{
    if (b->deadline_ns < a->deadline_ns) {
        struct timer *t = a;
        a = b;
        b = t;
    }
    b->next = a->child;
    if (b->next != NULL)
        b->next->link = &b->next;
    b->link = &a->child;
    a->child = b;
    return a;
}

/* Makes one tree of a list of siblings. */
static struct timer *join_all(struct timer *t)
{
    struct timer *pairs = NULL, *all = NULL, *rest;

    for (; t != NULL; t = rest) {
        struct timer *b = t->next;

        rest = b != NULL ? b->next : NULL;
        t->next = NULL;
        if (b != NULL) {
            b->next = NULL;
            t = join(t, b);
        }
        t->next = pairs;
        pairs = t;
    }
    for (; pairs != NULL; pairs = rest) {
        rest = pairs->next;
        pairs->next = NULL;
        all = all != NULL ? join(all, pairs) : pairs;
    }
    return all;
}

static void add_tree(struct timer **root, struct timer *tree)
{
    *root = *root != NULL ? join(*root, tree) : tree;
    (*root)->link = root;
}

void timerq_insert(struct timer **root, struct timer *t)
{
    t->child = t->next = NULL;
    add_tree(root, t);
}

void timerq_remove(struct timer **root, struct timer *t)
{
    struct timer *kids = join_all(t->child);

    *t->link = t->next;
    if (t->next != NULL)
        t->next->link = t->link;
    t->link = NULL;
    if (kids != NULL)
        add_tree(root, kids);
}
