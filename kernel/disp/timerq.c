// SPDX-License-Identifier: MIT
/*
 * timerq.c - the pairing heap of armed timers: see timerq.h.
 */
#include "disp/timerq.h"

/* Joins two trees without siblings: the later root becomes the first child of the earlier. */
static struct timer *meld_timer_heaps(struct timer *a, struct timer *b)
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

/* Joins the trees of a list of siblings, which begins with `t`, to one tree; NULL if the list is empty. */
static struct timer *meld_sibling_heaps(struct timer *t)
{
    struct timer *pairs = NULL, *all = NULL, *rest;

    for (; t != NULL; t = rest) {
        struct timer *b = t->next;

        rest = b != NULL ? b->next : NULL;
        t->next = NULL;
        if (b != NULL) {
            b->next = NULL;
            t = meld_timer_heaps(t, b);
        }
        t->next = pairs;
        pairs = t;
    }
    for (; pairs != NULL; pairs = rest) {
        rest = pairs->next;
        pairs->next = NULL;
        all = all != NULL ? meld_timer_heaps(all, pairs) : pairs;
    }
    return all;
}

/* Joins `tree` to the heap at *root. */
static void add_timer_heap(struct timer **root, struct timer *tree)
{
    *root = *root != NULL ? meld_timer_heaps(*root, tree) : tree;
    (*root)->link = root;
}

void timerq_insert(struct timer **root, struct timer *t)
{
    t->child = t->next = NULL;
    add_timer_heap(root, t);
}

void timerq_remove(struct timer **root, struct timer *t)
{
    struct timer *kids = meld_sibling_heaps(t->child);

    *t->link = t->next;
    if (t->next != NULL)
        t->next->link = t->link;
    t->link = NULL;
    if (kids != NULL)
        add_timer_heap(root, kids);
}
