// SPDX-License-Identifier: MIT
/*
 * check.h - the frame of a test program: a table of tests, a verdict line for each.
 *
 * THEORY      A program contains related tests.  Each runs in a child process of its own.  So a test that dies, or
 *             hangs for 120 s, is a FAIL, and the others still run.  `prog` runs all tests, `prog name...` some.  The
 *             exit status is 0 only if all passed.  A test that does not apply to this system is a SKIP.
 * OUTPUT      PASS name | FAIL name | SKIP name: reason; the lines before it say what went wrong.
 * SEE ALSO    tests/test_programs.py, which runs the tests on the host and on Homeroom
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

#define CHECK_SECONDS 120 /* the time that a busy host takes from a virtual CPU counts, too */

struct check {
    const char *name;
    void (*run)(void);
};

enum { CHECK_PASS = 0, CHECK_FAIL = 1, CHECK_SKIP = 77 };

/* Prints a condition that does not hold and ends the test. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        errno = 0;                                                                                 \
        if (!(condition)) {                                                                        \
            printf("  %s:%d: not true: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);   \
            fflush(stdout);                                                                        \
            _exit(CHECK_FAIL);                                                                     \
        }                                                                                          \
    } while (0)

/* Two integers must be equal; prints both if they are not. */
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

/* The call must fail with this errno. */
#define EXPECT_ERR(call, error)                                                                    \
    do {                                                                                           \
        errno = 0;                                                                                 \
        EXPECT_EQ(call, -1);                                                                       \
        EXPECT_EQ(errno, error);                                                                   \
    } while (0)

/* Ends a test that does not apply. */
#define SKIP(reason)                                                                               \
    do {                                                                                           \
        printf("  %s\n", reason);                                                                  \
        fflush(stdout);                                                                            \
        _exit(CHECK_SKIP);                                                                         \
    } while (0)
/* NEED_ROOT - skips this test unless it may change its credentials: on Linux an ordinary user may run the tests. */
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

/* Runs one test in a child.  Returns 0; 1 if it failed. */
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
    kill(-pid, SIGKILL); /* processes that the test has left behind */
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIP) {
        printf("SKIP %s\n", check->name);
        return 0;
    }
    if (WIFSIGNALED(status))
        printf("  killed by signal %d\n", WTERMSIG(status));
    printf("%s %s\n", status == 0 ? "PASS" : "FAIL", check->name);
    return status != 0;
}

/* Runs the tests that argv names, or all.  Returns the program's exit status. */
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
