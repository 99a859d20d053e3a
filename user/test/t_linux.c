// SPDX-License-Identifier: MIT
/*
 * t_linux.c - smaller calls that Debian's programs make: files without a name, copies between files, FIONREAD, SIGIO,
 * extended attributes, counts in /proc; as on Linux.
 */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/xattr.h>
#include <time.h>

#define BAD_ADDRESS ((void *)8)
#define MS          1000000L

static char dir[] = "/tmp/t_linux.XXXXXX";

/* A new file of this size, filled with a pattern. */
static int file_of(const char *name, size_t size)
{
    char path[64], block[4096];
    int fd;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    EXPECT(fd >= 0);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i * 7);
    for (size_t at = 0; at < size; at += sizeof block) {
        size_t n = size - at < sizeof block ? size - at : sizeof block;

        EXPECT_EQ(write(fd, block, n), n);
    }
    return fd;
}

static void enter_dir(void)
{
    strcpy(strrchr(dir, '.') + 1, "XXXXXX");
    EXPECT(mkdtemp(dir) != NULL);
    EXPECT_EQ(chmod(dir, 0755), 0);
}

/* Removes the directory, and these files in it. */
static void leave_dir(const char *a, const char *b)
{
    int at = open(dir, O_RDONLY);

    EXPECT_EQ(unlinkat(at, a, 0), 0);
    if (b != NULL)
        EXPECT_EQ(unlinkat(at, b, 0), 0);
    EXPECT_EQ(rmdir(dir), 0);
    close(at);
}

/* ---- memfd_create ---- */

static int make_memfd(const char *name, unsigned flags)
{
    return (int)syscall(SYS_memfd_create, name, flags);
}

