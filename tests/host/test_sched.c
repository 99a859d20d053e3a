// SPDX-License-Identifier: MIT
/*
 * test_sched.c - the order of disk requests, on a disk of the tests' own: one command at a time, 10 ms of positioning
 * if the sector is not the next one, 0.4 ms for each sector of 512 bytes.
 */
#include "blk/iosched.h"
#include "tests/host/check.h"

#include <stdlib.h>
#include <string.h>

enum { NMAX = 4096, POSITION_NS = 10000000, SECTOR_NS = 400000, MS = 1000000 };

static struct sched q;
static const struct sched_room ROOM = {512, 64};
static struct blk_req req[NMAX];
static unsigned nreq;
static uint64_t now, arm, begun;
static uint64_t position_ns, sector_ns;
static uint16_t prio_of[90]; /* for each process */

static void start(enum sched_mode mode)
{
    memset(req, 0, sizeof req);
    memset(prio_of, 0, sizeof prio_of);
    disk_sched = mode;
    disk_read_expire = 500;
    sched_init(&q);
    nreq = 0;
    now = 1000 * (uint64_t)MS;
    arm = 0;
    position_ns = POSITION_NS;
    sector_ns = SECTOR_NS;
}

static struct blk_req *add_by(enum blk_op op, uint64_t lba, uint32_t nsect, struct blk_owner by,
                              bool sync)
{
    struct blk_req *r = &req[nreq++];

    CHECK(nreq <= NMAX);
    *r = (struct blk_req){.op = (uint8_t)op,
                          .lba = lba,
                          .nsect = nsect,
                          .nvecs = (nsect + 7) / 8,
                          .by = by,
                          .sync = sync,
                          .submitted_ns = now};
    sched_add(&q, r, now);
    return r;
}

static struct blk_req *add(enum blk_op op, uint64_t lba, uint32_t nsect, uint32_t pid, bool sync)
{
    return add_by(op, lba, nsect,
                  (struct blk_owner){.pid = pid, .prio = pid < 90 ? prio_of[pid] : 0}, sync);
}

/* Takes a command and executes it: `now` advances.  Returns its sectors; 0: nothing could be taken. */
static uint32_t serve(struct sched_batch *b)
{
    uint64_t again, at;
    uint32_t sectors = 0;
    struct blk_req *r;

    if (!sched_take(&q, &ROOM, now, b, &again))
        return 0;
    begun = now;
    r = list_first(&b->reqs, struct blk_req, link);
    at = r->lba + r->sdone;
    now += at != arm ? position_ns : 0;
    LIST_FOREACH (r, &b->reqs, link) {
        CHECK_EQ(r->lba + r->sdone, at + sectors);
        sectors += r->nsect - r->sdone;
    }
    if (sectors > b->sectors)
        sectors = b->sectors;
    now += (uint64_t)sectors * sector_ns;
    arm = at + sectors;
    return sectors;
}

/*
 * The command has ended: its requests are done, or the first one continues.  Returns whether `wanted` was among those
 * done.
 */
static bool finish(struct sched_batch *b, uint32_t sectors, const struct blk_req *wanted)
{
    struct blk_req *r;
    bool found = false;

    sched_done(&q, b->flow, sectors, begun, now);
    while ((r = list_pop(&b->reqs, struct blk_req, link)) != NULL) {
        uint32_t part = min_of(sectors, r->nsect - r->sdone);

        r->sdone += part;
        sectors -= part;
        if (r->sdone < r->nsect)
            sched_add(&q, r, now);
        else
            found |= r == wanted;
    }
    return found;
}

/* Whether the command is of the background, or of an order without flows. */
static bool is_back(const struct sched_batch *b)
{
    return b->flow < 0 || b->flow == FLOW_BACK;
}

