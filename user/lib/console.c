// SPDX-License-Identifier: MIT
/*
 * console.c - the console of the first process: its size, and the end of its input.
 *
 * THEORY      A serial line has no size.  It has no end of file either that would reach a program behind a terminal: a
 *             Ctrl-D ends one read only, or is a byte of the data.  So when the launcher's input is a file or a pipe,
 *             the command or shell reads from a pipe.  A child process fills that pipe from the console, which is in
 *             raw mode.  In the bytes that the launcher sends, DLE is the escape character: DLE DLE is the byte DLE,
 *             DLE EOT is the end.
 *             When the launcher's input is /dev/null, the command gets /dev/null, too.  An end that came over the
 *             console would arrive at a moment that depends on the host.
 * SEE ALSO    relay_input() in qemu/launch.py, user/cmd/init.c, tools/peer/init.c, tests/test_launcher.py
 */
#include "homeroom.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { DLE = 0x10, PIECE = 4096 };

void hr_console_size(int fd, const char *path)
{
    struct winsize size = {0};
    FILE *f = fopen(path, "re");

    if (f == NULL)
        return;
    if (fscanf(f, "%hu %hu", &size.ws_row, &size.ws_col) == 2)
        ioctl(fd, TIOCSWINSZ, &size);
    fclose(f);
}

static bool write_all(int fd, const char *data, ssize_t n)
{
    for (ssize_t done = 0, more; done < n; done += more)
        if ((more = write(fd, data + done, (size_t)(n - done))) < 0)
            return false;
    return true;
}

/* Copies the console's bytes to `out` up to their end, or until no process reads `out` any more (SIGPIPE). */
static void relay(int console, int out)
{
    char buf[PIECE];
    bool escaped = false;
    ssize_t n;

    while ((n = read(console, buf, sizeof buf)) > 0) {
        ssize_t used = 0;

        for (ssize_t i = 0; i < n; i++) {
            if (!escaped && buf[i] == DLE) {
                escaped = true;
                continue;
            }
            if (escaped && buf[i] != DLE) {
                write_all(out, buf, used);
                return;
            }
            escaped = false;
            buf[used++] = buf[i];
        }
        if (!write_all(out, buf, used))
            return;
    }
}

int hr_console_input(const char *path)
{
    char what[8] = "";
    FILE *f = fopen(path, "re");
    struct termios raw;
    int ends[2], console, verdict;
    pid_t pid;

    if (f != NULL) {
        fgets(what, sizeof what, f);
        fclose(f);
    }
    if (strcmp(what, "nothing") == 0)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (pipe2(ends, O_CLOEXEC) != 0 || (pid = fork()) < 0)
        return -1;
    if (pid > 0) {
        close(ends[1]);
        return ends[0];
    }
    close(ends[0]);
    console = open("/dev/console", O_RDONLY | O_NOCTTY);
    verdict = open("/dev/ttyS1", O_WRONLY | O_NOCTTY);
    if (console < 0 || verdict < 0 || tcgetattr(console, &raw) != 0)
        _exit(1);
    raw.c_iflag = 0;
    raw.c_lflag = 0;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(console, TCSANOW, &raw) == 0 && write_all(verdict, "@input\n", 7))
        relay(console, ends[1]);
    _exit(0);
}
