// SPDX-License-Identifier: MIT
/*
 * advice.c - what madvise(2) and posix_fadvise(2) do, as counts of pages and commands: for tests/test_pageout.py.
 *
 *     advice map FILE HOW      touch pages of a mapped file that is not in memory; HOW: normal, random, sequential
 *     advice read FILE HOW     read(2) pages one after the other
 *     advice two FILE          one open file is read from page to page, another one of the same file at random
 *     advice need FILE HOW     ask for all pages, by `map` or `file`; wait; touch them
 *     advice swap HOW          private (anon) or shared memory: pageout, random touches, willneed
 *     advice fork              a child's advice for pages that it shares with its parent
 *     advice out FILE UID      as user UID, read a mapped file and advise pageout; count what is left of it
 *     advice cold MB           two regions, one of them cold, while MB of other memory are filled
 *     advice kept FILE         mapped with advice RANDOM: touches by a child, and after the mapping has moved
 *     advice first FILE HOW MB both halves of a file are used again and again while MB of memory are filled; HOW the
 *                              second half is used: `passed`, mapped with advice SEQUENTIAL; `shared`, the same, and
 *                              mapped once more without advice; `once`, read(2) with advice NOREUSE
 *     advice dirty FILE        pages of a mapped file are changed, then advised pageout, and again when they are clean
 *
 * Output: words `key=value`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 2048, STRIDE = 613, TOUCHES = 200, READS = 64, FIRST = 101, RUN = 512 };

static void must(int ok, const char *what)
{
    if (ok)
        return;
    printf("%s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t vmstat(const char *what)
{
    char line[128];
    uint64_t value = 0;
    FILE *f = fopen("/proc/vmstat", "r");

    must(f != NULL, "/proc/vmstat");
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, what, strlen(what)) == 0 && line[strlen(what)] == ' ')
            value = strtoull(line + strlen(what), NULL, 10);
    fclose(f);
    return value;
}

/* Reads of all disks, and the faults of this process. */
struct counts {
    unsigned long commands, pages, major;
};

static struct counts counts(void)
{
    struct counts c = {0};
    struct rusage u;
    char line[256];
    unsigned long reads, sectors;
    FILE *f = fopen("/proc/diskstats", "r");

    must(f != NULL && getrusage(RUSAGE_SELF, &u) == 0, "/proc/diskstats");
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "%*u %*u %*s %lu %*u %lu", &reads, &sectors) == 2) {
            c.commands += reads;
            c.pages += sectors / 8;
        }
    fclose(f);
    c.major = (unsigned long)u.ru_majflt;
    return c;
}

static void say(struct counts from)
{
    struct counts to = counts();

    printf("pages=%lu commands=%lu major=%lu\n", to.pages - from.pages, to.commands - from.commands,
           to.major - from.major);
}

static unsigned long present(void *mem, size_t pages)
{
    static unsigned char vec[PAGES];
    unsigned long n = 0;

    must(pages <= PAGES && mincore(mem, pages * PAGE, vec) == 0, "mincore");
    for (size_t i = 0; i < pages; i++)
        n += vec[i] & 1;
    return n;
}

/* Waits until `want` pages are in memory, or 20 s have passed.  Returns how many are. */
static unsigned long await(void *mem, size_t pages, unsigned long want)
{
    struct timespec pause = {0, 10000000};

    for (int i = 0; i < 2000 && present(mem, pages) != want; i++)
        nanosleep(&pause, NULL);
    return present(mem, pages);
}

/*
 * Opens the file, of PAGES pages, none of which is in memory.  The file's own index is in memory, because all
 * pages were read before.
 */
static int cold_file(const char *path)
{
    static char buf[64 * PAGE];
    int fd = open(path, O_RDONLY);

    must(fd >= 0, path);
    while (read(fd, buf, sizeof buf) > 0)
        ;
    must(fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "fadvise");
    return fd;
}

static volatile char *map_file(int fd)
{
    char *p = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);

    must(p != MAP_FAILED, "mmap");
    must(present(p, PAGES) == 0, "the file is in memory");
    return p;
}

static int map(const char *path, const char *how)
{
    volatile char *p = map_file(cold_file(path));
    int advice = *how == 'r' ? MADV_RANDOM : *how == 's' ? MADV_SEQUENTIAL : MADV_NORMAL;
    struct counts from = counts();

    must(madvise((void *)p, PAGES * PAGE, MADV_RANDOM) == 0, "madvise");
    must(madvise((void *)p, PAGES * PAGE, advice) == 0, "madvise");
    if (*how == 's')
        for (size_t i = FIRST; i < FIRST + RUN; i++)
            (void)p[i * PAGE];
    else
        for (size_t i = 0; i < TOUCHES; i++)
            (void)p[i * STRIDE % PAGES * PAGE];
    say(from);
    return 0;
}

