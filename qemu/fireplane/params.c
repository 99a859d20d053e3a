// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * params.c - reads and checks the model's parameters.
 *
 * THEORY      One table contains each parameter's name, its place in struct fp_params, and its limits.  Every parameter
 *             must be given exactly once.  The launcher has already checked the parameters, and its messages name the
 *             lines of the machine file.  They are checked again here, because the plugin can be started with any file.
 *             `cpus` describes the boards in the order of CPU numbers: "0:4 1:4 0:2m" means four CPUs of board 0, four
 *             of board 1, and two on a MaxCPU board in board 0's expander.
 * SEE ALSO    tests/host/test_fireplane.c
 */
#include "params.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct key {
    const char *name;
    size_t offset;
    uint64_t min, max;
    const char *const *words; /* the two values of a switch; NULL: a number */
};

static const char *const write_words[] = {"merge", "always", NULL};
static const char *const bus_words[] = {"machine", "board", NULL};
static const char *const centerplane_words[] = {"full", "double-pumped", NULL};

#define NUMBER(field, min, max)    {#field, offsetof(struct fp_params, field), min, max, NULL}
#define SWITCH(name, field, words) {name, offsetof(struct fp_params, field), 0, 1, words}

static const struct key keys[] = {
    NUMBER(memory_mib, 1, 1 << 24),
    NUMBER(clock_ps, 10, 1000000),
    NUMBER(fp_latency, 1, 1000),
    NUMBER(fp_move_latency, 1, 1000),
    NUMBER(fp_div_latency, 1, 1000),
    NUMBER(fp_sqrt_latency, 1, 1000),
    NUMBER(fp_divs_latency, 1, 1000),
    NUMBER(fp_sqrts_latency, 1, 1000),
    NUMBER(ecache_kib, 1, 1 << 20),
    NUMBER(ecache_ways, 1, 16),
    NUMBER(ecache_latency, 0, 1000),
    NUMBER(misses_in_flight, 1, FP_MAX_FLIGHTS),
    NUMBER(stores_in_flight, 1, FP_MAX_FLIGHTS),
    NUMBER(store_queue, 1, FP_MAX_FLIGHTS),
    NUMBER(writebacks_in_flight, 1, FP_MAX_FLIGHTS),
    NUMBER(streams, 1, 16),
    SWITCH("write_allocate", write_allocate, write_words),
    NUMBER(own_ps, 1000, 100000000),
    NUMBER(pair_ps, 1000, 100000000),
    NUMBER(board_ps, 1000, 100000000),
    NUMBER(expander_ps, 1000, 100000000),
    NUMBER(remote_ps, 1000, 100000000),
    NUMBER(remote_miss_ps, 1000, 100000000),
    NUMBER(cdc_hit_percent, 0, 100),
    NUMBER(port_mbps, 100, 10000000),
    NUMBER(memory_mbps, 100, 10000000),
    NUMBER(bus_mbps, 100, 10000000),
    NUMBER(request_mbps, 100, 10000000),
    NUMBER(response_mbps, 100, 10000000),
    NUMBER(crossbar_mbps, 100, 10000000),
    NUMBER(crossbar_queue, 1, 64),
    SWITCH("bus", bus_per_board, bus_words),
    SWITCH("centerplane", double_pumped, centerplane_words),
    NUMBER(skew_ps, 1000, 1000000000),
    NUMBER(order_ps, 1000, 1000000000),
    NUMBER(bucket_ps, 640000, 1000000000),
};
#define NKEYS (sizeof keys / sizeof keys[0])

#define FAIL(...) return snprintf(error, error_size, __VA_ARGS__), -1

/*
 * parse_cpus - parse the value of `cpus`.  assign - store the value of another key.  check - check the rules that
 * concern several parameters.  0; -1: see error[].
 */
static int parse_cpus(struct fp_params *p, const char *text, char *error, size_t error_size)
{
    while (*text) {
        char *end;
        unsigned long board = strtoul(text, &end, 10), count;
        bool maxcpu;

        if (end == text || *end != ':' || board >= FP_MAX_BOARDS)
            FAIL("cpus: write board:count, boards 0 to %d", FP_MAX_BOARDS - 1);
        text = end + 1;
        count = strtoul(text, &end, 10);
        maxcpu = *end == 'm';
        end += maxcpu;
        if (end == text || count > FP_MAX_CPUS - p->ncpus || (*end && *end != ' '))
            FAIL("cpus: board %lu has a wrong count, or there are more than %d CPUs in all", board,
                 FP_MAX_CPUS);
        if (board >= p->nboards)
            p->nboards = (unsigned)board + 1;
        for (; count; count--, p->ncpus++) {
            p->board[p->ncpus] = (uint8_t)board;
            p->seat[p->ncpus] = maxcpu ? FP_SEAT_MAXCPU : p->board_cpus[board]++;
        }
        for (text = end; *text == ' '; text++)
            ;
    }
    if (p->ncpus == 0)
        FAIL("cpus: there must be one");
    return 0;
}

