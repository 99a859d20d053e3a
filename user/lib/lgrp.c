// SPDX-License-Identifier: MIT
/*
 * lgrp.c - liblgrp: snapshots of the lgroup topology, homes and affinities.
 *
 * THEORY      The cookie is a pointer to a struct snapshot.  The kernel returns one record for each lgroup.  If there
 *             is more than one, the library adds a record for the root that it makes up, id nleaves, as the sum of the
 *             others.  So one array answers all the questions below.
 * INVARIANTS  I1  lgrp[0 .. nleaves-1] are the kernel's records; lgrp[root] is the root
 *             I2  root == nleaves, or 0 when nleaves is 1
 * SEE ALSO    user/include/sys/lgrp_user.h
 */
#include <sys/lgrp_user.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "homeroom.h"
#include "idtype.h"

#define SNAPSHOT_MAGIC 0x4c475250u
#define WORD_BITS      64

struct snapshot {
    unsigned magic;
    lgrp_view_t view;
    long generation;
    int nleaves;
    int root;
    bool present[HR_MAXLGRP + 1]; /* false: the caller's view does not contain it */
    struct hr_lgrp_info lgrp[HR_MAXLGRP + 1];
};

/* The snapshot behind a cookie; NULL with EINVAL if it is not one. */
static struct snapshot *snapshot_of(lgrp_cookie_t cookie)
{
    struct snapshot *snap = (struct snapshot *)cookie;

    if (snap != NULL && snap->magic == SNAPSHOT_MAGIC)
        return snap;
    errno = EINVAL;
    return NULL;
}

/* The record of `id`; NULL with EINVAL (cookie) or ESRCH (no such lgroup). */
static struct hr_lgrp_info *find(lgrp_cookie_t cookie, lgrp_id_t id, struct snapshot **snap)
{
    if ((*snap = snapshot_of(cookie)) == NULL)
        return NULL;
    if (id >= 0 && id <= HR_MAXLGRP && (*snap)->present[id])
        return &(*snap)->lgrp[id];
    errno = ESRCH;
    return NULL;
}

/* Adds one lgroup to the sums of the root. */
static void add_to_root(struct hr_lgrp_info *root, const struct hr_lgrp_info *leaf)
{
    root->ncpus += leaf->ncpus;
    for (int w = 0; w < HR_MAXCPU / WORD_BITS; w++)
        root->cpus[w] |= leaf->cpus[w];
    root->mem_installed += leaf->mem_installed;
    root->mem_free += leaf->mem_free;
    if (leaf->mem_installed != 0 && (root->mem_bound == 0 || leaf->mem_base < root->mem_base))
        root->mem_base = leaf->mem_base;
    if (leaf->mem_bound > root->mem_bound)
        root->mem_bound = leaf->mem_bound;
}

int lgrp_version(int version)
{
    return version == LGRP_VER_NONE || version == LGRP_VER_CURRENT ? LGRP_VER_CURRENT
                                                                   : LGRP_VER_NONE;
}

/* Fills the snapshot from the kernel.  Returns 0; -1 with errno. */
static int take(struct snapshot *snap)
{
    long count = hr_call(SYS_lgrp, LGRP_OP_COUNT, 0, 0, 0, 0, 0);

    snap->generation = hr_call(SYS_lgrp, LGRP_OP_GEN, 0, 0, 0, 0, 0);
    if (count < 1 || count > HR_MAXLGRP || snap->generation < 0)
        return -1;
    snap->nleaves = (int)count;
    snap->root = count == 1 ? 0 : (int)count;
    for (int i = 0; i < snap->nleaves; i++) {
        struct hr_lgrp_info *leaf = &snap->lgrp[i];

        if (hr_call(SYS_lgrp, LGRP_OP_INFO, i, (long)leaf, 0, 0, 0) < 0)
            return -1;
        snap->present[i] = snap->view == LGRP_VIEW_OS || leaf->ncpus > 0 || leaf->mem_installed > 0;
        if (snap->root != 0 && snap->present[i])
            add_to_root(&snap->lgrp[snap->root], leaf);
    }
    snap->present[snap->root] = true;
    return 0;
}

