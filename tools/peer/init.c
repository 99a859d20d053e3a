// SPDX-License-Identifier: MIT
/*
 * init.c - process 1 of the Linux with which the benchmarks are compared.
 *
 * THEORY      It mounts /dev, /proc and /sys, tells the model where memory is (fpmap), runs the command of the run with
 *             the shell, and ends the machine as Homeroom's kernel does: it writes the command's status to the verdict
 *             port (COM2) as "@exit STATUS", then a byte to isa-debug-exit, which ends QEMU.  The command is in
 *             /command, which the launcher adds to the initramfs; without that file it runs a shell.  /piped and
 *             /terminal describe the console (user/lib/console.c).  With disks there is /modules: `order` names the
 *             modules to load, NAME.options has the parameters of one.  /scheduler and /requests, if they exist, are
 *             written to the queue settings of each disk; /swap names the swap space.
 * INVARIANTS  I1  "@exit" is written only if the command was run and waited for; if init ends before that, the machine
 *                 gives no verdict, and the launcher reports this
 * SEE ALSO    docs/peer.md, tools/homeroom/peer.py, tools/peer/fpmap.c
 */
#include <sys/ioctl.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "homeroom.h"

#define DEBUG_EXIT_PORT 0xf4 /* isa-debug-exit of tools/homeroom/guest.py */
#define EXIT_CLEAN      0x10 /* QEMU exits with twice this, plus one: 33, "clean" */
#define FPMAP           "/usr/bin/fpmap"
#define COMMAND         "/command"
#define COMMAND_MAX     65536 /* the launcher has the same limit */
#define MODULES         "/modules/"
#define QUEUES          "/sys/block/[vs]d*/queue/"

static void end_machine(void)
{
    tcdrain(STDOUT_FILENO);
    sync();
    if (ioperm(DEBUG_EXIT_PORT, 1, 1) == 0)
        outb(EXIT_CLEAN, DEBUG_EXIT_PORT); /* later versions of QEMU end a while after it */
    else
        perror("init: isa-debug-exit");
    for (;;)
        pause();
}

static void fail(const char *what)
{
    fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
    end_machine(); /* I1: without a verdict */
}

static void mount_at(const char *type, const char *where)
{
    mkdir(where, 0755);
    if (mount(type, where, type, 0, NULL) != 0 && errno != EBUSY)
        fail(where);
}

/*
 * Makes the console the three standard files and the controlling terminal of init's session.  The session is not the
 * command's: when the leader of a session ends, output that the terminal has not yet printed is lost.
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

/* Opens the verdict port so that every byte passes unchanged. */
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
 * Runs a program as a child that reads `input` (-1: the console), and waits for it; other children are reaped.  Returns
 * its status, or 128 + the signal that killed it.
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

/* Reads a file's text, at most size - 1 bytes of it, without a newline at its end.  NULL: there is no such file. */
static char *read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return NULL;
    if ((n = read(fd, text, size - 1)) < 0)
        fail(path);
    close(fd);
    text[n] = '\0';
    if (n > 0 && text[n - 1] == '\n')
        text[n - 1] = '\0';
    return text;
}

/* Reads the command line of the run.  NULL: there is none. */
static char *read_command(void)
{
    static char text[COMMAND_MAX];

    return read_text(COMMAND, text, sizeof text);
}

/* Loads the modules that /modules/order names, in that order; without that file none. */
static void load_modules(void)
{
    static char names[4096];
    char path[256], options[256], *name, *rest = names;

    if (read_text(MODULES "order", names, sizeof names) == NULL)
        return;
    while ((name = strsep(&rest, "\n")) != NULL) {
        int fd;

        snprintf(path, sizeof path, MODULES "%s.options", name);
        if (read_text(path, options, sizeof options) == NULL)
            options[0] = '\0';
        snprintf(path, sizeof path, MODULES "%s.ko", name);
        if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 ||
            syscall(SYS_finit_module, fd, options, 0) != 0)
            fail(path);
        close(fd);
    }
}

/* Writes the text of a file to one setting of all disks' queues; without that file they stay unchanged. */
static void set_queues(const char *file, const char *setting)
{
    char text[64];
    glob_t found;

    if (read_text(file, text, sizeof text) == NULL || glob(setting, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int fd = open(found.gl_pathv[i], O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) < 0)
            fail(found.gl_pathv[i]);
        close(fd);
    }
    globfree(&found);
}

/*
 * Makes the disk or partition that /swap names swap space.  Linux needs a signature there, so the old contents are
 * lost.
 */
static void add_swap(void)
{
    static char disk[64], quiet[] = "mkswap \"$0\" >/dev/null && exec swapon \"$0\"";
    char *const command[] = {"/bin/sh", "-c", quiet, disk, NULL};

    if (read_text("/swap", disk, sizeof disk) != NULL && run(command, -1) != 0) {
        errno = EIO;
        fail(disk);
    }
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
    load_modules();
    set_queues("/scheduler", QUEUES "scheduler");
    set_queues("/requests", QUEUES "nr_requests");
    add_swap();
    hr_console_size(STDIN_FILENO, "/terminal");
    if (access("/piped", F_OK) == 0 && (input = hr_console_input("/piped")) < 0)
        fail("pipe");
    status = run(command[2] != NULL ? command : shell, input);
    tcdrain(STDOUT_FILENO);
    dprintf(verdict, "@exit %d\n", status);
    tcdrain(verdict);
    end_machine();
}
