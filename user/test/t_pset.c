// SPDX-License-Identifier: MIT
/*
 * t_pset.c - processor sets and processor states: every rule, and every error.
 *
 * THEORY      The errors are a table of calls that must fail in one prepared state, which must be the same afterwards.
 *             The tests need root and eight CPUs.  Set 1: CPUs 1, 2.  Set 2: empty, with PSET_NOESCAPE.  Set 3: CPU 3
 *             and a process in it.  CPU 4: a process is bound to it.  CPU 5: off-line.  The rest: the default set.
 * SEE ALSO    user/include/sys/pset.h, docs/psets.md
 */
#include "check.h"

#include <sys/mman.h>
#include <sys/pset.h>
#include <time.h>

#include "homeroom.h"

enum { SLOTS = 4, BAD = 8 /* a bad address */, NO_PID = 32767 };
/* In the table these stand for process ids that are known only at run time. */
enum { IN_SET_3 = 0x70000000, ON_CPU_4, FREE, OF_USER };

static pid_t slot[SLOTS];

static int ncpus(void)
{
    int n = 0;

    while (p_online(n, P_STATUS) >= 0)
        n++;
    return n;
}

/* Destroys all sets and brings all CPUs on-line.  All tests begin with it, so it skips them unless the user is root. */
static void clean(void)
{
    psetid_t list[2 * HR_MAXCPU];
    uint_t n = 2 * HR_MAXCPU;

    NEED_ROOT();
    EXPECT_EQ(pset_list(list, &n), 0);
    for (uint_t i = 0; i < n; i++)
        EXPECT_EQ(pset_destroy(list[i]), 0);
    for (int cpu = 0; cpu < ncpus(); cpu++)
        EXPECT(p_online(cpu, P_ONLINE) >= 0);
}

