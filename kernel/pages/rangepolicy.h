// SPDX-License-Identifier: MIT
/*
 * rangepolicy.h - memory policies of ranges of addresses (mbind(2)).
 *
 * THEORY      A segment, or a range of an object, stores its placement policy as a number.  Numbers below
 *             LGRP_MEM_POLICY_COUNT are Solaris's policies (lgrp/place.h).  Each other number names a struct
 *             range_policy, which has a set of nodes.  So the code that splits, joins and searches ranges
 *             handles both kinds alike.
 *             The number is the physical address of the structure, divided by its alignment.  So it fits into
 *             32 bits, and no table is needed to find the structure.
 *             Each segment has a reference to its policy.  The policies of an object stay until the object
 *             ends, because a fault uses the number after it has released the object's lock.
 * INVARIANTS  I1  a segment with such a policy has a reference to it
 *             I2  such a policy of an object's range is on the object's list `policies`
 * LOCKING     A policy does not change.  The count of references is atomic.  o->lock guards o->policies.
 * SEE ALSO    vm/mbind.c, pages/placement.c, pages/advice.h, docs/lgroups.md
 */
#ifndef PAGES_RANGEPOLICY_H
#define PAGES_RANGEPOLICY_H

#include "lgrp/mempolicy.h"
#include "lgrp/place.h"
#include "pages/object.h"

/* What mbind(2) and set_mempolicy_home_node(2) have set. */
struct nodes_policy {
    struct mempolicy mp;
    uint8_t home; /* node from which distances count; NODE_MAX: the home of the thread */
};

static inline bool is_range_policy(unsigned policy)
{
    return policy >= LGRP_MEM_POLICY_COUNT;
}

/* range_policy_new - make a policy with one reference.  0 and its number in *policy, or -ENOMEM.  Sleeps. */
int range_policy_new(const struct nodes_policy *np, unsigned *policy);
/* range_policy_of - the contents of a policy (is_range_policy), as long as there is a reference. */
const struct nodes_policy *range_policy_of(unsigned policy);
/*
 * range_policy_hold_slow, range_policy_drop_slow - range_policy_hold() and range_policy_drop() of a policy with
 * nodes.  range_policy_same - whether two such policies are equal.
 */
void range_policy_hold_slow(unsigned policy);
void range_policy_drop_slow(unsigned policy);
bool range_policy_same(unsigned a, unsigned b);

/* range_policy_hold, range_policy_drop - take and drop a reference, of any policy number.  Any context. */
static inline void range_policy_hold(unsigned policy)
{
    if (unlikely(is_range_policy(policy)))
        range_policy_hold_slow(policy);
}
static inline void range_policy_drop(unsigned policy)
{
    if (unlikely(is_range_policy(policy)))
        range_policy_drop_slow(policy);
}
/* range_policy_equal - whether two policy numbers mean the same. */
static inline bool range_policy_equal(unsigned a, unsigned b)
{
    return a == b || (is_range_policy(a) && is_range_policy(b) && range_policy_same(a, b));
}

/*
 * range_policy_node - the node to try first for a page under a policy with nodes.
 * @index  number of the page, in pages of its size, for MPOL_INTERLEAVE
 * @near   out: the lgroup from which the distances to the other nodes count
 */
unsigned range_policy_node(unsigned policy, uint64_t index, unsigned *near);

/*
 * object_set_nodes - object_advise() with a policy with nodes.  0, or -ENOMEM: the same reasons, or the object
 * has had too many different policies (OBJECT_POLICIES_MAX).  Takes o->lock.  Sleeps.
 * object_forget_nodes - free the policies of an object that ends, when its advice is already removed.
 */
int object_set_nodes(struct vm_object *o, uint64_t first, uint64_t last,
                     const struct nodes_policy *np);
void object_forget_nodes(struct vm_object *o);
/* range_policy_boot - called once at boot, after kmem_init(). */
void range_policy_boot(void);

#endif
