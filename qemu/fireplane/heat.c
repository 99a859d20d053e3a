// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * heat.c - page heat: how often the CPUs of each board miss on each page of memory.
 *
 * THEORY      A page belongs to one board, and CPUs of any board miss on it.  The table has a row for each page of
 *             physical memory, with a count for each board whose CPUs miss on the page.  The table is a file that
 *             other programs read.  Its rows are addressed directly, so no page is left out, and the host allocates
 *             only the parts of the file that have counts.
 *             Counting each miss would cost time, so one of `every` misses is counted.  Counting exactly each
 *             `every`-th miss would be wrong: a loop over `every` pages would always be counted on the same page.  So
 *             the distance between two counted misses of a CPU is random, with equal probability from 1 to
 *             2 * every - 1.  Its mean is `every`, so a count times `every` estimates the number of misses.  With
 *             `every` 1 each miss is counted.
 *             Each CPU has a generator of its own, an xorshift with 64 bits (G. Marsaglia, "Xorshift RNGs", Journal of
 *             Statistical Software 8(14), 2003), whose first state comes from the seed and the CPU's number by
 *             splitmix64 (S. Vigna).  So a run with the same seed counts the same misses.
 *             Heat changes nothing that the model computes.
 *             The guest says when it allocates frames: their heat begins at zero.  Otherwise a page would begin with
 *             the misses on the page that was in this frame before.
 * INVARIANTS  H1  a row has counts only if `heated` is set for its page, so to forget heat, other rows are not touched
 * SEE ALSO    docs/heat.md, tests/host/test_fireplane_heat.c
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT      12
#define PAGE_LINE_SHIFT (PAGE_SHIFT - FP_LINE_SHIFT)

static uint64_t pages_of(const struct fp_params *p)
{
    return (p->memory_mib + 4096) << (20 - PAGE_SHIFT); /* as fp_model.nlines */
}

static uint32_t *row_of(const struct fp_model *m, uint64_t page)
{
    return (uint32_t *)((char *)m->heat + FP_HEAT_OFFSET) + page * m->p.nboards;
}

uint64_t fp_heat_bytes(const struct fp_params *p)
{
    return FP_HEAT_OFFSET + pages_of(p) * p->nboards * sizeof(uint32_t);
}

/* The misses until the next one that is counted. */
static uint32_t next_distance(struct fp_cpu_state *c)
{
    uint64_t x = c->heat_random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    c->heat_random = x;
    return (uint32_t)(1 + (x >> 16) % (2 * c->model->heat_every - 1));
}

static uint64_t splitmix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

int fp_heat_begin(struct fp_model *m, struct fp_heat *table, uint64_t every, uint64_t seed)
{
    m->heated = calloc(pages_of(&m->p), 1);
    if (m->heated == NULL)
        return -1;
    m->heat = table;
    m->heat_every = every;
    *table = (struct fp_heat){.magic = FP_HEAT_MAGIC,
                              .version = FP_HEAT_VERSION,
                              .nboards = m->p.nboards,
                              .pages = pages_of(&m->p),
                              .every = every,
                              .seed = seed};
    ((struct fp_header *)m->page)->heat_every = every;
    for (unsigned i = 0; i < m->p.ncpus; i++) {
        struct fp_cpu_state *c = &m->cpu[i];

        c->heat_random = splitmix64(seed + i) | 1; /* the state 0 would stay 0 */
        c->heat_left = next_distance(c);
    }
    return 0;
}

void fp_heat_end(struct fp_model *m)
{
    free(m->heated);
}

void fp_heat_forget(struct fp_model *m, uint64_t base, uint64_t bytes)
{
    uint64_t page = base >> PAGE_SHIFT, n = bytes >> PAGE_SHIFT;

    if (m->heat == NULL || page >= pages_of(&m->p) || n > pages_of(&m->p) - page)
        return;
    for (; n != 0; n--, page++)
        if (m->heated[page]) {
            m->heated[page] = 0;
            memset(row_of(m, page), 0, m->p.nboards * sizeof(uint32_t));
        }
}

void fp_heat_clear(struct fp_model *m)
{
    fp_heat_forget(m, 0, pages_of(&m->p) << PAGE_SHIFT);
}

uint64_t fp_heat_read(const struct fp_model *m, uint64_t address, uint32_t heat[FP_MAX_BOARDS])
{
    uint64_t page = address >> PAGE_SHIFT;

    memset(heat, 0, FP_MAX_BOARDS * sizeof *heat);
    if (m->heat == NULL || page >= pages_of(&m->p))
        return 0;
    if (m->heated[page])
        memcpy(heat, row_of(m, page), m->p.nboards * sizeof *heat);
    return m->heat_every;
}

/* Not inlined, so that a miss that is not counted costs one branch. */
__attribute__((noinline)) void fp_heat_count(struct fp_cpu_state *c, uint32_t line)
{
    struct fp_model *m = c->model;
    uint64_t page = line >> PAGE_LINE_SHIFT;
    uint32_t *count;

    if (m->heat == NULL) /* heat_left began at 0, and this is miss number 2^32 */
        return;
    count = row_of(m, page) + c->board;
    c->heat_left = next_distance(c);
    m->heated[page] = 1;
    if (*count != UINT32_MAX)
        ++*count;
}
