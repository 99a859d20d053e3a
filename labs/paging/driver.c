// SPDX-License-Identifier: MIT
/*
 * driver.c - the lab "paging": calls the policy of pageout, write-behind and the throttles for the grader.
 *
 * THEORY      The values of struct paging, and the cluster that write-behind gathers, are kept from one
 *             operation to the next.
 */
#include "labs/sandbox.h"
#include "pages/cluster.h"
#include "pages/paging.h"
#include "pages/throttle.h"

/* The part beyond; NULL if the student has not written it. */
__attribute__((weak)) enum page_verdict paging_judge_middle(const struct paging *p,
                                                            const struct page_seen *s,
                                                            uint64_t free, uint32_t po_share);

static struct paging paging;
static struct writebehind writebehind;

/* Fields of struct paging, in the order in which the grader sends and gets them. */
static uint64_t *const fields[] = {
    &paging.lotsfree,        &paging.desfree,   &paging.minfree,         &paging.throttlefree,
    &paging.pageout_reserve, &paging.cachefree, &paging.fastscan,        &paging.slowscan,
    &paging.handspreadpages, &paging.maxpgio,   &paging.min_percent_cpu, &paging.max_percent_cpu,
    &paging.priority_paging, &paging.physmem,
};
enum { FIELDS = array_size(fields), SET_BY_SETUP = FIELDS - 2 };

/* values: the fields, then the policy.  Answers nothing. */
static void values(const uint64_t *arg, size_t n)
{
    (void)n;
    for (unsigned i = 0; i < FIELDS; i++)
        *fields[i] = arg[i];
    paging.policy = (unsigned)arg[FIELDS];
}

/* setup: bytes of a page.  Answers the fields that paging_setup() may change. */
static void setup(const uint64_t *arg, size_t n)
{
    (void)n;
    paging_setup(&paging, arg[0]);
    for (unsigned i = 0; i < SET_BY_SETUP; i++)
        sandbox_answer(*fields[i]);
}

/* goal: free pages, deficit, 1 if threads wait; and so on.  Answers a goal for each three. */
static void goal(const uint64_t *arg, size_t n)
{
    for (size_t i = 0; i + 3 <= n; i += 3)
        sandbox_answer(paging_goal(&paging, arg[i], arg[i + 1], arg[i + 2] != 0));
}

/* percent: free pages, of each call.  Answers per cent. */
static void percent(const uint64_t *arg, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sandbox_answer(paging_percent(&paging, arg[i]));
}

static struct page_seen seen_page(const uint64_t *arg)
{
    return (struct page_seen){
        .kind = (enum page_kind)arg[0],
        .busy = arg[1] != 0,
        .referenced = arg[2] != 0,
        .dirty = arg[3] != 0,
        .spaces = (uint32_t)arg[4],
    };
}

/* judge: kind, busy, referenced, dirty, spaces, hand, free pages, po_share; and so on.  Answers verdicts. */
static void judge(const uint64_t *arg, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        struct page_seen seen = seen_page(arg + i);

        sandbox_answer(
            paging_judge(&paging, &seen, (enum hand)arg[i + 5], arg[i + 6], (uint32_t)arg[i + 7]));
    }
}

/*
 * middle: kind, busy, referenced, dirty, spaces, free pages, po_share; and so on.  Answers verdicts; none: the part
 * beyond is not written.
 */
static void middle(const uint64_t *arg, size_t n)
{
    for (size_t i = 0; paging_judge_middle != NULL && i + 7 <= n; i += 7) {
        struct page_seen seen = seen_page(arg + i);

        sandbox_answer(paging_judge_middle(&paging, &seen, arg[i + 5], (uint32_t)arg[i + 6]));
    }
}

/* put: pages of a cluster; then first page and number of pages of each block.  Answers a run for each. */
static void put(const uint64_t *arg, size_t n)
{
    for (size_t i = 1; i + 2 <= n; i += 2) {
        struct page_run run = writebehind_put(&writebehind, arg[i], arg[i + 1], arg[0]);

        sandbox_answer(run.first);
        sandbox_answer(run.n);
    }
}

/* throttle_stops: on, hw, lw; then bytes in flight, of each call.  Answers 1 if the writer must wait. */
static void throttle_stops(const uint64_t *arg, size_t n)
{
    struct throttle t = {arg[0] != 0, arg[1], arg[2]};

    for (size_t i = 3; i < n; i++)
        sandbox_answer(throttle_blocks(&t, arg[i]));
}

/* throttle_goes: on, hw, lw; then bytes before and after, of each call.  Answers 1 if the sleepers wake up. */
static void throttle_goes(const uint64_t *arg, size_t n)
{
    struct throttle t = {arg[0] != 0, arg[1], arg[2]};

    for (size_t i = 3; i + 2 <= n; i += 2)
        sandbox_answer(throttle_wakes(&t, arg[i], arg[i + 1]));
}

/* pacing_stops, pacing_goes: maxpout, minpout; then pages in flight, of each call. */
static void pacing_stops(const uint64_t *arg, size_t n)
{
    struct pacing p = {arg[0], arg[1]};

    for (size_t i = 2; i < n; i++)
        sandbox_answer(pacing_blocks(&p, arg[i]));
}

static void pacing_goes(const uint64_t *arg, size_t n)
{
    struct pacing p = {arg[0], arg[1]};

    for (size_t i = 2; i < n; i++)
        sandbox_answer(pacing_wakes(&p, arg[i]));
}

void sandbox_prepare(void)
{
}

const struct sandbox_op sandbox_ops[] = {
    {"values", values},
    {"setup", setup},
    {"goal", goal},
    {"percent", percent},
    {"judge", judge},
    {"middle", middle},
    {"put", put},
    {"throttle_stops", throttle_stops},
    {"throttle_goes", throttle_goes},
    {"pacing_stops", pacing_stops},
    {"pacing_goes", pacing_goes},
    {NULL, NULL},
};
