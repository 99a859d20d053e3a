// SPDX-License-Identifier: MIT
/*
 * storm.c - many processes use the same few files of a disk: races of the page cache, the journal and truncation.
 *
 *     storm DIR SEED OPS WRITERS   WRITERS processes do OPS operations each, mixed at random; some are killed
 *     storm part DIR               parts of a page: blocks that are smaller than a page, holes, stores by mmap
 *     storm check DIR              checks what `part` left, after the disk was mounted again
 *     storm full DIR               writes beyond the end that find no room, beside fsync: their bytes must not appear
 *     storm cut DIR                a file is cut in the middle of a page that is on its way to a slow disk
 *
 * THEORY      Each process has a file of its own whose bytes it knows and checks.  All processes also work on files
 *             that they share.  The bytes of these are unknown; the only requirement is that nothing hangs or breaks.
 *             e2fsck checks the file system afterwards.
 * OUTPUT      lines `key=value`; status 0 if all is right
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, SHARED = 6, OWN_MAX = 96 * 1024, SHARED_MAX = 400 * 1024 };

static unsigned seed;
static char buf[64 * 1024];

static unsigned below(unsigned n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

static void fail(const char *what, long a, long b)
{
    printf("storm: %s: %ld %ld (%s)\n", what, a, b, strerror(errno));
    fflush(stdout);
    _exit(1);
}

/* ---- parts of a page ------------------------------------------------------------------------- */

static char *map(int fd, size_t n)
{
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (p == MAP_FAILED)
        fail("mmap", fd, (long)n);
    return p;
}

static int make(const char *name, off_t size)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || ftruncate(fd, size) != 0)
        fail(name, fd, size);
    return fd;
}

/* Stores beyond the end, in the last page: they must not reach the disk, and must not appear when the file grows. */
static void part_behind(void)
{
    static const char *const names[] = {"behind", "behind.cut", "behind.gap"};
    char *p, c[2] = {'x', 'x'};
    int fd = -1;

    for (int i = 0; i < 3; i++) {
        fd = make(names[i], 100);
        p = map(fd, PAGE);
        p[99] = 'a';
        p[200] = p[3000] = 'x';
        if (msync(p, PAGE, MS_SYNC) != 0)
            fail("msync", i, 0);
        p[300] = 'x'; /* once more, after the page was clean */
        if ((i == 1 && ftruncate(fd, 2000) != 0) || (i == 2 && pwrite(fd, "y", 1, 2500) != 1))
            fail(names[i], 0, 0);
        if (i == 1 && (pread(fd, &c[0], 1, 200) != 1 || pread(fd, &c[1], 1, 300) != 1 ||
                       c[0] != 0 || c[1] != 0))
            fail("a longer file shows", c[0], c[1]);
        if (msync(p, PAGE, MS_SYNC) != 0)
            fail("msync", i, 1);
    }
    fd = make("reserved", 0);
    if (posix_fallocate(fd, 0, 5000) != 0 || lseek(fd, 0, SEEK_END) != 5000)
        fail("posix_fallocate", 0, 0);
}

/*
 * Runs after a mount, so that the data comes from the disk.  Makes the files longer: they must have zeros after their
 * old ends.
 */
static int check_behind(void)
{
    static const struct {
        const char *name;
        off_t size;
        int y; /* the place of the byte y; -1: there is none */
    } was[] = {{"behind", 100, -1},
               {"behind.cut", 2000, -1},
               {"behind.gap", 2501, 2500},
               {"reserved", 5000, -1}};
    int bad = 0;

    for (int i = 0; i < 4; i++) {
        int fd = open(was[i].name, O_RDWR);
        off_t size = lseek(fd, 0, SEEK_END);

        memset(buf, 1, 2 * PAGE);
        if (fd < 0 || ftruncate(fd, 2 * PAGE) != 0 || pread(fd, buf, 2 * PAGE, 0) != 2 * PAGE)
            fail(was[i].name, fd, size);
        for (int k = 0; k < 2 * PAGE; k++)
            if (buf[k] != (i < 3 && k == 99 ? 'a'
                           : k == was[i].y  ? 'y'
                                            : 0) ||
                size != was[i].size) {
                printf("%s: byte %d is %d, size %ld\n", was[i].name, k, buf[k], (long)size);
                bad++;
                break;
            }
        close(fd);
    }
    return bad;
}

