// SPDX-License-Identifier: MIT
/*
 * sysfuzz.c - makes system calls with random numbers and bad arguments, from a seed.
 *
 *     usage: sysfuzz [-s seed] [-n calls] [-j processes] [-u uid]
 *
 * THEORY      The parent keeps `processes` children.  Each makes up to CALLS_PER_CHILD calls from a generator seeded
 *             with (seed, batch).  So a run can be repeated, and a batch can run alone (-b, which prints the calls).  A
 *             child may die from its calls (exit, a bad address, a lost stack); the parent then starts the next batch,
 *             until enough calls are made.  A child that hangs is killed.  A timer's signals end most waits.
 * ARGUMENTS   Drawn from special integers, valid and invalid pointers, descriptors that exist and that do not, sizes
 *             near page and word boundaries.  Most calls are aimed: their arguments have types that fit, so that the
 *             call passes its first checks.
 * TRACING     Each child has a process that it can trace with ptrace(2).  The parent traces a child that asks for it,
 *             and lets it continue.
 * AVOIDED     Calls that affect more than the child: signals to others, their tracing, reboot, calls on the terminal.
 *             The kernel must withstand all else.
 * EXIT        0 when the calls were made and the kernel still forks, opens and reads.
 * SEE ALSO    tests/test_hardening.py
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <uapi/homeroom.h>

#define CALLS_PER_CHILD 200
#define CHILD_MS        2000  /* after this time the parent kills the child */
#define NUDGE_US        20000 /* the period of a signal that ends waiting calls */
#define MAX_CHILDREN    64
#define LINUX_CALLS     463  /* numbers 0 .. 462 */
#define SHOW_FD         1000 /* -b prints the calls here; arguments do not reach this number */
#define ARENA           (64 * 4096)
#define TRACE_CALLS     3 /* at the start of aimed[] */

static uint64_t state;
static char *arena; /* memory whose addresses are valid arguments */
static pid_t self, tracee;
static long *made; /* calls of all children; in shared memory */

/* xorshift64*; the seed determines all numbers. */
static uint64_t draw(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
}

static uint64_t below(uint64_t n)
{
    return draw() % n;
}

static long integer(void)
{
    static const long nasty[] = {
        0,
        1,
        -1,
        2,
        7,
        8,
        63,
        64,
        255,
        256,
        4095,
        4096,
        4097,
        65535,
        65536,
        1 << 20,
        0x7fffffff,
        -0x7fffffffL - 1,
        0x80000000L,
        0xffffffffL,
        0x100000000L,
        0x7fffffffffffffffL,
        -0x7fffffffffffffffL - 1,
        -4095,
        -4096,
        0x10006,
        0x10008,
        1024,
        0x123456789abcdefL,
    };

    switch (below(4)) {
    case 0:
        return (long)below(20);
    case 1:
        return 1L << below(64);
    case 2:
        return (long)draw();
    default:
        return nasty[below(sizeof nasty / sizeof nasty[0])];
    }
}

static long pointer(void)
{
    static const uint64_t bad[] = {
        0,
        1,
        16,
        4095,
        0x00007fffffffffff,
        0x00007ffffffff000,
        0x0000800000000000,
        0xffff800000000000,
        0xffffffff80000000,
        0xffffffff80100000,
        0xfffffffffffff000,
        0xffffffffffffffff,
        0xdeadbeefdeadbeef,
    };

    switch (below(8)) {
    case 0:
        return (long)bad[below(sizeof bad / sizeof bad[0])];
    case 1:
        return (long)(arena + ARENA - below(64)); /* extends over the end of the mapping */
    case 2:
        return (long)(arena + below(ARENA));
    case 3:
        return (long)&state & ~15L;
    default:
        return (long)(arena + (below(ARENA) & ~7ull));
    }
}

