// SPDX-License-Identifier: MIT
/*
 * limits.c - attacks on shared resources: processes take one kind of object until it is refused, and keep it.
 *
 * SEE ALSO    attack.h, user/test/hoard.c
 */
#include "attack.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static char bytes[65536];

/*
 * Runs fn in `n` processes of this user, each of which stays.  Waits until all have taken what they can get, or have
 * ended, and records the last error.
 */
static void in_many(int n, long (*fn)(void))
{
    int error = 0;
    int p[2], made = 0;

    if (pipe(p) != 0) {
        answer("%s", error_name(errno));
        return;
    }
    for (; made < n; made++) {
        pid_t pid = fork();

        if (pid < 0)
            break;
        if (pid == 0) {
            errno = 0;
            fn();
            error = errno;
            if (write(p[1], &error, sizeof error) == sizeof error)
                pause();
            _exit(0);
        }
    }
    close(p[1]);
    for (int i = 0; i < made && read(p[0], &error, sizeof error) == sizeof error; i++)
        ; /* how many there are depends on the size of memory */
    answer("%s", error != 0 ? error_name(error) : "as many as asked");
}

static long fill_pipes(void)
{
    long n = 0;

    for (int p[2]; pipe2(p, O_NONBLOCK) == 0; n++)
        while (write(p[1], bytes, sizeof bytes) > 0)
            ;
    return n;
}

static bool pipes(void)
{
    in_many(20, fill_pipes);
    return false;
}

static long grow_pipes(void)
{
    long n = 0;

    for (int p[2]; pipe2(p, O_NONBLOCK) == 0; n++) {
        fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
        while (write(p[1], bytes, sizeof bytes) > 0)
            ;
    }
    return n;
}

static bool large_pipes(void)
{
    in_many(10, grow_pipes);
    return false;
}

static long fill_sockets(void)
{
    long n = 0;

    for (int s[2]; socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) == 0; n++)
        while (send(s[0], bytes, 16384, MSG_DONTWAIT) > 0)
            ;
    return n;
}

static bool unix_streams(void)
{
    in_many(20, fill_sockets);
    return false;
}

static long open_sockets(void)
{
    long n = 0;

    while (socket(AF_INET, n % 2 == 0 ? SOCK_STREAM : SOCK_DGRAM, 0) >= 0)
        n++;
    return n;
}

static bool inet_sockets(void)
{
    in_many(20, open_sockets);
    return false;
}

static long make_epolls(void)
{
    long n = 0;

    while (epoll_create1(0) >= 0)
        n++;
    return n;
}

static bool epolls(void)
{
    in_many(20, make_epolls);
    return false;
}

static long watch_with_epoll(void)
{
    int pipe_fd[2], fd[512], n = 0, e = 0;
    long got = 0;

    if (pipe(pipe_fd) != 0)
        return 0;
    while (n < 400 && (fd[n] = dup(pipe_fd[0])) >= 0)
        n++;
    for (; (e = epoll_create1(0)) >= 0;)
        for (int i = 0; i < n; i++) {
            struct epoll_event want = {.events = EPOLLIN};

            if (epoll_ctl(e, EPOLL_CTL_ADD, fd[i], &want) != 0)
                return got;
            got++;
        }
    return got;
}

static bool watches(void)
{
    in_many(10, watch_with_epoll);
    return false;
}

/* 100 processes watch one file, 900 epolls each, and four write to it. */
static bool one_file(void)
{
    int e = eventfd(0, EFD_NONBLOCK), error = 0;
    struct epoll_event want = {.events = EPOLLIN | EPOLLET};
    uint64_t n = 1;

    for (int k = 0; k < 100; k++)
        if (fork() == 0) {
            for (int i = 0, ep; i < 900 && (ep = epoll_create1(0)) >= 0; i++)
                if (epoll_ctl(ep, EPOLL_CTL_ADD, e, &want) != 0)
                    break;
            pause();
        }
    for (int k = 0; k < 4; k++)
        if (fork() == 0)
            for (;;)
                if (write(e, &n, 8) != 8 || read(e, &n, 8) != 8)
                    n = 1;
    for (int ep; (ep = epoll_create1(0)) >= 0;)
        if (epoll_ctl(ep, EPOLL_CTL_ADD, e, &want) != 0)
            break;
    error = errno;
    answer("%s", error_name(error));
    return false;
}

/* ---- events, timers, files without a name ---- */

static long make_counters(void)
{
    long n = 0;

    while (eventfd(0, 0) >= 0)
        n++;
    return n;
}

static bool counters(void)
{
    in_many(20, make_counters);
    return false;
}

static long make_timer_files(void)
{
    struct itimerspec often = {{0, 1}, {0, 1}};
    long n = 0;

    for (int fd; (fd = timerfd_create(CLOCK_REALTIME, 0)) >= 0; n++)
        timerfd_settime(fd, TFD_TIMER_ABSTIME, &often, NULL);
    return n;
}

static bool timer_files(void)
{
    in_many(20, make_timer_files);
    return false;
}

