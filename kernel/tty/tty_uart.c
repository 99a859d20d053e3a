// SPDX-License-Identifier: MIT
/*
 * tty_uart.c - the terminals on the serial ports, and their device files.
 *
 * THEORY      /dev/ttyS0 is COM1 with the usual settings of a login terminal. /dev/console is the same
 *             port, but its open files survive hang-ups. /dev/ttyS1 is COM2, raw from the start and with a
 *             large input ring; programs use it as a plain byte channel to the host. /dev/tty is the
 *             caller's controlling terminal.
 *             The interrupt handler takes bytes out of the port only while the ring has space.  Other bytes wait
 *             in the port.  When the port is also full, the sender must wait.
 * SEE ALSO    tty.h, drivers/uart.h
 */
#include "drivers/uart.h"
#include "lib/errno.h"
#include "proc/proc.h"
#include "tty/tty.h"

enum { CONSOLE_RING = 4096, VERDICT_RING = 65536, BATCH = 64 };

static struct tty serial[UART_COUNT];
static uint16_t console_ring[CONSOLE_RING], verdict_ring[VERDICT_RING];

static enum uart_port port_of_tty(struct tty *t)
{
    return (enum uart_port)(t - serial);
}

static void serial_write(struct tty *t, const char *buf, size_t n)
{
    (void)uart_write(port_of_tty(t), buf, n);
}

static size_t serial_room(struct tty *t)
{
    return uart_room(port_of_tty(t));
}

static size_t serial_pending(struct tty *t)
{
    return uart_pending(port_of_tty(t));
}

static void serial_discard(struct tty *t)
{
    uart_discard_output(port_of_tty(t));
}

static void serial_stop(struct tty *t, bool stop)
{
    uart_tx_stop(port_of_tty(t), stop);
}

static void serial_resume_input(struct tty *t)
{
    uart_rx_resume(port_of_tty(t));
}

static const struct tty_driver serial_driver = {
    .write = serial_write,
    .room = serial_room,
    .pending = serial_pending,
    .discard = serial_discard,
    .stop = serial_stop,
    .resume_input = serial_resume_input,
};

/* uart_client.input: move bytes from the port to the terminal.  Interrupt context. */
static void serial_input(void *arg)
{
    struct tty *t = arg;
    char buf[BATCH];
    size_t n, room;
    int c;

    do {
        spin_lock(&t->lock);
        room = min_of(tty_input_room(t), (uint32_t)BATCH);
        if (room == 0) {
            t->paused = true;
            uart_rx_pause(port_of_tty(t));
        }
        for (n = 0; n < room && (c = uart_getc(port_of_tty(t))) >= 0; n++)
            buf[n] = (char)c;
        spin_unlock(&t->lock);
        if (n > 0)
            tty_receive(t, buf, n);
    } while (n > 0);
}

static void wake_serial_writers(void *arg)
{
    tty_writable(arg);
}

static int serial_open(struct vnode *vn, int oflags, struct file *f)
{
    struct tty *t = &serial[vn->rdev == serial[UART_VERDICT].rdev ? UART_VERDICT : UART_CONSOLE];
    int err = tty_refuses(t) ? -EBUSY : tty_hold(t);

    if (err == 0)
        tty_file_open(t, f, oflags, vn->rdev == makedev(5, 1));
    return err;
}

static int open_controlling_tty(struct vnode *vn, int oflags, struct file *f)
{
    struct tty *t = tty_controlling();

    if (t == NULL)
        return -ENXIO;
    if (tty_refuses(t)) {
        tty_drop(t);
        return -EBUSY;
    }
    tty_file_open(t, f, oflags | O_NOCTTY, false);
    return 0;
}

static struct cdev devices[] = {
    {.name = "ttyS0", .rdev = makedev(4, 64), .mode = 0600, .open = serial_open},
    {.name = "ttyS1", .rdev = makedev(4, 65), .mode = 0600, .open = serial_open},
    {.name = "console", .rdev = makedev(5, 1), .mode = 0600, .open = serial_open},
    {.name = "tty", .rdev = makedev(5, 0), .mode = 0666, .open = open_controlling_tty},
};

void tty_init(void)
{
    tty_setup(&serial[UART_CONSOLE], &serial_driver, NULL, makedev(4, 64), console_ring,
              CONSOLE_RING, false);
    tty_setup(&serial[UART_VERDICT], &serial_driver, NULL, makedev(4, 65), verdict_ring,
              VERDICT_RING, true);
    for (unsigned i = 0; i < array_size(devices); i++)
        cdev_register(&devices[i]);
    for (unsigned i = 0; i < UART_COUNT; i++) {
        struct uart_client client = {
            .input = serial_input, .space = wake_serial_writers, .arg = &serial[i]};

        uart_attach((enum uart_port)i, &client);
    }
}