TEST(fifo_keeps_order_and_merges_nothing)
{
    struct sched_batch b;

    start(IOSCHED_FIFO);
    for (unsigned i = 0; i < 100; i++)
        add(i & 1 ? BLK_READ : BLK_WRITE, check_below(1000) * 16, 8, i, false);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(serve(&b), 8);
        CHECK(list_first(&b.reqs, struct blk_req, link) == &req[i]);
        CHECK(finish(&b, 8, &req[i]));
    }
    CHECK_EQ(serve(&b), 0);
    for (unsigned i = 0; i < 4; i++) /* these are adjacent */
        add(BLK_WRITE, 8000 + i * 8, 8, 1, false);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(serve(&b), 8);
        finish(&b, 8, NULL);
    }
    CHECK_EQ(serve(&b), 0);
}

TEST(fifo_joins_what_follows_and_continues)
{
    /* sectors; 128 of those that are joined */
    const uint32_t expected[] = {128, 64, 96, 32, 8, 200, 0};
    struct sched_batch b;

    start(IOSCHED_FIFO);
    disk_coalesce = 128 * SECTOR_SIZE;
    for (unsigned i = 0; i < 9; i++)
        add(BLK_WRITE, 8000 + (i < 6 ? i : i + 1) * 32, 32, 1, false); /* a gap behind the sixth */
    add(BLK_READ, 8320, 32, 2, true); /* continues, but is a read */
    add(BLK_WRITE, 8352, 8, 1, false);
    add(BLK_WRITE, 8360, 200, 1, false); /* is larger alone */
    for (unsigned i = 0; i < 7; i++) {
        uint32_t n = serve(&b);

        CHECK_EQ(n, expected[i]);
        if (n != 0)
            finish(&b, n, NULL);
    }
    disk_coalesce = 0;
}

TEST(elevator_sweeps_in_one_direction)
{
    struct sched_batch b;
    uint64_t last = 0, turns = 0;

    start(IOSCHED_ELEVATOR);
    disk_read_expire = 0;
    for (unsigned i = 0; i < 1000; i++)
        add(BLK_READ, i * 2711 % 1000 * 1000, 8, 1, true);
    for (unsigned i = 0; i < 2000; i++) {
        struct blk_req *r;
        uint64_t lba;

        CHECK_EQ(serve(&b), 8);
        r = list_first(&b.reqs, struct blk_req, link);
        lba = r->lba;
        turns += lba < last;
        last = lba;
        finish(&b, 8, r);
        if (i < 1000) /* new requests arrive before and behind the arm */
            add(BLK_READ, check_below(1000) * 1000 + 100, 8, 1, true);
    }
    CHECK_EQ(serve(&b), 0);
    /* a thousand at first, and a thousand more while these are served */
    CHECK(turns >= 1 && turns <= 4);
}

TEST(elevator_merges_front_and_back)
{
    static const unsigned order[] = {3, 2, 4, 0, 1, 7, 6, 5}; /* of eight adjacent pages */
    struct sched_batch b;
    unsigned n = 0;
    struct blk_req *r;

    start(IOSCHED_ELEVATOR);
    for (unsigned i = 0; i < 8; i++)
        add(BLK_WRITE, 800 + order[i] * 8, 8, 1, false);
    add(BLK_READ, 864, 8, 1, true);   /* another direction */
    add(BLK_WRITE, 880, 8, 1, false); /* a gap */
    add(BLK_WRITE, 888, 500, 1, false);
    add(BLK_WRITE, 1388, 8, 1, false); /* one sector more than there is room for */
    req[9].alone = false;
    CHECK_EQ(serve(&b), 64);
    LIST_FOREACH (r, &b.reqs, link)
        CHECK_EQ(r->lba, 800 + 8 * n++);
    finish(&b, 64, NULL);
    CHECK_EQ(serve(&b), 8);
    finish(&b, 8, NULL);
    CHECK_EQ(serve(&b), 508);
    finish(&b, 508, NULL);
    CHECK_EQ(serve(&b), 8);
    finish(&b, 8, NULL);
    CHECK_EQ(serve(&b), 0);
}

