// SPDX-License-Identifier: MIT
/*
 * jvm.c - threads that allocate from one garbage-collected heap: a workload that placement cannot help.
 *
 * THEORY      The MPO white paper's Java test on 72 CPUs showed no "significant improvement".  The heap of the virtual
 *             machines of that time explains this.  All threads allocate from one young generation.  When a thread's
 *             buffer is full, it takes the next buffer of 16 KiB.  So after the first round the pages of a buffer lie
 *             near the thread that happened to take it first, but in later rounds other threads take it: first touch
 *             puts the memory no nearer than chance does.  When the young generation is full, all threads stop, and one
 *             thread collects: it copies all referenced objects (the last objects of each thread) to the old
 *             generation, which therefore lies where the collector runs.  Threads also read old objects of all threads.
 *             Objects have 4 to 35 words of 8 bytes: a header, and fields with values that the header determines.
 *             Between allocations a thread reads one live object: its own, or, one time in four, that of another
 *             thread.
 * INVARIANTS  I1  an object belongs to one thread, and only its owner and the collector change references to it
 *             I2  the collector runs while all threads wait at the barrier
 *             I3  the sum of the sizes of live and dead objects is what the threads allocated
 * SEE ALSO    docs/benchmarks.md
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

#define BUFFER_WORDS 2048u /* 16 KiB, which a thread takes from the young generation at a time */
#define MIN_WORDS    4u
#define MORE_WORDS   32u /* object sizes are MIN_WORDS .. MIN_WORDS + MORE_WORDS - 1 */
#define ROOTS        64u /* live objects of each thread */

/* An object's header: its size in words, and a value that determines its fields. */
struct object {
    uint64_t words, value;
    uint64_t field[];
};

/* The state of one thread, on lines of its own. */
struct mutator {
    _Alignas(64) struct object *root[ROOTS];
    uint64_t *at, *end; /* its buffer */
    uint64_t random, allocated, objects, read, bad;
};

static int nthreads, rounds = 12, warm = 2, young_kib;
static bool bind_threads;
static uint64_t *young, *old;
static size_t young_words, old_words;
/* in words; may exceed young_words: threads that find no room have added to it */
static _Atomic size_t young_used;
static size_t old_used;
static struct mutator *mutator;
static uint64_t copied;

static const char help[] HR_MANUAL =
    "NAME\n"
    "    jvm - threads that allocate from one garbage-collected heap\n"
    "\n"
    "SYNOPSIS\n"
    "    jvm [-t threads] [-y KiB] [-i rounds] [-b]\n"
    "\n"
    "DESCRIPTION\n"
    "    Threads take buffers from one young generation in any order.  When it is\n"
    "    full one thread copies the live objects.  First touch does not help here.\n"
    "\n"
    "OPTIONS\n"
    "    -b            bind thread i to the i-th CPU, and begin again after the\n"
    "                  last\n"
    "    -i rounds     measured rounds; each ends with a collection (12)\n"
    "    -t threads    threads (one for each CPU)\n"
    "    -y KiB        size of the young generation (512 for each thread)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 ok, 1 FAILED, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    oltp, docs/benchmarks.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

/* Takes a new buffer.  Returns 0; -1 if the young generation is full. */
static int take_buffer(struct mutator *m)
{
    size_t at = atomic_fetch_add(&young_used, BUFFER_WORDS);

    if (at + BUFFER_WORDS > young_words)
        return -1;
    m->at = young + at;
    m->end = m->at + BUFFER_WORDS;
    return 0;
}

/* Allocates and fills an object.  NULL: the young generation is full. */
static struct object *allocate(struct mutator *m)
{
    uint64_t draw = bench_random(&m->random) >> 16, words = MIN_WORDS + draw % MORE_WORDS;
    struct object *o;

    if ((m->at == NULL || m->at + words > m->end) && take_buffer(m) != 0)
        return NULL;
    o = (struct object *)m->at;
    m->at += words;
    o->words = words;
    o->value = draw;
    for (uint64_t i = 0; i < words - 2; i++)
        o->field[i] = draw + i;
    m->allocated += words;
    m->objects++;
    return o;
}

/* Returns 0; 1 if a field has a wrong value. */
static unsigned check_object(const struct object *o)
{
    for (uint64_t i = 0; i < o->words - 2; i++)
        if (o->field[i] != o->value + i)
            return 1;
    return 0;
}

