// SPDX-License-Identifier: MIT
/*
 * verdictd.c - the test agent: runs commands that the test harness sends over the verdict port.
 *
 * THEORY      The port carries lines.
 *             From the harness:
 *                 run ID UID TEXT     start `sh -c TEXT` as UID, with an empty standard input
 *                 kill ID             send SIGKILL to the process group of that command
 *             From the agent:
 *                 @ready              the agent reads the port
 *                 @out ID TEXT        a piece of the command's output, standard output and error together
 *                 @done ID STATUS     the command has ended; 128 + signal when a signal ended it
 *             In TEXT every byte that is not a printable character, and @ and %, is written %XX.  The kernel writes
 *             lines of its own to this port at any moment, even inside a line of the agent.  As each begins with @, and
 *             there is no other @, the harness can separate them.  Up to JOB_MAX commands may run at once.
 * INVARIANTS  I1  the last @out of a command comes before its @done
 * SEE ALSO    tools/homeroom/verdict.py (the other end), user/cmd/init.c
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "help.h"

static const char help[] HR_MANUAL =
    "NAME\n"
    "    verdictd - run commands that the tests send over a serial port\n"
    "\n"
    "SYNOPSIS\n"
    "    verdictd [port]\n"
    "\n"
    "DESCRIPTION\n"
    "    The agent of the tests.  init starts it.  port is /dev/ttyS1 unless\n"
    "    given.  Lines from the port start commands and kill them; lines to it\n"
    "    have their output and their status.\n"
    "\n"
    "EXIT STATUS\n"
    "    1 if the port cannot be opened\n"
    "\n"
    "SEE ALSO\n"
    "    init, docs/testing.md\n";

#define JOB_MAX        8
#define LINE_MAX_BYTES 16384 /* bytes of a line from the harness, with its escapes */
#define PIECE          512   /* bytes of output in one @out line */

struct job {
    unsigned id;
    pid_t pid; /* 0: free */
    /* the reading end of the pipe with its standard output and error; -1: the pipe has ended */
    int out;
};

static struct job jobs[JOB_MAX];
static int port;
static int child_pipe[2]; /* the SIGCHLD handler writes to it, to wake poll() */

static void on_child(int sig)
{
    int saved = errno;

    if (write(child_pipe[1], "", 1) < 0)
        (void)sig; /* if the pipe is full, poll() wakes anyway */
    errno = saved;
}

/* Writes to the port.  Ends the program on an error. */
static void put(const char *buf, size_t n)
{
    while (n > 0) {
        ssize_t done = write(port, buf, n);

        if (done < 0 && errno != EINTR)
            exit(1);
        if (done > 0) {
            buf += done;
            n -= (size_t)done;
        }
    }
}

static void put_output(const struct job *job, const char *data, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    char line[32 + 3 * PIECE];
    size_t used = (size_t)snprintf(line, sizeof line, "@out %u ", job->id);

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)data[i];

        if (c >= ' ' && c < 0x7f && c != '@' && c != '%') {
            line[used++] = (char)c;
        } else {
            line[used++] = '%';
            line[used++] = hex[c >> 4];
            line[used++] = hex[c & 15];
        }
    }
    line[used++] = '\n';
    put(line, used);
}

static void put_done(unsigned id, int status)
{
    char line[48];
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

    put(line, (size_t)snprintf(line, sizeof line, "@done %u %d\n", id, code));
}

/*
 * Passes on a piece of the pipe's content; closes the pipe at its end.  Returns false when there is nothing more now.
 */
static bool drain(struct job *job)
{
    char data[PIECE];
    ssize_t n = job->out < 0 ? 0 : read(job->out, data, sizeof data);

    if (n > 0)
        put_output(job, data, (size_t)n);
    if (n == 0 && job->out >= 0) {
        close(job->out);
        job->out = -1;
    }
    return n > 0;
}