TEST(failed_merges_are_tried_alone)
{
    struct sched_batch b;
    struct blk_req *r;

    start(IOSCHED_ELEVATOR);
    for (unsigned i = 0; i < 4; i++)
        add(BLK_WRITE, i * 8, 8, 1, false);
    CHECK_EQ(serve(&b), 32);
    while ((r = list_pop(&b.reqs, struct blk_req, link)) != NULL) {
        r->alone = true;
        sched_add(&q, r, now);
    }
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(serve(&b), 8);
        finish(&b, 8, NULL);
    }
}

/* Each request is executed once, as a whole, in each mode and when the mode changes. */
TEST(nothing_is_lost)
{
    unsigned ended = 0;

    start(IOSCHED_FIFO);
    for (unsigned step = 0; ended < NMAX; step++) {
        struct sched_batch b;
        uint32_t n;

        if (check_below(50) == 0)
            disk_sched = (unsigned)check_below(IOSCHED_MODES);
        prio_of[check_below(90)] = IOPRIO(IOPRIO_RT + check_below(3), check_below(8));
        for (uint64_t k = check_below(4); k > 0 && nreq < NMAX; k--)
            add(check_below(2) ? BLK_READ : BLK_WRITE, check_below(100000),
                1 + (uint32_t)check_below(500), (uint32_t)check_below(90), check_below(2) == 0);
        if ((n = serve(&b)) == 0) {
            now += 5 * MS;
            continue;
        }
        sched_done(&q, b.flow, n, begun, now);
        while (!list_empty(&b.reqs)) {
            struct blk_req *r = list_pop(&b.reqs, struct blk_req, link);
            uint32_t part = min_of(n, r->nsect - r->sdone);

            CHECK(part > 0);
            n -= part;
            r->sdone += part;
            if (r->sdone < r->nsect)
                sched_add(&q, r, now);
            else
                ended++;
        }
        CHECK(step < 1000000);
    }
    for (unsigned i = 0; i < NMAX; i++)
        CHECK_EQ(req[i].sdone, req[i].nsect);
    CHECK(list_empty(&q.fifo));
    for (unsigned i = 0; i < SCHED_FLOWS; i++)
        CHECK(q.flow[i].q.heap == NULL && q.flow[i].q.n == 0 && q.flow[i].running == 0 &&
              list_empty(&q.flow[i].turn));
}

/*
 * One process writes all the time: its queue is never shorter than 200 pages.  Another reads random blocks, each 1 ms
 * after it got the last.  Returns the time that the reads took; *worst: commands between the arrival of a read and its
 * execution; *written: sectors that the writer got meanwhile.
 */
static uint64_t reader_beside_writer(unsigned most, uint64_t *worst, uint64_t *written)
{
    uint64_t lba = 0, before, done = 0, next_read;
    unsigned reads = 0, ahead = 0;
    struct blk_req *r = NULL;

    for (unsigned i = 0; i < 200; i++, lba += 8)
        add(BLK_WRITE, lba, 8, 7, false);
    *worst = 0;
    before = next_read = now;
    while (reads < most) {
        struct sched_batch b;
        uint32_t n;

        n = serve(&b);
        if (n == 0)
            now += MS / 4;
        ahead += n != 0;
        if (r == NULL && now >= next_read) { /* it arrived while the command was executed */
            uint64_t later = now;

            now = next_read;
            r = add(BLK_READ, 1000000 + check_below(1000000), 8, 8, true);
            now = later;
            ahead = n != 0;
        }
        if (n == 0)
            continue;
        done += is_back(&b) ? n : 0;
        for (uint32_t k = is_back(&b) ? n / 8 : 0; k > 0 && nreq < NMAX; k--, lba += 8)
            add(BLK_WRITE, lba, 8, 7, false);
        if (finish(&b, n, r) && r != NULL) {
            *worst = max_of(*worst, (uint64_t)ahead - 1);
            reads++;
            r = NULL;
            next_read = now + MS;
        }
    }
    *written = done;
    return now - before;
}

