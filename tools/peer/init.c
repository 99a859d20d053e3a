// SPDX-License-Identifier: MIT
/*
 * init.c - process 1 of the Linux that the benchmarks are compared with.
 *
 * THEORY      Mounts /dev, /proc and /sys, tells the model where memory is (fpmap), runs the command of the run
 *             with the shell, and ends the machine as Homeroom's kernel does: the command's status goes over the
 *             verdict port (COM2) as "@exit STATUS", then a byte written to isa-debug-exit ends QEMU.  The command
 *             is in /command, which the launcher adds to the initramfs; without one there is a shell.  /piped and
 *             /terminal are of the console (user/lib/console.c).
 * INVARIANTS  I1  no "@exit" is written unless the command was run and waited for; every way out of here before
 *                 that leaves the machine without a verdict, and the launcher says so
 * SEE ALSO    docs/peer.md, tools/homeroom/peer.py, tools/peer/fpmap.c
 */
#include <sys/ioctl.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "homeroom.h"

#define DEBUG_EXIT_PORT 0xf4 /* isa-debug-exit of tools/homeroom/guest.py        */
#define EXIT_CLEAN      0x10 /* QEMU exits with twice this, plus one: 33, "clean" */
#define FPMAP           "/usr/bin/fpmap"
#define COMMAND         "/command"
#define COMMAND_MAX     65536 /* the launcher's limit */

static void end_machine(void)
{
    tcdrain(STDOUT_FILENO);
    sync();
    if (ioperm(DEBUG_EXIT_PORT, 1, 1) == 0)
        outb(EXIT_CLEAN, DEBUG_EXIT_PORT); /* later versions of QEMU end some time after it */
    else
        perror("init: isa-debug-exit");
    for (;;)
        pause();
}

static void fail(const char *what)
{
    fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
    end_machine(); /* I1: no verdict */
}

static void mount_at(const char *type, const char *where)
{
    mkdir(where, 0755);
    if (mount(type, where, type, 0, NULL) != 0 && errno != EBUSY)
        fail(where);
}

/*
 * Makes the console the three standard files, and the controlling terminal of our session.  It is our session and
 * not the command's, because the end of a session's leader throws away what the terminal has not yet printed.
 */
static void open_console(void)
{
    int fd = open("/dev/console", O_RDWR);

    if (fd < 0)
        fail("/dev/console");
    for (int i = 0; i < 3; i++)
        if (fd != i && dup2(fd, i) < 0)
            fail("/dev/console");
    if (fd > 2)
        close(fd);
    setsid();
    ioctl(STDIN_FILENO, TIOCSCTTY, 1);
}

/* The verdict port, with every byte passed as it is. */
static int open_verdict(void)
{
    struct termios raw;
    int fd = open("/dev/ttyS1", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 || tcgetattr(fd, &raw) != 0)
        fail("/dev/ttyS1");
    cfmakeraw(&raw);
    if (tcsetattr(fd, TCSANOW, &raw) != 0)
        fail("/dev/ttyS1");
    return fd;
}

/*
 * Runs a program as a child, with `input` (-1: the console) to read, and waits for it; other children are reaped.
 * Its status, 128 + signal if killed.
 */
static int run(char *const argv[], int input)
{
    pid_t child = fork(), pid;
    int status = 0;

    if (child < 0)
        fail("fork");
    if (child == 0) {
        if (input >= 0)
            dup2(input, STDIN_FILENO);
        execv(argv[0], argv);
        fprintf(stderr, "init: %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    while ((pid = wait(&status)) != child)
        if (pid < 0 && errno != EINTR)
            fail("wait");
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The run's command line; NULL if there is none. */
static char *read_command(void)
{
    static char text[COMMAND_MAX];
    int fd = open(COMMAND, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    if (read(fd, text, sizeof text - 1) < 0)
        fail(COMMAND);
    close(fd);
    return text;
}

int main(void)
{
    static char *const map[] = {FPMAP, NULL}, *const shell[] = {"/bin/sh", "-l", NULL};
    char *const command[] = {"/bin/sh", "-c", read_command(), NULL};
    int verdict, status, input = -1;

    mount_at("devtmpfs", "/dev");
    mount_at("proc", "/proc");
    mount_at("sysfs", "/sys");
    open_console();
    verdict = open_verdict();
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin:/usr/test", 1);
    setenv("HOME", "/root", 1);
    setenv("TERM", "vt100", 1);
    if (chdir("/root") != 0)
        fail("/root");
    dprintf(verdict, "@boot linux\n");
    if ((status = run(map, -1)) != 0) {
        errno = EIO;
        fail(FPMAP);
    }
    hr_console_size(STDIN_FILENO, "/terminal");
    if (access("/piped", F_OK) == 0 && (input = hr_console_pipe()) < 0)
        fail("pipe");
    status = run(command[2] != NULL ? command : shell, input);
    tcdrain(STDOUT_FILENO);
    dprintf(verdict, "@exit %d\n", status);
    tcdrain(verdict);
    end_machine();
}
