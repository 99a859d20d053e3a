// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_fireplane_wire.c - the interconnect model: the resources that a transfer uses, and the rate that each permits.
 *
 * THEORY      A flow is a CPU that moves many lines of one board's memory, all in the same way.  The rate of several
 *             flows shows the resource that limits them.  So the test makes one resource slow and all others fast.  The
 *             rate then says how often the busiest resource of that kind is used.  If the flows are as fast as before,
 *             it is never used.
 * SEE ALSO    fpmachine.h, qemu/fireplane/wire.c, docs/fireplane.md
 */
#include "check.h"

#include "tests/host/fpmachine.h"

/* How a flow moves its lines. */
enum move {
    LOAD,       /* loads that miss */
    STORE,      /* stores that miss and read their line to own it; needs write_allocate = always */
    WHOLE_LINE, /* stores of all bytes of a line */
    /* changed lines leave the external cache; for each a line of the CPU's board is read */
    WRITE_BACK,
    CLAIM, /* stores to lines of which another CPU has a copy: address transactions without data */
};

struct flow {
    unsigned cpu;
    unsigned home;  /* board of the lines */
    unsigned owner; /* the CPU that has changed them in its cache; 0: memory supplies them */
};

static uint64_t round_up(uint64_t x, uint64_t step)
{
    return (x + step - 1) / step * step;
}

/*
 * The address of a line.  Flows whose numbers differ by less than four use different lines.  WRITE_BACK reads the upper
 * half of a board.
 */
static uint64_t address_of(unsigned board, unsigned flow, unsigned line)
{
    return board * BOARD + flow % 4 * (BOARD / 8) + (uint64_t)line * LINE;
}

static void prepare_line(const struct flow *f, enum move move, uint64_t address)
{
    if (f->owner != 0) {
        load(f->owner, address);
        store(f->owner, address);
    } else if (move == WRITE_BACK) {
        load(f->cpu, address);
        store(f->cpu, address);
    } else if (move == CLAIM) {
        load(f->cpu ^ 1, address);
        load(f->cpu, address);
    }
}

static void move_line(const struct flow *f, enum move move, unsigned flow, unsigned line)
{
    uint64_t address = address_of(f->home, flow, line);

    if (move == LOAD)
        load(f->cpu, address);
    else if (move == WHOLE_LINE)
        store_line(f->cpu, address);
    else if (move == WRITE_BACK) /* the line at the same place of the cache */
        load(f->cpu, address_of(m->cpu[f->cpu].board, flow, line) + BOARD / 2);
    else
        store(f->cpu, address);
}

/* Waits until all CPUs have the requested lines.  Returns the time, ps. */
static uint64_t drain_all(void)
{
    uint64_t end = 0;

    for (unsigned i = 0; i < ncpus; i++) {
        fp_drain(&m->cpu[i]);
        if (clock_of(i) > end)
            end = clock_of(i);
    }
    return end;
}

/*
 * MB/s when each of `count` flows moves `lines` lines.  The slowest CPU goes next, with that of its flows that is
 * behind.  waited[]: the time that transfers waited for each kind of resource, ps.
 */
static uint64_t saturate(const struct flow *flows, unsigned count, enum move move, unsigned lines,
                         uint64_t waited[FP_RES_COUNT])
{
    unsigned next[FP_MAX_CPUS] = {0};
    uint64_t start, took;

    for (unsigned f = 0; f < count; f++)
        for (unsigned i = 0; i < lines; i++)
            prepare_line(&flows[f], move, address_of(flows[f].home, f, i));
    start = round_up(drain_all(), m->p.bucket_ps); /* in buckets that are still empty */
    for (unsigned i = 0; i < ncpus; i++)
        fp_stall(&m->cpu[i], start);
    for (unsigned k = 0; k < FP_RES_COUNT; k++) {
        waited[k] = 0;
        for (unsigned i = 0; i < ncpus; i++)
            waited[k] -= n(i)->queue_ps[k];
    }
    for (uint64_t total = (uint64_t)count * lines; total > 0; total--) {
        unsigned now = 0;

        for (unsigned f = 0; f < count; f++) {
            uint64_t clock = clock_of(flows[f].cpu), least = clock_of(flows[now].cpu);
            bool behind = flows[f].cpu == flows[now].cpu ? next[f] < next[now] : clock < least;

            if (next[now] == lines || (next[f] < lines && behind))
                now = f;
        }
        move_line(&flows[now], move, now, next[now]++);
    }
    took = drain_all() - start;
    for (unsigned k = 0; k < FP_RES_COUNT; k++)
        for (unsigned i = 0; i < ncpus; i++)
            waited[k] += n(i)->queue_ps[k];
    return (uint64_t)count * lines * LINE * 1000000 / took;
}

