// SPDX-License-Identifier: MIT
/*
 * test_throttle.c - when a writer waits for the disk: the published limits, and that no writer waits for ever.
 */
#include "tests/host/check.h"

#include "pages/throttle.h"

enum { PAGE = 4096 };

/* Solaris 8's limits: a writer stops above 393216 bytes, and continues at 262144. */
TEST(throttle)
{
    struct throttle t = {true, 393216, 262144};
    unsigned woken = 0;

    CHECK(!throttle_blocks(&t, 393216));
    CHECK(throttle_blocks(&t, 393217));
    for (uint64_t left = 524288; left > 0; left -= 8192)
        if (throttle_wakes(&t, left, left - 8192)) {
            CHECK(left - 8192 == 262144 || left - 8192 == 262144 - 8192 || left == 8192);
            woken++;
        }
    CHECK_EQ(woken, 3); /* at the mark, below it (>= before, <= after), and at the end */
}

TEST(throttle_off)
{
    struct throttle t = {false, 393216, 262144};

    CHECK(!throttle_blocks(&t, 1u << 30));
    /* threads that already sleep stay asleep until the end */
    CHECK(!throttle_wakes(&t, 393216, 262144));
    CHECK(throttle_wakes(&t, PAGE, 0));
}

/* AIX's limits: a writer stops at maxpout pages or more, and continues at minpout or fewer. */
TEST(pacing)
{
    struct pacing p = {33, 24};

    CHECK(!pacing_blocks(&p, 32));
    CHECK(pacing_blocks(&p, 33));
    CHECK(!pacing_wakes(&p, 25));
    CHECK(pacing_wakes(&p, 24));
}

TEST(pacing_off)
{
    struct pacing p = {0, 0};

    CHECK(!pacing_blocks(&p, 1000000));
    CHECK(pacing_wakes(&p, 1000000)); /* threads that already sleep continue */
}

/* Whatever the limits are, a sleeping writer wakes up at the latest when the disk has stored everything. */
TEST(no_writer_waits_for_ever)
{
    for (unsigned k = 0; k < 10000; k++) {
        struct throttle t = {check_below(4) != 0, check_below(100) * PAGE, check_below(100) * PAGE};
        struct pacing p = {check_below(100), check_below(100)};
        uint64_t pages = check_below(150), left = pages;
        bool throttled = throttle_blocks(&t, pages * PAGE), paced = pacing_blocks(&p, pages);

        while (left > 0) {
            left--;
            if (throttle_wakes(&t, (left + 1) * PAGE, left * PAGE))
                throttled = throttle_blocks(&t, left * PAGE);
            if (pacing_wakes(&p, left))
                paced = false;
        }
        CHECK(!throttled && !paced);
    }
}

/*
 * With limits in the right order, a writer that wakes up need not wait again, and does not wake up earlier than
 * necessary.
 */
TEST(one_sleep_is_enough)
{
    for (unsigned k = 0; k < 10000; k++) {
        uint64_t lw = check_below(100), hw = lw + 1 + check_below(100),
                 left = hw + 1 + check_below(20);
        struct throttle t = {true, hw * PAGE, lw * PAGE};
        struct pacing p = {hw, lw};

        CHECK(throttle_blocks(&t, left * PAGE) && pacing_blocks(&p, left));
        for (; left > lw; left--)
            CHECK(!throttle_wakes(&t, (left + 1) * PAGE, left * PAGE) && !pacing_wakes(&p, left));
        CHECK(throttle_wakes(&t, (left + 1) * PAGE, left * PAGE) && pacing_wakes(&p, left));
        CHECK(!throttle_blocks(&t, left * PAGE) && !pacing_blocks(&p, left));
    }
}