/* Each file gets a byte at each of three places, which lie in different blocks of one page, in different ways. */
static int part(void)
{
    int fd = make("hole", PAGE);
    char *p = map(fd, PAGE);
    struct stat st;

    if (pwrite(fd, "a", 1, 0) != 1) /* the page is dirty and has one block */
        fail("pwrite", 0, 0);
    p[1500] = 'b'; /* no fault, or one that finds the page dirty */
    p[3500] = 'c';

    fd = make("grown", 1);
    p = map(fd, PAGE);
    p[0] = 'a';
    if (ftruncate(fd, PAGE) != 0) /* mapped, writable, dirty; and now it has more blocks */
        fail("ftruncate", 0, 0);
    p[1500] = 'b';
    p[3500] = 'c';

    fd = make("appended", 1);
    p = map(fd, PAGE);
    p[0] = 'a';
    if (pwrite(fd, "d", 1, 10000) != 1)
        fail("pwrite", 0, 0);
    p[1500] = 'b';
    p[3500] = 'c';

    fd = make("later", 0);
    if (pwrite(fd, "a", 1, 0) != 1 || fsync(fd) != 0 || ftruncate(fd, PAGE) != 0 ||
        fstat(fd, &st) != 0)
        fail("pwrite", 0, 0);
    /* clean and not mapped; but another thread could be about to make the page dirty */
    if (st.st_blocks < PAGE / 512)
        fail("a page that the file has grown beyond lacks blocks", (long)st.st_blocks, 0);
    p = map(fd, PAGE); /* after the file has grown */
    p[1500] = 'b';
    p[3500] = 'c';
    fd = open("sparse", O_RDWR); /* made by mke2fs: two holes, a block, a hole */
    p = map(fd, PAGE);
    /* now the page differs from the disk, and has no block */
    if (p[2048] != 's' || ftruncate(fd, 1500) != 0)
        fail("sparse", fd, 0);
    p[100] = 'b';
    p[1200] = 'c';
    if (msync(p, PAGE, MS_SYNC) != 0)
        fail("msync of a sparse file", 0, 0);
    part_behind();
    sync();
    return 0;
}

static int check_sparse(void)
{
    int fd = open("sparse", O_RDONLY);
    long n = pread(fd, buf, PAGE, 0);

    if (n == 1500 && buf[100] == 'b' && buf[1200] == 'c')
        return 0;
    printf("sparse: %ld bytes, %d %d\n", n, buf[100], buf[1200]);
    return 1;
}

static int check(void)
{
    static const char *const names[] = {"hole", "grown", "appended", "later"};
    int bad = check_behind() + check_sparse();

    for (int i = 0; i < 4; i++) {
        int fd = open(names[i], O_RDONLY);

        memset(buf, 0, PAGE);
        if (fd < 0 || pread(fd, buf, PAGE, 0) != PAGE)
            fail(names[i], fd, 0);
        if (buf[0] != 'a' || buf[1500] != 'b' || buf[3500] != 'c') {
            printf("%s: %d %d %d\n", names[i], buf[0], buf[1500], buf[3500]);
            bad++;
        }
        close(fd);
    }
    printf("bad=%d\n", bad);
    return bad != 0;
}

static void fill_disk(void)
{
    int fd = make("fill", 0);

    for (int i = 0; i < 2; i++) {
        while (write(fd, buf, sizeof buf) > 0 || write(fd, buf, 1024) > 0)
            ;
        sync();
    }
    close(fd);
}

static long now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static sigjmp_buf no_room;

static void on_no_room(int sig)
{
    siglongjmp(no_room, sig);
}

