// SPDX-License-Identifier: MIT
/*
 * paging.c - programs for tests of pageout and swap.
 *
 *     paging anon MB SEED     fill MB of private memory, fork, change some of it on both sides, check all of it
 *     paging shared MB SEED   the same with shared memory: each side sees what the other writes
 *     paging early MB         ask for MB by mmap and brk: how many MB are reserved before the first refusal
 *     paging greedy MB        write MB of memory that was mapped without a reservation
 *     paging sysv MB SEED     fill a System V segment of MB under key SEED and leave it; the second time: check and
 *                             remove it
 *     paging unmap MB N       map MB of the file on standard input, read each 16th page, unmap: N times
 *     paging moved MB         map MB of the file on standard input, advise that they move to this thread, touch them
 *     paging pieces MB N      leave MB of free memory in single pages; then N children at once with a 2 MiB page each
 *     paging locked MB N      lock 6 MB, and a segment of 6 MB; write MB of other memory N times; what is present
 *     paging looks MB N       write MB of private memory once, then check all of it N times
 *     paging sharedlooks MB N the same with shared memory
 *     paging random MB N      write MB of private memory once, then change N pages of it in random places
 *     paging rounds MB N      write MB of private memory N times, and check each page each time
 *     paging killed MB DISK   end a process with MB on swap while swapoff of the disk reads them: pages read until it
 *                             has ended
 * Output: lines `key=value`; status 0 if all is right.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8, LOCKED_MB = 6 };

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static void fill(uint64_t *page, uint64_t tag)
{
    for (unsigned i = 0; i < WORDS; i++)
        page[i] = mix(tag * WORDS + i);
}

static unsigned long wrong(const uint64_t *page, uint64_t tag)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (page[i] != mix(tag * WORDS + i))
            return 1;
    return 0;
}

static uint64_t *map(size_t bytes, int flags)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        printf("mmap of %zu MB: %s\n", bytes >> 20, strerror(errno));
        exit(1);
    }
    return p;
}

/* Prints what a wrong page holds: the value of another side, a page of its own kind elsewhere, or something else. */
static void tell(const uint64_t *page, size_t i, uint64_t seed)
{
    uint64_t value = page[0];

    printf(
        "page %zu: as made %lu, as the child changes it %lu, as the parent does %lu; first word %#lx",
        i, 1 - wrong(page, seed + i), 1 - wrong(page, seed + 1000000 + i),
        1 - wrong(page, seed + 2000000 + i), (unsigned long)value);
    for (uint64_t other = 0; other < 65536; other++)
        for (uint64_t side = 0; side < 3; side++)
            if (value == mix((seed + side * 1000000 + other) * WORDS))
                printf("; page %lu of side %lu", (unsigned long)other, (unsigned long)side);
    printf("\n");
    fflush(stdout);
}

/* Gives every `step`-th page from `first` on another value on this side. */
static void change(uint64_t *mem, size_t pages, uint64_t seed, size_t first, size_t step)
{
    for (size_t i = first; i < pages; i += step)
        fill(mem + i * WORDS, seed + i);
}

static unsigned long look(const uint64_t *mem, size_t pages, uint64_t seed, uint64_t changed,
                          size_t first, size_t step)
{
    unsigned long bad = 0;

    for (size_t i = 0; i < pages; i++)
        if (wrong(mem + i * WORDS, (i % step == first ? changed : seed) + i)) {
            tell(mem + i * WORDS, i, seed);
            bad++;
        }
    return bad;
}

static int anon(size_t mb, uint64_t seed)
{
    size_t pages = mb << 8;
    uint64_t *mem = map(mb << 20, MAP_PRIVATE);
    unsigned long bad;
    int status = 0;
    pid_t child;

    change(mem, pages, seed, 0, 1);
    bad = look(mem, pages, seed, seed, 0, 1);
    child = fork();
    if (child == 0) {
        change(mem, pages, seed + 1000000, 1, 7);
        _exit(look(mem, pages, seed, seed + 1000000, 1, 7) != 0);
    }
    if (child > 0) {
        change(mem, pages, seed + 2000000, 2, 5);
        bad += look(mem, pages, seed, seed + 2000000, 2, 5);
        waitpid(child, &status, 0);
        bad += look(mem, pages, seed, seed + 2000000, 2, 5);
    }
    printf("forked=%d child_bad=%d child=%#x bad=%lu\n", child > 0, status != 0, (unsigned)status,
           bad);
    return bad != 0 || status != 0;
}