static void memfds(void)
{
    char name[251], link[64] = "";
    struct stat st;
    char *at, c;
    int fd = make_memfd("mem file", MFD_CLOEXEC), other, status;
    pid_t pid;

    EXPECT(fd >= 0);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT(S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0777 && st.st_size == 0);
    EXPECT_EQ(st.st_nlink, 0);
    EXPECT_EQ(st.st_uid, geteuid());
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    EXPECT(readlink(name, link, sizeof link - 1) > 0);
    EXPECT_EQ(strcmp(link, "/memfd:mem file (deleted)"), 0);
    EXPECT_EQ(ftruncate(fd, 3 * 4096), 0);
    EXPECT_EQ(pwrite(fd, "x", 1, 4096), 1);
    at = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(at != MAP_FAILED);
    EXPECT_EQ(at[4096], 'x');
    other = open(name, O_RDONLY); /* another open file */
    EXPECT(other >= 0);
    at[8192] = 'y';
    EXPECT_EQ(pread(other, &c, 1, 8192), 1);
    EXPECT_EQ(c, 'y');
    EXPECT_EQ(close(fd), 0);
    EXPECT_EQ(close(other), 0);
    pid = fork(); /* the mapping keeps the file */
    if (pid == 0) {
        at[0] = 'z';
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(at[0], 'z');
    EXPECT_EQ(munmap(at, 3 * 4096), 0);

    EXPECT_ERR(make_memfd("x", 0x80), EINVAL);
    EXPECT_ERR(make_memfd(BAD_ADDRESS, 0), EFAULT);
    memset(name, 'n', 250);
    name[250] = '\0';
    EXPECT_ERR(make_memfd(name, 0), EINVAL);
    name[249] = '\0';
    EXPECT(make_memfd(name, 0) >= 0);
    EXPECT(make_memfd("", 0) >= 0);
    if (on_homeroom()) {
        EXPECT_ERR(make_memfd("x", MFD_ALLOW_SEALING), EINVAL);
        EXPECT_ERR(make_memfd("x", MFD_HUGETLB), EINVAL);
    }
}

/* An ordinary user fills files without a name until there is no space.  Then there is space for others. */
static void memfd_limit(void)
{
    static char block[1 << 20];
    struct sysinfo si;
    int status;
    pid_t pid;

    if (!on_homeroom() || geteuid() != 0)
        SKIP("takes much memory");
    for (int i = 0; i < 2; i++) {
        pid = fork();
        if (pid == 0) {
            int fd = make_memfd("large", 0), n = 0;

            EXPECT_EQ(setgid(54323), 0);
            EXPECT_EQ(setuid(54323), 0);
            memset(block, 1, sizeof block);
            while (write(fd, block, sizeof block) == sizeof block)
                n++;
            EXPECT_EQ(sysinfo(&si), 0);
            EXPECT(n > 8 && (unsigned long)n << 20 <= si.totalram / 8);
            EXPECT_ERR(write(fd, block, sizeof block), ENOSPC);
            _exit(0);
        }
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
    }
}

/* Fills fd as an ordinary user.  Then this user gets no page for another file `other`, but root does. */
static void expect_reserve(int fd, int other)
{
    static char block[1 << 20];
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        EXPECT_EQ(setgid(54323), 0);
        EXPECT_EQ(setuid(54323), 0);
        for (size_t n = sizeof block; n > 0; n /= 2)
            while (write(fd, block, n) == (ssize_t)n)
                ;
        EXPECT_ERR(write(other, block, 1), ENOSPC);
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(write(other, block, 65536), 65536);
    close(fd);
    close(other);
}

/* The last sixteenth of the files without a name, and of /dev/shm, is root's. */
static void reserved_for_root(void)
{
    const char *const names[] = {"/dev/shm/t_linux.0", "/dev/shm/t_linux.1"};
    int fd[2];

    if (!on_homeroom() || geteuid() != 0)
        SKIP("takes much memory");
    expect_reserve(make_memfd("user", 0), make_memfd("root", 0));
    for (int i = 0; i < 2; i++)
        EXPECT((fd[i] = open(names[i], O_CREAT | O_EXCL | O_RDWR, 0600)) >= 0);
    EXPECT_EQ(unlink(names[0]), 0);
    EXPECT_EQ(unlink(names[1]), 0);
    expect_reserve(fd[0], fd[1]);
}

/* ---- copy_file_range ---- */

static long copy_range(int in, long *in_pos, int out, long *out_pos, size_t n)
{
    return syscall(SYS_copy_file_range, in, in_pos, out, out_pos, n, 0);
}

static void copies(void)
{
    enum { SIZE = 200000 };
    static char a[SIZE + 100], b[SIZE + 100];
    long at = 1000, to = 50;
    int in, out, p[2], status;

    enter_dir();
    in = file_of("in", SIZE);
    out = file_of("out", 0);
    EXPECT_EQ(copy_range(in, &at, out, &to, 100000), 100000);
    EXPECT(at == 101000 && to == 100050);
    EXPECT_EQ(lseek(out, 0, SEEK_CUR), 0); /* explicit positions leave the files' own alone */
    EXPECT_EQ(lseek(in, 0, SEEK_SET), 0);
    EXPECT_EQ(lseek(out, 50, SEEK_SET), 50);
    for (long n, left = 1 << 20; (n = copy_range(in, NULL, out, NULL, (size_t)left)) != 0;
         left -= n)
        EXPECT(n > 0);
    EXPECT_EQ(lseek(out, 0, SEEK_CUR), SIZE + 50);
    EXPECT_EQ(pread(in, a, SIZE, 0), SIZE);
    EXPECT_EQ(pread(out, b, SIZE + 50, 0), SIZE + 50);
    EXPECT_EQ(memcmp(a, b + 50, SIZE), 0);
    EXPECT(b[0] == 0 && b[49] == 0);
    at = SIZE;
    EXPECT_EQ(copy_range(in, &at, out, NULL, 10), 0); /* at the end */
    at = 0, to = SIZE;
    EXPECT_EQ(copy_range(in, &at, in, &to, 100), 100); /* within one file */

    at = 0, to = 50;
    EXPECT_ERR(copy_range(in, &at, in, &to, 100), EINVAL); /* which overlap */
    EXPECT_ERR(syscall(SYS_copy_file_range, in, NULL, out, NULL, 1, 1), EINVAL);
    EXPECT_ERR(copy_range(999, NULL, out, NULL, 1), EBADF);
    EXPECT_ERR(copy_range(in, NULL, 999, NULL, 1), EBADF);
    EXPECT_ERR(copy_range(in, BAD_ADDRESS, out, NULL, 1), EFAULT);
    at = -1;
    EXPECT_ERR(copy_range(in, &at, out, NULL, 1), EOVERFLOW);
    EXPECT_EQ(pipe(p), 0);
    EXPECT_ERR(copy_range(p[0], NULL, out, NULL, 1), EINVAL);
    EXPECT_ERR(copy_range(in, NULL, p[1], NULL, 1), EINVAL);
    EXPECT_ERR(copy_range(open(dir, O_RDONLY), NULL, out, NULL, 1), EISDIR);
    EXPECT_ERR(copy_range(open("/dev/zero", O_RDONLY), NULL, out, NULL, 1), EINVAL);
    at = 0;
    EXPECT_EQ(fcntl(out, F_SETFL, O_APPEND), 0);
    EXPECT_ERR(copy_range(in, &at, out, NULL, 1), EBADF);
    EXPECT_EQ(fcntl(out, F_SETFL, 0), 0);
    EXPECT_ERR(copy_range(out, NULL, open("/proc/self/exe", O_RDONLY), NULL, 1), EBADF);
    if (fork() == 0) { /* beyond RLIMIT_FSIZE */
        struct rlimit few = {1000, 1000};

        signal(SIGXFSZ, SIG_IGN);
        EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
        at = 0, to = 900;
        EXPECT_EQ(copy_range(in, &at, out, &to, 200), 100);
        EXPECT_ERR(copy_range(in, &at, out, &to, 200), EFBIG);
        _exit(0);
    }
    EXPECT(wait(&status) > 0);
    EXPECT_EQ(status, 0);
    leave_dir("in", "out");
}

/* ---- FIONREAD, SIGIO ---- */

static int readable(int fd)
{
    int n = -1;

    EXPECT_EQ(ioctl(fd, FIONREAD, &n), 0);
    return n;
}

static void fionread(void)
{
    int p[2], s[2];
    char c[10];

    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(readable(p[0]), 0);
    EXPECT_EQ(write(p[1], "hello", 5), 5);
    EXPECT_EQ(readable(p[0]), 5);
    EXPECT_EQ(readable(p[1]), 5);
    EXPECT_EQ(read(p[0], c, 2), 2);
    EXPECT_EQ(readable(p[0]), 3);
    EXPECT_ERR(syscall(SYS_ioctl, p[0], FIONREAD, BAD_ADDRESS), EFAULT);
    EXPECT_ERR(ioctl(p[0], TIOCGWINSZ, c), ENOTTY);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) != 0)
        return; /* a kernel without network */
    EXPECT_EQ(write(s[1], "hello", 5), 5);
    EXPECT_EQ(readable(s[0]), 5);
}

