// SPDX-License-Identifier: MIT
/*
 * driver.c - the lab "placement": calls the student's four parts for the grader.
 *
 * THEORY      The topology, the tunables and the object with advice stay between operations.
 */
#include "labs/placement/floor.h"
#include "labs/sandbox.h"
#include "lgrp/mempolicy.h"
#include "lgrp/place.h"
#include "lib/string.h"
#include "pages/advice.h"
#include "vm/segplace.h"

static struct lgrp_topo topo;
static struct mempolicy mp;

/* topo: number of lgroups; the set of nodes of each; near[] of each; number of nodes; bytes of each */
static void make_topo(const uint64_t *arg, size_t n)
{
    size_t at = 1;

    memset(&topo, 0, sizeof topo);
    topo.nlgrps = (unsigned)min_of(arg[0], (uint64_t)LGRP_MAX);
    for (unsigned g = 0; g < topo.nlgrps; g++) {
        uint64_t nodes = topo.lgrp_nodes[g] = arg[at++];

        topo.mem_lgrps |= nodes != 0 ? 1ull << g : 0;
        topo.sole_node[g] = bit_count(nodes) == 1 ? (uint8_t)bit_first(nodes) : LGRP_NONE;
        BITS_FOREACH(node, nodes)
        topo.node_lgrp[node] = (uint8_t)g;
    }
    for (unsigned g = 0; g < topo.nlgrps; g++)
        for (unsigned i = 0; i < topo.nlgrps; i++)
            topo.near[g][i] = (uint8_t)arg[at++];
    topo.nmem = topo.nnodes = (unsigned)min_of(arg[at++], (uint64_t)NODE_MAX);
    for (unsigned node = 0; node < topo.nmem; node++)
        topo.node_bytes[node] = arg[at++];
}

/*
 * choose: policy, home, lgroup of the CPU, lgroups of the process, lgroups of the set, bytes, lgrp_mem_pset_aware; then
 * a page index and a random number for each question.  Answers lgroup and policy for each.
 */
static void choose(const uint64_t *arg, size_t n)
{
    lgrp_mem_pset_aware = (uint32_t)arg[6];
    for (size_t i = 7; i + 1 < n; i += 2) {
        enum lgrp_mem_policy policy = (enum lgrp_mem_policy)arg[0];
        struct lgrp_mem_in in = {
            .topo = &topo,
            .home = (unsigned)arg[1],
            .cpu_lgrp = (unsigned)arg[2],
            .proc_lgrps = arg[3],
            .pset_lgrps = arg[4],
            .seg_bytes = arg[5],
            .index = arg[i],
            .rnd = (uint32_t)arg[i + 1],
        };

        sandbox_answer(lgrp_mem_choose(&policy, &in));
        sandbox_answer(policy);
    }
}

/* node: lgroup, then random numbers.  Answers a node for each. */
static void node(const uint64_t *arg, size_t n)
{
    for (size_t i = 1; i < n; i++)
        sandbox_answer(lgrp_mem_node(&topo, (unsigned)arg[0] % LGRP_MAX, (uint32_t)arg[i]));
}

/* make: mode, flags, nodes, number of nodes with memory.  Answers the negated error, then all fields of the policy. */
static void make(const uint64_t *arg, size_t n)
{
    int err =
        mempolicy_make(&mp, (int)(uint32_t)arg[0], (unsigned)arg[1], arg[2], (unsigned)arg[3]);

    sandbox_answer((uint64_t)-err);
    sandbox_answer(mp.mode);
    sandbox_answer(mp.last);
    sandbox_answer(mp.flags);
    sandbox_answer(mp.asked);
    sandbox_answer(mp.nodes);
}

/* pages: home, number.  Answers for each page what mempolicy_next() says, and then the node. */
static void pages(const uint64_t *arg, size_t n)
{
    for (uint64_t i = 0; i < arg[1]; i++) {
        sandbox_answer(mempolicy_next(&mp));
        sandbox_answer(mempolicy_node(&mp, &topo, (unsigned)arg[0]));
    }
}