/* Makes a process of a user that sleeps.  It has its user id when this returns. */
static pid_t sleeper(uid_t uid)
{
    int fd[2];
    char c;
    pid_t pid;

    EXPECT_EQ(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        if ((uid != 0 && setuid(uid) != 0) || write(fd[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    EXPECT(pid > 0);
    EXPECT_EQ(read(fd[0], &c, 1), 1);
    close(fd[0]);
    close(fd[1]);
    return pid;
}

static void end(pid_t pid)
{
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

static psetid_t make_set(int first, int n)
{
    psetid_t set;

    EXPECT_EQ(pset_create(&set), 0);
    for (int cpu = first; cpu < first + n; cpu++)
        EXPECT_EQ(pset_assign(set, cpu, NULL), 0);
    return set;
}

static void prepare(void)
{
    if (ncpus() < 8)
        SKIP("needs eight CPUs");
    clean();
    EXPECT_EQ(make_set(1, 2), 1);
    EXPECT_EQ(make_set(0, 0), 2);
    EXPECT_EQ(pset_setattr(2, PSET_NOESCAPE), 0);
    EXPECT_EQ(make_set(3, 1), 3);
    for (int i = 0; i < SLOTS; i++)
        slot[i] = sleeper(IN_SET_3 + i == OF_USER ? 1000 : 0);
    EXPECT_EQ(pset_bind(3, P_PID, (id_t)slot[IN_SET_3 - IN_SET_3], NULL), 0);
    EXPECT_EQ(processor_bind(P_PID, (id_t)slot[ON_CPU_4 - IN_SET_3], 4, NULL), 0);
    EXPECT_EQ(p_online(5, P_OFFLINE), P_ONLINE);
}

static const struct rule {
    const char *what;
    int user; /* called as uid 1000 */
    long call, arg[5];
    int error;
} rules[] = {
    {"create: no address", 0, SYS_pset_create, {BAD}, EFAULT},
    {"create: not root", 1, SYS_pset_create, {BAD}, EPERM},
    {"destroy: no such set", 0, SYS_pset_destroy, {4}, EINVAL},
    {"destroy: the default set", 0, SYS_pset_destroy, {PS_NONE}, EINVAL},
    {"destroy: the caller's, which is the default set", 0, SYS_pset_destroy, {PS_MYID}, EINVAL},
    {"destroy: not root", 1, SYS_pset_destroy, {1}, EPERM},
    {"assign: no such set", 0, SYS_pset_assign, {4, 6}, EINVAL},
    {"assign: no such CPU", 0, SYS_pset_assign, {1, 200}, EINVAL},
    {"assign: negative CPU", 0, SYS_pset_assign, {1, -1}, EINVAL},
    {"assign: off-line", 0, SYS_pset_assign, {1, 5}, EINVAL},
    {"assign: an LWP is bound to the CPU", 0, SYS_pset_assign, {1, 4}, EBUSY},
    {"assign: last CPU of a set with LWPs", 0, SYS_pset_assign, {PS_NONE, 3}, EBUSY},
    {"assign: the same, into another set", 0, SYS_pset_assign, {1, 3}, EBUSY},
    {"assign: the same, forced", 0, SYS_pset_assign, {1, 3, 0, 1}, EBUSY},
    {"assign: not root", 1, SYS_pset_assign, {1, 6}, EPERM},
    {"assign: query, no such CPU", 1, SYS_pset_assign, {PS_QUERY, 200}, EINVAL},
    {"assign: query, no address", 1, SYS_pset_assign, {PS_QUERY, 1, BAD}, EFAULT},
    {"bind: no such set", 0, SYS_pset_bind, {4, HR_P_PID, FREE}, EINVAL},
    {"bind: empty set", 0, SYS_pset_bind, {2, HR_P_PID, FREE}, EINVAL},
    {"bind: no such kind of id", 0, SYS_pset_bind, {1, 77, FREE}, EINVAL},
    {"bind: no such process", 0, SYS_pset_bind, {1, HR_P_PID, NO_PID}, ESRCH},
    {"bind: no such LWP", 0, SYS_pset_bind, {1, HR_P_LWPID, 99}, ESRCH},
    {"bind: no such LWP of another", 0, SYS_pset_bind, {1, HR_P_LWPID, 99, 0, FREE}, ESRCH},
    {"bind: bound to a CPU outside", 0, SYS_pset_bind, {1, HR_P_PID, ON_CPU_4}, EBUSY},
    {"bind: not root", 1, SYS_pset_bind, {1, HR_P_PID, OF_USER}, EPERM},
    {"bind: unbind another user's", 1, SYS_pset_bind, {PS_NONE, HR_P_PID, IN_SET_3}, EPERM},
    {"bind: query, no such process", 1, SYS_pset_bind, {PS_QUERY, HR_P_PID, NO_PID}, ESRCH},
    {"bind: query, no address", 1, SYS_pset_bind, {PS_QUERY, HR_P_PID, FREE, BAD}, EFAULT},
    {"info: no such set", 1, SYS_pset_info, {4}, EINVAL},
    {"info: no address for the type", 1, SYS_pset_info, {1, BAD}, EFAULT},
    {"info: no address for the number", 1, SYS_pset_info, {1, 0, BAD}, EFAULT},
    {"list: no address", 1, SYS_pset_list, {0, BAD}, EFAULT},
    {"setattr: no such set", 0, SYS_pset_setattr, {4, PSET_NOESCAPE}, EINVAL},
    {"setattr: the default set", 0, SYS_pset_setattr, {PS_NONE, 0}, EINVAL},
    {"setattr: another bit", 0, SYS_pset_setattr, {1, 2}, EINVAL},
    {"setattr: not root", 1, SYS_pset_setattr, {1, 0}, EPERM},
    {"getattr: no such set", 1, SYS_pset_getattr, {4}, EINVAL},
    {"getattr: no address", 1, SYS_pset_getattr, {1, BAD}, EFAULT},
    {"getloadavg: no such set", 1, SYS_pset_getloadavg, {4, BAD, 3}, EINVAL},
    {"getloadavg: negative number", 1, SYS_pset_getloadavg, {1, BAD, -1}, EINVAL},
    {"getloadavg: no address", 1, SYS_pset_getloadavg, {1, BAD, 3}, EFAULT},
    {"p_online: no such CPU", 0, SYS_p_online, {200, P_ONLINE}, EINVAL},
    {"p_online: no such state", 0, SYS_p_online, {0, 99}, EINVAL},
    {"p_online: a forced query", 0, SYS_p_online, {0, P_STATUS | P_FORCED}, EINVAL},
    {"p_online: power", 0, SYS_p_online, {0, P_POWEROFF}, ENOTSUP},
    {"p_online: not root", 1, SYS_p_online, {0, P_NOINTR}, EPERM},
    {"p_online: off-line, only CPU of its set", 0, SYS_p_online, {3, P_OFFLINE}, EBUSY},
    {"p_online: off-line, an LWP is bound to it", 0, SYS_p_online, {4, P_OFFLINE}, EBUSY},
    {"processor_info: no such CPU", 1, SYS_processor_info, {200}, EINVAL},
    {"processor_info: no address", 1, SYS_processor_info, {0, BAD}, EFAULT},
    {"processor_bind: no such CPU", 0, SYS_processor_bind, {HR_P_PID, FREE, 200}, EINVAL},
    {"processor_bind: off-line", 0, SYS_processor_bind, {HR_P_PID, FREE, 5}, EINVAL},
    {"processor_bind: a CPU of another set", 0, SYS_processor_bind, {HR_P_PID, FREE, 1}, EINVAL},
    {"processor_bind: out of the set", 0, SYS_processor_bind, {HR_P_PID, IN_SET_3, 0}, EINVAL},
    {"processor_bind: no such kind of id", 0, SYS_processor_bind, {77, FREE, 0}, EINVAL},
    {"processor_bind: no such process", 0, SYS_processor_bind, {HR_P_PID, NO_PID, 0}, ESRCH},
    {"processor_bind: another user's", 1, SYS_processor_bind, {HR_P_PID, FREE, 0}, EPERM},
    {"processor_bind: no address",
     0,
     SYS_processor_bind,
     {HR_P_PID, FREE, PBIND_QUERY, BAD},
     EFAULT},
};

static int errno_of(const struct rule *r)
{
    long a[5];

    for (int i = 0; i < 5; i++)
        a[i] = r->arg[i] >= IN_SET_3 && r->arg[i] < IN_SET_3 + SLOTS ? slot[r->arg[i] - IN_SET_3]
                                                                     : r->arg[i];
    errno = 0;
    return hr_call(r->call, a[0], a[1], a[2], a[3], a[4], 0) >= 0 ? 0 : errno;
}

/* The same, called by a child of another user. */
static int errno_of_user(const struct rule *r)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(setuid(1000) != 0 ? 255 : errno_of(r));
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void unchanged(void)
{
    processorid_t cpus[HR_MAXCPU];
    uint_t n = HR_MAXCPU;
    psetid_t set;

    EXPECT_EQ(pset_info(1, NULL, &n, cpus), 0);
    EXPECT(n == 2 && cpus[0] == 1 && cpus[1] == 2);
    EXPECT_EQ(pset_info(2, NULL, &n, cpus), 0);
    EXPECT_EQ(n, 0);
    n = HR_MAXCPU;
    EXPECT_EQ(pset_info(3, NULL, &n, cpus), 0);
    EXPECT(n == 1 && cpus[0] == 3);
    n = 0;
    EXPECT_EQ(pset_list(NULL, &n), 0);
    EXPECT_EQ(n, 3);
    for (int cpu = 0; cpu < 8; cpu++)
        EXPECT_EQ(p_online(cpu, P_STATUS), cpu == 5 ? P_OFFLINE : P_ONLINE);
    for (int i = 0; i < SLOTS; i++) {
        processorid_t cpu;

        EXPECT_EQ(pset_bind(PS_QUERY, P_PID, (id_t)slot[i], &set), 0);
        EXPECT_EQ(set, IN_SET_3 + i == IN_SET_3 ? 3 : PS_NONE);
        EXPECT_EQ(processor_bind(P_PID, (id_t)slot[i], PBIND_QUERY, &cpu), 0);
        EXPECT_EQ(cpu, IN_SET_3 + i == ON_CPU_4 ? 4 : PBIND_NONE);
    }
}

static void errors(void)
{
    int wrong = 0;

    prepare();
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        int got = rules[i].user ? errno_of_user(&rules[i]) : errno_of(&rules[i]);

        if (got != rules[i].error) {
            printf("  %s: errno %d, not %d\n", rules[i].what, got, rules[i].error);
            wrong++;
        }
    }
    EXPECT_EQ(wrong, 0);
    unchanged();
    for (int i = 0; i < SLOTS; i++)
        end(slot[i]);
    clean();
}

/* The default set keeps a CPU; a set without LWPs may lose its last CPU. */
static void last_cpu(void)
{
    int n = ncpus();
    psetid_t set;

    clean();
    set = make_set(1, n - 1);
    EXPECT_ERR(pset_assign(set, 0, NULL), EBUSY);
    EXPECT_ERR(p_online(0, P_OFFLINE), EBUSY);
    for (int cpu = 1; cpu < n; cpu++)
        EXPECT_EQ(pset_assign(PS_NONE, cpu, NULL), 0);
    /* the set exists, and is empty */
    EXPECT_ERR(pset_bind(set, P_PID, (id_t)P_MYID, NULL), EINVAL);
    EXPECT_EQ(pset_destroy(set), 0);
}

/* At least one CPU takes interrupts, whatever its set is. */
static void last_interruptible(void)
{
    int n = ncpus();

    clean();
    for (int cpu = 1; cpu < n; cpu++)
        EXPECT_EQ(p_online(cpu, P_NOINTR), P_ONLINE);
    EXPECT_ERR(p_online(0, P_NOINTR), EBUSY);
    EXPECT_ERR(p_online(0, P_OFFLINE), EBUSY);
    EXPECT_EQ(p_online(1, P_OFFLINE), P_NOINTR);
    EXPECT_EQ(p_online(1, P_NOINTR), P_OFFLINE);
    EXPECT_EQ(p_online(1, P_STATUS), P_NOINTR);
    EXPECT_EQ(p_online(1, P_NOINTR), P_NOINTR); /* already its state */
    clean();
}

static void too_many_sets(void)
{
    int n = ncpus();
    psetid_t set;

    clean();
    for (int i = 0; i < 2 * n; i++) {
        EXPECT_EQ(pset_create(&set), 0);
        EXPECT_EQ(set, i + 1);
    }
    EXPECT_ERR(pset_create(&set), ENOMEM);
    EXPECT_EQ(pset_destroy(2), 0);
    EXPECT_EQ(pset_create(&set), 0);
    EXPECT_EQ(set, 2); /* the lowest free number */
    clean();
}

/* Forced off-line and forced assignment unbind LWPs. */
static void forced(void)
{
    pid_t pid = sleeper(0);
    processorid_t cpu;
    psetid_t set, old;

    clean();
    EXPECT_EQ(processor_bind(P_PID, (id_t)pid, 1, NULL), 0);
    EXPECT_EQ(p_online(1, P_OFFLINE | P_FORCED), P_ONLINE);
    EXPECT_EQ(processor_bind(P_PID, (id_t)pid, PBIND_QUERY, &cpu), 0);
    EXPECT_EQ(cpu, PBIND_NONE);
    EXPECT_EQ(p_online(1, P_ONLINE), P_OFFLINE);
    EXPECT_EQ(processor_bind(P_PID, (id_t)pid, 1, NULL), 0);
    set = make_set(0, 0);
    EXPECT_ERR(pset_assign(set, 1, &old), EBUSY);
    EXPECT_EQ(pset_assign_forced(set, 1, &old), 0);
    EXPECT_EQ(old, PS_NONE);
    EXPECT_EQ(processor_bind(P_PID, (id_t)pid, PBIND_QUERY, &cpu), 0);
    EXPECT_EQ(cpu, PBIND_NONE);
    end(pid);
    clean();
}

/* A binding is inherited over fork and exec; destroying the set unbinds. */
static void inherited(void)
{
    int status;
    pid_t pid;
    psetid_t set, in;

    clean();
    set = make_set(1, 1);
    EXPECT_EQ(pset_bind(set, P_PID, (id_t)P_MYID, &in), 0);
    EXPECT_EQ(in, PS_NONE);
    EXPECT_EQ(getcpuid(), 1);
    pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c",
              "psrset -q $$ | grep -q ': 1$' && [ $(cut -d' ' -f39 /proc/self/stat) = 1 ]", NULL);
        _exit(9);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(pset_destroy(PS_MYID), 0);
    EXPECT_EQ(pset_bind(PS_QUERY, P_PID, (id_t)P_MYID, &in), 0);
    EXPECT_EQ(in, PS_NONE);
}

/*
 * With both bindings the LWP runs on its CPU.  When that binding ends, the set's holds again.  Meanwhile neither the
 * LWP nor the CPU can leave the set, and the set cannot be destroyed.
 */
static void both_bindings(void)
{
    psetid_t set;
    processorid_t cpu;

    if (ncpus() < 4)
        SKIP("needs four CPUs");
    clean();
    set = make_set(1, 2);
    EXPECT_EQ(pset_bind(set, P_PID, (id_t)P_MYID, NULL), 0);
    EXPECT_EQ(processor_bind(P_PID, (id_t)P_MYID, 2, NULL), 0);
    EXPECT_EQ(getcpuid(), 2);
    EXPECT_ERR(processor_bind(P_PID, (id_t)P_MYID, 3, NULL), EINVAL);
    EXPECT_ERR(pset_bind(PS_NONE, P_PID, (id_t)P_MYID, NULL), EBUSY);
    EXPECT_ERR(pset_destroy(set), EBUSY);
    EXPECT_ERR(pset_assign(PS_NONE, 2, NULL), EBUSY);
    EXPECT_ERR(p_online(2, P_OFFLINE), EBUSY);
    EXPECT_EQ(processor_bind(P_PID, (id_t)P_MYID, PBIND_NONE, &cpu), 0);
    EXPECT_EQ(cpu, 2);
    cpu = getcpuid();
    EXPECT(cpu == 1 || cpu == 2);
    EXPECT_EQ(pset_bind(PS_NONE, P_PID, (id_t)P_MYID, NULL), 0);
    clean();
}

/* An owner may take his process out of a set unless the set forbids it; only root puts one in. */
static void escape(void)
{
    static const struct rule leave = {"leave", 1, SYS_pset_bind, {PS_NONE, HR_P_PID, FREE}, 0};
    psetid_t set;
    uint_t attr;

    clean();
    set = make_set(1, 1);
    EXPECT_EQ(pset_getattr(PS_NONE, &attr), 0);
    EXPECT_EQ(attr, PSET_NOESCAPE);
    EXPECT_EQ(pset_getattr(set, &attr), 0);
    EXPECT_EQ(attr, 0);
    slot[FREE - IN_SET_3] = sleeper(1000);
    EXPECT_EQ(pset_bind(set, P_PID, (id_t)slot[FREE - IN_SET_3], NULL), 0);
    EXPECT_EQ(pset_setattr(set, PSET_NOESCAPE), 0);
    EXPECT_EQ(errno_of_user(&leave), EPERM);
    EXPECT_EQ(pset_setattr(set, 0), 0);
    EXPECT_EQ(errno_of_user(&leave), 0);
    EXPECT_EQ(errno_of_user(&leave), 0); /* it is out already: nothing to do */
    end(slot[FREE - IN_SET_3]);
    clean();
}

/* An off-line CPU remembers its set, and belongs to the default set once that set is gone. */
static void off_line_remembers(void)
{
    psetid_t set, in;

    if (ncpus() < 4)
        SKIP("needs four CPUs");
    clean();
    set = make_set(1, 2);
    EXPECT_EQ(p_online(1, P_OFFLINE), P_ONLINE);
    EXPECT_EQ(pset_assign(PS_QUERY, 1, &in), 0);
    EXPECT_EQ(in, set);
    EXPECT_EQ(p_online(1, P_ONLINE), P_OFFLINE);
    EXPECT_EQ(pset_assign(PS_QUERY, 1, &in), 0);
    EXPECT_EQ(in, set);
    EXPECT_EQ(p_online(1, P_OFFLINE), P_ONLINE);
    EXPECT_EQ(pset_destroy(set), 0);
    EXPECT_EQ(pset_assign(PS_QUERY, 1, &in), 0);
    EXPECT_EQ(in, PS_NONE);
    clean();
}

/* Ten busy processes outside of a set do not run in it; then ten inside do not run outside. */
static void kept_apart(void)
{
    struct timespec wait = {0, 300000000}, moment = {0, 10000000};
    int n = ncpus();
    psetid_t set;
    volatile unsigned *seen =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid[10];

    if (n < 4)
        SKIP("needs four CPUs");
    clean();
    set = make_set(1, 2);
    for (int inside = 0; inside < 2; inside++) {
        for (int cpu = 0; cpu < n; cpu++)
            seen[cpu] = 0;
        for (int i = 0; i < 10; i++) {
            pid[i] = fork();
            if (pid[i] == 0) {
                if (inside && pset_bind(set, P_PID, (id_t)P_MYID, NULL) != 0)
                    _exit(1);
                for (unsigned k = 0;; k++) {
                    seen[getcpuid()] = 1;
                    if (k % 64 == 0)
                        nanosleep(&(struct timespec){0, 1000000}, NULL);
                }
            }
        }
        while (inside && (seen[1] == 0 || seen[2] == 0))
            nanosleep(&moment, NULL);
        nanosleep(&wait, NULL);
        for (int i = 0; i < 10; i++)
            end(pid[i]);
        for (int cpu = 0; cpu < n; cpu++)
            if (cpu == 1 || cpu == 2)
                EXPECT_EQ(seen[cpu], inside);
            else if (inside)
                EXPECT_EQ(seen[cpu], 0);
    }
    clean();
}

/*
 * CPUs and threads change their sets, and CPUs their states, while processes come and go: all processes end, and
 * nothing is lost.
 */
static void shuffle(void)
{
    unsigned rnd = 12345;
    int n = ncpus(), left, status;
    psetid_t set[2];

    clean();
    set[0] = make_set(0, 0);
    set[1] = make_set(0, 0);
    for (int i = 0; i < 6; i++)
        if (fork() == 0) {
            for (int k = 0; k < 10; k++) {
                pid_t pid = fork();

                if (pid == 0) {
                    /* the set may be empty at this moment */
                    (void)pset_bind(set[k & 1], P_PID, (id_t)P_MYID, NULL);
                    nanosleep(&(struct timespec){0, 2000000}, NULL);
                    _exit(0);
                }
                waitpid(pid, NULL, 0);
            }
            _exit(0);
        }
    for (int i = 0; i < 400; i++) {
        int cpu;

        rnd = rnd * 1103515245 + 12345;
        cpu = (int)(rnd >> 16) % n;
        (void)pset_assign((rnd >> 8) % 3 == 2 ? PS_NONE : set[(rnd >> 8) % 3], cpu, NULL);
        (void)p_online(cpu, (rnd >> 4) % 4 == 0   ? P_NOINTR
                            : (rnd >> 4) % 4 == 1 ? P_OFFLINE
                                                  : P_ONLINE);
    }
    for (left = 6; left > 0; left--) {
        EXPECT(wait(&status) > 0);
        EXPECT_EQ(status, 0);
    }
    clean();
    for (int cpu = 0; cpu < n; cpu++) {
        psetid_t in;

        EXPECT_EQ(pset_assign(PS_QUERY, cpu, &in), 0);
        EXPECT_EQ(in, PS_NONE);
    }
}

static const struct check checks[] = {
    {"errors", errors},
    {"last_cpu", last_cpu},
    {"last_interruptible", last_interruptible},
    {"too_many_sets", too_many_sets},
    {"forced", forced},
    {"inherited", inherited},
    {"both_bindings", both_bindings},
    {"escape", escape},
    {"off_line_remembers", off_line_remembers},
    {"kept_apart", kept_apart},
    {"shuffle", shuffle},
};

CHECK_MAIN(checks)
