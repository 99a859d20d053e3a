// SPDX-License-Identifier: MIT
/* test_paging.c - the decisions of the pageout daemon: the worked example of 64 MB, validation, speed, which pages. */
#include "tests/host/check.h"

#include <stdlib.h>

#include "pages/paging.h"

/* 64 MB of 4 KiB pages. */
static struct paging example(unsigned policy, uint64_t priority)
{
    struct paging p = {.physmem = 16384, .policy = policy, .priority_paging = priority};

    paging_setup(&p, 4096);
    return p;
}

TEST(example_of_64_mb)
{
    struct paging p = example(1, 1);

    CHECK_EQ(p.lotsfree, 256);
    CHECK_EQ(p.desfree, 128);
    CHECK_EQ(p.minfree, 64);
    CHECK_EQ(p.throttlefree, 64);
    CHECK_EQ(p.pageout_reserve, 32);
    CHECK_EQ(p.cachefree, 512);
    CHECK_EQ(p.fastscan, 8192);
    CHECK_EQ(p.slowscan, 100);
    CHECK_EQ(p.handspreadpages, 8192);
    CHECK_EQ(p.maxpgio, 40);
    p = example(1, 0);
    CHECK_EQ(p.cachefree, 256);
}

TEST(small_and_large_memory)
{
    struct paging p = {.physmem = 4096}; /* 16 MB: 512 KB is more than a 64th */

    paging_setup(&p, 4096);
    CHECK_EQ(p.lotsfree, 128);
    CHECK_EQ(p.fastscan, 2048);
    p = (struct paging){.physmem = 1u << 20}; /* 4 GB */
    paging_setup(&p, 4096);
    CHECK_EQ(p.lotsfree, 16384);
    CHECK_EQ(p.fastscan, 16384); /* 64 MB */
    CHECK_EQ(p.handspreadpages, 16384);
}

TEST(validation)
{
    struct paging p = {.physmem = 16384,
                       .policy = 1,
                       .lotsfree = 16384,
                       .desfree = 256,
                       .minfree = 500,
                       .throttlefree = 128,
                       .pageout_reserve = 64,
                       .cachefree = 10,
                       .fastscan = 100000,
                       .slowscan = 90000,
                       .handspreadpages = 50000};

    paging_setup(&p, 4096);
    CHECK_EQ(p.lotsfree, 256); /* as much as all memory: the default is used */
    CHECK_EQ(p.desfree, 128);  /* not below lotsfree: the default is used */
    CHECK_EQ(p.minfree, 64);
    CHECK_EQ(p.throttlefree, 64);
    CHECK_EQ(p.pageout_reserve, 32);
    CHECK_EQ(p.cachefree, 256); /* raised to lotsfree */
    CHECK_EQ(p.fastscan, 8192);
    CHECK_EQ(p.slowscan, 4096);
    CHECK_EQ(p.handspreadpages, 16383);
    p = (struct paging){
        .physmem = 16384, .policy = 1, .lotsfree = 4916, .cachefree = 16384, .min_percent_cpu = 90};
    paging_setup(&p, 4096);
    CHECK_EQ(p.lotsfree, 256); /* more than 30 % */
    CHECK_EQ(p.cachefree, 256);
    CHECK_EQ(p.max_percent_cpu, 90);
    p = (struct paging){.physmem = 16384, .lotsfree = 4915};
    paging_setup(&p, 4096);
    CHECK_EQ(p.lotsfree, 4915);
    p = (struct paging){
        .physmem = 16384, .lotsfree = 1000, .desfree = 900, .minfree = 800, .throttlefree = 850};
    paging_setup(&p, 4096);
    CHECK_EQ(p.lotsfree, 1000);
    CHECK_EQ(p.desfree, 900);
    CHECK_EQ(p.minfree, 800);
    CHECK_EQ(p.throttlefree, 850);
    CHECK_EQ(p.pageout_reserve, 425);
}

TEST(validation_of_anything)
{
    for (unsigned k = 0; k < 100000; k++) {
        struct paging p = {.physmem = 2048 + check_below(100000),
                           .policy = (unsigned)check_below(3),
                           .priority_paging = check_below(2)};
        uint64_t *v[] = {&p.lotsfree,     &p.desfree,         &p.minfree,
                         &p.throttlefree, &p.pageout_reserve, &p.cachefree,
                         &p.fastscan,     &p.slowscan,        &p.handspreadpages};

        for (unsigned i = 0; i < 9; i++)
            *v[i] = check_below(3) == 0 ? 0 : check_random() >> check_below(64);
        paging_setup(&p, 4096);
        CHECK(p.pageout_reserve <= p.throttlefree && p.throttlefree <= p.desfree &&
              p.minfree <= p.desfree);
        CHECK(p.desfree < p.lotsfree && p.lotsfree <= p.physmem * 30 / 100 &&
              p.cachefree >= p.lotsfree);
        CHECK(p.slowscan >= 1 && p.slowscan <= p.fastscan && p.handspreadpages < p.physmem);
        CHECK(paging_goal(&p, check_below(p.physmem), check_below(100), false) <= p.fastscan / 4);
    }
}

