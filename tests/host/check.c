// SPDX-License-Identifier: MIT
/*
 * check.c - main() of the host test programs; see check.h.
 */
#include "tests/host/check.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

jmp_buf check_end;

static struct check_test *tests;
static const char *running;
static uint64_t seed = 1, state;

void check_register(struct check_test *t)
{
    struct check_test **at = &tests;

    while (*at != NULL)
        at = &(*at)->next;
    *at = t;
}

void check_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    printf("@test %s FAIL seed=%" PRIu64 " at=%s:%d ", running, seed, file, line);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    longjmp(check_end, 1);
}

uint64_t check_random(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

uint64_t check_below(uint64_t n)
{
    return check_random() % n;
}

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(name, argv[i]) == 0)
            return true;
    return argc == 0;
}

static bool passes(const struct check_test *t)
{
    running = t->name;
    state = seed;
    if (setjmp(check_end) != 0)
        return false;
    t->fn();
    printf("@test %s PASS\n", t->name);
    return true;
}

int main(int argc, char **argv)
{
    int ran = 0, failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    argc--, argv++;
    if (argc >= 2 && strcmp(argv[0], "-s") == 0) {
        seed = strtoull(argv[1], NULL, 0);
        argc -= 2, argv += 2;
    }
    if (argc == 1 && strcmp(argv[0], "-l") == 0) {
        for (struct check_test *t = tests; t != NULL; t = t->next)
            puts(t->name);
        return 0;
    }
    for (struct check_test *t = tests; t != NULL; t = t->next) {
        if (!wanted(t->name, argc, argv))
            continue;
        ran++;
        failed += !passes(t);
    }
    printf("%d tests, %d failed\n", ran, failed);
    return failed != 0 || ran == 0;
}
