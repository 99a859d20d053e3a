// SPDX-License-Identifier: MIT
/* t_file.c - files, directories, pipes, polling.  Each test works in a new directory below /tmp. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

static void enter_directory(void)
{
    char name[] = "/tmp/t_file.XXXXXX";

    EXPECT(mkdtemp(name) != NULL);
    EXPECT_EQ(chdir(name), 0);
}

static int make(const char *name, const char *text)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

    EXPECT(fd >= 0);
    EXPECT_EQ(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

static long size_of(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 ? (long)st.st_size : -1;
}

static void open_flags(void)
{
    int fd, p[2];
    char path[32];

    enter_directory();
    EXPECT_ERR(open("a", O_RDONLY), ENOENT);
    close(make("a", "hello"));
    EXPECT_ERR(open("a", O_CREAT | O_EXCL | O_WRONLY, 0644), EEXIST);
    fd = open("a", O_WRONLY | O_APPEND);
    EXPECT_EQ(write(fd, " world", 6), 6);
    EXPECT_EQ(size_of("a"), 11);
    close(fd);
    close(open("a", O_WRONLY | O_TRUNC));
    EXPECT_EQ(size_of("a"), 0);
    EXPECT_ERR(open("a", O_DIRECTORY | O_RDONLY), ENOTDIR);
    EXPECT_ERR(open(".", O_WRONLY), EISDIR);
    EXPECT_ERR(open("a/b", O_RDONLY), ENOTDIR);
    EXPECT_ERR(read(open("a", O_WRONLY), &fd, 1), EBADF);
    EXPECT_ERR(open("", O_RDONLY), ENOENT);
    EXPECT_EQ(syscall(SYS_fcntl, open("a", O_RDWR), F_GETFL), 0100002); /* with O_LARGEFILE */
    EXPECT_EQ(syscall(SYS_fcntl, open(".", O_PATH), F_GETFL), O_PATH);
    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(syscall(SYS_fcntl, p[1], F_GETFL), O_WRONLY);
    EXPECT_ERR(syscall(SYS_fallocate, p[1], 0, 0L, 1L), ESPIPE);
    EXPECT_ERR(syscall(SYS_fallocate, p[0], 2, 0L, 1L), EOPNOTSUPP);
    EXPECT_ERR(syscall(SYS_fallocate, p[0], 0, 0L, 1L), EBADF);
    snprintf(path, sizeof path, "/proc/self/fd/%d", p[0]);
    EXPECT_ERR(linkat(AT_FDCWD, path, AT_FDCWD, "p", AT_SYMLINK_FOLLOW), EXDEV);
    EXPECT_ERR(syscall(SYS_fadvise64, p[0], 0L, -1L, POSIX_FADV_NORMAL), ESPIPE);

    struct rlimit few = {3, 3};

    make("kept", "0123456789");
    /* when no descriptor is left, no file is made or cut */
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    EXPECT_ERR(open("new", O_CREAT | O_WRONLY, 0600), EMFILE);
    EXPECT_ERR(open("kept", O_TRUNC | O_WRONLY), EMFILE);
    EXPECT_ERR(access("new", F_OK), ENOENT);
    EXPECT_EQ(size_of("kept"), 10);
}

static void seeking(void)
{
    int fd;
    char buf[16] = {0};

    enter_directory();
    fd = make("a", "0123456789");
    EXPECT_EQ(lseek(fd, -3, SEEK_END), 7);
    EXPECT_EQ(read(fd, buf, 16), 3);
    EXPECT(strcmp(buf, "789") == 0);
    EXPECT_EQ(lseek(fd, 2, SEEK_SET), 2);
    EXPECT_EQ(lseek(fd, 2, SEEK_CUR), 4);
    EXPECT_ERR(lseek(fd, -1, SEEK_SET), EINVAL);
    EXPECT_EQ(pread(fd, buf, 2, 8), 2);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 4);
    EXPECT_EQ(pwrite(fd, "x", 1, 20000), 1); /* a hole */
    EXPECT_EQ(size_of("a"), 20001);
    EXPECT_EQ(pread(fd, buf, 4, 10000), 4);
    EXPECT(memcmp(buf, "\0\0\0\0", 4) == 0);
}

