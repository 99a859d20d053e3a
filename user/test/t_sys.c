// SPDX-License-Identifier: MIT
/*
 * t_sys.c - system calls with unusual input: arguments that do not fit, signals during the call, the rest of a time
 * limit.  Runs on Linux, too, where tests of Homeroom's own calls are skipped.  Needs root.
 */
#include "check.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>

#include <uapi/homeroom.h>

#define NOWHERE ((void *)0x10000) /* an address where nothing is mapped */
#define NOBODY  65534

/* futex(2), for which musl has no header */
enum {
    FUTEX_WAIT = 0,
    FUTEX_WAKE = 1,
    FUTEX_CMP_REQUEUE = 4,
    FUTEX_WAKE_OP = 5,
    FUTEX_WAIT_BITSET = 9,
    FUTEX_WAKE_BITSET = 10,
    FUTEX_PRIVATE_FLAG = 128,
    FUTEX_CLOCK_REALTIME = 256,
};
enum { OP_SET = 0, OP_ADD = 1, OP_OR = 2, OP_SHIFT = 8 };
enum { CMP_EQ = 0, CMP_GT = 4 };
#define FUTEX_OP(op, arg, cmp, cmparg)                                                             \
    ((unsigned)(op) << 28 | (unsigned)(cmp) << 24 | ((arg) & 0xfffu) << 12 | ((cmparg) & 0xfffu))

static volatile sig_atomic_t caught;

static void handler(int sig)
{
    caught++;
}

/* Installs the counting handler, with or without SA_RESTART. */
static void catch_signal(int sig, int flags)
{
    struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};

    caught = 0;
    EXPECT_EQ(sigaction(sig, &sa, NULL), 0);
}

static long long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* Sends SIGALRM once, after `ms`. */
static void alarm_in(int ms)
{
    struct itimerval it = {.it_value = {ms / 1000, ms % 1000 * 1000}};

    EXPECT_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
}

/* Sends SIGALRM every `ms`, because the first one can come before the call that it should interrupt; 0: no more. */
static void alarm_every(int ms)
{
    struct timeval t = {ms / 1000, ms % 1000 * 1000};

    EXPECT_EQ(setitimer(ITIMER_REAL, &(struct itimerval){t, t}, NULL), 0);
}

static void unknown_numbers(void)
{
    EXPECT_ERR(syscall(999), ENOSYS);
    EXPECT_ERR(syscall(-1), ENOSYS);
    EXPECT_ERR(syscall(511), ENOSYS);
    EXPECT_ERR(syscall(1100), ENOSYS);
}

static void selecting(void)
{
    struct timeval tv = {0, 50000};
    fd_set in, out;
    int p[2];
    long long t0;

    EXPECT_EQ(pipe(p), 0);
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(p[0], &in);
    FD_SET(p[1], &out);
    EXPECT_EQ(select(p[1] + 1, &in, &out, NULL, NULL), 1);
    EXPECT(!FD_ISSET(p[0], &in) && FD_ISSET(p[1], &out));
    FD_SET(p[0], &in);
    t0 = now_ms();
    EXPECT_EQ(syscall(SYS_select, p[0] + 1, &in, NULL, NULL, &tv), 0);
    EXPECT(now_ms() - t0 >= 49);
    EXPECT(tv.tv_sec == 0 && tv.tv_usec == 0);
    EXPECT_EQ(write(p[1], "x", 1), 1);
    FD_SET(p[0], &in);
    tv.tv_sec = 10;
    EXPECT_EQ(syscall(SYS_select, p[0] + 1, &in, NULL, NULL, &tv), 1);
    EXPECT(tv.tv_sec >= 8); /* the rest of the time limit is returned */
    EXPECT_ERR(select(-1, &in, NULL, NULL, &tv), EINVAL);
    EXPECT_ERR(syscall(SYS_select, p[0] + 1, NOWHERE, NULL, NULL, NULL), EFAULT);
    tv.tv_usec = 1000000;
    EXPECT_EQ(syscall(SYS_select, 0, NULL, NULL, NULL, &(struct timeval){0, 0}), 0);
    close(p[0]);
    FD_ZERO(&in);
    FD_SET(p[0], &in);
    EXPECT_ERR(select(p[0] + 1, &in, NULL, NULL, NULL), EBADF);
}

/* A signal that is blocked except during the call interrupts the call, and is blocked again afterwards. */
static void masks_of_waiting_calls(void)
{
    struct timespec limit = {5, 0};
    sigset_t block, none, now;
    int p[2];

    EXPECT_EQ(pipe(p), 0);
    sigemptyset(&none);
    sigemptyset(&block);
    sigaddset(&block, SIGALRM);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &block, NULL), 0);
    catch_signal(SIGALRM, SA_RESTART);
    alarm_in(20);
    EXPECT_ERR(ppoll(&(struct pollfd){.fd = p[0], .events = POLLIN}, 1, &limit, &none), EINTR);
    EXPECT_EQ(caught, 1);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, NULL, &now), 0);
    EXPECT(sigismember(&now, SIGALRM));
    alarm_in(20);
    EXPECT_ERR(pselect(0, NULL, NULL, NULL, &limit, &none), EINTR);
    EXPECT_EQ(caught, 2);
    /* already pending when the call begins */
    raise(SIGALRM);
    EXPECT_EQ(caught, 2);
    EXPECT_ERR(ppoll(NULL, 0, &limit, &none), EINTR);
    EXPECT_EQ(caught, 3);
    /* without any event the old mask is restored, too */
    limit = (struct timespec){0, 1000000};
    EXPECT_EQ(ppoll(NULL, 0, &limit, &none), 0);
    raise(SIGALRM);
    EXPECT_EQ(caught, 3);
    EXPECT_ERR(syscall(SYS_ppoll, NULL, 0, &limit, &none, 4), EINVAL);
}

static void poll_arguments(void)
{
    struct pollfd p = {.fd = 99, .events = POLLIN};
    struct rlimit rl;

    EXPECT_EQ(poll(&p, 1, 1000), 1);
    EXPECT_EQ(p.revents, POLLNVAL);
    p = (struct pollfd){.fd = -1, .events = POLLIN, .revents = 7};
    EXPECT_EQ(poll(&p, 1, 0), 0);
    EXPECT_EQ(p.revents, 0);
    EXPECT_ERR(syscall(SYS_poll, NOWHERE, 1, 0), EFAULT);
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &rl), 0);
    EXPECT_ERR(syscall(SYS_poll, &p, rl.rlim_cur + 1, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_ppoll, NULL, 0, &(struct timespec){0, -1}, NULL, 8), EINVAL);
}

