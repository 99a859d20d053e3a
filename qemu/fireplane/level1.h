// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * level1.h - level 1 of a CPU: the data cache and the prefetch cache, and what the filter in front of them knows.
 *
 * THEORY      Data cache: 64 KB, four ways, lines of 32 bytes, so halves of lines of memory.  Prefetch cache: 2 KB,
 *             four ways, lines of 64 bytes; floating-point loads only.  (R. van der Pas, "Memory Hierarchy in
 *             Cache-Based Systems", Sun BluePrints, 2002, table 1.)
 *             In a set the line that came first leaves first: a choice, since no source was found.  So a hit changes
 *             nothing, and the filter can settle it.  Tags are virtual, with the generation, so a new address space
 *             empties both; the version of the line tells whether it is still good.
 *             To be quick, any load may use a line that is in the prefetch cache; what brings one there is a load of a
 *             floating-point register.
 * INVARIANTS  L1  where the filter has no FP_ABSENT for a half of a line, a cache of level 1 has that half
 * SEE ALSO    model.h (the filter), cache.c
 */
#ifndef FIREPLANE_LEVEL1_H
#define FIREPLANE_LEVEL1_H

#include "model.h"

static inline uint32_t version_of(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

/* A cache of level 1: tags, set by set, the versions of the lines, and which way of each set goes next. */
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

/* Where the line with that tag is, -1: nowhere. */
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

/* Puts a line in; returns the tag of the one that leaves, 0: none. */
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

/* FP_ABSENT for each half of a line that a load would not find in level 1. */
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

/* A line or a half of it has left a cache of level 1: the filter forgets what is nowhere now. */
static inline void l1_forget(struct fp_cpu_state *c, uint64_t vline)
{
    struct fp_recent *l = fp_recent_at(c, vline | c->gen);

    if ((l->tag & ~FP_BOTH_ABSENT) == (vline | c->gen))
        l->tag |= absent(c, vline, version_of(l->word));
}

static inline void fill_data_cache(struct fp_cpu_state *c, uint64_t vline, unsigned half, uint32_t version)
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
