// SPDX-License-Identifier: MIT
/*
 * uart.h - the two serial ports: COM1, the console, and COM2, the verdict port.
 *
 * THEORY   A port has two interfaces.  Polled output waits for the hardware and needs nothing else, so it
 *          works from the kernel's first instruction to the last one of a panic.  Buffered input and output
 *          use interrupts, and work when a client (the terminal layer) has attached itself.  See uart.c.
 */
#ifndef DRIVERS_UART_H
#define DRIVERS_UART_H

#include "lib/types.h"

enum uart_port { UART_CONSOLE, UART_VERDICT, UART_COUNT };

/*
 * uart_early_init - make polled output work on both ports.  It needs no other part of the kernel, and is called
 * first.
 */
void uart_early_init(void);

/*
 * uart_putc_polled - wait for the transmitter and send one byte.  The wait is limited: if the host has
 * stopped reading, the byte is lost.  Any context; takes no lock.  '\n' is sent without a '\r'.
 */
void uart_putc_polled(enum uart_port port, char c);

/*
 * uart_line - send one line of the kernel: text[n], which ends with '\n'.  If a program has written an
 * incomplete line, the kernel's line waits on the verdict port until the program's line is complete.  On the
 * console, or if too many lines already wait, a newline is sent first.  Can be called in any context that is
 * allowed to take RANK_UART.
 */
void uart_line(enum uart_port port, const char *text, size_t n);

/* uart_flush_polled - send all buffered bytes by polling; takes no lock.  Called at the end of the machine. */
void uart_flush_polled(enum uart_port port);

/*
 * The buffered interface, for one client per port.  Its functions are called in interrupt context with no
 * lock held.
 * input - called when bytes have arrived.  It must call uart_getc() until that returns -1, or call
 * uart_rx_pause().
 * space - called when at least half of the output buffer is free again.
 */
struct uart_client {
    void (*input)(void *arg);
    void (*space)(void *arg);
    void *arg;
};

/* uart_attach - start interrupts for a client.  Call it once, when interrupts can be registered. */
void uart_attach(enum uart_port port, const struct uart_client *client);

/* uart_getc - the next byte received, or -1.  Only one caller at a time is allowed (the terminal's lock). */
int uart_getc(enum uart_port port);

/*
 * uart_rx_pause, uart_rx_resume - stop and restart the calls of `input`.  No byte is lost in between, because
 * the sender waits when the FIFO is full.
 */
void uart_rx_pause(enum uart_port port);
void uart_rx_resume(enum uart_port port);

/*
 * uart_write - send or buffer up to n bytes.  Returns the number accepted; if it is less than n, the buffer
 * is full, and `space` will be called.  Can be called in any context that is allowed to take RANK_UART.
 */
size_t uart_write(enum uart_port port, const char *buf, size_t n);

/*
 * uart_room - how many bytes the client should write at most now.  uart_write() accepts more, but the last
 * bytes of the buffer should stay free for uart_line().
 */
size_t uart_room(enum uart_port port);
/*
 * uart_pending - number of bytes in the buffer that are not sent yet (TIOCOUTQ, tcdrain).
 * uart_discard_output - drop these bytes (tcflush).
 */
size_t uart_pending(enum uart_port port);
void uart_discard_output(enum uart_port port);
/* uart_tx_stop - with `stop`, stop output (Ctrl-S); otherwise restart output (Ctrl-Q). */
void uart_tx_stop(enum uart_port port, bool stop);

#endif
