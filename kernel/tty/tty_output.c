// SPDX-License-Identifier: MIT
/*
 * tty_output.c - line discipline for output: post-processing, echo, the cursor's column.
 *
 * THEORY      With OPOST each byte of a program becomes up to eight bytes on the line (a tab with
 *             XTABS).  A byte is processed only if the driver has space for all bytes of the result, so the
 *             result is never sent in part.
 *             Echo uses the same functions, but does not wait: bytes for which there is no space are dropped.
 *             The column of the cursor is computed here, because tabs and the erasing of tabs depend on it.
 * INVARIANTS  O1  bytes passed to the driver always fit into its free space
 * LOCKING     The callers of all functions hold t->lock.
 * SEE ALSO    tty.h
 */
#include "tty/tty.h"
#include "lib/string.h"

enum { CHUNK = 128, EXPAND_MAX = 8 };

static bool is_ctrl(uint8_t c)
{
    return c < 32 || c == 127;
}

/* Whether c is a continuation byte of a UTF-8 sequence, which occupies no column. */
static bool is_continuation(const struct tty *t, uint8_t c)
{
    return (t->tio.iflag & IUTF8) && (c & 0xc0) == 0x80;
}

/* Store at `out` the bytes that c becomes, and update the column.  Returns their number, 0 .. EXPAND_MAX. */
static size_t expand_output_byte(struct tty *t, uint8_t c, char *out)
{
    uint32_t oflag = t->tio.oflag;

    if (c == '\r' && (oflag & OCRNL))
        c = '\n';
    switch (c) {
    case '\n':
        if (oflag & (ONLRET | ONLCR))
            t->column = 0;
        if (oflag & ONLCR) {
            out[0] = '\r';
            out[1] = '\n';
            return 2;
        }
        break;
    case '\r':
        if ((oflag & ONOCR) && t->column == 0)
            return 0;
        t->column = 0;
        break;
    case '\t': {
        uint32_t n = 8 - t->column % 8;

        t->column += n;
        if ((oflag & XTABS) == XTABS) {
            memset(out, ' ', n);
            return n;
        }
        break;
    }
    case '\b':
        if (t->column > 0)
            t->column--;
        break;
    default:
        if ((oflag & OLCUC) && c >= 'a' && c <= 'z')
            c = (uint8_t)(c - 'a' + 'A');
        if (!is_ctrl(c) && !is_continuation(t, c))
            t->column++;
    }
    out[0] = (char)c;
    return 1;
}

size_t tty_output(struct tty *t, const char *buf, size_t n)
{
    char out[CHUNK];
    size_t done = 0, room = t->drv->room(t);

    if (!(t->tio.oflag & OPOST)) {
        done = min_of(n, room);
        t->drv->write(t, buf, done);
        return done;
    }
    while (done < n && room >= EXPAND_MAX) {
        size_t len = 0, limit = min_of(room, (size_t)CHUNK) - EXPAND_MAX;

        while (done < n && len <= limit)
            len += expand_output_byte(t, (uint8_t)buf[done++], out + len);
        t->drv->write(t, out, len); /* O1 */
        room -= len;
    }
    return done;
}

void tty_out(struct tty *t, const char *buf, size_t n)
{
    if (t->tio.oflag & OPOST)
        tty_output(t, buf, n);
    else if (t->drv->room(t) >= n)
        t->drv->write(t, buf, n);
}

void tty_echo(struct tty *t, uint8_t c)
{
    char pair[2] = {'^', (char)(c ^ 0100)};

    if (is_ctrl(c) && c != '\t' && c != '\n' && (t->tio.lflag & ECHOCTL))
        tty_out(t, pair, 2);
    else
        tty_out(t, (char *)&c, 1);
}

void tty_set_stopped(struct tty *t, bool stop)
{
    if (t->stopped == stop)
        return;
    t->stopped = stop;
    t->drv->stop(t, stop);
    if (!stop)
        cv_broadcast(&t->writers);
}

void tty_output_discard(struct tty *t)
{
    t->drv->discard(t);
    cv_broadcast(&t->writers);
    poll_wake(&t->poll);
}
