// SPDX-License-Identifier: MIT
/*
 * vistart.c - how long an editor takes to show its first screen.
 *
 * THEORY      The program runs on a terminal of its own (a pseudo-terminal).  It has started when its output contains
 *             `mark`; for vi this is the tilde of an empty line.  Then it gets `:q!`, and the benchmark waits for its
 *             end.
 * OUTPUT      result: bench=vistart start_ns=... majflt=...
 * SEE ALSO    make experiment-pacing
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    vistart - how long an editor takes to show its first screen\n"
    "\n"
    "SYNOPSIS\n"
    "    vistart [-m mark] program [argument ...]\n"
    "\n"
    "DESCRIPTION\n"
    "    The program gets a terminal of its own.  It has started when its output\n"
    "    holds the mark.  Then it gets :q! and ends.\n"
    "\n"
    "OPTIONS\n"
    "    -m mark       what the first screen shows (~)\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 1 the program failed, 2 wrong command line or an error\n"
    "\n"
    "SEE ALSO\n"
    "    editor, docs/disks.md\n";

/* In the child: makes the terminal its own, then runs the program. */
static void run(const char *tty, char **argv)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int fd;

    setsid();
    if ((fd = open(tty, O_RDWR)) < 0)
        _exit(126);
    ioctl(fd, TIOCSCTTY, 0);
    ioctl(fd, TIOCSWINSZ, &size);
    for (int i = 0; i < 3; i++)
        dup2(fd, i);
    setenv("TERM", "vt100", 1);
    execv(argv[0], argv);
    _exit(127);
}

int main(int argc, char **argv)
{
    const char *mark = "~";
    char text[65536];
    size_t len = 0;
    struct rusage usage;
    int opt, master, status = 0;
    double begin, took;
    pid_t pid;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "+m:")) != -1) {
        if (opt != 'm')
            optind = argc;
        else
            mark = optarg;
    }
    if (optind >= argc) {
        hr_usage(help);
        return 2;
    }
    if ((master = posix_openpt(O_RDWR | O_NOCTTY)) < 0 || unlockpt(master) != 0)
        bench_die("terminal: %s", strerror(errno));
    begin = bench_now();
    if ((pid = fork()) == 0)
        run(ptsname(master), argv + optind);
    if (pid < 0)
        bench_die("fork: %s", strerror(errno));
    for (;;) {
        ssize_t n = read(master, text + len, sizeof text - 1 - len);

        if (n <= 0) {
            fprintf(stderr, "vistart: %s ended without showing '%s'\n", argv[optind], mark);
            return 1;
        }
        len += (size_t)n;
        text[len] = '\0';
        if (memmem(text, len, mark, strlen(mark)) != NULL)
            break;
        if (len > sizeof text / 2)
            len = 0;
    }
    took = bench_now() - begin;
    if (write(master, ":q!\r", 4) != 4)
        bench_die("write: %s", strerror(errno));
    while (read(master, text, sizeof text) > 0)
        ;
    if (wait4(pid, &status, 0, &usage) != pid)
        bench_die("wait: %s", strerror(errno));
    printf("result: bench=vistart start_ns=%.0f majflt=%ld\n", took * 1e9, usage.ru_majflt);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
