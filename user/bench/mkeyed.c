// SPDX-License-Identifier: MIT
/*
 * mkeyed.c - a keyed file with nine indexes that outgrows memory: how the cost of insertions changes from batch to
 * batch.
 *
 * THEORY      One file consists of blocks of 1 KiB, allocated in order: the header, the records, and the nodes of nine
 *             B-trees.  The program reads and writes blocks with read and write calls, one write for each node that
 *             changes.  In memory it keeps, for each tree, only the nodes on the path to the last place.  All else that
 *             stays in memory is in the system's page cache.  A full node is split into halves; leaves are chained.
 *             Batch b inserts the records (b-1)N+1 .. bN.  A record has a key for each index.  Usually the keys of a
 *             batch are also the numbers (b-1)N+1 .. bN, in a different order for each index.  All are larger than the
 *             keys before, so a batch works at the right edge of each tree: on the leaves of N keys, whatever the size
 *             of the tree.  With -u the keys are 1 .. (batches * N) in one such order, so every leaf of the tree is
 *             equally likely.  Then the pages that are needed again soon are the whole tree.  Once the tree is larger
 *             than memory, a growing part of the insertions must read their leaf, and write another one.
 *             The order is a permutation that is computed, not stored: four Feistel rounds on the next larger power of
 *             four, repeated until the value is in range (Black and Rogaway, 2002).
 *             At the end every index is walked: each key must be there, once, and in order.  And `-c` records are
 *             looked up in every index and compared.
 * INVARIANTS  I1  a node on a path in memory is equal to the one in the file
 *             I2  a key in an inner node is at most every key below its child, and greater than all keys to the left of
 *                 it; the first key is not used
 * OUTPUT      result: bench=mkeyed keys=batch|uniform batch=... records=... file_bytes=... user_s=... sys_s=...
 *             cpu_s=... real_s=... reads=... writes=... splits=... pgin=... pgout=... disk_reads=... disk_writes=...
 *             disk_read_bytes=... disk_written_bytes=... disk_wait_s=... disk_run_s=...; ok or FAILED
 *             (cpu_s: user and system time by the process's own clock, not in ticks.  Pages are those of the whole
 *             system.  The last six give what iostat shows of all disks; the two times are seconds times requests.)
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
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    mkeyed - a file with nine indexes that outgrows memory\n"
    "\n"
    "SYNOPSIS\n"
    "    mkeyed [-u] [-b batches] [-n records] [-c lookups] [-s seed] [-k] file\n"
    "\n"
    "DESCRIPTION\n"
    "    Each batch inserts records of 1 KiB with nine keys into a file with nine\n"
    "    B-trees.  At the end all indexes are walked, and records are looked up.\n"
    "\n"
    "OPTIONS\n"
    "    -b batches    batches (14)\n"
    "    -c lookups    records to look up (1000)\n"
    "    -k            keep the file\n"
    "    -n records    records of a batch (9000)\n"
    "    -s seed       seed of the order of keys (1)\n"
    "    -u            keys of the whole range in each batch, so that the working\n"
    "                  set is the whole file\n"
    "\n"
    "EXIT STATUS\n"
    "    0 ok, 1 FAILED, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    ddt, editor, docs/benchmarks.md\n";

#define BLOCK  1024u
#define KEY    32 /* bytes */
#define NINDEX 9
#define FANOUT ((BLOCK - 16) / sizeof(struct entry)) /* 25 */
#define HEIGHT 8                                     /* enough for 12^8 keys */
#define MAGIC  "mkeyed 1"

struct entry {
    char key[KEY];
    uint64_t value; /* in a leaf: block of the record; above: block of a node */
};

struct node {
    uint32_t level; /* 0: leaf */
    uint32_t n;
    uint64_t next; /* leaf: the block of the next leaf; 0 at the end */
    struct entry e[FANOUT];
    char unused[BLOCK - 16 - FANOUT * sizeof(struct entry)];
};

struct record {
    uint64_t number;
    char key[NINDEX][KEY];
    char fill[BLOCK - 8 - NINDEX * KEY];
};

struct header {
    char magic[8];
    uint64_t records, blocks, root[NINDEX];
    uint32_t height[NINDEX];
};

_Static_assert(sizeof(struct node) == BLOCK && sizeof(struct record) == BLOCK, "a block");

static struct header head;
static struct {
    uint64_t block; /* 0: none */
    struct node node;
} path[NINDEX][HEIGHT]; /* for each level */

static const char *name;
static int fd = -1;
static bool uniform;
static uint64_t batches = 14, batch_records = 9000, seed = 1, lookups = 1000;
static uint64_t nreads, nwrites, nsplits;

/* ---- blocks ---------------------------------------------------------------------------------- */

