// SPDX-License-Identifier: MIT
/*
 * bench.c - the workers of a benchmark, the barrier between them, and the measured part.
 *
 * THEORY      The state that workers share is one mapping of shared memory, so that processes and threads work in the
 *             same way.
 *             In bench_start() all workers wait; worker 0 reads the counters and arms the model; all wait again, and
 *             each notes its modelled time.  bench_stop() does the same in the opposite order.
 *             busy_s is the time for which the CPUs worked, waits for memory included and idle time excluded: user
 *             instructions times the length of a clock cycle, plus stalls.
 *             A program that is compiled with OpenMP uses the threads and barriers of the compiler's run time, which
 *             spin for a while before they sleep.  All else is the same.
 * INVARIANTS  I1  Between the two barriers of bench_start(), and between those of bench_stop(), only worker 0 runs.
 * SEE ALSO    user/include/bench.h, user/lib/benchbase.c
 */
#include "bench.h"

#include <sys/mman.h>
#include <sys/processor.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <limits.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "homeroom.h"

#define PS_PER_S    1e12
#define STACK_BYTES (64 * 1024)
#define FUTEX_WAIT  0 /* <linux/futex.h>, which musl does not have */
#define FUTEX_WAKE  1

struct team {
    int n;
    bool bind;
    bench_work *work;
    _Atomic unsigned arrived, generation; /* the state of the barrier */
    struct bench_measure measure;
    struct fp_counts before;
    double wall_begin;
    uint64_t begin_ps[BENCH_MAX], end_ps[BENCH_MAX];
    int home[BENCH_MAX];
};

static bool model;
static struct team *team;

void bench_init(void)
{
    model = fp_open() == 0;
    team = mmap(NULL, sizeof *team, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (team == MAP_FAILED)
        bench_die("no memory: %s", strerror(errno));
}

int bench_cpus(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    return cpus < 1 ? 1 : (int)(cpus > BENCH_MAX ? BENCH_MAX : cpus);
}

/* Binds the caller to the i-th on-line CPU; i wraps around at the number of these CPUs. */
static void bind_self(int i)
{
    static int cpus[HR_MAXCPU];
    static int n;
    cpu_set_t one;

    if (p_online(0, P_STATUS) < 0 && errno == ENOSYS) { /* on Linux */
        n = n != 0 ? n : bench_cpus();                  /* the CPUs on which the caller may run */
        CPU_ZERO(&one);
        CPU_SET(i % n, &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0)
            bench_die("cannot bind thread %d: %s", i, strerror(errno));
        return;
    }
    if (n == 0) /* worker 0 fills in cpus[] before it creates the others */
        for (int cpu = 0; cpu < HR_MAXCPU; cpu++)
            if (p_online(cpu, P_STATUS) == P_ONLINE || p_online(cpu, P_STATUS) == P_NOINTR)
                cpus[n++] = cpu;
    if (n == 0 || processor_bind(P_LWPID, (id_t)P_MYID, cpus[i % n], NULL) != 0)
        bench_die("cannot bind thread %d: %s", i, strerror(errno));
}

/* Prepares the team for n workers. */
static void begin_team(int n, bench_work *work, bool bind)
{
    if (n < 1 || n > BENCH_MAX)
        bench_die("workers: 1 to %d", BENCH_MAX);
    memset(team, 0, sizeof *team);
    team->n = n;
    team->work = work;
    team->bind = bind;
}

static void *run_worker(void *argument)
{
    int self = (int)(intptr_t)argument;

    if (team->bind)
        bind_self(self);
    team->home[self] = bench_home_self();
    team->work(self);
    return NULL;
}

#ifdef _OPENMP
void bench_threads(int n, bench_work *work, bool bind)
{
    begin_team(n, work, bind);
    omp_set_dynamic(0); /* exactly n threads */
    /* fp_arm() tests the model the first time, on all CPUs; it must do so before threads spin there */
    if (fp_arm() != 0)
        bench_die("nothing was measured");
    fp_disarm();
    if (bind)
        bind_self(0);
#pragma omp parallel num_threads(n)
    {
        if (omp_get_num_threads() != n)
            bench_die("OpenMP makes %d threads instead of %d", omp_get_num_threads(), n);
        run_worker((void *)(intptr_t)omp_get_thread_num());
    }
}
#else
void bench_threads(int n, bench_work *work, bool bind)
{
    pthread_t thread[BENCH_MAX];
    pthread_attr_t attr;
    int error;

    begin_team(n, work, bind);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    if (bind)
        bind_self(0);
    for (int i = 1; i < n; i++)
        if ((error = pthread_create(&thread[i], &attr, run_worker, (void *)(intptr_t)i)) != 0)
            bench_die("cannot create thread %d: %s", i, strerror(error));
    run_worker(NULL);
    for (int i = 1; i < n; i++)
        pthread_join(thread[i], NULL);
    pthread_attr_destroy(&attr);
}
#endif

int bench_processes(int n, bench_work *work, bool bind)
{
    pid_t pid[BENCH_MAX];
    int failed = 0;

    begin_team(n, work, bind);
    fflush(stdout);
    for (int i = 0; i < n; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            run_worker((void *)(intptr_t)i);
            fflush(stdout);
            _exit(0);
        }
        if (pid[i] < 0) {
            int error = errno;

            while (i-- > 0)
                kill(pid[i], SIGKILL);
            bench_die("cannot fork: %s", strerror(error));
        }
    }
    for (int i = 0; i < n; i++) {
        int status;
        pid_t done = wait(&status);

        if (done < 0 || status == 0)
            continue;
        failed++;
        /* the other workers would wait for this one at a barrier */
        for (int k = 0; k < n && failed == 1; k++)
            if (pid[k] != done)
                kill(pid[k], SIGKILL);
    }
    return failed;
}

