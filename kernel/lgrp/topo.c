// SPDX-License-Identifier: MIT
/*
 * topo.c - from SRAT to memory nodes: which CPU and which memory is on which board.
 *
 * THEORY      The SRAT is the ACPI table that assigns CPUs and memory ranges to proximity domains (boards).
 *             The kernel uses all of it or nothing.  It rejects the SRAT, and makes the machine one node, in
 *             these cases:
 *             - a CPU is in two domains, or is missing;
 *             - there are too many domains or ranges;
 *             - no installed memory is named;
 *             - two domains claim the same address (interleaved memory).
 *             CPUs that do not exist and memory that is not installed (room for hot plugging) are ignored.  A
 *             domain with neither CPUs nor memory is not a node.
 *             The installed ranges are cut along the SRAT's ranges, and each piece keeps its domain.  This
 *             gives a list of pieces, not one span per domain, so holes and alternating boards are
 *             represented correctly.  Installed memory that the SRAT does not name joins the piece below it, or
 *             node 0 if there is none, because losing this memory would be worse than putting it in a wrong
 *             node.
 *             Domain numbers can be sparse.  Nodes are numbered by ascending lowest address.  The domains
 *             without memory follow, by ascending domain number.
 * INVARIANTS  those of lgrp.h
 * SEE ALSO    distance.c (latencies, lgroups), docs/lgroups.md, tests/host/test_topo.c
 */
#include "lgrp/lgrp.h"

#include "lgrp/distance.h"
#include "lib/string.h"

struct lgrp_topo lgrp_topo;

enum { NO_NODE = 255 };

void lgrp_note(struct lgrp_topo *t, const char *line)
{
    if (t->nnotes < LGRP_NOTE_MAX)
        t->note[t->nnotes++] = line;
}

/*
 * Appends memory [base, end) of `node` to the ranges, or extends the last range by it.  false:
 * there is no room.
 */
static bool append_memory_piece(struct lgrp_topo *t, uint64_t base, uint64_t end, uint8_t node)
{
    unsigned n = t->nranges;

    if (n > 0 && t->range_node[n - 1] == node &&
        t->range[n - 1].base + t->range[n - 1].len == base) {
        t->range[n - 1].len += end - base;
        return true;
    }
    if (n == LGRP_RANGE_MAX)
        return false;
    t->range[n] = (struct lgrp_range){base, end - base};
    t->range_node[n] = node;
    t->nranges++;
    return true;
}

/* The installed range with the lowest base; unless `first`, only bases above `after` count.  NULL: none. */
static const struct lgrp_range *next_installed_range(const struct lgrp_input *in, bool first,
                                                     uint64_t after)
{
    const struct lgrp_range *best = NULL;

    for (unsigned i = 0; i < in->nmem; i++) {
        const struct lgrp_range *r = &in->mem[i];

        if (r->len > 0 && (first || r->base > after) && (best == NULL || r->base < best->base))
            best = r;
    }
    return best;
}

/* Makes the whole machine one node.  `line`: the reason, for the console, or NULL. */
static void use_single_node(struct lgrp_topo *t, const struct lgrp_input *in, const char *line)
{
    const struct lgrp_range *r;
    bool fits = true;

    t->nnodes = t->nmem = 1;
    t->nranges = 0;
    t->node_pxm[0] = 0;
    for (r = next_installed_range(in, true, 0); r != NULL;
         r = next_installed_range(in, false, r->base))
        fits = append_memory_piece(t, r->base, r->base + r->len, 0) && fits;
    memset(t->cpu_node, 0, sizeof t->cpu_node);
    if (line != NULL)
        lgrp_note(t, line);
    if (!fits)
        lgrp_note(t, "too many memory ranges, the last ones are not used");
}

/* The node of domain `pxm`; a new domain gets the next number.  NO_NODE: there are too many. */
static uint8_t node_of_domain(struct lgrp_topo *t, uint32_t pxm)
{
    for (unsigned i = 0; i < t->nnodes; i++)
        if (t->node_pxm[i] == pxm)
            return (uint8_t)i;
    if (t->nnodes == NODE_MAX)
        return NO_NODE;
    t->node_pxm[t->nnodes] = pxm;
    return (uint8_t)t->nnodes++;
}

static const struct acpi_srat_cpu *find_srat_cpu(const struct acpi_srat *s, uint32_t apic_id)
{
    for (unsigned i = 0; i < s->ncpus; i++)
        if (s->cpu[i].apic_id == apic_id)
            return &s->cpu[i];
    return NULL;
}

/* Checks the CPU entries of the SRAT.  Returns NULL, or the reason to reject the SRAT. */
static const char *check_srat_cpus(const struct lgrp_input *in)
{
    const struct acpi_srat *s = in->srat;

    for (unsigned i = 0; i < s->ncpus; i++)
        if (find_srat_cpu(s, s->cpu[i].apic_id)->pxm != s->cpu[i].pxm)
            return "SRAT rejected: the same APIC id is in two domains";
    for (unsigned i = 0; i < in->ncpus; i++)
        if (find_srat_cpu(s, in->apic_id[i]) == NULL)
            return "SRAT rejected: fewer CPU entries than CPUs";
    return NULL;
}

/* Whether more than NODE_MAX different domains appear; t->node_pxm serves as scratch. */
static bool too_many_domains(struct lgrp_topo *t, const struct acpi_srat *s)
{
    bool many = false;

    t->nnodes = 0;
    for (unsigned i = 0; i < s->ncpus && !many; i++)
        many = node_of_domain(t, s->cpu[i].pxm) == NO_NODE;
    for (unsigned i = 0; i < s->nmem && !many; i++)
        many = node_of_domain(t, s->mem[i].pxm) == NO_NODE;
    t->nnodes = 0;
    return many;
}