static void vectors(void)
{
    static struct iovec many[1025];
    char a[4] = "abc", b[4] = "def", buf[8] = "";
    struct iovec v[3] = {{a, 3}, {NOWHERE, 0}, {b, 3}};
    int p[2];

    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(writev(p[1], v, 3), 6);
    EXPECT_EQ(read(p[0], buf, 8), 6);
    EXPECT(memcmp(buf, "abcdef", 6) == 0);
    EXPECT_EQ(writev(p[1], v, 0), 0);
    EXPECT_ERR(syscall(SYS_writev, p[1], many, 1025), EINVAL);
    EXPECT_EQ(syscall(SYS_writev, p[1], many, 1024), 0);
    EXPECT_ERR(syscall(SYS_writev, p[1], NOWHERE, 1), EFAULT);
    v[0].iov_len = (size_t)-1;
    EXPECT_ERR(writev(p[1], v, 1), EINVAL);
    EXPECT_ERR(writev(99, v, 1), EBADF);
    EXPECT_ERR(syscall(SYS_write, p[1], NOWHERE, 1), EFAULT);
    EXPECT_ERR(syscall(SYS_write, p[0], a, 1), EBADF);
    EXPECT_ERR(syscall(SYS_read, p[1], a, 1), EBADF);
    EXPECT_ERR(pread(p[0], a, 1, 0), ESPIPE);
    EXPECT_ERR(pread(p[0], a, 1, -1), EINVAL);
}

/* A file that contains `text`, open for reading and writing; its name is removed. */
static int file_with(const char *text)
{
    char name[] = "/tmp/t_sys.XXXXXX";
    int fd = mkstemp(name);

    EXPECT(fd >= 0);
    EXPECT_EQ(unlink(name), 0);
    EXPECT_EQ(write(fd, text, strlen(text)), (long)strlen(text));
    EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void sending_files(void)
{
    int in = file_with("0123456789"), out = file_with(""), p[2];
    char buf[16];
    off_t at = 2;

    EXPECT_EQ(sendfile(out, in, &at, 3), 3);
    EXPECT_EQ(at, 5);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 0); /* its own offset has not moved */
    EXPECT_EQ(sendfile(out, in, NULL, 4), 4);
    EXPECT_EQ(lseek(in, 0, SEEK_CUR), 4);
    EXPECT_EQ(sendfile(out, in, NULL, 100), 6);
    EXPECT_EQ(sendfile(out, in, NULL, 100), 0);
    EXPECT_EQ(pread(out, buf, 16, 0), 13);
    EXPECT(memcmp(buf, "2340123456789", 13) == 0);
    EXPECT_EQ(pipe(p), 0);
    EXPECT_ERR(sendfile(out, 99, NULL, 1), EBADF);
    EXPECT_ERR(sendfile(99, in, NULL, 1), EBADF);
    at = -1;
    EXPECT_ERR(sendfile(out, in, &at, 1), EINVAL);
    EXPECT_ERR(syscall(SYS_sendfile, out, in, NOWHERE, 1), EFAULT);
}