void bench_barrier(void)
{
#ifdef _OPENMP
#pragma omp barrier
#else
    unsigned generation = atomic_load(&team->generation);

    if (atomic_fetch_add(&team->arrived, 1) + 1 == (unsigned)team->n) {
        atomic_store(&team->arrived, 0);
        atomic_fetch_add(&team->generation, 1);
        syscall(SYS_futex, &team->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        return;
    }
    while (atomic_load(&team->generation) == generation)
        syscall(SYS_futex, &team->generation, FUTEX_WAIT, generation, NULL, NULL, 0);
#endif
}

void bench_start(int self)
{
    bench_barrier();
    if (self == 0) {
        if (fp_arm() != 0)
            bench_die("nothing was measured");
        /* after fp_arm(), because the model's self-test changes the counters */
        fp_read(&team->before);
        team->wall_begin = bench_now();
    }
    bench_barrier();
    team->begin_ps[self] = fp_now_ps();
}

/* *after - *before, counter by counter. */
static struct fp_counts difference(const struct fp_counts *after, const struct fp_counts *before)
{
    struct fp_counts d = *after;

    d.time_ps -= before->time_ps;
    d.instr -= before->instr;
    d.loads -= before->loads;
    d.stores -= before->stores;
    d.ec_ref -= before->ec_ref;
    d.ec_hit -= before->ec_hit;
    d.miss_local -= before->miss_local;
    d.miss_remote -= before->miss_remote;
    d.load_miss_local -= before->load_miss_local;
    d.load_miss_remote -= before->load_miss_remote;
    d.writeback -= before->writeback;
    d.stall_ps -= before->stall_ps;
    d.fp_stall_ps -= before->fp_stall_ps;
    for (int r = 0; r < FP_RES_COUNT; r++)
        d.queue_ps[r] -= before->queue_ps[r];
    return d;
}

/* Fills in team->measure.  Worker 0 calls it while the others wait (I1). */
static void end_measure(void)
{
    struct bench_measure *m = &team->measure;
    struct fp_counts after;
    uint64_t longest = 0;

    m->wall_s = bench_now() - team->wall_begin;
    if (fp_disarm() != 0)
        bench_die("nothing was measured");
    fp_read(&after);
    m->model = model;
    m->counts = difference(&after, &team->before);
    for (int i = 0; i < team->n; i++)
        if (team->end_ps[i] - team->begin_ps[i] > longest)
            longest = team->end_ps[i] - team->begin_ps[i];
    m->modelled_s = (double)longest / PS_PER_S;
    if (model)
        m->busy_s = ((double)m->counts.instr * (double)fp_header()->clock_ps +
                     (double)m->counts.stall_ps + (double)m->counts.fp_stall_ps) /
                    PS_PER_S;
}

void bench_stop(int self)
{
    team->end_ps[self] = fp_now_ps();
    bench_barrier();
    if (self == 0)
        end_measure();
    bench_barrier();
}

const struct bench_measure *bench_measured(void)
{
    return &team->measure;
}

int bench_home(int i)
{
    return team->home[i];
}

void bench_result_end(void)
{
    static const char *const resource[FP_RES_COUNT] = {
        [FP_RES_PORT] = "port",         [FP_RES_MEMORY] = "memory",
        [FP_RES_BUS] = "bus",           [FP_RES_REQUEST] = "request",
        [FP_RES_RESPONSE] = "response", [FP_RES_CROSSBAR] = "crossbar",
    };
    const struct bench_measure *m = &team->measure;
    const struct fp_counts *c = &m->counts;

    if (!m->model) {
        printf(" wall_s=%.3f\nmodelled: no model\n", m->wall_s);
        return;
    }
    printf(" modelled_s=%.9f wall_s=%.3f\n", m->modelled_s, m->wall_s);
    printf(
        "counters: time_ps=%lu instr=%lu loads=%lu stores=%lu ec_ref=%lu ec_hit=%lu miss_local=%lu miss_remote=%lu "
        "load_miss_local=%lu load_miss_remote=%lu writeback=%lu stall_ps=%lu fp_stall_ps=%lu",
        c->time_ps, c->instr, c->loads, c->stores, c->ec_ref, c->ec_hit, c->miss_local,
        c->miss_remote, c->load_miss_local, c->load_miss_remote, c->writeback, c->stall_ps,
        c->fp_stall_ps);
    for (int r = 0; r < FP_RES_COUNT; r++)
        printf(" queue_%s_ps=%lu", resource[r], c->queue_ps[r]);
    printf("\n");
    bench_print_heat();
}