TEST(fair_reader_does_not_wait_for_a_writer)
{
    uint64_t worst, written, alone = POSITION_NS + 8 * SECTOR_NS + MS, took;

    start(IOSCHED_FIFO);
    took = reader_beside_writer(10, &worst, &written);
    CHECK(worst >= 199); /* it waits for the whole queue each time */
    CHECK(took > 10 * 30 * alone);

    start(IOSCHED_FAIR);
    took = reader_beside_writer(50, &worst, &written);
    CHECK(worst <= 2);             /* the present command, and one that starves */
    CHECK(took <= 50 * 3 * alone); /* the two get about the same share of the disk */
    CHECK(written >= 8 * 32);      /* and the writer is served */
}

TEST(fair_background_does_not_starve)
{
    uint64_t gap = 0, since;
    unsigned back = 0;

    start(IOSCHED_FAIR);
    for (unsigned i = 0; i < 100; i++)
        add(BLK_WRITE, i * 1000, 8, 7, false);
    for (unsigned k = 1; k <= 6; k++) /* six processes that always have a read waiting */
        add(BLK_READ, 500000 + k * 5000, 8, k, true);
    since = now;
    while (back < 100) {
        struct sched_batch b;
        uint32_t n = serve(&b);
        uint32_t pid;

        CHECK(n > 0);
        pid = list_first(&b.reqs, struct blk_req, link)->by.pid;
        finish(&b, n, NULL);
        if (is_back(&b)) {
            back++;
            gap = max_of(gap, now - since);
            since = now;
        } else {
            nreq = nreq < NMAX - 1 ? nreq : 1000; /* these were done long ago */
            add(BLK_READ, 500000 + check_below(100000), 8, pid, true);
        }
    }
    CHECK(gap <= disk_fair_turns * 1000ull + 3 * (uint64_t)(POSITION_NS + 8 * SECTOR_NS));
}

TEST(fair_flows_take_turns)
{
    unsigned got[3] = {0};
    struct sched_batch b;

    start(IOSCHED_FAIR);
    for (unsigned i = 0; i < 100; i++)
        add(BLK_READ, i * 512, 512, 1, true); /* reads much, far ahead */
    for (unsigned i = 0; i < 10; i++)
        add(BLK_READ, 900000 + i * 1000, 8, 2, true);
    for (unsigned i = 0; i < 20; i++) {
        uint32_t n = serve(&b);

        got[list_first(&b.reqs, struct blk_req, link)->by.pid]++;
        /* No process holds the disk for long while another waits. */
        CHECK(n <= 72 && POSITION_NS + n * (uint64_t)SECTOR_NS <= disk_fair_slice * 1600ull);
        finish(&b, n, NULL);
    }
    CHECK_EQ(got[1], 10);
    CHECK_EQ(got[2], 10);
    finish(&b, serve(&b), NULL); /* the rest of one request */
    CHECK(serve(&b) > 100);      /* alone again: long commands */
}

/* User 7 reads with many processes at once: one process of user 8 still gets half of the commands. */
TEST(fair_users_share)
{
    for (unsigned many = 2; many <= 200; many = many * 3 + 1) {
        struct sched_batch b;
        unsigned got[2] = {0};

        start(IOSCHED_FAIR);
        for (unsigned i = 0; i < 400; i++)
            add_by(BLK_READ, check_below(1000000), 8, (struct blk_owner){100 + i % many, 0, 7},
                   true);
        for (unsigned i = 0; i < 40; i++)
            add_by(BLK_READ, 1000000 + check_below(1000000), 8, (struct blk_owner){90, 0, 8}, true);
        for (unsigned i = 0; i < 60; i++) {
            uint32_t n = serve(&b);

            got[list_first(&b.reqs, struct blk_req, link)->by.user == 8]++;
            finish(&b, n, NULL);
        }
        CHECK(got[1] >= 29 && got[1] <= 31);
    }
}

/* One user has more processes than there are flows: another user's process still gets a flow of its own. */
TEST(fair_no_user_has_all_flows)
{
    struct sched_batch b;

    start(IOSCHED_FAIR);
    for (unsigned i = 0; i < 400; i++)
        add_by(BLK_READ, i * 100, 8, (struct blk_owner){100 + i % 200, 0, 7}, true);
    for (unsigned i = 0; i < 3; i++) {
        struct blk_req *r =
            add_by(BLK_READ, 500000 + i * 100, 8, (struct blk_owner){90 + i, 0, 8 + i}, true);
        unsigned ahead = 0;

        while (!finish(&b, serve(&b), r))
            ahead++;
        CHECK(ahead <= 1);
    }
}