static sigset_t sigio_set(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGIO);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    return set;
}

/* Whether SIGIO comes; waits long only if it does. */
static bool sigio_comes(long ms)
{
    sigset_t set = sigio_set();

    return sigtimedwait(&set, NULL, &(struct timespec){ms / 1000, ms % 1000 * MS}) == SIGIO;
}

/* No SIGIO is on its way. */
static void sigio_ends(void)
{
    while (sigio_comes(20))
        ;
}

static void async(int fd, int on)
{
    EXPECT_EQ(ioctl(fd, FIOASYNC, &on), 0);
    EXPECT_EQ((fcntl(fd, F_GETFL) & O_ASYNC) != 0, on);
}

static void sigio_of_files(void)
{
    int p[2], s[2], file = open("/proc/self/exe", O_RDONLY), on = 1, status;
    char c[10];
    pid_t pid;

    sigio_set();
    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(fcntl(p[0], F_GETOWN), 0);
    EXPECT_ERR(fcntl(p[0], F_SETOWN, 999999), ESRCH);
    EXPECT_ERR(fcntl(p[0], F_SETOWN, -999999), ESRCH);
    EXPECT_ERR(syscall(SYS_fcntl, p[0], F_SETOWN, INT32_MIN), EINVAL);
    EXPECT_EQ(fcntl(p[0], F_SETOWN, -getpgrp()), 0);
    EXPECT_EQ(fcntl(p[0], F_GETOWN), -getpgrp());
    EXPECT_EQ(fcntl(p[0], F_SETOWN, getpid()), 0);
    EXPECT_EQ(fcntl(p[0], F_GETOWN), getpid());
    EXPECT_ERR(syscall(SYS_ioctl, p[0], FIOASYNC, BAD_ADDRESS), EFAULT);
    EXPECT_ERR(ioctl(file, FIOASYNC, &on), ENOTTY);
    EXPECT_EQ(fcntl(file, F_SETFL, O_ASYNC), 0); /* no effect */
    EXPECT_EQ(write(p[1], "a", 1), 1);
    EXPECT_EQ(sigio_comes(10), false); /* not asked for */
    async(p[0], 1);
    EXPECT_EQ(write(p[1], "a", 1), 1);
    EXPECT_EQ(sigio_comes(30000), true);
    sigio_ends();
    EXPECT_EQ(write(p[1], "a", 1), 1);
    EXPECT_EQ(sigio_comes(30000), true);
    async(p[0], 0);
    sigio_ends();
    EXPECT_EQ(write(p[1], "a", 1), 1);
    EXPECT_EQ(sigio_comes(10), false);
    EXPECT_EQ(fcntl(p[0], F_SETFL, O_ASYNC | O_NONBLOCK), 0);
    EXPECT_EQ(close(p[1]), 0); /* the end of the file is news, too */
    EXPECT_EQ(sigio_comes(30000), true);
    EXPECT_EQ(close(p[0]), 0); /* with O_ASYNC */

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0) { /* as nginx uses it */
        async(s[0], 1);
        EXPECT_EQ(fcntl(s[0], F_SETOWN, getpid()), 0);
        pid = fork();
        if (pid == 0) {
            EXPECT_EQ(write(s[1], "hello", 5), 5);
            _exit(0);
        }
        EXPECT_EQ(sigio_comes(30000), true);
        EXPECT_EQ(read(s[0], c, sizeof c), 5);
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
    }

    if (on_homeroom()) { /* any file that poll() can wait for, also an epoll */
        struct epoll_event ev = {.events = EPOLLIN};
        int ep = epoll_create1(0);

        EXPECT_EQ(pipe(p), 0);
        EXPECT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev), 0);
        EXPECT_EQ(fcntl(ep, F_SETOWN, getpid()), 0);
        async(ep, 1);
        EXPECT_EQ(write(p[1], "a", 1), 1);
        EXPECT_EQ(sigio_comes(30000), true);
        EXPECT_EQ(close(ep), 0);
        sigio_ends();
    }

    EXPECT_EQ(pipe(p), 0); /* an owner that has ended */
    pid = fork();
    if (pid == 0)
        _exit(fcntl(p[0], F_SETOWN, getpid()));
    async(p[0], 1);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(write(p[1], "a", 1), 1);
    sigio_ends();
}