static int shared(size_t mb, uint64_t seed)
{
    size_t pages = mb << 8;
    uint64_t *mem = map(mb << 20, MAP_SHARED);
    unsigned long bad;
    int status = 0;
    pid_t child;

    change(mem, pages, seed, 0, 1);
    child = fork();
    if (child == 0) {
        change(mem, pages, seed + 1000000, 1, 3);
        _exit(look(mem, pages, seed, seed + 1000000, 1, 3) != 0);
    }
    waitpid(child, &status, 0);
    bad = look(mem, pages, seed, seed + 1000000, 1, 3);
    printf("child_bad=%d bad=%lu\n", status != 0, bad);
    return bad != 0 || status != 0;
}

static uint64_t count(const char *what)
{
    char line[128];
    uint64_t value = 0;
    FILE *f = fopen("/proc/vmstat", "r");

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, what, strlen(what)) == 0 && line[strlen(what)] == ' ')
            value = strtoull(line + strlen(what), NULL, 10);
    if (f != NULL)
        fclose(f);
    return value;
}

/*
 * Prints how many pages were swapped in and out while all memory was only read n times, or n pages in random places
 * were written.  After the reading it writes some of the memory and checks all of it twice: a page that was swapped out
 * in between must have its new contents.
 */
static int twice(size_t mb, size_t n, int random, int flags)
{
    size_t pages = mb << 8;
    uint64_t *mem = map(mb << 20, flags), *tag = calloc(pages, sizeof *tag), in, out;
    unsigned long bad = 0, needed = 0;

    for (size_t i = 0; i < pages; i++)
        fill(mem + i * WORDS, tag[i] = i);
    if (!random)
        bad = look(mem, pages, 0, 0, 0, 1); /* from here on pages keep their slots */
    in = count("pswpin");
    out = count("pswpout");
    for (size_t i = 0; !random && i < n; i++)
        bad += look(mem, pages, 0, 0, 0, 1);
    for (size_t i = 0; random && i < n; i++) {
        size_t at = mix(i) % pages;
        unsigned char there = 0;

        mincore(mem + at * WORDS, PAGE, &there);
        needed += there == 0;
        bad += wrong(mem + at * WORDS, tag[at]);
        fill(mem + at * WORDS, tag[at] += pages);
    }
    in = count("pswpin") - in;
    out = count("pswpout") - out;
    if (!random)
        change(mem, pages, 3000000, 1, 3);
    for (int i = 0; !random && i < 2; i++)
        bad += look(mem, pages, 0, 3000000, 1, 3);
    printf("needed=%lu in=%llu out=%llu bad=%lu\n", needed, (unsigned long long)in,
           (unsigned long long)out, bad);
    return bad != 0;
}

static int sysv(size_t mb, uint64_t seed)
{
    int made = shmget((key_t)seed, mb << 20, IPC_CREAT | IPC_EXCL | 0600);
    int id = made >= 0 ? made : shmget((key_t)seed, 0, 0);
    uint64_t *mem = shmat(id, NULL, 0);
    unsigned long bad = 0;

    if (mem == (void *)-1) {
        printf("segment of %zu MB: %s\n", mb, strerror(errno));
        return 1;
    }
    if (made >= 0)
        change(mem, mb << 8, seed, 0, 1);
    else
        shmctl(id, IPC_RMID, NULL);
    bad = look(mem, mb << 8, seed, seed, 0, 1);
    printf("made=%d bad=%lu\n", made >= 0, bad);
    return bad != 0;
}