/* Processes 3 and 67 would share a flow if only the numbers were compared, and 67 has requested much. */
TEST(fair_flows_are_of_one_process)
{
    struct sched_batch b;
    struct blk_req *r;
    unsigned ahead = 0;

    start(IOSCHED_FAIR);
    for (unsigned i = 0; i < 50; i++)
        add(BLK_READ, i * 1000, 8, 67, true);
    add(BLK_READ, 500000, 8, 3, true);
    r = &req[50];
    while (ahead < 10) {
        uint32_t n = serve(&b);

        if (list_first(&b.reqs, struct blk_req, link) == r)
            break;
        ahead++;
        finish(&b, n, NULL);
    }
    CHECK(ahead <= 1);
    finish(&b, 8, r);
    for (unsigned pid = 100; pid < 300; pid++) /* more processes than flows: no request is lost */
        add(BLK_READ, 600000 + pid * 100, 8, pid, true);
    for (unsigned i = 0; i < 200 + 50 - ahead; i++)
        finish(&b, serve(&b), NULL);
    CHECK_EQ(serve(&b), 0);
}

TEST(fair_sweep_ends)
{
    struct sched_batch b;
    struct blk_req *low;

    start(IOSCHED_FAIR);
    add(BLK_WRITE, 5000, 8, 7, false);
    serve(&b);
    finish(&b, 8, NULL);
    low = add(BLK_WRITE, 100, 8, 7, false);
    /* a stream in front of the arm does not hold it there: 32 of 3.6 ms */
    for (unsigned i = 0; i < 32; i++) {
        add(BLK_WRITE, 6000 + i * 8, 8, 7, false);
        if (finish(&b, serve(&b), low))
            return;
    }
    CHECK(false);
}

/* Positioning and transfer are estimated separately for any mixture; commands of one size give their time. */
TEST(what_commands_take)
{
    struct disk_cost c = {0};

    disk_cost_learn(&c, 100, 50 * MS);
    CHECK_EQ(c.position_ns + 100 * c.sector_ns, 50 * MS);
    for (unsigned share = 1; share < 8; share++) { /* of eight commands this many are short */
        c = (struct disk_cost){0};
        for (unsigned i = 0; i < 200; i++) {
            uint32_t n = i % 8 < share ? 8 : 200 + (uint32_t)check_below(100);

            disk_cost_learn(&c, n,
                            POSITION_NS / 2 + check_below(POSITION_NS) + n * (uint64_t)SECTOR_NS);
        }
        CHECK_NEAR(c.position_ns, POSITION_NS, 4 * MS);
        CHECK_NEAR(c.sector_ns, SECTOR_NS, SECTOR_NS / 8);
    }
    for (unsigned i = 0; i < 1000; i++)
        disk_cost_learn(&c, 8, 3 * MS); /* now all are short, and the disk is another one */
    CHECK_NEAR(c.position_ns + 8 * c.sector_ns, 3 * MS, MS / 2);
}

/* With the elevator a read that others always overtake waits for half a second, a write for five. */
TEST(elevator_lets_nobody_wait_for_ever)
{
    for (unsigned write = 0; write < 2; write++) {
        uint64_t since, took,
            expire = (write ? disk_write_expire : disk_read_expire) * (uint64_t)MS;
        struct blk_req *low = NULL;
        bool done = false;

        start(IOSCHED_ELEVATOR);
        for (uint64_t lba = 1000000; !done; lba += 512) {
            struct sched_batch b;

            nreq = nreq < NMAX - 10 ? nreq : 10; /* the others were done long ago */
            add(BLK_WRITE, lba, 512, 7, false);
            if (low == NULL) {
                struct sched_batch first;

                finish(&first, serve(&first), NULL); /* the arm is behind `low` */
                low = add(write ? BLK_WRITE : BLK_READ, 100, 8, 8, true);
                since = now;
                add(BLK_WRITE, lba + 512, 512, 7, false);
                lba += 512;
            }
            done = finish(&b, serve(&b), low);
        }
        took = now - since;
        CHECK(took <=
              expire + 2 * (POSITION_NS + 512 * (uint64_t)SECTOR_NS) + POSITION_NS + 8 * SECTOR_NS);
    }
}