/* ---- the paper's rates: Table B-3 ---------------------------------------------------------- */

/* MB/s when each of the first `cpus` CPUs reads `lines` lines from the board `shift` boards further. */
static uint64_t read_rate(unsigned cpus, unsigned shift, unsigned lines)
{
    struct flow flows[FP_MAX_CPUS];
    uint64_t waited[FP_RES_COUNT];

    for (unsigned i = 0; i < cpus; i++)
        flows[i] = (struct flow){.cpu = i, .home = (m->cpu[i].board + shift) % nboards};
    return saturate(flows, cpus, LOAD, lines, waited);
}

#define CHECK_RATE(rate, expected) CHECK_NEAR(rate, expected, (expected) / 100)

TEST(saturation_of_one_board)
{
    machine(2, mid, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(1, 0, 20000), 2400); /* one port */
    machine(2, mid, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(4, 0, 20000), 6700);
    CHECK(n(1)->queue_ps[FP_RES_MEMORY] > 0);
    CHECK_EQ(n(1)->queue_ps[FP_RES_CROSSBAR], 0);
    machine(2, mid, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(4, 1, 20000), 4800);
    CHECK(n(1)->queue_ps[FP_RES_CROSSBAR] > 0);
    /* each board reads from the other: 2,400 for each, in each direction */
    machine(2, mid, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(8, 1, 20000), 2 * 2400);
    /* a ring of three; with queues of 4 the rate is 4 % lower */
    machine(3, mid, "crossbar_queue = 16\n");
    CHECK_RATE(read_rate(12, 1, 20000), 3 * 2400);
}

TEST(saturation_of_the_6800)
{
    machine(6, mid, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(24, 0, 8000), 9600);
    machine(6, mid, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(24, 1, 8000), 9600);
    CHECK(n(1)->queue_ps[FP_RES_BUS] > 0);
}

TEST(saturation_of_the_12k)
{
    machine(9, high, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(36, 0, 8000), 60300);
    machine(9, high, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(36, 1, 8000), 21600);
}

TEST(saturation_of_the_15k)
{
    machine(18, high, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(72, 0, 8000), 120600);
    machine(18, high, "misses_in_flight = 16\n");
    CHECK_RATE(read_rate(72, 1, 8000), 43200);
    machine(18, high, "misses_in_flight = 16\ncenterplane = double-pumped\n");
    CHECK_RATE(read_rate(72, 1, 8000), 21600);
    CHECK(n(1)->queue_ps[FP_RES_CROSSBAR] > 0);
}

/* ---- the resources that a transfer uses ---- */

#define BOARDS 5
#define FLOWS  3
#define LINES  1000
#define QUICK  320000 /* MB/s; 10,000 lines in a bucket */
#define SLOW   320    /* MB/s; 10 lines in a bucket */
/* ps of waits in a fast crossbar, ten slots for each line, where lines meet */
#define MEETS  (FLOWS * LINES * 2000ull)

#define MOVES(move) (1u << (move))
#define READS       (MOVES(LOAD) | MOVES(STORE))
/* CPUs of one board and of three boards, the memory of their own boards */
#define OWN_MEMORY  {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}
#define OWN_EACH    {{0, 0, 0}, {4, 1, 0}, {8, 2, 0}}
/* one CPU, the memory of three other boards; CPUs of three boards, the memory of one other board */
#define TO_THREE    {{0, 1, 0}, {0, 2, 0}, {0, 3, 0}}
#define TO_ONE      {{4, 0, 0}, {8, 0, 0}, {12, 0, 0}}

/*
 * The number of lines that the busiest resource of each kind moves while each flow moves one: port, memory, address
 * bus, request, response, crossbar; in a mid-range server and in a high-end one.  The boards of a mid-range server are
 * one snoop domain; those of a high-end server exchange requests and responses.
 */
