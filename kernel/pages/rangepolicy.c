// SPDX-License-Identifier: MIT
/*
 * rangepolicy.c - memory policies of ranges of addresses: see rangepolicy.h.
 */
#include "pages/rangepolicy.h"

#include "disp/thread.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"
#include "pages/advice.h"
#include "stat/panic.h"

enum {
    ALIGN_SHIFT = 6, /* a policy is aligned to a cache line, whose number is the policy's number */
    OBJECT_POLICIES_MAX = 256 /* different policies that an object can have had */
};

struct range_policy {
    _Atomic uint32_t refs;
    struct nodes_policy np;    /* [c] */
    struct range_policy *next; /* the next policy of the object; under the object's lock */
    struct usermem *payer;     /* [c] account that is charged for a policy of an object */
};
_Static_assert(sizeof(struct range_policy) <= 1 << ALIGN_SHIFT, "one cache line");

static struct kmem_cache *policy_cache;

void range_policy_boot(void)
{
    policy_cache =
        kmem_cache_create("range_policy", sizeof(struct range_policy), 1ul << ALIGN_SHIFT);
}

static struct range_policy *range_policy_find(unsigned policy)
{
    struct range_policy *rp = phys_to_virt((paddr_t)policy << ALIGN_SHIFT);

    ASSERT(rp->refs != 0 && rp->np.mp.mode < MPOL_COUNT, "rangepolicy I1, I2");
    return rp;
}

static unsigned range_policy_number(const struct range_policy *rp)
{
    return (unsigned)(virt_to_phys(rp) >> ALIGN_SHIFT);
}

/* Makes a policy with one reference.  NULL: no memory, or the number would not fit (over 256 GiB). */
static struct range_policy *range_policy_alloc(const struct nodes_policy *np)
{
    struct range_policy *rp = kmem_cache_alloc_wait(policy_cache);

    if (rp == NULL)
        return NULL;
    if (virt_to_phys(rp) >> ALIGN_SHIFT > UINT32_MAX) {
        kmem_cache_free(policy_cache, rp);
        return NULL;
    }
    *rp = (struct range_policy){.refs = 1, .np = *np};
    return rp;
}

int range_policy_new(const struct nodes_policy *np, unsigned *policy)
{
    struct range_policy *rp = range_policy_alloc(np);

    if (rp == NULL)
        return -ENOMEM;
    *policy = range_policy_number(rp);
    return 0;
}

const struct nodes_policy *range_policy_of(unsigned policy)
{
    return &range_policy_find(policy)->np;
}

void range_policy_hold_slow(unsigned policy)
{
    atomic_fetch_add_explicit(&range_policy_find(policy)->refs, 1, memory_order_relaxed);
}

void range_policy_drop_slow(unsigned policy)
{
    struct range_policy *rp = range_policy_find(policy);

    if (atomic_fetch_sub_explicit(&rp->refs, 1, memory_order_acq_rel) == 1)
        kmem_cache_free(policy_cache, rp);
}

static bool has_same_nodes(const struct nodes_policy *a, const struct nodes_policy *b)
{
    return a->mp.mode == b->mp.mode && a->mp.flags == b->mp.flags && a->mp.nodes == b->mp.nodes &&
           a->home == b->home && (a->mp.flags == 0 || a->mp.asked == b->mp.asked);
}

bool range_policy_same(unsigned a, unsigned b)
{
    return has_same_nodes(range_policy_of(a), range_policy_of(b));
}

/* The member of `nodes` that follows `index` others, in a circle. */
static unsigned nth_node(uint64_t nodes, uint64_t index)
{
    for (uint64_t skip = index % bit_count(nodes); skip > 0; skip--)
        nodes &= nodes - 1;
    return bit_first(nodes);
}

unsigned range_policy_node(unsigned policy, uint64_t index, unsigned *near)
{
    const struct nodes_policy *np = range_policy_of(policy);
    struct mempolicy mp = np->mp;

    if (np->home != NODE_MAX)
        *near = lgrp_topo.node_lgrp[np->home];
    else
        *near = curthread->lg.home != LGRP_NONE ? curthread->lg.home : this_cpu()->lgrp;
    if (mp.mode == MPOL_INTERLEAVE)
        return nth_node(mp.nodes, index);
    return mempolicy_node(&mp, &lgrp_topo, *near);
}

/* A policy of the object that is equal to `np`; NULL: there is none.  *n: number of its policies. */
static struct range_policy *find_equal_policy(struct vm_object *o, const struct nodes_policy *np,
                                              unsigned *n)
{
    struct range_policy *rp;

    *n = 0;
    spin_lock(&o->lock);
    for (rp = o->policies; rp != NULL && !has_same_nodes(&rp->np, np); rp = rp->next)
        ++*n;
    spin_unlock(&o->lock);
    return rp;
}

/* Adds a policy to an object, and charges the caller's user.  NULL: no memory, or over the user's limit. */
static struct range_policy *add_object_policy(struct vm_object *o, const struct nodes_policy *np)
{
    struct usermem *payer = usermem_charge(sizeof(struct range_policy));
    struct range_policy *rp = payer != NULL ? range_policy_alloc(np) : NULL;

    if (rp == NULL) {
        if (payer != NULL)
            usermem_return(payer, sizeof *rp);
        return NULL;
    }
    rp->payer = payer;
    spin_lock(&o->lock);
    rp->next = o->policies;
    o->policies = rp;
    spin_unlock(&o->lock);
    return rp;
}

int object_set_nodes(struct vm_object *o, uint64_t first, uint64_t last,
                     const struct nodes_policy *np)
{
    unsigned n;
    struct range_policy *rp = find_equal_policy(o, np, &n);

    if (rp == NULL && n < OBJECT_POLICIES_MAX)
        rp = add_object_policy(o, np);
    return rp != NULL ? object_advise(o, first, last, range_policy_number(rp)) : -ENOMEM;
}

void object_forget_nodes(struct vm_object *o)
{
    struct range_policy *rp;

    while ((rp = o->policies) != NULL) {
        o->policies = rp->next;
        usermem_return(rp->payer, sizeof *rp);
        kmem_cache_free(policy_cache, rp);
    }
}
