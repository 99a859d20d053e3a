// SPDX-License-Identifier: MIT
/*
 * string.h - memory and string functions with the C standard's meaning.
 *
 * memcpy and memset use `rep movsq` and `rep stosq`, the cheapest form both on hardware and where QEMU counts
 * instructions.
 */
#ifndef LIB_STRING_H
#define LIB_STRING_H

#ifdef HR_HOST
#include <string.h>
#else
#include <stddef.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int c, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
#endif

/*
 * str_copy - copy `src` into dst[size], cut to size-1 characters if needed, and end it with a NUL. Returns the
 * length of src; if that is >= size, the copy was cut.
 */
size_t str_copy(char *dst, const char *src, size_t size);

/* digit_value - the value of a hexadecimal digit; 16 for any other character. */
static inline unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

#endif
