// SPDX-License-Identifier: MIT
/*
 * fpwork.c - see user/include/fpwork.h.
 */
#include "fpwork.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    STEP = 33,          /* lines between two loads, so that none continues a stream of misses */
    LONGEST_QUEUE = 64, /* in stores; FP_MAX_FLIGHTS of the model */
};

struct fpw_given fpw_given;
struct fp_counts fpw_added, fpw_looking;
uint64_t fpw_moved;
const char *fpw_doing = "";
char fpw_why[160];
bool fpw_disturbed;
unsigned fpw_delay = 1;

static struct fp_counts before; /* the counts at fpw_begin() */
static long switches_before;

/* ---- the model's parameters ---- */

/* The value of a parameter of the model; 0 if it has none of that name. */
static uint64_t param(const char *name)
{
    char key[40];
    const char *at;

    snprintf(key, sizeof key, "\n%s = ", name);
    at = strstr(fp_header()->params, key);
    return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void fpw_read_params(void)
{
    uint64_t hits = param("cdc_hit_percent");
    const char *text = strstr(fp_header()->params, "cpus = ");
    int cpu = 0;

    fpw_given.clock_ps = fp_header()->clock_ps;
    fpw_given.own_ps = param("own_ps");
    fpw_given.pair_ps = param("pair_ps");
    fpw_given.board_ps = param("board_ps");
    fpw_given.expander_ps = param("expander_ps");
    fpw_given.remote_ps =
        (hits * param("remote_ps") + (100 - hits) * param("remote_miss_ps")) / 100;
    fpw_given.ask_ps = param("ecache_latency") * fpw_given.clock_ps;
    fpw_given.misses = param("misses_in_flight");
    fpw_given.stores = param("stores_in_flight");
    fpw_given.queue = param("store_queue");
    fpw_given.rate = lesser(param("port_mbps"), lesser(param("memory_mbps"), param("bus_mbps")));
    fpw_given.reads = strstr(fp_header()->params, "write_allocate = always") != NULL;
    for (text += text != NULL ? strlen("cpus = ") : 0;
         text != NULL && cpu < (int)fp_header()->ncpus;) {
        char *end; /* board:count; an m after it means a MaxCPU board */
        long board = strtol(text, &end, 10), count = strtol(end + 1, &end, 10);

        for (; count > 0; count--)
            fpw_given.seat[cpu++] = *end == 'm' ? -1 : fpw_given.seats[board]++;
        text = end + (*end == 'm');
    }
}

bool fpw_limits(void)
{
    static const struct {
        const char *name;
        uint64_t least, most;
    } limits[] = {
        {"skew_ps", 5000, UINT64_MAX},      {"port_mbps", 1000, UINT64_MAX},
        {"memory_mbps", 1000, UINT64_MAX},  {"bus_mbps", 1000, UINT64_MAX},
        {"crossbar_mbps", 600, UINT64_MAX}, {"request_mbps", 600, UINT64_MAX},
        {"response_mbps", 600, UINT64_MAX}, {"own_ps", 10000, 1000000},
        {"pair_ps", 10000, 1000000},        {"board_ps", 10000, 1000000},
        {"remote_ps", 10000, 1000000},      {"remote_miss_ps", 10000, 1000000},
        {"expander_ps", 10000, 1000000},
    };

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        uint64_t value = param(limits[i].name);

        if (value < limits[i].least || value > limits[i].most) {
            snprintf(fpw_why, sizeof fpw_why, "%s is %llu", limits[i].name,
                     (unsigned long long)value);
            return false;
        }
    }
    if (fp_header()->ecache_bytes < (fp_header()->ecache_ways < 2 ? 8 : 4) * FPW_BYTES) {
        snprintf(fpw_why, sizeof fpw_why, "the external cache has %llu bytes and %u ways",
                 (unsigned long long)fp_header()->ecache_bytes, fp_header()->ecache_ways);
        return false;
    }
    return true;
}

int fpw_board_of(int cpu)
{
    return (int)FP_CPU(fp_header(), cpu)->board;
}

void fpw_latency(int cpu, int home, uint64_t *least, uint64_t *most)
{
    int seat = fpw_given.seat[cpu], seats = home >= 0 ? fpw_given.seats[home] : 0;
    uint64_t sum = 0;

    *least = fpw_given.own_ps;
    *most = fpw_given.remote_ps;
    if (home < 0)
        return;
    for (int i = 0; i < seats; i++)
        sum += i == seat           ? fpw_given.own_ps
               : i / 2 == seat / 2 ? fpw_given.pair_ps
                                   : fpw_given.board_ps;
    if (home != fpw_board_of(cpu))
        *least = fpw_given.remote_ps;
    else
        *least = *most = seat < 0 || seats == 0 ? fpw_given.expander_ps : sum / (uint64_t)seats;
}

/* ---- work whose counts are known ---- */