static void closing_ranges(void)
{
    int low = fcntl(0, F_DUPFD, 20), mid = fcntl(0, F_DUPFD, 25), high = fcntl(0, F_DUPFD, 30);

    EXPECT(low >= 20 && mid >= 25 && high >= 30);
    EXPECT_ERR(syscall(SYS_close_range, 30, 20, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_close_range, 20, 30, 64), EINVAL);
    EXPECT_EQ(syscall(SYS_close_range, low, low, 4), 0); /* CLOSE_RANGE_CLOEXEC */
    EXPECT_EQ(fcntl(low, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(syscall(SYS_close_range, 20, 29, 0), 0);
    EXPECT_ERR(fcntl(low, F_GETFD), EBADF);
    EXPECT_ERR(fcntl(mid, F_GETFD), EBADF);
    EXPECT_EQ(fcntl(high, F_GETFD), 0);
    EXPECT_EQ(syscall(SYS_close_range, 30, ~0u, 0), 0);
    EXPECT_ERR(fcntl(high, F_GETFD), EBADF);
}

struct statx_head { /* as much as the test reads; musl may not have struct statx */
    uint32_t mask, blksize;
    uint64_t attributes;
    uint32_t nlink, uid, gid;
    uint16_t mode, pad;
    uint64_t ino, size, rest[26];
};

static void stat_family(void)
{
    int fd = file_with("12345"), p[2];
    struct statx_head x;
    struct statfs fs;
    struct stat a, b;

    EXPECT_EQ(fstat(fd, &a), 0);
    EXPECT_EQ(a.st_size, 5);
    EXPECT_EQ(a.st_nlink, 0);
    EXPECT(S_ISREG(a.st_mode));
    EXPECT_EQ(syscall(SYS_newfstatat, fd, "", &b, AT_EMPTY_PATH), 0);
    EXPECT(memcmp(&a, &b, sizeof a) == 0);
    EXPECT_ERR(syscall(SYS_newfstatat, fd, "", &b, 0), ENOENT);
    EXPECT_ERR(syscall(SYS_newfstatat, fd, "name", &b, 0), ENOTDIR);
    EXPECT_ERR(syscall(SYS_newfstatat, 99, "name", &b, 0), EBADF);
    EXPECT_EQ(syscall(SYS_newfstatat, 99, "/", &b, 0), 0);
    EXPECT_ERR(syscall(SYS_newfstatat, fd, "", &b, 0x8000000), EINVAL);
    EXPECT_EQ(syscall(SYS_newfstatat, AT_FDCWD, "", &b, AT_EMPTY_PATH), 0);
    EXPECT(S_ISDIR(b.st_mode));
    EXPECT_ERR(syscall(SYS_stat, NOWHERE, &b), EFAULT);
    EXPECT_ERR(syscall(SYS_stat, "/", NOWHERE), EFAULT);
    EXPECT_EQ(syscall(332 /* statx */, fd, "", AT_EMPTY_PATH, 0x7ff, &x), 0);
    EXPECT(x.size == 5 && x.ino == a.st_ino && x.mode == a.st_mode && x.nlink == 0);
    EXPECT_EQ(pipe(p), 0);
    EXPECT_EQ(fstat(p[0], &b), 0);
    EXPECT(S_ISFIFO(b.st_mode));
    EXPECT_EQ(statfs("/tmp", &fs), 0);
    EXPECT(fs.f_bsize > 0 && fs.f_blocks >= fs.f_bfree && fs.f_namelen == 255);
    EXPECT_EQ(fstatfs(fd, &fs), 0);
}

static void asks_who_may(void)
{
    char name[] = "/tmp/t_sys.XXXXXX";
    int fd;

    NEED_ROOT();
    fd = mkstemp(name);
    EXPECT(fd >= 0);
    EXPECT_EQ(fchmod(fd, 0600), 0);
    EXPECT_EQ(access(name, R_OK | W_OK), 0);
    EXPECT_ERR(access(name, X_OK), EACCES); /* no user may execute it, not even root */
    EXPECT_ERR(syscall(SYS_access, name, 8), EINVAL);
    /* access() checks with the real id, faccessat2(AT_EACCESS) with the effective one */
    EXPECT_EQ(setresuid(NOBODY, 0, 0), 0);
    EXPECT_ERR(access(name, R_OK), EACCES);
    EXPECT_EQ(syscall(439 /* faccessat2 */, AT_FDCWD, name, R_OK, AT_EACCESS), 0);
    EXPECT_EQ(setresuid(0, NOBODY, 0), 0);
    EXPECT_ERR(open(name, O_RDONLY), EACCES);
    EXPECT_EQ(access(name, R_OK), 0);
    EXPECT_EQ(setresuid(0, 0, 0), 0);
    EXPECT_EQ(unlink(name), 0);
}

static void names_replaced_or_not(void)
{
    char dir[] = "/tmp/t_sys.XXXXXX", small[4];

    EXPECT(mkdtemp(dir) != NULL);
    EXPECT_EQ(chdir(dir), 0);
    EXPECT_ERR(syscall(SYS_getcwd, small, sizeof small), ERANGE);
    EXPECT_EQ(close(creat("a", 0600)), 0);
    EXPECT_EQ(close(creat("b", 0600)), 0);
    EXPECT_ERR(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", 1), EEXIST);
    EXPECT_EQ(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "c", 1), 0);
    EXPECT_EQ(rename("b", "c"), 0);
    EXPECT_ERR(access("b", F_OK), ENOENT);
    EXPECT_ERR(unlinkat(AT_FDCWD, "c", 4), EINVAL);
    EXPECT_ERR(unlinkat(AT_FDCWD, "c", AT_REMOVEDIR), ENOTDIR);
    EXPECT_ERR(symlink("", "l"), ENOENT);
    EXPECT_ERR(link("c", "c"), EEXIST);
    EXPECT_ERR(linkat(AT_FDCWD, "c", AT_FDCWD, "d", 1), EINVAL);
    umask(022);
    EXPECT_EQ(umask(077), 022);
    EXPECT_EQ(umask(022), 077);
    EXPECT_EQ(unlink("c"), 0);
    EXPECT_EQ(rmdir(dir), 0);
    EXPECT_ERR(close(creat("x", 0600)), EBADF);
}

static void random_bytes(void)
{
    uint64_t a[64] = {0}, b[64] = {0};

    EXPECT_EQ(getrandom(a, sizeof a, 0), (long)sizeof a);
    EXPECT_EQ(getrandom(b, sizeof b, GRND_NONBLOCK), (long)sizeof b);
    EXPECT(memcmp(a, b, sizeof a) != 0);
    EXPECT_EQ(getrandom(a, 0, 0), 0);
    EXPECT_EQ(getrandom(a, 3, 0), 3);
    EXPECT_ERR(getrandom(a, 1, 0x80), EINVAL);
    EXPECT_ERR(getrandom(NOWHERE, 8, 0), EFAULT);
}

static void interval_timers(void)
{
    struct itimerval it = {.it_interval = {0, 20000}, .it_value = {0, 20000}}, old;

    catch_signal(SIGALRM, 0);
    EXPECT_EQ(setitimer(ITIMER_REAL, &it, &old), 0);
    while (caught < 3)
        pause();
    EXPECT_EQ(getitimer(ITIMER_REAL, &old), 0);
    EXPECT(old.it_interval.tv_usec == 20000 && old.it_value.tv_usec <= 20000);
    memset(&it, 0, sizeof it);
    EXPECT_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
    EXPECT_EQ(getitimer(ITIMER_REAL, &old), 0);
    EXPECT(old.it_value.tv_sec == 0 && old.it_value.tv_usec == 0);
    EXPECT_ERR(setitimer(7, &it, NULL), EINVAL);
    it.it_value.tv_usec = 1000000;
    EXPECT_ERR(setitimer(ITIMER_REAL, &it, NULL), EINVAL);
    EXPECT_ERR(syscall(SYS_setitimer, ITIMER_REAL, NOWHERE, NULL), EFAULT);
}

static void burn_cpu_until_caught(void)
{
    for (long long end = now_ms() + 15000; caught == 0 && now_ms() < end;)
        ;
    EXPECT(caught > 0);
}

static void cpu_time_timers(void)
{
    struct itimerval it = {.it_value = {0, 30000}}, off = {{0, 0}, {0, 0}};

    catch_signal(SIGPROF, SA_RESTART);
    EXPECT_EQ(setitimer(ITIMER_PROF, &it, NULL), 0);
    burn_cpu_until_caught();
    catch_signal(SIGVTALRM, SA_RESTART);
    EXPECT_EQ(setitimer(ITIMER_VIRTUAL, &it, NULL), 0);
    burn_cpu_until_caught();
    /* while it sleeps, little CPU time passes: a virtual CPU that waits for one of the host's uses time, too */
    it.it_value.tv_usec = 400000;
    catch_signal(SIGPROF, SA_RESTART);
    EXPECT_EQ(setitimer(ITIMER_PROF, &it, NULL), 0);
    usleep(800000);
    EXPECT_EQ(caught, 0);
    EXPECT_EQ(setitimer(ITIMER_PROF, &off, &it), 0);
    EXPECT(it.it_value.tv_usec > 0);
}

static void interrupted_sleeps(void)
{
    struct timespec t = {1000, 0}, left = {0, 0};
    int err;

    catch_signal(SIGALRM, SA_RESTART); /* sleeps are interrupted all the same */
    alarm_every(20);
    EXPECT_ERR(nanosleep(&t, &left), EINTR);
    EXPECT(left.tv_sec >= 900 && left.tv_sec < 1000 && left.tv_nsec > 0);
    EXPECT(caught > 0);
    caught = 0;
    err = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){1 << 30, 0}, NULL);
    EXPECT_EQ(err, EINTR);
    EXPECT(caught > 0);
    alarm_every(0);
    t = (struct timespec){0, -1};
    EXPECT_ERR(nanosleep(&t, NULL), EINVAL);
    EXPECT_ERR(syscall(SYS_nanosleep, NOWHERE, NULL), EFAULT);
    t = (struct timespec){0, 1};
    EXPECT_EQ(clock_nanosleep(99, 0, &t, NULL), EINVAL);
}

/* Waits until a process sleeps. */
static void until_asleep(pid_t pid)
{
    char name[64], text[256], *end;
    int fd;

    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    do {
        usleep(1000);
        fd = open(name, O_RDONLY);
        memset(text, 0, sizeof text);
        if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
            _exit(1);
        close(fd);
        end = strrchr(text, ')');
    } while (end == NULL || end[2] == 'R');
}

/* Stopping and continuing a process does not shorten its sleep: restart_syscall(2). */
static void sleeps_survive_a_stop(void)
{
    bool stopped = false;

    /* again with a longer sleep, if it was over before the stop */
    for (long long ms = 300; !stopped; ms *= 4) {
        struct timespec t = {ms / 1000, ms % 1000 * 1000000};
        long long t0 = now_ms();
        int status;
        pid_t child = fork();

        EXPECT(ms < 30000);
        if (child == 0)
            _exit(nanosleep(&t, NULL) == 0 ? 0 : 1);
        until_asleep(child);
        EXPECT_EQ(kill(child, SIGSTOP), 0);
        EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
        stopped = WIFSTOPPED(status);
        if (stopped) {
            EXPECT_EQ(kill(child, SIGCONT), 0);
            EXPECT_EQ(waitpid(child, &status, 0), child);
        }
        EXPECT_EQ(status, 0);
        EXPECT(now_ms() - t0 >= ms - 1);
    }
}

