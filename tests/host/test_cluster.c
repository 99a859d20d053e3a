// SPDX-License-Identifier: MIT
/* test_cluster.c - read-ahead and write-behind: sequences with known results. */
#include "tests/host/check.h"

#include "pages/cluster.h"

enum { LIMIT = 32 };

static void expect(struct page_run r, uint64_t first, uint64_t n)
{
    CHECK_EQ(r.n, n);
    if (n != 0)
        CHECK_EQ(r.first, first);
}

/* Touches `index`; the pages below ra->end are in memory. */
static struct page_run touch(struct readahead *ra, uint64_t index, uint64_t want, uint64_t eof)
{
    bool there = index < ra->end;

    if (there && readahead_plain(ra, index))
        return (struct page_run){index, 0};
    return readahead_touch(ra, index, want, there, eof, LIMIT);
}

/* Page by page: windows of 4, 8, 16, 32, 32; each is read when the first page of the one before is touched. */
TEST(sequential_windows)
{
    static const struct {
        uint64_t at, first, n;
    } starts[] = {{0, 0, 4},    {1, 4, 8},    {4, 12, 16}, {12, 28, 32},
                  {28, 60, 32}, {60, 92, 32}, {92, 124, 4}};
    struct readahead ra = {0};
    unsigned k = 0;

    for (uint64_t i = 0; i < 128; i++) {
        struct page_run r = touch(&ra, i, 1, 128);

        if (k < 7 && i == starts[k].at) {
            expect(r, starts[k].first, starts[k].n);
            k++;
        } else {
            CHECK_EQ(r.n, 0);
        }
    }
    CHECK_EQ(k, 7);
}

/* A large read gets at least what it requests.  The next window is read when the next read begins. */
TEST(large_reads)
{
    struct readahead ra = {0};

    expect(touch(&ra, 0, 16, 1000), 0, 16);
    for (uint64_t i = 1; i < 16; i++)
        CHECK_EQ(touch(&ra, i, 16 - i, 1000).n, 0);
    expect(touch(&ra, 16, 16, 1000), 16, 32);
    for (uint64_t i = 17; i < 32; i++)
        CHECK_EQ(touch(&ra, i, 32 - i, 1000).n, 0);
    expect(touch(&ra, 32, 16, 1000), 48, 32);
}

/* A random reader gets the requested pages and nothing else. */
TEST(random_reads)
{
    struct readahead ra = {0};

    for (unsigned k = 0; k < 1000; k++) {
        uint64_t at = 2 + check_below(100000) * 8, want = 1 + check_below(6);

        ra.end = 0; /* no page is in memory */
        expect(readahead_touch(&ra, at, want, false, 1u << 30, LIMIT), at, want);
        CHECK_EQ(ra.size, 0);
    }
}

/* Whatever is touched, a run lies inside the file and contains the missing page. */
TEST(bounds)
{
    struct readahead ra = {0};

    for (unsigned k = 0; k < 200000; k++) {
        uint64_t eof = 1 + check_below(200), at = check_below(eof),
                 want = 1 + check_below(eof - at);
        bool there = check_below(2) != 0;
        struct page_run r = readahead_touch(&ra, at, want, there, eof, LIMIT);

        CHECK(r.n <= LIMIT && (r.n == 0 || r.first + r.n <= eof));
        CHECK(there || (r.first == at && r.n >= 1));
    }
}

TEST(write_behind)
{
    struct writebehind wb = {0};

    for (uint64_t b = 0; b < 15; b++) /* blocks of 2 pages, clusters of 32 */
        CHECK_EQ(writebehind_put(&wb, b * 2, 2, 32).n, 0);
    expect(writebehind_put(&wb, 30, 2, 32), 0, 32);
    CHECK_EQ(writebehind_put(&wb, 32, 2, 32).n, 0);
    /* at another place: the gathered pages are pushed */
    expect(writebehind_put(&wb, 100, 2, 32), 32, 2);
    CHECK_EQ(writebehind_put(&wb, 102, 2, 32).n, 0);
    expect(writebehind_put(&wb, 98, 2, 32), 100, 4);
}

/* A writer cycles within 16 pages: nothing is pushed until it goes on, and then each page once. */
TEST(write_behind_round)
{
    struct writebehind wb = {0};

    for (unsigned round = 0; round < 100; round++)
        for (uint64_t b = 0; b < 8; b++)
            CHECK_EQ(writebehind_put(&wb, b * 2, 2, 32).n, 0);
    for (uint64_t b = 8; b < 15; b++)
        CHECK_EQ(writebehind_put(&wb, b * 2, 2, 32).n, 0);
    expect(writebehind_put(&wb, 30, 2, 32), 0, 32);
    expect(writebehind_put(&wb, 15, 2, 32), 0, 0);
    /* half of a gathered block: at another place */
    expect(writebehind_put(&wb, 16, 2, 32), 15, 2);
}

/* Each written page is pushed at most once, in order, and at most one cluster stays behind. */
TEST(write_behind_loses_nothing)
{
    struct writebehind wb = {0};
    uint64_t put = 0, pushed = 0, at = 0;

    for (unsigned k = 0; k < 10000; k++) {
        struct page_run r;

        if (check_below(10) == 0)
            at += check_below(100);
        r = writebehind_put(&wb, at, 2, 32);
        at += 2;
        put += 2;
        pushed += r.n;
        CHECK_EQ(put, pushed + wb.n);
        CHECK(wb.n <= 33);
    }
}

/* A reader that has given advice: no read-ahead; or full windows at once, each started from the one before. */
TEST(advised_reads)
{
    struct readahead ra = {0}, was;

    expect(readahead_advised(&ra, 50, 1, false, 1000, LIMIT, READ_SEQUENTIAL), 50, 32);
    CHECK(readahead_plain(&ra, 50 - 1));
    expect(readahead_advised(&ra, 51, 1, true, 1000, LIMIT, READ_SEQUENTIAL), 82, 32);
    was = ra;
    expect(readahead_advised(&ra, 82, 1, true, 1000, LIMIT, READ_RANDOM), 0, 0);
    expect(readahead_advised(&ra, 300, 3, false, 1000, LIMIT, READ_RANDOM), 300, 3);
    expect(readahead_advised(&ra, 998, 9, false, 1000, LIMIT, READ_RANDOM), 998, 2);
    CHECK(ra.next == was.next && ra.end == was.end && ra.mark == was.mark && ra.size == was.size);
    expect(readahead_advised(&ra, 82, 1, true, 1000, LIMIT, 0), 114, 32);
}
