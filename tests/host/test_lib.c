// SPDX-License-Identifier: MIT
/*
 * test_lib.c - the kernel's printf and string functions compared with those of the C library.
 *
 * The kernel's files are included under other names, so that both can be called.
 */
#include "tests/host/check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define memcpy    hr_memcpy
#define memmove   hr_memmove
#define memset    hr_memset
#define memcmp    hr_memcmp
#define memchr    hr_memchr
#define strlen    hr_strlen
#define strnlen   hr_strnlen
#define strcmp    hr_strcmp
#define strncmp   hr_strncmp
#define strchr    hr_strchr
#define strrchr   hr_strrchr
#define snprintf  hr_snprintf
#define vsnprintf hr_vsnprintf

void *hr_memcpy(void *restrict dst, const void *restrict src, size_t n);
size_t hr_strlen(const char *s);
size_t hr_strnlen(const char *s, size_t max);
int hr_strncmp(const char *a, const char *b, size_t n);

#include "kernel/lib/string.c"

#include "kernel/lib/printf.c"

#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef memchr
#undef strlen
#undef strnlen
#undef strcmp
#undef strncmp
#undef strchr
#undef strrchr
#undef snprintf
#undef vsnprintf

enum { SIZE = 200 };

static void fill(uint8_t *p)
{
    for (unsigned i = 0; i < SIZE; i++)
        p[i] = (uint8_t)check_random();
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

TEST(memory)
{
    uint8_t a[SIZE], b[SIZE];

    for (unsigned round = 0; round < 20000; round++) {
        size_t from = check_below(SIZE), to = check_below(SIZE);
        size_t n = check_below(SIZE + 1 - max_of(from, to));
        int c = (int)check_below(256);

        fill(a);
        memcpy(b, a, SIZE);
        switch (round % 3) {
        case 0: /* regions that overlap in either direction */
            CHECK(hr_memmove(a + to, a + from, n) == a + to);
            memmove(b + to, b + from, n);
            break;
        case 1:
            CHECK(hr_memset(a + to, c, n) == a + to);
            memset(b + to, c, n);
            break;
        case 2:
            fill(b);
            CHECK(hr_memcpy(a + to, b + from, n) == a + to);
            CHECK(memcmp(a + to, b + from, n) == 0);
            memcpy(b, a, SIZE);
        }
        CHECK(memcmp(a, b, SIZE) == 0);
        b[from] = (uint8_t)c;
        CHECK_EQ(sign(hr_memcmp(a, b, SIZE)), sign(memcmp(a, b, SIZE)));
        CHECK(hr_memchr(a + from, c, SIZE - from) == memchr(a + from, c, SIZE - from));
    }
}

/* A string of two letters, so that many parts are equal. */
static size_t word(char *s, size_t max)
{
    size_t n = check_below(max);

    for (size_t i = 0; i < n; i++)
        s[i] = check_below(8) == 0 ? (char)0xe4 : 'a';
    s[n] = '\0';
    return n;
}

TEST(strings)
{
    char a[40], b[40], c[40];

    for (unsigned round = 0; round < 20000; round++) {
        size_t la = word(a, sizeof a), lb = word(b, sizeof b), n = check_below(50),
               size = check_below(sizeof c + 1);

        CHECK_EQ(hr_strlen(a), la);
        CHECK_EQ(hr_strnlen(a, n), min_of(la, n));
        CHECK_EQ(sign(hr_strcmp(a, b)), sign(strcmp(a, b)));
        CHECK_EQ(sign(hr_strncmp(a, b, n)), sign(strncmp(a, b, n)));
        CHECK(hr_strchr(a, 0xe4) == strchr(a, 0xe4));
        CHECK(hr_strrchr(a, 'a') == strrchr(a, 'a'));
        CHECK(hr_strchr(a, '\0') == a + la && hr_strrchr(a, '\0') == a + la);
        memset(c, 'x', sizeof c);
        CHECK_EQ(str_copy(c, b, size), lb);
        if (size > 0) {
            CHECK_EQ(strlen(c), min_of(lb, size - 1));
            CHECK(strncmp(c, b, strlen(c)) == 0);
        }
        for (size_t i = size; i < sizeof c; i++)
            CHECK_EQ(c[i], 'x');
    }
}

static void compare(const char *fmt, ...)
{
    char ours[120], theirs[120];
    size_t size = check_below(3) == 0 ? check_below(20) : sizeof ours;
    va_list ap, again;
    int n, want;

    va_start(ap, fmt);
    va_copy(again, ap);
    memset(ours, 'x', sizeof ours);
    memset(theirs, 'x', sizeof theirs);
    n = hr_vsnprintf(ours, size, fmt, ap);
    want = vsnprintf(theirs, size, fmt, again);
    va_end(ap);
    va_end(again);
    if (n != want || memcmp(ours, theirs, sizeof ours) != 0)
        check_fail(__FILE__, __LINE__, "'%s' of %lu gives '%.*s' (%d), not '%s' (%d)", fmt, size,
                   (int)sizeof ours - 1, ours, n, theirs, want);
}

TEST(numbers)
{
    static const char convs[] = "diuxXo", *const lengths[] = {"hh", "h", "", "l", "ll", "z"};

    for (unsigned round = 0; round < 50000; round++) {
        char fmt[32], *f = fmt, conv = convs[check_below(6)];
        uint64_t v = check_below(20) == 0 ? 0 : check_random() >> check_below(64);
        bool number = conv == 'd' || conv == 'i';

        if (number && check_below(2))
            v = 0 - v;
        *f++ = '%';
        for (unsigned i = 0; i < 3; i++) {
            char flag = "-0+ #"[check_below(5)];

            if (((flag == '+' || flag == ' ') && !number) ||
                (flag == '#' && (number || conv == 'u')))
                continue;
            *f++ = flag;
        }
        if (check_below(2))
            f += sprintf(f, "%u", (unsigned)(1 + check_below(30)));
        if (check_below(3) == 0)
            f += sprintf(f, ".%u", (unsigned)check_below(25));
        sprintf(f, "%s%c", lengths[check_below(6)], conv);
        compare(fmt, v);
    }
}

TEST(texts)
{
    compare("plain %% and %c%5c%-5c|", 'a', 'b', 'c');
    compare("%s|%10s|%-10s|%.2s|%10.3s|%-4.1s|", "word", "word", "word", "word", "word", "word");
    compare("%*d|%-*d|%.*d|%*.*d", 6, 42, 6, 42, 4, 42, 8, 3, 42);
    compare("%*d|%.*s", -6, 42, -1, "all");
    compare("%p|%20p", (void *)0x1234, (void *)0xffff800000000000);
    compare("%s", "a text that is longer than the smallest of the buffers that it is put into");
    CHECK_EQ(hr_snprintf(NULL, 0, "%d", 12345), 5);
}
