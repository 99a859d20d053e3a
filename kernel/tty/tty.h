// SPDX-License-Identifier: MIT
/*
 * tty.h - terminals: the layer between a program and a serial line.
 *
 * THEORY      A terminal turns bytes from a line into input for programs (line editing, echo, signals), and
 *             the output of programs into bytes for the line.
 *             tty_input.c and tty_output.c are the line discipline, which uses only struct tty. tty_job.c is
 *             job control: which session owns the terminal, and which processes can read and write.  tty.c
 *             implements the operations on open files, tty_ioctl.c the settings.  The driver below is a
 *             serial port (tty_uart.c) or the other end of a pseudo-terminal (pty.c).
 *             Input is kept in a ring of cells.  A cell is a byte and two flags: DELIM means that a line ends
 *             here; EOFMARK means that the cell is an end of file and has no byte.  In canonical mode a
 *             reader gets bytes up to a DELIM, never beyond `canon`, the end of the last complete line.  The
 *             line being typed lies between canon and head.
 * INVARIANTS  I1  tail <= canon <= head <= tail + size (as counters that never wrap)
 *             I2  session != NULL implies session->tty == this terminal, and the session has a leader
 *             I3  input interrupts are paused only while `paused` is set; `paused` is set only when
 *                 the ring is nearly full
 * LOCKING     [y] tty->lock (RANK_TTY)  [p] proc_lock, which is taken before it  [c] constant  [a] atomic
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
struct termios { /* Linux's struct, as TCGETS copies it to the program */
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

/* The driver, which moves the bytes.  tty->lock is held in all functions except `release`. */
struct tty_driver {
    void (*write)(struct tty *, const char *buf, size_t n); /* n <= room() */
    size_t (*room)(struct tty *);
    size_t (*pending)(struct tty *);       /* bytes written and not sent */
    void (*discard)(struct tty *);         /* discard the bytes that are not sent */
    void (*stop)(struct tty *, bool stop); /* stop output (`stop`), or continue output */
    void (*resume_input)(struct tty *);    /* the ring has space again    */
    void (*closed)(struct tty *);          /* an open file was closed; NULL: nothing to do */
    /* the last hold was dropped: free the terminal; NULL: do nothing */
    void (*release)(struct tty *);
};

struct tty {
    struct spinlock lock;
    const struct tty_driver *drv; /* [c]                                                       */
    void *drv_data;               /* [c]                                                       */
    uint64_t rdev;                /* [c] makedev(major, minor)                                 */
    struct termios tio;           /* [y]                                                       */
    struct winsize win;           /* [y]                                                       */
    uint16_t *ring;               /* [y] input cells                                           */
    uint32_t size;                /* [c] cells of the ring, a power of 2                       */
    uint32_t tail, canon, head;   /* [y] counters of the ring (I1)                    */
    uint32_t column;              /* [y] column of the cursor, for tabs and erasing */
    uint32_t line_column;         /* [y] column where the line being typed began */
    bool literal;                 /* [y] Ctrl-V was typed: the next byte is literal */
    bool stopped;                 /* [y] output stopped by Ctrl-S or TCOOFF                 */
    bool paused;                  /* [y] the driver delivers no input (I3)                  */
    bool gone;                    /* [y] the other end has been closed (pseudo-terminals)   */
    _Atomic bool exclusive;       /* [a] TIOCEXCL: only the superuser can open the terminal */
    uint32_t opens;               /* [y] number of open files and other holds               */
    /* [y] number of hang-ups; files that were opened before the last one are dead */
    int64_t generation;
    struct cv readers, writers;
    struct pollhead poll;
    struct session *session; /* [p] session that the terminal controls, or NULL */
    int fg_pgid;             /* [p] id of the foreground process group; 0: no group */
};

/* The generation of a file that survives hang-ups: /dev/console. */
#define TTY_IMMORTAL (-1)

/*
 * tty_init - make the serial terminals and their devices.  Called once, when the interrupt controller and devfs are
 * ready.
 */
void tty_init(void);
/* pty_init - register /dev/ptmx and the file system type "devpts". */
void pty_init(void);

/* Inside the terminal layer. */

/*
 * tty_session_hangup - send SIGHUP and SIGCONT to the session's leader and to the foreground group, because the line
 * is gone.  Afterwards the terminal has no session.  The caller holds no lock.
 */
void tty_session_hangup(struct tty *t);