/* Maps pieces of 1 MB until one is refused.  The memory that was reserved can then be used. */
static int early(size_t mb)
{
    size_t got = 0;
    int why = 0, brk_why = 0;
    char *last = NULL;
    void *top = sbrk(0);

    while (got < mb) {
        char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED) {
            why = errno;
            break;
        }
        last = p;
        got++;
    }
    if (brk((char *)top + (64 << 20)) != 0)
        brk_why = errno;
    if (last != NULL)
        memset(last, 1, 1 << 20);
    printf("promised_mb=%zu refused=%s brk=%s noreserve=%s\n", got, why ? strerror(why) : "no",
           brk_why ? strerror(brk_why) : "no",
           mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0) != MAP_FAILED
               ? "ok"
               : strerror(errno));
    return 0;
}

/* Uses memory that was not reserved. */
static int greedy(size_t mb)
{
    void *mem = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mem == MAP_FAILED)
        return 1;
    memset(mem, 1, mb << 20);
    return 0;
}

static int unmap(size_t mb, unsigned n)
{
    for (unsigned r = 0; r < n; r++) {
        char *p = mmap(NULL, mb << 20, PROT_READ, MAP_SHARED, 0, 0);

        if (p == MAP_FAILED) {
            printf("mmap: %s\n", strerror(errno));
            return 1;
        }
        for (size_t at = 0; at < mb << 20; at += (size_t)16 * PAGE)
            (void)*(volatile char *)(p + at);
        munmap(p, mb << 20);
    }
    return 0;
}

static int moved(size_t mb)
{
    char *p = mmap(NULL, mb << 20, PROT_READ, MAP_SHARED, 0, 0);

    if (p == MAP_FAILED || madvise(p, mb << 20, MADV_ACCESS_LWP) != 0) {
        printf("moved: %s\n", strerror(errno));
        return 1;
    }
    for (size_t at = 0; at < mb << 20; at += PAGE)
        (void)*(volatile char *)(p + at);
    return 0;
}

/* MiB of free memory. */
static size_t free_mb(void)
{
    char line[128];
    FILE *f = fopen("/proc/meminfo", "r");
    long kb = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "MemFree: %ld", &kb) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return (size_t)kb >> 10;
}

/* Makes a child that waits until `go` is closed and then touches a 2 MiB page.  Returns its pid. */
static pid_t child_of_pieces(const int go[2])
{
    pid_t pid = fork();
    char c, *p;

    if (pid != 0)
        return pid;
    close(go[1]);
    (void)!read(go[0], &c, 1);
    p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_HUGETLB, -1, 0);
    if (p == MAP_FAILED)
        _exit(2);
    *p = 1;
    _exit(0);
}

