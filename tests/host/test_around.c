// SPDX-License-Identifier: MIT
/*
 * test_around.c - reading around a fault: sequential, backward, random and mixed touches.
 */
#include "tests/host/check.h"

#include <string.h>

#include "pages/around.h"

enum { LIMIT = 32, WORTH = 8, PAGES = 4096 };

static void expect(struct page_run r, uint64_t first, uint64_t n)
{
    CHECK_EQ(r.n, n);
    CHECK_EQ(r.first, first);
}

/* A simulated memory whose pages are on the disk; touches read the missing ones. */
static struct memory {
    struct around a;
    bool there[PAGES], ahead[PAGES];
    unsigned commands, read, needed;
} m;

static void touch(uint64_t index, uint64_t limit)
{
    struct page_run run;
    uint64_t neighbours = 0;

    if (m.there[index]) {
        if (m.ahead[index])
            around_used(&m.a);
        m.needed += m.ahead[index];
        m.ahead[index] = false;
        return;
    }
    run = around_miss(&m.a, index, 1, limit, WORTH);
    CHECK(run.n >= 1 && run.n <= limit && run.first <= index && index < run.first + run.n);
    m.commands++;
    m.needed++;
    for (uint64_t i = run.first; i < run.first + run.n && i < PAGES; i++) {
        m.read += !m.there[i];
        m.ahead[i] = !m.there[i] && i != index;
        neighbours += m.ahead[i];
        m.there[i] = true;
    }
    around_got(&m.a, run, neighbours);
}

/* 1, 2, 4 and so on; then windows of the limit. */
TEST(sequential)
{
    m = (struct memory){0};
    for (uint64_t i = 0; i < PAGES; i++)
        touch(i, LIMIT);
    CHECK_EQ(m.read, PAGES);
    CHECK(m.commands <= PAGES / LIMIT + 5);
}

TEST(backwards)
{
    m = (struct memory){0};
    for (uint64_t i = PAGES; i-- > 0;)
        touch(i, LIMIT);
    CHECK_EQ(m.read, PAGES);
    CHECK(m.commands <= PAGES / LIMIT + 5);
}

/* Each page in a random order: hardly any page is read that is not needed soon. */
TEST(random)
{
    static uint64_t order[PAGES];

    m = (struct memory){0};
    for (uint64_t i = 0; i < PAGES; i++)
        order[i] = i;
    for (uint64_t i = PAGES; i > 1; i--) {
        uint64_t k = check_below(i), swap = order[i - 1];

        order[i - 1] = order[k];
        order[k] = swap;
    }
    for (uint64_t i = 0; i < PAGES / 2; i++)
        touch(order[i], LIMIT);
    CHECK(m.read * 10 <= m.needed * 11);
}

/* If reading around does not pay off, it ends.  It begins again after faults on neighbouring pages. */
TEST(adapts)
{
    struct around a = {0};
    uint64_t n = 0, read = 0, misses = 0;

    for (n = LIMIT; n > 1; misses++) {
        struct page_run run = around_miss(&a, misses * 1000, 16, LIMIT, WORTH);

        n = run.n;
        around_got(&a, run, n - 1);
        read += n - 1;
    }
    CHECK(misses <= 12 && read <= 250);
    expect(around_miss(&a, 40001, 16, LIMIT, WORTH), 40001, 1);
    expect(around_miss(&a, 40002, 16, LIMIT, WORTH), 40002, 2);
    for (unsigned i = 0; i < 40; i++)
        around_used(&a);
    expect(around_miss(&a, 40004, 16, LIMIT, WORTH), 40004, 4);
    /* independent of where the next miss is */
    expect(around_miss(&a, 501, 16, LIMIT, WORTH), 496, 8);
    expect(around_miss(&a, 7, 16, 3, WORTH), 6, 3); /* the limit is smaller now */
}

/* If memory has no room for a window, the reader still counts as sequential. */
TEST(less_than_wanted)
{
    struct around a = {.last = {0, 16}, .window = 16};

    expect(around_miss(&a, 16, 1, LIMIT, 0), 16, 32);
    around_got(&a, (struct page_run){16, 3}, 2);
    around_used(&a);
    around_used(&a);
    expect(around_miss(&a, 19, 1, LIMIT, 0), 19, 32);
}

/* 11 of 100 pages are used.  This pays off if 9 pages are transferred in the time of a seek, and not if 8 are. */
TEST(worth)
{
    for (uint64_t worth = 8; worth <= 9; worth++) {
        struct around a = {.last = {0, 16}, .window = 16, .read = 100};

        for (unsigned i = 0; i < 11; i++)
            around_used(&a);
        CHECK_EQ(around_miss(&a, 320, 16, LIMIT, worth).n, worth == 8 ? 8 : 32);
    }
}

TEST(begin_of_memory)
{
    struct around a = {.last = {3, 1}, .window = 1};

    expect(around_miss(&a, 2, 1, LIMIT, WORTH), 1, 2);
    a.last = (struct page_run){1, 16};
    a.window = 16;
    expect(around_miss(&a, 0, 1, LIMIT, WORTH), 0, 1);
}

/* A program's advice has priority over what was observed.  A random touch changes nothing. */
TEST(advised)
{
    struct around a = {.last = {96, 4}, .window = 4, .read = 50, .touched = 3}, was = a;

    expect(around_advised(&a, 100, 16, LIMIT, WORTH, READ_RANDOM), 100, 1);
    CHECK(memcmp(&a, &was, sizeof a) == 0);
    expect(around_advised(&a, 7, 16, LIMIT, WORTH, READ_SEQUENTIAL), 7, LIMIT);
    around_got(&a, (struct page_run){7, LIMIT}, LIMIT - 1); /* their touches will also count */
    CHECK_EQ(a.read, 50 + LIMIT - 1);
    expect(around_advised(&a, 100, 16, LIMIT, WORTH, 0), 100, 2);
}