static long futex(void *word, int op, unsigned val, void *limit, void *word2, unsigned val3)
{
    return syscall(SYS_futex, word, op, val, limit, word2, val3);
}

static uint32_t word1, word2;
static _Atomic long waiter; /* the id of the waiting thread */

static void *futex_waiter(void *op)
{
    waiter = syscall(SYS_gettid);
    return (void *)futex(&word1, (int)(long)op, 0, NULL, NULL, 4);
}

/* Starts a thread that waits for word1; returns when the thread sleeps. */
static void start_waiter(pthread_t *t, long op)
{
    char path[64], text[128], state = 0;

    waiter = 0;
    EXPECT_EQ(pthread_create(t, NULL, futex_waiter, (void *)op), 0);
    while (state != 'S') {
        int fd, n;

        usleep(10000);
        if (waiter == 0)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)waiter);
        EXPECT((fd = open(path, O_RDONLY)) >= 0);
        EXPECT((n = (int)read(fd, text, sizeof text - 1)) > 0);
        text[n] = '\0';
        close(fd);
        EXPECT(sscanf(text, "%*d (%*[^)]) %c", &state) == 1);
    }
}

static void futex_operations(void)
{
    pthread_t t;
    void *none;

    /* FUTEX_WAKE_OP: word2 = 5, wake one waiter of word1; word2 was 0, so no waiter of word2 */
    start_waiter(&t, FUTEX_WAIT);
    EXPECT_EQ(futex(&word1, FUTEX_WAKE_OP, 1, (void *)1, &word2, FUTEX_OP(OP_SET, 5, CMP_GT, 0)),
              1);
    EXPECT_EQ(pthread_join(t, NULL), 0);
    EXPECT_EQ(word2, 5);
    EXPECT_EQ(futex(&word1, FUTEX_WAKE_OP, 1, NULL, &word2, FUTEX_OP(OP_ADD, 0xfff, CMP_EQ, 5)), 0);
    EXPECT_EQ(word2, 4); /* 0xfff means -1 */
    EXPECT_EQ(
        futex(&word1, FUTEX_WAKE_OP, 1, NULL, &word2, FUTEX_OP(OP_OR | OP_SHIFT, 3, CMP_EQ, 5)), 0);
    EXPECT_EQ(word2, 12);
    EXPECT_ERR(futex(&word1, FUTEX_WAKE_OP, 1, NULL, &word2, FUTEX_OP(7, 0, 0, 0)), ENOSYS);
    EXPECT_ERR(futex(&word1, FUTEX_WAKE_OP, 1, NULL, NOWHERE, 0), EFAULT);
    /* bit sets: a wake-up counts only if it has a bit in common */
    start_waiter(&t, FUTEX_WAIT_BITSET);
    EXPECT_EQ(futex(&word1, FUTEX_WAKE_BITSET, 1, NULL, NULL, 3), 0);
    EXPECT_EQ(futex(&word1, FUTEX_WAKE_BITSET, 1, NULL, NULL, 6), 1);
    EXPECT_EQ(pthread_join(t, NULL), 0);
    EXPECT_ERR(futex(&word1, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0), EINVAL);
    EXPECT_ERR(futex(&word1, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0), EINVAL);
    word2 = 1;
    EXPECT_ERR(futex(&word2, FUTEX_CMP_REQUEUE, 1, (void *)1, &word1, 7), EAGAIN);
    EXPECT_ERR(futex(&word2, FUTEX_CMP_REQUEUE, 1, (void *)-1, &word1, 1), EINVAL);
    EXPECT_ERR(futex(&word1, 77, 0, NULL, NULL, 0), ENOSYS);
    EXPECT_ERR(futex((char *)&word1 + 1, FUTEX_WAKE, 1, NULL, NULL, 0), EINVAL);
    EXPECT_ERR(futex((void *)-4096, FUTEX_WAIT, 1, NULL, NULL, 0), EFAULT);
    EXPECT_ERR(futex(NOWHERE, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0), EFAULT);
    /* for private memory only the address counts; shared memory must be mapped to be identified */
    EXPECT_EQ(futex(NOWHERE, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0), 0);
    EXPECT_ERR(futex(NOWHERE, FUTEX_WAKE, 1, NULL, NULL, 0), EFAULT);
    EXPECT_ERR(futex((void *)-4096, FUTEX_WAKE, 1, NULL, NULL, 0), EFAULT);
    EXPECT_ERR(futex((void *)-4096, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0), EFAULT);
    none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_ERR(futex(none, FUTEX_WAKE, 1, NULL, NULL, 0), EFAULT);
}

/* A call with FUTEX_PRIVATE_FLAG and one without do not meet, although both use private memory. */
static void private_futexes(void)
{
    static const int flag[] = {0, FUTEX_PRIVATE_FLAG};
    pthread_t t;

    for (int i = 0; i < 2; i++) {
        start_waiter(&t, FUTEX_WAIT | flag[i]);
        EXPECT_EQ(futex(&word1, FUTEX_WAKE | flag[!i], 1, NULL, NULL, 0), 0);
        EXPECT_EQ(futex(&word1, FUTEX_WAKE | flag[i], 1, NULL, NULL, 0), 1);
        EXPECT_EQ(pthread_join(t, NULL), 0);
    }
}

static void futex_limits(void)
{
    struct timespec t = {0, 20000000};

    EXPECT_ERR(futex(&word1, FUTEX_WAIT, 0, &t, NULL, 0), ETIMEDOUT);
    EXPECT_ERR(futex(&word1, FUTEX_WAIT, 1, &t, NULL, 0), EAGAIN);
    t = (struct timespec){1, 0}; /* in the past */
    EXPECT_ERR(futex(&word1, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &t, NULL, 1), ETIMEDOUT);
    t.tv_nsec = 1000000000;
    EXPECT_ERR(futex(&word1, FUTEX_WAIT, 0, &t, NULL, 0), EINVAL);
    EXPECT_ERR(futex(&word1, FUTEX_WAIT, 0, NOWHERE, NULL, 0), EFAULT);
    catch_signal(SIGALRM, 0);
    alarm_every(20);
    EXPECT_ERR(futex(&word1, FUTEX_WAIT, 0, NULL, NULL, 0), EINTR);
    EXPECT(caught > 0);
    caught = 0;
    t = (struct timespec){1000, 0};
    EXPECT_ERR(futex(&word1, FUTEX_WAIT, 0, &t, NULL, 0), EINTR);
    EXPECT(caught > 0);
    alarm_every(0);
}

