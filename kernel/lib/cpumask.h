// SPDX-License-Identifier: MIT
/*
 * cpumask.h - sets of CPUs, by CPU id.
 *
 * The plain operations are for masks that a lock guards or that one thread owns.  The *_atomic operations can
 * be called on a shared mask from any CPU.
 */
#ifndef LIB_CPUMASK_H
#define LIB_CPUMASK_H

#include "lib/bitmap.h"
#include "lib/types.h"

#define CPUMASK_WORDS (CPU_MAX / 64)

struct cpumask {
    uint64_t w[CPUMASK_WORDS];
};

static inline void cpumask_set(struct cpumask *m, unsigned cpu)
{
    m->w[cpu / 64] |= 1ull << (cpu % 64);
}

static inline void cpumask_clear(struct cpumask *m, unsigned cpu)
{
    m->w[cpu / 64] &= ~(1ull << (cpu % 64));
}

static inline bool cpumask_test(const struct cpumask *m, unsigned cpu)
{
    return (__atomic_load_n(&m->w[cpu / 64], __ATOMIC_RELAXED) >> (cpu % 64)) & 1;
}

static inline void cpumask_set_atomic(struct cpumask *m, unsigned cpu)
{
    __atomic_fetch_or(&m->w[cpu / 64], 1ull << (cpu % 64), __ATOMIC_SEQ_CST);
}

/* Like cpumask_set_atomic(); returns what the word of the mask that has this bit was before. */
static inline uint64_t cpumask_set_word(struct cpumask *m, unsigned cpu)
{
    return __atomic_fetch_or(&m->w[cpu / 64], 1ull << (cpu % 64), __ATOMIC_SEQ_CST);
}

static inline void cpumask_clear_atomic(struct cpumask *m, unsigned cpu)
{
    __atomic_fetch_and(&m->w[cpu / 64], ~(1ull << (cpu % 64)), __ATOMIC_SEQ_CST);
}

static inline bool cpumask_empty(const struct cpumask *m)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < CPUMASK_WORDS; i++)
        any |= m->w[i];
    return any == 0;
}

static inline unsigned cpumask_weight(const struct cpumask *m)
{
    unsigned n = 0;

    for (unsigned i = 0; i < CPUMASK_WORDS; i++)
        n += bit_count(m->w[i]);
    return n;
}

static inline struct cpumask cpumask_and(const struct cpumask *a, const struct cpumask *b)
{
    struct cpumask r;

    for (unsigned i = 0; i < CPUMASK_WORDS; i++)
        r.w[i] = a->w[i] & b->w[i];
    return r;
}

static inline struct cpumask cpumask_andnot(const struct cpumask *a, const struct cpumask *b)
{
    struct cpumask r;

    for (unsigned i = 0; i < CPUMASK_WORDS; i++)
        r.w[i] = a->w[i] & ~b->w[i];
    return r;
}

static inline bool cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
    for (unsigned i = 0; i < CPUMASK_WORDS; i++)
        if (a->w[i] & b->w[i])
            return true;
    return false;
}

/* Returns the lowest CPU in the mask that is >= from, or CPU_MAX when there is none. */
static inline unsigned cpumask_next(const struct cpumask *m, unsigned from)
{
    for (unsigned i = from / 64; i < CPUMASK_WORDS; i++) {
        uint64_t w = m->w[i];

        if (i == from / 64)
            w &= ~0ull << (from % 64);
        if (w)
            return i * 64 + (unsigned)__builtin_ctzll(w);
    }
    return CPU_MAX;
}

#define CPUMASK_FOREACH(cpu, m)                                                                    \
    for (unsigned cpu = cpumask_next((m), 0); cpu < CPU_MAX; cpu = cpumask_next((m), cpu + 1))

#endif