/* The user that has set the owner must have the right to send it a signal. */
static void sigio_permission(void)
{
    int p[2], status;
    pid_t pid;

    NEED_ROOT();
    sigio_set();
    EXPECT_EQ(pipe(p), 0);
    pid = fork();
    if (pid == 0) {
        EXPECT_EQ(setgid(54324), 0);
        EXPECT_EQ(setuid(54324), 0);
        EXPECT_EQ(fcntl(p[0], F_SETOWN, getppid()), 0);
        async(p[0], 1);
        EXPECT_EQ(write(p[1], "a", 1), 1);
        EXPECT_EQ(sigio_comes(20), false);
        EXPECT_EQ(fcntl(p[0], F_SETOWN, getpid()), 0);
        EXPECT_EQ(write(p[1], "a", 1), 1);
        EXPECT_EQ(sigio_comes(30000), true);
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(sigio_comes(0), false);
}

/* Files are opened, watched, written and closed at once in several processes. */
static void sigio_race(void)
{
    int status, p[2];

    sigio_set();
    EXPECT_EQ(pipe(p), 0);
    for (int i = 0; i < 4; i++) {
        if (fork() != 0)
            continue;
        for (int n = 0; n < 500; n++) {
            int q[2];
            char c;

            EXPECT_EQ(pipe(q), 0);
            fcntl(q[0], F_SETOWN, n % 2 != 0 ? getpid() : getppid());
            async(q[0], 1);
            EXPECT_EQ(write(q[1], "a", 1), 1);
            fcntl(p[0], F_SETOWN, getpid()); /* one that all share */
            ioctl(p[0], FIOASYNC, &(int){n % 2});
            EXPECT_EQ(write(p[1], "a", 1), 1);
            EXPECT_EQ(read(p[0], &c, 1), 1);
            close(q[n % 2]);
            close(q[1 - n % 2]);
        }
        _exit(0);
    }
    for (int i = 0; i < 4; i++) {
        EXPECT(wait(&status) > 0);
        EXPECT_EQ(status, 0);
    }
}

/* ---- extended attributes ---- */

static void attributes(void)
{
    static const char *const none[] = {"user.x", "security.selinux", "trusted.x", "odd",
                                       "system.posix_acl_access"};
    char buf[300], name[300];
    int fd, p[2], path;

    enter_dir();
    fd = file_of("f", 1);
    EXPECT_EQ(pipe(p), 0);
    path = open("/proc/self/status", O_PATH);
    memset(name, 'n', sizeof name);
    name[256] = '\0';
    memcpy(name, "user.", 5);
    for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++) {
        if (i == 2 && geteuid() != 0)
            continue;
        EXPECT_ERR(getxattr("/proc/self/status", none[i], buf, sizeof buf), EOPNOTSUPP);
        if (on_homeroom()) {
            EXPECT_ERR(fgetxattr(fd, none[i], buf, sizeof buf), EOPNOTSUPP);
            EXPECT_ERR(fsetxattr(fd, none[i], buf, 10, 0), EOPNOTSUPP);
            EXPECT_ERR(fremovexattr(fd, none[i]), EOPNOTSUPP);
        }
    }
    EXPECT_EQ(listxattr("/proc/self/status", buf, sizeof buf), 0);
    EXPECT_EQ(llistxattr("/proc/self/status", buf, sizeof buf), 0);
    EXPECT_EQ(flistxattr(p[0], buf, sizeof buf), 0);
    EXPECT_ERR(listxattr("/none/x", buf, sizeof buf), ENOENT);
    EXPECT_ERR(flistxattr(999, buf, sizeof buf), EBADF);
    EXPECT_ERR(flistxattr(path, buf, sizeof buf), EBADF);
    EXPECT_ERR(fgetxattr(path, "user.x", buf, sizeof buf), EBADF);
    EXPECT_ERR(getxattr("/none/x", "user.x", buf, sizeof buf), ENOENT);
    EXPECT_ERR(getxattr("/none/x", name, buf, sizeof buf), ERANGE);
    EXPECT_ERR(getxattr("/none/x", "", buf, sizeof buf), ERANGE);
    EXPECT_ERR(getxattr(BAD_ADDRESS, "user.x", buf, sizeof buf), EFAULT);
    EXPECT_ERR(getxattr("/dev/null", BAD_ADDRESS, buf, sizeof buf), EFAULT);
    EXPECT_ERR(getxattr("/dev/null", "user.x", buf, sizeof buf), ENODATA);
    EXPECT_ERR(setxattr("/dev/null", "user.x", buf, 10, 0), EPERM);
    EXPECT_ERR(removexattr("/dev/null", "user.x"), EPERM);
    EXPECT_ERR(lgetxattr("/proc/self", "user.x", buf, sizeof buf), ENODATA);
    EXPECT_ERR(lsetxattr("/proc/self", "user.x", buf, 1, 0), EPERM);
    EXPECT_ERR(fgetxattr(p[0], "user.x", buf, sizeof buf), ENODATA);
    EXPECT_ERR(fsetxattr(p[0], "user.x", buf, 1, 0), EPERM);
    EXPECT_ERR(setxattr("/none/x", "user.x", buf, 1, 8), EINVAL);
    EXPECT_ERR(setxattr("/none/x", "user.x", buf, 65537, 0), E2BIG);
    EXPECT_ERR(setxattr("/none/x", "user.x", BAD_ADDRESS, 10, 0), EFAULT);
    EXPECT_ERR(removexattr("/none/x", "user.x"), ENOENT);
    if (geteuid() != 0) {
        leave_dir("f", NULL);
        return;
    }
    EXPECT_EQ(fchmod(fd, 0600), 0);
    snprintf(name, sizeof name, "%s/f", dir);
    EXPECT_EQ(seteuid(54325), 0);
    EXPECT_ERR(getxattr(name, "user.x", buf, sizeof buf), EACCES);
    EXPECT_ERR(setxattr(name, "user.x", buf, 1, 0), EACCES);
    EXPECT_ERR(getxattr(name, "trusted.x", buf, sizeof buf), ENODATA);
    EXPECT_ERR(setxattr(name, "trusted.x", buf, 1, 0), EPERM);
    EXPECT_EQ(seteuid(0), 0);
    leave_dir("f", NULL);
}