static const struct row {
    const char *what;
    unsigned moves;
    struct flow flow[FLOWS];
    unsigned mid[FP_RES_COUNT], high[FP_RES_COUNT];
} rows[] = {
    {"own memory", READS | MOVES(WHOLE_LINE), OWN_MEMORY, {1, 3, 3}, {1, 3, 3}},
    {"each its own memory", READS | MOVES(WHOLE_LINE), OWN_EACH, {1, 1, 3}, {1, 1, 1}},
    {"from three boards", READS, TO_THREE, {3, 1, 3, 0, 0, 3}, {3, 1, 3, 3, 3, 3}},
    {"from one board", READS, TO_ONE, {1, 3, 3, 0, 0, 3}, {1, 3, 3, 3, 3, 3}},
    {"to three boards", MOVES(WHOLE_LINE), TO_THREE, {3, 1, 3, 0, 0, 3}, {3, 1, 3, 3, 3, 3}},
    {"to one board", MOVES(WHOLE_LINE), TO_ONE, {1, 3, 3, 0, 0, 3}, {1, 3, 3, 3, 3, 3}},
    {"to one board, changed there",
     MOVES(WHOLE_LINE),
     {{4, 0, 1}, {8, 0, 2}, {12, 0, 3}},
     {1, 3, 3, 0, 0, 3},
     {1, 3, 3, 3, 3, 3}},
    /* from the cache of a CPU: the bus of the lines' board is used, its memory is not */
    {"one owner on the board", READS, {{0, 0, 3}, {1, 0, 3}, {2, 0, 3}}, {3, 0, 3}, {3, 0, 3}},
    {"three owners on the board", READS, {{0, 0, 1}, {0, 0, 2}, {0, 0, 3}}, {3, 0, 3}, {3, 0, 3}},
    {"owners on the board, lines of others",
     READS,
     {{0, 1, 1}, {0, 2, 2}, {0, 3, 3}},
     {3, 0, 3},
     {3, 0, 3, 3}},
    {"lines of the board, owners on others",
     READS,
     {{0, 0, 4}, {0, 0, 8}, {0, 0, 12}},
     {3, 0, 3, 0, 0, 3},
     {3, 0, 3, 3, 3, 3}},
    {"owners and lines of others",
     READS,
     {{0, 2, 4}, {0, 3, 8}, {0, 1, 12}},
     {3, 0, 3, 0, 0, 3},
     {3, 0, 3, 3, 3, 3}},
    {"one owner elsewhere",
     READS,
     {{4, 2, 1}, {8, 3, 1}, {12, 4, 1}},
     {3, 0, 3, 0, 0, 3},
     {3, 0, 3, 3, 3, 3}},
    /* a write-back, and the read of a line of the CPU's own board */
    {"own memory", MOVES(WRITE_BACK), OWN_MEMORY, {2, 6, 6}, {2, 6, 6}},
    {"each its own memory", MOVES(WRITE_BACK), OWN_EACH, {2, 2, 6}, {2, 2, 2}},
    {"to three boards", MOVES(WRITE_BACK), TO_THREE, {6, 3, 6, 0, 0, 3}, {6, 3, 6, 3, 3, 3}},
    {"to one board", MOVES(WRITE_BACK), TO_ONE, {2, 3, 6, 0, 0, 3}, {2, 3, 3, 3, 3, 3}},
    {"own memory", MOVES(CLAIM), OWN_MEMORY, {0, 0, 3}, {0, 0, 3}},
    {"each its own memory", MOVES(CLAIM), OWN_EACH, {0, 0, 3}, {0, 0, 1}},
    {"of three boards", MOVES(CLAIM), TO_THREE, {0, 0, 3}, {0, 0, 3, 3, 3}},
    {"of one board", MOVES(CLAIM), TO_ONE, {0, 0, 3}, {0, 0, 3, 3, 3}},
};

/* The rate of a row's flows when one kind of resource is slow; FP_RES_COUNT: none is slow. */
static uint64_t rate_with_slow(const struct row *r, enum move move, const char *family,
                               unsigned slow, uint64_t waited[FP_RES_COUNT])
{
    static const char *const rates[FP_RES_COUNT] = {
        [FP_RES_PORT] = "port_mbps",         [FP_RES_MEMORY] = "memory_mbps",
        [FP_RES_BUS] = "bus_mbps",           [FP_RES_REQUEST] = "request_mbps",
        [FP_RES_RESPONSE] = "response_mbps", [FP_RES_CROSSBAR] = "crossbar_mbps"};
    char more[1024], *at = more;

    at += sprintf(at,
                  "misses_in_flight = 64\nstores_in_flight = 64\nwritebacks_in_flight = 64\n"
                  "ecache_kib = 32768\necache_ways = 1\n%s", /* half a board */
                  move == STORE ? "write_allocate = always\n" : "");
    for (unsigned k = 0; k < FP_RES_COUNT; k++)
        at += sprintf(at, "%s = %d\n", rates[k], k == slow ? SLOW : QUICK);
    machine(BOARDS, family, more);
    return saturate(r->flow, FLOWS, move, LINES, waited);
}

