// SPDX-License-Identifier: MIT
/*
 * advice.c - the advice of madvise() on where pages of an object are placed.
 *
 * THEORY      Most objects have no advice.  For the others, a sorted list of ranges is enough.  New advice cuts
 *             its range out of the old ranges, is inserted there, and is joined with neighbours of
 *             the same policy.
 *             Cutting a hole into a range makes two ranges of it.  So memory for two ranges is allocated before
 *             the lock is taken, and unused memory is freed afterwards.
 *             Programs cause these allocations.  They are charged to the user (mem/usermem.h), and an object
 *             has at most ADVISED_MAX ranges, because each fault walks the list.
 * INVARIANTS  I1  ranges are sorted and do not overlap; ranges that touch have different policies
 *             I2  o->nadvised is the length of the list
 * LOCKING     o->lock
 * SEE ALSO    placement.c, which uses the advice; advise.c, which gets it; tests/host/test_advice.c
 */
#include "pages/advice.h"

#include "lgrp/place.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"
#include "pages/object.h"

enum { ADVISED_MAX = 256 }; /* most ranges with advice in one object */

/* LAB placement-advice: begin */
struct advised {
    struct list link;
    uint64_t first, last; /* the first and the last page of the range */
    unsigned policy;
    struct usermem *payer;
};

static struct advised *advised_new(struct usermem *payer)
{
    struct advised *a = kmem_alloc(sizeof *a);

    if (a == NULL)
        usermem_return(payer, sizeof *a);
    else
        a->payer = payer;
    return a;
}

static void advised_free(struct advised *a)
{
    if (a != NULL)
        usermem_return(a->payer, sizeof *a);
    kmem_free(a);
}

unsigned object_policy(struct vm_object *o, uint64_t index)
{
    struct advised *a;
    unsigned policy = LGRP_MEM_POLICY_DEFAULT;

    if (likely(list_empty(&o->advised)))
        return policy;
    spin_lock(&o->lock);
    LIST_FOREACH (a, &o->advised, link)
        if (index <= a->last) {
            if (index >= a->first)
                policy = a->policy;
            break;
        }
    spin_unlock(&o->lock);
    return policy;
}

/*
 * Removes the advice for pages first .. last.  If that cuts a range in two, the record *spare is
 * used for the upper part, and *spare is set to NULL.  Removed ranges go to `dead`.  0, or -ENOMEM:
 * there would be too many ranges.
 */
static int advice_cut(struct vm_object *o, uint64_t first, uint64_t last, struct advised **spare,
                      struct list *dead)
{
    struct advised *a, *next;

    LIST_FOREACH_SAFE (a, next, &o->advised, link) {
        if (a->last < first || a->first > last)
            continue;
        if (a->first < first && a->last > last) { /* in this case no other range overlaps */
            if (o->nadvised >= ADVISED_MAX)
                return -ENOMEM;
            (*spare)->first = last + 1;
            (*spare)->last = a->last;
            (*spare)->policy = a->policy;
            a->last = first - 1;
            list_push_front(&a->link, &(*spare)->link);
            *spare = NULL;
            o->nadvised++;
            return 0;
        }
        if (a->first >= first && a->last <= last) {
            list_remove(&a->link);
            list_push_back(dead, &a->link);
            o->nadvised--;
        } else if (a->first < first) {
            a->last = first - 1;
        } else {
            a->first = last + 1;
        }
    }
    return 0;
}

/* Inserts a range and joins it with neighbours of the same policy; ranges joined to others go to `dead`. */
static void advice_insert(struct vm_object *o, struct advised *fresh, struct list *dead)
{
    struct advised *a, *prev;

    LIST_FOREACH (a, &o->advised, link)
        if (a->first > fresh->last)
            break;
    list_push_back(&a->link, &fresh->link); /* before `a`, or at the end */
    o->nadvised++;
    if (&a->link != &o->advised && a->first == fresh->last + 1 && a->policy == fresh->policy) {
        fresh->last = a->last;
        list_remove(&a->link);
        list_push_back(dead, &a->link);
        o->nadvised--;
    }
    prev = list_entry(fresh->link.prev, struct advised, link);
    if (&prev->link != &o->advised && prev->last + 1 == fresh->first &&
        prev->policy == fresh->policy) {
        prev->last = fresh->last;
        list_remove(&fresh->link);
        list_push_back(dead, &fresh->link);
        o->nadvised--;
    }
}

int object_advise(struct vm_object *o, uint64_t first, uint64_t last, unsigned policy)
{
    struct usermem *payer = usermem_charge(2 * sizeof(struct advised));
    struct advised *fresh, *spare, *a;
    struct list dead = LIST_INIT(dead);
    int err;

    if (payer == NULL)
        return -ENOMEM;
    fresh = advised_new(payer);
    spare = advised_new(payer);
    if (fresh == NULL || spare == NULL) {
        advised_free(fresh);
        advised_free(spare);
        return -ENOMEM;
    }
    fresh->first = first;
    fresh->last = last;
    fresh->policy = policy;
    list_init(&fresh->link);
    spin_lock(&o->lock);
    if (policy != LGRP_MEM_POLICY_DEFAULT && o->nadvised >= ADVISED_MAX)
        err = -ENOMEM;
    else
        err = advice_cut(o, first, last, &spare, &dead);
    if (err == 0 && policy != LGRP_MEM_POLICY_DEFAULT)
        advice_insert(o, fresh, &dead);
    else
        list_push_back(&dead, &fresh->link);
    spin_unlock(&o->lock);
    advised_free(spare);
    while ((a = list_pop(&dead, struct advised, link)) != NULL)
        advised_free(a);
    return err;
}

void object_forget_advice(struct vm_object *o)
{
    struct advised *a;

    while (!list_empty(&o->advised)) {
        spin_lock(&o->lock);
        a = list_pop(&o->advised, struct advised, link);
        o->nadvised--;
        spin_unlock(&o->lock);
        advised_free(a);
    }
}
/* LAB placement-advice: end */
