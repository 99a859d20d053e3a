// SPDX-License-Identifier: MIT
/*
 * tty.h - terminals: what stands between a program and a serial line.
 *
 * THEORY      A terminal turns bytes from a line into input for programs (line editing, echo,
 *             signals) and programs' output into bytes for the line.  tty_input.c and
 *             tty_output.c are the line discipline, which works on struct tty alone; tty_job.c is
 *             job control (whose terminal it is, who may read and write); tty.c is what open files
 *             see; tty_ioctl.c the settings.  Underneath is a driver: a serial port (tty_uart.c) or
 *             the other end of a pseudo-terminal (pty.c).
 *             Input is kept in a ring of cells, a byte and two flags each: DELIM, the line ends
 *             here, and EOFMARK, the cell is an end-of-file and has no byte.  In canonical mode a
 *             reader gets bytes up to a DELIM, never beyond `canon`, the end of the last complete
 *             line; the line being typed lies between canon and head.
 * INVARIANTS  I1  tail <= canon <= head <= tail + size (as ever-growing counters)
 *             I2  session != NULL implies session->tty == this terminal, and the session has a
 *                 leader
 *             I3  input interrupts are paused only while `paused` is set, and that only while the
 *                 ring is nearly full
 * LOCKING     [y] tty->lock (RANK_TTY)  [p] proc_lock, which comes before it  [c] constant
 *             Signals are sent after tty->lock has been released.
 * SEE ALSO    docs/devices.md, tests/test_tty.py
 */
#ifndef TTY_TTY_H
#define TTY_TTY_H

#include "disp/sync.h"
#include "vfs/file.h"
#include "lib/spinlock.h"
#include "lib/types.h"

#define NCCS 19
struct termios { /* Linux's, as TCGETS moves it */
    uint32_t iflag, oflag, cflag, lflag;
    uint8_t line;
    uint8_t cc[NCCS];
};
struct winsize {
    uint16_t rows, cols, xpixel, ypixel;
};

enum {
    VINTR,
    VQUIT,
    VERASE,
    VKILL,
    VEOF,
    VTIME,
    VMIN,
    VSWTC,
    VSTART,
    VSTOP,
    VSUSP,
    VEOL,
    VREPRINT,
    VDISCARD,
    VWERASE,
    VLNEXT,
    VEOL2,
};
enum {
    ISTRIP = 0x20,
    INLCR = 0x40,
    IGNCR = 0x80,
    ICRNL = 0x100,
    IUCLC = 0x200,
    IXON = 0x400,
    IXANY = 0x800,
    IMAXBEL = 0x2000,
    IUTF8 = 0x4000,
};
enum { OPOST = 1, OLCUC = 2, ONLCR = 4, OCRNL = 8, ONOCR = 0x10, ONLRET = 0x20, XTABS = 0x1800 };
enum { CS8 = 0x30, CREAD = 0x80, HUPCL = 0x400, CLOCAL = 0x800, B115200 = 0x1002 };
enum {
    ISIG = 1,
    ICANON = 2,
    ECHO = 8,
    ECHOE = 0x10,
    ECHOK = 0x20,
    ECHONL = 0x40,
    NOFLSH = 0x80,
    TOSTOP = 0x100,
    ECHOCTL = 0x200,
    ECHOKE = 0x800,
    IEXTEN = 0x8000,
};

enum { TTY_DELIM = 0x100, TTY_EOFMARK = 0x200 }; /* flags of an input cell */

struct session;
struct tty;

/* What carries the bytes.  All are called with tty->lock held except `release`. */
struct tty_driver {
    void (*write)(struct tty *, const char *buf, size_t n); /* n <= room() */
    size_t (*room)(struct tty *);
    size_t (*pending)(struct tty *);       /* bytes written and not sent */
    void (*discard)(struct tty *);         /* forget them                */
    void (*stop)(struct tty *, bool stop); /* hold output back           */
    void (*resume_input)(struct tty *);    /* the ring has room again    */
    void (*closed)(struct tty *);          /* an open file has gone; NULL: nothing to do     */
    void (*release)(
        struct tty *); /* the last hold has gone: nobody knows it; NULL: nothing to do */
};

