// SPDX-License-Identifier: MIT
/*
 * slots.c - which page-sized slots of a swap area are in use; see slots.h.
 */
#include "pages/slots.h"

enum { WORD = 64 };

static bool slot_used(const struct slots *s, uint64_t slot)
{
    return (s->used[slot / WORD] >> slot % WORD & 1) != 0;
}

void slots_init(struct slots *s, uint64_t *bitmap, uint64_t pages)
{
    *s = (struct slots){
        .used = bitmap, .pages = pages, .free = pages - 1, .whole = pages / WORD, .next = 1};
    s->used[0] = 1;
    s->whole -= s->whole > 0;
}

/* The number of adjacent free slots from `at` on, at most `want`. */
static unsigned count_free_row(const struct slots *s, uint64_t at, unsigned want)
{
    unsigned n = 0;

    while (n < want && at + n < s->pages && !slot_used(s, at + n))
        n++;
    return n;
}

/*
 * The first slot of the next word that is all free; the caller has checked that there is one (I2).
 */
static uint64_t next_free_word(const struct slots *s)
{
    uint64_t words = s->pages / WORD, w = s->next / WORD;

    do
        w = w + 1 < words ? w + 1 : 0;
    while (s->used[w] != 0);
    return w * WORD;
}

/* The next free slot; the caller has checked that one is free. */
static uint64_t next_free_slot(const struct slots *s)
{
    uint64_t at = s->next;

    while (slot_used(s, at)) {
        at = s->used[at / WORD] == ~0ull ? round_down(at, (uint64_t)WORD) + WORD : at + 1;
        at = at < s->pages ? at : 0;
    }
    return at;
}

unsigned slots_take(struct slots *s, unsigned want, uint64_t *first)
{
    unsigned got;

    if (s->free == 0)
        return 0;
    if (count_free_row(s, s->next, want) < want)
        s->next = s->whole != 0 ? next_free_word(s) : next_free_slot(s);
    got = count_free_row(s, s->next, want);
    *first = s->next;
    for (unsigned i = 0; i < got; i++, s->next++) {
        uint64_t *word = &s->used[s->next / WORD];

        s->whole -= *word == 0 && round_down(s->next, (uint64_t)WORD) + WORD <= s->pages;
        *word |= 1ull << s->next % WORD;
    }
    s->next = s->next < s->pages ? s->next : 0;
    s->free -= got;
    return got;
}

void slots_give(struct slots *s, uint64_t slot)
{
    uint64_t *word = &s->used[slot / WORD];

    *word &= ~(1ull << slot % WORD);
    s->whole += *word == 0 && round_down(slot, (uint64_t)WORD) + WORD <= s->pages;
    s->free++;
}