/* Files whose text is made when it is read have a position as other files have. */
static void seeking_in_made_text(void)
{
    static const char *const names[] = {"/proc/self/status", "/proc/meminfo", "/dev/kstat"};
    char first[8], again[8];

    for (int i = 0; i < (on_homeroom() ? 3 : 2); i++) {
        int fd = open(names[i], O_RDONLY);

        EXPECT_EQ(read(fd, first, 8), 8);
        EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
        EXPECT_EQ(read(fd, again, 8), 8);
        EXPECT(memcmp(first, again, 8) == 0);
        EXPECT_EQ(lseek(fd, -4, SEEK_CUR), 4);
        EXPECT_EQ(read(fd, again, 4), 4);
        EXPECT(memcmp(first + 4, again, 4) == 0);
        EXPECT_EQ(lseek(fd, 1 << 24, SEEK_SET), 1 << 24);
        EXPECT_EQ(read(fd, again, 4), 0);
        EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 1 << 24);
        EXPECT_ERR(lseek(fd, 8, -1), EINVAL);
    }
}

static void truncation(void)
{
    int fd;
    char buf[8];

    enter_directory();
    fd = make("a", "0123456789");
    EXPECT_EQ(ftruncate(fd, 4), 0);
    EXPECT_EQ(ftruncate(fd, 8), 0);
    EXPECT_EQ(pread(fd, buf, 8, 0), 8);
    EXPECT(memcmp(buf, "0123\0\0\0\0", 8) == 0);
    EXPECT_EQ(truncate("a", 0), 0);
    EXPECT_EQ(size_of("a"), 0);
    EXPECT_ERR(ftruncate(fd, -1), EINVAL);
}

static void vectors(void)
{
    char a[3], b[4];
    struct iovec out[] = {{(char *)"abc", 3}, {(char *)"", 0}, {(char *)"defg", 4}};
    struct iovec in[] = {{a, 3}, {b, 4}};
    int fd;

    enter_directory();
    fd = make("a", "");
    EXPECT_EQ(writev(fd, out, 3), 7);
    EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
    EXPECT_EQ(readv(fd, in, 2), 7);
    EXPECT(memcmp(a, "abc", 3) == 0 && memcmp(b, "defg", 4) == 0);
    EXPECT_ERR(writev(fd, out, -1), EINVAL);
}

static void names(void)
{
    struct stat st;

    enter_directory();
    close(make("a", "A"));
    EXPECT_EQ(link("a", "b"), 0);
    EXPECT_EQ(stat("b", &st), 0);
    EXPECT_EQ(st.st_nlink, 2);
    EXPECT_ERR(link("a", "b"), EEXIST);
    EXPECT_EQ(unlink("a"), 0);
    EXPECT_ERR(unlink("a"), ENOENT);
    EXPECT_EQ(rename("b", "c"), 0);
    close(make("d", "D!"));
    EXPECT_EQ(rename("c", "d"), 0); /* replaces d */
    EXPECT_EQ(size_of("d"), 1);
    EXPECT_ERR(rename("none", "x"), ENOENT);
    EXPECT_EQ(mkdir("dir", 0755), 0);
    EXPECT_EQ(mkdir("dir/sub", 0755), 0);
    EXPECT_ERR(rename("dir", "dir/sub/x"), EINVAL);
    EXPECT_ERR(rename("d", "dir"), EISDIR);
    EXPECT_ERR(rename("dir", "d"), ENOTDIR);
    EXPECT_ERR(rmdir("dir"), ENOTEMPTY);
    EXPECT_ERR(rmdir("d"), ENOTDIR);
    EXPECT(unlink("dir") == -1 && (errno == EISDIR || errno == EPERM));
    EXPECT_EQ(rename("dir/sub", "moved"), 0);
    EXPECT_EQ(rmdir("dir"), 0);
    EXPECT_EQ(stat("moved/..", &st), 0);
    EXPECT_ERR(mkdir("moved", 0755), EEXIST);
}

static void symbolic_links(void)
{
    char buf[64];
    struct stat st;

    enter_directory();
    close(make("a", "hello"));
    EXPECT_EQ(symlink("a", "s"), 0);
    EXPECT_EQ(readlink("s", buf, sizeof buf), 1);
    EXPECT_EQ(size_of("s"), 5);
    EXPECT_EQ(lstat("s", &st), 0);
    EXPECT(S_ISLNK(st.st_mode) && st.st_size == 1);
    EXPECT_EQ(symlink("loop2", "loop1"), 0);
    EXPECT_EQ(symlink("loop1", "loop2"), 0);
    EXPECT_ERR(open("loop1", O_RDONLY), ELOOP);
    EXPECT_ERR(open("s", O_RDONLY | O_NOFOLLOW), ELOOP);
    EXPECT_EQ(symlink("nowhere", "dangling"), 0);
    EXPECT_ERR(open("dangling", O_RDONLY), ENOENT);
    EXPECT_ERR(readlink("a", buf, sizeof buf), EINVAL);
    EXPECT_EQ(mkdir("d", 0755), 0);
    EXPECT_EQ(symlink("../a", "d/up"), 0);
    EXPECT_EQ(size_of("d/up"), 5);
}

