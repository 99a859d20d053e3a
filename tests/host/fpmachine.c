// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fpmachine.c - see fpmachine.h.
 */
#include "tests/host/fpmachine.h"

#include <string.h>

#include "check.h"

const char common[] =
    "clock_ps = 1111\necache_kib = 8192\necache_ways = 2\necache_latency = 0\n"
    "misses_in_flight = 8\nstores_in_flight = 1\nstore_queue = 8\nwritebacks_in_flight = 2\n"
    "streams = 8\n"
    "fp_latency = 4\nfp_move_latency = 3\nfp_div_latency = 20\nfp_sqrt_latency = 29\n"
    "fp_divs_latency = 17\nfp_sqrts_latency = 20\n"
    "own_ps = 180000\npair_ps = 193000\nboard_ps = 207000\n"
    "expander_ps = 240000\ncdc_hit_percent = 80\nport_mbps = 2400\nmemory_mbps = 6700\n"
    "bus_mbps = 9600\nrequest_mbps = 4800\nresponse_mbps = 4800\n"
    "crossbar_mbps = 4800\ncrossbar_queue = 4\n"
    "skew_ps = 1000000\norder_ps = 1000000\nbucket_ps = 2000000\n";
const char mid[] =
    "bus = machine\nremote_ps = 240000\nremote_miss_ps = 240000\ncenterplane = full\n";
const char high[] =
    "bus = board\nremote_ps = 333000\nremote_miss_ps = 440000\ncenterplane = full\n";

struct fp_model *m;
char page[FP_SHARED_BYTES] __attribute__((aligned(4096)));
unsigned ncpus, nboards;
bool yielded[FP_MAX_CPUS];

static bool translate(uint32_t info, uint64_t virt, uint64_t *raw)
{
    *raw = RAW + virt;
    return true;
}

static void yield(unsigned cpu)
{
    yielded[cpu] = true;
}

void probe_board(unsigned board)
{
    uint64_t args[4] = {board * BOARD + 8192, board * BOARD, BOARD, board};

    memcpy(FP_CPU(page, 0)->arg, args, sizeof args);
    fp_doorbell(m, 0, FP_OP_PROBE);
    fp_probe(m, 0, RAW + args[0]);
}

void machine(unsigned boards, const char *family, const char *more)
{
    char text[4096] = "", error[256], *at = text;
    struct fp_params p;

    if (m)
        fp_destroy(m);
    nboards = boards;
    at += sprintf(at, "memory_mib = %u\n%s", boards * 64, more);
    if (strstr(more, "cpus") == NULL) {
        at += sprintf(at, "cpus =");
        for (unsigned i = 0; i < boards; i++)
            at += sprintf(at, " %u:4", i);
        at += sprintf(at, "\n");
    }
    for (const char *part = common; part != NULL; part = part == common ? family : NULL)
        for (const char *line = part, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            char key[32];

            /* with " =", so that "bus" does not match "bus_mbps" */
            snprintf(key, sizeof key, "%.*s =", (int)strcspn(line, " "), line);
            if (strstr(more, key) == NULL)
                at += sprintf(at, "%.*s\n", (int)(end - line), line);
        }
    if (strstr(more, "write_allocate") == NULL)
        strcpy(at, "write_allocate = merge\n");
    if (fp_params_parse(&p, text, error, sizeof error) != 0)
        check_fail(__FILE__, __LINE__, "%s", error);
    ncpus = p.ncpus;
    m = fp_create(&p, page, text);
    m->translate = translate;
    m->yield = yield;
    for (unsigned i = 0; i < boards; i++)
        probe_board(i);
    CHECK_EQ(((struct fp_header *)page)->boards_known, boards);
    CHECK_EQ(fp_doorbell(m, 0, FP_OP_ARM), FP_REWATCH);
}

uint64_t clock_of(unsigned cpu)
{
    return m->cpu[cpu].clock;
}

struct fp_counts *n(unsigned cpu)
{
    return &m->cpu[cpu].n;
}

static uint64_t load_of(unsigned cpu, uint64_t address, uint32_t info)
{
    uint64_t start = clock_of(cpu);

    fp_load(&m->cpu[cpu], address, 8, info);
    return clock_of(cpu) - start;
}

uint64_t load(unsigned cpu, uint64_t address)
{
    return load_of(cpu, address, 0);
}

uint64_t load_float(unsigned cpu, uint64_t address)
{
    return load_of(cpu, address, FP_FLOATING);
}

uint64_t store(unsigned cpu, uint64_t address)
{
    uint64_t start = clock_of(cpu);

    fp_store(&m->cpu[cpu], address, 8, 0);
    return clock_of(cpu) - start;
}

void store_line(unsigned cpu, uint64_t address)
{
    for (unsigned i = 0; i < LINE; i += 8)
        fp_store(&m->cpu[cpu], address + i, 8, 0);
}
