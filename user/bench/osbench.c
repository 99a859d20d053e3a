// SPDX-License-Identifier: MIT
/*
 * osbench.c - the cost of each operation of a kernel with Linux's system calls, path by path.
 *
 * THEORY      Each test times n repetitions of one operation and divides.  Under QEMU's -icount shift=0 the time-stamp
 *             counter advances by one for each guest instruction (of all CPUs together).  So the tsc columns are
 *             instructions for each operation, exact and equal in every run.  The ns columns are the guest kernel's own
 *             clock.  The program uses only what Linux has, too, and runs there unchanged, so the figures can be
 *             compared.
 * OUTPUT      one line for each test:
 *             OSB <name> iters=<n> reps=<r> ns_min= ns_med= tsc_min= tsc_med= unit=<operation>
 * SEE ALSO    docs/performance.md, tools/osbench_report.py
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <unistd.h>
#include <fcntl.h>
#include <errno.h>
#include <signal.h>
#include <sched.h>
#include <time.h>
#include <poll.h>
#include <pthread.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/uio.h>

#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    osbench - what one operation of the kernel costs, path by path\n"
    "\n"
    "SYNOPSIS\n"
    "    osbench [-n iterations] [-s divisor] [-r repetitions] [-w] [-1]\n"
    "            [-d directory] [-l] [test ...]\n"
    "\n"
    "DESCRIPTION\n"
    "    Each test times repetitions of one operation and divides.  A test is a\n"
    "    name, or the begin of names followed by *.  With ICOUNT=1 the tsc columns\n"
    "    are instructions.\n"
    "\n"
    "OPTIONS\n"
    "    -1            one repetition, without a pass to warm up\n"
    "    -d directory  where scratch files are made (.)\n"
    "    -l            list the tests\n"
    "    -n iterations iterations of every test\n"
    "    -r repetitions\n"
    "                  repetitions; minimum and median are printed (3)\n"
    "    -s divisor    divide the usual iterations by this (1)\n"
    "    -w            no pass to warm up\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line\n"
    "\n"
    "SEE ALSO\n"
    "    callcost, docs/experiments.md\n";

/* Both clocks at one moment. */
struct mark {
    uint64_t ns, tsc;
};

static struct mark started, stopped;

static inline uint64_t rdtsc(void)
{
    uint32_t a, d;

    __asm__ volatile("rdtsc" : "=a"(a), "=d"(d)::"memory");
    return ((uint64_t)d << 32) | a;
}

static struct mark now(void)
{
    struct timespec s;
    struct mark t;

    clock_gettime(CLOCK_MONOTONIC, &s);
    t.ns = (uint64_t)s.tv_sec * 1000000000u + (uint64_t)s.tv_nsec;
    t.tsc = rdtsc();
    return t;
}

#define START started = now()
#define STOP  stopped = now()

static void die(const char *m)
{
    printf("OSB-ERR %s errno=%d\n", m, errno);
    fflush(stdout);
    _exit(9);
}

#define CK(x)                                                                                      \
    do {                                                                                           \
        if ((long)(x) < 0)                                                                         \
            die(#x);                                                                               \
    } while (0)
static const char *dir = ".", *self;
static char path[256], path2[256];
static int ncpu = 1;

static void pin(int c)
{
    unsigned long m[16];

    memset(m, 0, sizeof m);
    m[c / 64] = 1ul << (c % 64);
    syscall(SYS_sched_setaffinity, 0, sizeof m, m);
}

static void unpin(void)
{
    unsigned long m[16];

    memset(m, 0xff, sizeof m);
    syscall(SYS_sched_setaffinity, 0, sizeof m, m);
}

static struct shm {
    volatile uint64_t a, b, c, d;
    volatile int go;
} *shm;

#define MAX_REPS 99

/* ---- system calls ---- */

static void b_empty(long n)
{
    START;
    for (long i = 0; i < n; i++)
        __asm__ volatile("" ::: "memory");
    STOP;
}

static void b_null(long n)
{
    START;
    for (long i = 0; i < n; i++)
        syscall(SYS_getppid);
    STOP;
}

static void b_cgt(long n)
{
    struct timespec s;

    START;
    for (long i = 0; i < n; i++)
        clock_gettime(CLOCK_MONOTONIC, &s);
    STOP;
}

static void b_cgtsys(long n)
{
    struct timespec s;

    START;
    for (long i = 0; i < n; i++)
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &s);
    STOP;
}