/* A request that has waited too long is followed by a command of the sweep, which continues where it was. */
TEST(elevator_goes_on_after_a_late_one)
{
    struct sched_batch b;

    start(IOSCHED_ELEVATOR);
    for (unsigned i = 0; i < 8; i++)
        add(BLK_WRITE, 8000 + i * 1000, 8, 7, false);
    finish(&b, serve(&b), NULL);
    for (unsigned i = 0; i < 3; i++)
        add(BLK_READ, 3000 + i * 1000, 8, 8, true);
    now += disk_read_expire * (uint64_t)MS;
    for (unsigned i = 0; i < 6; i++) {
        uint32_t n = serve(&b);
        uint64_t lba = list_first(&b.reqs, struct blk_req, link)->lba;

        CHECK_EQ(lba, i % 2 == 0 ? 3000 + i / 2 * 1000 : 9000 + i / 2 * 1000);
        finish(&b, n, NULL);
    }
}

/* A process begins to wait for a file with many requests in the background: these come before the others. */
TEST(what_is_waited_for_leaves_the_background)
{
    struct sched_batch b;
    unsigned mine = 0, n = 0;

    start(IOSCHED_FAIR);
    for (unsigned i = 0; i < 300; i++)
        add(BLK_WRITE, 1000 + check_below(100000) * 8, 8, 7, false)->file = i % 30 == 0 ? 5 : 6;
    finish(&b, serve(&b), NULL);
    sched_hurry(&q, 5, true, (struct blk_owner){9, 0, 0}, now);
    for (; mine < 9 && n < 300; n++) {
        uint32_t sectors = serve(&b);
        struct blk_req *r;

        CHECK(sectors > 0);
        LIST_FOREACH (r, &b.reqs, link)
            mine += r->file == 5;
        finish(&b, sectors, NULL);
    }
    CHECK(n <= 16); /* 9 or 10 of its own, and those that the background is owed */
    while (q.flow[FLOW_BACK].q.n > 0) {
        uint32_t sectors = serve(&b);

        now += sectors == 0 ? MS : 0; /* the disk is held for the process */
        if (sectors > 0)
            finish(&b, sectors, NULL);
    }
    for (unsigned i = 0; i < 300; i++)
        CHECK_EQ(req[i].sdone, 8);
}

struct reader {
    uint64_t pause, next; /* time between its reads; the time of its next request */
    struct blk_req *r;    /* the request for which it waits; NULL: it pauses */
    unsigned got, late;   /* reads; of these, reads that took over 60 ms */
    uint64_t worst;       /* the longest wait */
};

/* The readers make their requests up to `now`.  Reader i is process i and has req[i]. */
static void ask(struct reader *p, unsigned n)
{
    uint64_t later = now;

    for (unsigned i = 0; i < n; i++)
        if (p[i].r == NULL && p[i].next <= later) {
            nreq = i;
            now = p[i].next;
            p[i].r = add(BLK_READ, 1000000 + check_below(1000000), 8, i, true);
        }
    now = later;
}

/* Processes 0 to n - 1 read random blocks for `span`, each some time after it got the last. */
static void read_for(uint64_t span, struct reader *p, unsigned n)
{
    uint64_t end = now + span;

    for (unsigned i = 0; i < n; i++)
        p[i].next = now;
    while (now < end) {
        struct sched_batch b;
        uint32_t sectors;

        ask(p, n);
        if ((sectors = serve(&b)) == 0) {
            now += MS / 4;
            continue;
        }
        ask(p, n); /* while the command was executed */
        for (unsigned i = 0; i < n; i++)
            if (p[i].r == list_first(&b.reqs, struct blk_req, link)) {
                p[i].got++;
                p[i].worst = max_of(p[i].worst, now - p[i].r->submitted_ns);
                p[i].next = now + p[i].pause;
                p[i].r = NULL;
            }
        finish(&b, sectors, NULL);
    }
}