/*
 * A file with holes is to grow from inside a page, and the disk has room for a part of that page.  A store to the rest
 * must be refused, or must be on the disk when fsync returns without an error.
 */
static int full_page(void)
{
    int one = make("one", 0), fd = make("part", 3000);
    char *p = map(fd, PAGE), c = 0;

    if (pwrite(one, "1", 1, 0) != 1)
        fail("pwrite", one, 0);
    fill_disk();
    if (unlink("one") != 0 || close(one) != 0)
        fail("unlink", one, 0);
    sync();
    if (ftruncate(fd, 2 * PAGE) != -1 || errno != ENOSPC)
        fail("there is room for a page", fd, 0);
    signal(SIGBUS, on_no_room);
    if (sigsetjmp(no_room, 1) == 0) {
        *(volatile char *)(p + 2500) = 'x';
        if (fsync(fd) != 0 || munmap(p, PAGE) != 0 ||
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0 || pread(fd, &c, 1, 2500) != 1 ||
            c != 'x')
            fail("a store is lost", c, 0);
    }
    signal(SIGBUS, SIG_DFL);
    close(fd);
    return unlink("part") | unlink("fill");
}

static int full(void)
{
    enum { ROUNDS = 40, ROUND_US = 30000 };
    int bad = full_page(), fd = make("full", 100);

    if (pwrite(fd, "a", 1, 0) != 1)
        fail("pwrite", 0, 0);
    fill_disk();
    for (int k = 0; k < ROUNDS; k++) {
        pid_t pid = fork();

        while (pid == 0)
            if (pwrite(fd, "a", 1, 0) != 1 || fdatasync(fd) != 0)
                fail("fdatasync", k, 0);
        memset(buf, 'b', 3000);
        for (long end = now_us() + ROUND_US; now_us() < end;)
            if (pwrite(fd, buf, 3000, 100) != -1 || errno != ENOSPC)
                fail("there is room", k, 0);
        if (kill(pid, SIGKILL) != 0 || waitpid(pid, NULL, 0) != pid)
            fail("kill", k, pid);
        if (ftruncate(fd, 1000) != 0 || fsync(fd) != 0 ||
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
            fail("made longer", k, 0);
        if (pread(fd, buf, 1000, 0) != 1000)
            fail("pread", k, 0);
        for (int i = 1; i < 1000; i++)
            if (buf[i] != 0) {
                bad++;
                break;
            }
        if (ftruncate(fd, 100) != 0)
            fail("cut", k, 0);
    }
    unlink("fill");
    printf("bad=%d\n", bad);
    return bad != 0;
}

/*
 * The blocks of the part that is cut off go to another file.  That file must keep its own bytes, also after all is
 * written.
 */
static int cut(void)
{
    enum { MANY = 256 * PAGE };
    int a = make("cut", 0), b = make("other", 0), many = make("many", 0), bad = 0;
    char *p, *q;

    memset(buf, 'a', sizeof buf);
    for (int i = 0; i < MANY; i += (int)sizeof buf)
        if (write(many, buf, sizeof buf) != (long)sizeof buf)
            fail("write", i, 0);
    if (write(a, buf, PAGE) != PAGE)
        fail("write", 0, 0);
    fill_disk();
    p = map(many, MANY);
    q = map(a, PAGE);
    for (int i = 0; i < MANY; i += 2 * PAGE)
        p[i] = 'b';
    q[0] = q[4000] = 'b';
    if (msync(p, MANY, MS_ASYNC) != 0 || msync(q, PAGE, MS_ASYNC) != 0 || ftruncate(a, 1024) != 0)
        fail("cut", 0, 0);
    if (fchmod(b, 0600) != 0 || fsync(b) != 0) /* a commit, so that the freed blocks can be used */
        fail("commit", 0, 0);
    memset(buf, 'c', 3072);
    if (pwrite(b, buf, 3072, 0) != 3072 || fsync(b) != 0)
        fail("other", 0, 0);
    if (fsync(many) != 0 || posix_fadvise(b, 0, 0, POSIX_FADV_DONTNEED) != 0 ||
        pread(b, buf, 3072, 0) != 3072)
        fail("read", 0, 0);
    for (int i = 0; i < 3072; i++)
        bad += buf[i] != 'c';
    printf("bad=%d\n", bad);
    return bad != 0;
}

/* ---- the storm ------------------------------------------------------------------------------- */

static char own[32], *model; /* the file of this process, and its contents */
static long own_size;

static void own_check(int fd)
{
    long n, at = 0;

    for (; at < own_size; at += n) {
        n = pread(fd, buf, sizeof buf, at);
        if (n <= 0)
            fail("own file is short", at, own_size);
        for (long i = 0; i < n; i++)
            if (buf[i] != model[at + i])
                fail("own file differs at", at + i, own_size);
    }
    if (lseek(fd, 0, SEEK_END) != own_size)
        fail("own file's size", lseek(fd, 0, SEEK_END), own_size);
}

/* Stores c into n bytes of the process's own file.  If the disk is full, the rest of them must be unchanged. */
static void own_store(char *p, long at, long n, char c)
{
    static volatile long done;

    done = 0;
    signal(SIGBUS, on_no_room);
    if (sigsetjmp(no_room, 1) == 0)
        for (; done < n; done++) {
            ((volatile char *)p)[at + done] = c;
            model[at + done] = c;
        }
    signal(SIGBUS, SIG_DFL);
}

static void own_step(void)
{
    int fd = open(own, O_RDWR | O_CREAT | (below(20) == 0 ? O_SYNC : 0), 0644);
    long at = below(OWN_MAX), n = 1 + below(below(2) ? 9000 : 300);
    char c = (char)('A' + below(26)), other[40], *p;

    if (fd < 0) {
        if (errno == ENOSPC)
            return;
        fail("open own", errno, 0);
    }
    if (at + n > OWN_MAX)
        n = OWN_MAX - at;
    switch (below(8)) {
    case 0:
    case 1:
    case 2: /* write */
        memset(buf, c, (size_t)n);
        n = pwrite(fd, buf, (size_t)n, at);
        if (n < 0 && errno != ENOSPC)
            fail("pwrite own", at, n);
        if (n > 0) {
            memset(model + at, c, (size_t)n);
            own_size = own_size > at + n ? own_size : at + n;
        }
        break;
    case 3: /* store through a mapping */
        if (own_size > at + n) {
            p = map(fd, OWN_MAX);
            own_store(p, at, n, c);
            if (below(2) && msync(p, (size_t)(at + n), MS_SYNC) != 0)
                fail("msync", at, n);
            munmap(p, OWN_MAX);
        }
        break;
    case 4: /* make shorter or longer */
        if (ftruncate(fd, at) != 0 && errno != ENOSPC)
            fail("ftruncate own", at, 0);
        if (lseek(fd, 0, SEEK_END) != at) /* growing inside a page may need blocks */
            break;
        if (at < own_size)
            memset(model + at, 0, (size_t)(OWN_MAX - at));
        own_size = at;
        break;
    case 5:
        if (below(4) == 0 && fsync(fd) != 0)
            fail("fsync own", 0, 0);
        own_check(fd);
        break;
    case 6: /* write through another name */
        snprintf(other, sizeof other, "%s.%u", own, below(4));
        unlink(other);
        if (link(own, other) == 0 && below(2))
            rename(other, own);
        break;
    case 7:
        if (below(8) == 0) {
            unlink(own);
            own_check(fd);
            own_size = 0;
            memset(model, 0, OWN_MAX);
        }
    }
    close(fd);
}

static void shared_name(char *name)
{
    sprintf(name, "d%u/s%u", below(2), below(SHARED));
}

static void on_bus(int sig)
{
    (void)sig;
    _exit(7); /* the file was cut under the mapping, or the disk is full */
}

static void store_in_child(int fd)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct stat st;
        char *p = map(fd, SHARED_MAX);

        signal(SIGBUS, on_bus);
        for (int i = 0; i < 20 && fstat(fd, &st) == 0 && st.st_size > 0; i++)
            p[below((unsigned)(st.st_size < SHARED_MAX ? st.st_size : SHARED_MAX))] = (char)i;
        _exit(0);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid &&
        (!WIFEXITED(status) || (WEXITSTATUS(status) & ~7) != 0))
        fail("storing child", status, 0);
}