static void scheduling(void)
{
    struct sched_param sp = {.sched_priority = 17};
    struct timespec slice;

    NEED_ROOT();
    EXPECT_EQ(syscall(SYS_sched_getscheduler, 0), SCHED_OTHER);
    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &sp), 0);
    EXPECT_EQ(syscall(SYS_sched_getscheduler, 0), SCHED_FIFO);
    sp.sched_priority = 0;
    EXPECT_EQ(syscall(SYS_sched_getparam, 0, &sp), 0);
    EXPECT_EQ(sp.sched_priority, 17);
    EXPECT_EQ(syscall(SYS_sched_rr_get_interval, 0, &slice), 0);
    EXPECT(slice.tv_sec == 0 && slice.tv_nsec == 0);
    sp.sched_priority = 100;
    EXPECT_ERR(syscall(SYS_sched_setscheduler, 0, SCHED_RR, &sp), EINVAL);
    EXPECT_ERR(syscall(SYS_sched_setparam, 0, &sp), EINVAL);
    sp.sched_priority = 1;
    EXPECT_ERR(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &sp), EINVAL);
    EXPECT_ERR(syscall(SYS_sched_setscheduler, 0, 77, &sp), EINVAL);
    EXPECT_ERR(syscall(SYS_sched_setscheduler, 0, SCHED_RR, NULL), on_homeroom() ? EFAULT : EINVAL);
    EXPECT_ERR(syscall(SYS_sched_getscheduler, INT_MAX), ESRCH);
    EXPECT_ERR(syscall(SYS_sched_getscheduler, -1), EINVAL);
    sp.sched_priority = 0;
    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &sp), 0);
    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &sp), 0);
    EXPECT_EQ(sched_get_priority_max(SCHED_FIFO), 99);
    EXPECT_EQ(sched_get_priority_min(SCHED_RR), 1);
    EXPECT_EQ(sched_get_priority_max(SCHED_OTHER), 0);
    EXPECT_ERR(sched_get_priority_max(77), EINVAL);
    EXPECT_ERR(syscall(SYS_sched_getaffinity, 0, 1, &slice), EINVAL);
    EXPECT_ERR(syscall(SYS_sched_setaffinity, 0, 8, &(uint64_t){0}), EINVAL);
    EXPECT_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
    sp.sched_priority = 5;
    EXPECT_ERR(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &sp), EPERM);
    EXPECT_ERR(syscall(SYS_sched_setaffinity, getppid(), 8, &(uint64_t){1}), EPERM);
}

static void niceness(void)
{
    NEED_ROOT();
    if (getpriority(PRIO_PROCESS, 0) > 3)
        SKIP("started by nice");
    EXPECT_EQ(setpriority(PRIO_PROCESS, 0, 5), 0);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 5);
    EXPECT_EQ(getpriority(PRIO_PROCESS, getpid()), 5);
    EXPECT_EQ(setpriority(PRIO_PROCESS, 0, 100), 0);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 19);
    EXPECT_EQ(setpriority(PRIO_PROCESS, 0, 3), 0);
    EXPECT_ERR(getpriority(9, 0), EINVAL);
    EXPECT_ERR(getpriority(PRIO_PROCESS, INT_MAX), ESRCH);
    EXPECT_ERR(getpriority(PRIO_PGRP, INT_MAX), ESRCH);
    EXPECT_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
    EXPECT_ERR(setpriority(PRIO_PROCESS, 0, 1), EACCES);
    EXPECT_EQ(setpriority(PRIO_PROCESS, 0, 9), 0);
    EXPECT_ERR(setpriority(PRIO_PROCESS, getppid(), 9), EPERM);
}

enum { IOPRIO_PROCESS = 1, IOPRIO_PGRP, IOPRIO_USER };
#define IOPRIO(cls, level) ((cls) << 13 | (level))
#define RT(level)          IOPRIO(1, level)
#define BE(level)          IOPRIO(2, level)
#define IDLE               IOPRIO(3, 0)

static long ioprio_get(int which, int who)
{
    return syscall(SYS_ioprio_get, which, who);
}

static long ioprio_set(int which, int who, int prio)
{
    return syscall(SYS_ioprio_set, which, who, prio);
}

/* Makes a process in process group `group` (0: its own) with an I/O priority, NONE for 0, that waits to be killed. */
static pid_t with_ioprio(int prio, pid_t group)
{
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        alarm(60); /* the process that should kill it may be gone */
        pause();
        _exit(0);
    }
    EXPECT_EQ(setpgid(pid, group), 0);
    EXPECT_EQ(ioprio_set(IOPRIO_PROCESS, pid, prio), 0);
    return pid;
}

static void *thread_ioprio(void *arg)
{
    long inherited = ioprio_get(IOPRIO_PROCESS, 0);

    EXPECT_EQ(ioprio_set(IOPRIO_PROCESS, (int)syscall(SYS_gettid), BE(7)), 0);
    EXPECT_EQ(ioprio_get(IOPRIO_PROCESS, 0), BE(7));
    return (void *)inherited;
}

