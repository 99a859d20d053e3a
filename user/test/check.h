// SPDX-License-Identifier: MIT
/*
 * check.h - the frame of a test program: a table of tests, one line of verdict for each.
 *
 * THEORY    A program holds related tests.  Each runs in a child process of its own, so that
 * one that dies or hangs (60 s) is a FAIL and the others still run.  `prog` runs all, `prog
 * name...` some; the exit status is 0 only if all passed.  A test that does not apply here is a
 * SKIP. OUTPUT    PASS name | FAIL name | SKIP name: reason; what went wrong is on lines before
 * it. SEE ALSO  tests/test_programs.py, which runs them on the host and on Homeroom
 */
#ifndef HR_TEST_CHECK_H
#define HR_TEST_CHECK_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_SECONDS 60

struct check {
    const char *name;
    void (*run)(void);
};

enum { CHECK_PASS = 0, CHECK_FAIL = 1, CHECK_SKIP = 77 };

/* Says what is wrong and ends the test. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        errno = 0;                                                                                 \
        if (!(condition)) {                                                                        \
            printf("  %s:%d: not true: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);   \
            fflush(stdout);                                                                        \
            _exit(CHECK_FAIL);                                                                     \
        }                                                                                          \
    } while (0)

/* Two integers are equal; prints both if not. */
#define EXPECT_EQ(got, wanted)                                                                     \
    do {                                                                                           \
        long got_ = (long)(got), wanted_ = (long)(wanted);                                         \
        if (got_ != wanted_) {                                                                     \
            printf("  %s:%d: %s is %ld, not %ld (errno %d)\n", __FILE__, __LINE__, #got, got_,     \
                   wanted_, errno);                                                                \
            fflush(stdout);                                                                        \
            _exit(CHECK_FAIL);                                                                     \
        }                                                                                          \
    } while (0)

/* The call fails with this errno. */
#define EXPECT_ERR(call, error)                                                                    \
    do {                                                                                           \
        errno = 0;                                                                                 \
        EXPECT_EQ(call, -1);                                                                       \
        EXPECT_EQ(errno, error);                                                                   \
    } while (0)

/* Ends the test as one that does not apply. */
#define SKIP(reason)                                                                               \
    do {                                                                                           \
        printf("  %s\n", reason);                                                                  \
        fflush(stdout);                                                                            \
        _exit(CHECK_SKIP);                                                                         \
    } while (0)
/* NEED_ROOT - skip this test unless it may change its credentials: on Linux, tests may run as an ordinary user. */
#define NEED_ROOT()                                                                                \
    do {                                                                                           \
        if (geteuid() != 0)                                                                        \
            SKIP("needs root");                                                                    \
    } while (0)

static inline bool on_homeroom(void)
{
    struct utsname u;

    return uname(&u) == 0 && strstr(u.release, "homeroom") != NULL;
}

/* Runs one test in a child.  0, or 1 if it failed. */
static int check_one(const struct check *check)
{
    int status = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        alarm(CHECK_SECONDS);
        check->run();
        fflush(stdout);
        _exit(CHECK_PASS);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        printf("FAIL %s: cannot run (errno %d)\n", check->name, errno);
        return 1;
    }
    kill(-pid, SIGKILL); /* what the test left behind */
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIP) {
        printf("SKIP %s\n", check->name);
        return 0;
    }
    if (WIFSIGNALED(status))
        printf("  killed by signal %d\n", WTERMSIG(status));
    printf("%s %s\n", status == 0 ? "PASS" : "FAIL", check->name);
    return status != 0;
}

/* Runs the tests named in argv, or all.  Returns the program's exit status. */
static int check_main(const struct check *list, size_t n, int argc, char **argv)
{
    int failed = 0;

    for (size_t i = 0; i < n; i++) {
        int chosen = argc < 2;

        for (int a = 1; a < argc; a++)
            chosen |= strcmp(argv[a], list[i].name) == 0;
        if (chosen)
            failed += check_one(&list[i]);
    }
    fflush(stdout);
    return failed != 0;
}

#define CHECK_MAIN(list)                                                                           \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return check_main(list, sizeof list / sizeof list[0], argc, argv);                         \
    }

#endif
