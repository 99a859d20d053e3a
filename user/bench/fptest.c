// SPDX-License-Identifier: MIT
/*
 * fptest.c - the interconnect model's self-test: does it count known work right on this QEMU?
 *
 * THEORY      The model lives in a plugin of QEMU and depends on much of it: which CPU a callback is of, what says that
 *             an access is a store, when a CPU's turn ends, that translated code is thrown away.  What is wrong there
 *             makes tables that look like tables.  So before the model is armed for the first time (fp_arm) this
 *             program runs: it arms the model, makes accesses of which it knows what they must add to the
 *             counters, and rings FP_OP_PROVEN or FP_OP_BROKEN; the latter ends the run.
 *             Another CPU's part is a child process, bound there, that works on the same shared memory.
 *             Other threads may run in between and add to the counters, so what fails is tried again, TRIES times;
 *             a model that counts wrong does so each time.
 * EXIT        0: proven.  1: broken, and the run ends.  2: there is no model.
 * SEE ALSO    docs/fireplane.md, tests/test_fireplane_selftest.py (which breaks the plugin)
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum {
    LINES = 512, /* of a piece of memory: it fits into the model's level 1 */
    LINE = 64,   /* bytes: FP_LINE_BYTES of the model */
    BYTES = LINES * LINE,
    SLACK = 96,    /* accesses and misses of what is done around the measured ones */
    TURNS = 50000, /* of a loop of two instructions */
    CHUNK = 200,   /* turns between two looks at another CPU's clock */
    SAMPLES = 500,
    TRIES = 10,
};

static int first, other = -1;   /* CPUs; other: on another board if there is one, -1: we have only one CPU */
static struct fp_counts before; /* at begin() */
static char *shared;            /* BYTES, which children have as well, and a page for words between us */
static int home = -1;           /* the board whose memory it is; -1: unknown */
static char why[160];           /* what the last thing wrong was */

/* ---- work that is known ---- */

static void read_lines(const char *p)
{
    unsigned n = LINES;
    uint64_t word;

    __asm__ volatile("1: mov (%0), %2\n\t add %3, %0\n\t dec %1\n\t jnz 1b"
                     : "+r"(p), "+r"(n), "=&r"(word) : "i"(LINE) : "memory");
}

static void write_lines(char *p)
{
    unsigned n = LINES;

    __asm__ volatile("1: mov %0, (%0)\n\t add %2, %0\n\t dec %1\n\t jnz 1b" : "+r"(p), "+r"(n) : "i"(LINE) : "memory");
}

static void spin(unsigned turns)
{
    __asm__ volatile("1: dec %0\n\t jnz 1b" : "+r"(turns));
}

/* ---- what was counted ---- */

static void begin(int cpu)
{
    fp_read_cpu(cpu, &before);
}

static struct fp_counts counted(int cpu)
{
    struct fp_counts now;

    fp_read_cpu(cpu, &now);
    now.time_ps -= before.time_ps;
    now.instr -= before.instr;
    now.loads -= before.loads;
    now.stores -= before.stores;
    now.ec_ref -= before.ec_ref;
    now.miss_local -= before.miss_local;
    now.miss_remote -= before.miss_remote;
    return now;
}

static bool within(const char *what, int cpu, uint64_t n, uint64_t least, uint64_t most)
{
    if (n >= least && n <= most)
        return true;
    snprintf(why, sizeof why, "CPU %d: %s: %lld counted, %llu to %llu expected", cpu, what, (long long)n,
             (unsigned long long)least, (unsigned long long)most);
    return false;
}

/* The accesses of one pass over a piece of memory, loads or stores. */
static bool accesses(int cpu, const struct fp_counts *n, bool stores)
{
    return within("loads", cpu, n->loads, stores ? 0 : LINES, (stores ? 0 : LINES) + SLACK) &&
           within("stores", cpu, n->stores, stores ? LINES : 0, (stores ? LINES : 0) + SLACK);
}