static long make_timers(void)
{
    struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 1}, {0, 1}};
    long n = 0;
    int id;

    signal(SIGUSR1, SIG_IGN);
    for (; n < 100000 && syscall(SYS_timer_create, CLOCK_MONOTONIC, &ev, &id) == 0; n++)
        syscall(SYS_timer_settime, id, 0, &often, NULL);
    return n;
}

static bool timers(void)
{
    in_many(20, make_timers);
    return false;
}

static long fill_memfds(void)
{
    long n = 0;

    for (int fd; (fd = (int)syscall(SYS_memfd_create, "full", 0)) >= 0; n++)
        for (int i = 0; i < 1024; i++)
            if (write(fd, bytes, sizeof bytes) <= 0)
                return n;
    return n;
}

static bool memfds(void)
{
    in_many(4, fill_memfds);
    return false;
}

/* Sets with as much to undo. */
static long make_semaphores(void)
{
    long n = 0;

    for (int id; n < 100000 && (id = semget(IPC_PRIVATE, 8000, 0600)) >= 0; n++)
        for (unsigned short i = 0; i < 3; i++)
            if (semop(id, &(struct sembuf){i, 1, SEM_UNDO}, 1) != 0)
                return n;
    return n;
}

static bool semaphores(void)
{
    in_many(4, make_semaphores);
    return false;
}

/* Removes what USER's processes cannot take with them.  Not root's, of which there is none. */
static bool remove_semaphores(void)
{
    struct seminfo info = {0};
    struct semid_ds ds;
    int top = semctl(0, 0, SEM_INFO, &info);

    for (int i = 0; i <= top; i++)
        semctl(semctl(i, 0, SEM_STAT, &ds), 0, IPC_RMID);
    return false;
}

static long lock_bytes(void)
{
    char name[32];
    long n = 0;
    int fd;

    snprintf(name, sizeof name, "locked.%d", getpid());
    fd = open(name, O_CREAT | O_RDWR, 0600);
    for (; n < 1000000; n++) {
        struct flock l = {.l_type = F_WRLCK, .l_start = n * 2, .l_len = 1};

        if (fcntl(fd, F_SETLK, &l) != 0)
            break;
    }
    return n;
}

static bool record_locks(void)
{
    in_many(4, lock_bytes);
    return false;
}

static long make_links(void)
{
    char name[64];
    long n = 0;

    snprintf(name, sizeof name, "base.%d", getpid());
    close(open(name, O_CREAT | O_RDWR, 0600));
    for (; n < 1000000; n++) {
        char other[64];

        snprintf(other, sizeof other, "l%d.%ld", getpid(), n);
        if (link(name, other) != 0)
            break;
    }
    return n;
}

static bool hard_links(void)
{
    in_many(4, make_links);
    return false;
}

static long make_files(void)
{
    char name[64];
    long n = 0;

    for (; n < 1000000; n++) {
        int made;

        snprintf(name, sizeof name, "f%d.%ld", getpid(), n);
        made = n % 3 == 0   ? open(name, O_CREAT | O_WRONLY, 0600)
               : n % 3 == 1 ? mkdir(name, 0700)
                            : symlink("x", name);
        if (made < 0)
            break;
        if (n % 3 == 0)
            close(made);
    }
    return n;
}

static bool names(void)
{
    in_many(4, make_files);
    return false;
}

static long write_on(void)
{
    char name[64];
    long n = 0;
    int fd;

    snprintf(name, sizeof name, "big.%d", getpid());
    fd = open(name, O_CREAT | O_WRONLY, 0600);
    while (write(fd, bytes, sizeof bytes) > 0)
        n++;
    return n;
}

static bool last_page_of_tmpfs(void)
{
    in_many(4, write_on);
    return false;
}

static bool memory_for_devices(void)
{
    static const char *const names[] = {"x", "/dev/shm/x", "/dev/x"};
    int fd;

    for (int i = 0; i < 3; i++)
        if ((fd = open(names[i], O_CREAT | O_WRONLY, 0600)) >= 0)
            while (write(fd, bytes, sizeof bytes) > 0 || write(fd, bytes, 1) > 0)
                ;
    answer("%s", error_name(errno));
    return false;
}

/* true: root can no longer make a file with contents and a device in /dev. */
static bool root_makes_no_device(void)
{
    int fd = open("/dev/attack", O_CREAT | O_WRONLY, 0600);
    bool full = fd < 0 || write(fd, bytes, sizeof bytes) != sizeof bytes ||
                mknod("/dev/attack2", S_IFCHR, 0x103) != 0;

    close(fd);
    unlink("/dev/attack");
    unlink("/dev/attack2");
    unlink("/dev/shm/x");
    return full;
}

static long allocate_on(void)
{
    int fd = open("alloc", O_CREAT | O_RDWR, 0600);
    long n = 0;

    while (n < 1 << 20 && (errno = posix_fallocate(fd, n * MIB, MIB)) == 0)
        n++;
    return n;
}