static void unlinked_but_open(void)
{
    char buf[8] = {0};
    int fd;
    struct stat st;

    enter_directory();
    fd = make("a", "still");
    EXPECT_EQ(unlink("a"), 0);
    EXPECT_EQ(pread(fd, buf, 5, 0), 5);
    EXPECT(strcmp(buf, "still") == 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_nlink, 0);
}

static void directories(void)
{
    DIR *dir;
    struct dirent *entry;
    int seen = 0, dots = 0;
    char name[32];

    enter_directory();
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "file-%d", i);
        close(make(name, ""));
    }
    EXPECT((dir = opendir(".")) != NULL);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            dots++;
        else
            seen++;
        EXPECT(entry->d_type == DT_REG || entry->d_type == DT_DIR);
        if (entry->d_name[0] != '.')
            /* removing names while reading must not skip any */
            EXPECT_EQ(unlink(entry->d_name), 0);
    }
    EXPECT_EQ(dots, 2);
    EXPECT_EQ(seen, 300);
    closedir(dir);
}

static void working_directory(void)
{
    char before[256], after[256];

    enter_directory();
    EXPECT(getcwd(before, sizeof before) != NULL);
    EXPECT_EQ(mkdir("x", 0755), 0);
    EXPECT_EQ(chdir("x"), 0);
    EXPECT_EQ(chdir(".."), 0);
    EXPECT(getcwd(after, sizeof after) != NULL);
    EXPECT(strcmp(before, after) == 0);
    EXPECT(getcwd(after, 3) == NULL);
    EXPECT_EQ(errno, ERANGE);
    EXPECT_ERR(chdir("none"), ENOENT);
}

static void descriptors(void)
{
    int fd, copy;
    char c;

    enter_directory();
    fd = make("a", "xyz");
    copy = dup(fd);
    EXPECT_EQ(lseek(fd, 1, SEEK_SET), 1);
    EXPECT_EQ(read(copy, &c, 1), 1); /* one offset for both descriptors */
    EXPECT_EQ(c, 'y');
    EXPECT_EQ(dup2(fd, 40), 40);
    EXPECT_EQ(close(fd), 0);
    EXPECT_ERR(close(fd), EBADF);
    EXPECT_ERR(read(fd, &c, 1), EBADF);
    EXPECT_EQ(read(40, &c, 1), 1);
    EXPECT_EQ(c, 'z');
    EXPECT_EQ(fcntl(40, F_DUPFD, 60), 60);
    EXPECT_EQ(fcntl(60, F_DUPFD_CLOEXEC, 61), 61);
    EXPECT_EQ(fcntl(61, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(60, F_GETFD), 0);
    EXPECT_EQ(fcntl(60, F_GETFL) & O_ACCMODE, O_RDWR);
    EXPECT_ERR(dup2(60, -1), EBADF);
    EXPECT_ERR(fcntl(60, 9999), EINVAL);
}

static void pipes(void)
{
    int fd[2];
    char buf[70000];
    ssize_t n, total = 0;

    EXPECT_EQ(pipe2(fd, O_NONBLOCK), 0);
    EXPECT_ERR(read(fd[0], buf, 1), EAGAIN);
    while ((n = write(fd[1], buf, sizeof buf)) > 0)
        total += n;
    EXPECT_EQ(errno, EAGAIN);
    EXPECT(total >= 4096);
    EXPECT_EQ(read(fd[0], buf, 4096), 4096);
    EXPECT_EQ(write(fd[1], buf, 100), 100);
    while (read(fd[0], buf, sizeof buf) > 0)
        ;
    close(fd[1]);
    EXPECT_EQ(read(fd[0], buf, 1), 0);
    EXPECT_ERR(lseek(fd[0], 0, SEEK_SET), ESPIPE);
}

/* stat() and /proc show the same number for both ends of a pipe, and another number for another pipe. */
static void pipe_numbers(void)
{
    char path[64], name[64] = {0}, wanted[64];
    struct stat st;
    int fd[4];
    ino_t ino = 0;

    EXPECT_EQ(pipe(fd), 0);
    EXPECT_EQ(pipe(fd + 2), 0);
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(fstat(fd[i], &st), 0);
        EXPECT(st.st_ino != 0);
        EXPECT((st.st_ino == ino) == (i % 2 == 1));
        ino = st.st_ino;
        sprintf(path, "/proc/self/fd/%d", fd[i]);
        sprintf(wanted, "pipe:[%lu]", (unsigned long)ino);
        EXPECT(readlink(path, name, sizeof name - 1) > 0);
        EXPECT(strcmp(name, wanted) == 0);
        memset(name, 0, sizeof name);
    }
}