static int read_pages(const char *path, const char *how)
{
    static char buf[PAGE];
    int fd = cold_file(path);
    int advice = *how == 'r'   ? POSIX_FADV_RANDOM
                 : *how == 's' ? POSIX_FADV_SEQUENTIAL
                               : POSIX_FADV_NORMAL;
    struct counts from = counts();

    must(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0 && posix_fadvise(fd, 0, 0, advice) == 0,
         "fadvise");
    for (size_t i = FIRST; i < FIRST + READS; i++)
        must(pread(fd, buf, PAGE, (off_t)i * PAGE) == PAGE, "pread");
    say(from);
    return 0;
}

static int two_readers(const char *path)
{
    static char buf[PAGE];
    int on = cold_file(path), random = open(path, O_RDONLY);
    struct counts from = counts();

    must(random >= 0, path);
    for (size_t i = 0; i < READS; i++) {
        must(pread(on, buf, PAGE, (off_t)(FIRST + i) * PAGE) == PAGE, "pread");
        must(pread(random, buf, PAGE, (off_t)(PAGES / 2 + i * STRIDE % (PAGES / 2)) * PAGE) == PAGE,
             "pread");
    }
    say(from);
    return 0;
}

static int need(const char *path, const char *how)
{
    int fd = cold_file(path);
    volatile char *p = map_file(fd);
    struct counts from = counts();

    if (*how == 'm')
        must(madvise((void *)p, PAGES * PAGE, MADV_WILLNEED) == 0, "madvise");
    else
        must(posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED) == 0, "fadvise");
    printf("there=%lu ", await((void *)p, PAGES, PAGES));
    /* some pages may still be on their way */
    for (int i = 0; i < 2000 && counts().pages - from.pages < PAGES; i++)
        usleep(10000);
    from.major = counts().major;
    for (size_t i = 0; i < PAGES; i++)
        (void)p[i * PAGE];
    say(from);
    return 0;
}

static char *fill(size_t pages, int flags)
{
    char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    must(p != MAP_FAILED, "mmap");
    for (size_t i = 0; i < pages; i++)
        memset(p + i * PAGE, (int)(i % 251) + 1, PAGE);
    return p;
}

static unsigned long wrong(const char *p, size_t i)
{
    return p[i * PAGE] != (char)(i % 251 + 1) || p[i * PAGE + PAGE - 1] != (char)(i % 251 + 1);
}

static int swap(const char *how)
{
    char *p = fill(PAGES, *how == 's' ? MAP_SHARED : MAP_PRIVATE);
    uint64_t out = vmstat("pswpout"), in;
    unsigned long bad = 0;
    struct counts from;

    must(madvise(p, PAGES * PAGE, MADV_PAGEOUT) == 0, "pageout");
    printf("left=%lu ", await(p, PAGES, 0));
    in = vmstat("pswpin");
    printf("out=%lu ", (unsigned long)(vmstat("pswpout") - out));
    must(madvise(p, PAGES * PAGE, MADV_RANDOM) == 0, "random");
    for (size_t i = 0; i < TOUCHES; i++)
        bad += wrong(p, i * STRIDE % PAGES);
    printf("random_in=%lu ", (unsigned long)(vmstat("pswpin") - in));
    must(madvise(p, PAGES * PAGE, MADV_WILLNEED) == 0, "willneed");
    printf("there=%lu ", await(p, PAGES, PAGES));
    from = counts();
    for (size_t i = 0; i < PAGES; i++)
        bad += wrong(p, i);
    printf("bad=%lu ", bad);
    say(from);
    return bad != 0;
}

static int forked(void)
{
    char *p = fill(PAGES, MAP_PRIVATE);
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(madvise(p, PAGES * PAGE, MADV_PAGEOUT) != 0);
    must(waitpid(child, &status, 0) == child && status == 0, "child");
    usleep(300000);
    printf("left=%lu\n", present(p, PAGES));
    return 0;
}

static int out(const char *path, int uid)
{
    int fd = open(path, O_RDONLY);
    volatile char *p = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);

    must(p != MAP_FAILED && setuid((uid_t)uid) == 0, path);
    for (size_t i = 0; i < PAGES; i++)
        (void)p[i * PAGE];
    must(madvise((void *)p, PAGES * PAGE, MADV_PAGEOUT) == 0, "pageout");
    printf("left=%lu\n", present((void *)p, PAGES));
    return 0;
}

static int cold(size_t mb)
{
    char *a = fill(PAGES, MAP_PRIVATE), *b = fill(PAGES, MAP_PRIVATE), *c;
    unsigned long left = PAGES;

    c = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(c != MAP_FAILED && madvise(a, PAGES * PAGE, MADV_COLD) == 0, "cold");
    for (size_t i = 0; i < mb << 8 && left > PAGES / 4; i++) {
        c[i * PAGE] = 1;
        if (i % 64 == 0)
            left = present(a, PAGES);
    }
    printf("cold=%lu other=%lu\n", left, present(b, PAGES));
    return 0;
}