static const char *const paths[] = {
    ".",
    "..",
    "/",
    "/tmp",
    "a",
    "b",
    "d",
    "d/x",
    "/dev/null",
    "/dev/zero",
    "/dev/tty",
    "/dev/kstat",
    "/proc/self/maps",
    "/proc/self/stat",
    "/proc/self/fd/0",
    "/proc/1/stat",
    "/proc/meminfo",
    "/sys",
    "/etc/passwd",
    "/bin/sh",
    "",
    "//",
    "/none/none",
    "/proc/self/mem",
    "/proc/self/lgrpmap",
    "/sys/devices/system/node/node0/cpumap",
    "/tmp/.",
    "/dev",
    "/proc/self/exe",
};

static long path(void)
{
    char *at = arena + 1024 * below(8);

    if (below(10) == 0)
        return pointer();
    strcpy(at, paths[below(sizeof paths / sizeof paths[0])]);
    if (below(50) == 0)
        memset(at, 'n', 5000);
    return (long)at;
}

static long descriptor(void)
{
    return below(10) == 0 ? integer() : (long)below(16);
}

/*
 * The arguments of an aimed call: f descriptor, p path, a address, i integer, s small, z size, m me, q request of
 * ptrace, t tracee.
 */
static const struct {
    int number;
    const char *args;
} aimed[] = {
    {SYS_ptrace, "qtaa"}, /* the first TRACE_CALLS are made more often */
    {SYS_ptrace, "qtsa"},
    {SYS_ptrace, "qtss"},
    {SYS_read, "faz"},
    {SYS_write, "faz"},
    {SYS_open, "psi"},
    {SYS_close, "f"},
    {SYS_stat, "pa"},
    {SYS_fstat, "fa"},
    {SYS_lstat, "pa"},
    {SYS_poll, "ass"},
    {SYS_lseek, "fis"},
    {SYS_mmap, "azssfz"},
    {SYS_mprotect, "azs"},
    {SYS_munmap, "az"},
    {SYS_brk, "a"},
    {SYS_rt_sigaction, "saas"},
    {SYS_rt_sigprocmask, "saas"},
    {SYS_ioctl, "fia"},
    {SYS_pread64, "fazi"},
    {SYS_pwrite64, "fazi"},
    {SYS_readv, "fas"},
    {SYS_writev, "fas"},
    {SYS_access, "ps"},
    {SYS_pipe, "a"},
    {SYS_select, "saaaa"},
    {SYS_sched_yield, ""},
    {SYS_mremap, "azzsa"},
    {SYS_msync, "azs"},
    {SYS_madvise, "azi"},
    {SYS_dup, "f"},
    {SYS_dup2, "ff"},
    {SYS_nanosleep, "aa"},
    {SYS_getitimer, "sa"},
    {SYS_setitimer, "saa"},
    {SYS_fcntl, "fsi"},
    {SYS_ftruncate, "fz"},
    {SYS_truncate, "pz"},
    {SYS_getdents64, "faz"},
    {SYS_getcwd, "az"},
    {SYS_chdir, "p"},
    {SYS_rename, "pp"},
    {SYS_mkdir, "pi"},
    {SYS_rmdir, "p"},
    {SYS_creat, "pi"},
    {SYS_link, "pp"},
    {SYS_unlink, "p"},
    {SYS_symlink, "pp"},
    {SYS_readlink, "paz"},
    {SYS_chmod, "pi"},
    {SYS_fchmod, "fi"},
    {SYS_chown, "pss"},
    {SYS_umask, "i"},
    {SYS_getrlimit, "sa"},
    {SYS_getrusage, "sa"},
    {SYS_sysinfo, "a"},
    {SYS_times, "a"},
    {SYS_setresuid, "sss"},
    {SYS_setgroups, "sa"},
    {SYS_getgroups, "sa"},
    {SYS_rt_sigpending, "as"},
    {SYS_sigaltstack, "aa"},
    {SYS_mknod, "pii"},
    {SYS_statfs, "pa"},
    {SYS_setpriority, "sms"},
    {SYS_sched_setscheduler, "msa"},
    {SYS_sched_setaffinity, "mza"},
    {SYS_sched_getaffinity, "mza"},
    {SYS_prctl, "siiii"},
    {SYS_arch_prctl, "ii"},
    {SYS_setrlimit, "sa"},
    {SYS_sync, ""},
    {SYS_mount, "pppsa"},
    {SYS_gettid, ""},
    {SYS_futex, "asiaai"},
    {SYS_set_tid_address, "a"},
    {SYS_clock_gettime, "sa"},
    {SYS_clock_nanosleep, "ssaa"},
    {SYS_utimensat, "fpas"},
    {SYS_openat, "fpsi"},
    {SYS_mkdirat, "fpi"},
    {SYS_unlinkat, "fps"},
    {SYS_newfstatat, "fpas"},
    {SYS_renameat, "fpfp"},
    {SYS_ppoll, "asaas"},
    {SYS_set_robust_list, "az"},
    {SYS_dup3, "ffi"},
    {SYS_pipe2, "ai"},
    {SYS_prlimit64, "msaa"},
    {SYS_getrandom, "azs"},
    {SYS_sendfile, "ffaz"},
    {SYS_fallocate, "fszz"},
    {SYS_fsync, "f"},
    {SYS_fork, ""},
    {SYS_vfork, ""},
    {SYS_clone, "iaaaa"},
    {SYS_execve, "paa"},
    {SYS_wait4, "sasa"},
    {SYS_exit, "s"},
    {SYS_kill, "ms"},
    {SYS_tkill, "ms"},
    {SYS_tgkill, "mms"},
    {SYS_pause, ""},
    {SYS_rt_sigsuspend, "as"},
    {SYS_rt_sigtimedwait, "aaas"},
    {SYS_rt_sigreturn, ""},
    {SYS_setpgid, "mm"},
    {SYS_setsid, ""},
    {SYS_mlock, "az"},
    {SYS_mincore, "aza"},
    {SYS_getcpu, "aaa"},
    {SYS_meminfo, "asasaa"},
    {SYS_gethomelgroup, ""},
    {SYS_getcpuid, ""},
    {SYS_p_online, "si"},
    {SYS_processor_info, "sa"},
    {SYS_processor_bind, "smsa"},
    {SYS_lgrp, "sssss"},
    {SYS_lgrp, "sasa"},
    {SYS_memcntl, "azsiss"},
    {SYS_tunable, "spa"},
    {SYS_priocntl, "smsa"},
    {SYS_eventfd2, "ii"},
    {SYS_timerfd_create, "si"},
    {SYS_timerfd_settime, "fsaa"},
    {SYS_timerfd_gettime, "fa"},
    {SYS_signalfd4, "fasi"},
    {SYS_timer_create, "saa"},
    {SYS_timer_settime, "ssaa"},
    {SYS_timer_gettime, "sa"},
    {SYS_timer_getoverrun, "s"},
    {SYS_timer_delete, "s"},
    {SYS_epoll_create1, "i"},
    {SYS_epoll_ctl, "fsfa"},
    {SYS_epoll_wait, "fass"},
    {SYS_memfd_create, "ps"},
    {SYS_copy_file_range, "fafazs"},
    {SYS_setxattr, "ppazs"},
    {SYS_fsetxattr, "fpazs"},
    {SYS_getxattr, "ppaz"},
    {SYS_lgetxattr, "ppaz"},
    {SYS_flistxattr, "faz"},
    {SYS_removexattr, "pp"},
    {SYS_mbind, "azsazs"},
    {SYS_set_mempolicy, "saz"},
    {SYS_get_mempolicy, "aazas"},
    {450, "azss"}, /* set_mempolicy_home_node, which musl does not know */
    {SYS_move_pages, "mzaaas"},
    {SYS_migrate_pages, "msaa"},
    {SYS_semget, "sss"},
    {SYS_semop, "sas"},
    {SYS_semtimedop, "sasa"},
    {SYS_semctl, "sssa"},
    {SYS_shmget, "szi"},
    {SYS_shmat, "sai"},
    {SYS_shmdt, "a"},
    {SYS_shmctl, "ssa"},
    {SYS_truss, "f"},
    {SYS_track, "f"},
};