/* Replaces the %XX escapes of text by their bytes, in place. */
static void unescape(char *text)
{
    char *to = text, digits[3] = "";

    for (const char *from = text; *from != '\0'; to++) {
        if (from[0] == '%' && from[1] != '\0' && from[2] != '\0') {
            memcpy(digits, from + 1, 2);
            *to = (char)strtoul(digits, NULL, 16);
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* In a child: takes on the user's ids and environment.  Ends the process on an error. */
static void become(uid_t uid)
{
    if (uid == 0)
        return;
    if (setgroups(0, NULL) != 0 || setgid(uid) != 0 || setuid(uid) != 0) {
        perror("verdictd: setuid");
        _exit(126);
    }
    setenv("HOME", "/home/student", 1);
    setenv("USER", "student", 1);
}

/* Starts `sh -c text` as job `id`.  Reports the job as done, with status 126, if that fails. */
static void run(unsigned id, uid_t uid, char *text)
{
    struct job *job = jobs;
    int out[2], null;

    while (job < jobs + JOB_MAX && job->pid != 0)
        job++;
    if (job == jobs + JOB_MAX || pipe2(out, O_CLOEXEC) != 0) {
        put_done(id, 126 << 8);
        return;
    }
    *job = (struct job){.id = id, .pid = fork(), .out = out[0]};
    if (job->pid == 0) {
        /* both parent and child set the group, so that it is set whichever runs first */
        setpgid(0, 0);
        null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(out[1], 1);
        dup2(out[1], 2);
        close(null);
        become(uid);
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
        perror("verdictd: /bin/sh");
        _exit(127);
    }
    close(out[1]);
    if (job->pid > 0)
        setpgid(job->pid, job->pid);
    if (job->pid < 0) {
        *job = (struct job){0};
        close(out[0]);
        put_done(id, 126 << 8);
        return;
    }
    fcntl(job->out, F_SETFL, O_NONBLOCK);
}

static void obey(char *line)
{
    unsigned id, uid;
    int at = 0;

    if (sscanf(line, "run %u %u %n", &id, &uid, &at) == 2 && at > 0) {
        unescape(line + at);
        run(id, uid, line + at);
    } else if (sscanf(line, "kill %u", &id) == 1) {
        for (struct job *job = jobs; job < jobs + JOB_MAX; job++)
            if (job->pid > 0 && job->id == id)
                kill(-job->pid, SIGKILL);
    }
}

/* Reads from the port and obeys each whole line.  A line that is too long is dropped. */
static void listen_port(void)
{
    static char line[LINE_MAX_BYTES];
    static size_t used;
    ssize_t n = read(port, line + used, sizeof line - used);
    char *end;

    if (n <= 0)
        return;
    used += (size_t)n;
    while ((end = memchr(line, '\n', used)) != NULL) {
        size_t length = (size_t)(end - line) + 1;

        *end = '\0';
        obey(line);
        used -= length;
        memmove(line, line + length, used);
    }
    if (used == sizeof line)
        used = 0;
}

/* Waits for ended children and passes on the rest of their output before their @done (I1). */
static void reap(void)
{
    char junk[64];
    int status;
    pid_t pid;

    while (read(child_pipe[0], junk, sizeof junk) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (struct job *job = jobs; job < jobs + JOB_MAX; job++) {
            if (job->pid != pid)
                continue;
            while (drain(job))
                ;
            if (job->out >= 0)
                close(job->out);
            put_done(job->id, status);
            *job = (struct job){0};
        }
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "/dev/ttyS1";
    struct sigaction act = {.sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
    struct pollfd fds[JOB_MAX + 2];
    struct termios raw;

    hr_help(argv, help);
    port = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (port < 0 || pipe2(child_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        fprintf(stderr, "verdictd: %s: %s\n", path, strerror(errno));
        return 1;
    }
    if (tcgetattr(port, &raw) == 0) {
        cfmakeraw(&raw);
        tcsetattr(port, TCSANOW, &raw);
    }
    sigaction(SIGCHLD, &act, NULL);
    put("@ready\n", 7);
    for (;;) {
        fds[0] = (struct pollfd){.fd = port, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = child_pipe[0], .events = POLLIN};
        for (int i = 0; i < JOB_MAX; i++)
            fds[i + 2] =
                (struct pollfd){.fd = jobs[i].pid > 0 ? jobs[i].out : -1, .events = POLLIN};
        if (poll(fds, JOB_MAX + 2, -1) < 0)
            continue;
        for (int i = 0; i < JOB_MAX; i++)
            if (fds[i + 2].revents != 0)
                drain(&jobs[i]);
        if ((fds[1].revents & POLLIN) != 0)
            reap();
        if ((fds[0].revents & POLLIN) != 0)
            listen_port();
    }
}
