// SPDX-License-Identifier: MIT
/*
 * fptest.c - the self-test of the interconnect model: does it count known work correctly on this QEMU?
 *
 * THEORY      The model is a plugin of QEMU and depends on many of QEMU's properties: to which CPU a callback belongs,
 *             how an access is marked as a store, when a CPU's turn ends, and that translated code is thrown away.  If
 *             one of them differs, the model's tables are wrong without any sign of it.  So this program runs before
 *             the model is armed for the first time (fp_arm).  It arms the model, does work whose effect on the
 *             counters and on the clock is known, and rings FP_OP_PROVEN or FP_OP_BROKEN.  The latter ends the run.
 *             The work is done between fpw_begin() and fpw_end(), and fpw_right() compares all counters.  What the two
 *             functions add by themselves was measured before, and is subtracted.
 *             Other threads may run in between and add to the counters.  If one did, the work is repeated.  To make
 *             that rare, the test of root runs in the real-time class.  Any other failure is tried TRIES times: a model
 *             that counts wrongly fails each time.
 *             Every CPU on which this process may run is tested.  If these are not all CPUs, nothing is rung, and the
 *             next program that arms the model tests it again.
 * EXIT        0: the model counts correctly.  1: it does not, and the run ends.  2: there is no model, or there are
 *             arguments.  3: it cannot be tested now: no process can be made, or too many other threads run.  4: it was
 *             not tested, because of parameters outside fpw_limits(), which are printed.
 * SEE ALSO    user/include/fpwork.h, docs/fireplane.md, tests/test_fireplane_selftest.py (which breaks the plugin)
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "fpwork.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    fptest - test whether the interconnect model counts right on this QEMU\n"
    "\n"
    "SYNOPSIS\n"
    "    fptest\n"
    "\n"
    "DESCRIPTION\n"
    "    It does work of which it knows what that must add to the counters, and\n"
    "    how long a CPU waits for it.  The first program that arms the model has\n"
    "    it run before.\n"
    "\n"
    "EXIT STATUS\n"
    "    0 right, 1 wrong (the run ends), 2 no model or a wrong command line, 3\n"
    "    not tested now: too much else runs, 4 not tested: parameters too far off\n"
    "\n"
    "SEE ALSO\n"
    "    fabric, docs/fireplane.md\n";

enum {
    PAGE = 4096,
    /* lines; for what every CPU does, because all CPUs take a turn for each wait for memory */
    FEW = 128,
    SOME = 256,       /* lines; for accesses that do not wait so long */
    WRITE_CACHE = 32, /* lines: FP_WC_LINES of the model */
    TURNS = 2000,     /* of a short loop */
    CHUNK = 200,      /* turns between two readings of other CPUs' clocks */
    SAMPLES = 50,
    MOST_APART = SAMPLES / 5,
    TRIES = 10,
    PATIENCE = 20,   /* seconds; until then tries that were disturbed do not count */
    PREFERRED = 1,   /* MPOL_PREFERRED of set_mempolicy(2) */
    LARGE = 2 << 20, /* bytes of a large page */
    MOST_LARGE = 16, /* large pages */
};

static cpu_set_t cpus; /* on which this process may run */
/* CPUs; other: on another board if there is one, -1: there is only one CPU */
static int first, other = -1;
/* FPW_BYTES that children share, and a page for words between them and the parent */
static char *shared;
static char *memory[FP_MAX_BOARDS]; /* FPW_BYTES on each board; NULL: none found */
static int node[FP_MAX_BOARDS];     /* the system's node number of that memory */
static bool unable;                 /* a failure that is not the model's */
static double began;

/* ---- place and time ---- */

/* Records why the test cannot be done.  Returns false. */
static __attribute__((format(printf, 1, 2))) bool cannot(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(fpw_why, sizeof fpw_why, format, ap);
    va_end(ap);
    unable = true;
    return false;
}

/* Moves to the CPU.  false: a binding or a processor set forbids it. */
static bool may_run_on(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 && sched_getcpu() == cpu;
}

static uint64_t time_on(int cpu)
{
    struct fp_counts now;

    FP_DOORBELL(FP_OP_SYNC);
    fp_read_cpu(cpu, &now);
    return now.time_ps;
}

