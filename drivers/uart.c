// SPDX-License-Identifier: MIT
/*
 * uart.c - 16550 serial ports.
 *
 * THEORY      Sending.  The transmitter has a FIFO of 16 bytes.  When the FIFO is empty (THRE), 16 bytes can be
 *             written without checking the status again.  While the FIFO is empty, bytes are written to it
 *             directly.  In a virtual machine the FIFO is nearly always empty, so no interrupt is
 *             needed.  Other bytes wait in a ring.  The handler of the transmitter-empty interrupt
 *             moves them to the FIFO; this interrupt is enabled only while the ring is not empty.
 *             Receiving.  The client's `input` itself takes bytes out of the FIFO, while it holds the client's
 *             lock.  If the client has no room, it stops the interrupt and leaves the bytes in the FIFO.  A
 *             full FIFO makes the sender wait (QEMU's host side; real hardware by RTS).  So no byte is lost,
 *             and no second buffer is needed.
 *             The interrupt line is edge-triggered, so the handler continues until the
 *             port has no cause left.
 *             Kernel lines.  Programs and kernel share the verdict port, whose readers parse whole lines.  A
 *             kernel line that comes while a program's line is incomplete waits in `held` until the newline
 *             is sent.  On the console a kernel line begins a new line at once, because a prompt may stay
 *             incomplete for hours.
 * INVARIANTS  I1  while `ring` is not empty, new output goes to its end, and THRE interrupts are enabled
 *                 unless output is stopped
 *             I2  `held` is not empty only if the last byte of output was not a newline, or the ring was full
 * LOCKING     [u] port's lock (RANK_UART, the last rank)  [c] constant after uart_attach()
 *             Polled output takes no lock, so it can be mixed with other output.  That is acceptable in a
 *             panic.
 * SEE ALSO    docs/devices.md, kernel/tty/tty.c, tests/test_tty.py
 */
#include "drivers/uart.h"
#include "intr/intr.h"
#include "lib/spinlock.h"
#include "lib/string.h"
#include "stat/panic.h"
#include "x86/pio.h"

/* Register offsets, and the bits used of each. */
enum { DATA = 0, IER = 1, IIR = 2, FCR = 2, LCR = 3, MCR = 4, LSR = 5, MSR = 6 };
enum { IER_RX = 1, IER_TX = 2 };
enum { IIR_NONE = 1, IIR_CAUSE = 0x0e };
enum {
    CAUSE_MODEM = 0x00,
    CAUSE_TX = 0x02,
    CAUSE_RX = 0x04,
    CAUSE_LINE = 0x06,
    CAUSE_TIMEOUT = 0x0c
};
/*
 * Turns on and empties the FIFOs.  A receive interrupt comes at 14 bytes, or after the time of 4 bytes without
 * a new byte.
 */
enum { FCR_ON = 0xc7 };
enum { LCR_8N1 = 0x03, LCR_DIVISOR = 0x80 };
enum { MCR_DTR_RTS_OUT2 = 0x0b }; /* OUT2 lets the interrupt line through */
enum { LSR_DATA = 0x01, LSR_THRE = 0x20, LSR_IDLE = 0x40 };

enum { FIFO = 16, RING = 8192, HELD = 512, POLL_LIMIT = 1000000 };

struct uart {
    uint16_t base;
    uint8_t irq;
    struct spinlock lock;
    struct uart_client client; /* [c]                                       */
    uint8_t ier;               /* [u] what the register holds               */
    bool stopped;              /* [u] Ctrl-S                                */
    bool stuck;                /* a wait of polled output has timed out: later waits are short */
    bool mid_line;             /* [u] the last byte of output was not a newline */
    uint32_t head, tail;       /* [u] ring: bytes tail .. head-1            */
    uint32_t nheld;            /* [u]                                       */
    char ring[RING];
    char held[HELD];
};

