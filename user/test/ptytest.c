// SPDX-License-Identifier: MIT
/*
 * ptytest.c - pseudo-terminals: both ends, signals typed by the master, hang-up.
 *
 * Prints a line for each step that fails, and `ptytest: ok` if none does.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int failures;

static void check(const char *what, int good)
{
    if (good)
        return;
    printf("ptytest: %s: errno %d\n", what, errno);
    failures++;
}

/* Reads from the master until `want` has arrived, or for 5 seconds.  Returns whether it arrived. */
static int expect(int master, const char *want)
{
    static char buf[4096];
    size_t n = 0;

    while (n < sizeof buf - 1) {
        struct pollfd p = {.fd = master, .events = POLLIN};
        ssize_t k;

        if (poll(&p, 1, 5000) != 1 || (k = read(master, buf + n, sizeof buf - 1 - n)) <= 0)
            return 0;
        n += (size_t)k;
        buf[n] = '\0';
        if (strstr(buf, want) != NULL)
            return 1;
    }
    return 0;
}

/* Makes a child that leads a session on the terminal and runs a command. */
static pid_t on_terminal(int master, const char *name, const char *command)
{
    pid_t pid = fork();

    if (pid == 0) {
        close(master);
        setsid();
        int fd = open(name, O_RDWR);

        if (fd < 0 || tcgetsid(fd) != getpid())
            _exit(99);
        dup2(fd, 0);
        dup2(fd, 1);
        dup2(fd, 2);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(98);
    }
    return pid;
}

/* Makes a new pair; stores the name of the terminal in `name`. */
static int make_pair(char name[64])
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);

    check("openpt", master >= 0);
    check("locked until unlockpt",
          ptsname_r(master, name, 64) == 0 && open(name, O_RDWR | O_NOCTTY) < 0);
    check("unlockpt", unlockpt(master) == 0);
    return master;
}

int main(void)
{
    struct winsize ws = {.ws_row = 10, .ws_col = 20};
    int master, status;
    char name[64], c;
    pid_t pid;

    setvbuf(stdout, NULL, _IONBF, 0);
    master = make_pair(name);
    check("winsize", ioctl(master, TIOCSWINSZ, &ws) == 0);

    pid = on_terminal(master, name, "stty size; read line; echo got $line; sleep 100");
    check("window size of the terminal", expect(master, "10 20\r\n"));
    check("typing", write(master, "word\n", 5) == 5);
    check("echo and answer", expect(master, "got word\r\n"));
    check("interrupt", write(master, "\003", 1) == 1);
    check("wait", waitpid(pid, &status, 0) == pid);
    check("killed by SIGINT", WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    while (read(master, &c, 1) == 1)
        ;
    check("EIO when the terminal is closed", errno == EIO);
    close(master);

    master = make_pair(name);
    pid = on_terminal(master, name, "echo ready; sleep 100");
    check("second session", expect(master, "ready"));
    close(master);
    check("wait", waitpid(pid, &status, 0) == pid);
    check("hung up", WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);

    if (failures == 0)
        printf("ptytest: ok\n");
    return failures != 0;
}
