// SPDX-License-Identifier: MIT
/*
 * sandbox.h - the test program that holds a student's code: what labs/NAME/driver.c gives it.
 *
 * THEORY      The driver has a table of operations.  An operation gets numbers from the grader,
 *             calls the student's code, and answers with numbers.  It judges nothing: the grader
 *             knows what is right (tools/homeroom/course).
 */
#ifndef LABS_SANDBOX_H
#define LABS_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

struct sandbox_op {
    const char *name;
    /* `n` numbers at `arg`; the numbers that follow are 0 */
    void (*run)(const uint64_t *arg, size_t n);
};

/* The lab's table, which ends with a name that is NULL. */
extern const struct sandbox_op sandbox_ops[];

/*
 * sandbox_prepare - called once, before the sandbox is closed.  A lab's driver defines it: here, and only here, it can
 * map or allocate memory and start threads.  It must not call the student's code.
 */
void sandbox_prepare(void);

/* sandbox_answer - add a number to the answer of the running operation. */
void sandbox_answer(uint64_t value);

#endif