static long trace_request(void)
{
    switch (below(4)) {
    case 0:
        return (long)below(34);
    case 1:
        return PTRACE_ATTACH;
    default:
        return 0x4200 + (long)below(16);
    }
}

static long argument(char kind)
{
    switch (kind) {
    case 'f':
        return descriptor();
    case 'p':
        return path();
    case 'a':
        return pointer();
    case 's':
        return below(8) == 0 ? integer() : (long)below(34);
    case 'z':
        return below(4) == 0 ? integer() : (long)below(3 * 4096);
    case 'm':
        return below(4) == 0 ? 0 : self;
    case 'q':
        return trace_request();
    case 't':
        return tracee;
    default:
        return integer();
    }
}

/* Whether the call would affect more than this child (AVOIDED). */
static bool avoided(long number, const long *a)
{
    switch (number) {
    case SYS_kill:
    case SYS_tkill:
    case SYS_rt_sigqueueinfo:
        return a[0] != self;
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
        return a[0] != self || a[1] != self;
    case SYS_ptrace: /* a child that the parent traces stops at its next signal: rarely */
        return (int)a[0] == PTRACE_TRACEME ? below(8) != 0 : a[1] != tracee || tracee <= 0;
    case SYS_pidfd_send_signal:
    case SYS_reboot:
        return true;
    case SYS_fcntl: /* F_SETOWN sends signals to others */
        return (int)a[1] == F_SETOWN && (int)a[2] != self;
    case SYS_ioctl:
        /* TIOCSPGRP, TIOCSCTTY and TIOCSTI change the terminal, which the whole run uses */
        return (a[1] & 0xff00) == 0x5400 && a[1] != FIOASYNC && a[1] != FIONREAD;
    case SYS_setpriority:
    case SYS_prlimit64:
        return number == SYS_setpriority ? a[0] != 0 : false;
    default:
        return false;
    }
}

