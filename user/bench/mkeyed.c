// SPDX-License-Identifier: MIT
/*
 * mkeyed.c - a keyed file with nine indexes that grows past memory: what inserting costs from batch to batch.
 *
 * THEORY      One file of 4 KiB pages, taken in order: the header, pages of four records, and the nodes of nine B-trees.
 *             The program reads and writes pages by read and write calls, one write for each node that changes, and
 *             keeps in memory, for each tree, only the nodes on the way to the place it was at last.  What is kept
 *             beyond that is the system's page cache.  A full node is split into halves; leaves are chained.
 *             Batch b inserts the records (b-1)N+1 .. bN.  A record has a key for each index.  Usually the keys of a batch
 *             are the numbers (b-1)N+1 .. bN too, in an order of its own for each index.  All are larger than those
 *             before, so a batch works at the right edge of each tree: on N keys' leaves, however large the tree is.
 *             With -u the keys are 1 .. (batches * N) in one such order: every leaf of the tree is as likely as any
 *             other, so the pages that are wanted again soon are the whole tree, and once it has outgrown memory
 *             a growing part of the insertions has to read its leaf, and to write another.
 *             The order is a permutation that is computed, not kept: four Feistel rounds on the next larger
 *             power of four, repeated until the value is in range (Black and Rogaway, 2002).
 *             At the end every index is walked: each key is there, once, in order, at the record that has it; and `-c`
 *             records are looked up in every index and compared.
 * INVARIANTS  I1  a node on a path in memory is as in the file
 *             I2  a key in an inner node is at most every key below its child, and above all keys left of it;
 *                 the first is not looked at
 * USAGE       mkeyed [-u] [-b batches] [-n records] [-c lookups] [-s seed] [-k] file      (-k: keep the file)
 * OUTPUT      result: bench=mkeyed keys=batch|uniform batch=... records=... file_bytes=... user_s=... sys_s=... real_s=...
 *             reads=... writes=... splits=... pgin=... pgout=... (pages; of the whole system), then ok or FAILED
 * SEE ALSO    make experiment-mkeyed, docs/benchmarks.md
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "benchpaging.h"

#define PAGE    4096u
#define KEY     32 /* bytes */
#define NINDEX  9
#define RECORD  1024u
#define FANOUT  ((PAGE - 16) / sizeof(struct entry)) /* 102 */
#define HEIGHT  8                                    /* 51^8 keys */
#define MAGIC   "mkeyed 1"
#define PER_PAGE (PAGE / RECORD)

struct entry {
    char     key[KEY];
    uint64_t value; /* leaf: record; above: page of a node */
};

struct node {
    uint32_t     level; /* 0: leaf */
    uint32_t     n;
    uint64_t     next;  /* leaf: the page of the next one, 0 at the end */
    struct entry e[FANOUT];
};

struct record {
    uint64_t number;
    char     key[NINDEX][KEY];
    char     fill[RECORD - 8 - NINDEX * KEY];
};

struct header {
    char     magic[8];
    uint64_t records, pages, root[NINDEX];
    uint32_t height[NINDEX];
};

_Static_assert(sizeof(struct node) == PAGE && sizeof(struct record) == RECORD, "a page");

static struct header head;
static struct {
    uint64_t    page; /* 0: none */
    struct node node;
} path[NINDEX][HEIGHT]; /* by level */

static const char *name;
static int         fd = -1;
static bool        uniform;
static uint64_t    batches = 14, batch_records = 9000, seed = 1, lookups = 1000;
static uint64_t    nreads, nwrites, nsplits, record_page;

/* ---- pages ----------------------------------------------------------------------------------- */

static void read_at(uint64_t at, void *to, size_t bytes)
{
    ssize_t got = pread(fd, to, bytes, (off_t)at);

    if (got != (ssize_t)bytes)
        bench_die("%s: read at %llu: %s", name, (unsigned long long)at, got < 0 ? strerror(errno) : "end of file");
    nreads++;
}

static void write_at(uint64_t at, const void *from, size_t bytes)
{
    ssize_t put = pwrite(fd, from, bytes, (off_t)at);

    if (put != (ssize_t)bytes)
        bench_die("%s: write at %llu: %s", name, (unsigned long long)at, put < 0 ? strerror(errno) : "disk full");
    nwrites++;
}