/* Opening a pipe through the /proc name of one of its ends keeps the pipe, but not that end. */
static void pipe_opened_again(void)
{
    int fd[2], reader, writer, path;
    char name[64], c;

    EXPECT_EQ(pipe(fd), 0);
    sprintf(name, "/proc/self/fd/%d", fd[1]);
    reader = open(name, O_RDONLY);
    EXPECT(reader >= 0);
    close(fd[0]);
    EXPECT_EQ(write(fd[1], "x", 1), 1);
    close(fd[1]);
    EXPECT_EQ(read(reader, &c, 1), 1);
    EXPECT_EQ(read(reader, &c, 1), 0);

    path = open("/proc/self/fd", O_PATH);
    EXPECT_EQ(pipe(fd), 0);
    sprintf(name, "%d", fd[0]);
    path = openat(path, name, O_PATH);
    EXPECT(path >= 0);
    close(fd[0]);
    close(fd[1]);
    sprintf(name, "/proc/self/fd/%d", path);
    writer = open(name, O_RDWR); /* no open end of the pipe was left */
    EXPECT(writer >= 0);
    EXPECT_EQ(write(writer, "y", 1), 1);
    EXPECT_EQ(read(writer, &c, 1), 1);
    EXPECT_EQ(c, 'y');
}

static void pipe_writes_are_atomic(void)
{
    int fd[2], bad = 0;
    char buf[512], first;

    EXPECT_EQ(pipe(fd), 0);
    for (char c = 'a'; c < 'e'; c++) {
        if (fork() == 0) {
            memset(buf, c, sizeof buf);
            for (int i = 0; i < 100; i++)
                if (write(fd[1], buf, sizeof buf) != sizeof buf)
                    _exit(1);
            _exit(0);
        }
    }
    close(fd[1]);
    for (int i = 0; i < 400; i++) {
        size_t got = 0;
        ssize_t n;

        while (got < sizeof buf && (n = read(fd[0], buf + got, sizeof buf - got)) > 0)
            got += (size_t)n;
        EXPECT_EQ(got, sizeof buf);
        first = buf[0];
        for (size_t k = 0; k < sizeof buf; k++)
            bad += buf[k] != first;
    }
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(read(fd[0], buf, 1), 0);
}

enum { PIECE = 64 }; /* divides a page */

/* Fills the pipe with a pattern that continues `*at`.  Returns the number of bytes. */
static int fill_pipe(int fd, unsigned *at, int most)
{
    int n = 0, size = PIECE;

    while (n < most) {
        unsigned char c[PIECE];

        if (most - n < size)
            size = 1;
        for (int i = 0; i < size; i++)
            c[i] = (unsigned char)((*at + (unsigned)i) % 251);
        if (write(fd, c, (size_t)size) != size) {
            if (size == 1)
                break;
            size = 1; /* there may be room for some of them */
            continue;
        }
        n += size;
        *at += (unsigned)size;
    }
    return n;
}

static void drain_pipe(int fd, unsigned *at, int bytes)
{
    unsigned char c[PIECE];

    while (bytes > 0) {
        ssize_t n = read(fd, c, (size_t)(bytes < PIECE ? bytes : PIECE));

        EXPECT(n > 0);
        for (int i = 0; i < n; i++, ++*at)
            EXPECT_EQ(c[i], *at % 251);
        bytes -= (int)n;
    }
}

