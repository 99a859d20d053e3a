// SPDX-License-Identifier: MIT
/*
 * test_observe.c - balancing by observation: what follows from the samples of pages and threads.
 */
#include "lgrp/observe.h"
#include "tests/host/check.h"

enum { NONE = 255 }; /* LGRP_NONE */

static struct observe_result sample(uint16_t *seen, unsigned user, unsigned at, unsigned thread)
{
    return observe_page(seen, &(struct observe_sample){(uint8_t)user, (uint8_t)at, thread});
}

/* Samples a page for each letter of `users`, 'a' = lgroup 0; a page that is to move does.  Returns a letter each. */
static const char *verdicts(const char *users, unsigned at)
{
    static const char letter[] = {
        [OBSERVE_STAY] = '.', [OBSERVE_WAIT] = 'w', [OBSERVE_MOVE] = 'M', [OBSERVE_SHARED] = 's'};
    static char out[64];
    uint16_t seen = 0;
    unsigned n = 0;

    for (; users[n] != '\0'; n++) {
        unsigned user = (unsigned)(users[n] - 'a');
        enum observe_verdict v = sample(&seen, user, at, 0).verdict;

        if (v == OBSERVE_MOVE)
            at = user;
        out[n] = letter[v];
    }
    out[n] = '\0';
    return out;
}

TEST(two_samples_in_succession_move_a_page)
{
    CHECK_STR(verdicts("aaaa", 0), "....");
    CHECK_STR(verdicts("bbbb", 0), "wM..");
    CHECK_STR(verdicts("aaabbbccc", 0), "...wM.wM.");
}

TEST(users_in_turn_do_not_move_a_page)
{
    CHECK_STR(verdicts("abababababab", 0), ".wssssssssss");
    CHECK_STR(verdicts("abcdefabcdef", 0), ".wssssssssss");
}

TEST(a_shared_page_that_gets_one_user_moves_after_some_samples)
{
    CHECK_STR(verdicts("abababbbbbbbbbbb", 0), ".wsssssssssM....");
}

/* Of two users that touch a page equally often, each would have moved it in every fourth sample by rule 1 alone. */
TEST(a_page_of_two_users_moves_seldom)
{
    unsigned moves = 0, shared = 0, at = 0;
    enum { SAMPLES = 100000 };
    uint16_t seen = 0;

    for (unsigned i = 0; i < SAMPLES; i++) {
        unsigned user = (unsigned)check_below(2);
        enum observe_verdict v = sample(&seen, user, at, user).verdict;

        moves += v == OBSERVE_MOVE;
        shared += v == OBSERVE_SHARED;
        at = v == OBSERVE_MOVE ? user : at;
    }
    CHECK(moves < SAMPLES / 40);
    CHECK(shared > SAMPLES * 3 / 4);
}

TEST(a_page_with_a_main_user_goes_there_and_stays)
{
    unsigned there = 0, at = 0;
    enum { SAMPLES = 10000 };
    uint16_t seen = 0;

    for (unsigned i = 0; i < SAMPLES; i++) {
        unsigned user = check_below(10) == 0 ? 0 : 1;

        at = sample(&seen, user, at, 0).verdict == OBSERVE_MOVE ? user : at;
        there += at == 1;
    }
    CHECK(there > SAMPLES * 95 / 100);
}

TEST(own_pages_are_those_of_one_thread)
{
    uint16_t seen = 0;
    struct observe_result r = sample(&seen, 1, 0, 40);

    CHECK(!r.known && !r.own);
    r = sample(&seen, 1, 0, 40);
    CHECK(r.known && r.own);
    r = sample(&seen, 1, 0, 41);
    CHECK(r.known && !r.own);
    r = sample(&seen, 2, 0, 41);
    CHECK(r.known && !r.own);
    r = sample(&seen, LGRP_MAX - 1, 0, 41);
    r = sample(&seen, LGRP_MAX - 1, 0, 41);
    CHECK(r.own && r.verdict != OBSERVE_STAY);
}

TEST(a_page_is_spread_once)
{
    uint16_t seen = 0;

    for (unsigned i = 0; i < 6; i++)
        CHECK(sample(&seen, i % 2, 0, 0).verdict != OBSERVE_MOVE);
    CHECK(!observe_page_spread(&seen));
    CHECK(observe_page_spread(&seen));
    CHECK_EQ(sample(&seen, 0, 0, 0).verdict, OBSERVE_SHARED);
    CHECK(observe_page_spread(&seen));
}

TEST(a_thread_leans_to_its_own_pages)
{
    struct observe_thread t = {0};

    for (unsigned i = 0; i < OBSERVE_THREAD_ENOUGH; i++) {
        CHECK_EQ(observe_thread_choose(&t), NONE);
        observe_thread_add(&t, i % 4 != 0, 5);
    }
    CHECK(observe_thread_leans(&t, 5) && !observe_thread_leans(&t, 4));
    CHECK_EQ(observe_thread_choose(&t), 5);
    CHECK_EQ(t.samples, 0);
    for (unsigned i = 0; i < OBSERVE_THREAD_ENOUGH; i++) /* half of the pages have other users */
        observe_thread_add(&t, i % 2 != 0, 5);
    CHECK_EQ(observe_thread_choose(&t), NONE);
    CHECK_EQ(t.samples, 0);
}

TEST(a_thread_moves_where_there_is_room)
{
    enum { FULL = 32767, ONE = FULL / 4, THRESH = FULL / 4 };

    CHECK(observe_has_room(0, 4, 0, THRESH));      /* to an idle lgroup */
    CHECK(!observe_has_room(ONE, 4, ONE, THRESH)); /* it would have two threads, the home has one */
    CHECK(observe_has_room(ONE, 4, 2 * ONE, THRESH)); /* from two to two */
    CHECK(!observe_has_room(FULL, 4, FULL, THRESH));  /* both are full */
    CHECK(!observe_has_room(0, 0, FULL, THRESH));     /* no CPU there */
    CHECK(!observe_has_room(UINT32_MAX, 4, FULL, THRESH));
}

TEST(the_rate_follows_what_can_be_gained)
{
    uint32_t rate = OBSERVE_RATE_MAX;

    for (unsigned i = 0; i < 20; i++)
        rate = observe_rate(rate, 64, 0);
    CHECK_EQ(rate, OBSERVE_RATE_MIN);
    CHECK_EQ(observe_rate(rate, 64, 10), rate);
    for (unsigned i = 0; i < 20; i++)
        rate = observe_rate(rate, 64, 40);
    CHECK_EQ(rate, OBSERVE_RATE_MAX);
}

TEST(a_hot_lgroup_has_most_shared_pages)
{
    uint32_t shared[LGRP_MAX] = {[3] = 100};

    CHECK_EQ(observe_hot(shared, 0x3f, NONE), 3);
    CHECK_EQ(observe_hot(shared, 1 << 3, NONE), NONE); /* one user */
    shared[3] = 20;
    CHECK_EQ(observe_hot(shared, 0x3f, NONE), NONE); /* too few samples */
    shared[3] = 60;
    shared[0] = shared[1] = 30; /* half of them */
    CHECK_EQ(observe_hot(shared, 0x3f, NONE), NONE);
    CHECK_EQ(observe_hot(shared, 0x3f, 3), 3); /* it has begun to spread, and goes on */
    CHECK_EQ(observe_hot(shared, 0x3f, 0), NONE);
    shared[2] = shared[4] = shared[5] = 45; /* 60 of 255: less than a quarter */
    CHECK_EQ(observe_hot(shared, 0x3f, 3), NONE);
}
