// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * level1.h - the level 1 caches of a CPU (data cache, prefetch cache), and the entries of the filter in front of them.
 *
 * THEORY      Data cache: 64 KB, four ways, lines of 32 bytes, that is, halves of lines of memory.  Prefetch cache: 2
 *             KB, four ways, lines of 64 bytes, for floating-point loads only (R. van der Pas, "Memory Hierarchy in
 *             Cache-Based Systems", Sun BluePrints, 2002, table 1).
 *             In each set the line that came first is replaced first.  This is a choice, because no source was found.
 *             So a hit changes nothing, and the filter can handle it.  Tags are virtual and contain the generation, so
 *             a new address space empties both caches.  A line is valid while it has the version of its coherence word.
 *             For speed, any load can hit in the prefetch cache, but only loads of floating-point registers bring lines
 *             into it.
 * INVARIANTS  L1  if the filter has no FP_ABSENT for a half of a line, a level 1 cache has that half
 * SEE ALSO    model.h (the filter), cache.c
 */
#ifndef FIREPLANE_LEVEL1_H
#define FIREPLANE_LEVEL1_H

#include "model.h"

static inline uint32_t version_of(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

/* A level 1 cache: tags, set by set; the versions of the lines; the way of each set that is replaced next. */
struct level1 {
    uint64_t *tag;
    uint32_t *version;
    uint8_t *next;
    unsigned sets;
};
enum { L1_WAYS = FP_D_WAYS };
_Static_assert(FP_P_WAYS == FP_D_WAYS, "one search for both");

static inline struct level1 data_cache(struct fp_cpu_state *c)
{
    return (struct level1){c->d_tag, c->d_version, c->d_next, FP_D_LINES / FP_D_WAYS};
}

static inline struct level1 prefetch_cache(struct fp_cpu_state *c)
{
    return (struct level1){c->p_tag, c->p_version, c->p_next, FP_P_LINES / FP_P_WAYS};
}

/* The index of the line with this tag, valid or not; -1: it is not there. */
static inline int l1_find(struct level1 l, uint64_t tag)
{
    unsigned first = (unsigned)(tag % l.sets) * L1_WAYS;

    for (unsigned i = first; i < first + L1_WAYS; i++)
        if (l.tag[i] == tag)
            return (int)i;
    return -1;
}

static inline bool l1_has(struct level1 l, uint64_t tag, uint32_t version)
{
    int i = l1_find(l, tag);

    return i >= 0 && l.version[i] == version;
}

/* Inserts a line.  Returns the tag of the line that it replaces; 0: none. */
static inline uint64_t l1_insert(struct level1 l, uint64_t tag, uint32_t version)
{
    unsigned set = (unsigned)(tag % l.sets);
    int there = l1_find(l, tag);
    unsigned i = there >= 0 ? (unsigned)there : set * L1_WAYS + l.next[set]++ % L1_WAYS;
    uint64_t out = there >= 0 ? 0 : l.tag[i];

    l.tag[i] = tag;
    l.version[i] = version;
    return out;
}

/* The tag of a half of a line. */
static inline uint64_t half_tag(uint64_t vline, unsigned half, uint64_t gen)
{
    return (vline << 1 | half) | gen;
}

/* Returns FP_ABSENT for each half of a line that is not in level 1 in this version. */
static inline uint64_t absent(struct fp_cpu_state *c, uint64_t vline, uint32_t version)
{
    uint64_t out = 0;

    if (l1_has(prefetch_cache(c), vline | c->gen, version))
        return 0;
    for (unsigned half = 0; half < 2; half++)
        if (!l1_has(data_cache(c), half_tag(vline, half, c->gen), version))
            out |= FP_ABSENT(half);
    return out;
}

/*
 * Called when a line or a half of it has left a level 1 cache.  In the filter entry of the line, sets FP_ABSENT for
 * each half that is in neither level 1 cache (L1).
 */
static inline void l1_forget(struct fp_cpu_state *c, uint64_t vline)
{
    struct fp_recent *l = fp_recent_at(c, vline | c->gen);

    if ((l->tag & ~FP_BOTH_ABSENT) == (vline | c->gen))
        l->tag |= absent(c, vline, version_of(l->word));
}

static inline void fill_data_cache(struct fp_cpu_state *c, uint64_t vline, unsigned half,
                                   uint32_t version)
{
    uint64_t out = l1_insert(data_cache(c), half_tag(vline, half, c->gen), version);

    if (out != 0 && (out ^ c->gen) < FP_GENERATION)
        l1_forget(c, (out ^ c->gen) >> 1);
}

static inline void fill_prefetch_cache(struct fp_cpu_state *c, uint64_t vline, uint32_t version)
{
    uint64_t out = l1_insert(prefetch_cache(c), vline | c->gen, version);

    if (out != 0 && (out ^ c->gen) < FP_GENERATION)
        l1_forget(c, out ^ c->gen);
}

#endif