static void pipe_sizes(void)
{
    const int page = 4096, sizes[] = {1, 2, 16, 4, 32, 256, 8, 2, 1};
    int p[2], fd = open("/dev/null", O_RDWR);
    unsigned in = 0, out = 0;
    struct pollfd poller;
    char c = 0;

    EXPECT_EQ(pipe2(p, O_NONBLOCK), 0);
    EXPECT_EQ(fcntl(p[0], F_GETPIPE_SZ), 16 * page);
    EXPECT_ERR(fcntl(fd, F_GETPIPE_SZ), EBADF);
    EXPECT_ERR(fcntl(fd, F_SETPIPE_SZ, page), EBADF);
    EXPECT_ERR(fcntl(p[0], F_SETPIPE_SZ, -1), EINVAL);
    EXPECT_ERR(fcntl(p[0], F_SETPIPE_SZ, (1u << 31) + 1), EINVAL);
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, 0), page);
    EXPECT_EQ(fcntl(p[1], F_SETPIPE_SZ, 2 * page + 1), 4 * page);
    EXPECT_EQ(fcntl(p[0], F_GETPIPE_SZ), 4 * page);
    /* the data stays, wherever the ring begins and ends; Linux needs a whole page for a part that is left of one */
    for (unsigned i = 0; i < 4 * sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i % (sizeof sizes / sizeof *sizes)] * page;
        int old = fcntl(p[0], F_GETPIPE_SZ), keep = 1 + (int)(i * 333 % 4000);
        int most = (old < size ? old : size) - (on_homeroom() ? (int)(i % 4) * 100 : page);

        EXPECT_EQ(fill_pipe(p[1], &in, old), old);
        drain_pipe(p[0], &out, old - keep);
        drain_pipe(p[0], &out, keep > most ? keep - most : 0);
        EXPECT_EQ(fill_pipe(p[1], &in, most - (int)(in - out)), keep < most ? most - keep : 0);
        EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, size), size);
        EXPECT_EQ(fcntl(p[1], F_GETPIPE_SZ), size);
        drain_pipe(p[0], &out, (int)(in - out));
    }
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, 2 * page), 2 * page);
    EXPECT_EQ(fill_pipe(p[1], &in, 3 * page), 2 * page);
    EXPECT_ERR(fcntl(p[0], F_SETPIPE_SZ, page), EBUSY);
    poller = (struct pollfd){.fd = p[1], .events = POLLOUT};
    EXPECT_EQ(poll(&poller, 1, 0), 0);
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, 4 * page), 4 * page);
    EXPECT_EQ(poll(&poller, 1, 0), 1);
    EXPECT_EQ(fill_pipe(p[1], &in, 3 * page), 2 * page);
    drain_pipe(p[0], &out, 4 * page);
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, page), page);
    EXPECT_EQ(fcntl(p[1], F_SETFL, 0), 0);
    /* a writer that waits for room gets it when the pipe grows */
    EXPECT_EQ(fill_pipe(p[1], &in, page), page);
    if (fork() == 0)
        _exit(write(p[1], &c, 1) != 1);
    usleep(20000);
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, 2 * page), 2 * page);
    EXPECT(wait(&fd) > 0);
    EXPECT_EQ(fd, 0);
}

/* The limit for ordinary users is in /proc; the superuser may exceed it. */
static void pipe_size_limit(void)
{
    FILE *f = fopen("/proc/sys/fs/pipe-max-size", "r");
    int p[2], most = 0;

    EXPECT(f != NULL && fscanf(f, "%d", &most) == 1);
    EXPECT_EQ(pipe(p), 0);
    if (on_homeroom() && geteuid() == 0) { /* on Linux, root of a container may not do this */
        EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, most + 1), 2 * most);
        EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, 4096), 4096);
    }
    if (geteuid() == 0)
        EXPECT_EQ(setuid(65534), 0);
    EXPECT_ERR(fcntl(p[0], F_SETPIPE_SZ, most + 1), EPERM);
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, most), most);
    EXPECT_EQ(fcntl(p[0], F_SETPIPE_SZ, 4096), 4096);
}

static void named_pipes(void)
{
    char buf[8];
    int fd;

    enter_directory();
    EXPECT_EQ(mkfifo("f", 0644), 0);
    EXPECT_ERR(open("f", O_WRONLY | O_NONBLOCK), ENXIO);
    if (fork() == 0) {
        fd = open("f", O_WRONLY);
        _exit(write(fd, "through", 7) != 7);
    }
    fd = open("f", O_RDONLY);
    EXPECT(fd >= 0);
    EXPECT_EQ(read(fd, buf, 8), 7);
    EXPECT_EQ(read(fd, buf, 8), 0);
}

static void polling(void)
{
    int fd[2];
    struct pollfd p[2];
    struct timeval moment = {0, 20000};
    fd_set set;

    EXPECT_EQ(pipe(fd), 0);
    p[0] = (struct pollfd){fd[0], POLLIN, 0};
    p[1] = (struct pollfd){fd[1], POLLOUT, 0};
    EXPECT_EQ(poll(p, 1, 20), 0);
    EXPECT_EQ(poll(p, 2, -1), 1);
    EXPECT_EQ(p[1].revents, POLLOUT);
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    EXPECT_EQ(select(fd[0] + 1, &set, NULL, NULL, &moment), 0);
    if (fork() == 0) {
        nanosleep(&(struct timespec){0, 50 * 1000 * 1000}, NULL);
        _exit(write(fd[1], "x", 1) != 1);
    }
    EXPECT_EQ(poll(p, 1, 50000), 1);
    EXPECT_EQ(p[0].revents, POLLIN);
    FD_SET(fd[0], &set);
    EXPECT_EQ(select(fd[0] + 1, &set, NULL, NULL, NULL), 1);
    EXPECT(FD_ISSET(fd[0], &set));
    wait(NULL);
    close(fd[1]);
    read(fd[0], &set, 1);
    EXPECT_EQ(poll(p, 1, 0), 1);
    EXPECT_EQ(p[0].revents & POLLHUP, POLLHUP);
    p[0].fd = 77;
    EXPECT_EQ(poll(p, 1, 0), 1);
    EXPECT_EQ(p[0].revents, POLLNVAL);
}

