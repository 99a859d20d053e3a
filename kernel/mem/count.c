// SPDX-License-Identifier: MIT
/*
 * count.c - numbers of frames: free, installed, unpageable; allocations by node.
 *
 * THEORY      For a number that changes at each allocation, each CPU has its own counter, in its magazine or in
 *             struct cpu.  These functions compute the sum.  Such a sum is not exact while other CPUs allocate.
 * LOCKING     The functions take no locks.
 */
#include "mem/count.h"

#include "mem/percpu.h"

static _Atomic int64_t unpageable; /* unpageable frames, without those in the counts of CPUs */

void mem_unpageable_publish(void)
{
    irq_push();
    atomic_fetch_add_explicit(&unpageable, this_cpu()->unpageable, memory_order_relaxed);
    this_cpu()->unpageable = 0;
    irq_pop();
}

uint64_t mem_unpageable(void)
{
    return (uint64_t)max_of(atomic_load_explicit(&unpageable, memory_order_relaxed), (int64_t)0);
}

uint64_t mem_free_pages(unsigned node)
{
    uint64_t n = mem_nodes[node].nfree_pages;

    for (unsigned i = 0; i < ncpu; i++)
        if (cpus[i] != NULL && cpus[i]->mem != NULL && cpus[i]->node == node)
            n += cpus[i]->mem->npages;
    return n;
}

void mem_node_counts(unsigned node, struct mem_counts *out)
{
    const struct mem_node *n = &mem_nodes[node];

    *out = (struct mem_counts){n->n_local, n->n_fallback, n->n_foreign};
    for (unsigned i = 0; i < ncpu; i++)
        if (cpus[i] != NULL && cpus[i]->mem != NULL && cpus[i]->node == node)
            out->local += cpus[i]->mem->n_local;
}

void mem_node_counts_clear(unsigned node)
{
    struct mem_node *n = &mem_nodes[node];

    n->n_local = 0;
    n->n_fallback = 0;
    n->n_foreign = 0;
    for (unsigned i = 0; i < ncpu; i++)
        if (cpus[i] != NULL && cpus[i]->mem != NULL && cpus[i]->node == node)
            cpus[i]->mem->n_local = 0;
}

uint64_t mem_total_pages(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < nnodes; i++)
        n += mem_nodes[i].ninstalled_pages;
    return n;
}
