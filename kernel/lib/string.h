// SPDX-License-Identifier: MIT
/*
 * string.h - memory and string functions with the C standard's meaning.
 *
 * Large moves go through `rep movsq`/`rep stosq`: the cheapest form both on hardware
 * and in counted instructions.
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
 * str_copy - copy `src` into dst[size], always ending it with a NUL, cutting what does not fit.
 * Returns the length of src, so that `>= size` tells that it was cut.
 */
size_t str_copy(char *dst, const char *src, size_t size);

#endif
