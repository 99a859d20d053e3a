// SPDX-License-Identifier: MIT
/*
 * help.h - the manual page of a program, which is the text that it prints with --help.
 *
 * THEORY      A program has its page as an array in a section of its own.  tools/homeroom/manual.py takes it from there
 *             when an image is made, so the guest's `man` and docs/commands.md show the same text.
 *             The page has the sections NAME, SYNOPSIS, DESCRIPTION, OPTIONS, EXAMPLES, EXIT STATUS and SEE ALSO, in
 *             this order.  The first two must be there.  What is below a heading is indented by four.  A line has at
 *             most 79 columns.
 * SEE ALSO    user/cmd/man.c, tests/test_manual.py
 */
#ifndef HR_HELP_H
#define HR_HELP_H

#include <stdio.h>

#define HR_MANUAL       __attribute__((section("manual"), used))
#define HR_NUMBER(n)    HR_NUMBER_AS(n) /* a macro that is a number, as text for a page */
#define HR_NUMBER_AS(n) #n

/*
 * hr_help - the first call of each program.  If the first argument is --help, print the page and end the program with
 * status 0.  From now on, exit() prints a message and makes the status 1 if standard output could not be written.
 */
void hr_help(char **argv, const char *help);

/* hr_synopsis - print the SYNOPSIS of a page: `first` before its first line, `others` before each further one. */
void hr_synopsis(FILE *out, const char *help, const char *first, const char *others);

/* hr_usage - "usage: " and the SYNOPSIS, on standard error, for a wrong command line; the caller ends the program. */
void hr_usage(const char *help);

#endif