static int kept(const char *path)
{
    volatile char *p = map_file(cold_file(path)), *moved;
    void *place = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct counts from = counts();
    pid_t child;
    int status;

    must(madvise((void *)p, PAGES * PAGE, MADV_RANDOM) == 0, "madvise");
    child = fork();
    for (size_t i = 0; child == 0 && i < TOUCHES; i++)
        (void)p[i * STRIDE % PAGES * PAGE];
    if (child == 0)
        _exit(0);
    must(waitpid(child, &status, 0) == child && status == 0, "child");
    printf("child=%lu ", counts().pages - from.pages);
    cold_file(path);
    from = counts();
    moved = mremap((void *)p, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    must(moved == place, "mremap");
    for (size_t i = 0; i < TOUCHES; i++)
        (void)moved[i * STRIDE % PAGES * PAGE];
    printf("moved=%lu\n", counts().pages - from.pages);
    return 0;
}

struct use {
    volatile char *map, *other; /* of the file; a second mapping of its second half, or NULL */
    int rest, half;             /* descriptors for read(2); 0: the pages are touched */
};

/* Uses the pages of the file that are in memory, or all pages. */
static void use(const struct use *u, int all)
{
    static unsigned char vec[PAGES];
    static char buf[PAGE];

    must(mincore((void *)u->map, PAGES * PAGE, vec) == 0, "mincore");
    for (size_t i = 0; i < PAGES; i++) {
        if (!all && !(vec[i] & 1))
            continue;
        if (u->half != 0)
            must(pread(i < PAGES / 2 ? u->rest : u->half, buf, PAGE, (off_t)i * PAGE) == PAGE,
                 "pread");
        else
            (void)u->map[i * PAGE];
        if (u->other != NULL && i >= PAGES / 2)
            (void)u->other[i * PAGE];
    }
}

static int first(const char *path, const char *how, size_t mb)
{
    int fd = cold_file(path);
    struct use u = {.map = map_file(fd)};
    unsigned long left = PAGES / 2;
    char *c = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    must(c != MAP_FAILED, "mmap");
    if (strcmp(how, "once") == 0) {
        u.half = fd;
        u.rest = open(path, O_RDONLY);
        must(u.rest >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_NOREUSE) == 0, "fadvise");
    } else {
        must(madvise((char *)u.map + PAGES / 2 * PAGE, PAGES / 2 * PAGE, MADV_SEQUENTIAL) == 0,
             "madvise");
    }
    if (strcmp(how, "shared") == 0)
        u.other = map_file(open(path, O_RDONLY));
    use(&u, 1);
    for (size_t i = 0; i < mb << 8 && left > PAGES / 8; i++) {
        c[i * PAGE] = 1;
        if (i % 64 == 0) {
            use(&u, 0);
            left = present((char *)u.map + PAGES / 2 * PAGE, PAGES / 2);
        }
    }
    printf("half=%lu rest=%lu\n", left, present((void *)u.map, PAGES / 2));
    return 0;
}

static int dirty(const char *path)
{
    int fd = open(path, O_RDWR);
    char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t from = vmstat("pgpgout");

    must(p != MAP_FAILED, path);
    for (size_t i = 0; i < PAGES; i++)
        memset(p + i * PAGE, (int)(i % 251) + 1, PAGE);
    must(madvise(p, PAGES * PAGE, MADV_PAGEOUT) == 0, "pageout");
    /* 10 s: fsflush needs 30 s to see all pages */
    for (int i = 0; i < 1000 && vmstat("pgpgout") - from < PAGES * PAGE / 1024; i++)
        usleep(10000);
    printf("written=%lu ", (unsigned long)(vmstat("pgpgout") - from) / (PAGE / 1024));
    for (int i = 0; i < 1000 && present(p, PAGES) != 0; i++) { /* some may still be on their way */
        must(madvise(p, PAGES * PAGE, MADV_PAGEOUT) == 0, "pageout");
        usleep(10000);
    }
    printf("left=%lu\n", present(p, PAGES));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "map") == 0)
        return map(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "read") == 0)
        return read_pages(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "two") == 0)
        return two_readers(argv[2]);
    if (argc == 4 && strcmp(argv[1], "need") == 0)
        return need(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "swap") == 0)
        return swap(argv[2]);
    if (argc == 2 && strcmp(argv[1], "fork") == 0)
        return forked();
    if (argc == 4 && strcmp(argv[1], "out") == 0)
        return out(argv[2], atoi(argv[3]));
    if (argc == 3 && strcmp(argv[1], "cold") == 0)
        return cold(strtoul(argv[2], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "kept") == 0)
        return kept(argv[2]);
    if (argc == 5 && strcmp(argv[1], "first") == 0)
        return first(argv[2], argv[3], strtoul(argv[4], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "dirty") == 0)
        return dirty(argv[2]);
    fprintf(
        stderr,
        "usage: advice map|read|need FILE HOW | two|kept|dirty FILE | swap anon|shared | fork | "
        "out FILE UID | cold MB | first FILE passed|shared|once MB\n");
    return 2;
}