static void b_readzero(long n)
{
    char c;
    int f = open("/dev/zero", O_RDONLY);

    CK(f);
    START;
    for (long i = 0; i < n; i++)
        if (read(f, &c, 1) != 1)
            die("readzero");
    STOP;
    close(f);
}

static void b_writenull(long n)
{
    char c = 0;
    int f = open("/dev/null", O_WRONLY);

    CK(f);
    START;
    for (long i = 0; i < n; i++)
        if (write(f, &c, 1) != 1)
            die("writenull");
    STOP;
    close(f);
}

static int mkfile(const char *p, long sz)
{
    int f = open(p, O_RDWR | O_CREAT | O_TRUNC, 0644);

    CK(f);
    static char b[65536];

    memset(b, 7, sizeof b);
    while (sz > 0) {
        long k = sz < 65536 ? sz : 65536;
        if (write(f, b, k) != k)
            die("mkfile");
        sz -= k;
    }
    lseek(f, 0, SEEK_SET);
    return f;
}

static void b_read1(long n)
{
    char c;
    int f = mkfile(path, 4096);

    START;
    for (long i = 0; i < n; i++)
        if (pread(f, &c, 1, i & 4095) != 1)
            die("read1");
    STOP;
    close(f);
    unlink(path);
}

static void b_read4k(long n)
{
    static char c[4096];
    int f = mkfile(path, 65536);

    START;
    for (long i = 0; i < n; i++)
        if (pread(f, c, 4096, (i & 15) * 4096) != 4096)
            die("read4k");
    STOP;
    close(f);
    unlink(path);
}

static void b_write4k(long n)
{
    static char c[4096];
    int f = mkfile(path, 65536);

    START;
    for (long i = 0; i < n; i++)
        if (pwrite(f, c, 4096, (i & 15) * 4096) != 4096)
            die("write4k");
    STOP;
    close(f);
    unlink(path);
}

static void b_openclose(long n)
{
    close(mkfile(path, 1));
    START;
    for (long i = 0; i < n; i++) {
        int f = open(path, O_RDONLY);
        CK(f);
        close(f);
    }
    STOP;
    unlink(path);
}

static void b_stat(long n)
{
    struct stat s;
    close(mkfile(path, 1));
    START;
    for (long i = 0; i < n; i++)
        CK(stat(path, &s));
    STOP;
    unlink(path);
}

static void b_fstat(long n)
{
    struct stat s;
    int f = mkfile(path, 1);

    START;
    for (long i = 0; i < n; i++)
        CK(syscall(SYS_fstat, f, &s));
    STOP;
    close(f);
    unlink(path);
}

static void b_poll10(long n)
{
    struct pollfd p[10];
    int q[20];
    for (int i = 0; i < 10; i++) {
        CK(pipe(q + 2 * i));
        p[i].fd = q[2 * i];
        p[i].events = POLLIN;
    }
    START;
    for (long i = 0; i < n; i++)
        poll(p, 10, 0);
    STOP;
    for (int i = 0; i < 20; i++)
        close(q[i]);
}

static void b_piperw(long n)
{
    char c = 1;
    int q[2];

    CK(pipe(q));
    START;
    for (long i = 0; i < n; i++)
        if (write(q[1], &c, 1) != 1 || read(q[0], &c, 1) != 1)
            die("piperw");
    STOP;
    close(q[0]);
    close(q[1]);
}

/* ---- ping-pong, context switches ---- */