void fpw_read_lines(const char *p, size_t lines)
{
    size_t turns = lines, at = 0, word;

    __asm__ volatile("1: mov (%3,%1), %2\n\t add %4, %1\n\t and %5, %1\n\t dec %0\n\t jnz 1b"
                     : "+r"(turns), "+r"(at), "=&r"(word)
                     : "r"(p), "i"(STEP * FPW_LINE), "r"(lines * FPW_LINE - 1)
                     : "memory");
}

void fpw_write_lines(char *p)
{
    size_t turns = FPW_LINES;

    __asm__ volatile("1: mov %0, (%0)\n\t add %2, %0\n\t dec %1\n\t jnz 1b"
                     : "+r"(p), "+r"(turns)
                     : "i"(FPW_LINE)
                     : "memory");
}

void fpw_store_words(char *p, size_t length)
{
    length /= 8;
    __asm__ volatile("rep stosq" : "+D"(p), "+c"(length) : "a"(0ul) : "memory");
}

void fpw_store_bytes(char *p, size_t length)
{
    __asm__ volatile("rep stosb" : "+D"(p), "+c"(length) : "a"(0) : "memory");
}

void fpw_scan_bytes(char *p, size_t length)
{
    __asm__ volatile("repe scasb" : "+D"(p), "+c"(length) : "a"(0) : "memory", "cc");
}

void fpw_compare_words(char *p, size_t length)
{
    char *half = p + length / 2;

    length /= 16;
    __asm__ volatile("repe cmpsq" : "+D"(p), "+S"(half), "+c"(length) : : "memory", "cc");
}

static void move_words(char *p, const char *from, size_t length)
{
    length /= 8;
    __asm__ volatile("rep movsq" : "+D"(p), "+S"(from), "+c"(length) : : "memory");
}

void fpw_move_half(char *p, size_t length)
{
    move_words(p, p + length / 2, length / 2);
}

void fpw_store_pairs(char *p, size_t length)
{
    length /= 32;
    __asm__ volatile(
        "1: movups %%xmm0, (%0)\n\t movups %%xmm0, 16(%0)\n\t add $32, %0\n\t dec %1\n\t jnz 1b"
        : "+r"(p), "+r"(length)
        :
        : "memory");
}

void fpw_load_pairs(char *p, size_t length)
{
    length /= 32;
    __asm__ volatile(
        "1: movups (%0), %%xmm0\n\t movups 16(%0), %%xmm1\n\t add $32, %0\n\t dec %1\n\t jnz 1b"
        : "+r"(p), "+r"(length)
        :
        : "xmm0", "xmm1", "memory");
}

void fpw_spin(size_t turns)
{
    __asm__ volatile("1: dec %0\n\t jnz 1b" : "+r"(turns));
}

void fpw_rest(size_t turns)
{
    __asm__ volatile("1: pause\n\t dec %0\n\t jnz 1b" : "+r"(turns));
}

void fpw_loads(void *p, size_t turns)
{
    size_t word;

    __asm__ volatile("1: mov (%2), %1\n\t dec %0\n\t jnz 1b"
                     : "+r"(turns), "=&r"(word)
                     : "r"(p)
                     : "memory");
}

void fpw_stores(void *p, size_t turns)
{
    __asm__ volatile("1: inc %%rax\n\t mov %0, (%1)\n\t dec %0\n\t jnz 1b"
                     : "+r"(turns)
                     : "r"(p)
                     : "rax", "memory");
}

void fpw_both(void *p, size_t turns)
{
    size_t word;

    __asm__ volatile("1: mov (%2), %1\n\t inc %1\n\t mov %1, (%2)\n\t dec %0\n\t jnz 1b"
                     : "+r"(turns), "=&r"(word)
                     : "r"(p)
                     : "memory");
}

void fpw_calls(void *p, size_t turns)
{
    (void)p;
    __asm__ volatile(
        "sub $128, %%rsp\n\t jmp 1f\n\t 2: ret\n\t 1: call 2b\n\t dec %0\n\t jnz 1b\n\t add $128, %%rsp"
        : "+r"(turns)
        :
        : "memory");
}

/* Accesses of 1, 2 and 4 bytes. */
void fpw_small(void *p, size_t turns)
{
    __asm__ volatile(
        "1: movzbl (%1), %%eax\n\t movzwl 2(%1), %%eax\n\t movl 4(%1), %%eax\n\t"
        "movb %%al, (%1)\n\t movw %%ax, 2(%1)\n\t movl %%eax, 4(%1)\n\t dec %0\n\t jnz 1b"
        : "+r"(turns)
        : "r"(p)
        : "rax", "memory");
}

void fpw_atomics(void *p, size_t turns)
{
    __asm__ volatile("1: lock incq (%1)\n\t dec %0\n\t jnz 1b" : "+r"(turns) : "r"(p) : "memory");
}

/* ---- counts ---- */