static void disk_priorities(void)
{
    enum { ALONE = 64321 }; /* a user without other processes */
    char line[64] = "";
    FILE *pipe;
    pid_t one, two;
    pthread_t thread;
    void *inherited;

    NEED_ROOT();
    if (ioprio_get(IOPRIO_PROCESS, 0) != 0 || getpriority(PRIO_PROCESS, 0) != 0)
        SKIP("started by ionice or nice");
    EXPECT_EQ(ioprio_set(IOPRIO_PROCESS, 0, RT(2)), 0);
    EXPECT_EQ(ioprio_get(IOPRIO_PROCESS, getpid()), RT(2));
    EXPECT_EQ(ioprio_set(IOPRIO_PROCESS, getpid(), IDLE), 0);
    EXPECT_EQ(ioprio_get(IOPRIO_PROCESS, 0), IDLE);
    EXPECT_EQ(ioprio_set(IOPRIO_PROCESS, 0, BE(3)), 0);
    EXPECT_EQ(pthread_create(&thread, NULL, thread_ioprio, NULL), 0);
    EXPECT_EQ(pthread_join(thread, &inherited), 0);
    EXPECT_EQ((long)inherited, BE(3));
    EXPECT_EQ(ioprio_get(IOPRIO_PROCESS, 0), BE(3)); /* a thread has a priority of its own */
    EXPECT((pipe = popen("ionice", "r")) != NULL);   /* through fork and two execs */
    EXPECT(fgets(line, sizeof line, pipe) != NULL && strcmp(line, "best-effort: prio 3\n") == 0);
    EXPECT_EQ(pclose(pipe), 0);

    if (on_homeroom()) { /* Linux has hints in these bits since 6.5 */
        EXPECT_ERR(ioprio_set(IOPRIO_PROCESS, 0, BE(8)), EINVAL);
        EXPECT_ERR(ioprio_set(IOPRIO_PROCESS, 0, RT(8)), EINVAL);
    }
    EXPECT_ERR(ioprio_set(IOPRIO_PROCESS, 0, IOPRIO(0, 1)), EINVAL);
    EXPECT_ERR(ioprio_set(IOPRIO_PROCESS, 0, IOPRIO(4, 0)), EINVAL);
    EXPECT_ERR(ioprio_set(0, 0, BE(4)), EINVAL);
    EXPECT_ERR(ioprio_set(4, 0, BE(4)), EINVAL);
    EXPECT_ERR(ioprio_get(0, 0), EINVAL);
    EXPECT_ERR(ioprio_get(INT_MIN, 0), EINVAL);
    for (int which = IOPRIO_PROCESS; which <= IOPRIO_USER; which++) {
        EXPECT_ERR(ioprio_set(which, INT_MAX, BE(4)), ESRCH);
        EXPECT_ERR(ioprio_get(which, INT_MAX), ESRCH);
    }
    EXPECT_EQ(ioprio_get(IOPRIO_PROCESS, 0), BE(3)); /* none of these calls has changed it */

    one = with_ioprio(IDLE, 0);
    two = with_ioprio(BE(6), one);
    EXPECT_EQ(ioprio_get(IOPRIO_PGRP, one), BE(6));
    EXPECT_EQ(ioprio_set(IOPRIO_PROCESS, two, 0), 0);
    EXPECT_EQ(setpriority(PRIO_PROCESS, two, 10), 0);
    EXPECT_EQ(ioprio_get(IOPRIO_PROCESS, two), 0);  /* as it was set */
    EXPECT_EQ(ioprio_get(IOPRIO_PGRP, one), BE(6)); /* (10 + 20) / 5 */
    EXPECT_EQ(ioprio_set(IOPRIO_PGRP, one, BE(1)), 0);
    EXPECT_EQ(ioprio_get(IOPRIO_PROCESS, one), BE(1));
    EXPECT_EQ(ioprio_get(IOPRIO_PROCESS, two), BE(1));
    EXPECT_EQ(setresuid(ALONE, ALONE, 0), 0);
    EXPECT_ERR(ioprio_set(IOPRIO_PROCESS, one, BE(5)), EPERM);
    EXPECT_ERR(ioprio_set(IOPRIO_PGRP, one, BE(5)), EPERM);
    EXPECT_ERR(ioprio_set(IOPRIO_USER, 0, RT(4)), EPERM);
    EXPECT_ERR(ioprio_set(IOPRIO_PROCESS, 0, RT(8)), EPERM);
    EXPECT_EQ(ioprio_get(IOPRIO_PROCESS, one), BE(1)); /* reading it needs no rights */
    EXPECT_EQ(setresuid(0, 0, 0), 0);
    EXPECT_EQ(kill(-one, SIGKILL), 0);
    EXPECT_EQ(waitpid(one, NULL, 0), one);
    EXPECT_EQ(waitpid(two, NULL, 0), two);
    EXPECT_EQ(setresuid(ALONE, ALONE, ALONE), 0);
    EXPECT_EQ(ioprio_set(IOPRIO_PROCESS, 0, IDLE), 0); /* needs no privilege */
    if (on_homeroom()) /* a security module of Linux may refuse it */
        EXPECT_EQ(ioprio_set(IOPRIO_USER, 0, IDLE), 0);
    EXPECT_EQ(ioprio_get(IOPRIO_USER, ALONE), IDLE);
}

static void system_wide(void)
{
    struct sysinfo si;
    struct utsname u;

    NEED_ROOT();
    EXPECT_EQ(uname(&u), 0);
    EXPECT(strcmp(u.sysname, "Linux") == 0 && strcmp(u.machine, "x86_64") == 0);
    EXPECT_EQ(sysinfo(&si), 0);
    EXPECT(si.totalram >= si.freeram && si.freeram > 0 && si.procs > 0 && si.mem_unit == 1);
    EXPECT_ERR(syscall(SYS_uname, NOWHERE), EFAULT);
    EXPECT_ERR(syscall(SYS_reboot, 1, 2, 3, 0), EINVAL);
    EXPECT(getauxval(AT_SYSINFO_EHDR) != 0);
    EXPECT_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
    EXPECT_ERR(sethostname("x", 1), EPERM);
    EXPECT_ERR(syscall(SYS_reboot, 0xfee1dead, 0x28121969, 0x4321fedc, 0), EPERM);
    EXPECT_ERR(syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0), EPERM);
    EXPECT_ERR(syscall(SYS_umount2, "/proc", 0), EPERM);
    EXPECT_ERR(chroot("/tmp"), EPERM);
    EXPECT_ERR(syscall(SYS_settimeofday, &(struct timeval){1, 0}, NULL), EPERM);
    EXPECT_ERR(syscall(SYS_clock_settime, CLOCK_REALTIME, &(struct timespec){1, 0}), EPERM);
}

static void memory_edges(void)
{
    char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char vec[3];

    EXPECT(p != MAP_FAILED);
    p[4096] = 1;
    EXPECT_EQ(syscall(SYS_mincore, p, 3 * 4096, vec), 0);
    EXPECT(!(vec[0] & 1) && (vec[1] & 1) && !(vec[2] & 1));
    EXPECT_ERR(syscall(SYS_mincore, p + 1, 1, vec), EINVAL);
    EXPECT_ERR(syscall(SYS_mincore, p, 4096, NOWHERE), EFAULT);
    EXPECT_EQ(munmap(p + 4096, 4096), 0);
    EXPECT_ERR(syscall(SYS_mincore, p, 3 * 4096, vec), ENOMEM);
    EXPECT_ERR(mlock(p, 3 * 4096), ENOMEM);
    EXPECT_EQ(mlock(p, 4096), 0);
    EXPECT_EQ(munlock(p, 4096), 0);
    EXPECT_ERR(syscall(SYS_msync, p, 4096, MS_SYNC | MS_ASYNC), EINVAL);
    EXPECT_ERR(syscall(SYS_msync, p, 4096, 64), EINVAL);
    EXPECT_ERR(syscall(SYS_mprotect, p, 4096, 0x40), EINVAL);
    EXPECT_ERR(syscall(SYS_mremap, p, 4096, 4096, 8, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_ANONYMOUS, -1, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, 99, 0), EBADF);
    EXPECT_ERR(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, 0, 1), EINVAL);
}