lgrp_cookie_t lgrp_init(lgrp_view_t view)
{
    struct snapshot *snap;

    if (view != LGRP_VIEW_CALLER && view != LGRP_VIEW_OS) {
        errno = EINVAL;
        return LGRP_COOKIE_NONE;
    }
    if ((snap = calloc(1, sizeof *snap)) == NULL)
        return LGRP_COOKIE_NONE;
    snap->magic = SNAPSHOT_MAGIC;
    snap->view = view;
    if (take(snap) != 0) {
        free(snap);
        return LGRP_COOKIE_NONE;
    }
    return (lgrp_cookie_t)snap;
}

int lgrp_fini(lgrp_cookie_t cookie)
{
    struct snapshot *snap = snapshot_of(cookie);

    if (snap == NULL)
        return -1;
    snap->magic = 0;
    free(snap);
    return 0;
}

int lgrp_cookie_stale(lgrp_cookie_t cookie)
{
    struct snapshot *snap = snapshot_of(cookie);

    if (snap == NULL)
        return -1;
    return hr_call(SYS_lgrp, LGRP_OP_GEN, 0, 0, 0, 0, 0) != snap->generation;
}

lgrp_view_t lgrp_view(lgrp_cookie_t cookie)
{
    struct snapshot *snap = snapshot_of(cookie);

    return snap == NULL ? (lgrp_view_t)-1 : snap->view;
}

int lgrp_nlgrps(lgrp_cookie_t cookie)
{
    struct snapshot *snap = snapshot_of(cookie);
    int n = 0;

    if (snap == NULL)
        return -1;
    for (int i = 0; i < snap->nleaves; i++)
        n += snap->present[i];
    return n;
}

lgrp_id_t lgrp_root(lgrp_cookie_t cookie)
{
    struct snapshot *snap = snapshot_of(cookie);

    return snap == NULL ? -1 : snap->root;
}

/* Stores `value` as the n-th answer if there is room for it, and counts it. */
static void answer(int value, int *list, uint_t count, int *n)
{
    if ((uint_t)*n < count)
        list[*n] = value;
    (*n)++;
}

int lgrp_children(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_id_t *ids, uint_t count)
{
    struct snapshot *snap;
    int n = 0;

    if (find(cookie, id, &snap) == NULL)
        return -1;
    if (id == snap->nleaves)
        for (int i = 0; i < snap->nleaves; i++)
            if (snap->present[i])
                answer(i, ids, count, &n);
    return n;
}

int lgrp_parents(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_id_t *ids, uint_t count)
{
    struct snapshot *snap;
    int n = 0;

    if (find(cookie, id, &snap) == NULL)
        return -1;
    if (id != snap->root)
        answer(snap->root, ids, count, &n);
    return n;
}