/* Whether the call ends the child.  Such calls are made less often. */
static bool ends_child(long number)
{
    return number == SYS_exit || number == SYS_exit_group || number == SYS_rt_sigreturn ||
           number == SYS_kill || number == SYS_tkill || number == SYS_tgkill ||
           number == SYS_execve;
}

static void one_call(bool show)
{
    long number, a[6];
    size_t aim = below(10) == 0 ? below(TRACE_CALLS) : below(sizeof aimed / sizeof aimed[0]);
    bool well = below(4) != 0;
    const char *args = aimed[aim].args;

    number = well       ? aimed[aim].number
             : below(8) ? (long)below(LINUX_CALLS)
                        : 1024 + (long)below(24);
    for (int i = 0; i < 6; i++) {
        if (well && *args != '\0')
            a[i] = argument(*args++);
        else
            a[i] = below(2) ? integer() : below(2) ? pointer() : descriptor();
    }
    if (avoided(number, a) || (ends_child(number) && below(8) != 0))
        return;
    __atomic_add_fetch(made, 1, __ATOMIC_RELAXED);
    if (show) {
        char line[160];
        int n = snprintf(line, sizeof line, "%ld(%lx, %lx, %lx, %lx, %lx, %lx)\n", number, a[0],
                         a[1], a[2], a[3], a[4], a[5]);

        syscall(SYS_write, SHOW_FD, line, n);
    }
    syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    /* fork, vfork or clone may have made another process: only the original child goes on. */
    if (syscall(SYS_getpid) != self)
        syscall(SYS_exit_group, 0);
}

/*
 * Opens the descriptors: 0-2 /dev/null (the output belongs to the parent), then a file, a directory, /dev/zero, a pipe,
 * files of events; the pipe sends SIGIO.
 */
static void descriptors(void)
{
    int fd[2], null = open("/dev/null", O_RDWR);

    dup2(2, SHOW_FD);
    for (int i = 0; i < 3; i++)
        dup2(null, i);
    open("a", O_CREAT | O_RDWR, 0666);
    open(".", O_RDONLY | O_DIRECTORY);
    open("/dev/zero", O_RDWR);
    if (pipe2(fd, O_NONBLOCK) != 0)
        _exit(1);
    fcntl(fd[0], F_SETOWN, self);
    ioctl(fd[0], FIOASYNC, &(int){1});
    syscall(SYS_eventfd2, 1, O_NONBLOCK);
    syscall(SYS_timerfd_create, CLOCK_REALTIME, O_NONBLOCK);
    syscall(SYS_signalfd4, -1, &(uint64_t){1 << (SIGIO - 1)}, 8, O_NONBLOCK);
    syscall(SYS_epoll_create1, 0);
}

