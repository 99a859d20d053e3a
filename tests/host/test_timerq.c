// SPDX-License-Identifier: MIT
/* test_timerq.c - the heap of timers compared with a plain array. */
#include "disp/timerq.h"
#include "tests/host/check.h"

#include <stdlib.h>
#include <string.h>

enum { N = 400 };

static struct timer timer[N];
static struct timer *root;

/* Checks I1 and I2 below `t`.  Returns the number of timers there. */
static unsigned verify(struct timer **link, uint64_t least)
{
    unsigned n = 0;

    for (; *link != NULL; link = &(*link)->next) {
        CHECK((*link)->link == link);
        CHECK((*link)->deadline_ns >= least);
        n += 1 + verify(&(*link)->child, (*link)->deadline_ns);
    }
    return n;
}

static void clear(void)
{
    memset(timer, 0, sizeof timer);
    root = NULL;
}

TEST(one)
{
    clear();
    timer[0].deadline_ns = 5;
    timerq_insert(&root, &timer[0]);
    CHECK(root == &timer[0] && root->link == &root);
    timerq_remove(&root, &timer[0]);
    CHECK(root == NULL && timer[0].link == NULL);
}

TEST(comes_out_sorted)
{
    uint64_t last = 0;

    clear();
    for (unsigned i = 0; i < N; i++) {
        timer[i].deadline_ns = check_below(100); /* many deadlines are equal */
        timerq_insert(&root, &timer[i]);
    }
    CHECK_EQ(verify(&root, 0), N);
    for (unsigned i = 0; i < N; i++) {
        CHECK(root->deadline_ns >= last);
        last = root->deadline_ns;
        timerq_remove(&root, root);
        CHECK_EQ(verify(&root, last), N - 1 - i);
    }
    CHECK(root == NULL);
}

TEST(random_insert_and_remove)
{
    unsigned armed = 0;

    clear();
    for (unsigned round = 0; round < 20000; round++) {
        struct timer *t = &timer[check_below(N)];
        uint64_t first = UINT64_MAX;

        if (check_below(4) == 0 && root != NULL)
            t = root;
        if (t->link != NULL) {
            timerq_remove(&root, t);
            armed--;
        } else {
            t->deadline_ns = check_random() >> check_below(64);
            timerq_insert(&root, t);
            armed++;
        }
        for (unsigned i = 0; i < N; i++)
            if (timer[i].link != NULL && timer[i].deadline_ns < first)
                first = timer[i].deadline_ns;
        CHECK_EQ(root != NULL ? root->deadline_ns : UINT64_MAX, first);
        if (round % 100 == 0)
            CHECK_EQ(verify(&root, 0), armed);
    }
}

TEST(ascending_and_descending)
{
    for (int down = 0; down < 2; down++) {
        clear();
        for (unsigned i = 0; i < N; i++) {
            timer[i].deadline_ns = down ? N - i : i;
            timerq_insert(&root, &timer[i]);
        }
        for (unsigned i = 0; i < N; i++)
            timerq_remove(&root, &timer[i]);
        CHECK(root == NULL);
    }
}