/* tty_setup - initialise t.  `ring` has `size` cells, a power of 2.  raw: no editing, no echo, no signals. */
void tty_setup(struct tty *t, const struct tty_driver *drv, void *data, uint64_t rdev,
               uint16_t *ring, uint32_t size, bool raw);
/*
 * tty_hold - count one more open file; -EIO: the other end is gone.
 * tty_drop - undo tty_hold() when a file is closed; the last call can free t.
 */
int tty_hold(struct tty *t);
void tty_drop(struct tty *t);
/* tty_refuses - whether TIOCEXCL forbids the caller to open t (open fails with -EBUSY). */
bool tty_refuses(const struct tty *t);
/*
 * tty_file_open - make `f` an open file of t; the caller has a hold on t.  Unless O_NOCTTY or `console` is set, t
 * becomes the caller's controlling terminal if the caller is a session leader without one, and t has no session.
 */
void tty_file_open(struct tty *t, struct file *f, int oflags, bool console);

/* Line discipline.  The caller of all these functions holds t->lock. */
/* tty_input_byte - process one byte from the line.  Returns a signal for the foreground group, or 0. */
int tty_input_byte(struct tty *t, uint8_t c);
/* tty_input_room - number of bytes that t accepts before the driver must wait; at least 1 for an unfinished line. */
uint32_t tty_input_room(const struct tty *t);
/* tty_input_ready - number of bytes and end-of-file marks that a read finds now; 0: the read would wait. */
uint32_t tty_input_ready(const struct tty *t);
/* tty_input_take - move up to n bytes to buf for a read.  *last: the read ends here, at a delimiter. */
size_t tty_input_take(struct tty *t, char *buf, size_t n, bool *last);
/* tty_input_discard - drop all input that was not read; a paused driver continues. */
void tty_input_discard(struct tty *t);
/* tty_resume_input - let a paused driver continue if half of the ring is free again (I3). */
void tty_resume_input(struct tty *t);
/* tty_input_mode_changed - must be called after canonical mode was turned on or off. */
void tty_input_mode_changed(struct tty *t);
/* tty_output - process and send bytes while there is space.  Returns how many bytes of buf[n] were processed. */
size_t tty_output(struct tty *t, const char *buf, size_t n);
/* tty_echo - send one byte as echo. */
void tty_echo(struct tty *t, uint8_t c);
/* tty_out - send n bytes unchanged; bytes that do not fit are dropped. */
void tty_out(struct tty *t, const char *buf, size_t n);
/*
 * tty_set_stopped - stop output or continue it (Ctrl-S, Ctrl-Q).
 * tty_output_discard - discard output that was written and not sent.
 */
void tty_set_stopped(struct tty *t, bool stop);
void tty_output_discard(struct tty *t);

/*
 * tty_receive - process n bytes from the driver, wake readers and send signals.  The caller holds no lock.  Any
 * context.
 */
void tty_receive(struct tty *t, const char *buf, size_t n);
/* tty_writable - wake writers, because the driver has space again. */
void tty_writable(struct tty *t);
/* tty_hangup - make all open files dead, except /dev/console: a read returns end of file, a write -EIO. */
void tty_hangup(struct tty *t);
/* tty_signal - send sig to the foreground group.  Takes proc_lock. */
void tty_signal(struct tty *t, int sig);

/*
 * Job control (tty_job.c).
 * tty_check_read, tty_check_change - whether the caller is allowed to read from t, or to change its settings.
 * 0: yes; -ERESTARTSYS: the caller's group got SIGTTIN or SIGTTOU, and the call must be repeated afterwards; -EIO:
 * the group is orphaned, or (for a read) SIGTTIN is blocked or ignored.  Take proc_lock.
 */
int tty_check_read(struct tty *t);
int tty_check_change(struct tty *t);
/* tty_controlling - the controlling terminal of the caller's session, with a hold (tty_hold), or NULL. */
struct tty *tty_controlling(void);
/*
 * tty_acquire - make t the caller's controlling terminal (TIOCSCTTY); with `steal`, even if t has another
 * session.  0; -EPERM: the caller is no session leader or has a terminal, or t has a session; -EIO:
 * the other end is gone.
 */
int tty_acquire(struct tty *t, bool steal);
long tty_job_ioctl(struct tty *t, unsigned cmd, uint64_t arg);
long tty_ioctl(struct tty *t, struct file *f, unsigned cmd, uint64_t arg);

#endif