struct tty {
    struct spinlock lock;
    const struct tty_driver *drv; /* [c]                                                       */
    void *drv_data;               /* [c]                                                       */
    uint64_t rdev;                /* [c] makedev(major, minor)                                 */
    struct termios tio;           /* [y]                                                       */
    struct winsize win;           /* [y]                                                       */
    uint16_t *ring;               /* [y] input cells                                           */
    uint32_t size;                /* [c] of the ring, a power of 2                             */
    uint32_t tail, canon, head;   /* [y] I1                                           */
    uint32_t column;              /* [y] of the cursor, for tabs and erasing                */
    uint32_t line_column;         /* [y] where the line being typed began                   */
    bool literal;                 /* [y] Ctrl-V was typed: take the next byte as it is      */
    bool stopped;                 /* [y] output held by Ctrl-S or TCOOFF                    */
    bool paused;                  /* [y] I3                                                 */
    bool gone;                    /* [y] the other end has been closed (pseudo-terminals)   */
    _Atomic bool exclusive;       /* [a] TIOCEXCL: only the superuser opens it              */
    uint32_t opens;               /* [y] open files and other holds                         */
    int64_t generation;           /* [y] number of hang-ups; a file of an earlier one is dead */
    struct cv readers, writers;
    struct pollhead poll;
    struct session *session; /* [p] whose controlling terminal it is, or NULL             */
    int fg_pgid;             /* [p] foreground process group, 0: none                     */
};

/* A console file survives hang-ups: its generation is this. */
#define TTY_IMMORTAL (-1)

/* tty_init - make the serial terminals and their devices: after the interrupt controller and devfs. */
void tty_init(void);
/* pty_init - /dev/ptmx. */
void pty_init(void);

/*
 * tty_leader_exit - session `s` loses its leader (exit): its terminal is hung up, SIGHUP and
 * SIGCONT go to the foreground group.  No lock held.
 */
void tty_leader_exit(struct session *s);

/* Inside the terminal layer. */

/*
 * tty_session_hangup - the line went away: SIGHUP to the session's leader and the foreground group;
 * the terminal has no session any more.
 */
void tty_session_hangup(struct tty *t);

/* tty_setup - initialise; `ring` has `size` cells.  raw: no editing, echo or signals. */
void tty_setup(struct tty *t, const struct tty_driver *drv, void *data, uint64_t rdev,
               uint16_t *ring, uint32_t size, bool raw);
/* tty_hold - count one more open file.  -EIO: the other end is gone.  tty_drop - take it back, as closing does. */
int tty_hold(struct tty *t);
void tty_drop(struct tty *t);
/* tty_refuses - whether TIOCEXCL keeps the caller from opening it: -EBUSY. */
bool tty_refuses(const struct tty *t);
/* tty_file_open - make `f` an open file of t, which is held; t becomes the controlling terminal if that is due. */
void tty_file_open(struct tty *t, struct file *f, int oflags, bool console);

/* Line discipline; t->lock held. */
/* tty_input_byte - take one byte from the line.  Returns a signal for the foreground group, or 0. */
int tty_input_byte(struct tty *t, uint8_t c);
/* tty_input_room - bytes that may be input before the driver must wait; at least 1 while a line is unfinished. */
uint32_t tty_input_room(const struct tty *t);
/* tty_input_ready - bytes (or ends of file) that a read would return now: 0: it would wait. */
uint32_t tty_input_ready(const struct tty *t);
/* tty_input_take - move up to n bytes to buf as a read does; *last: stop here (a line's end, or end of file). */
size_t tty_input_take(struct tty *t, char *buf, size_t n, bool *last);
void tty_input_discard(struct tty *t);
/* tty_input_mode_changed - canonical mode was turned on or off. */
void tty_input_mode_changed(struct tty *t);
/* tty_output - process and send bytes while there is room.  Returns how many of buf[n] were used. */
size_t tty_output(struct tty *t, const char *buf, size_t n);
/* tty_echo - send one byte as echo. */
void tty_echo(struct tty *t, uint8_t c);
/* tty_out - send n bytes as they are, dropping what does not fit. */
void tty_out(struct tty *t, const char *buf, size_t n);
/* tty_set_stopped - Ctrl-S, Ctrl-Q.  tty_output_discard - forget what was written and not sent. */
void tty_set_stopped(struct tty *t, bool stop);
void tty_output_discard(struct tty *t);

/* tty_receive - the driver's bytes: line discipline, wake-ups, signals.  No lock held; any context. */
void tty_receive(struct tty *t, const char *buf, size_t n);
/* tty_writable - the driver has room again. */
void tty_writable(struct tty *t);
/* tty_hangup - files opened so far are dead: they read end of file and fail to write. */
void tty_hangup(struct tty *t);
/* tty_signal - send sig to the foreground group. */
void tty_signal(struct tty *t, int sig);

/* Job control (tty_job.c).  0; -ERESTARTSYS: a signal was sent, act on it and repeat; -EIO: orphaned or ignored. */
int tty_check_read(struct tty *t);
int tty_check_change(struct tty *t);
/* tty_controlling - the terminal of the caller's session, held, or NULL. */
struct tty *tty_controlling(void);
/* tty_acquire - make t the caller's controlling terminal (TIOCSCTTY).  0, -EPERM, -EIO: the other end is gone. */
int tty_acquire(struct tty *t, bool steal);
long tty_job_ioctl(struct tty *t, unsigned cmd, uint64_t arg);
long tty_ioctl(struct tty *t, struct file *f, unsigned cmd, uint64_t arg);

#endif