/* Lines that came from or went to the board so far. */
static uint64_t lines_moved(int board)
{
    const volatile uint64_t(*traffic)[FP_MAX_BOARDS] = FP_TRAFFIC(fp_header());
    uint64_t bytes = 0;

    for (int i = 0; i < (int)fp_header()->nboards; i++)
        bytes += traffic[i][board] + (i != board ? traffic[board][i] : 0);
    return bytes / FPW_LINE;
}

static void subtract(struct fp_counts *a, const struct fp_counts *b)
{
    for (size_t i = 0; i < sizeof *a / sizeof(uint64_t); i++)
        ((uint64_t *)a)[i] -= ((const uint64_t *)b)[i];
}

/*
 * Reads the CPU's counts.  Returns false if the model published while they were read: what was read first is then
 * older.
 */
static bool look(int cpu, struct fp_counts *at)
{
    fp_read_cpu(cpu, at);
    return ((const volatile struct fp_cpu *)FP_CPU(fp_header(), cpu))->counts.time_ps ==
           at->time_ps;
}

/* How many times the thread has left its CPU. */
static long switches(void)
{
    struct rusage used;

    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw + used.ru_nivcsw;
}

/*
 * Fills the store queue, so that earlier stores leave it before the counts are read.  Otherwise the model would
 * publish them while the counts are read.
 */
static void settle_stores(void)
{
    static uint64_t word;

    fpw_both(&word, LONGEST_QUEUE);
}

/* The first calls of look() bring the memory that it uses into the caches. */
void fpw_begin(int cpu)
{
    switches_before = switches();
    fpw_spin(fpw_delay);
    settle_stores();
    look(cpu, &fpw_added);
    fpw_moved = lines_moved(fpw_board_of(cpu));
    /* the model publishes all the time if the skew is a few clock cycles */
    for (int i = 0; i < 4 && !look(cpu, &before); i++)
        ;
}

void fpw_end(int cpu)
{
    settle_stores();
    fpw_disturbed |= !look(cpu, &fpw_added);
    fpw_moved = lines_moved(fpw_board_of(cpu)) - fpw_moved;
    fpw_disturbed |= switches() != switches_before;
    subtract(&fpw_added, &before);
    subtract(&fpw_added, &fpw_looking);
}

bool fpw_within(const char *what, int cpu, int64_t count, int64_t least, int64_t most)
{
    if (count >= least && count <= most)
        return true;
    snprintf(fpw_why, sizeof fpw_why, "CPU %d: %s: %s: %lld counted, %lld to %lld expected", cpu,
             fpw_doing, what, (long long)count, (long long)least, (long long)most);
    return false;
}

bool fpw_about(const char *what, int cpu, uint64_t count, uint64_t expected)
{
    return fpw_within(what, cpu, (int64_t)count, (int64_t)expected - FPW_SLACK,
                      (int64_t)expected + FPW_SLACK);
}

bool fpw_waited(int cpu, uint64_t least_ps, uint64_t most_ps)
{
    int64_t stray = (int64_t)(FPW_SLACK * fpw_given.ask_ps + FPW_SLACK / 4 * fpw_given.remote_ps);
    int64_t clock = (int64_t)fpw_given.clock_ps;

    return fpw_within("clocks waited", cpu, (int64_t)fpw_added.stall_ps / clock,
                      ((int64_t)least_ps / 100 * 99 - stray / 8) / clock,
                      ((int64_t)most_ps / 100 * 101 + stray) / clock);
}

bool fpw_right(int cpu, const struct fpw_work *w)
{
    bool local = w->home == fpw_board_of(cpu);
    uint64_t elsewhere = local ? fpw_added.miss_remote : fpw_added.miss_local;
    int64_t ran = (int64_t)(fpw_added.time_ps - fpw_added.stall_ps) / (int64_t)fpw_given.clock_ps;

    return fpw_about("loads", cpu, fpw_added.loads, w->loads) &&
           fpw_about("stores", cpu, fpw_added.stores, w->stores) &&
           fpw_about("misses", cpu, fpw_added.miss_local + fpw_added.miss_remote, w->misses) &&
           (w->home < 0 ||
            fpw_about(local ? "remote misses" : "local misses", cpu, elsewhere, 0)) &&
           fpw_about("hits of the external cache", cpu, fpw_added.ec_hit, w->hits) &&
           fpw_about("lines written back", cpu, fpw_added.writeback, w->writebacks) &&
           fpw_within("lines moved", cpu, (int64_t)fpw_moved, (int64_t)w->misses - FPW_SLACK,
                      INT64_MAX) &&
           fpw_within("instructions", cpu, (int64_t)fpw_added.instr,
                      (int64_t)w->instr - 2 * FPW_SLACK,
                      /* a few more if the model published during the reading */
                      (int64_t)w->instr + 2 * FPW_SLACK) &&
           fpw_waited(cpu, w->least_ps, w->most_ps) &&
           fpw_within("clocks", cpu, ran, (int64_t)fpw_added.instr - FPW_SLACK,
                      (int64_t)fpw_added.instr + FPW_SLACK);
}