static void modes_and_times(void)
{
    struct timespec when[2] = {{1000000000, 0}, {1100000000, 0}};
    struct stat st;

    enter_directory();
    umask(022);
    close(open("a", O_CREAT | O_WRONLY, 0666));
    EXPECT_EQ(stat("a", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 0644);
    EXPECT_EQ(chmod("a", 0751), 0);
    EXPECT_EQ(utimensat(AT_FDCWD, "a", when, 0), 0);
    EXPECT_EQ(stat("a", &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0751);
    EXPECT_EQ(st.st_atim.tv_sec, 1000000000);
    EXPECT_EQ(st.st_mtim.tv_sec, 1100000000);
    EXPECT_EQ(access("a", R_OK | W_OK | X_OK), 0);
    EXPECT_ERR(access("b", F_OK), ENOENT);
}

static void devices(void)
{
    char buf[64];
    int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDONLY);
    char *p;

    EXPECT(null >= 0 && zero >= 0);
    EXPECT_EQ(write(null, buf, 64), 64);
    EXPECT_EQ(read(null, buf, 64), 0);
    memset(buf, 1, sizeof buf);
    EXPECT_EQ(read(zero, buf, 64), 64);
    for (int i = 0; i < 64; i++)
        EXPECT_EQ(buf[i], 0);
    p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    EXPECT(p != MAP_FAILED);
    EXPECT_EQ(p[5], 0);
    EXPECT_EQ(syscall(SYS_getrandom, buf, 64, 0), 64);
}

static void relative_calls(void)
{
    struct stat st;
    int dir, fd;

    enter_directory();
    EXPECT_EQ(mkdir("d", 0755), 0);
    EXPECT((dir = open("d", O_RDONLY | O_DIRECTORY)) >= 0);
    EXPECT((fd = openat(dir, "f", O_CREAT | O_RDWR, 0600)) >= 0);
    EXPECT_EQ(write(fd, "12345", 5), 5);
    EXPECT_EQ(fstatat(dir, "f", &st, 0), 0);
    EXPECT_EQ(st.st_size, 5);
    EXPECT_EQ(renameat(dir, "f", AT_FDCWD, "g"), 0);
    EXPECT_EQ(size_of("g"), 5);
    EXPECT_EQ(unlinkat(AT_FDCWD, "d", AT_REMOVEDIR), 0);
    EXPECT_ERR(openat(99, "f", O_RDONLY), EBADF);
    EXPECT_ERR(openat(fd, "f", O_RDONLY), ENOTDIR);
}

static void file_system(void)
{
    struct statfs fs;

    EXPECT_EQ(statfs("/tmp", &fs), 0);
    EXPECT(fs.f_bsize > 0 && fs.f_namelen >= 255);
    EXPECT_ERR(statfs("/none", &fs), ENOENT);
}

static void long_names(void)
{
    char name[5000];

    enter_directory();
    memset(name, 'n', sizeof name);
    name[255] = '\0';
    close(make(name, ""));
    name[255] = 'n';
    name[256] = '\0';
    EXPECT_ERR(open(name, O_CREAT | O_WRONLY, 0644), ENAMETOOLONG);
    name[256] = 'n';
    for (int i = 100; i < 4999; i += 100)
        name[i] = '/';
    name[4999] = '\0';
    EXPECT_ERR(open(name, O_RDONLY), ENAMETOOLONG);
}

static void record_locks(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 5};
    int fd, status;
    pid_t pid;

    enter_directory();
    fd = make("a", "0123456789abcdef");
    EXPECT_EQ(fcntl(fd, F_SETLK, &lock), 0);
    if ((pid = fork()) == 0) {
        struct flock other = lock;

        EXPECT_EQ(fcntl(fd, F_GETLK, &other), 0);
        EXPECT(other.l_type == F_WRLCK && other.l_pid == getppid());
        EXPECT(fcntl(fd, F_SETLK, &lock) == -1 && (errno == EAGAIN || errno == EACCES));
        other = lock;
        other.l_start = 0;
        EXPECT_EQ(fcntl(fd, F_SETLK, &other), 0);
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

/* Requests a lock of `len` bytes at `start`, with F_SETLK or F_SETLKW. */
static int lock_range(int fd, int cmd, short type, long start, long len)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};

    return fcntl(fd, cmd, &l);
}