static void solaris_only(void)
{
    struct hr_processor_info pi;
    struct hr_pcinfo pc;
    struct hr_tunable v, was;

    if (!on_homeroom())
        SKIP("calls of Solaris");
    NEED_ROOT();
    EXPECT_ERR(syscall(SYS_p_online, -1, P_STATUS), EINVAL);
    EXPECT_ERR(syscall(SYS_p_online, 4000, P_STATUS), EINVAL);
    EXPECT_ERR(syscall(SYS_p_online, 0, 99), EINVAL);
    EXPECT_ERR(syscall(SYS_p_online, 0, P_POWEROFF), ENOTSUP);
    EXPECT_EQ(syscall(SYS_p_online, 0, P_STATUS), P_ONLINE);
    EXPECT_EQ(syscall(SYS_p_online, 0, P_ONLINE), P_ONLINE);
    EXPECT_EQ(syscall(SYS_processor_info, 0, &pi), 0);
    EXPECT(pi.pi_state == P_ONLINE && pi.pi_clock > 0 && pi.pi_since > 0);
    EXPECT_ERR(syscall(SYS_processor_info, 0, NOWHERE), EFAULT);
    EXPECT_ERR(syscall(SYS_processor_bind, 3, P_MYID, 0, NULL), EINVAL);
    EXPECT_ERR(syscall(SYS_processor_bind, HR_P_PID, INT_MAX, PBIND_QUERY, NULL), ESRCH);
    EXPECT_ERR(syscall(SYS_processor_bind, HR_P_PID, P_MYID, 0, NOWHERE), EFAULT);
    EXPECT_ERR(syscall(SYS_priocntl, HR_P_PID, P_MYID, 9, &pc), EINVAL);
    EXPECT_EQ(syscall(SYS_priocntl, HR_P_PID, P_MYID, PC_GET, &pc), 0);
    EXPECT_EQ(pc.cls, HR_CLASS_TS);
    pc.cls = HR_CLASS_SYS;
    EXPECT_ERR(syscall(SYS_priocntl, HR_P_PID, P_MYID, PC_SET, &pc), EINVAL);
    EXPECT_ERR(syscall(SYS_tunable, TUNABLE_GET, "no_such_variable", &v), ENOENT);
    EXPECT_ERR(syscall(SYS_tunable, 7, "nlgrps", &v), EINVAL);
    EXPECT_ERR(syscall(SYS_tunable, TUNABLE_GET, NOWHERE, &v), EFAULT);
    EXPECT_EQ(syscall(SYS_tunable, TUNABLE_GET, "nlgrps", &v), 0);
    EXPECT(v.size == 4 && v.value >= 1 && !v.writable);
    EXPECT_ERR(syscall(SYS_tunable, TUNABLE_SET, "nlgrps", &v), EPERM);
    EXPECT_ERR(syscall(SYS_tunable, TUNABLE_SET, "mpo_enable", &v), EPERM); /* it is read at boot */
    EXPECT_EQ(syscall(SYS_tunable, TUNABLE_GET, "disk_fair_sectors", &v), 0);
    EXPECT(v.writable == 1 && v.least > 0 && v.least <= v.value && v.value <= v.greatest);
    was = v;
    v.value = was.least - 1;
    EXPECT_ERR(syscall(SYS_tunable, TUNABLE_SET, "disk_fair_sectors", &v), ERANGE);
    v.value = was.value | 1ull << 32; /* the value is not cut to the variable's width */
    EXPECT_ERR(syscall(SYS_tunable, TUNABLE_SET, "disk_fair_sectors", &v), ERANGE);
    EXPECT_EQ(syscall(SYS_tunable, TUNABLE_SET, "disk_fair_sectors", &was), 0);
    EXPECT_EQ(syscall(SYS_tunable, TUNABLE_GET, "disk_fair_sectors", &v), 0);
    EXPECT_EQ(v.value, was.value);
    EXPECT_ERR(syscall(SYS_memcntl, &v, 4096, 9, 0, 0, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_lgrp, 99), EINVAL);
    EXPECT_ERR(syscall(SYS_lgrp, LGRP_OP_INFO, 64, &v), EINVAL);
    EXPECT_ERR(syscall(SYS_truss, 99), EBADF);
    EXPECT_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
    pc = (struct hr_pcinfo){.cls = HR_CLASS_TS, .upri = -30};
    EXPECT_EQ(syscall(SYS_priocntl, HR_P_PID, P_MYID, PC_SET, &pc), 0);
    pc.upri = -29; /* a user can only lower a priority */
    EXPECT_ERR(syscall(SYS_priocntl, HR_P_PID, P_MYID, PC_SET, &pc), EPERM);
    EXPECT_ERR(syscall(SYS_p_online, 0, P_OFFLINE), EPERM);
    EXPECT_ERR(syscall(SYS_tunable, TUNABLE_SET, "nlgrps", &v), EPERM);
    EXPECT_ERR(syscall(SYS_processor_bind, HR_P_PID, getppid(), 0, NULL), EPERM);
    pc.cls = HR_CLASS_RT;
    pc.upri = 1;
    EXPECT_ERR(syscall(SYS_priocntl, HR_P_PID, P_MYID, PC_SET, &pc), EPERM);
}

/* Every call of a traced process, and of its children, gives one line. */
static void tracing(void)
{
    char text[8192], want[128];
    int p[2], status;
    long n, got = 0;
    pid_t child;

    if (!on_homeroom())
        SKIP("truss");
    EXPECT_EQ(pipe(p), 0);
    child = fork();
    if (child == 0) {
        syscall(SYS_truss, p[1]);
        syscall(SYS_open, "/no\"such", 0);
        syscall(SYS_getppid);
        _exit(5);
    }
    close(p[1]);
    while ((n = read(p[0], text + got, sizeof text - 1 - (size_t)got)) > 0)
        got += n;
    text[got] = '\0';
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 5);
    snprintf(want, sizeof want, "%d 1 2 ", child);
    EXPECT(strstr(text, want) != NULL);
    EXPECT(strstr(text, " -2 ") != NULL && strstr(text, "\"/no\\x22such\"") != NULL);
    snprintf(want, sizeof want, "%d 1 110 0 0 0 0 0 0 %d ", child, getpid());
    EXPECT(strstr(text, "110 ") != NULL);
    snprintf(want, sizeof want, "%d 1 231 5 ", child);
    EXPECT(strstr(text, want) != NULL);
    EXPECT(strstr(text, " - 0\n") != NULL);
    /* when the reader closes, the tracing ends without a signal: at once, or while the traced process waits for room */
    for (int socket = 0; socket <= 1; socket++) {
        for (int full = 0; full <= 1; full++) {
            EXPECT_EQ(socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, p) : pipe(p), 0);
            child = fork();
            if (child == 0) {
                close(p[0]);
                syscall(SYS_truss, p[1]);
                for (int i = 0; i < 10000; i++)
                    syscall(SYS_getppid);
                _exit(6);
            }
            if (full)
                until_asleep(child);
            close(p[0]);
            close(p[1]);
            EXPECT_EQ(waitpid(child, &status, 0), child);
            EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 6);
        }
    }
}