/*
 * A stream of writes that never ends, on a disk like IBM's 0661 with its times divided by 4, and n readers beside it.
 * Returns the stream's share of the disk's speed, in %.
 */
static unsigned stream_beside(struct reader *p, unsigned n)
{
    /* waiting requests; places, behind those of the readers */
    const unsigned depth = 200, ring = 2 * depth;
    uint64_t lba = 0, from, span = 20000 * (uint64_t)MS, written = 0;

    start(IOSCHED_FAIR);
    position_ns = 4 * (uint64_t)MS;
    sector_ns = 78000;
    from = now;
    for (unsigned i = 0; i < n; i++)
        p[i].next = now;
    for (unsigned k = 0; now < from + span;) {
        struct sched_batch b;
        uint32_t sectors;

        for (; k < depth + written / 8; k++, lba += 8) {
            nreq = n + k % ring;
            add(BLK_WRITE, lba, 8, 89, false);
        }
        ask(p, n);
        if ((sectors = serve(&b)) == 0) {
            now += MS / 4;
            continue;
        }
        ask(p, n);
        written += is_back(&b) ? sectors : 0;
        for (unsigned i = 0; i < n; i++)
            if (p[i].r == list_first(&b.reqs, struct blk_req, link)) {
                p[i].got++;
                p[i].late += now - p[i].r->submitted_ns > 60 * (uint64_t)MS;
                p[i].next = now + p[i].pause;
                p[i].r = NULL;
            }
        finish(&b, sectors, NULL);
    }
    return (unsigned)(100 * written * sector_ns / span);
}

TEST(stream_and_readers_share)
{
    static const struct {
        uint64_t pause; /* ms */
        /* readers; least % of the stream's speed; least reads of each in a second */
        unsigned n, stream, reads;
    } rows[] = {{0, 1, 35, 70},  {5, 1, 50, 30},  {20, 1, 60, 15},
                {100, 1, 85, 7}, {500, 1, 93, 1}, {0, 4, 15, 20}};

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reader p[4] = {0};
        unsigned stream;

        for (unsigned k = 0; k < rows[i].n; k++)
            p[k].pause = rows[i].pause * MS;
        stream = stream_beside(p, rows[i].n);
        CHECK(stream >= rows[i].stream);
        for (unsigned k = 0; k < rows[i].n; k++) {
            CHECK(p[k].got >= 20 * rows[i].reads);
            CHECK(20 * p[k].late <= p[k].got); /* 95 % within 60 ms */
        }
    }
}

#define ONE_READ (POSITION_NS + 8 * (uint64_t)SECTOR_NS)

TEST(idle_waits_for_all_but_not_for_ever)
{
    struct reader busy[] = {{.pause = MS}, {.pause = 0}, {.pause = MS}},
                  calm[] = {{.pause = 30 * MS}, {.pause = 0}};

    start(IOSCHED_FAIR);
    prio_of[1] = IOPRIO(IOPRIO_IDLE, 0);
    read_for(10000 * (uint64_t)MS, busy, 3);
    CHECK_NEAR(busy[1].got, 10000 / disk_fair_idle, 2);
    CHECK(busy[1].worst <= disk_fair_idle * (uint64_t)MS + 3 * ONE_READ);
    CHECK(busy[0].worst <= 4 * ONE_READ && busy[2].worst <= 4 * ONE_READ);
    CHECK_NEAR(busy[0].got, busy[2].got, 2);

    start(IOSCHED_FAIR); /* what the other leaves belongs to it, and costs at most one command */
    prio_of[1] = IOPRIO(IOPRIO_IDLE, 7);
    read_for(10000 * (uint64_t)MS, calm, 2);
    CHECK(calm[0].got >= 190 && calm[1].got >= 390);
    CHECK(calm[0].worst <= 2 * ONE_READ);
}

