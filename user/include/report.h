// SPDX-License-Identifier: MIT
/*
 * report.h - reports that a program prints again and again: on a terminal each one replaces the one before.
 *
 * THEORY      Only if standard input and output are terminals is the screen redrawn: lines are then cut to the
 *             terminal's width, lines that do not fit are left out, and the key q ends the program.  Otherwise the
 *             reports come one below the other.  While the screen is redrawn, the terminal shows no typed keys, and
 *             Ctrl-Z does nothing.  A signal of a key or of kill(1) gives the terminal back, and ends the program.
 * SEE ALSO    user/cmd/prstat.c, user/cmd/lgrptop.c
 */
#ifndef HR_REPORT_H
#define HR_REPORT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * hr_report_args - parse the rest of `program`'s argument list, "[interval [count]]", which ends with NULL.  Without
 * operands there is a report every 5 seconds, and no end.  Returns 0; -1 after a message.
 */
int hr_report_args(const char *program, char **argv);

/*
 * hr_report_start - prepare the terminal; called once.
 * @below  on a terminal, too, print reports one below the other
 */
void hr_report_start(bool below);

/*
 * hr_report_open - begin a report.  Returns the stream for its text.  Sets *lines to the number of lines that fit on
 * the screen; 0: as many as wanted.  Without memory it prints a message, and ends the program with status 1.
 */
FILE *hr_report_open(int *lines);

/*
 * hr_report_show - print the report, and wait until an interval after the last return or, at the first report, after
 * hr_report_start().  Returns false, without waiting, if this was the last report; false, too, if the user wants no
 * further one.
 */
bool hr_report_show(void);

#endif
