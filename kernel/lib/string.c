// SPDX-License-Identifier: MIT
/*
 * string.c - see string.h.
 */
#include "lib/string.h"

#include "lib/types.h"

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
    void *d = dst;
    size_t words = n / 8, tail = n % 8;

    __asm__ volatile("rep movsq\n movq %3, %%rcx\n rep movsb"
                     : "+&D"(d), "+&S"(src), "+&c"(words)
                     : "r"(tail)
                     : "memory");
    return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
    char *d = dst;
    const char *s = src;

    if ((uintptr_t)d - (uintptr_t)s >= n)
        return memcpy(dst, src, n);
    while (n-- > 0)
        d[n] = s[n];
    return dst;
}

void *memset(void *dst, int c, size_t n)
{
    void *d = dst;
    uint64_t fill = 0x0101010101010101ull * (uint8_t)c;
    size_t words = n / 8, tail = n % 8;

    __asm__ volatile("rep stosq\n movq %3, %%rcx\n rep stosb"
                     : "+&D"(d), "+&c"(words)
                     : "a"(fill), "r"(tail)
                     : "memory");
    return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;

    for (; n > 0; n--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

void *memchr(const void *s, int c, size_t n)
{
    for (const uint8_t *p = s; n > 0; n--, p++)
        if (*p == (uint8_t)c)
            return (void *)p;
    return NULL;
}

size_t strlen(const char *s)
{
    return strnlen(s, SIZE_MAX);
}

size_t strnlen(const char *s, size_t max)
{
    size_t n = 0;

    while (n < max && s[n] != '\0')
        n++;
    return n;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n > 0; n--, a++, b++) {
        if (*a != *b)
            return (uint8_t)*a - (uint8_t)*b;
        if (*a == '\0')
            return 0;
    }
    return 0;
}

char *strchr(const char *s, int c)
{
    for (;; s++) {
        if (*s == (char)c)
            return (char *)s;
        if (*s == '\0')
            return NULL;
    }
}

char *strrchr(const char *s, int c)
{
    const char *last = NULL;

    for (;; s++) {
        if (*s == (char)c)
            last = s;
        if (*s == '\0')
            return (char *)last;
    }
}

size_t str_copy(char *dst, const char *src, size_t size)
{
    size_t len = strlen(src);

    if (size > 0) {
        size_t n = min_of(len, size - 1);

        memcpy(dst, src, n);
        dst[n] = '\0';
    }
    return len;
}
