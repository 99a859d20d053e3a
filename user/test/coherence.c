// SPDX-License-Identifier: MIT
/*
 * coherence.c - several processes work on one file at random: read, write, mmap, truncate, msync.  A model checks the
 * results.
 *
 *     coherence FILE PROCS OPS SEED [KB]
 *
 * THEORY      The model consists of the file's bytes and its size, in memory that the processes share.  The bytes are
 *             divided into regions that end in the middle of pages.  A process locks the region on which it works, so
 *             others work on the same pages at the same time.  A change of the size excludes all other operations.
 *             Each operation takes the next number of a common counter.  Its random numbers depend on the seed, the
 *             process and the process's own count.
 *             Stores through mappings stay below the end of the file, because bytes beyond it do not belong to the
 *             file.
 * OUTPUT      one line `ops=... read=... bad=0 sum=...`; sum is that of all bytes at the end.  Status 0 if all was
 *             right.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REGIONS = 16, PIECE = 20000 };
enum op { READ, WRITE, LOAD, STORE, MSYNC, FSYNC, TRUNCATE, EXTEND, REMAP, NOPS };
static const char *const op_names[NOPS] = {
    "read", "write", "load", "store", "msync", "fsync", "truncate", "extend", "remap",
};
static const unsigned weights[NOPS] = {22, 22, 20, 20, 5, 2, 3, 4, 2}; /* percent */

static struct shared {
    pthread_rwlock_t size_lock; /* locked for writing by an operation that changes the size */
    pthread_mutex_t region[REGIONS];
    atomic_ulong next, bad;
    atomic_ulong done[NOPS];
    size_t size;
    uint8_t bytes[];
} *model;

static const char *path;
static size_t max;
static unsigned long nops;
static uint64_t state;
static uint8_t *map;
static int fd;
static uint8_t buf[PIECE];