static void shared_step(void)
{
    char a[32], b[32];
    int fd;
    long at = below(SHARED_MAX), n = 1 + below(40000);
    char *p;

    shared_name(a);
    shared_name(b);
    switch (below(12)) {
    case 0:
        rename(a, b);
        return;
    case 1:
        unlink(a);
        return;
    case 2:
        link(a, b);
        return;
    case 3:
        sprintf(b, "d%u/m%u", below(2), below(3));
        if (mkdir(b, 0755) != 0)
            rmdir(b);
        return;
    case 4:
        if (below(10) == 0)
            sync();
        return;
    }
    fd = open(a, O_RDWR | O_CREAT | (below(10) == 0 ? O_TRUNC : 0), 0644);
    if (fd < 0)
        return;
    switch (below(8)) {
    case 0:
    case 1:
        memset(buf, (char)at, (size_t)n);
        pwrite(fd, buf, (size_t)n, at);
        break;
    case 2:
        ftruncate(fd, at);
        break;
    case 3:
        if (below(3) == 0)
            fsync(fd);
        break;
    case 4:
        store_in_child(fd);
        break;
    case 5:
        pread(fd, buf, (size_t)n, at);
        break;
    case 6: /* write from a mapping of the same file */
        p = map(fd, SHARED_MAX);
        pwrite(fd, p + below(SHARED_MAX - 40000), (size_t)n, at);
        munmap(p, SHARED_MAX);
        break;
    case 7: /* without a name, but still written */
        unlink(a);
        pwrite(fd, buf, (size_t)n, at);
        break;
    }
    close(fd);
}

