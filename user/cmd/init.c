// SPDX-License-Identifier: MIT
/*
 * init.c - the first process: starts the command or shell of this run, waits for orphans, ends the machine.
 *
 * THEORY      Before it starts init, the kernel has mounted the root, /dev, /proc and /sys, and opened the console.
 *             The launcher says what to start in files of fw_cfg, under /sys/firmware/qemu_fw_cfg:
 *                 opt/homeroom/run     a command line: run it on the console, write `@exit N` to the
 *                                      verdict port, power off
 *                 opt/homeroom/agent   the test agent (verdictd) on the verdict port; with the text
 *                                      `shell`, also a login shell on the console
 *                 neither              a login shell on the console, started again when it ends
 *                 opt/homeroom/piped   the launcher's input is no terminal: the command or shell reads it from a pipe,
 *                                      or, with the text `nothing`, /dev/null; the machine ends with the shell, too
 *                 opt/homeroom/swap    a disk or partition for swap; if it cannot be added, a run ends at once
 *                 opt/homeroom/terminal  the size of the launcher's terminal, "ROWS COLUMNS"
 *             The commands halt, poweroff and reboot (busybox) send SIGUSR1, SIGUSR2 and SIGTERM to init.
 * INVARIANTS  I1  every child is waited for, including adopted ones
 *             I2  a run writes exactly one @exit line, after its command has ended or could not be started
 * SEE ALSO    user/cmd/verdictd.c, user/lib/console.c, qemu/launch.py, docs/boot.md
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    init - the first process of the machine\n"
    "\n"
    "SYNOPSIS\n"
    "    init\n"
    "\n"
    "DESCRIPTION\n"
    "    The kernel starts init as process 1.  It runs the command of RUN= and\n"
    "    then ends the machine; or it starts a login shell on the console, again\n"
    "    and again.  It waits for processes that have lost their parent.  halt,\n"
    "    poweroff and reboot tell it to end the machine.\n"
    "\n"
    "EXIT STATUS\n"
    "    1 if it is not process 1\n"
    "\n"
    "SEE ALSO\n"
    "    verdictd, docs/boot.md\n";

#define FW_CFG  "/sys/firmware/qemu_fw_cfg/by_name/opt/homeroom/"
#define CONSOLE "/dev/console"
#define VERDICT "/dev/ttyS1"

#define RUN_MAX 65536 /* bytes of a command line; the launcher has the same limit */

static volatile sig_atomic_t shutdown_signal;

static char *const environment[] = {
    "PATH=/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME=/root",
    "USER=root",
    "LOGNAME=root",
    "SHELL=/bin/sh",
    "TERM=vt100",
    NULL,
};

static void on_shutdown(int sig)
{
    shutdown_signal = sig;
}

/* Reads a file into buf, as much as fits, with a NUL at the end.  Returns its length; -1 if there is no such file. */
static ssize_t file_text(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n;

    if (fd < 0)
        return -1;
    while (used < size - 1 && (n = read(fd, buf + used, size - 1 - used)) > 0)
        used += (size_t)n;
    close(fd);
    buf[used] = '\0';
    return (ssize_t)used;
}

/*
 * Runs argv in a new session with the console as its terminal.  It reads `input`, or with -1 that terminal.  Returns
 * the process id; -1 if there is no memory or no process left.
 */
static pid_t start(char *const argv[], int input)
{
    pid_t pid = fork();
    sigset_t none;

    if (pid != 0)
        return pid;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    close(0);
    if (open(CONSOLE, O_RDWR | O_NOCTTY) == 0) {
        dup2(0, 1);
        dup2(0, 2);
        ioctl(0, TIOCSCTTY, 1);
    }
    if (input >= 0)
        dup2(input, 0);
    if (chdir("/root") != 0)
        perror("init: /root");
    execve("/bin/busybox", argv, environment);
    perror("init: /bin/busybox");
    _exit(127);
}

/* Runs the test agent, which opens the verdict port itself. */
static pid_t start_agent(void)
{
    char *const argv[] = {"verdictd", NULL};
    pid_t pid = fork();
    sigset_t none;

    if (pid != 0)
        return pid;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    execve("/usr/bin/verdictd", argv, environment);
    perror("init: /usr/bin/verdictd");
    _exit(127);
}