/*
 * Moves to the CPU, and lets its clock reach the modelled time of the thread.  Linux does not do the latter.  On a CPU
 * whose clock is behind, the thread would work in a time in which it has already worked on the last CPU, and wait for
 * its own transfers of that time.
 */
static bool go_to(int cpu)
{
    uint64_t left = time_on(sched_getcpu()), here;

    if (!may_run_on(cpu))
        return cannot("cannot run on CPU %d any more", cpu);
    here = time_on(cpu);
    if (fp_header()->armed && left > here) /* no clock advances while the model is disarmed */
        /* two instructions in each turn, one clock cycle each */
        fpw_spin((left - here) / fpw_given.clock_ps / 2 + 1);
    return true;
}

/* Arms the model with all of its caches empty. */
static void arm(void)
{
    FP_DOORBELL(FP_OP_DISARM);
    FP_DOORBELL(FP_OP_ARM);
}

/* Changes the meaning of the CPU's virtual addresses, so that level 1 forgets them. */
static void forget_addresses(void)
{
    static char page[PAGE] __attribute__((aligned(PAGE)));

    page[0]++;
    mprotect(page, PAGE, PROT_READ);
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

/* Runs a part of the test on a CPU, several times if it fails.  Returns whether it passed once. */
static bool tried(const char *name, bool (*part)(int cpu), int cpu)
{
    int failed = 0;

    fpw_doing = name;
    while (failed < TRIES) {
        fpw_disturbed = false;
        if (go_to(cpu) && part(cpu))
            return true;
        if (unable)
            return false;
        if (!fpw_disturbed)
            failed++;
        else if (bench_now() > began + PATIENCE)
            return cannot("too many other threads run");
        arm();
        /* what happens once in each slice then happens at another place */
        fpw_delay = (fpw_delay + 97) % 2048 + 1;
    }
    return false;
}

/* ---- parts of the test ---- */

/*
 * FPW_BYTES and one more page of a node (-1: of any).  The address is a multiple of FPW_BYTES, so no two lines have the
 * same place in level 1.  NULL: there is no such node.
 */
static char *new_memory(int from)
{
    unsigned long nodes = from >= 0 ? 1ul << from : 0;
    char *p;

    if (syscall(SYS_set_mempolicy, from >= 0 ? PREFERRED : 0, nodes != 0 ? &nodes : NULL,
                8 * sizeof nodes + 1) != 0 &&
        from >= 0)
        return NULL;
    p = bench_shared(2 * FPW_BYTES + PAGE, false);
    p = (char *)(((uintptr_t)p + FPW_BYTES - 1) / FPW_BYTES * FPW_BYTES);
    memset(p, 0, FPW_BYTES + PAGE);
    return p;
}

static uint64_t misses(void)
{
    return fpw_added.miss_local + fpw_added.miss_remote;
}

/* Measures what fpw_begin() and fpw_end() add: the smallest of several results. */
static bool look(int cpu)
{
    struct fp_counts least = {.time_ps = UINT64_MAX};

    for (int i = 0; i < TRIES; i++) {
        memset(&fpw_looking, 0, sizeof fpw_looking);
        fpw_begin(cpu);
        fpw_end(cpu);
        if (fpw_added.time_ps < least.time_ps)
            least = fpw_added;
    }
    fpw_looking = least;
    return true;
}

/*
 * Finds the memory that is used most: pages that all fit into the external cache.  If the system does not find the
 * colours that it wants, it may return pages that push each other out.  So several areas are tried; parts() fails if
 * none fits.
 */
static bool settle(int cpu)
{
    int board = fpw_board_of(cpu);

    for (int i = 0; i < TRIES; i++) {
        shared = new_memory(memory[board] != NULL ? node[board] : -1);
        fpw_read_lines(shared, FPW_LINES);
        /* a line that was only read stays in level 1 when it leaves the external cache */
        fpw_write_lines(shared);
        fpw_load_pairs(shared, FPW_BYTES);
        fpw_begin(cpu);
        fpw_load_pairs(shared, FPW_BYTES);
        fpw_end(cpu);
        if ((int64_t)misses() < FPW_SLACK / 4)
            break;
    }
    if (memory[board] != NULL)
        memory[board] = shared;
    return true;
}

/* The board of that memory; -1: unknown.  The memory was found for this CPU. */
static int shared_home(int cpu)
{
    return memory[fpw_board_of(cpu)] != NULL ? fpw_board_of(cpu) : -1;
}

/* Reads lines that are in no cache. */
static bool read_new(int cpu, const char *p, int home)
{
    struct fpw_work w = {.instr = 5 * FEW, .loads = FEW, .misses = FEW, .home = home};

    fpw_latency(cpu, home, &w.least_ps, &w.most_ps);
    w.least_ps = FEW * (w.least_ps + fpw_given.ask_ps);
    w.most_ps = FEW * (w.most_ps + fpw_given.ask_ps);
    fpw_begin(cpu);
    fpw_read_lines(p, FEW);
    fpw_end(cpu);
    return fpw_right(cpu, &w);
}

/*
 * Whether a CPU is counted as itself, and on its board.  It reads memory of its own board and of another, which differs
 * between CPUs.
 */
static bool near_and_far(int cpu)
{
    int board = fpw_board_of(cpu), nboards = (int)fp_header()->nboards;
    int far = nboards > 1 ? (board + 1 + cpu % (nboards - 1)) % nboards : board;

    if (memory[board] == NULL)
        return read_new(cpu, shared, -1);
    while (memory[far] == NULL)
        far = (far + 1) % nboards;
    return read_new(cpu, memory[board], board) && (far == board || read_new(cpu, memory[far], far));
}

/* Instructions without accesses. */
static bool clocks(int cpu)
{
    fpw_begin(cpu);
    fpw_spin(10 * TURNS);
    fpw_end(cpu);
    return fpw_right(cpu, &(struct fpw_work){.instr = 20 * TURNS, .home = -1});
}

/* Instructions and accesses in one block of code, all to a line that the CPU owns. */
static bool blocks(int cpu)
{
    static const struct {
        void (*loop)(void *p, size_t turns);
        unsigned instr, loads, stores; /* in each turn of the loop */
    } kinds[] = {
        {fpw_loads, 3, 1, 0}, {fpw_stores, 4, 0, 1},  {fpw_both, 5, 1, 1},
        {fpw_calls, 4, 1, 1}, {fpw_atomics, 3, 1, 1}, {fpw_small, 8, 3, 3},
    };
    bool good = true;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && good; i++) {
        kinds[i].loop(shared, 10);
        fpw_begin(cpu);
        kinds[i].loop(shared, TURNS);
        fpw_end(cpu);
        good = fpw_right(cpu, &(struct fpw_work){.instr = kinds[i].instr * TURNS,
                                                 .loads = kinds[i].loads * TURNS,
                                                 .stores = kinds[i].stores * TURNS,
                                                 .home = -1});
    }
    return good;
}

