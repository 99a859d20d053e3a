// SPDX-License-Identifier: MIT
/*
 * tty_input.c - line discipline for input: editing, echo, and the bytes that a reader gets.
 *
 * THEORY      In canonical mode the bytes between `canon` and `head` are the line being typed.  Erase
 *             characters remove them; a delimiter (newline, end of file, EOL) moves `canon` up to `head`.  In
 *             raw mode `canon` is always equal to `head`.
 *             Erasing on the screen works by columns.  The number of columns to erase is computed from the
 *             line's start, so tabs, control characters and UTF-8 need no special cases.
 *             Signal characters never enter the ring.  The interrupt handler cannot send signals while it
 *             holds t->lock, so tty_input_byte() returns them.
 *             If the ring is full, the driver is paused.  There is one exception: if the ring of a canonical
 *             terminal has only an unfinished line, no read could free space.  Then excess bytes are dropped
 *             (with a bell, IMAXBEL).  The last cell is kept free for the delimiter.
 * LOCKING     The callers of all functions hold t->lock.
 * SEE ALSO    tty.h, termios(3)
 */
#include "tty/tty.h"
#include "lib/string.h"
#include "proc/proc.h"

static uint16_t *input_cell(struct tty *t, uint32_t i)
{
    return &t->ring[i & (t->size - 1)];
}

/*
 * Whether `c` is the special character number `which`; 0 in t->tio.cc[] means that there is no such
 * character.
 */
static bool is_special(const struct tty *t, unsigned which, uint8_t c)
{
    return t->tio.cc[which] == c && c != 0;
}

