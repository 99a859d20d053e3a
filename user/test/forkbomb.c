// SPDX-License-Identifier: MIT
/*
 * forkbomb.c - forks without end until its first process gets SIGTERM and a fork was refused.
 *
 * THEORY      If an ordinary user runs it, it must stop at the limits (RLIMIT_NPROC, memory) with EAGAIN or ENOMEM, and
 *             root must still be able to log in and end it.  All its processes share the counters of the results of
 *             fork.  The first process whose fork is refused prints "many"; the first process of all prints the
 *             counters at the end.
 * SEE ALSO    tests/test_hardening.py
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct counters {
    long forks, refused, other, stop;
};

static struct counters *c;

static void on_term(int sig)
{
    (void)sig;
    __atomic_store_n(&c->stop, 1, __ATOMIC_RELAXED);
}

static long count(const long *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

int main(void)
{
    pid_t first = getpid();

    c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED)
        return 1;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGTERM, on_term);
    while (count(&c->stop) == 0 || count(&c->refused) == 0) {
        pid_t pid = fork();

        if (pid > 0)
            __atomic_add_fetch(&c->forks, 1, __ATOMIC_RELAXED);
        else if (pid < 0 && (errno == EAGAIN || errno == ENOMEM)) {
            if (__atomic_fetch_add(&c->refused, 1, __ATOMIC_RELAXED) == 0)
                (void)!write(1, "many\n", 5);
        } else if (pid < 0)
            __atomic_add_fetch(&c->other, 1, __ATOMIC_RELAXED);
        sched_yield();
    }
    if (getpid() != first)
        return 0;
    printf("forkbomb: %ld forks, %ld refused, %ld other errors\n", c->forks, c->refused, c->other);
    return c->other != 0;
}