/*
 * Accesses that QEMU may split, and instructions that are executed repeatedly, to lines that the CPU owns.  A load of
 * 16 bytes counts as two of eight.  Each iteration of a repeated instruction counts as an instruction.
 */
static bool parts(int cpu)
{
    static const struct {
        void (*work)(char *p, size_t length);
        unsigned instr, loads, stores; /* for FPW_BYTES */
    } kinds[] = {
        {fpw_load_pairs, 5 * FPW_BYTES / 32, FPW_BYTES / 8, 0},
        {fpw_store_pairs, 5 * FPW_BYTES / 32, 0, FPW_BYTES / 8},
        {fpw_store_words, FPW_BYTES / 8, 0, FPW_BYTES / 8},
        {fpw_store_bytes, FPW_BYTES, 0, FPW_BYTES},
        {fpw_scan_bytes, FPW_BYTES, FPW_BYTES, 0},
        {fpw_compare_words, FPW_BYTES / 16, FPW_BYTES / 8, 0},
        {fpw_move_half, FPW_BYTES / 16, FPW_BYTES / 16, FPW_BYTES / 16},
    };
    bool good = true;

    fpw_read_lines(shared, FPW_LINES);
    fpw_write_lines(shared);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && good; i++) {
        /* the work since then may have pushed some lines out of level 1 */
        kinds[i].work(shared, FPW_BYTES);
        fpw_begin(cpu);
        kinds[i].work(shared, FPW_BYTES);
        fpw_end(cpu);
        good = fpw_right(cpu, &(struct fpw_work){.instr = kinds[i].instr,
                                                 .loads = kinds[i].loads,
                                                 .stores = kinds[i].stores,
                                                 .home = -1});
    }
    return good;
}

