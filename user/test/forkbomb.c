// SPDX-License-Identifier: MIT
/*
 * forkbomb.c - forks without end until it is killed or `seconds` (default 5) are over.
 *
 * THEORY    Run as an ordinary user it must stop at the limits (RLIMIT_NPROC, memory) with
 * EAGAIN or ENOMEM, and root must still be able to log in and kill it.  The first process
 * counts what fork answered and prints it; its descendants share the counters and never stop by
 * themselves before the time is over. SEE ALSO  tests/test_hardening.py
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct counters {
    long forks, refused, other;
    time_t end;
};

int main(int argc, char **argv)
{
    struct counters *c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t first = getpid();

    if (c == MAP_FAILED)
        return 1;
    signal(SIGCHLD, SIG_IGN);
    c->end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
    while (time(NULL) < c->end) {
        pid_t pid = fork();

        if (pid > 0)
            __atomic_add_fetch(&c->forks, 1, __ATOMIC_RELAXED);
        else if (pid < 0 && (errno == EAGAIN || errno == ENOMEM))
            __atomic_add_fetch(&c->refused, 1, __ATOMIC_RELAXED);
        else if (pid < 0)
            __atomic_add_fetch(&c->other, 1, __ATOMIC_RELAXED);
        sched_yield();
    }
    if (getpid() != first)
        return 0;
    printf("forkbomb: %ld forks, %ld refused, %ld other errors\n", c->forks, c->refused,
           c->other);
    return c->other != 0;
}