static void write_header(void)
{
    static char page[PAGE];

    memcpy(page, &head, sizeof head);
    write_at(0, page, PAGE);
}

static void open_file(int flags)
{
    if (fd >= 0)
        close(fd);
    fd = open(name, flags, 0644);
    if (fd < 0)
        bench_die("%s: %s", name, strerror(errno));
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Where number i of 0 .. n-1 goes in permutation `which`: a value of 0 .. n-1. */
static uint64_t permuted(uint64_t which, uint64_t n, uint64_t i)
{
    unsigned half = 1;

    while (n > 1ull << (2 * half))
        half++;
    do {
        uint64_t mask = (1ull << half) - 1, left = i >> half, right = i & mask;

        for (unsigned round = 0; round < 4; round++) {
            uint64_t mixed = left ^ (bench_seed(seed ^ right << 8, which * 4 + round) & mask);

            left = right;
            right = mixed;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

/* The key, as a number, that record r (1, 2, ...) has in an index. */
static uint64_t key_number(unsigned index, uint64_t r)
{
    uint64_t batch = (r - 1) / batch_records;

    if (uniform)
        return 1 + permuted(index, batches * batch_records, r - 1);
    return batch * batch_records + 1 + permuted(index + (batch + 1) * NINDEX, batch_records, (r - 1) % batch_records);
}

static void make_key(char key[KEY], unsigned index, uint64_t number)
{
    memset(key, '0', KEY);
    key[0] = (char)('A' + index);
    for (int i = KEY - 1; number != 0; i--, number /= 10)
        key[i] = (char)('0' + number % 10);
}

static void make_record(struct record *record, uint64_t r)
{
    record->number = r;
    for (unsigned i = 0; i < NINDEX; i++)
        make_key(record->key[i], i, key_number(i, r));
    memset(record->fill, (int)('a' + r % 26), sizeof record->fill);
}

static uint64_t record_at(uint64_t page, uint64_t r)
{
    return page * PAGE + (r - 1) % PER_PAGE * RECORD;
}

/* ---- the trees ------------------------------------------------------------------------------- */

static struct node *visit(unsigned index, unsigned level, uint64_t page)
{
    if (path[index][level].page != page) {
        read_at(page * PAGE, &path[index][level].node, PAGE);
        path[index][level].page = page;
    }
    if (path[index][level].node.level != level || path[index][level].node.n > FANOUT)
        bench_die("page %llu is no node of level %u", (unsigned long long)page, level);
    return &path[index][level].node;
}

/* How many keys of a node are at most `key`. */
static unsigned rank(const struct node *node, const char key[KEY])
{
    unsigned low = 0, high = node->n;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (memcmp(node->e[middle].key, key, KEY) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Goes down to the leaf of a key; slot[level] is the entry taken (in the leaf: behind which the key belongs) plus 1. */
static struct node *find_leaf(unsigned index, const char key[KEY], unsigned slot[HEIGHT])
{
    uint64_t     page = head.root[index];
    struct node *node = NULL;

    for (unsigned level = head.height[index]; level-- > 0;) {
        node = visit(index, level, page);
        slot[level] = rank(node, key);
        if (level > 0) {
            slot[level] = slot[level] != 0 ? slot[level] : 1;
            page = node->e[slot[level] - 1].value;
        }
    }
    return node;
}

static void put(struct node *node, unsigned at, const struct entry *new)
{
    memmove(&node->e[at + 1], &node->e[at], (node->n - at) * sizeof *new);
    node->e[at] = *new;
    node->n++;
}

/* Moves the upper half of a full node to a new one, puts `new` where it belongs; *new becomes the entry for it above. */
static void split(struct node *left, unsigned at, struct entry *new)
{
    static struct node right;
    unsigned           half = FANOUT / 2;

    memset(&right, 0, sizeof right);
    right.level = left->level;
    right.n = left->n - half;
    memcpy(right.e, &left->e[half], right.n * sizeof *new);
    left->n = half;
    memset(&left->e[half], 0, right.n * sizeof *new);
    if (at <= half)
        put(left, at, new);
    else
        put(&right, at - half, new);
    if (left->level == 0) {
        right.next = left->next;
        left->next = head.pages;
    }
    memcpy(new->key, right.e[0].key, KEY);
    new->value = head.pages++;
    write_at(new->value * PAGE, &right, PAGE);
    nsplits++;
}

/* Makes a root above the present one; `new` is the entry for its right half. */
static void grow(unsigned index, const struct entry *new)
{
    unsigned     level = head.height[index]++;
    struct node *root;

    if (level == HEIGHT)
        bench_die("index %u is too high", index);
    root = &path[index][level].node;
    memset(root, 0, sizeof *root);
    root->level = level;
    root->n = level > 0 ? 2 : 0;
    if (level > 0) {
        make_key(root->e[0].key, index, 0);
        root->e[0].value = head.root[index];
        root->e[1] = *new;
    }
    head.root[index] = path[index][level].page = head.pages++;
    write_at(head.root[index] * PAGE, root, PAGE);
}

static void insert(unsigned index, const char key[KEY], uint64_t record)
{
    unsigned     slot[HEIGHT], level = 0;
    struct entry new = {.value = record};
    struct node *node = find_leaf(index, key, slot);
    bool         full;

    memcpy(new.key, key, KEY);
    if (slot[0] > 0 && memcmp(node->e[slot[0] - 1].key, key, KEY) == 0)
        bench_die("index %u: key %.*s is there already", index, KEY, key);
    do {
        if (level == head.height[index]) {
            grow(index, &new);
            return;
        }
        node = &path[index][level].node;
        full = node->n == FANOUT;
        if (full)
            split(node, slot[level], &new);
        else
            put(node, slot[level], &new);
        write_at(path[index][level++].page * PAGE, node, PAGE);
    } while (full);
}

/* The value of an index's entry is the record's number and the page it is on. */
#define RECORD_BITS 32
static void insert_record(uint64_t r)
{
    static struct record record;

    make_record(&record, r);
    if ((r - 1) % PER_PAGE == 0)
        record_page = head.pages++;
    write_at(record_at(record_page, r), &record, RECORD);
    for (unsigned i = 0; i < NINDEX; i++)
        insert(i, record.key[i], record_page << RECORD_BITS | r);
    head.records++;
}

/* ---- batches --------------------------------------------------------------------------------- */

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void run_batch(uint64_t batch)
{
    uint64_t             reads = nreads, writes = nwrites, splits = nsplits;
    struct bench_paging  paging, after;
    struct rusage        begin, end;
    double               start = bench_now(), real;

    bench_paging(&paging);
    getrusage(RUSAGE_SELF, &begin);
    for (uint64_t r = (batch - 1) * batch_records + 1; r <= batch * batch_records; r++)
        insert_record(r);
    write_header();
    getrusage(RUSAGE_SELF, &end);
    real = bench_now() - start;
    printf("result: bench=mkeyed keys=%s batch=%llu records=%llu file_bytes=%llu user_s=%.3f sys_s=%.3f real_s=%.3f "
           "reads=%llu writes=%llu splits=%llu",
           uniform ? "uniform" : "batch", (unsigned long long)batch, (unsigned long long)head.records,
           (unsigned long long)head.pages * PAGE, seconds(end.ru_utime) - seconds(begin.ru_utime),
           seconds(end.ru_stime) - seconds(begin.ru_stime), real, (unsigned long long)(nreads - reads),
           (unsigned long long)(nwrites - writes), (unsigned long long)(nsplits - splits));
    if (bench_paging(&after) == 0)
        printf(" pgin=%llu pgout=%llu", after.pgpgin - paging.pgpgin, after.pgpgout - paging.pgpgout);
    printf("\n");
    fflush(stdout);
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Walks the leaves of an index.  Returns how many things are wrong. */
static uint64_t check_index(unsigned index)
{
    uint64_t     bad = 0, number = 0, page = head.root[index];
    char         key[KEY];
    struct node *leaf;

    for (unsigned level = head.height[index] - 1; level > 0; level--)
        page = visit(index, level, page)->e[0].value;
    for (; page != 0; page = leaf->next) {
        leaf = visit(index, 0, page);
        for (unsigned i = 0; i < leaf->n; i++) {
            uint64_t r = leaf->e[i].value & ((1ull << RECORD_BITS) - 1);

            make_key(key, index, ++number);
            bad += memcmp(leaf->e[i].key, key, KEY) != 0 || r == 0 || r > head.records || key_number(index, r) != number;
        }
    }
    return bad + (number != head.records);
}

static uint64_t check_lookup(uint64_t r)
{
    static struct record wanted, found;
    unsigned             slot[HEIGHT];
    uint64_t             bad = 0;

    make_record(&wanted, r);
    for (unsigned i = 0; i < NINDEX; i++) {
        struct node  *leaf = find_leaf(i, wanted.key[i], slot);
        struct entry *e = slot[0] > 0 ? &leaf->e[slot[0] - 1] : NULL;

        if (e == NULL || memcmp(e->key, wanted.key[i], KEY) != 0) {
            bad++;
            continue;
        }
        read_at(record_at(e->value >> RECORD_BITS, r), &found, RECORD);
        bad += memcmp(&found, &wanted, RECORD) != 0;
    }
    return bad;
}

/* Opens the file anew and looks at what is in it.  Returns how many things are wrong. */
static uint64_t check(void)
{
    struct header expected = head;
    uint64_t      bad = 0, random = bench_seed(seed, ~0ull), n = lookups < head.records ? lookups : head.records;
    off_t         end;

    open_file(O_RDONLY);
    memset(path, 0, sizeof path);
    read_at(0, &head, sizeof head);
    end = lseek(fd, 0, SEEK_END);
    if (memcmp(&head, &expected, sizeof head) != 0 || ((uint64_t)end + PAGE - 1) / PAGE != head.pages) {
        fprintf(stderr, "mkeyed: %s: header or size (%lld) is wrong\n", name, (long long)end);
        return 1;
    }
    if (!uniform || head.records == batches * batch_records)
        for (unsigned i = 0; i < NINDEX; i++)
            bad += check_index(i);
    for (uint64_t i = 0; i < n; i++)
        bad += check_lookup(1 + (n == head.records ? i : bench_random(&random) % head.records));
    printf("check: %llu records, %d indexes, %llu looked up in each, %llu wrong\n", (unsigned long long)head.records,
           NINDEX, (unsigned long long)n, (unsigned long long)bad);
    return bad;
}

static uint64_t positive(const char *text, uint64_t most)
{
    uint64_t value = bench_count(text);

    if (value > most)
        bench_die("%s: %llu at most", text, (unsigned long long)most);
    return value;
}

int main(int argc, char **argv)
{
    bool     keep = false;
    uint64_t bad;
    int      opt;

    bench_init("mkeyed");
    while ((opt = getopt(argc, argv, "ub:n:c:s:k")) != -1) {
        if (opt == 'u')
            uniform = true;
        else if (opt == 'k')
            keep = true;
        else if (opt == 'b')
            batches = positive(optarg, 1000);
        else if (opt == 'n')
            batch_records = positive(optarg, 1000000);
        else if (opt == 'c')
            lookups = positive(optarg, UINT32_MAX);
        else if (opt == 's')
            seed = positive(optarg, UINT32_MAX);
        else
            optind = argc + 1;
    }
    if (optind != argc - 1) {
        fprintf(stderr, "usage: mkeyed [-u] [-b batches] [-n records] [-c lookups] [-s seed] [-k] file\n");
        return 2;
    }
    name = argv[optind];
    open_file(O_RDWR | O_CREAT | O_TRUNC);
    memcpy(head.magic, MAGIC, sizeof head.magic);
    head.pages = 1;
    for (unsigned i = 0; i < NINDEX; i++)
        grow(i, NULL);
    printf("mkeyed: %llu batches of %llu records, %s keys, seed %llu\n", (unsigned long long)batches,
           (unsigned long long)batch_records, uniform ? "uniform" : "batch", (unsigned long long)seed);
    for (uint64_t batch = 1; batch <= batches; batch++)
        run_batch(batch);
    bad = check();
    if (!keep)
        unlink(name);
    printf(bad == 0 ? "ok\n" : "FAILED\n");
    return bad != 0;
}