static void pipe_pp(long n, int c0, int c1)
{
    int a[2], b[2];
    char c = 1;

    CK(pipe(a));
    CK(pipe(b));
    if (c0 >= 0)
        pin(c0);
    pid_t p = fork();

    CK(p);
    if (!p) {
        if (c1 >= 0)
            pin(c1);
        for (long i = 0; i <= n; i++) {
            if (read(a[0], &c, 1) != 1)
                _exit(1);
            if (write(b[1], &c, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1)
        die("pp");
    START;
    for (long i = 0; i < n; i++)
        if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1)
            die("pp");
    STOP;
    waitpid(p, 0, 0);
    close(a[0]);
    close(a[1]);
    close(b[0]);
    close(b[1]);
    unpin();
}

/* A request of one byte over TCP and a reply of one byte, through the loopback interface. */
static void b_tcp_rr(long n)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int l = socket(AF_INET, SOCK_STREAM, 0), f = socket(AF_INET, SOCK_STREAM, 0);
    char c = 1;

    CK(bind(l, (struct sockaddr *)&a, sizeof a));
    CK(listen(l, 1));
    CK(getsockname(l, (struct sockaddr *)&a, &len));
    pin(0);
    pid_t p = fork();

    CK(p);
    if (!p) {
        int s = accept(l, 0, 0);

        close(f);
        while (read(s, &c, 1) == 1)
            if (write(s, &c, 1) != 1)
                _exit(1);
        _exit(0);
    }
    CK(connect(f, (struct sockaddr *)&a, sizeof a));
    if (write(f, &c, 1) != 1 || read(f, &c, 1) != 1)
        die("tcp_rr");
    START;
    for (long i = 0; i < n; i++)
        if (write(f, &c, 1) != 1 || read(f, &c, 1) != 1)
            die("tcp_rr");
    STOP;
    close(f);
    close(l);
    waitpid(p, 0, 0);
    unpin();
}

static void b_pipe_pp(long n)
{
    pipe_pp(n, 0, 0);
}

static void b_pipe_ppx(long n)
{
    pipe_pp(n, 0, ncpu > 1 ? 1 : 0);
}

static volatile int fw;
static long pn;
static volatile int pc1;

static void fwait(volatile int *w, int v)
{
    while (*w != v) {
        int x = *w;
        if (x != v)
            syscall(SYS_futex, w, 128 /*WAIT|PRIVATE*/, x, 0, 0, 0);
    }
}

static void fset(volatile int *w, int v)
{
    __atomic_store_n(w, v, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, w, 129, 1, 0, 0, 0);
}

static void *fpp(void *a)
{
    if (pc1 >= 0)
        pin(pc1);
    for (long i = 0; i <= pn; i++) {
        fwait(&fw, 1);
        fset(&fw, 0);
    }
    return 0;
}

static void futex_pp(long n, int c0, int c1)
{
    pthread_t t;

    fw = 0;
    pn = n;
    pc1 = c1;
    if (c0 >= 0)
        pin(c0);
    if (pthread_create(&t, 0, fpp, 0))
        die("thr");
    fset(&fw, 1);
    fwait(&fw, 0);
    START;
    for (long i = 0; i < n; i++) {
        fset(&fw, 1);
        fwait(&fw, 0);
    }
    STOP;
    pthread_join(t, 0);
    unpin();
}

static void b_futex_pp(long n)
{
    futex_pp(n, 0, 0);
}

static void b_futex_ppx(long n)
{
    futex_pp(n, 0, ncpu > 1 ? 1 : 0);
}

static void b_fwake0(long n)
{
    static int w;
    START;
    for (long i = 0; i < n; i++)
        syscall(SYS_futex, &w, 129, 1, 0, 0, 0);
    STOP;
}

static volatile int ystop;
static volatile long ycnt;

static void *yth(void *a)
{
    pin(0);
    while (!ystop) {
        sched_yield();
        ycnt++;
    }
    return 0;
}

static void b_yield0(long n)
{
    pin(0);
    START;
    for (long i = 0; i < n; i++)
        sched_yield();
    STOP;
    unpin();
}

static void b_yield_thr(long n)
{
    pthread_t t;

    ystop = 0;
    pin(0);
    if (pthread_create(&t, 0, yth, 0))
        die("thr");
    sched_yield();
    sched_yield();
    ycnt = 0;
    START;
    for (long i = 0; i < n; i++)
        sched_yield();
    STOP;
    shm->d = ycnt;
    ystop = 1;
    pthread_join(t, 0);
    unpin();
}

static void b_yield_proc(long n)
{
    shm->go = 0;
    pin(0);
    pid_t p = fork();

    CK(p);
    if (!p) {
        pin(0);
        shm->c = 0;
        while (!shm->go) {
            sched_yield();
            shm->c++;
        }
        _exit(0);
    }
    sched_yield();
    sched_yield();
    shm->c = 0;
    START;
    for (long i = 0; i < n; i++)
        sched_yield();
    STOP;
    shm->d = shm->c;
    shm->go = 1;
    waitpid(p, 0, 0);
    unpin();
}

/*
 * Sets SCHED_FIFO with priority 1, or the default policy.  With it sched_yield() must alternate between threads; with
 * CFS the thread that yields may run on.
 */
static void fifo(int on)
{
    int pr = on ? 1 : 0;
    syscall(SYS_sched_setscheduler, 0, on ? 1 : 0, &pr);
}

static void b_yield_fthr(long n)
{
    fifo(1);
    b_yield_thr(n);
    fifo(0);
}

static void b_yield_fproc(long n)
{
    fifo(1);
    b_yield_proc(n);
    fifo(0);
}

/* ---- threads, processes ---- */

static void *nop(void *a)
{
    return a;
}

static void b_thread(long n)
{
    START;
    for (long i = 0; i < n; i++) {
        pthread_t t;
        if (pthread_create(&t, 0, nop, 0))
            die("thr");
        pthread_join(t, 0);
    }
    STOP;
}

static char cst[16384] __attribute__((aligned(16)));

static int cfn(void *a)
{
    return 0;
}

static void b_clone(long n)
{
    START;
    for (long i = 0; i < n; i++) {
        int p = clone(cfn, cst + sizeof cst,
                      0x100 | 0x200 | 0x400 | 0x800 | 17 /*VM|FS|FILES|SIGHAND,SIGCHLD*/, 0);
        CK(p);
        waitpid(p, 0, 0);
    }
    STOP;
}

static void b_fork(long n)
{
    START;
    for (long i = 0; i < n; i++) {
        pid_t p = fork();
        CK(p);
        if (!p)
            _exit(0);
        waitpid(p, 0, 0);
    }
    STOP;
}

static void b_forkexec(long n)
{
    char *av[] = {(char *)self, "--exit", 0}, *ev[] = {0};
    START;
    for (long i = 0; i < n; i++) {
        int s;
        pid_t p = fork();
        CK(p);
        if (!p) {
            execve(self, av, ev);
            _exit(9);
        }
        waitpid(p, &s, 0);
        if (s)
            die("exec");
    }
    STOP;
}

static void b_vforkexec(long n)
{
    char *av[] = {(char *)self, "--exit", 0}, *ev[] = {0};
    START;
    for (long i = 0; i < n; i++) {
        int s;
        pid_t p = vfork();
        CK(p);
        if (!p) {
            execve(self, av, ev);
            _exit(9);
        }
        waitpid(p, &s, 0);
        if (s)
            die("exec");
    }
    STOP;
}

static void b_forkbig(long n)
{
    long sz = 16 << 20;
    char *m = mmap(0, sz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (m == MAP_FAILED)
        die("mmap");
    for (long i = 0; i < sz; i += 4096)
        m[i] = 1;
    START;
    for (long i = 0; i < n; i++) {
        pid_t p = fork();
        CK(p);
        if (!p)
            _exit(0);
        waitpid(p, 0, 0);
    }
    STOP;
    munmap(m, sz);
}

/* ---- memory ---- */

static void b_mmap(long n)
{
    START;
    for (long i = 0; i < n; i++) {
        char *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(m, 4096);
    }
    STOP;
}

static void b_mmap1m(long n)
{
    START;
    for (long i = 0; i < n; i++) {
        char *m = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (m == MAP_FAILED)
            die("mmap");
        for (long k = 0; k < 1 << 20; k += 4096)
            m[k] = 1;
        munmap(m, 1 << 20);
    }
    STOP;
}

static void nohuge(char *m, long sz)
{
    syscall(SYS_madvise, m, sz, 15);
}

static void b_pf_anon(long n)
{
    long sz = n * 4096;
    char *m = mmap(0, sz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (m == MAP_FAILED)
        die("mmap");
    nohuge(m, sz);
    START;
    for (long k = 0; k < sz; k += 4096)
        *(volatile char *)(m + k) = 1;
    STOP;
    munmap(m, sz);
}

static void b_pf_anon_rd(long n)
{
    long sz = n * 4096;
    char *m = mmap(0, sz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (m == MAP_FAILED)
        die("mmap");
    nohuge(m, sz);
    START;
    for (long k = 0; k < sz; k += 4096)
        (void)*(volatile char *)(m + k);
    STOP;
    munmap(m, sz);
}

static void b_pf_file(long n)
{
    long sz = n * 4096;
    int f = mkfile(path, sz);
    char *m = mmap(0, sz, PROT_READ, MAP_SHARED, f, 0);

    if (m == MAP_FAILED)
        die("mmap");
    START;
    for (long k = 0; k < sz; k += 4096)
        (void)*(volatile char *)(m + k);
    STOP;
    munmap(m, sz);
    close(f);
    unlink(path);
}

static void b_cow(long n)
{
    long sz = n * 4096;
    char *m = mmap(0, sz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (m == MAP_FAILED)
        die("mmap");
    nohuge(m, sz);
    for (long k = 0; k < sz; k += 4096)
        m[k] = 1;
    pid_t p = fork();

    CK(p);
    if (!p) {
        START;
        for (long k = 0; k < sz; k += 4096)
            *(volatile char *)(m + k) = 2;
        STOP;
        shm->a = stopped.ns - started.ns;
        shm->b = stopped.tsc - started.tsc;
        _exit(0);
    }
    waitpid(p, 0, 0);
    started.ns = started.tsc = 0;
    stopped.ns = shm->a;
    stopped.tsc = shm->b;
    munmap(m, sz);
}

static void b_mprotect(long n)
{
    char *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m[0] = 1;
    START;
    for (long i = 0; i < n; i++)
        mprotect(m, 4096, (i & 1) ? PROT_READ | PROT_WRITE : PROT_READ);
    STOP;
    munmap(m, 4096);
}

static void b_brk(long n)
{
    char *b = (char *)syscall(SYS_brk, 0);

    START;
    for (long i = 0; i < n; i++) {
        syscall(SYS_brk, b + 65536);
        syscall(SYS_brk, b);
    }
    STOP;
}

/* ---- signals ---- */

static volatile long sg;

static void h(int s)
{
    sg++;
}

static void b_sig(long n)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = h;
    sigaction(SIGUSR1, &sa, 0);
    pid_t me = getpid();
    sg = 0;
    START;
    for (long i = 0; i < n; i++)
        syscall(SYS_kill, me, SIGUSR1);
    STOP;
    if (sg != n)
        die("sig");
    signal(SIGUSR1, SIG_DFL);
}

static void b_sigaction(long n)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = h;
    START;
    for (long i = 0; i < n; i++)
        sigaction(SIGUSR1, &sa, 0);
    STOP;
    signal(SIGUSR1, SIG_DFL);
}

static char *sgp;

static void hs(int s)
{
    sgp += 4096;
    mprotect(sgp - 4096, 4096, PROT_READ | PROT_WRITE);
}

static void b_segv(long n)
{
    struct sigaction sa;
    long sz = n * 4096;
    char *m = mmap(0, sz, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (m == MAP_FAILED)
        die("mmap");
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = hs;
    sigaction(SIGSEGV, &sa, 0);
    sgp = m;
    START;
    for (long i = 0; i < n; i++)
        *(volatile char *)(m + i * 4096) = 1;
    STOP;
    munmap(m, sz);
    signal(SIGSEGV, SIG_DFL);
}

/* ---- files ---- */

static void b_fcreate(long n)
{
    static char b[4096];

    START;
    for (long i = 0; i < n; i++) {
        int f = open(path2, O_RDWR | O_CREAT | O_EXCL, 0644);
        CK(f);
        if (write(f, b, 4096) != 4096)
            die("w");
        close(f);
        unlink(path2);
    }
    STOP;
}

static void b_mkrmdir(long n)
{
    START;
    for (long i = 0; i < n; i++) {
        CK(mkdir(path2, 0755));
        CK(rmdir(path2));
    }
    STOP;
}

static void b_rename(long n)
{
    close(mkfile(path, 1));
    START;
    for (long i = 0; i < n; i++) {
        CK(rename(path, path2));
        CK(rename(path2, path));
    }
    STOP;
    unlink(path);
}

static char big[65536];

static void b_read8m(long n)
{
    int f = mkfile(path, 8 << 20);

    START;
    for (long i = 0; i < n; i++) {
        lseek(f, 0, SEEK_SET);
        long t = 0, k;
        while ((k = read(f, big, 65536)) > 0)
            t += k;
        if (t != 8 << 20)
            die("r8");
    }
    STOP;
    close(f);
    unlink(path);
}

static void b_write8m(long n)
{
    START;
    for (long i = 0; i < n; i++) {
        int f = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        CK(f);
        for (int k = 0; k < 128; k++)
            if (write(f, big, 65536) != 65536)
                die("w8");
        CK(fsync(f));
        close(f);
    }
    STOP;
    unlink(path);
}

static void b_fsync(long n)
{
    int f = mkfile(path, 4096);
    fsync(f);
    START;
    for (long i = 0; i < n; i++) {
        if (pwrite(f, big, 4096, 0) != 4096)
            die("w");
        CK(fsync(f));
    }
    STOP;
    close(f);
    unlink(path);
}

static void b_pipebw(long n)
{ /* n x 64K through a pipe between two processes */
    int q[2];

    CK(pipe(q));
    pid_t p = fork();

    CK(p);
    if (!p) {
        close(q[0]);
        for (long i = 0; i < n; i++) {
            long o = 0;
            while (o < 65536) {
                long k = write(q[1], big + o, 65536 - o);
                if (k <= 0)
                    _exit(1);
                o += k;
            }
        }
        _exit(0);
    }
    close(q[1]);
    long t = 0, k;

    START;
    while ((k = read(q[0], big, 65536)) > 0)
        t += k;
    STOP;
    if (t != n * 65536)
        die("pipebw");
    waitpid(p, 0, 0);
    close(q[0]);
}

/* ---- user-level threading ---- */

static pthread_mutex_t mx = PTHREAD_MUTEX_INITIALIZER;
static volatile long mc;
static pthread_barrier_t bar;

static void *mth(void *a)
{
    pthread_barrier_wait(&bar);
    for (long i = 0; i < pn; i++) {
        pthread_mutex_lock(&mx);
        mc++;
        pthread_mutex_unlock(&mx);
    }
    return 0;
}

static void b_mutex4(long n)
{
    pthread_t t[4];

    pn = n / 4;
    pthread_barrier_init(&bar, 0, 5);
    for (int i = 0; i < 4; i++)
        if (pthread_create(t + i, 0, mth, 0))
            die("thr");
    START;
    pthread_barrier_wait(&bar);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    STOP;
}

static void *alth(void *a)
{
    unsigned r = (unsigned)(uintptr_t)a * 7919 + 1;
    void *v[64];

    memset(v, 0, sizeof v);
    pthread_barrier_wait(&bar);
    for (long i = 0; i < pn; i++) {
        r = r * 1103515245 + 12345;
        int k = (r >> 16) & 63;
        free(v[k]);
        v[k] = malloc(16 + ((r >> 8) & 1023));
        *(char *)v[k] = 1;
    }
    for (int i = 0; i < 64; i++)
        free(v[i]);
    return 0;
}

static void b_malloc4(long n)
{
    pthread_t t[4];

    pn = n / 4;
    pthread_barrier_init(&bar, 0, 5);
    for (long i = 0; i < 4; i++)
        if (pthread_create(t + i, 0, alth, (void *)i))
            die("thr");
    START;
    pthread_barrier_wait(&bar);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    STOP;
}

static void b_malloc1(long n)
{
    pn = n;
    pthread_barrier_init(&bar, 0, 1);
    START;
    alth((void *)1);
    STOP;
}

static void b_sleep1ms(long n)
{
    struct timespec s = {0, 1000000};

    START;
    for (long i = 0; i < n; i++)
        nanosleep(&s, 0);
    STOP;
}

static struct test {
    const char *name;
    void (*f)(long);
    long n;
    const char *unit;
} tests[] = {{"empty", b_empty, 100000, "loop"},
             {"null", b_null, 20000, "getppid"},
             {"cgt", b_cgt, 20000, "clock_gettime"},
             {"cgt_sys", b_cgtsys, 20000, "clock_gettime_syscall"},
             {"readzero1", b_readzero, 10000, "read(1)"},
             {"writenull1", b_writenull, 10000, "write(1)"},
             {"read1", b_read1, 10000, "pread(1)"},
             {"read4k", b_read4k, 5000, "pread(4096)"},
             {"write4k", b_write4k, 5000, "pwrite(4096)"},
             {"openclose", b_openclose, 5000, "open+close"},
             {"stat", b_stat, 10000, "stat"},
             {"fstat", b_fstat, 10000, "fstat"},
             {"poll10", b_poll10, 3000, "poll"},
             {"piperw", b_piperw, 5000, "write+read"},
             {"pipe_pp", b_pipe_pp, 2000, "roundtrip"},
             {"pipe_ppx", b_pipe_ppx, 2000, "roundtrip"},
             {"futex_pp", b_futex_pp, 2000, "roundtrip"},
             {"futex_ppx", b_futex_ppx, 2000, "roundtrip"},
             {"futex_wake0", b_fwake0, 10000, "FUTEX_WAKE"},
             {"yield0", b_yield0, 10000, "sched_yield"},
             {"yield_thr", b_yield_thr, 4000, "2switches"},
             {"yield_proc", b_yield_proc, 4000, "2switches"},
             {"yield_fifo_thr", b_yield_fthr, 4000, "2switches"},
             {"yield_fifo_proc", b_yield_fproc, 4000, "2switches"},
             {"thread", b_thread, 500, "create+join"},
             {"clone_vm", b_clone, 500, "clone(VM)+exit+wait"},
             {"fork", b_fork, 200, "fork+exit+wait"},
             {"forkbig16m", b_forkbig, 20, "fork+exit+wait"},
             {"forkexec", b_forkexec, 100, "fork+exec+wait"},
             {"vforkexec", b_vforkexec, 100, "vfork+exec+wait"},
             {"mmap4k", b_mmap, 3000, "mmap+munmap"},
             {"mmap1m", b_mmap1m, 20, "mmap+256touch+munmap"},
             {"pf_anon", b_pf_anon, 2048, "page"},
             {"pf_anon_rd", b_pf_anon_rd, 2048, "page"},
             {"pf_file", b_pf_file, 512, "page"},
             {"cow", b_cow, 1024, "page"},
             {"mprotect", b_mprotect, 4000, "mprotect"},
             {"brk", b_brk, 3000, "brk+brk"},
             {"sig", b_sig, 4000, "kill+handler+return"},
             {"sigaction", b_sigaction, 10000, "sigaction"},
             {"segv", b_segv, 500, "fault+handler+mprotect"},
             {"fcreate4k", b_fcreate, 500, "create+write4k+unlink"},
             {"mkrmdir", b_mkrmdir, 1000, "mkdir+rmdir"},
             {"rename", b_rename, 1000, "2renames"},
             {"read8m", b_read8m, 2, "8MB"},
             {"write8m", b_write8m, 2, "8MB+fsync"},
             {"fsync4k", b_fsync, 200, "pwrite+fsync"},
             {"pipebw64k", b_pipebw, 100, "64KB"},
             {"mutex4", b_mutex4, 40000, "lock+unlock"},
             {"malloc1", b_malloc1, 20000, "malloc+free"},
             {"malloc4", b_malloc4, 20000, "malloc+free"},
             {"sleep1ms", b_sleep1ms, 20, "nanosleep"},
             /* the last, because a small kernel has no network */
             {"tcp_rr", b_tcp_rr, 1000, "request+reply"},
             {0}};

static int cmp(const void *a, const void *b)
{
    uint64_t x = *(uint64_t *)a, y = *(uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Writes v / n with two decimals, without floating point. */
static void fx(char *o, uint64_t v, long n)
{
    uint64_t c = v * 100 / n;
    sprintf(o, "%llu.%02llu", (unsigned long long)(c / 100), (unsigned long long)(c % 100));
}

/* The absolute path of the program, for the tests that exec it. */
static const char *own_path(const char *name)
{
    static char buf[512];
    ssize_t k;

    if (name[0] == '/')
        return name;
    if (strchr(name, '/') && getcwd(buf, 256)) {
        strcat(buf, "/");
        strcat(buf, name);
        return buf;
    }
    k = readlink("/proc/self/exe", buf, sizeof buf - 1);
    if (k <= 0)
        return name;
    buf[k] = '\0';
    return buf;
}

static int count_cpus(void)
{
    unsigned long m[16] = {0};
    int n = 0;

    if (syscall(SYS_sched_getaffinity, 0, sizeof m, m) <= 0)
        return 1;
    for (int i = 0; i < 16; i++)
        n += __builtin_popcountl(m[i]);
    return n;
}

/*
 * Whether one of the filters names the test.  A filter that ends in '*' names all tests that begin with the rest of it.
 */
static int wanted(const char *name, char *const *filter, int nfilters)
{
    for (int i = 0; i < nfilters; i++) {
        size_t len = strlen(filter[i]);

        if (!strcmp(filter[i], name) ||
            (len && filter[i][len - 1] == '*' && !strncmp(filter[i], name, len - 1)))
            return 1;
    }
    return nfilters == 0;
}

static void run(const struct test *t, long n, int reps, int warm)
{
    uint64_t ns[MAX_REPS], tsc[MAX_REPS];
    char ns_min[32], ns_med[32], tsc_min[32], tsc_med[32];

    if (warm)
        t->f(n > 8 ? n / 8 : n);
    for (int r = 0; r < reps; r++) {
        t->f(n);
        ns[r] = stopped.ns - started.ns;
        tsc[r] = stopped.tsc - started.tsc;
    }
    qsort(ns, (size_t)reps, sizeof ns[0], cmp);
    qsort(tsc, (size_t)reps, sizeof tsc[0], cmp);
    fx(ns_min, ns[0], n);
    fx(ns_med, ns[reps / 2], n);
    fx(tsc_min, tsc[0], n);
    fx(tsc_med, tsc[reps / 2], n);
    printf("OSB %s iters=%ld reps=%d ns_min=%s ns_med=%s tsc_min=%s tsc_med=%s unit=%s", t->name, n,
           reps, ns_min, ns_med, tsc_min, tsc_med, t->unit);
    if (!strncmp(t->name, "yield_", 6))
        printf(" partner_yields=%llu", (unsigned long long)shm->d);
    printf("\n");
}

/* The number after option `opt`, 1 to `most`.  Ends the program if it is something else. */
static long number(int opt, const char *text, long most)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end || value < 1 || value > most) {
        fprintf(stderr, "osbench: -%c %s: write a number from 1 to %ld\n", opt, text, most);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    long n = 0, div = 1;
    int reps = 3, warm = 1, opt;

    hr_help(argv, help);
    if (argc > 1 && !strcmp(argv[1], "--exit"))
        _exit(0);
    self = own_path(argv[0]);
    while ((opt = getopt(argc, argv, "n:r:s:wd:l1")) != -1) {
        switch (opt) {
        case 'n':
            n = number(opt, optarg, 1000000000);
            break;
        case 's':
            div = number(opt, optarg, 1000000000);
            break;
        case 'r':
            reps = (int)number(opt, optarg, MAX_REPS);
            break;
        case 'w':
            warm = 0;
            break;
        case '1':
            reps = 1;
            warm = 0;
            break;
        case 'd':
            dir = optarg;
            break;
        case 'l':
            for (struct test *t = tests; t->name; t++)
                printf("%s %ld %s\n", t->name, t->n, t->unit);
            return 0;
        default:
            hr_usage(help);
            return 2;
        }
    }
    for (int i = optind; i < argc; i++) {
        struct test *t = tests;

        while (t->name && !wanted(t->name, argv + i, 1))
            t++;
        if (!t->name) {
            fprintf(stderr, "osbench: no test '%s'; osbench -l lists them\n", argv[i]);
            return 2;
        }
    }
    snprintf(path, sizeof path, "%s/osb.%d.a", dir, (int)getpid());
    snprintf(path2, sizeof path2, "%s/osb.%d.b", dir, (int)getpid());
    ncpu = count_cpus();
    shm = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shm == MAP_FAILED)
        die("shm");
    setvbuf(stdout, 0, _IOLBF, 0);
    printf("OSB-BEGIN ncpu=%d reps=%d warm=%d\n", ncpu, reps, warm);
    for (struct test *t = tests; t->name; t++) {
        long count = n ? n : t->n / div;

        if (wanted(t->name, argv + optind, argc - optind))
            run(t, count < 1 ? 1 : count, reps, warm);
    }
    printf("OSB-END\n");
    return 0;
}
