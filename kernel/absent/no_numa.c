// SPDX-License-Identifier: MIT
/*
 * no_numa.c - a kernel where ranges of memory have no policies with nodes: mbind(2) and the calls that move pages
 * at once do not exist.  set_mempolicy(2) is there.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "absent/absent.h"
#include "lib/errno.h"
#include "pages/rangepolicy.h"
#include "procfs/procfs.h"
#include "stat/panic.h"
#include "vm/vm.h"

ABSENT_CALL(mbind)
ABSENT_CALL(set_mempolicy_home_node)
ABSENT_CALL(move_pages)
ABSENT_CALL(migrate_pages)

void range_policy_boot(void)
{
}

const struct nodes_policy *range_policy_of(unsigned policy)
{
    panic("policy %u: this kernel has no policies of ranges", policy);
}

void range_policy_hold_slow(unsigned policy)
{
    range_policy_of(policy);
}

void range_policy_drop_slow(unsigned policy)
{
    range_policy_of(policy);
}

bool range_policy_same(unsigned a, unsigned b)
{
    return range_policy_of(a) == range_policy_of(b);
}

unsigned range_policy_node(unsigned policy, uint64_t index, unsigned *near)
{
    (void)index, (void)near;
    return range_policy_of(policy)->home;
}

void object_forget_nodes(struct vm_object *o)
{
    (void)o;
}

int as_policy_at(struct as *as, uint64_t addr, struct mempolicy *out)
{
    struct as_page_info pi;

    *out = (struct mempolicy){.mode = MPOL_DEFAULT};
    as_query(as, &addr, 1, &pi);
    return pi.mapped ? 0 : -EFAULT;
}

PROCFS_SHOW(procfs_show_numa_maps)
{
    (void)n, (void)arg, (void)out;
    return 0;
}
