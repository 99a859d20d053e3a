// SPDX-License-Identifier: MIT
/*
 * log.c - kernel messages: they are printed on the console and kept in a ring buffer for dmesg.
 *
 * LOCKING     log_lock (RANK_LOG).  A panic takes no lock, because the thread that failed may hold it.
 */
#include "stat/log.h"

#include "lib/printf.h"
#include "lib/spinlock.h"
#include "lib/string.h"
#include "stat/panic.h"

enum { LOG_SIZE = 32768, LINE_MAX = 320 };

static char ring[LOG_SIZE];
/* bytes of messages since boot; the next byte goes to ring[written % LOG_SIZE] */
static uint64_t written;
/* value of `written` when the messages were last cleared; klog_read() without `all` begins there */
static uint64_t cleared;
static struct spinlock log_lock = SPINLOCK_INIT(RANK_LOG);
static bool panicking;

static void append_to_log(const char *text, size_t n)
{
    if (!panicking)
        spin_lock(&log_lock);
    for (size_t i = 0; i < n; i++)
        ring[written++ % LOG_SIZE] = text[i];
    if (!panicking)
        spin_unlock(&log_lock);
    console_write(text, n, panicking);
}

/* Formats one message, cuts it at LINE_MAX - 2 bytes, and ends it with a newline. */
static void log_prefixed_line(const char *prefix, const char *fmt, va_list ap)
{
    char line[LINE_MAX];
    size_t n = str_copy(line, prefix, sizeof line);

    n += (size_t)vsnprintf(line + n, sizeof line - n, fmt, ap);
    n = min_of(n, sizeof line - 2);
    if (n == 0 || line[n - 1] != '\n')
        line[n++] = '\n';
    append_to_log(line, n);
}

void kprintf(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_prefixed_line("", fmt, ap);
    va_end(ap);
}

void warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_prefixed_line("WARNING: ", fmt, ap);
    va_end(ap);
}

void verdict(const char *fmt, ...)
{
    char line[LINE_MAX];
    va_list ap;
    size_t n;

    va_start(ap, fmt);
    n = min_of((size_t)vsnprintf(line, sizeof line - 1, fmt, ap), sizeof line - 2);
    va_end(ap);
    line[n++] = '\n';
    verdict_write(line, n, panicking);
}

size_t klog_read(char *buf, size_t size, bool all, bool clear)
{
    uint64_t have, from;

    spin_lock(&log_lock);
    have = min_of(all ? written : written - cleared, (uint64_t)min_of(size, (size_t)LOG_SIZE));
    from = written - have;
    for (uint64_t i = 0; i < have; i++)
        buf[i] = ring[(from + i) % LOG_SIZE];
    if (clear)
        cleared = written;
    spin_unlock(&log_lock);
    return have;
}

void log_enter_panic(void)
{
    panicking = true;
}