/* The same, and how many of them missed. */
static bool passed(int cpu, const struct fp_counts *n, bool stores, uint64_t misses)
{
    return accesses(cpu, n, stores) && within("misses", cpu, n->miss_local + n->miss_remote, misses, misses + SLACK);
}

/* ---- where ---- */

static int board_of(int cpu)
{
    return (int)FP_CPU(fp_header(), cpu)->board;
}

static bool go_to(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) == 0 && sched_getcpu() == cpu)
        return true;
    snprintf(why, sizeof why, "cannot run on CPU %d", cpu);
    return false;
}

/* Runs part(cpu) in a child on that CPU; its words about what was wrong come back through shared memory. */
static bool elsewhere(int cpu, bool (*part)(int cpu))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        bool good = go_to(cpu) && part(cpu);

        memcpy(shared + BYTES, why, sizeof why);
        _exit(good ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        snprintf(why, sizeof why, "no second process: %s", strerror(errno));
        return false;
    }
    memcpy(why, shared + BYTES, sizeof why);
    return status == 0;
}

/* ---- what is tested ---- */

/* Is a CPU the CPU that it is, in the counters?  Loads are no stores. */
static bool read_here(int cpu)
{
    struct fp_counts n;

    begin(cpu);
    read_lines(shared);
    n = counted(cpu);
    return accesses(cpu, &n, false);
}

static bool write_here(int cpu)
{
    struct fp_counts n;

    begin(cpu);
    write_lines(shared);
    n = counted(cpu);
    return accesses(cpu, &n, true);
}

/* Lines that another CPU has changed miss once, and the boards tell which kind of miss it is. */
static bool read_changed(int cpu)
{
    struct fp_counts n;
    bool local = board_of(cpu) == home;

    begin(cpu);
    read_lines(shared);
    n = counted(cpu);
    if (!passed(cpu, &n, false, LINES))
        return false;
    return home < 0 ||
           within(local ? "remote misses" : "local misses", cpu, local ? n.miss_remote : n.miss_local, 0, SLACK);
}

static bool lines(void)
{
    struct fp_counts n;

    if (!elsewhere(other, write_here) || !read_changed(first))
        return false;
    begin(first);
    read_lines(shared);
    n = counted(first);
    if (!passed(first, &n, false, 0))
        return false;
    begin(first);
    write_lines(shared);
    n = counted(first);
    return passed(first, &n, true, 0) && elsewhere(other, read_changed);
}