static void try_row(const struct row *r, enum move move, const char *family)
{
    static const char *const names[FP_RES_COUNT] = {"port",    "memory",   "bus",
                                                    "request", "response", "crossbar"};
    const unsigned *uses = family == mid ? r->mid : r->high;
    uint64_t waited[FP_RES_COUNT], quick = rate_with_slow(r, move, family, FP_RES_COUNT, waited);

    for (unsigned slow = 0; slow < FP_RES_COUNT; slow++) {
        uint64_t rate = rate_with_slow(r, move, family, slow, waited), expected = quick;

        if (uses[slow] != 0)
            expected = SLOW * FLOWS / uses[slow];
        if (uses[slow] != 0 ? rate > expected + expected / 100 || rate < expected - expected / 100
                            : rate != quick)
            check_fail(__FILE__, __LINE__, "%s, %s, slow %s: %lu MB/s, not %lu", r->what,
                       family == mid ? "mid-range" : "high-end", names[slow], (unsigned long)rate,
                       (unsigned long)expected);
        for (unsigned k = 0; k < FP_RES_COUNT; k++)
            if ((waited[k] > (k == FP_RES_CROSSBAR ? MEETS : 0)) != (k == slow && uses[k] != 0))
                check_fail(__FILE__, __LINE__, "%s, %s, slow %s: waited %lu ps for %s", r->what,
                           family == mid ? "mid-range" : "high-end", names[slow],
                           (unsigned long)waited[k], names[k]);
    }
}

static void try_rows(enum move move)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].moves & MOVES(move)) {
            try_row(&rows[i], move, mid);
            try_row(&rows[i], move, high);
        }
}

TEST(resources_of_loads)
{
    try_rows(LOAD);
}

TEST(resources_of_stores_that_read_their_lines)
{
    try_rows(STORE);
}

TEST(resources_of_whole_lines)
{
    try_rows(WHOLE_LINE);
}

TEST(resources_of_write_backs)
{
    try_rows(WRITE_BACK);
}

TEST(resources_of_stores_to_shared_lines)
{
    try_rows(CLAIM);
}

/* ---- buckets ------------------------------------------------------------------------------- */

TEST(a_bucket_is_filled_and_the_future_is_nobodys_queue)
{
    const uint64_t bucket = 2000 * NS;

    machine(1, mid, "");
    /* 2400 MB/s: 75 lines in 2 us, one in 26,666 ps */
    for (unsigned i = 0; i < 75; i++) { /* ahead of their turn by the skew, no more */
        uint64_t turn = 10 * bucket + i * 26666 - 1000 * NS;

        CHECK_EQ(fp_reserve(m, FP_RES_PORT, 0, 10 * bucket + 5),
                 i * 26666 > 1000 * NS + 5 ? turn : 10 * bucket + 5);
    }
    CHECK_EQ(fp_reserve(m, FP_RES_PORT, 0, 10 * bucket + 5), 11 * bucket);
    CHECK_EQ(fp_reserve(m, FP_RES_PORT, 0, 10 * bucket + 7), 11 * bucket + 26666);
    CHECK_EQ(fp_reserve(m, FP_RES_PORT, 0, 9 * bucket + 1), 9 * bucket + 1); /* a slower CPU */
    CHECK_EQ(fp_reserve(m, FP_RES_PORT, 0, 11 * bucket + 1), 11 * bucket + 1);
    for (unsigned i = 3; i < 75; i++)
        fp_reserve(m, FP_RES_PORT, 0, 11 * bucket);
    CHECK_EQ(fp_reserve(m, FP_RES_PORT, 0, 10 * bucket), 12 * bucket);
    CHECK_EQ(fp_reserve(m, FP_RES_PORT, 0, (10 + FP_BUCKETS) * bucket), (10 + FP_BUCKETS) * bucket);
    /* too long ago: the bucket is forgotten */
    CHECK_EQ(fp_reserve(m, FP_RES_PORT, 0, 10 * bucket), 10 * bucket);
}