/* Lines that are in the external cache but not in level 1. */
static bool external(int cpu)
{
    uint64_t wait = FPW_LINES * fpw_given.ask_ps;

    fpw_read_lines(shared, FPW_LINES);
    forget_addresses();
    fpw_begin(cpu);
    fpw_read_lines(shared, FPW_LINES);
    fpw_end(cpu);
    return fpw_right(cpu, &(struct fpw_work){.instr = 5 * FPW_LINES,
                                             .loads = FPW_LINES,
                                             .hits = FPW_LINES,
                                             .least_ps = wait,
                                             .most_ps = wait,
                                             .home = -1});
}

/*
 * Stores of whole lines, which are not read before.  The waits depend on the time of the instructions and on the number
 * of transfers that can be in flight.
 */
static bool whole_lines(int cpu)
{
    static const struct {
        void (*store)(char *p, size_t length);
        unsigned instr, stores; /* for FPW_BYTES */
    } kinds[] = {{fpw_store_words, FPW_BYTES / 8, FPW_BYTES / 8},
                 {fpw_store_pairs, 5 * FPW_BYTES / 32, FPW_BYTES / 8}};
    bool good = true;
    int home = shared_home(cpu);
    uint64_t least, most, flights = fpw_given.misses, lines = fpw_given.queue / (FPW_LINE / 8);

    /* stores leave the queue in order: it holds words, so no more lines are in flight than it has room for */
    if (fpw_given.reads)
        flights = lines < 1 ? 1 : lines < fpw_given.stores ? lines : fpw_given.stores;
    fpw_latency(cpu, home, &least, &most);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && good; i++) {
        struct fpw_work w = {
            .instr = kinds[i].instr, .stores = kinds[i].stores, .misses = FPW_LINES, .home = home};
        uint64_t busy = w.instr * fpw_given.clock_ps, all = (FPW_LINES / flights - 1) * least;

        w.writebacks = fpw_given.reads ? 0 : FPW_LINES;
        w.least_ps = all > busy ? all - busy : 0;
        w.most_ps = FPW_LINES * most / flights + FPW_BYTES * 1000000ull / fpw_given.rate;
        arm();
        fpw_begin(cpu);
        kinds[i].store(shared, FPW_BYTES);
        fpw_end(cpu);
        good = fpw_right(cpu, &w);
    }
    return good;
}

/*
 * Changed lines go back to memory when other lines take their places.  The pages, one more than the cache has ways,
 * have lines of the same sets.  They are parts of large pages, which are contiguous in physical memory.
 */
static bool written_back(int cpu)
{
    uint64_t ways = fp_header()->ecache_ways, way = fp_header()->ecache_bytes / ways,
             step = way < LARGE ? way : LARGE;
    uint64_t pages = ways * (way / step) + 1, length = (pages * step + LARGE - 1) / LARGE * LARGE;
    char *p = MAP_FAILED;
    bool good;

    if (way >= PAGE && length <= MOST_LARGE * LARGE)
        p = mmap(NULL, length, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << 26, -1, 0);
    if (p == MAP_FAILED) /* there may be no large pages */
        return true;
    for (uint64_t at = 0; at < length; at += LARGE)
        p[at] = 0;
    arm();
    fpw_begin(cpu);
    for (uint64_t i = 0; i < pages; i++)
        for (uint64_t at = i * step; at < i * step + PAGE; at += FPW_LINE)
            (*(volatile char *)&p[at])++;
    fpw_end(cpu);
    good = fpw_about("misses", cpu, misses(), pages * PAGE / FPW_LINE) &&
           fpw_within("lines written back", cpu, (int64_t)fpw_added.writeback, PAGE / FPW_LINE,
                      (int64_t)misses()) &&
           fpw_within("lines moved", cpu, (int64_t)fpw_moved,
                      (int64_t)(misses() + fpw_added.writeback) - FPW_SLACK, INT64_MAX);
    munmap(p, length);
    return good;
}