/* Fills the arena with random data, among them vectors and sets with plausible pointers. */
static void fill_arena(void)
{
    uint64_t *word = (uint64_t *)arena;

    for (size_t i = 0; i < ARENA / 8; i++)
        word[i] = below(3) == 0 ? (uint64_t)pointer() : below(2) ? below(5000) : draw();
}

static void nudge(int signal)
{
    (void)signal;
}

/* The process that a child traces: signals, processes, calls.  The parent kills it after the child. */
static void be_traced(void)
{
    uint64_t seconds[2] = {2, 2}; /* its changed registers may make it loop */

    syscall(SYS_setrlimit, 0 /* CPU */, seconds);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = nudge}, NULL);
    while (getppid() == self) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        if (pid > 0)
            waitpid(pid, NULL, 0);
        raise(SIGUSR1);
        poll(NULL, 0, 1);
    }
    _exit(0);
}

static void child(uint64_t seed, unsigned long batch, bool show)
{
    struct rlimit {
        uint64_t soft, hard;
    } few = {20, 20}, small = {1 << 20, 1 << 20};

    state = (seed ^ (batch + 1) * 0x9e3779b97f4a7c15ull) | 1;
    self = getpid();
    setsid();                  /* no terminal, and a process group of its own */
    prctl(PR_SET_DUMPABLE, 1); /* the change of user has cleared it */
    tracee = fork();
    if (tracee == 0)
        be_traced();
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = nudge}, NULL);
    sigaction(SIGIO, &(struct sigaction){.sa_handler = nudge}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, NUDGE_US}, {0, NUDGE_US}}, NULL);
    syscall(SYS_setrlimit, 6 /* NPROC */, &few);
    syscall(SYS_setrlimit, 1 /* FSIZE */, &small);
    syscall(SYS_setrlimit, 4 /* CORE */, &small);
    descriptors();
    arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED)
        _exit(1);
    fill_arena();
    for (int i = 0; i < CALLS_PER_CHILD; i++)
        one_call(show);
    _exit(0);
}

/* Whether the kernel still works.  Returns 0; 1 after a message. */
static int sane(void)
{
    char buf[8];
    int fd[2], status, f = open("/dev/zero", O_RDONLY);
    pid_t pid = -1;

    /* Processes that children left behind may use up the user's limit for a moment. */
    for (int i = 0; i < 100 && (pid = fork()) < 0 && errno == EAGAIN; i++)
        poll(NULL, 0, 100);
    if (pid == 0)
        _exit(42);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 42) {
        printf("sysfuzz: fork and wait do not work any more (errno %d)\n", errno);
        return 1;
    }
    if (f < 0 || read(f, buf, 8) != 8 || pipe(fd) != 0 || write(fd[1], "x", 1) != 1 ||
        read(fd[0], buf, 1) != 1) {
        printf("sysfuzz: open, read or pipe do not work any more\n");
        return 1;
    }
    close(f);
    close(fd[0]);
    close(fd[1]);
    return 0;
}