/* Allocates and reads until the young generation is full. */
static void mutate(int self)
{
    struct mutator *m = &mutator[self];
    struct object *o;

    m->at = NULL;
    while ((o = allocate(m)) != NULL) {
        uint64_t draw = bench_random(&m->random) >> 16;
        struct mutator *other = draw % 4 == 0 ? &mutator[(draw >> 2) % (unsigned)nthreads] : m;
        struct object *read = __atomic_load_n(&other->root[(draw >> 20) % ROOTS], __ATOMIC_ACQUIRE);

        if (read != NULL) {
            m->bad += check_object(read);
            m->read++;
        }
        __atomic_store_n(&m->root[(draw >> 40) % ROOTS], o, __ATOMIC_RELEASE);
    }
}

/* Copies all live objects to the old generation.  That is a ring, four times as large as the live objects can be. */
static void collect(void)
{
    for (int t = 0; t < nthreads; t++) {
        for (unsigned i = 0; i < ROOTS; i++) {
            struct object *from = mutator[t].root[i], *to;

            if (from == NULL)
                continue;
            if (old_used + from->words > old_words)
                old_used = 0;
            to = (struct object *)(old + old_used);
            for (uint64_t w = 0, n = from->words; w < n; w++)
                ((volatile uint64_t *)to)[w] = ((uint64_t *)from)[w];
            old_used += to->words;
            mutator[t].root[i] = to;
            copied += to->words;
        }
    }
    atomic_store(&young_used, 0);
}

static void round_of(int self)
{
    mutate(self);
    bench_barrier();
    if (self == 0)
        collect();
    bench_barrier();
}

static void work(int self)
{
    mutator[self].random = bench_seed(1, (uint64_t)self);
    bench_barrier();
    /* with the model threads take turns as on the machine; this part is not reported */
    bench_start(self);
    for (int i = 0; i < warm; i++)
        round_of(self);
    bench_stop(self);
    bench_start(self);
    for (int i = 0; i < rounds; i++)
        round_of(self);
    bench_stop(self);
}

int main(int argc, char **argv)
{
    const struct bench_measure *m;
    uint64_t allocated = 0, objects = 0, read = 0, bad = 0;
    size_t unused;
    int opt;

    hr_help(argv, help);
    bench_init();
    while ((opt = getopt(argc, argv, "t:y:i:b")) != -1) {
        if (opt == 't')
            nthreads = bench_int(optarg, 1, BENCH_MAX, "threads");
        else if (opt == 'y')
            young_kib = bench_int(optarg, 64, 1 << 20, "KiB");
        else if (opt == 'i')
            rounds = bench_int(optarg, 1, 100000, "rounds");
        else if (opt == 'b')
            bind_threads = true;
        else
            usage();
    }
    if (optind != argc)
        usage();
    if (nthreads == 0)
        nthreads = bench_cpus();
    if (young_kib == 0)
        young_kib = 512 * nthreads;
    m = bench_measured();
    young_words = (size_t)young_kib * 1024 / sizeof(uint64_t);
    young_words -= young_words % BUFFER_WORDS;
    old_words = 4 * (size_t)nthreads * ROOTS * (MIN_WORDS + MORE_WORDS);
    young = bench_map(young_words * sizeof(uint64_t), 4096, BENCH_FIRST);
    old = bench_map(old_words * sizeof(uint64_t), 4096, BENCH_FIRST);
    mutator = bench_map((size_t)nthreads * sizeof *mutator, 4096, BENCH_FIRST);
    printf("%d threads, young generation of %d KiB, %d rounds\n", nthreads, young_kib, rounds);
    bench_threads(nthreads, work, bind_threads);
    for (int t = 0; t < nthreads; t++) {
        allocated += mutator[t].allocated;
        objects += mutator[t].objects;
        read += mutator[t].read;
        bad += mutator[t].bad;
        for (unsigned i = 0; i < ROOTS; i++)
            bad += mutator[t].root[i] != NULL && check_object(mutator[t].root[i]);
    }
    /* I3: only the ends of buffers, smaller than the largest object, are not allocated. */
    unused =
        (young_words * sizeof(uint64_t)) * (size_t)(rounds + warm) - allocated * sizeof(uint64_t);
    if (unused > young_words / BUFFER_WORDS * (size_t)(rounds + warm) * (MIN_WORDS + MORE_WORDS) *
                     sizeof(uint64_t))
        bad++;
    printf("%lu objects, %lu read, %lu words copied by the collector\n", objects, read, copied);
    if (m->model)
        printf("modelled: %.0f objects a second\n",
               (double)objects * rounds / (rounds + warm) / m->modelled_s);
    printf("result: bench=jvm threads=%d rounds=%d objects=%lu", nthreads, rounds, objects);
    if (m->model)
        printf(" modelled_objects_per_s=%.1f",
               (double)objects * rounds / (rounds + warm) / m->modelled_s);
    bench_result_end();
    if (bad != 0)
        printf("jvm: %lu objects with wrong fields, or memory lost\n", bad);
    printf("%s\n", bad ? "FAILED" : "ok");
    return bad != 0;
}