int lgrp_cpus(lgrp_cookie_t cookie, lgrp_id_t id, processorid_t *cpus, uint_t count,
              lgrp_content_t content)
{
    struct snapshot *snap;
    struct hr_lgrp_info *info = find(cookie, id, &snap);
    int n = 0;

    if (info == NULL)
        return -1;
    if (content == LGRP_CONTENT_DIRECT && id == snap->nleaves)
        return 0;
    for (int cpu = 0; cpu < HR_MAXCPU; cpu++)
        if (info->cpus[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1)
            answer(cpu, cpus, count, &n);
    return n;
}

lgrp_mem_size_t lgrp_mem_size(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_mem_size_flag_t type,
                              lgrp_content_t content)
{
    struct snapshot *snap;
    struct hr_lgrp_info *info = find(cookie, id, &snap);

    if (info == NULL)
        return -1;
    if (content == LGRP_CONTENT_DIRECT && id == snap->nleaves)
        return 0;
    switch (type) {
    case LGRP_MEM_SZ_FREE:
        return (lgrp_mem_size_t)info->mem_free;
    case LGRP_MEM_SZ_INSTALLED:
        return (lgrp_mem_size_t)info->mem_installed;
    }
    errno = EINVAL;
    return -1;
}

int lgrp_resources(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_id_t *ids, uint_t count,
                   lgrp_rsrc_t type)
{
    struct snapshot *snap;
    int n = 0;

    if (find(cookie, id, &snap) == NULL)
        return -1;
    for (int i = 0; i < snap->nleaves; i++) {
        bool in = snap->present[i] && (id == i || id == snap->nleaves);
        bool has =
            type == LGRP_RSRC_CPU ? snap->lgrp[i].ncpus > 0 : snap->lgrp[i].mem_installed > 0;

        if (in && has)
            answer(i, ids, count, &n);
    }
    return n;
}

int lgrp_latency_cookie(lgrp_cookie_t cookie, lgrp_id_t from, lgrp_id_t to,
                        lgrp_lat_between_t between)
{
    lgrp_id_t cpus[HR_MAXLGRP], mems[HR_MAXLGRP];
    struct snapshot *snap = snapshot_of(cookie);
    int ncpus, nmems, worst = -1;

    if (snap == NULL)
        return -1;
    if (between != LGRP_LAT_CPU_TO_MEM) {
        errno = EINVAL;
        return -1;
    }
    if ((ncpus = lgrp_resources(cookie, from, cpus, HR_MAXLGRP, LGRP_RSRC_CPU)) < 0 ||
        (nmems = lgrp_resources(cookie, to, mems, HR_MAXLGRP, LGRP_RSRC_MEM)) < 0)
        return -1;
    for (int c = 0; c < ncpus; c++)
        for (int m = 0; m < nmems; m++)
            if (snap->lgrp[cpus[c]].latency[mems[m]] > worst)
                worst = snap->lgrp[cpus[c]].latency[mems[m]];
    if (worst < 0)
        errno = ESRCH;
    return worst;
}

int lgrp_latency(lgrp_id_t from, lgrp_id_t to)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    int latency, error;

    if (cookie == LGRP_COOKIE_NONE)
        return -1;
    latency = lgrp_latency_cookie(cookie, from, to, LGRP_LAT_CPU_TO_MEM);
    error = errno;
    lgrp_fini(cookie);
    errno = error;
    return latency;
}

/* Passes an operation on LWPs to the kernel, with the kind of id in the kernel's numbers. */
static int on_lwps(int op, idtype_t idtype, id_t id, lgrp_id_t lgrp, lgrp_affinity_t affinity)
{
    int type = hr_idtype(idtype);

    if (type < 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)hr_call(SYS_lgrp, op, type, (int)id, lgrp, affinity, 0);
}

lgrp_id_t lgrp_home(idtype_t idtype, id_t id)
{
    return on_lwps(LGRP_OP_HOME, idtype, id, 0, 0);
}

lgrp_affinity_t lgrp_affinity_get(idtype_t idtype, id_t id, lgrp_id_t lgrp)
{
    return on_lwps(LGRP_OP_AFF_GET, idtype, id, lgrp, 0);
}

int lgrp_affinity_set(idtype_t idtype, id_t id, lgrp_id_t lgrp, lgrp_affinity_t affinity)
{
    return on_lwps(LGRP_OP_AFF_SET, idtype, id, lgrp, affinity);
}

int lgrp_load(lgrp_cookie_t cookie, lgrp_id_t id)
{
    struct snapshot *snap;
    struct hr_lgrp_info *info = find(cookie, id, &snap);

    return info == NULL ? -1 : (int)info->load;
}

int lgrp_phys_range(lgrp_cookie_t cookie, lgrp_id_t id, uint64_t *base, uint64_t *bound)
{
    struct snapshot *snap;
    struct hr_lgrp_info *info = find(cookie, id, &snap);

    if (info == NULL)
        return -1;
    *base = info->mem_base;
    *bound = info->mem_bound;
    return 0;
}