/* Makes the scratch directory in which the children work. */
static void scratch(int uid)
{
    static char name[] = "/tmp/sysfuzz.XXXXXX";

    if (mkdtemp(name) == NULL || chmod(name, 0777) != 0 || chdir(name) != 0) {
        perror("sysfuzz: scratch directory");
        exit(1);
    }
    if (geteuid() == 0 && uid != 0 &&
        (setgroups(0, NULL) != 0 || setgid((gid_t)uid) != 0 || setuid((uid_t)uid) != 0)) {
        perror("sysfuzz: change of user");
        exit(1);
    }
    mkdir("d", 0777);
    close(open("a", O_CREAT | O_RDWR, 0666));
}

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Removes the semaphores and the shared memory of this user. */
static void remove_ipc(void)
{
    struct semid_ds sem;
    struct shmid_ds shm;
    int id;

    for (int i = 0, last = semctl(0, 0, SEM_INFO, &sem); i <= last; i++)
        if ((id = semctl(i, 0, SEM_STAT, &sem)) >= 0)
            semctl(id, 0, IPC_RMID);
    for (int i = 0, last = shmctl(0, SHM_INFO, &shm); i <= last; i++)
        if ((id = shmctl(i, SHM_STAT, &shm)) >= 0)
            shmctl(id, IPC_RMID, NULL);
}

/* Waits for one child, kills those whose time is over, and frees its slot. */
static void reap(pid_t *slot, long *started, int n)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);

        if (pid > 0 && WIFSTOPPED(status)) { /* it has called PTRACE_TRACEME */
            ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
            continue;
        }
        for (int i = 0; i < n; i++) {
            if (pid > 0 && slot[i] == pid) {
                kill(-pid, SIGKILL); /* its tracee */
                slot[i] = 0;
                return;
            }
            if (slot[i] > 0 && now_ms() - started[i] > CHILD_MS) {
                kill(slot[i], SIGKILL);
                kill(slot[i], SIGCONT);
            }
        }
        if (pid < 0)
            return;
        if (pid == 0)
            poll(NULL, 0, 10);
    }
}

/*
 * The counter of calls, in the middle of 2 MiB without access rights: calls that extend over the end of the arena do
 * not reach it.
 */
static long *far_counter(void)
{
    char *p = mmap(NULL, 2 << 20, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + (1 << 20), 4096, PROT_READ | PROT_WRITE) != 0) {
        perror("sysfuzz: memory");
        exit(1);
    }
    return (long *)(p + (1 << 20));
}

int main(int argc, char **argv)
{
    uint64_t seed = (uint64_t)time(NULL);
    long calls = 20000, only = -1;
    int jobs = 1, uid = 1000, opt, running = 0;
    pid_t slot[MAX_CHILDREN] = {0};
    long started[MAX_CHILDREN] = {0};

    while ((opt = getopt(argc, argv, "s:n:j:u:b:")) != -1) {
        if (opt == 's')
            seed = strtoull(optarg, NULL, 0);
        else if (opt == 'n')
            calls = atol(optarg);
        else if (opt == 'j')
            jobs = atoi(optarg);
        else if (opt == 'u')
            uid = atoi(optarg);
        else if (opt == 'b')
            only = atol(optarg);
        else
            return 2;
    }
    if (jobs < 1 || jobs > MAX_CHILDREN)
        jobs = 1;
    made = far_counter();
    scratch(uid);
    printf("sysfuzz: seed %#llx, %ld calls, %d at a time\n", (unsigned long long)seed, calls, jobs);
    fflush(stdout);
    if (only >= 0)
        child(seed, (unsigned long)only, true);
    for (long batch = 0; *made < calls; batch++) {
        int free_slot = -1;

        while (free_slot < 0) {
            for (int i = 0; i < jobs && free_slot < 0; i++)
                if (slot[i] == 0)
                    free_slot = i;
            if (free_slot < 0)
                reap(slot, started, jobs);
        }
        started[free_slot] = now_ms();
        if ((slot[free_slot] = fork()) == 0)
            child(seed, (unsigned long)batch, false);
        if (slot[free_slot] < 0) { /* processes left by children use up the limit: wait a little */
            slot[free_slot] = 0;
            poll(NULL, 0, 100);
            batch--;
        }
        if (batch % 50 == 49 && sane() != 0)
            return 1;
    }
    do {
        running = 0;
        for (int i = 0; i < jobs; i++)
            running += slot[i] > 0;
        if (running > 0)
            reap(slot, started, jobs);
    } while (running > 0);
    remove_ipc();
    if (sane() != 0)
        return 1;
    printf("sysfuzz: %ld calls made\n", *made);
    return 0;
}