static bool is_word_char(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

uint32_t tty_input_room(const struct tty *t)
{
    uint32_t used = t->head - t->tail;

    if (!(t->tio.lflag & ICANON))
        return t->size - used;
    if (used < t->size - 1)
        return t->size - 1 - used;
    /* A line without end must not block the terminal: its excess bytes are accepted and dropped. */
    return t->canon == t->tail ? 1 : 0;
}

/* Store one cell.  Returns false if there is no space for it. */
static bool store_input_cell(struct tty *t, uint16_t c)
{
    uint32_t used = t->head - t->tail;
    uint32_t limit = (t->tio.lflag & ICANON) && !(c & TTY_DELIM) ? t->size - 1 : t->size;

    if (used >= limit) {
        if (t->tio.iflag & IMAXBEL)
            tty_out(t, "\a", 1);
        return false;
    }
    if (t->head == t->canon)
        t->line_column = t->column;
    *input_cell(t, t->head++) = c;
    if ((c & TTY_DELIM) || !(t->tio.lflag & ICANON))
        t->canon = t->head;
    return true;
}

/* Column of the cursor after the echo of the cells canon .. end-1 of the line being typed. */
static uint32_t column_at(struct tty *t, uint32_t end)
{
    uint32_t col = t->line_column;

    for (uint32_t i = t->canon; i != end; i++) {
        uint8_t c = (uint8_t)*input_cell(t, i);

        if (c == '\t')
            col += 8 - col % 8;
        else if (c < 32 || c == 127)
            col += t->tio.lflag & ECHOCTL ? 2 : 0;
        else if (!((t->tio.iflag & IUTF8) && (c & 0xc0) == 0x80))
            col++;
    }
    return col;
}

/* Index of the first cell of the character that ends before `end`, in the line being typed. */
static uint32_t char_before(struct tty *t, uint32_t end)
{
    uint32_t i = end - 1;

    if (t->tio.iflag & IUTF8)
        while (i != t->canon && (*input_cell(t, i) & 0xc0) == 0x80)
            i--;
    return i;
}

/*
 * Erase a character (VERASE), a word (VWERASE) or the line (VKILL), as `c` selects.  With ECHO, also erase it on
 * the screen.
 */
static void erase_typed_input(struct tty *t, uint8_t c)
{
    uint32_t to = t->head;
    bool kill = is_special(t, VKILL, c), word = false;

    if (t->head == t->canon)
        return;
    if (kill) {
        to = t->canon;
    } else if (is_special(t, VERASE, c)) {
        to = char_before(t, to);
    } else {
        while (to != t->canon) { /* erase the characters between words, then one word */
            uint32_t i = char_before(t, to);

            if (is_word_char((uint8_t)*input_cell(t, i)))
                word = true;
            else if (word)
                break;
            to = i;
        }
    }
    if (t->tio.lflag & ECHO) {
        if (kill ? (t->tio.lflag & (ECHOK | ECHOKE | ECHOE)) == (ECHOK | ECHOKE | ECHOE)
                 : t->tio.lflag & ECHOE) {
            for (uint32_t n = column_at(t, t->head) - column_at(t, to); n > 0; n--)
                tty_out(t, "\b \b", 3);
        } else {
            tty_echo(t, c);
            if (kill && (t->tio.lflag & ECHOK))
                tty_out(t, "\n", 1);
        }
    }
    t->head = to;
}

static void reprint_line(struct tty *t)
{
    tty_echo(t, t->tio.cc[VREPRINT]);
    tty_out(t, "\n", 1);
    t->line_column = t->column;
    for (uint32_t i = t->canon; i != t->head; i++)
        tty_echo(t, (uint8_t)*input_cell(t, i));
}

/* Process c if it is a special character of canonical mode.  Returns whether c was special. */
static bool handle_canonical_char(struct tty *t, uint8_t c)
{
    uint32_t lflag = t->tio.lflag;
    bool ext = (lflag & IEXTEN) != 0;

    if (is_special(t, VERASE, c) || is_special(t, VKILL, c) || (ext && is_special(t, VWERASE, c))) {
        erase_typed_input(t, c);
        return true;
    }
    if (ext && is_special(t, VLNEXT, c)) {
        t->literal = true;
        if ((lflag & (ECHO | ECHOCTL)) == (ECHO | ECHOCTL))
            tty_out(t, "^\b", 2);
        return true;
    }
    if (ext && (lflag & ECHO) && is_special(t, VREPRINT, c)) {
        reprint_line(t);
        return true;
    }
    if (c == '\n') {
        if (lflag & (ECHO | ECHONL))
            tty_out(t, "\n", 1);
        store_input_cell(t, '\n' | TTY_DELIM);
        return true;
    }
    if (is_special(t, VEOF, c)) {
        store_input_cell(t, TTY_DELIM | TTY_EOFMARK);
        return true;
    }
    if (is_special(t, VEOL, c) || (ext && is_special(t, VEOL2, c))) {
        if (lflag & ECHO)
            tty_echo(t, c);
        store_input_cell(t, c | TTY_DELIM);
        return true;
    }
    return false;
}

static int signal_of_char(const struct tty *t, uint8_t c)
{
    if (is_special(t, VINTR, c))
        return SIGINT;
    if (is_special(t, VQUIT, c))
        return SIGQUIT;
    return is_special(t, VSUSP, c) ? SIGTSTP : 0;
}

int tty_input_byte(struct tty *t, uint8_t c)
{
    uint32_t iflag = t->tio.iflag, lflag = t->tio.lflag;
    int sig = 0;

    if (iflag & ISTRIP)
        c &= 0x7f;
    if ((iflag & IUCLC) && (lflag & IEXTEN) && c >= 'A' && c <= 'Z')
        c = (uint8_t)(c - 'A' + 'a');
    if (t->literal) {
        t->literal = false;
        if (store_input_cell(t, c) && (lflag & ECHO))
            tty_echo(t, c);
        return 0;
    }
    if (iflag & IXON) {
        if (is_special(t, VSTART, c) || is_special(t, VSTOP, c)) {
            tty_set_stopped(t, !is_special(t, VSTART, c));
            return 0;
        }
        if (t->stopped && (iflag & IXANY))
            tty_set_stopped(t, false);
    }
    if (lflag & ISIG)
        sig = signal_of_char(t, c);
    if (sig != 0) {
        if (!(lflag & NOFLSH)) {
            tty_input_discard(t);
            tty_output_discard(t);
        }
        tty_set_stopped(t, false);
        if (lflag & ECHO)
            tty_echo(t, c);
        return sig;
    }
    if (c == '\r') {
        if (iflag & IGNCR)
            return 0;
        if (iflag & ICRNL)
            c = '\n';
    } else if (c == '\n' && (iflag & INLCR)) {
        c = '\r';
    }
    if ((lflag & ICANON) && handle_canonical_char(t, c))
        return 0;
    if (store_input_cell(t, c) && (lflag & ECHO))
        tty_echo(t, c);
    return 0;
}

uint32_t tty_input_ready(const struct tty *t)
{
    return t->canon - t->tail;
}

size_t tty_input_take(struct tty *t, char *buf, size_t n, bool *last)
{
    size_t done = 0;
    bool lines = (t->tio.lflag & ICANON) != 0;

    *last = false;
    while (done < n && t->tail != t->canon && !*last) {
        uint16_t c = *input_cell(t, t->tail++);

        *last = lines && (c & TTY_DELIM);
        if (!(c & TTY_EOFMARK))
            buf[done++] = (char)c;
    }
    /*
     * If the line fills the buffer exactly, also take its end-of-file mark: otherwise the next read
     * would return 0.
     */
    if (lines && done == n && !*last && t->tail != t->canon &&
        (*input_cell(t, t->tail) & TTY_EOFMARK)) {
        t->tail++;
        *last = true;
    }
    return done;
}

void tty_input_discard(struct tty *t)
{
    t->tail = t->canon = t->head;
    t->literal = false;
    tty_resume_input(t);
}

void tty_resume_input(struct tty *t)
{
    if (t->paused && t->head - t->tail <= t->size / 2) {
        t->paused = false;
        t->drv->resume_input(t);
    }
}

void tty_input_mode_changed(struct tty *t)
{
    /* All input becomes readable; in canonical mode it counts as one line. */
    if ((t->tio.lflag & ICANON) && t->tail != t->head)
        *input_cell(t, t->head - 1) |= TTY_DELIM;
    t->canon = t->head;
}