static void read_block(uint64_t block, void *to)
{
    ssize_t got = pread(fd, to, BLOCK, (off_t)(block * BLOCK));

    if (got != BLOCK)
        bench_die("%s: block %llu: %s", name, (unsigned long long)block,
                  got < 0 ? strerror(errno) : "end of file");
    nreads++;
}

static void write_block(uint64_t block, const void *from)
{
    ssize_t put = pwrite(fd, from, BLOCK, (off_t)(block * BLOCK));

    if (put != BLOCK)
        bench_die("%s: block %llu: %s", name, (unsigned long long)block,
                  put < 0 ? strerror(errno) : "disk full");
    nwrites++;
}

static void write_header(void)
{
    static char block[BLOCK];

    memcpy(block, &head, sizeof head);
    write_block(0, block);
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

/* The place of number i of 0 .. n-1 in permutation `which`: a value of 0 .. n-1. */
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

/* The key of record r (1, 2, ...) in an index, as a number. */
static uint64_t key_number(unsigned index, uint64_t r)
{
    uint64_t batch = (r - 1) / batch_records;

    if (uniform)
        return 1 + permuted(index, batches * batch_records, r - 1);
    return batch * batch_records + 1 +
           permuted(index + (batch + 1) * NINDEX, batch_records, (r - 1) % batch_records);
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

/* ---- the trees ------------------------------------------------------------------------------- */

/* The node on the path at that level; reads it unless it is there already. */
static struct node *visit(unsigned index, unsigned level, uint64_t block)
{
    if (path[index][level].block != block) {
        read_block(block, &path[index][level].node);
        path[index][level].block = block;
    }
    if (path[index][level].node.level != level || path[index][level].node.n > FANOUT)
        bench_die("block %llu is not a node of level %u", (unsigned long long)block, level);
    return &path[index][level].node;
}

/* The number of keys in a node that are at most `key`. */
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

/*
 * Walks down to the leaf of a key.  slot[level] is the number of the entry taken, plus 1; in the leaf, of the entry
 * after which the key belongs.
 */
static struct node *find_leaf(unsigned index, const char key[KEY], unsigned slot[HEIGHT])
{
    uint64_t block = head.root[index];
    struct node *node = NULL;

    for (unsigned level = head.height[index]; level-- > 0;) {
        node = visit(index, level, block);
        slot[level] = rank(node, key);
        if (level > 0) {
            slot[level] = slot[level] != 0 ? slot[level] : 1;
            block = node->e[slot[level] - 1].value;
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

/*
 * Moves the upper half of a full node to a new node and puts *new into one of them.  *new becomes the entry for the new
 * node.
 */
static void split(struct node *left, unsigned at, struct entry *new)
{
    static struct node right;
    unsigned half = FANOUT / 2;

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
        left->next = head.blocks;
    }
    memcpy(new->key, right.e[0].key, KEY);
    new->value = head.blocks++;
    write_block(new->value, &right);
    nsplits++;
}

/* Makes a root above the present one; `new` is the entry of its right half. */
static void grow(unsigned index, const struct entry *new)
{
    unsigned level = head.height[index]++;
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
    head.root[index] = path[index][level].block = head.blocks++;
    write_block(head.root[index], root);
}

static void insert(unsigned index, const char key[KEY], uint64_t block)
{
    unsigned slot[HEIGHT], level = 0;
    struct entry new = {.value = block};
    struct node *node = find_leaf(index, key, slot);
    bool full;

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
        write_block(path[index][level++].block, node);
    } while (full);
}

static void insert_record(uint64_t r)
{
    static struct record record;
    uint64_t block = head.blocks++;

    make_record(&record, r);
    write_block(block, &record);
    for (unsigned i = 0; i < NINDEX; i++)
        insert(i, record.key[i], block);
    head.records++;
}

/* ---- batches --------------------------------------------------------------------------------- */

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void run_batch(uint64_t batch)
{
    uint64_t reads = nreads, writes = nwrites, splits = nsplits;
    struct bench_paging paging, after;
    struct rusage begin, end;
    double start = bench_now(), processor = bench_processor(), real;

    bench_paging(&paging);
    getrusage(RUSAGE_SELF, &begin);
    for (uint64_t r = (batch - 1) * batch_records + 1; r <= batch * batch_records; r++)
        insert_record(r);
    write_header();
    getrusage(RUSAGE_SELF, &end);
    processor = bench_processor() - processor;
    real = bench_now() - start;
    printf(
        "result: bench=mkeyed keys=%s batch=%llu records=%llu file_bytes=%llu user_s=%.3f sys_s=%.3f cpu_s=%.6f "
        "real_s=%.3f reads=%llu writes=%llu splits=%llu",
        uniform ? "uniform" : "batch", (unsigned long long)batch, (unsigned long long)head.records,
        (unsigned long long)head.blocks * BLOCK, seconds(end.ru_utime) - seconds(begin.ru_utime),
        seconds(end.ru_stime) - seconds(begin.ru_stime), processor, real,
        (unsigned long long)(nreads - reads), (unsigned long long)(nwrites - writes),
        (unsigned long long)(nsplits - splits));
    if (bench_paging(&after) == 0)
        printf(
            " pgin=%llu pgout=%llu disk_reads=%llu disk_writes=%llu disk_read_bytes=%llu disk_written_bytes=%llu "
            "disk_wait_s=%.3f disk_run_s=%.3f",
            after.pgpgin - paging.pgpgin, after.pgpgout - paging.pgpgout,
            after.reads - paging.reads, after.writes - paging.writes, after.nread - paging.nread,
            after.nwritten - paging.nwritten, (double)(after.wlentime - paging.wlentime) / 1e9,
            (double)(after.rlentime - paging.rlentime) / 1e9);
    printf("\n");
    fflush(stdout);
}

/* ---- checking -------------------------------------------------------------------------------- */

static bool is_record(uint64_t block, uint64_t r)
{
    static struct record wanted, found;

    make_record(&wanted, r);
    read_block(block, &found);
    return memcmp(&found, &wanted, sizeof wanted) == 0;
}

/* Walks the leaves of an index.  Returns the number of faults. */
static uint64_t check_index(unsigned index)
{
    uint64_t bad = 0, number = 0, block = head.root[index];
    char key[KEY];
    struct node *leaf;

    for (unsigned level = head.height[index] - 1; level > 0; level--)
        block = visit(index, level, block)->e[0].value;
    for (; block != 0; block = leaf->next) {
        leaf = visit(index, 0, block);
        for (unsigned i = 0; i < leaf->n; i++) {
            make_key(key, index, ++number);
            bad += memcmp(leaf->e[i].key, key, KEY) != 0;
        }
    }
    return bad + (number != head.records);
}

static uint64_t check_lookup(uint64_t r)
{
    char key[KEY];
    unsigned slot[HEIGHT];
    uint64_t bad = 0;

    for (unsigned i = 0; i < NINDEX; i++) {
        struct node *leaf;

        make_key(key, i, key_number(i, r));
        leaf = find_leaf(i, key, slot);
        bad += slot[0] == 0 || memcmp(leaf->e[slot[0] - 1].key, key, KEY) != 0 ||
               !is_record(leaf->e[slot[0] - 1].value, r);
    }
    return bad;
}

/* Opens the file again and checks its contents.  Returns the number of faults. */
static uint64_t check(void)
{
    struct header expected = head;
    char block[BLOCK];
    uint64_t bad = 0, random = bench_seed(seed, ~0ull),
             n = lookups < head.records ? lookups : head.records;
    off_t end;

    open_file(O_RDONLY);
    memset(path, 0, sizeof path);
    read_block(0, block);
    memcpy(&head, block, sizeof head);
    end = lseek(fd, 0, SEEK_END);
    if (memcmp(&head, &expected, sizeof head) != 0 || (uint64_t)end != head.blocks * BLOCK) {
        fprintf(stderr, "mkeyed: %s: header or size (%lld) is wrong\n", name, (long long)end);
        return 1;
    }
    for (unsigned i = 0; i < NINDEX; i++)
        bad += check_index(i);
    for (uint64_t i = 0; i < n; i++)
        bad += check_lookup(1 + (n == head.records ? i : bench_random(&random) % head.records));
    printf("check: %llu records, %d indexes, %llu looked up in each, %llu wrong\n",
           (unsigned long long)head.records, NINDEX, (unsigned long long)n,
           (unsigned long long)bad);
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
    bool keep = false;
    uint64_t bad;
    int opt;

    hr_help(argv, help);
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
        hr_usage(help);
        return 2;
    }
    name = argv[optind];
    open_file(O_RDWR | O_CREAT | O_TRUNC);
    memcpy(head.magic, MAGIC, sizeof head.magic);
    head.blocks = 1;
    for (unsigned i = 0; i < NINDEX; i++)
        grow(i, NULL);
    printf("mkeyed: %llu batches of %llu records, %s keys, seed %llu\n",
           (unsigned long long)batches, (unsigned long long)batch_records,
           uniform ? "uniform" : "batch", (unsigned long long)seed);
    for (uint64_t batch = 1; batch <= batches; batch++)
        run_batch(batch);
    bad = check();
    if (!keep)
        unlink(name);
    printf(bad == 0 ? "ok\n" : "FAILED\n");
    return bad != 0;
}
