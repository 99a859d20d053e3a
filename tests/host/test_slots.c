// SPDX-License-Identifier: MIT
/* test_slots.c - slots of swap: runs, searches that wrap around, and the invariants in random use. */
#include "tests/host/check.h"

#include "pages/slots.h"

enum { PAGES = 64 * 5 + 17 };

static uint64_t bitmap[PAGES / 64 + 1];
static struct slots s;
static bool taken[PAGES];

static void start(void)
{
    for (unsigned i = 0; i < sizeof bitmap / sizeof *bitmap; i++)
        bitmap[i] = 0;
    for (unsigned i = 0; i < PAGES; i++)
        taken[i] = false;
    taken[0] = true;
    slots_init(&s, bitmap, PAGES);
}

static void invariants(void)
{
    uint64_t free = 0, whole = 0;

    for (unsigned i = 0; i < PAGES; i++) {
        CHECK_EQ(bitmap[i / 64] >> i % 64 & 1, taken[i]);
        free += !taken[i];
    }
    for (unsigned w = 0; w < PAGES / 64; w++)
        whole += bitmap[w] == 0;
    CHECK_EQ(s.free, free);
    CHECK_EQ(s.whole, whole);
}

static unsigned take(unsigned want, uint64_t *first)
{
    unsigned got = slots_take(&s, want, first);

    CHECK(got <= want);
    for (unsigned i = 0; i < got; i++) {
        CHECK(*first + i < PAGES && !taken[*first + i]);
        taken[*first + i] = true;
    }
    return got;
}

static void give(uint64_t slot)
{
    taken[slot] = false;
    slots_give(&s, slot);
}

TEST(one_behind_the_other)
{
    uint64_t first;

    start();
    invariants();
    CHECK_EQ(take(32, &first), 32);
    CHECK_EQ(first, 1);
    CHECK_EQ(take(32, &first), 32);
    CHECK_EQ(first, 33);
    invariants();
}

/* Single free slots are skipped while 64 in a row are free, and used when there are none. */
TEST(room_for_a_whole_run)
{
    uint64_t first;

    start();
    for (unsigned n = PAGES - 1; n > 0;)
        n -= take(64, &first);
    CHECK_EQ(take(1, &first), 0);
    for (uint64_t i = 65; i < 128; i += 2)
        give(i);
    for (uint64_t i = 192; i < 256; i++)
        give(i);
    invariants();
    s.next = 1;
    CHECK_EQ(take(16, &first), 16);
    CHECK_EQ(first, 192);
    CHECK_EQ(take(48, &first), 48);
    CHECK_EQ(first, 208);
    CHECK_EQ(take(8, &first), 1);
    CHECK_EQ(first, 65);
    invariants();
}

TEST(random_use)
{
    start();
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t at = check_below(PAGES - 1) + 1;

        if (check_below(3) == 0)
            take((unsigned)check_below(32) + 1, &(uint64_t){0});
        else if (taken[at])
            give(at);
        if (round % 64 == 0)
            invariants();
    }
    invariants();
}
