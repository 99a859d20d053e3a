// SPDX-License-Identifier: MIT
/*
 * distance.c - how far nodes are from each other, and the lgroups that result from these distances.
 *
 * THEORY      Distances are relative numbers, as in the SLIT: 10 is local.  A matrix is accepted if it is
 *             symmetric, all values on the diagonal are equal, and every other value is greater.  An entry of
 *             0 means "not given"; these checks skip it.  A matrix whose entries are all equal is accepted,
 *             too.  It means that locality does not matter, so all boards form one lgroup (like the small
 *             servers of the MPO paper).
 *             If there is no acceptable SLIT, the kernel uses the latencies of the HMAT, if they name every
 *             pair and pass the same checks.  If these do not, either, other kernels measure the time of memory
 *             accesses.  In an emulator every access takes the same time, so this kernel assumes local 10,
 *             remote 20.
 *             With mpo_enable 0 all nodes form lgroup 0.  They are still separate nodes, so pages are spread
 *             over the boards, and the counters of each board show this.
 * SEE ALSO    lgrp.h, docs/lgroups.md, tests/host/test_topo.c
 */
#include "lgrp/distance.h"

#include "lib/string.h"

enum { SLIT_MAX = 254 }; /* the largest distance; 255 means "unreachable" */

static void set_default_latencies(struct lgrp_topo *t)
{
    for (unsigned i = 0; i < t->nnodes; i++)
        for (unsigned j = 0; j < t->nnodes; j++)
            t->node_lat[i][j] = i == j ? LGRP_LAT_LOCAL : LGRP_LAT_REMOTE;
}

static bool all_latencies_equal(const struct lgrp_topo *t)
{
    for (unsigned i = 0; i < t->nnodes; i++)
        for (unsigned j = 0; j < t->nnodes; j++)
            if (t->node_lat[i][j] != t->node_lat[0][0] || t->node_lat[i][j] == 0)
                return false;
    return true;
}

