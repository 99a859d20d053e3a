// SPDX-License-Identifier: MIT
/* test_trace.c - the rings of the trace: order, wrapping, lost records, a reader beside a writer, the last events. */
#include "stat/trace.h"

#include "lib/cpu.h"
#include "stat/panic.h"
#include "tests/host/check.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

enum { SIZE = 16, MANY = 400000 };

struct cpu *cpus[CPU_MAX];
unsigned ncpu;

static char printed[4096];

void kprintf(const char *fmt, ...)
{
    size_t n = strlen(printed);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(printed + n, sizeof printed - n, fmt, ap);
    va_end(ap);
    strcat(printed, "\n");
}

static struct trace_record slot[SIZE], out[4 * SIZE];
static struct trace_ring ring;

static void clear(void)
{
    memset(slot, 0, sizeof slot);
    ring = (struct trace_ring){.mask = SIZE - 1, .slot = slot};
}

/* Writes record number i, each word of which contains i. */
static void put(uint64_t i)
{
    struct trace_record r = {.time = i,
                             .type = TRACE_WAKE,
                             .cpu = 3,
                             .info = (uint16_t)i,
                             .tid = (uint32_t)i,
                             .a = i,
                             .b = ~i};

    trace_ring_put(&ring, &r);
}

static void is_record(const struct trace_record *r, uint64_t i)
{
    CHECK_EQ(r->time, i);
    CHECK_EQ(r->type, TRACE_WAKE);
    CHECK_EQ(r->info, (uint16_t)i);
    CHECK_EQ(r->tid, (uint32_t)i);
    CHECK(r->a == i && r->b == ~i);
}

static unsigned take(unsigned max, uint64_t until)
{
    return trace_ring_read(&ring, &ring.tail, until, 3, out, max);
}

TEST(in_order)
{
    clear();
    CHECK_EQ(take(8, UINT64_MAX), 0);
    for (uint64_t i = 0; i < 5; i++)
        put(i);
    CHECK_EQ(take(3, UINT64_MAX), 3);
    CHECK_EQ(take(8, UINT64_MAX), 2);
    is_record(&out[1], 4);
    CHECK_EQ(take(8, UINT64_MAX), 0);
}

TEST(no_later_than)
{
    clear();
    for (uint64_t i = 0; i < 5; i++)
        put(i);
    CHECK_EQ(take(8, 2), 3);
    CHECK_EQ(take(8, 2), 0);
    CHECK_EQ(take(8, 4), 2);
    is_record(&out[0], 3);
}

/* A full ring returns all records except the slot that is written next; the others are counted as lost. */
TEST(wraps_and_counts)
{
    clear();
    for (uint64_t i = 0; i < SIZE - 1; i++)
        put(i);
    CHECK_EQ(trace_ring_read(&ring, &(uint64_t){0}, UINT64_MAX, 3, out, 64), SIZE - 1);
    is_record(&out[0], 0);
    for (uint64_t i = SIZE - 1; i < 3 * SIZE; i++)
        put(i);
    CHECK_EQ(take(64, UINT64_MAX), SIZE);
    CHECK_EQ(out[0].type, TRACE_LOST);
    CHECK_EQ(out[0].a, 2 * SIZE + 1);
    CHECK_EQ(out[0].cpu, 3);
    CHECK_EQ(out[0].time, out[1].time);
    for (uint64_t i = 1; i < SIZE; i++)
        is_record(&out[i], 2 * SIZE + i);
}

/* Lost records are reported even if all remaining records are too late to be returned. */
TEST(lost_and_nothing_else)
{
    clear();
    for (uint64_t i = 0; i < 2 * SIZE; i++)
        put(i);
    CHECK_EQ(take(8, 3), 1);
    CHECK_EQ(out[0].type, TRACE_LOST);
    CHECK_EQ(out[0].a, SIZE + 1);
    CHECK_EQ(take(8, 3), 0);
    CHECK_EQ(take(2, UINT64_MAX), 2);
    is_record(&out[0], SIZE + 1);
}

/* The number of the next expected record, after `n` that were read. */
static uint64_t follow(uint64_t next, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (out[i].type == TRACE_LOST)
            next += out[i].a;
        else
            is_record(&out[i], next++);
    }
    return next;
}

TEST(read_and_lost_are_all)
{
    uint64_t written = 0, next = 0;

    clear();
    for (unsigned round = 0; round < 20000; round++) {
        for (uint64_t n = check_below(2 * SIZE); n > 0; n--)
            put(written++);
        next = follow(next, take((unsigned)check_below(2 * SIZE) + 2, UINT64_MAX));
        CHECK(next <= written);
    }
    while (next < written)
        next = follow(next, take(8, UINT64_MAX));
    CHECK_EQ(next, written);
}

static void *writer(void *arg)
{
    for (uint64_t i = 0; i < MANY; i++)
        put(i);
    return NULL;
}

/* I2: no record is read while it is being written. */
TEST(reader_beside_writer)
{
    uint64_t next = 0;
    pthread_t t;

    clear();
    CHECK_EQ(pthread_create(&t, NULL, writer, NULL), 0);
    while (next < MANY)
        next = follow(next, take(8, UINT64_MAX));
    pthread_join(t, NULL);
    CHECK_EQ(next, MANY);
}

TEST(names)
{
    CHECK_STR(trace_name_of(TRACE_SWITCH), "switch");
    CHECK_STR(trace_name_of(TRACE_LOCKED), "locked");
    CHECK_STR(trace_name_of(TRACE_END), "?");
    CHECK_STR(trace_name_of(TRACE_LOST), "?");
    CHECK(trace_name("vda") == 0x616476);
    CHECK(trace_name("123456789") == 0x3837363534333231);
    CHECK(trace_name_rest("123456789") == 0x39 && trace_name_rest("12345678") == 0 &&
          trace_name_rest("1") == 0);
}

uint64_t clock_mono_ns(void)
{
    return 100000;
}

TEST(panic_prints_the_last)
{
    static struct cpu cpu = {.id = 0, .trace = &ring};

    clear();
    ncpu = 1;
    cpus[0] = &cpu;
    trace_ready = true;
    trace_panic(); /* tracing is off */
    CHECK_STR(printed, "");
    trace_enable = ~0u;
    for (uint64_t i = 0; i < 2 * SIZE; i++)
        put(i);
    trace_panic();
    CHECK(strstr(printed, "wake") != NULL && strstr(printed, "0x1f 0xffffffffffffffe0") != NULL);
    CHECK(strstr(printed, "0x1a 0xffff") != NULL && strstr(printed, "0x19 0xffff") == NULL);
    CHECK_EQ(trace_enable, 0);
}