static void first_conflict(void)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd, status;

    enter_directory();
    fd = make("a", "x");
    for (long start = 0; start <= 40; start += 10)
        EXPECT_EQ(lock_range(fd, F_SETLK, F_WRLCK, start, 5), 0);
    EXPECT_EQ(lock_range(fd, F_SETLK, F_UNLCK, 0, 5), 0);
    EXPECT_EQ(lock_range(fd, F_SETLK, F_UNLCK, 42, 1), 0);
    if (fork() == 0) {
        EXPECT_EQ(fcntl(fd, F_GETLK, &all), 0);
        EXPECT(all.l_type == F_WRLCK && all.l_start == 10 && all.l_len == 5 &&
               all.l_pid == getppid());
        all.l_type = F_RDLCK;
        all.l_start = 42;
        EXPECT_EQ(fcntl(fd, F_GETLK, &all), 0);
        EXPECT_EQ(all.l_type, F_WRLCK);
        EXPECT_EQ(all.l_start, 43);
        _exit(0);
    }
    EXPECT(wait(&status) > 0);
    EXPECT_EQ(status, 0);
}

static int waits_on;

static void *wait_for_lock(void *arg)
{
    EXPECT_ERR(lock_range(waits_on, F_SETLKW, F_WRLCK, 0, 1), EBADF);
    return arg;
}

/* A lock that would be granted after its descriptor was closed has no owner: the call fails. */
static void lock_of_a_closed_descriptor(void)
{
    int fd, go[2];
    pthread_t t;
    char c;

    enter_directory();
    fd = make("a", "");
    EXPECT_EQ(pipe(go), 0);
    EXPECT_EQ(lock_range(fd, F_SETLK, F_WRLCK, 0, 1), 0);
    if (fork() == 0) {
        waits_on = open("a", O_RDWR);
        EXPECT_EQ(pthread_create(&t, NULL, wait_for_lock, NULL), 0);
        usleep(200000);
        EXPECT_EQ(close(waits_on), 0);
        EXPECT_EQ(write(go[1], "", 1), 1);
        EXPECT_EQ(pthread_join(t, NULL), 0);
        EXPECT_EQ(write(go[1], "", 1), 1);
        pause();
    }
    close(go[1]);
    EXPECT_EQ(read(go[0], &c, 1), 1);
    EXPECT_EQ(lock_range(fd, F_SETLK, F_UNLCK, 0, 1), 0);
    EXPECT_EQ(read(go[0], &c, 1), 1);
    /* although the other descriptor is still open */
    EXPECT_EQ(lock_range(fd, F_SETLK, F_WRLCK, 0, 1), 0);
}

/* Three processes each have a lock and request the next one's: the last request gets EDEADLK. */
static void deadlock(void)
{
    int a, b, step[2], go[2], status, deadlocks = 0;
    char c;

    enter_directory();
    a = make("a", "");
    b = make("b", "");
    EXPECT(pipe(step) == 0 && pipe(go) == 0);
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            int mine = i == 2 ? b : a, next = i == 1 ? b : a;

            EXPECT_EQ(lock_range(mine, F_SETLK, F_WRLCK, i, 1), 0);
            EXPECT_EQ(write(step[1], "", 1), 1);
            EXPECT_EQ(read(go[0], &c, 1), 1);
            if (lock_range(next, F_SETLKW, F_WRLCK, (i + 1) % 3, 1) == 0)
                _exit(0); /* and the process before it gets its lock */
            EXPECT_EQ(errno, EDEADLK);
            _exit(2);
        }
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(read(step[0], &c, 1), 1);
    EXPECT_EQ(write(go[1], "abc", 3), 3); /* all have theirs; otherwise there would be no circle */
    for (int i = 0; i < 3; i++) {
        EXPECT(wait(&status) > 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) != 1);
        deadlocks += WEXITSTATUS(status) == 2;
    }
    EXPECT_EQ(deadlocks, 1);
}