TEST(idle_writes_wait_for_the_background)
{
    unsigned first = 0;

    start(IOSCHED_FAIR);
    prio_of[1] = IOPRIO(IOPRIO_IDLE, 0);
    for (unsigned i = 0; i < 40; i++)
        add(BLK_WRITE, 1000 + i * 1000, 8, i % 2, false)->file = i % 4;
    for (unsigned i = 0; i < 20; i++) {
        struct sched_batch b;
        uint32_t n = serve(&b);

        first += is_back(&b);
        finish(&b, n, NULL);
    }
    CHECK(first >= 19); /* one idle command in each half second: 20 take 0.26 s */
    CHECK_EQ(q.flow[FLOW_IDLE].q.n + q.flow[FLOW_BACK].q.n, 20);
    /* another process waits for a file of an idle process */
    sched_hurry(&q, 1, true, (struct blk_owner){5, 0, 0}, now);
    CHECK_EQ(q.flow[5].q.n + q.flow[FLOW_IDLE].q.n + q.flow[FLOW_BACK].q.n, 20);
    CHECK(q.flow[5].q.n >= 9);
    add(BLK_READ, 500, 8, 1, true)->file = 9;
    /* the process is idle itself */
    sched_hurry(&q, 9, false, (struct blk_owner){6, IOPRIO(IOPRIO_IDLE, 0), 0}, now);
    CHECK_EQ(q.flow[6].q.n, 0);
    sched_hurry(&q, 9, false, (struct blk_owner){6, 0, 0}, now);
    CHECK_EQ(q.flow[6].q.n, 1);
}

TEST(real_time_goes_before_others_and_leaves_them_some)
{
    struct reader p[8] = {{.pause = MS}};
    unsigned rest = 0;
    uint64_t worst = 0;

    start(IOSCHED_FAIR);
    prio_of[0] = IOPRIO(IOPRIO_RT, 4);
    read_for(10000 * (uint64_t)MS, p, 8);
    for (unsigned i = 1; i < 8; i++) {
        rest += p[i].got;
        worst = max_of(worst, p[i].worst);
    }
    CHECK(p[0].worst <= 3 * ONE_READ); /* the present command, and one that is owed */
    CHECK(p[0].got >= 3 * p[1].got && p[0].got >= rest);
    CHECK(rest >= p[0].got / 4);
    CHECK(worst <= 8 * (disk_fair_turns * 1000ull + 3 * ONE_READ));

    memset(p, 0, sizeof p); /* the same without it */
    start(IOSCHED_FAIR);
    p[0].pause = MS;
    read_for(10000 * (uint64_t)MS, p, 8);
    CHECK_NEAR(p[0].got, p[1].got, p[1].got / 8);
}

/* The share of level n is proportional to 8 - n; a process that pauses between its reads loses some of it. */
TEST(levels_are_shares)
{
    for (unsigned pause = 0; pause <= 1; pause++)
        for (unsigned cls = IOPRIO_RT; cls <= IOPRIO_BE; cls++) {
            struct reader p[3] = {
                {.pause = pause * MS}, {.pause = pause * MS}, {.pause = pause * MS}};

            start(IOSCHED_FAIR);
            prio_of[0] = IOPRIO(cls, 0);
            prio_of[1] = IOPRIO(cls, 4);
            prio_of[2] = IOPRIO(cls, 7);
            read_for(20000 * (uint64_t)MS, p, 3);
            if (pause == 0) {
                CHECK_NEAR(p[0].got, 8 * p[2].got, 16);
                CHECK_NEAR(p[1].got, 4 * p[2].got, 8);
            }
            CHECK(p[0].got >= 5 * p[2].got && 2 * p[1].got >= 5 * p[2].got &&
                  2 * p[0].got >= 3 * p[1].got);
            CHECK(p[0].got + p[1].got + p[2].got >= 1200); /* of 1515 without a pause */
        }
}