/* Nodes of memory, as Linux's programs request them; tests/test_dynamic.py tests what numactl does with them. */
static void memory_policy(void)
{
    enum { NODE = 1, ADDR = 2, ALLOWED = 4, BITS = 1024 };
    unsigned long mask[BITS / 64], all[BITS / 64];
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int mode = -1;

    EXPECT(p != MAP_FAILED);
    if (syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) != 0)
        SKIP("the host forbids it");
    EXPECT_EQ(mode, 0); /* MPOL_DEFAULT */
    memset(mask, 0xff, sizeof mask);
    EXPECT_EQ(syscall(SYS_get_mempolicy, NULL, mask, BITS + 1, NULL, 0), 0);
    for (int i = 0; i < BITS / 64; i++)
        EXPECT_EQ(mask[i], 0);
    EXPECT_EQ(syscall(SYS_get_mempolicy, NULL, all, BITS + 1, NULL, ALLOWED), 0);
    EXPECT(all[0] != 0);
    /* this touches the page */
    EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, NULL, 0, p, NODE | ADDR), 0);
    EXPECT(mode >= 0 && mode < 64 && (all[0] >> mode & 1) != 0);
    EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, mask, BITS + 1, p, ADDR), 0);
    EXPECT_EQ(mode, 0);
    EXPECT_ERR(syscall(SYS_get_mempolicy, NULL, mask, 0, NULL, ALLOWED), EINVAL);
    EXPECT_ERR(syscall(SYS_get_mempolicy, NULL, mask, 8ul * 4096 + 65, NULL, ALLOWED), EINVAL);
    EXPECT_ERR(syscall(SYS_get_mempolicy, NULL, NULL, 0, NULL, 8), EINVAL);
    EXPECT_ERR(syscall(SYS_get_mempolicy, NULL, NULL, 0, NULL, NODE), EINVAL);
    EXPECT_ERR(syscall(SYS_get_mempolicy, NULL, NULL, 0, NULL, ALLOWED | ADDR), EINVAL);
    EXPECT_ERR(syscall(SYS_get_mempolicy, NULL, NULL, 0, p, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_get_mempolicy, NOWHERE, NULL, 0, NULL, 0), EFAULT);
    EXPECT_ERR(syscall(SYS_get_mempolicy, NULL, NOWHERE, BITS + 1, NULL, 0), EFAULT);
    munmap(p, 4096);
    EXPECT_ERR(syscall(SYS_get_mempolicy, &mode, NULL, 0, p, NODE | ADDR), EFAULT);
    EXPECT_ERR(syscall(SYS_get_mempolicy, &mode, NULL, 0, NOWHERE, ADDR), EFAULT);
}

/* The present policy of this thread, with nodes 0 to 63. */
static long policy(unsigned long *nodes)
{
    unsigned long mask[16] = {0};
    int mode = -1;

    EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, mask, 1025, NULL, 0), 0);
    *nodes = mask[0];
    return mode;
}

static void *policy_of_a_thread(void *arg)
{
    unsigned long nodes;

    EXPECT_EQ(policy(&nodes), 2);
    EXPECT_EQ(nodes, 1);
    EXPECT_EQ(syscall(SYS_set_mempolicy, 0, NULL, 0), 0);
    return NULL;
}

/* A thread's own policy, which its children and threads inherit.  tests/test_dynamic.py tests its effect on pages. */
static void memory_policy_set(void)
{
    enum {
        DEFAULT,
        PREFERRED,
        BIND,
        INTERLEAVE,
        LOCAL,
        MANY,
        STATIC = 1 << 15,
        RELATIVE = 1 << 14,
        NODE = 1
    };
    unsigned long one[16] = {1}, none[16] = {0}, far[16] = {[15] = 1ul << 63}, nodes;
    pthread_t t;
    int next = -1, status;
    pid_t child;

    if (syscall(SYS_set_mempolicy, DEFAULT, NULL, 0) != 0)
        SKIP("the host forbids it");
    EXPECT_ERR(syscall(SYS_set_mempolicy, 77, one, 1025), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy, -1, one, 1025), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy, BIND | STATIC | RELATIVE, one, 1025), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy, DEFAULT, one, 1025), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy, LOCAL, one, 1025), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy, BIND, none, 1025), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy, BIND, NULL, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy, BIND, far, 1025), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy, BIND, one, 8ul * 4096 + 2), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy, BIND, NOWHERE, 65), EFAULT);
    EXPECT_EQ(policy(&nodes), DEFAULT); /* none of these calls has changed it */
    EXPECT_EQ(syscall(SYS_set_mempolicy, INTERLEAVE, one, 1025), 0);
    EXPECT_EQ(policy(&nodes), INTERLEAVE);
    EXPECT_EQ(nodes, 1);
    EXPECT_EQ(syscall(SYS_get_mempolicy, &next, NULL, 0, NULL, NODE), 0);
    EXPECT_EQ(next, 0);
    EXPECT_EQ(syscall(SYS_set_mempolicy, PREFERRED, NULL, 0), 0);
    EXPECT_EQ(policy(&nodes), LOCAL);
    EXPECT_EQ(nodes, 0);
    EXPECT_EQ(syscall(SYS_set_mempolicy, MANY | STATIC, one, 1025), 0);
    EXPECT_EQ(policy(&nodes), MANY | STATIC);
    EXPECT_EQ(syscall(SYS_set_mempolicy, BIND, one, 2), 0);
    EXPECT_EQ(policy(&nodes), BIND);
    child = fork();
    if (child == 0)
        _exit(policy(&nodes) == BIND && nodes == 1 ? 3 : 4);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    EXPECT_EQ(pthread_create(&t, NULL, policy_of_a_thread, NULL), 0);
    pthread_join(t, NULL);
    EXPECT_EQ(policy(&nodes), BIND); /* the other thread's policy was its own */
    EXPECT_EQ(syscall(SYS_set_mempolicy, DEFAULT, NULL, 0), 0);
    EXPECT_EQ(policy(&nodes), DEFAULT);
}

static const struct check list[] = {
    {"memory_policy", memory_policy},
    {"memory_policy_set", memory_policy_set},
    {"unknown_numbers", unknown_numbers},
    {"selecting", selecting},
    {"masks_of_waiting_calls", masks_of_waiting_calls},
    {"poll_arguments", poll_arguments},
    {"vectors", vectors},
    {"sending_files", sending_files},
    {"closing_ranges", closing_ranges},
    {"stat_family", stat_family},
    {"asks_who_may", asks_who_may},
    {"names_replaced_or_not", names_replaced_or_not},
    {"random_bytes", random_bytes},
    {"interval_timers", interval_timers},
    {"cpu_time_timers", cpu_time_timers},
    {"interrupted_sleeps", interrupted_sleeps},
    {"sleeps_survive_a_stop", sleeps_survive_a_stop},
    {"futex_operations", futex_operations},
    {"private_futexes", private_futexes},
    {"futex_limits", futex_limits},
    {"scheduling", scheduling},
    {"niceness", niceness},
    {"disk_priorities", disk_priorities},
    {"system_wide", system_wide},
    {"memory_edges", memory_edges},
    {"solaris_only", solaris_only},
    {"tracing", tracing},
};
CHECK_MAIN(list)