static uint8_t higher_latency(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

/* Results of the three checks, in the order of docs/lgroups.md.  Entries of 0 are skipped. */
enum flaw { SOUND, ASYMMETRIC, DIAGONAL, REMOTE_NEARER };

/* LAB topology-distances: begin */
static enum flaw check_latencies(const struct lgrp_topo *t)
{
    uint8_t local = 0;
    enum flaw flaw = SOUND;

    for (unsigned i = 0; i < t->nnodes; i++) {
        for (unsigned j = 0; j < i; j++) {
            uint8_t a = t->node_lat[i][j], b = t->node_lat[j][i];

            if (a != 0 && b != 0 && a != b)
                return ASYMMETRIC;
        }
    }
    for (unsigned i = 0; i < t->nnodes; i++) {
        uint8_t d = t->node_lat[i][i];

        if (d != 0 && local != 0 && d != local)
            return DIAGONAL;
        local = d != 0 ? d : local;
    }
    for (unsigned i = 0; i < t->nnodes; i++)
        for (unsigned j = 0; j < t->nnodes; j++)
            if (i != j && t->node_lat[i][j] != 0 && t->node_lat[i][j] <= local)
                flaw = REMOTE_NEARER;
    return flaw;
}

/*
 * Fills entries of 0.  On the diagonal, uses the local distance of other nodes, or else half the largest
 * distance.  Elsewhere, uses the value of the opposite direction, or else the largest distance.
 */
static void fill_latency_gaps(struct lgrp_topo *t)
{
    uint8_t local = 0, far = 0;

    for (unsigned i = 0; i < t->nnodes; i++) {
        for (unsigned j = 0; j < t->nnodes; j++) {
            if (i == j)
                local = higher_latency(local, t->node_lat[i][j]);
            else
                far = higher_latency(far, t->node_lat[i][j]);
        }
    }
    if (local == 0)
        local = far > 1 ? (uint8_t)(far / 2) : LGRP_LAT_LOCAL;
    if (far == 0)
        far = (uint8_t)min_of(2u * local, (unsigned)SLIT_MAX);
    for (unsigned i = 0; i < t->nnodes; i++) {
        for (unsigned j = 0; j < t->nnodes; j++) {
            if (t->node_lat[i][j] != 0)
                continue;
            if (i == j)
                t->node_lat[i][j] = local;
            else
                t->node_lat[i][j] = t->node_lat[j][i] != 0 ? t->node_lat[j][i] : far;
        }
    }
}

/*
 * Copies the SLIT to node_lat and sets `uniform`.  Returns NULL, or the reason to reject the SLIT.
 */
static const char *apply_slit(struct lgrp_topo *t, const struct acpi_slit *s)
{
    static const char *const reason[] = {
        [ASYMMETRIC] = "SLIT rejected: not symmetric",
        [DIAGONAL] = "SLIT rejected: local distances differ",
        [REMOTE_NEARER] = "SLIT rejected: remote is not farther than local",
    };
    bool any = false;

    for (unsigned i = 0; i < t->nnodes; i++) {
        for (unsigned j = 0; j < t->nnodes; j++) {
            if (t->node_pxm[i] >= s->n || t->node_pxm[j] >= s->n)
                return "SLIT rejected: it leaves out a domain of the SRAT";
            t->node_lat[i][j] = s->matrix[(size_t)t->node_pxm[i] * s->n + t->node_pxm[j]];
            any |= t->node_lat[i][j] != 0;
        }
    }
    if (!any)
        return "SLIT rejected: it is all zeros";
    if (all_latencies_equal(t)) {
        t->uniform = true;
        return NULL;
    }
    return reason[check_latencies(t)]; /* reason[SOUND] is NULL */
}
/* LAB topology-distances: end */

/*
 * Copies the HMAT to node_lat, scaled so that its smallest local latency is 10.  Returns whether the HMAT names
 * every pair and passes the checks.
 */
static bool apply_hmat(struct lgrp_topo *t, const struct acpi_hmat *h)
{
    uint8_t slot[NODE_MAX];
    uint32_t local = UINT32_MAX;

    for (unsigned i = 0; i < t->nnodes; i++) {
        unsigned s = 0;

        while (s < h->n && h->pxm[s] != t->node_pxm[i])
            s++;
        if (s == h->n || h->latency_ps[s][s] == 0)
            return false;
        slot[i] = (uint8_t)s;
        local = min_of(local, h->latency_ps[s][s]);
    }
    for (unsigned i = 0; i < t->nnodes; i++) {
        for (unsigned j = 0; j < t->nnodes; j++) {
            uint64_t ps = h->latency_ps[slot[i]][slot[j]];
            uint64_t v = (ps * LGRP_LAT_LOCAL + local / 2) / local;

            if (ps == 0)
                return false;
            t->node_lat[i][j] = (uint8_t)min_of(v, (uint64_t)SLIT_MAX);
        }
    }
    return check_latencies(t) == SOUND;
}

void lgrp_find_distances(struct lgrp_topo *t, const struct lgrp_input *in)
{
    const char *wrong = in->slit_why;
    uint8_t far = 0;

    if (t->nnodes == 1) {
        t->node_lat[0][0] = LGRP_LAT_LOCAL;
        return;
    }
    if (in->slit != NULL)
        wrong = apply_slit(t, in->slit);
    if (wrong != NULL)
        lgrp_note(t, wrong);
    if (in->slit == NULL || wrong != NULL) {
        if (in->hmat == NULL || !apply_hmat(t, in->hmat)) {
            set_default_latencies(t);
            if (t->nnodes >= 4)
                lgrp_note(t, "synthetic latencies: local 10, remote 20");
        }
    }
    fill_latency_gaps(t);
    for (unsigned j = 0; j < t->nnodes; j++)
        for (unsigned i = 0; i < t->nnodes; i++)
            far = higher_latency(far, t->node_lat[i][j]);
    t->high_end = far * 2u >= t->node_lat[0][0] * 3u;
}

/* LAB topology-levels: begin */
/*
 * Sorts near[g] by distance.  Equally distant lgroups have the order g+1, g+2 .., wrapping around to g-1
 * (lgrp.h, THEORY).
 */
static void sort_near_lgrps(struct lgrp_topo *t, unsigned g)
{
    uint8_t *near = t->near[g];

    for (unsigned i = 0; i < t->nlgrps; i++) {
        uint8_t h = (uint8_t)((g + i) % t->nlgrps);
        unsigned at = i;

        for (; at > 1 && t->lat[g][near[at - 1]] > t->lat[g][h]; at--)
            near[at] = near[at - 1];
        near[at] = h;
    }
}

/* Cuts near[g] into levels where the distance changes; beyond LGRP_LEVEL_MAX, lgroups join the last level. */
static void cut_lgrp_levels(struct lgrp_topo *t, unsigned g)
{
    unsigned k = 0;

    for (unsigned i = 0; i < t->nlgrps; i++) {
        unsigned h = t->near[g][i];
        bool farther = i == 1 || (i > 1 && t->lat[g][h] != t->lat[g][t->near[g][i - 1]]);

        if (farther && k < LGRP_LEVEL_MAX - 1)
            k++;
        t->level_end[g][k] = (uint8_t)(i + 1);
        for (unsigned w = 0; w < CPUMASK_WORDS; w++)
            t->level_cpus[g][k].w[w] |= t->lgrp_cpus[h].w[w];
    }
    t->nlevels[g] = (uint8_t)(k + 1);
}
/* LAB topology-levels: end */

void lgrp_topo_group(struct lgrp_topo *t)
{
    bool one = mpo_enable == 0 || t->uniform || t->nnodes == 1;

    t->nlgrps = one ? 1 : t->nnodes;
    t->mem_lgrps = 0;
    memset(t->lgrp_cpus, 0, sizeof t->lgrp_cpus);
    memset(t->lgrp_nodes, 0, sizeof t->lgrp_nodes);
    memset(t->level_cpus, 0, sizeof t->level_cpus);
    memset(t->lat, 0, sizeof t->lat);
    memset(t->sole_node, LGRP_NONE, sizeof t->sole_node);

    for (unsigned n = 0; n < t->nnodes; n++) {
        unsigned g = one ? 0 : n;

        t->node_lgrp[n] = (uint8_t)g;
        if (n < t->nmem) {
            t->sole_node[g] = t->lgrp_nodes[g] == 0 ? (uint8_t)n : LGRP_NONE;
            t->lgrp_nodes[g] |= 1ull << n;
            t->mem_lgrps |= 1ull << g;
        }
    }
    for (unsigned i = 0; i < t->nnodes; i++) {
        for (unsigned j = 0; j < t->nnodes; j++) {
            uint8_t *lat = &t->lat[t->node_lgrp[i]][t->node_lgrp[j]];

            *lat = higher_latency(*lat, t->node_lat[i][j]);
        }
    }
    for (unsigned c = 0; c < t->ncpus; c++) {
        t->cpu_lgrp[c] = t->node_lgrp[t->cpu_node[c]];
        cpumask_set(&t->lgrp_cpus[t->cpu_lgrp[c]], c);
    }
    for (unsigned g = 0; g < t->nlgrps; g++) {
        sort_near_lgrps(t, g);
        cut_lgrp_levels(t, g);
    }
    nlgrps = t->nlgrps;
}

/* Appends the memory nodes of one lgroup to the `n` nodes in `out`, starting with a random one.  Returns the new n. */
static unsigned append_lgrp_nodes(const struct lgrp_topo *t, unsigned lgrp, uint32_t rnd,
                                  uint8_t out[NODE_MAX], unsigned n)
{
    uint64_t set = t->lgrp_nodes[lgrp];
    unsigned count = bit_count(set);
    unsigned skip = (unsigned)(((uint64_t)rnd * count) >> 32);

    for (unsigned i = 0; i < count; i++, set &= set - 1)
        out[n + (i + count - skip) % count] = (uint8_t)bit_first(set);
    return n + count;
}

unsigned lgrp_node_order(const struct lgrp_topo *t, unsigned lgrp, uint32_t rnd,
                         uint8_t out[NODE_MAX])
{
    unsigned n = 0;

    for (unsigned i = 0; i < t->nlgrps; i++)
        n = append_lgrp_nodes(t, t->near[lgrp][i], rnd, out, n);
    return n;
}