static int pieces(size_t mb, unsigned n)
{
    size_t pages = 0, most = (size_t)1 << 20; /* 4 GiB */
    char *mem = mmap(NULL, most * PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned forks = 0, bus = 0, served = 0;
    int end[2], status;

    if (mem == MAP_FAILED || pipe(end) != 0)
        return 1;
    while (pages < most && free_mb() > mb / 4)
        for (unsigned i = 0; i < 64; i++)
            mem[pages++ * PAGE] = 1;
    for (size_t i = 0; i < pages && free_mb() < mb; i += 128)
        for (size_t k = i; k < i + 128 && k < pages; k += 2)
            madvise(mem + k * PAGE, PAGE, MADV_DONTNEED);
    for (unsigned i = 0; i < n; i++)
        forks += child_of_pieces(end) > 0;
    close(end[1]);
    while (wait(&status) > 0) {
        bus += WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
        served += status == 0;
    }
    printf("forks=%u bus=%u served=%u\n", forks, bus, served);
    return 0;
}

/* Pages of `mem` that are in memory. */
static unsigned long present(void *mem, size_t pages)
{
    static unsigned char vec[LOCKED_MB << 8];
    unsigned long n = 0;

    if (mincore(mem, pages * PAGE, vec) != 0)
        return 0;
    for (size_t i = 0; i < pages; i++)
        n += vec[i] & 1;
    return n;
}

static int locked(size_t mb, unsigned n)
{
    size_t pages = (size_t)LOCKED_MB << 8;
    uint64_t *mem = map(pages * PAGE, MAP_PRIVATE), *other = map(mb << 20, MAP_PRIVATE), *seg;
    int id = shmget(IPC_PRIVATE, pages * PAGE, IPC_CREAT | 0600);

    seg = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
    if (seg == (void *)-1 || mlock(mem, pages * PAGE) != 0 || shmctl(id, SHM_LOCK, NULL) != 0)
        return 1;
    shmctl(id, IPC_RMID, NULL);
    change(seg, pages, 5, 0, 1);
    while (n-- > 0)
        change(other, mb << 8, n, 0, 1);
    printf("pages=%zu locked=%lu segment=%lu other=%lu\n", pages, present(mem, pages),
           present(seg, pages), present(other, pages));
    return 0;
}

static int rounds(size_t mb, unsigned n)
{
    size_t pages = mb << 8;
    uint64_t *mem = map(mb << 20, MAP_PRIVATE);
    unsigned long bad = 0;

    for (unsigned r = 0; r <= n; r++)
        for (size_t i = 0; i < pages; i++) {
            if (r > 0)
                bad += wrong(mem + i * WORDS, (r - 1) * pages + i);
            fill(mem + i * WORDS, r * pages + i);
        }
    printf("bad=%lu\n", bad);
    return bad != 0;
}

static int killed(size_t mb, const char *disk)
{
    size_t pages = mb << 8;
    pid_t owner, off, over = 0;
    int ready[2], status = 0;
    uint64_t in;
    char byte;

    if (pipe(ready) != 0 || (owner = fork()) < 0)
        return 1;
    if (owner == 0) {
        uint64_t *mem = map(mb << 20, MAP_PRIVATE);

        change(mem, pages, 0, 0, 1);
        if (madvise(mem, mb << 20, MADV_PAGEOUT) == 0 && write(ready[1], "r", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    in = count("pswpin");
    if ((off = fork()) == 0)
        _exit(swapoff(disk) != 0);
    while (over == 0 && count("pswpin") - in < pages / 16)
        over = waitpid(off, &status, WNOHANG);
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    in = count("pswpin") - in;
    if (over == 0)
        waitpid(off, &status, 0);
    printf("pages=%zu in=%llu\n", pages, (unsigned long long)in);
    return status != 0;
}

int main(int argc, char **argv)
{
    size_t mb = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    uint64_t third = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;

    if (mb != 0 && strcmp(argv[1], "anon") == 0)
        return anon(mb, third);
    if (mb != 0 && strcmp(argv[1], "shared") == 0)
        return shared(mb, third);
    if (mb != 0 && strcmp(argv[1], "sysv") == 0)
        return sysv(mb, third);
    if (mb != 0 && strcmp(argv[1], "early") == 0)
        return early(mb);
    if (mb != 0 && strcmp(argv[1], "greedy") == 0)
        return greedy(mb);
    if (mb != 0 && (strcmp(argv[1], "looks") == 0 || strcmp(argv[1], "random") == 0))
        return twice(mb, third, argv[1][0] == 'r', MAP_PRIVATE);
    if (mb != 0 && strcmp(argv[1], "sharedlooks") == 0)
        return twice(mb, third, 0, MAP_SHARED);
    if (mb != 0 && strcmp(argv[1], "rounds") == 0)
        return rounds(mb, (unsigned)third);
    if (mb != 0 && strcmp(argv[1], "unmap") == 0)
        return unmap(mb, (unsigned)third);
    if (mb != 0 && strcmp(argv[1], "moved") == 0)
        return moved(mb);
    if (mb != 0 && strcmp(argv[1], "pieces") == 0)
        return pieces(mb, (unsigned)third);
    if (mb != 0 && strcmp(argv[1], "locked") == 0)
        return locked(mb, (unsigned)third);
    if (mb != 0 && argc > 3 && strcmp(argv[1], "killed") == 0)
        return killed(mb, argv[3]);
    fprintf(
        stderr,
        "usage: paging anon|shared|sysv|early|greedy|looks|sharedlooks|random|rounds|unmap|moved|pieces|"
        "locked MB [SEED|N]\n       paging killed MB DISK\n");
    return 2;
}