/* ---- /proc ---- */

static void read_file(const char *name, char *buf, size_t size)
{
    int fd = open(name, O_RDONLY);
    ssize_t n;

    EXPECT(fd >= 0);
    n = read(fd, buf, size - 1);
    EXPECT(n > 0);
    buf[n] = '\0';
    EXPECT_EQ(close(fd), 0);
}

static long count_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    EXPECT(at != NULL && at[strlen(name)] == ':');
    return atol(at + strlen(name) + 1);
}

static void io_counts(void)
{
    static const char *const name[] = {"rchar", "wchar", "syscr", "syscw"};
    long before[4], grown[4];
    char buf[1000], block[100];
    int p[2], status;
    pid_t pid;

    EXPECT_EQ(pipe(p), 0);
    read_file("/proc/self/io", buf, sizeof buf);
    for (int i = 0; i < 4; i++)
        before[i] = count_of(buf, name[i]);
    EXPECT(count_of(buf, "read_bytes") >= 0 && count_of(buf, "write_bytes") >= 0 &&
           count_of(buf, "cancelled_write_bytes") >= 0);
    grown[0] = (long)strlen(buf); /* reading the file counts */
    EXPECT_EQ(write(p[1], block, 100), 100);
    EXPECT_EQ(write(p[1], block, 20), 20);
    EXPECT_EQ(read(p[0], block, 70), 70);
    EXPECT_EQ(fcntl(p[0], F_SETFL, O_NONBLOCK), 0);
    EXPECT_EQ(read(p[0], block, 100), 50);
    EXPECT_ERR(read(p[0], block, 100), EAGAIN); /* a call without bytes */
    EXPECT_ERR(read(999, block, 100), EBADF);
    pid = fork(); /* children count when they have been waited for */
    if (pid == 0) {
        EXPECT_EQ(write(p[1], block, 30), 30);
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    read_file("/proc/self/io", buf, sizeof buf);
    EXPECT_EQ(count_of(buf, "rchar") - before[0], grown[0] + 120);
    EXPECT_EQ(count_of(buf, "wchar") - before[1], 150);
    EXPECT_EQ(count_of(buf, "syscr") - before[2], 4);
    EXPECT_EQ(count_of(buf, "syscw") - before[3], 3);
    if (geteuid() == 0) { /* it is private */
        EXPECT_EQ(seteuid(54326), 0);
        EXPECT_ERR(open("/proc/1/io", O_RDONLY), EACCES);
    }
}

static void proc_files(void)
{
    unsigned id, parent, major, minor;
    char buf[16384], path[200], type[50], *line, *dash;
    int roots = 0, n = 0;
    struct stat st;

    read_file("/proc/sys/kernel/tainted", buf, sizeof buf);
    EXPECT(buf[0] >= '0' && buf[0] <= '9');
    read_file("/proc/sys/vm/overcommit_memory", buf, sizeof buf);
    if (on_homeroom()) {
        EXPECT_EQ(strcmp(buf, "2\n"), 0);
        EXPECT(open("/proc/sys/vm/overcommit_memory", O_WRONLY) < 0 || geteuid() == 0);
    }
    read_file("/proc/self/mountinfo", buf, sizeof buf);
    for (line = strtok(buf, "\n"); line != NULL; line = strtok(NULL, "\n"), n++) {
        EXPECT_EQ(sscanf(line, "%u %u %u:%u %*s %199s", &id, &parent, &major, &minor, path), 5);
        dash = strstr(line, " - ");
        EXPECT(dash != NULL && sscanf(dash, " - %49s", type) == 1);
        roots += strcmp(path, "/") == 0;
        if (on_homeroom()) {
            EXPECT_EQ(stat(path, &st), 0);
            EXPECT_EQ(st.st_dev, (unsigned long)major << 8 | minor);
            EXPECT_EQ(parent == id, strcmp(path, "/") == 0);
        }
    }
    EXPECT(n >= 1); /* on Linux, in a changed root, perhaps without a mount at / */
    EXPECT(!on_homeroom() || (roots == 1 && n >= 2));
}

static const struct check checks[] = {
    {"memfds", memfds},
    {"memfd_limit", memfd_limit},
    {"reserved_for_root", reserved_for_root},
    {"copies", copies},
    {"fionread", fionread},
    {"sigio_of_files", sigio_of_files},
    {"sigio_permission", sigio_permission},
    {"sigio_race", sigio_race},
    {"attributes", attributes},
    {"io_counts", io_counts},
    {"proc_files", proc_files},
};

CHECK_MAIN(checks)