/*
 * Adds a disk as swap, as `swap -a` does.  Returns the wait status of that command.  It is not 0 if the command failed;
 * then it has printed the reason.
 */
static int add_swap(char *disk)
{
    char *const command[] = {"sh", "-c", "exec swap -a \"$0\"", disk, NULL};
    pid_t pid = start(command, -1);
    int status = 0;

    while (pid > 0 && waitpid(pid, &status, 0) != pid)
        ;
    return pid > 0 ? status : -1;
}

/* Kills every process, writes all changed data to the disks, and ends the machine with reboot(2) `how`. */
static void end(int how)
{
    struct timespec grace = {.tv_nsec = 200 * 1000 * 1000};
    pid_t pid = 0;

    kill(-1, SIGTERM);
    kill(-1, SIGCONT);
    for (int i = 0; i < 5 && pid >= 0; i++) {
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid == 0)
            nanosleep(&grace, NULL);
    }
    kill(-1, SIGKILL);
    sync();
    reboot(how);
    _exit(1);
}

/* Writes `@exit N` for a wait status to the verdict port (I2).  A signal is 128 + its number, as in a shell. */
static void report(int status)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    int fd = open(VERDICT, O_WRONLY | O_NOCTTY);

    if (fd < 0 || dprintf(fd, "@exit %d\n", code) < 0)
        perror("init: " VERDICT);
    else
        tcdrain(fd);
}

/* Whether root has no password in /etc/shadow. */
static bool root_is_open(void)
{
    char shadow[512];

    return file_text("/etc/shadow", shadow, sizeof shadow) > 0 &&
           (strncmp(shadow, "root::", 6) == 0 || strstr(shadow, "\nroot::") != NULL);
}

static void greet(void)
{
    struct utsname u;

    uname(&u);
    printf("\nWelcome to %s (%s, %ld CPUs).  lgrpinfo shows the boards; poweroff ends.\n\n",
           u.version, u.release, sysconf(_SC_NPROCESSORS_ONLN));
    if (root_is_open())
        printf("Root has no password: every user may become root with su.  passwd sets one.\n\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char run[RUN_MAX];
    char agent[16], swap[64];
    char *const shell[] = {"-sh", NULL};
    char *const command[] = {"sh", "-c", run, NULL};
    struct sigaction act = {.sa_handler = on_shutdown};
    bool has_run, has_agent, has_shell, is_piped;
    pid_t main_pid, pid;
    int status, input = -1;

    (void)argc;
    hr_help(argv, help);
    if (getpid() != 1) {
        fprintf(stderr, "init: must be process 1, which the kernel starts\n");
        return 1;
    }
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGUSR2, &act, NULL);
    sigaction(SIGTERM, &act, NULL);

    has_run = file_text(FW_CFG "run/raw", run, sizeof run) >= 0;
    has_agent = file_text(FW_CFG "agent/raw", agent, sizeof agent) >= 0;
    is_piped = access(FW_CFG "piped/raw", F_OK) == 0;
    has_shell = has_agent ? strncmp(agent, "shell", 5) == 0 : !has_run;
    hr_console_size(0, FW_CFG "terminal/raw");
    if (has_agent)
        start_agent();
    if (has_shell && !has_agent && !is_piped)
        greet();
    if (is_piped && (input = hr_console_input(FW_CFG "piped/raw")) < 0)
        perror("init: no pipe for the console");
    if (file_text(FW_CFG "swap/raw", swap, sizeof swap) >= 0 && (status = add_swap(swap)) != 0 &&
        has_run) {
        report(status);
        tcdrain(1);
        reboot(RB_POWER_OFF);
    }
    main_pid = has_run ? start(command, input) : has_shell ? start(shell, input) : -1;

    for (;;) {
        pid = waitpid(-1, &status, 0); /* I1 */
        if (shutdown_signal != 0)
            end(shutdown_signal == SIGTERM ? RB_AUTOBOOT : RB_POWER_OFF);
        if (pid > 0 && pid == main_pid && (has_run || is_piped)) {
            report(status);
            tcdrain(1);
            reboot(RB_POWER_OFF);
        }
        if (pid > 0 && pid == main_pid)
            main_pid = start(shell, input);
        if (pid < 0 && errno == ECHILD)
            pause();
    }
}