/* A child has other memory at the same addresses: what was remembered of them is forgotten. */
static bool spaces(void)
{
    static char mine[BYTES] __attribute__((aligned(4096)));
    bool good;
    int status;
    pid_t pid;

    for (size_t at = 0; at < BYTES; at += 4096)
        mine[at] = 1;
    read_lines(mine);
    if ((pid = fork()) == 0) {
        for (size_t at = 0; at < BYTES; at += 4096)
            mine[at] = 2;
        begin(first);
        read_lines(mine);
        before.ec_ref = counted(first).ec_ref;
        good = within("references after a change of address space", first, before.ec_ref, LINES - SLACK, LINES + SLACK);
        memcpy(shared + BYTES, why, sizeof why);
        _exit(good ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return false;
    memcpy(why, shared + BYTES, sizeof why);
    return status == 0;
}

/* A load of 16 bytes is two of eight, whatever QEMU makes of it. */
static bool halves(void)
{
    char *p = shared;
    size_t n = LINES;
    uint64_t loads;

    begin(first);
    __asm__ volatile("1: movups (%0), %%xmm0\n\t add %2, %0\n\t dec %1\n\t jnz 1b"
                     : "+r"(p), "+r"(n) : "i"(LINE) : "xmm0", "memory");
    loads = counted(first).loads;
    return within("halves of loads of 16 bytes", first, loads, 2 * LINES, 2 * LINES + SLACK);
}

/* Instructions take their time. */
static bool clocks(void)
{
    uint64_t ps = fp_header()->clock_ps;
    struct fp_counts n;

    begin(first);
    spin(TURNS);
    n = counted(first);
    return within("instructions", first, n.instr, 2 * TURNS, 2 * TURNS + 4000) &&
           within("clocks", first, n.time_ps / ps, 2 * TURNS, 2 * TURNS * 3 / 2);
}

/* Two CPUs that compute keep together: each ends its turn when it is the skew ahead. */
static bool slices(void)
{
    const volatile uint64_t *others = &FP_CPU(fp_header(), other)->counts.time_ps;
    _Atomic int *state = (_Atomic int *)(shared + BYTES); /* 1: the child computes */
    uint64_t most = fp_header()->skew_ps + 16ull * CHUNK * fp_header()->clock_ps;
    int apart = 0;
    pid_t pid;

    atomic_store(state, 0);
    if ((pid = fork()) == 0) {
        if (!go_to(other))
            _exit(1);
        atomic_store(state, 1);
        for (;;) {
            spin(CHUNK);
            FP_DOORBELL(FP_OP_SYNC);
        }
    }
    if (pid < 0)
        return false;
    while (atomic_load(state) == 0 && waitpid(pid, NULL, WNOHANG) == 0)
        sched_yield();
    for (int i = 0; i < SAMPLES; i++) {
        struct fp_counts mine;
        uint64_t theirs;

        spin(CHUNK);
        fp_read_cpu(first, &mine);
        theirs = *others;
        apart += (mine.time_ps > theirs ? mine.time_ps - theirs : theirs - mine.time_ps) > most;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return within("moments at which two clocks were apart", first, (uint64_t)apart, 0, SAMPLES / 5);
}

/* Everything once. */
static bool test(const cpu_set_t *cpus)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, cpus) && (!go_to(cpu) || !read_here(cpu)))
            return false;
    return go_to(first) && halves() && clocks() && spaces() && (other < 0 || (lines() && slices()));
}

/* The first CPU that we may run on, and one more: of another board, if there is one. */
static void choose(const cpu_set_t *cpus)
{
    int board = -1;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, cpus))
            continue;
        if (board < 0) {
            first = cpu;
            board = board_of(cpu);
        } else if (other < 0 || (board_of(other) == board && board_of(cpu) != board)) {
            other = cpu;
        }
    }
}

/*
 * Which of two boards the memory is on, if the system tells them apart: with mpo_enable=0 both are one lgroup.
 */
static void find_home(void)
{
    bool here, there;

    if (other < 0 || board_of(other) == board_of(first))
        return;
    there = go_to(other) && bench_here(shared);
    here = go_to(first) && bench_here(shared);
    if (here != there)
        home = board_of(here ? first : other);
}

int main(void)
{
    cpu_set_t cpus;
    bool good = false;

    if (fp_open() != 0)
        bench_die("no model: start the machine with MODEL=fireplane");
    CPU_ZERO(&cpus);
    for (uint32_t cpu = 0; cpu < fp_header()->ncpus; cpu++)
        if (go_to((int)cpu)) /* a binding or a processor set may forbid it */
            CPU_SET(cpu, &cpus);
    choose(&cpus);
    shared = bench_shared(BYTES + 4096, false);
    memset(shared, 0, BYTES + 4096);
    find_home();
    for (int i = 0; i < TRIES && !good; i++) {
        FP_DOORBELL(FP_OP_ARM);
        good = test(&cpus);
        FP_DOORBELL(FP_OP_DISARM);
    }
    if (!good) {
        fprintf(stderr, "fptest: the interconnect model counts wrong: %s\n", why);
        FP_DOORBELL(FP_OP_BROKEN);
        return 1;
    }
    FP_DOORBELL(FP_OP_PROVEN);
    return 0;
}