static struct uart uarts[UART_COUNT] = {
    [UART_CONSOLE] = {.base = 0x3f8, .irq = 4, .lock = SPINLOCK_INIT(RANK_UART)},
    [UART_VERDICT] = {.base = 0x2f8, .irq = 3, .lock = SPINLOCK_INIT(RANK_UART)},
};

void uart_early_init(void)
{
    for (unsigned i = 0; i < UART_COUNT; i++) {
        uint16_t b = uarts[i].base;

        outb(b + IER, 0);
        outb(b + LCR, LCR_DIVISOR);
        outb(b + DATA, 1); /* divisor 1: 115200 baud */
        outb(b + IER, 0);
        outb(b + LCR, LCR_8N1);
        outb(b + FCR, FCR_ON);
        outb(b + MCR, MCR_DTR_RTS_OUT2);
    }
}

void uart_putc_polled(enum uart_port port, char c)
{
    struct uart *u = &uarts[port];
    unsigned left = u->stuck ? 1 : POLL_LIMIT;

    while (left > 0 && !(inb(u->base + LSR) & LSR_THRE)) {
        cpu_pause();
        left--;
    }
    u->stuck = left == 0;
    outb(u->base + DATA, (uint8_t)c);
}

static size_t tx_ring_used(const struct uart *u)
{
    return u->head - u->tail;
}

static void set_ier(struct uart *u, uint8_t ier)
{
    if (u->ier != ier)
        outb(u->base + IER, u->ier = ier);
}

/*
 * Moves bytes from the ring to the transmitter while the transmitter is empty, and enables THRE
 * interrupts as in I1.  Only the interrupt handler disables them.  So, once the ring was used, at
 * least one interrupt follows, and the client's `space` is called.
 */
static void fill_transmitter(struct uart *u)
{
    while (!u->stopped && tx_ring_used(u) > 0 && (inb(u->base + LSR) & LSR_THRE))
        for (unsigned n = 0; n < FIFO && tx_ring_used(u) > 0; n++)
            outb(u->base + DATA, (uint8_t)u->ring[u->tail++ % RING]);
    if (tx_ring_used(u) > 0 && !u->stopped)
        set_ier(u, u->ier | IER_TX);
}

/*
 * Sends bytes to the transmitter if the ring is empty; otherwise puts them into the ring.  Returns
 * their number.
 */
static size_t transmit_bytes(struct uart *u, const char *buf, size_t n)
{
    size_t done = 0;

    while (!u->stopped && tx_ring_used(u) == 0 && done < n && (inb(u->base + LSR) & LSR_THRE))
        for (unsigned k = 0; k < FIFO && done < n; k++)
            outb(u->base + DATA, (uint8_t)buf[done++]);
    while (done < n && tx_ring_used(u) < RING)
        u->ring[u->head++ % RING] = buf[done++];
    fill_transmitter(u);
    if (done > 0)
        u->mid_line = buf[done - 1] != '\n';
    return done;
}

/*
 * Sends the kernel lines that wait in `held`.  Lines for which the ring has no room stay in `held`.
 */
static void send_held_lines(struct uart *u)
{
    size_t n = transmit_bytes(u, u->held, u->nheld);

    u->nheld -= (uint32_t)n;
    memmove(u->held, u->held + n, u->nheld);
}

size_t uart_write(enum uart_port port, const char *buf, size_t n)
{
    struct uart *u = &uarts[port];
    size_t done = 0;

    spin_lock(&u->lock);
    /* Kernel lines that wait for the end of a program's line are sent right after its newline (I2). */
    if (u->nheld > 0) {
        const char *nl = memchr(buf, '\n', n);

        if (nl != NULL) {
            size_t first = (size_t)(nl - buf) + 1;

            done = transmit_bytes(u, buf, first);
            if (done == first)
                send_held_lines(u);
            spin_unlock(&u->lock);
            return done;
        }
    }
    done = transmit_bytes(u, buf, n);
    spin_unlock(&u->lock);
    return done;
}

