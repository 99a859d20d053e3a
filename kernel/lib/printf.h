// SPDX-License-Identifier: MIT
/*
 * printf.h - formatting into buffers: %d %i %u %x %X %o %c %s %p %% with flags `-0+ #`, width and
 * precision (also `*`), and the lengths hh h l ll z j t.
 */
#ifndef LIB_PRINTF_H
#define LIB_PRINTF_H

#include <stdarg.h>
#include <stddef.h>

/*
 * vsnprintf, snprintf - as in C: at most size-1 characters and a NUL are stored.
 * Returns the length the whole text would have had.
 */
int vsnprintf(char *buf, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
int snprintf(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
