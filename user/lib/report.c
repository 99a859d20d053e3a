// SPDX-License-Identifier: MIT
/* report.c - prints reports again and again: see report.h. */
#include "report.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "homeroom.h"

enum { INTERVAL = 5 /* seconds */, ROWS = 24, COLUMNS = 80, LONGEST_WAIT_MS = 1000000 };

static struct hr_stat_args args;
static bool redraws;
static struct termios before;
static struct winsize screen;
static struct timespec next; /* the time of the next report */
static FILE *stream;
static char *text;
static size_t length;

int hr_report_args(const char *program, char **argv)
{
    if (hr_stat_args(program, argv, false, &args) != 0)
        return -1;
    if (args.interval == 0) {
        args.interval = INTERVAL;
        args.count = -1;
    }
    return 0;
}

static void give_back(void)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void end_by_signal(int number)
{
    give_back();
    raise(number); /* now with its usual effect: SA_RESETHAND */
}

void hr_report_start(bool below)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
    struct termios quiet;

    clock_gettime(CLOCK_MONOTONIC, &next);
    redraws = !below && isatty(STDOUT_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (!redraws)
        return;
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
    quiet.c_cc[VSUSP] = _POSIX_VDISABLE;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sigaction(ends[i], &action, NULL);
    atexit(give_back);
    tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
    printf("\033[H\033[J");
}

FILE *hr_report_open(int *lines)
{
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen) != 0 || screen.ws_row == 0 || screen.ws_col == 0)
        screen = (struct winsize){.ws_row = ROWS, .ws_col = COLUMNS};
    /* The cursor stands below the last line. */
    *lines = redraws ? screen.ws_row - (screen.ws_row > 1) : 0;
    stream = open_memstream(&text, &length);
    if (stream == NULL) {
        fprintf(stderr, "not enough memory for a report\n");
        exit(1);
    }
    return stream;
}

/* Prints the text over the report before it: \033[K clears the rest of a line, \033[J the lines below. */
static void redraw(void)
{
    const char *line = text;

    printf("\033[H");
    for (int row = 1; *line != '\0' && (row < screen.ws_row || row == 1); row++) {
        int size = (int)strcspn(line, "\n");

        printf("%.*s\033[K\n", size < screen.ws_col ? size : screen.ws_col, line);
        line += size + (line[size] != '\0');
    }
    printf("\033[J");
}

/* The time up to the next report, in ms; 0: it is due. */
static int time_left(void)
{
    struct timespec now;
    long long ms;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ms = (next.tv_sec - now.tv_sec) * 1000LL + (next.tv_nsec - now.tv_nsec + 999999) / 1000000;
    if (ms <= 0)
        return 0;
    return ms < LONGEST_WAIT_MS ? (int)ms : LONGEST_WAIT_MS;
}

bool hr_report_show(void)
{
    struct pollfd keys = {.fd = redraws ? STDIN_FILENO : -1, .events = POLLIN};
    int ms;

    fclose(stream);
    if (redraws)
        redraw();
    else
        fputs(text, stdout);
    free(text);
    fflush(stdout);
    if (args.count > 0 && --args.count == 0)
        return false;
    next.tv_sec += args.interval;
    if (time_left() == 0)
        clock_gettime(CLOCK_MONOTONIC, &next); /* late, or stopped meanwhile: do not catch up */
    while ((ms = time_left()) > 0) {
        char key;

        if (poll(&keys, 1, ms) > 0 &&
            (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q'))
            return false;
    }
    return true;
}