static bool allocated_files(void)
{
    in_many(1, allocate_on);
    return false;
}

static long fork_on(void)
{
    long n = 0;

    for (pid_t pid; n < 100000; n++) {
        if ((pid = fork()) < 0)
            break;
        if (pid == 0)
            pause();
    }
    return n;
}

static bool processes(void)
{
    in_many(1, fork_on);
    return false;
}

static void fork_bomb(void)
{
    for (int i = 0; i < 200; i++)
        if (fork() < 0)
            usleep(1000);
    pause();
}

static bool bomb(void)
{
    if (fork() == 0)
        fork_bomb();
    sleep(2);
    answer("goes on");
    return false;
}

static void *rest(void *arg)
{
    pause();
    return arg;
}

static long start_threads(void)
{
    pthread_attr_t a;
    pthread_t t;
    long n = 0;
    int err = 0;

    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 16384);
    while (n < 100000 && (err = pthread_create(&t, &a, rest, NULL)) == 0)
        n++;
    errno = err;
    return n;
}

static bool threads(void)
{
    in_many(4, start_threads);
    return false;
}

static long queue_signals(void)
{
    sigset_t set;
    long n = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    while (n < 1000000 && sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0)
        n++;
    return n;
}

static bool signals(void)
{
    in_many(4, queue_signals);
    return false;
}

static long make_segments(void)
{
    long n = 0;

    for (int id; n < 100000 && (id = shmget(IPC_PRIVATE, 16 * MIB, IPC_CREAT | 0600)) >= 0; n++) {
        char *p = shmat(id, NULL, 0);

        shmctl(id, IPC_RMID, NULL);
        if (p == (void *)-1)
            break;
        for (size_t i = 0; i < 16 * MIB; i += PAGE)
            p[i] = 1;
    }
    return n;
}

static bool segments(void)
{
    in_many(2, make_segments);
    return false;
}

static bool long_arguments(void)
{
    enum { MANY = 1 << 16 };
    static char *args[MANY + 1];
    char *word = malloc(1 << 20);

    if (word == NULL)
        return false;
    memset(word, 'x', (1 << 20) - 1);
    word[(1 << 20) - 1] = 0;
    for (int i = 0; i < MANY; i++)
        args[i] = word;
    execv("/bin/busybox", args);
    return allowed("64 GiB", -1);
}

static long pseudo_terminals(void)
{
    long n = 0;

    for (int m; (m = posix_openpt(O_RDWR | O_NOCTTY)) >= 0; n++) {
        fcntl(m, F_SETFL, O_NONBLOCK);
        while (write(m, bytes, 4096) > 0)
            ;
    }
    return n;
}

static bool terminals(void)
{
    in_many(8, pseudo_terminals);
    return false;
}

static const struct attack list[] = {
    {"pipes", "full pipes", pipes, NULL, NULL},
    {"large_pipes", "full pipes of 1 MiB", large_pipes, NULL, NULL},
    {"unix_streams", "full Unix stream sockets", unix_streams, NULL, NULL},
    {"inet_sockets", "TCP and UDP sockets", inet_sockets, NULL, NULL},
    {"epolls", "epoll descriptors", epolls, NULL, NULL},
    {"watches", "descriptors watched by epoll", watches, NULL, NULL},
    {"one_file", "90,000 epolls that watch one file, and four that write to it", one_file, NULL,
     NULL},
    {"counters", "descriptors of eventfd", counters, NULL, NULL},
    {"timer_files", "descriptors of timerfd, each with a period of 1 ns", timer_files, NULL, NULL},
    {"timers", "timers of a signal that is ignored, each with a period of 1 ns", timers, NULL,
     NULL},
    {"memfds", "full files of memfd_create", memfds, NULL, NULL},
    {"semaphores", "System V semaphores with SEM_UNDO", semaphores, remove_semaphores, NULL},
    {"record_locks", "a million record locks each", record_locks, NULL, NULL},
    {"hard_links", "a million hard links each", hard_links, NULL, NULL},
    {"names", "a million files, directories and symlinks each", names, NULL, NULL},
    {"last_page_of_tmpfs", "the root tmpfs to its last page", last_page_of_tmpfs, NULL, NULL},
    {"memory_for_devices", "all that tmpfs, /dev/shm and /dev hold", memory_for_devices,
     root_makes_no_device, NULL},
    {"allocated_files", "a file of 1 TiB by fallocate", allocated_files, NULL, NULL},
    {"processes", "100,000 processes", processes, NULL, NULL},
    {"bomb", "a fork bomb", bomb, NULL, NULL},
    {"threads", "100,000 threads each", threads, NULL, NULL},
    {"signals", "a million queued signals each", signals, NULL, NULL},
    {"segments", "System V segments, touched", segments, NULL, NULL},
    {"long_arguments", "64 GiB of arguments", long_arguments, NULL, NULL},
    {"terminals", "pseudo-terminals", terminals, NULL, NULL},
};
ATTACK_MAIN(list)