/* local: home.  Answers the node of a page, for modes that do not interleave. */
static void local(const uint64_t *arg, size_t n)
{
    sandbox_answer(mempolicy_node(&mp, &topo, (unsigned)arg[0]));
}

/* nearest: lgroup, set of nodes. */
static void nearest(const uint64_t *arg, size_t n)
{
    sandbox_answer(mempolicy_nearest(&topo, (unsigned)arg[0], arg[1]));
}

/*
 * segment: lgrp_mem_default_policy, lgrp_privm_random_thresh, lgrp_shm_random_thresh; 1 if the segment is shared, its
 * policy, size, first address, 1 if it has an object, the first page of that; an address.  Answers all fields of the
 * placement.
 */
static void segment(const uint64_t *arg, size_t n)
{
    static struct seg s;
    struct placement pl;

    lgrp_mem_default_policy = (uint32_t)arg[0];
    lgrp_privm_random_thresh = arg[1];
    lgrp_shm_random_thresh = arg[2];
    s.flags = arg[3] != 0 ? MAP_SHARED : MAP_PRIVATE;
    s.policy = (uint8_t)arg[4];
    s.size = arg[5];
    s.n.start = arg[6];
    s.n.end = arg[9] + PAGE_SIZE;
    s.obj = arg[7] != 0 ? &floor_object : NULL;
    s.obj_first = arg[8];
    pl = place_of_seg(&s, arg[9]);
    sandbox_answer(pl.policy);
    sandbox_answer(pl.bytes);
    sandbox_answer(pl.index);
    sandbox_answer(pl.advised);
}

/* advise: first, last, policy.  Answers the negated error. */
static void advise(const uint64_t *arg, size_t n)
{
    sandbox_answer((uint64_t)-object_advise(&floor_object, arg[0], arg[1], (unsigned)arg[2]));
}

/* policies: pages.  Answers the policy of each. */
static void policies(const uint64_t *arg, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sandbox_answer(object_policy(&floor_object, arg[i]));
}

static void forget(const uint64_t *arg, size_t n)
{
    object_forget_advice(&floor_object);
}

/*
 * state: answers the length of the list (at most 9999), nadvised, the blocks and bytes of memory that are held, the
 * bytes charged to each user, misuses (floor.h), 1 if the lock is held, and how often it was taken.
 */
static void state(const uint64_t *arg, size_t n)
{
    uint64_t length = 0;

    for (struct list *l = floor_object.advised.next; l != &floor_object.advised && length < 9999;
         l = l->next)
        length++;
    sandbox_answer(length);
    sandbox_answer(floor_object.nadvised);
    sandbox_answer(floor_state.nblocks);
    sandbox_answer(floor_state.bytes);
    sandbox_answer(floor_charged(0));
    sandbox_answer(floor_charged(1));
    sandbox_answer(floor_state.misuses);
    sandbox_answer(floor_object.lock.owner != floor_object.lock.next);
    sandbox_answer(floor_object.lock.next);
}

/* memory: most bytes that the user may hold; the set of the next allocations that fail */
static void memory(const uint64_t *arg, size_t n)
{
    floor_state.charge_max = arg[0];
    floor_state.fails = arg[1];
}

/* user: which user calls from now on, 0 or 1 */
static void user(const uint64_t *arg, size_t n)
{
    floor_state.user = arg[0] & 1;
}

void sandbox_prepare(void)
{
    floor_prepare();
}

const struct sandbox_op sandbox_ops[] = {
    {"topo", make_topo}, {"choose", choose},     {"node", node},       {"make", make},
    {"pages", pages},    {"local", local},       {"nearest", nearest}, {"segment", segment},
    {"advise", advise},  {"policies", policies}, {"forget", forget},   {"state", state},
    {"memory", memory},  {"user", user},         {NULL, NULL},
};