/* A child has other memory at the same addresses, so what the CPU remembers of them must be forgotten. */
static bool spaces(int cpu)
{
    static char mine[SOME * FPW_LINE] __attribute__((aligned(PAGE)));
    struct {
        char why[sizeof fpw_why];
        bool disturbed;
    } *said = (void *)(shared + FPW_BYTES);
    bool good;
    int status;
    pid_t pid;

    for (size_t at = 0; at < sizeof mine; at += PAGE)
        mine[at] = 1;
    fpw_read_lines(mine, SOME);
    if ((pid = fork()) == 0) {
        for (size_t at = 0; at < sizeof mine; at += PAGE)
            mine[at] = 2;
        fpw_begin(cpu);
        fpw_read_lines(mine, SOME);
        fpw_end(cpu);
        good = fpw_within("references after a change of address space", cpu,
                          (int64_t)fpw_added.ec_ref, SOME - 2 * FPW_SLACK, SOME + 2 * FPW_SLACK);
        memcpy(said->why, fpw_why, sizeof fpw_why);
        said->disturbed = fpw_disturbed;
        _exit(good ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return cannot("fork: %s", strerror(errno));
    memcpy(fpw_why, said->why, sizeof fpw_why);
    fpw_disturbed |= said->disturbed;
    return status == 0;
}

/*
 * Lines that another CPU has changed come from its cache, once.  A CPU must own a line to change it, and gets the lines
 * one after the other.
 */
static bool changed(int cpu)
{
    int home = shared_home(cpu), from = home < 0 ? -1 : fpw_board_of(other);
    uint64_t own = fpw_given.reads ? FPW_LINES : FPW_LINES - WRITE_CACHE, least, most, far_least,
             far_most;
    struct fpw_work w = {
        .instr = 5 * FPW_LINES, .loads = FPW_LINES, .misses = FPW_LINES, .home = home};

    arm();
    if (!go_to(other))
        return false;
    fpw_write_lines(shared);
    if (!go_to(cpu))
        return false;
    fpw_latency(cpu, home, &least, &most);
    fpw_latency(cpu, from, &far_least, &far_most);
    w.least_ps = FPW_LINES * fpw_given.ask_ps + own * far_least + (FPW_LINES - own) * least;
    w.most_ps = FPW_LINES * fpw_given.ask_ps + own * far_most + (FPW_LINES - own) * most;
    fpw_begin(cpu);
    fpw_read_lines(shared, FPW_LINES);
    fpw_end(cpu);
    if (!fpw_right(cpu, &w))
        return false;
    fpw_read_lines(shared, FPW_LINES);
    fpw_begin(cpu);
    fpw_read_lines(shared, FPW_LINES);
    fpw_end(cpu);
    if (!fpw_right(cpu,
                   &(struct fpw_work){.instr = 5 * FPW_LINES, .loads = FPW_LINES, .home = home}))
        return false;
    fpw_begin(cpu);
    fpw_write_lines(shared);
    fpw_end(cpu);
    /* at the end, the last lines may still be in the write cache: the CPU has not asked for them yet */
    own -= WRITE_CACHE;
    if (!fpw_about("stores", cpu, fpw_added.stores, FPW_LINES) ||
        !fpw_about("misses", cpu, misses(), 0) ||
        !fpw_waited(cpu, (own / fpw_given.stores - 1) * least - 4 * FPW_LINES * fpw_given.clock_ps,
                    FPW_LINES / fpw_given.stores * most) ||
        !go_to(other))
        return false;
    fpw_begin(other);
    fpw_read_lines(shared, FPW_LINES);
    fpw_end(other);
    return fpw_about("loads", other, fpw_added.loads, FPW_LINES) &&
           fpw_about("misses", other, misses(), FPW_LINES) &&
           (from == home || fpw_about("local misses", other, fpw_added.miss_local, 0));
}

/* Children that all do the same work, each on a CPU of its own. */
struct company {
    int start[2];       /* a pipe; each child reads one byte and begins */
    _Atomic int *there; /* children that have reached the pipe, plus children that have begun */
    int n;
    pid_t pid[FP_MAX_CPUS];
};

static void compute(void)
{
    fpw_spin(CHUNK);
    FP_DOORBELL(FP_OP_SYNC);
}

static void rest(void)
{
    fpw_rest(CHUNK);
}

_Noreturn static void keep_company(const struct company *c, int cpu, void (*work)(void))
{
    char byte;

    if (!go_to(cpu) || atomic_fetch_add(c->there, 1) < 0 || read(c->start[0], &byte, 1) != 1)
        _exit(1);
    atomic_fetch_add(c->there, 1);
    for (;;)
        work();
}

/* Waits until the count is `wanted`.  false: a child has ended. */
static bool all_there(const struct company *c, int wanted)
{
    while (atomic_load(c->there) < wanted) {
        if (waitpid(-1, NULL, WNOHANG) != 0)
            return false;
        sched_yield();
    }
    return true;
}

/*
 * Makes a child on each CPU except `ours`.  They begin when all exist, because making a process takes long while others
 * compute.
 */
static bool gather(struct company *c, int ours, void (*work)(void))
{
    static const char bytes[FP_MAX_CPUS];

    c->n = 0;
    c->there = (_Atomic int *)(shared + FPW_BYTES);
    atomic_store(c->there, 0);
    if (pipe(c->start) != 0)
        return false;
    for (int cpu = 0; cpu < (int)fp_header()->ncpus; cpu++) {
        if (cpu == ours || !CPU_ISSET(cpu, &cpus))
            continue;
        if ((c->pid[c->n] = fork()) == 0)
            keep_company(c, cpu, work);
        if (c->pid[c->n] < 0)
            return false;
        c->n++;
    }
    return all_there(c, c->n) && write(c->start[1], bytes, (size_t)c->n) == c->n &&
           all_there(c, 2 * c->n);
}

static void dismiss(const struct company *c)
{
    for (int i = 0; i < c->n; i++)
        kill(c->pid[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    close(c->start[0]);
    close(c->start[1]);
}

/*
 * Samples the clocks: at how many moments each CPU was active, and at how many of these it was apart from the slowest.
 */
static void watch(unsigned active[FP_MAX_CPUS], unsigned apart[FP_MAX_CPUS])
{
    int ncpus = (int)fp_header()->ncpus;
    /* Time goes on while the clocks are read one after the other. */
    uint64_t most =
        fp_header()->skew_ps + (16ull * CHUNK + 32ull * (unsigned)ncpus) * fpw_given.clock_ps;
    bool good = true;

    for (int i = 0; i < SAMPLES && good; i++) {
        uint64_t at[FP_MAX_CPUS], slowest = UINT64_MAX;

        fpw_spin(CHUNK);
        FP_DOORBELL(FP_OP_SYNC);
        for (int cpu = 0; cpu < ncpus; cpu++) {
            const volatile struct fp_cpu *c = FP_CPU(fp_header(), cpu);

            at[cpu] = CPU_ISSET(cpu, &cpus) && c->active ? c->counts.time_ps : UINT64_MAX;
            slowest = at[cpu] < slowest ? at[cpu] : slowest;
        }
        for (int cpu = 0; cpu < ncpus; cpu++)
            if (at[cpu] != UINT64_MAX) {
                active[cpu]++;
                apart[cpu] += at[cpu] - slowest > most;
                /* without this the test would take long: the others advance by one skew in a turn */
                good &= apart[cpu] <= MOST_APART;
            }
    }
}

/* Runs `work` on all CPUs except `cpu`.  Each must be active at `least` to `most` of SAMPLES moments. */
static bool together(int cpu, void (*work)(void), int least, int most)
{
    unsigned active[FP_MAX_CPUS] = {0}, apart[FP_MAX_CPUS] = {0};
    struct company company;
    bool good = gather(&company, cpu, work);

    if (good)
        watch(active, apart);
    else
        cannot("cannot make a process for each CPU: %s", strerror(errno));
    dismiss(&company);
    for (int i = 0; i < (int)fp_header()->ncpus && good; i++)
        if (CPU_ISSET(i, &cpus) && i != cpu)
            good = fpw_within("moments at which clocks were apart", i, apart[i], 0, MOST_APART);
    for (int i = 0; i < (int)fp_header()->ncpus && good; i++)
        if (CPU_ISSET(i, &cpus) && i != cpu)
            good = fpw_within("moments at which it computed", i, active[i], least, most);
    return good;
}

/* CPUs that compute stay together: each ends its turn when it is the skew ahead of the slowest. */
static bool slices(int cpu)
{
    return together(cpu, compute, SAMPLES / 2, SAMPLES);
}

/* CPUs that execute pause wait, and no longer hold the other clocks back. */
static bool pauses(int cpu)
{
    return together(cpu, rest, 0, SAMPLES / 4);
}

/* Runs all parts. */
static bool test(void)
{
    static const struct {
        const char *name;
        bool (*part)(int cpu);
        bool two; /* the part needs a second CPU */
    } parts_of[] = {
        {"clocks", clocks, false},
        {"blocks", blocks, false},
        {"parts", parts, false},
        {"external", external, false},
        {"whole_lines", whole_lines, false},
        {"written_back", written_back, false},
        {"changed", changed, true},
        {"slices", slices, true},
        {"pauses", pauses, true},
    };

    arm();
    if (!tried("look", look, first) || !tried("settle", settle, first))
        return false;
    arm();
    for (int cpu = 0; cpu < (int)fp_header()->ncpus; cpu++)
        if (CPU_ISSET(cpu, &cpus) &&
            (!tried("near_and_far", near_and_far, cpu) || !tried("spaces", spaces, cpu)))
            return false;
    for (size_t i = 0; i < sizeof parts_of / sizeof parts_of[0]; i++)
        if ((other >= 0 || !parts_of[i].two) && !tried(parts_of[i].name, parts_of[i].part, first))
            return false;
    return true;
}

/* ---- preparation ---- */

/* Chooses the first CPU on which this process may run, and a second one, of another board if there is one. */
static void choose(void)
{
    int board = -1;

    for (int cpu = 0; cpu < (int)fp_header()->ncpus; cpu++) {
        if (!CPU_ISSET(cpu, &cpus))
            continue;
        if (board < 0) {
            first = cpu;
            board = fpw_board_of(cpu);
        } else if (other < 0 || (fpw_board_of(other) == board && fpw_board_of(cpu) != board)) {
            other = cpu;
        }
    }
}

static bool all_here(char *p)
{
    for (size_t at = 0; at < FPW_BYTES; at += PAGE)
        if (!bench_here(p + at))
            return false;
    return true;
}

/* Finds memory of each board; of none if the system does not distinguish boards, as with mpo_enable=0. */
static void find_memory(void)
{
    char *of[FP_MAX_BOARDS];
    int n_nodes = 0, board_with[FP_MAX_BOARDS];

    while (n_nodes < FP_MAX_BOARDS && (of[n_nodes] = new_memory(n_nodes)) != NULL)
        board_with[n_nodes++] = -1;
    for (int cpu = 0; cpu < (int)fp_header()->ncpus; cpu++) {
        int board = fpw_board_of(cpu);

        if (!CPU_ISSET(cpu, &cpus) || memory[board] != NULL || !go_to(cpu))
            continue;
        for (int i = 0; i < n_nodes && memory[board] == NULL; i++)
            if (all_here(of[i])) {
                if (board_with[i] >= 0) {
                    memset(memory, 0, sizeof memory);
                    return;
                }
                board_with[i] = board;
                node[board] = i;
                memory[board] = of[i];
            }
    }
}

int main(int argc, char **argv)
{
    bool good;

    hr_help(argv, help);
    (void)argv;
    if (argc > 1)
        bench_die("takes no arguments");
    if (fp_open() != 0)
        bench_die("no model: start the machine with MODEL=fireplane");
    fpw_read_params();
    if (!fpw_limits()) {
        fprintf(stderr, "fptest: the model is not tested with these parameters: %s\n", fpw_why);
        return FPTEST_UNFIT;
    }
    /* root may do so; the function of musl does nothing */
    syscall(SYS_sched_setscheduler, 0, SCHED_RR, &(int){1});
    CPU_ZERO(&cpus);
    for (uint32_t cpu = 0; cpu < fp_header()->ncpus; cpu++)
        if (may_run_on((int)cpu))
            CPU_SET(cpu, &cpus);
    began = bench_now();
    choose();
    find_memory();
    good = test();
    FP_DOORBELL(FP_OP_DISARM);
    if (unable) {
        fprintf(stderr, "fptest: the model cannot be tested now: %s\n", fpw_why);
        return 3;
    }
    if (!good) {
        fprintf(stderr, "fptest: the interconnect model counts wrong: %s\n", fpw_why);
        FP_DOORBELL(FP_OP_BROKEN);
        return 1;
    }
    if (CPU_COUNT(&cpus) == (int)fp_header()->ncpus)
        FP_DOORBELL(FP_OP_PROVEN);
    return 0;
}
