// SPDX-License-Identifier: MIT
/*
 * check.h - the frame of a host test program: test functions that register themselves.
 *
 * A program prints `@test NAME PASS` or `@test NAME FAIL ...` for each of its tests and exits with 1 if any failed.
 * With arguments it runs only the tests of those names; `-l` lists them; `-s SEED` sets the seed of check_random().  A
 * failed check ends its test, not the program.
 */
#ifndef TESTS_HOST_CHECK_H
#define TESTS_HOST_CHECK_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

struct check_test {
    const char *name;
    void (*fn)(void);
    struct check_test *next;
};

extern jmp_buf check_end; /* where a failed check continues */

void check_register(struct check_test *t);
/* check_fail - prints the verdict of the running test and ends the test. */
void check_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(__printf__, 3, 4), __noreturn__));
/* check_random - 64 random bits, the same sequence for the same seed and test. */
uint64_t check_random(void);
/* check_below - a random number in 0 .. n-1. */
uint64_t check_below(uint64_t n);

#define TEST(name)                                                                                 \
    static void test_##name(void);                                                                 \
    static struct check_test reg_##name = {#name, test_##name, NULL};                              \
    __attribute__((constructor)) static void ctor_##name(void)                                     \
    {                                                                                              \
        check_register(&reg_##name);                                                               \
    }                                                                                              \
    static void test_##name(void)

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            check_fail(__FILE__, __LINE__, "%s", #cond);                                           \
    } while (0)

#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        int64_t _x = (int64_t)(a), _y = (int64_t)(b);                                              \
        if (_x != _y)                                                                              \
            check_fail(__FILE__, __LINE__, "%s is %" PRId64 ", not %" PRId64, #a, _x, _y);         \
    } while (0)

/* CHECK_NEAR - |a - b| <= tolerance */
#define CHECK_NEAR(a, b, tol)                                                                      \
    do {                                                                                           \
        int64_t _x = (int64_t)(a), _y = (int64_t)(b);                                              \
        if (_x - _y > (tol) || _y - _x > (tol))                                                    \
            check_fail(__FILE__, __LINE__, "%s is %" PRId64 ", not near %" PRId64, #a, _x, _y);    \
    } while (0)

#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *_x = (a), *_y = (b);                                                           \
        if (_x == NULL || __builtin_strcmp(_x, _y) != 0)                                           \
            check_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #a, _x ? _x : "NULL", _y);  \
    } while (0)

#endif