void uart_line(enum uart_port port, const char *text, size_t n)
{
    struct uart *u = &uarts[port];

    spin_lock(&u->lock);
    if (port == UART_VERDICT && u->mid_line && u->nheld + n <= HELD) {
        memcpy(u->held + u->nheld, text, n);
        u->nheld += (uint32_t)n;
    } else {
        if (u->mid_line)
            transmit_bytes(u, "\n", 1);
        send_held_lines(u);
        transmit_bytes(u, text, n);
    }
    spin_unlock(&u->lock);
}

void uart_flush_polled(enum uart_port port)
{
    struct uart *u = &uarts[port];

    while (tx_ring_used(u) > 0)
        uart_putc_polled(port, u->ring[u->tail++ % RING]);
    if (u->nheld > 0)
        uart_putc_polled(port, '\n');
    for (uint32_t i = 0; i < u->nheld; i++)
        uart_putc_polled(port, u->held[i]);
    u->nheld = 0;
    for (unsigned i = 0; i < POLL_LIMIT && !(inb(u->base + LSR) & LSR_IDLE); i++)
        cpu_pause(); /* wait until the FIFO is also sent, before the machine ends */
}

static void uart_intr(void *arg)
{
    struct uart *u = arg;
    uint8_t iir;
    bool space = false;

    while (!((iir = inb(u->base + IIR)) & IIR_NONE)) {
        switch (iir & IIR_CAUSE) {
        case CAUSE_RX:
        case CAUSE_TIMEOUT:
            u->client.input(u->client.arg);
            break;
        case CAUSE_TX:
            spin_lock(&u->lock);
            fill_transmitter(u);
            if (tx_ring_used(u) == 0 || u->stopped)
                set_ier(u, u->ier & ~IER_TX);
            space = tx_ring_used(u) <= RING / 2;
            spin_unlock(&u->lock);
            break;
        case CAUSE_LINE:
            (void)inb(u->base + LSR);
            break;
        case CAUSE_MODEM:
            (void)inb(u->base + MSR);
            break;
        }
    }
    if (space)
        u->client.space(u->client.arg);
}

void uart_attach(enum uart_port port, const struct uart_client *client)
{
    struct uart *u = &uarts[port];

    u->client = *client;
    if (intr_register_isa(u->irq, uart_intr, u, port == UART_CONSOLE ? "uart0" : "uart1") != 0)
        warn("serial port %u: no interrupt %u, it is deaf", port, u->irq);
    uart_rx_resume(port);
}

int uart_getc(enum uart_port port)
{
    uint16_t b = uarts[port].base;

    return inb(b + LSR) & LSR_DATA ? inb(b + DATA) : -1;
}

void uart_rx_pause(enum uart_port port)
{
    struct uart *u = &uarts[port];

    spin_lock(&u->lock);
    set_ier(u, u->ier & ~IER_RX);
    spin_unlock(&u->lock);
}

void uart_rx_resume(enum uart_port port)
{
    struct uart *u = &uarts[port];

    spin_lock(&u->lock);
    set_ier(u, u->ier | IER_RX); /* if bytes are waiting, the interrupt comes at once */
    spin_unlock(&u->lock);
}

size_t uart_pending(enum uart_port port)
{
    struct uart *u = &uarts[port];
    size_t n;

    spin_lock(&u->lock);
    n = tx_ring_used(u);
    spin_unlock(&u->lock);
    return n;
}

size_t uart_room(enum uart_port port)
{
    size_t used = uart_pending(port);

    return used < RING - HELD ? RING - HELD - used : 0;
}

void uart_discard_output(enum uart_port port)
{
    struct uart *u = &uarts[port];

    spin_lock(&u->lock);
    u->tail = u->head;
    fill_transmitter(u);
    spin_unlock(&u->lock);
}

void uart_tx_stop(enum uart_port port, bool stop)
{
    struct uart *u = &uarts[port];

    spin_lock(&u->lock);
    u->stopped = stop;
    fill_transmitter(u);
    spin_unlock(&u->lock);
}