static int writer(unsigned who, unsigned first_seed, long ops)
{
    seed = first_seed * 7919 + who * 104729 + 1;
    snprintf(own, sizeof own, "own%u", who);
    model = calloc(1, OWN_MAX);
    unlink(own);
    if (model == NULL)
        fail("calloc", 0, 0);
    for (long i = 0; i < ops; i++) {
        if (below(2))
            own_step();
        else
            shared_step();
    }
    return 0;
}

static int storm(unsigned first, long ops, unsigned writers)
{
    pid_t pid[64];
    int bad = 0, status, killed = 0;

    mkdir("d0", 0755);
    mkdir("d1", 0755);
    seed = first;
    for (unsigned i = 0; i < writers; i++)
        if ((pid[i] = fork()) == 0)
            _exit(writer(i, first, ops));
    /* one in four is killed in the middle of its work */
    for (unsigned i = 0; i < writers / 4; i++, killed++) {
        usleep(200000 + below(400000));
        kill(pid[i], SIGKILL);
    }
    for (unsigned i = 0; i < writers; i++)
        if (waitpid(pid[i], &status, 0) != pid[i] ||
            (status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))) {
            printf("storm: writer %u, process %d, ended with status %x\n", i, pid[i], status);
            bad++;
        }
    printf("seed=%u writers=%u killed=%d bad=%d\n", first, writers, killed, bad);
    return bad != 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } tests[] = {{"part", part}, {"check", check}, {"full", full}, {"cut", cut}};
    int named = argc == 3;

    if ((argc != 5 && !named) || chdir(argv[named ? 2 : 1]) != 0) {
        fprintf(stderr, "usage: storm DIR SEED OPS WRITERS | storm part|check|full|cut DIR\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 0; named && i < sizeof tests / sizeof tests[0]; i++)
        if (strcmp(argv[1], tests[i].name) == 0)
            return tests[i].run();
    if (named)
        fail(argv[1], 0, 0);
    return storm((unsigned)atoi(argv[2]), atol(argv[3]), (unsigned)atoi(argv[4]));
}
