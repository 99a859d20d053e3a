// SPDX-License-Identifier: MIT
/* test_radix.c - the page index compared with a plain table: random insertions, removals, walks, copies. */
#include "tests/host/check.h"

#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "pages/radix.h"

enum { NKEYS = 600 };

static uint64_t keys[NKEYS];
static bool in[NKEYS];
static uint8_t tags[NKEYS]; /* bit t: has tag t */

/* Sorted, distinct keys in a few clusters, as an address space has them, up to 52 bits. */
static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void make_keys(void)
{
    static const uint64_t bases[] = {0, 0x400, 0x7ffff7f00, 0x7fffffe00, 0xffffffffffc00};
    uint64_t last = ~0ull;

    for (unsigned i = 0; i < NKEYS; i++)
        keys[i] = bases[check_below(5)] + check_below(1 << (1 + check_below(9)));
    qsort(keys, NKEYS, sizeof keys[0], by_value);
    /* makes them distinct: equal ones move to a far cluster */
    for (unsigned i = 0; i < NKEYS; i++) {
        if (keys[i] == last)
            keys[i] = 0x123456000 + i;
        else
            last = keys[i];
        in[i] = false;
        tags[i] = 0;
    }
    qsort(keys, NKEYS, sizeof keys[0], by_value);
}

static void *item(unsigned i)
{
    return &keys[i];
}

/* Checks radix.h I1, and that every node lies where its prefix says. */
static void verify_node(struct radix_node *n)
{
    unsigned used = (unsigned)__builtin_popcountll(n->present);

    CHECK(used >= (n->shift == 0 ? 1u : 2u));
    for (uint64_t bits = n->present; n->shift != 0 && bits != 0; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctzll(bits);
        struct radix_node *child = n->slot[i];

        CHECK(child->shift < n->shift);
        for (unsigned t = 0; t < RADIX_TAGS; t++) /* I3 */
            CHECK((child->tag[t] != 0) == (n->tag[t] >> i & 1));
        CHECK(child->prefix << child->shift << 6 >> n->shift == (n->prefix << 6 | i));
        verify_node(child);
    }
}

static void verify(struct radix *r)
{
    uint64_t index = 0;

    if (r->root != NULL)
        verify_node(r->root);
    for (unsigned i = 0; i < NKEYS; i++) {
        void *next;

        CHECK(radix_lookup(r, keys[i]) == (in[i] ? item(i) : NULL));
        if (!in[i])
            continue;
        next = radix_next(r, &index);
        CHECK(next == item(i));
        CHECK_EQ(index, keys[i]);
        index++;
    }
    CHECK(radix_next(r, &index) == NULL);
    for (unsigned t = 0; t < RADIX_TAGS; t++) {
        index = 0;
        for (unsigned i = 0; i < NKEYS; i++) {
            if (!in[i] || (tags[i] >> t & 1) == 0)
                continue;
            CHECK(radix_next_tagged(r, &index, t) == item(i));
            CHECK_EQ(index, keys[i]);
            index++;
        }
        CHECK(radix_next_tagged(r, &index, t) == NULL);
    }
}

/* Sets or clears a tag of an item in the index. */
static void change_tag(struct radix *r, unsigned i)
{
    unsigned t = (unsigned)check_below(RADIX_TAGS);

    tags[i] ^= (uint8_t)(1u << t);
    if ((tags[i] >> t & 1) != 0)
        radix_tag(r, keys[i], t);
    else
        radix_untag(r, keys[i], t);
}

static unsigned freed;

static void count_free(void *arg, void *it)
{
    CHECK(arg == &freed && it != NULL);
    freed++;
}

TEST(random_operations)
{
    struct radix r = {0};

    make_keys();
    for (unsigned step = 0; step < 4000; step++) {
        unsigned i = (unsigned)check_below(NKEYS);

        if (in[i] && check_below(3) == 0) {
            change_tag(&r, i);
        } else if (check_below(step < 2000 ? 3 : 2) != 0) {
            CHECK_EQ(radix_insert(&r, keys[i], item(i)), in[i] ? -EEXIST : 0);
            in[i] = true;
        } else {
            CHECK(radix_remove(&r, keys[i]) == (in[i] ? item(i) : NULL));
            in[i] = false;
            tags[i] = 0;
        }
        if (step % 64 == 0)
            verify(&r);
    }
    for (unsigned i = 0; i < NKEYS; i++)
        radix_remove(&r, keys[i]);
    CHECK(r.root == NULL);
}

TEST(replace_and_destroy)
{
    struct radix r = {0};
    unsigned n = 0;

    make_keys();
    for (unsigned i = 0; i < NKEYS; i += 3, n++)
        CHECK_EQ(radix_insert(&r, keys[i], &n), 0);
    for (unsigned i = 0; i < NKEYS; i += 3) {
        CHECK(radix_replace(&r, keys[i], item(i)) == &n);
        in[i] = true;
    }
    verify(&r);
    freed = 0;
    radix_destroy(&r, count_free, &freed);
    CHECK_EQ(freed, n);
    CHECK(r.root == NULL && radix_lookup(&r, keys[0]) == NULL);
}

TEST(clone_leaf_by_leaf)
{
    struct radix a = {0}, b = {0};
    struct radix_node *leaf;
    uint64_t index = 0;

    make_keys();
    for (unsigned i = 0; i < NKEYS; i++)
        if (check_below(3) != 0) {
            CHECK_EQ(radix_insert(&a, keys[i], item(i)), 0);
            in[i] = true;
        }
    while ((leaf = radix_next_leaf(&a, index)) != NULL) {
        CHECK(radix_clone_leaf(&b, leaf) != NULL);
        index = (leaf->prefix + 1) << RADIX_BITS;
    }
    verify(&a);
    verify(&b);
    radix_destroy(&a, count_free, &freed);
    verify(&b);
    radix_destroy(&b, count_free, &freed);
}