/* A process that waits for one that does not wait: no deadlock, however often they take turns. */
static void no_deadlock(void)
{
    int fd, status;
    pid_t pid;

    enter_directory();
    fd = make("a", "");
    pid = fork();
    for (int i = 0; i < 300; i++) {
        EXPECT_EQ(lock_range(fd, F_SETLKW, F_WRLCK, 0, 1), 0);
        EXPECT_EQ(lock_range(fd, F_SETLKW, F_WRLCK, 1, 1), 0);
        EXPECT_EQ(lock_range(fd, F_SETLK, F_UNLCK, 0, 2), 0);
    }
    if (pid == 0)
        _exit(0);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

static void direct_io(void)
{
    int fd, p[2];

    if (!on_homeroom())
        SKIP("may be had here");
    enter_directory();
    close(make("a", "x"));
    EXPECT_ERR(open("a", O_RDONLY | O_DIRECT), EINVAL);
    EXPECT_ERR(open(".", O_RDONLY | O_DIRECT), EINVAL);
    EXPECT_ERR(pipe2(p, O_DIRECT), EINVAL);
    EXPECT((fd = open("a", O_RDONLY)) >= 0);
    EXPECT_ERR(fcntl(fd, F_SETFL, O_DIRECT), EINVAL);
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_DIRECT, 0);
}

static struct timespec atime_of(const char *name)
{
    struct stat st;

    EXPECT_EQ(stat(name, &st), 0);
    return st.st_atim;
}

/* With O_NOATIME the access time stays.  Without it the first read after a change of the file updates it. */
static void access_times(void)
{
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
    static const char *const names[] = {"read", "read/file"};
    char buf[512];

    enter_directory();
    EXPECT_EQ(mkdir(names[0], 0700), 0);
    close(make(names[1], "x"));
    for (int i = 0; i < 2; i++) {
        int how = i == 0 ? O_RDONLY | O_DIRECTORY : O_RDONLY,
            quiet = open(names[i], how | O_NOATIME);
        int plain = open(names[i], how);

        EXPECT(quiet >= 0 && plain >= 0);
        EXPECT_EQ(utimensat(AT_FDCWD, names[i], old, 0), 0);
        EXPECT((i == 0 ? syscall(SYS_getdents64, quiet, buf, sizeof buf) : read(quiet, buf, 1)) >
               0);
        EXPECT_EQ(atime_of(names[i]).tv_sec, 1000);
        EXPECT((i == 0 ? syscall(SYS_getdents64, plain, buf, sizeof buf) : read(plain, buf, 1)) >
               0);
        if (on_homeroom()) /* on Linux the mount options may prevent this */
            EXPECT(atime_of(names[i]).tv_sec > 2000);
    }
}

/* A call that would take long ends when its process is killed. */
static void killed_while_copying(void)
{
    const off_t size = (off_t)4 << 30;
    off_t calls;
    int in, out = open("/dev/null", O_WRONLY), p[2], status;
    char name[] = "/tmp/t_file.XXXXXX", c;
    pid_t pid;

    if (!on_homeroom())
        SKIP("it may be too fast");
    EXPECT((in = mkstemp(name)) >= 0 && unlink(name) == 0 && out >= 0 && pipe(p) == 0);
    EXPECT_EQ(ftruncate(in, size), 0);
    pid = fork();
    if (pid == 0) {
        while (write(p[1], "", 1) == 1 && sendfile(out, in, NULL, (size_t)1 << 30) > 0)
            ;
        _exit(0);
    }
    EXPECT_EQ(read(p[0], &c, 1), 1);
    kill(pid, SIGKILL);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT(WIFSIGNALED(status));
    close(p[1]);
    for (calls = 1; read(p[0], &c, 1) == 1;) /* a busy host may let some end before the kill */
        calls++;
    EXPECT(lseek(in, 0, SEEK_CUR) < calls << 30);
}

static const struct check list[] = {
    {"first_conflict", first_conflict},
    {"lock_of_a_closed_descriptor", lock_of_a_closed_descriptor},
    {"deadlock", deadlock},
    {"no_deadlock", no_deadlock},
    {"direct_io", direct_io},
    {"open_flags", open_flags},
    {"seeking", seeking},
    {"seeking_in_made_text", seeking_in_made_text},
    {"truncation", truncation},
    {"vectors", vectors},
    {"names", names},
    {"symbolic_links", symbolic_links},
    {"unlinked_but_open", unlinked_but_open},
    {"directories", directories},
    {"working_directory", working_directory},
    {"descriptors", descriptors},
    {"pipes", pipes},
    {"pipe_numbers", pipe_numbers},
    {"pipe_opened_again", pipe_opened_again},
    {"pipe_writes_are_atomic", pipe_writes_are_atomic},
    {"pipe_sizes", pipe_sizes},
    {"pipe_size_limit", pipe_size_limit},
    {"named_pipes", named_pipes},
    {"polling", polling},
    {"modes_and_times", modes_and_times},
    {"devices", devices},
    {"relative_calls", relative_calls},
    {"file_system", file_system},
    {"long_names", long_names},
    {"record_locks", record_locks},
    {"access_times", access_times},
    {"killed_while_copying", killed_while_copying},
};
CHECK_MAIN(list)