/* LAB topology-nodes: begin */
/*
 * The piece of [at, end) that begins at `at`: sets *until and *mem to the SRAT range that
 * covers it, or to NULL for a gap.  Returns whether a range of another domain also covers `at`.
 */
static bool next_memory_piece(const struct acpi_srat *s, uint64_t at, uint64_t end, uint64_t *until,
                              const struct acpi_srat_mem **mem)
{
    bool clash = false;

    *mem = NULL;
    *until = end;
    for (unsigned i = 0; i < s->nmem; i++) {
        const struct acpi_srat_mem *m = &s->mem[i];

        if (m->base > at) { /* m begins later, so this piece ends where m begins */
            *until = min_of(*until, m->base);
        } else if (at - m->base < m->len) {
            *until = min_of(*until, m->base + m->len);
            clash |= *mem != NULL && (*mem)->pxm != m->pxm;
            *mem = m;
        }
    }
    return clash;
}

/*
 * The node of the next piece of memory: the node of its SRAT entry `mem`, or if that is NULL, the node of the
 * piece before.
 */
static uint8_t node_of_piece(struct lgrp_topo *t, const struct acpi_srat_mem *mem)
{
    if (mem != NULL)
        return node_of_domain(t, mem->pxm);
    return t->nranges > 0 ? t->range_node[t->nranges - 1] : NO_NODE;
}

/* Cuts the installed memory along the SRAT.  NULL, or the reason why that is impossible. */
static const char *cut_memory_by_srat(struct lgrp_topo *t, const struct lgrp_input *in)
{
    const struct acpi_srat_mem *mem;
    const struct lgrp_range *r;
    uint64_t until;

    t->nranges = 0;
    for (r = next_installed_range(in, true, 0); r != NULL;
         r = next_installed_range(in, false, r->base)) {
        for (uint64_t at = r->base; at < r->base + r->len; at = until) {
            if (next_memory_piece(in->srat, at, r->base + r->len, &until, &mem))
                return "MPO disabled because memory is interleaved";
            if (!append_memory_piece(t, at, until, node_of_piece(t, mem)))
                return "SRAT rejected: too many memory ranges";
        }
    }
    t->nmem = t->nnodes;
    if (t->nmem == 0)
        return "SRAT rejected: it names no installed memory";
    for (unsigned i = 0; i < t->nranges; i++) /* pieces below the first one whose node is known */
        if (t->range_node[i] == NO_NODE)
            t->range_node[i] = 0;
    return NULL;
}

/* Sets the node of each CPU.  Domains without memory get new nodes, by ascending domain number. */
static void assign_cpu_nodes(struct lgrp_topo *t, const struct lgrp_input *in)
{
    for (;;) {
        const struct acpi_srat_cpu *low = NULL;

        for (unsigned i = 0; i < in->ncpus; i++) {
            const struct acpi_srat_cpu *c = find_srat_cpu(in->srat, in->apic_id[i]);
            bool known = false;

            for (unsigned n = 0; n < t->nnodes && !known; n++)
                known = t->node_pxm[n] == c->pxm;
            if (!known && (low == NULL || c->pxm < low->pxm))
                low = c;
        }
        if (low == NULL)
            break;
        node_of_domain(t, low->pxm);
    }
    for (unsigned i = 0; i < in->ncpus; i++)
        t->cpu_node[i] = node_of_domain(t, find_srat_cpu(in->srat, in->apic_id[i])->pxm);
}
/* LAB topology-nodes: end */

/* Computes nodes and memory pieces from the SRAT, or falls back to one node. */
static void find_nodes(struct lgrp_topo *t, const struct lgrp_input *in)
{
    const char *wrong;

    if (in->ncpus <= 1) {
        use_single_node(t, in, NULL);
        return;
    }
    if (in->srat == NULL) {
        use_single_node(t, in, in->srat_why != NULL ? in->srat_why : "no SRAT, one lgroup");
        return;
    }
    wrong = check_srat_cpus(in);
    if (wrong == NULL && too_many_domains(t, in->srat))
        wrong = "SRAT rejected: more domains than supported";
    if (wrong == NULL)
        wrong = cut_memory_by_srat(t, in);
    if (wrong == NULL)
        assign_cpu_nodes(t, in);
    if (wrong != NULL || t->nnodes == 1)
        use_single_node(t, in, wrong);
}

void lgrp_topo_build(struct lgrp_topo *t, const struct lgrp_input *in)
{
    memset(t, 0, sizeof *t);
    t->ncpus = min_of(in->ncpus, (unsigned)CPU_MAX);
    find_nodes(t, in);
    for (unsigned i = 0; i < t->nranges; i++)
        t->node_bytes[t->range_node[i]] += t->range[i].len;
    lgrp_find_distances(t, in);
    lgrp_topo_group(t);
    lgrp_apply_family(t);
}

int lgrp_phys_node(const struct lgrp_topo *t, uint64_t pa)
{
    unsigned low = 0, high = t->nranges; /* the range, if any, is in [low, high) */

    while (low < high) {
        unsigned mid = (low + high) / 2;

        if (pa < t->range[mid].base)
            high = mid;
        else if (pa - t->range[mid].base >= t->range[mid].len)
            low = mid + 1;
        else
            return t->range_node[mid];
    }
    return -1;
}