/* (slowscan v + fastscan (lotsfree - v)) / lotsfree / 4 */
TEST(speed)
{
    struct paging p = example(0, 0);

    CHECK_EQ(paging_goal(&p, 256, 0, false), 25);
    CHECK_EQ(paging_goal(&p, 10000, 0, false), 25);
    CHECK_EQ(paging_goal(&p, 0, 0, false), 2048);
    CHECK_EQ(paging_goal(&p, 128, 0, false), (100 * 128 + 8192 * 128) / 256 / 4);
    CHECK_EQ(paging_goal(&p, 128, 64, false), (100 * 64 + 8192 * 192) / 256 / 4);
    CHECK_EQ(paging_goal(&p, 100, 200, false), 2048);
    CHECK_EQ(paging_goal(&p, 250, 0, true), 2048); /* a thread waits */
    CHECK_EQ(paging_percent(&p, 256), 4);
    CHECK_EQ(paging_percent(&p, 0), 80);
    CHECK_EQ(paging_percent(&p, 128), 42);
    p = example(1, 1);
    CHECK_EQ(paging_goal(&p, 512, 0, false), 25); /* slowscan at cachefree */
    CHECK_EQ(paging_goal(&p, 256, 0, false), (100 * 256 + 8192 * 256) / 512 / 4);
}

static enum page_verdict judge(const struct paging *p, enum hand hand, uint64_t free,
                               enum page_kind kind, bool referenced, bool dirty)
{
    struct page_seen s = {.kind = kind, .referenced = referenced, .dirty = dirty, .spaces = 1};

    return paging_judge(p, &s, hand, free, PO_SHARE_MIN);
}

TEST(hands)
{
    struct paging p = example(0, 0);
    struct page_seen s = {.kind = KIND_FILE, .spaces = 9};

    CHECK_EQ(judge(&p, FRONT, 100, KIND_FILE, true, false), PAGE_CLEAR);
    CHECK_EQ(judge(&p, BACK, 100, KIND_FILE, true, false), PAGE_KEEP);
    CHECK_EQ(judge(&p, BACK, 100, KIND_FILE, false, false), PAGE_FREE);
    CHECK_EQ(judge(&p, BACK, 100, KIND_ANON, false, true), PAGE_PUSH);
    CHECK_EQ(judge(&p, FRONT, 100, KIND_EXEC, false, false), PAGE_FREE); /* taken at once */
    CHECK_EQ(paging_judge(&p, &s, BACK, 100, 8), PAGE_SKIP);
    CHECK_EQ(paging_judge(&p, &s, BACK, 100, 16), PAGE_FREE);
    s.busy = true;
    CHECK_EQ(paging_judge(&p, &s, BACK, 100, 16), PAGE_SKIP);
}

TEST(priority_paging)
{
    struct paging p = example(1, 1);

    for (unsigned hand = FRONT; hand <= BACK; hand++) {
        CHECK_EQ(judge(&p, hand, 300, KIND_FILE, false, false), PAGE_FREE);
        CHECK_EQ(judge(&p, hand, 300, KIND_EXEC, false, false), PAGE_SKIP);
        CHECK_EQ(judge(&p, hand, 300, KIND_ANON, false, true), PAGE_SKIP);
        /* below lotsfree all kinds are equal */
        CHECK_EQ(judge(&p, hand, 255, KIND_EXEC, false, false), PAGE_FREE);
        CHECK_EQ(judge(&p, hand, 255, KIND_ANON, false, true), PAGE_PUSH);
    }
    CHECK_EQ(paging_mark(&p), 512);
    p = example(0, 1);
    CHECK_EQ(paging_mark(&p), 256);
    p = example(2, 1);
    CHECK_EQ(paging_mark(&p), 256);
}

TEST(sharing)
{
    CHECK_EQ(paging_share(8, 0, false), 8);
    CHECK_EQ(paging_share(8, 2, false), 16);
    CHECK_EQ(paging_share(64, 0, true), 32);
    CHECK_EQ(paging_share(8, 0, true), 8);
    CHECK_EQ(paging_share(PO_SHARE_MAX, 2, false), PO_SHARE_MAX);
}

TEST(fsflush_values)
{
    struct fsflush f = {30, 5};

    CHECK(!fsflush_setup(&f));
    CHECK_EQ(fsflush_pages(&f, 16384), 2731); /* six wake-ups visit all pages */
    f = (struct fsflush){0, -1};
    CHECK(fsflush_setup(&f));
    CHECK_EQ(f.autoup, 30);
    CHECK_EQ(f.interval, 5);
    f = (struct fsflush){3, 5};
    CHECK(fsflush_setup(&f));
    CHECK_EQ(f.interval, 3);
}
