// SPDX-License-Identifier: MIT
/*
 * list.h - circular doubly linked lists whose links live inside the elements.
 *
 * THEORY      A list needs no memory of its own: each element contains a struct list, and list_entry()
 *             computes the element's address from that of the struct list.  The head of the list is a struct
 *             list as well.
 * INVARIANTS  I1  an empty list, and an element on no list, point to themselves
 * LOCKING     The file that owns a list defines its lock.
 */
#ifndef LIB_LIST_H
#define LIB_LIST_H

#include "lib/types.h"

struct list {
    struct list *next, *prev;
};

#define LIST_INIT(l) {&(l), &(l)}

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
    return l->next == l;
}

static inline bool list_is_only(const struct list *l, const struct list *e)
{
    return l->next == e && l->prev == e;
}

static inline void list_link_between(struct list *e, struct list *a, struct list *b)
{
    e->prev = a;
    e->next = b;
    a->next = e;
    b->prev = e;
}

static inline void list_push_front(struct list *l, struct list *e)
{
    list_link_between(e, l, l->next);
}

static inline void list_push_back(struct list *l, struct list *e)
{
    list_link_between(e, l->prev, l);
}

/* Removes `e` from its list and makes e point to itself (I1), so that it is harmless to remove e twice. */
static inline void list_remove(struct list *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
    list_init(e);
}

#define list_entry(e, type, member) container_of(e, type, member)
#define list_first(l, type, member) list_entry((l)->next, type, member)

/* Removes and returns the first element, or NULL if the list is empty. */
#define list_pop(l, type, member)                                                                  \
    ({                                                                                             \
        struct list *_e = (l)->next;                                                               \
        type *_r = NULL;                                                                           \
        if (_e != (l)) {                                                                           \
            list_remove(_e);                                                                       \
            _r = list_entry(_e, type, member);                                                     \
        }                                                                                          \
        _r;                                                                                        \
    })

/* The link of `var`.  At the end of a loop `var` is not an entry, and may not be aligned as one. */
#define list_link(var, member)                                                                     \
    ((struct list *)(void *)((char *)(var) + offsetof(typeof(*(var)), member)))

#define LIST_FOREACH(var, l, member)                                                               \
    for (var = list_entry((l)->next, typeof(*var), member); list_link(var, member) != (l);         \
         var = list_entry(list_link(var, member)->next, typeof(*var), member))

/* Like LIST_FOREACH, but the loop is allowed to remove `var` from the list. */
#define LIST_FOREACH_SAFE(var, tmp, l, member)                                                     \
    for (var = list_entry((l)->next, typeof(*var), member),                                        \
        tmp = list_entry(list_link(var, member)->next, typeof(*var), member);                      \
         list_link(var, member) != (l);                                                            \
         var = tmp, tmp = list_entry(list_link(tmp, member)->next, typeof(*tmp), member))

#endif