static int check(const struct fp_params *p, char *error, size_t error_size)
{
    uint64_t lines = p->ecache_kib * 16, sets = lines / p->ecache_ways;

    if (sets == 0 || (sets & (sets - 1)) || sets * p->ecache_ways != lines)
        FAIL("ecache_kib = %lu, ecache_ways = %lu: the lines in a way must be a power of two",
             (unsigned long)p->ecache_kib, (unsigned long)p->ecache_ways);
    if (p->own_ps > p->pair_ps || p->pair_ps > p->board_ps || p->board_ps > p->expander_ps ||
        p->expander_ps > p->remote_ps || p->remote_ps > p->remote_miss_ps)
        FAIL(
            "own_ps, pair_ps, board_ps, expander_ps, remote_ps, remote_miss_ps must not decrease in this order");
    if (p->order_ps > p->skew_ps)
        FAIL("order_ps = %lu is more than skew_ps = %lu", (unsigned long)p->order_ps,
             (unsigned long)p->skew_ps);
    /* a bucket has room for two lines or more, but fewer than its ps (wire.c) */
    for (size_t i = 0; i < NKEYS; i++) {
        uint64_t bytes;

        if (strstr(keys[i].name, "_mbps") == NULL)
            continue;
        bytes = *(const uint64_t *)((const char *)p + keys[i].offset) * p->bucket_ps / 1000000;
        if (bytes < 128 || bytes >= 1 << 24)
            FAIL("%s and bucket_ps: %lu bytes in a bucket; 128 to %d", keys[i].name,
                 (unsigned long)bytes, (1 << 24) - 1);
    }
    return 0;
}

static int assign(struct fp_params *p, const struct key *k, const char *value, char *error,
                  size_t error_size)
{
    char *end;
    unsigned long long n;

    if (k->words) {
        bool second = strcmp(value, k->words[1]) == 0;

        if (!second && strcmp(value, k->words[0]) != 0)
            FAIL("%s = %s: it is \"%s\" or \"%s\"", k->name, value, k->words[0], k->words[1]);
        *(bool *)((char *)p + k->offset) = second;
        return 0;
    }
    n = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || n < k->min || n > k->max)
        FAIL("%s = %s: a number from %llu to %llu", k->name, value, (unsigned long long)k->min,
             (unsigned long long)k->max);
    *(uint64_t *)((char *)p + k->offset) = n;
    return 0;
}

/*
 * Reads the next line of *text into key[] and value[], without blanks around them.  False: no more lines.
 * A line that is not "key = value" gives an empty key.
 */
static bool next_line(const char **text, char key[32], char value[1024])
{
    while (**text) {
        const char *line = *text, *end = strchr(line, '\n');
        size_t length = end ? (size_t)(end - line) : strlen(line);
        char buffer[1100];

        *text = line + length + (end != NULL);
        if (length >= sizeof buffer)
            length = sizeof buffer - 1;
        memcpy(buffer, line, length);
        buffer[length] = 0;
        if (buffer[strspn(buffer, " \t\r")] == 0 || buffer[0] == '#')
            continue;
        key[0] = value[0] = 0;
        if (sscanf(buffer, " %31[a-z_] = %1023[^\n]", key, value) != 2)
            key[0] = 0;
        for (size_t n = strlen(value); n && isspace((unsigned char)value[n - 1]); n--)
            value[n - 1] = 0;
        return true;
    }
    return false;
}

int fp_params_parse(struct fp_params *p, const char *text, char *error, size_t error_size)
{
    bool seen[NKEYS + 1] = {false};
    char name[32], value[1024];

    memset(p, 0, sizeof *p);
    while (next_line(&text, name, value)) {
        size_t i = 0;

        while (i < NKEYS && strcmp(keys[i].name, name) != 0)
            i++;
        if (i == NKEYS && strcmp(name, "cpus") != 0)
            FAIL("unknown parameter '%s'", name[0] ? name : "?");
        if (seen[i])
            FAIL("%s is given twice", name);
        seen[i] = true;
        if (i == NKEYS ? parse_cpus(p, value, error, error_size)
                       : assign(p, &keys[i], value, error, error_size))
            return -1;
    }
    for (size_t i = 0; i <= NKEYS; i++)
        if (!seen[i])
            FAIL("%s is missing", i == NKEYS ? "cpus" : keys[i].name);
    return check(p, error, error_size);
}