static uint64_t rnd(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15ull;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static size_t below(size_t n)
{
    return (size_t)(rnd() % n);
}

static void complain(const char *what, size_t off, size_t n, long got)
{
    atomic_fetch_add(&model->bad, 1);
    printf("bad: %s at %zu, %zu bytes: %ld (%s)\n", what, off, n, got, strerror(errno));
    fflush(stdout);
}

static void compare(const char *what, const uint8_t *seen, size_t off, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (seen[i] != model->bytes[off + i]) {
            atomic_fetch_add(&model->bad, 1);
            printf("bad: %s: byte %zu is %u, not %u (size %zu, piece %zu+%zu)\n", what, off + i,
                   seen[i], model->bytes[off + i], model->size, off, n);
            fflush(stdout);
            return;
        }
}

static void fill(size_t n)
{
    uint8_t b = (uint8_t)rnd();

    for (size_t i = 0; i < n; i++)
        buf[i] = (uint8_t)(b + i * 13);
}

/*
 * Does one operation on bytes off .. off + n - 1 of the file, which are below its end and in a region that this process
 * has locked.
 */
static void work(enum op op, size_t off, size_t n)
{
    size_t page = off & ~4095ul;
    long r;

    switch (op) {
    case READ:
        r = pread(fd, buf, n, (off_t)off);
        if (r != (long)n)
            complain("read", off, n, r);
        else
            compare("read", buf, off, n);
        break;
    case WRITE:
        fill(n);
        r = pwrite(fd, buf, n, (off_t)off);
        if (r != (long)n)
            complain("write", off, n, r);
        memcpy(model->bytes + off, buf, n);
        break;
    case LOAD:
        compare("load", map + off, off, n);
        break;
    case STORE:
        fill(n);
        memcpy(map + off, buf, n);
        memcpy(model->bytes + off, buf, n);
        break;
    case MSYNC:
        if (msync(map + page, off + n - page, below(2) ? MS_SYNC : MS_ASYNC) != 0)
            complain("msync", off, n, -1);
        break;
    default:
        if ((below(2) ? fsync(fd) : fdatasync(fd)) != 0)
            complain("fsync", 0, 0, -1);
    }
}

static void work_in_region(enum op op)
{
    unsigned k = (unsigned)below(REGIONS);
    size_t first = max / REGIONS * k, end = k == REGIONS - 1 ? max : first + max / REGIONS, off, n;

    pthread_rwlock_rdlock(&model->size_lock);
    end = end < model->size ? end : model->size;
    if (first < end) {
        off = first + below(end - first);
        n = 1 + below(end - off < PIECE ? end - off : PIECE);
        if (below(2))
            n = 1 + below(n < 100 ? n : 100);
        pthread_mutex_lock(&model->region[k]);
        work(op, off, n);
        pthread_mutex_unlock(&model->region[k]);
    }
    pthread_rwlock_unlock(&model->size_lock);
}

static void change_size(enum op op)
{
    size_t size = below(max + 1), old, n;
    long r;

    pthread_rwlock_wrlock(&model->size_lock);
    old = model->size;
    if (op == TRUNCATE) {
        if (below(3) != 0) /* usually a small step, so most of the file stays */
            size = old > 5000 ? old - below(5000) : old + below(3000);
        size = size < max ? size : max;
        if (ftruncate(fd, (off_t)size) != 0)
            complain("truncate", size, 0, -1);
        if (size < old)
            memset(model->bytes + size, 0, old - size);
        model->size = size;
    } else if (old < max) { /* a write at the end or beyond it */
        size_t off = old + (below(3) == 0 ? below(max - old) : 0);

        n = 1 + below(max - off < PIECE ? max - off : PIECE);
        fill(n);
        r = pwrite(fd, buf, n, (off_t)off);
        if (r != (long)n)
            complain("extend", off, n, r);
        memcpy(model->bytes + off, buf, n);
        model->size = off + n;
    }
    pthread_rwlock_unlock(&model->size_lock);
}

static void map_file(void)
{
    map = mmap(NULL, max, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        complain("mmap", 0, max, -1);
        _exit(1);
    }
}

static void process(unsigned id, uint64_t seed)
{
    state = seed * 1000003 + id;
    fd = open(path, O_RDWR);
    if (fd < 0) {
        complain("open", 0, 0, -1);
        _exit(1);
    }
    map_file();
    while (atomic_fetch_add(&model->next, 1) < nops && atomic_load(&model->bad) < 10) {
        unsigned w = (unsigned)below(100);
        enum op op = READ;

        for (; w >= weights[op]; op++)
            w -= weights[op];
        atomic_fetch_add(&model->done[op], 1);
        if (op == REMAP) {
            munmap(map, max);
            map_file();
        } else if (op == TRUNCATE || op == EXTEND) {
            change_size(op);
        } else {
            work_in_region(op);
        }
    }
    _exit(0);
}

static void make_model(void)
{
    pthread_rwlockattr_t ra;
    pthread_mutexattr_t ma;

    model =
        mmap(NULL, sizeof *model + max, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (model == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    pthread_rwlockattr_init(&ra);
    pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&model->size_lock, &ra);
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    for (unsigned i = 0; i < REGIONS; i++)
        pthread_mutex_init(&model->region[i], &ma);
}

/* Reads and checks the whole file at the end.  Returns the sum of its bytes. */
static uint64_t verify(void)
{
    uint64_t sum = 14695981039346656037ull;
    size_t off = 0;
    ssize_t n;

    fd = open(path, O_RDONLY);
    while ((n = read(fd, buf, sizeof buf)) > 0) {
        if (off + (size_t)n > model->size) {
            complain("end", off, (size_t)n, (long)model->size);
            break;
        }
        compare("at the end", buf, off, (size_t)n);
        for (ssize_t i = 0; i < n; i++)
            sum = (sum ^ buf[i]) * 1099511628211ull;
        off += (size_t)n;
    }
    if (off != model->size)
        complain("size at the end", off, 0, (long)model->size);
    return sum;
}

int main(int argc, char **argv)
{
    unsigned procs = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    int status, failed = 0;
    uint64_t seed, sum;

    if (argc < 5 || procs == 0) {
        fprintf(stderr, "usage: coherence FILE PROCS OPS SEED [KB]\n");
        return 2;
    }
    path = argv[1];
    nops = strtoul(argv[3], NULL, 10);
    seed = strtoull(argv[4], NULL, 0);
    max = (argc > 5 ? strtoul(argv[5], NULL, 10) : 1024) * 1024 - 1000;
    make_model();
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) {
        perror(path);
        return 1;
    }
    close(fd);
    for (unsigned i = 0; i < procs; i++)
        if (fork() == 0)
            process(i, seed);
    while (wait(&status) > 0)
        failed |= status != 0;
    sum = verify();
    printf("seed=%llu procs=%u ops=%lu", (unsigned long long)seed, procs, nops);
    for (unsigned i = 0; i < NOPS; i++)
        printf(" %s=%lu", op_names[i], atomic_load(&model->done[i]));
    printf(" size=%zu sum=%016llx bad=%lu\n", model->size, (unsigned long long)sum,
           atomic_load(&model->bad));
    return failed || atomic_load(&model->bad) != 0;
}
