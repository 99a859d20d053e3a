// SPDX-License-Identifier: MIT
/*
 * uart.h - the two serial ports: COM1, the console, and COM2, the verdict port.
 *
 * THEORY   A port works in two ways at once: polled, from the kernel's first instruction to a
 *          panic's last, and buffered, once a client (the terminal layer) has attached itself.  See
 *          uart.c.
 */
#ifndef DRIVERS_UART_H
#define DRIVERS_UART_H

#include "lib/types.h"

enum uart_port { UART_CONSOLE, UART_VERDICT, UART_COUNT };

/* uart_early_init - make polled output work on both ports.  Needs nothing; call it first of
 * all. */
void uart_early_init(void);

/*
 * uart_putc_polled - send one byte, waiting for the transmitter (but not for ever: a host that
 * has stopped reading loses the byte).  Any context, takes no lock.  '\n' is sent as it is.
 */
void uart_putc_polled(enum uart_port port, char c);

/*
 * uart_line - send a line of the kernel's own, text[n] ending in '\n', so that it does not break
 * into a line that a program is just writing: on the verdict port it is held back until that line
 * ends.  (When the kernel's lines would not fit, and on the console, the program's line is broken.)
 * Any context that may take RANK_UART.
 */
void uart_line(enum uart_port port, const char *text, size_t n);

/* uart_flush_polled - send whatever is still buffered, polled, ignoring locks: for the
 * machine's end. */
void uart_flush_polled(enum uart_port port);

/*
 * The buffered half, for one client per port.
 *
 * The client's functions are called in interrupt context with no lock held.  `input`: bytes
 * have come; it must call uart_getc() until that returns -1, or uart_rx_pause().  `space`: the
 * output buffer is half empty again.
 */
struct uart_client {
    void (*input)(void *arg);
    void (*space)(void *arg);
    void *arg;
};

/* uart_attach - start interrupts for a client.  Call once, when interrupts can be registered.
 */
void uart_attach(enum uart_port port, const struct uart_client *client);

/* uart_getc - the next byte received, or -1.  Callers serialise among themselves (the
 * terminal's lock). */
int uart_getc(enum uart_port port);

/*
 * uart_rx_pause, uart_rx_resume - stop and go on calling `input`.  While stopped, bytes stay
 * with the sender: the FIFO fills up and the host's side waits, so that none is lost.
 */
void uart_rx_pause(enum uart_port port);
void uart_rx_resume(enum uart_port port);

/*
 * uart_write - hand over up to n bytes.  Returns how many were taken (0: the buffer is full;
 * `space` follows). Any context that may take RANK_UART.
 */
size_t uart_write(enum uart_port port, const char *buf, size_t n);

/* uart_room - bytes that uart_write() would take now (the last ones are kept for uart_line()). */
size_t uart_room(enum uart_port port);
/* uart_pending - bytes taken but not sent yet (TIOCOUTQ, tcdrain).  uart_discard_output -
 * forget them (tcflush). */
size_t uart_pending(enum uart_port port);
void uart_discard_output(enum uart_port port);
/* uart_tx_stop - hold output back (true, Ctrl-S) or go on (false, Ctrl-Q). */
void uart_tx_stop(enum uart_port port, bool stop);

#endif
