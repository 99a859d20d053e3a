// SPDX-License-Identifier: MIT
/*
 * printf.h - formatted output into buffers.
 *
 * Conversions: %d %i %u %x %X %o %c %s %p %%, with the flags `-0+ #`, width and precision (also `*`), and the
 * lengths hh h l ll z j t.
 */
#ifndef LIB_PRINTF_H
#define LIB_PRINTF_H

#include <stdarg.h>
#include <stddef.h>

/*
 * vsnprintf, snprintf - the functions of C: store at most size-1 characters and a NUL (nothing if size is 0).
 * Return the length of the whole text, including the part that did not fit.
 */
int vsnprintf(char *buf, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
int snprintf(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
