// SPDX-License-Identifier: MIT
/*
 * call.c - the library's two ways into the kernel: its system calls and its files.
 *
 * This is a file of its own: a test program that defines hr_call() and hr_path() itself does not link this object
 * (user/include/homeroom.h, I1).
 */
#include "homeroom.h"

#include <stdarg.h>
#include <unistd.h>
#include <sys/syscall.h>

long hr_call(long number, long a0, long a1, long a2, long a3, long a4, long a5)
{
    return syscall(number, a0, a1, a2, a3, a4, a5);
}

const char *hr_path(const char *format, ...)
{
    static char path[256];
    va_list ap;

    va_start(ap, format);
    vsnprintf(path, sizeof path, format, ap);
    va_end(ap);
    return path;
}
