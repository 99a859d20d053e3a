// SPDX-License-Identifier: MIT
/*
 * nic.h - the interface between the network and the drivers of network cards.
 *
 * THEORY      At boot, a driver describes each card that it finds with a struct nic_dev.  The network fills in
 *             receive(), which the driver calls for each frame that arrives, and calls send() for each frame to
 *             send.  Frames are copied in both directions.  So a card has a fixed number of buffers, which
 *             never leave the driver.  A frame for which there is no buffer is dropped and counted.  Protocols
 *             such as TCP send the data of a lost frame again.
 * LOCKING     The network holds its lock (RANK_NET) when it calls send(), so a driver's own locks have
 *             RANK_DRIVER.  The driver calls receive() without locks, in interrupt context, on the CPU that
 *             took the interrupt.
 * SEE ALSO    drivers/virtio_net.c, kernel/net/iface.c
 */
#ifndef DRIVERS_NIC_H
#define DRIVERS_NIC_H

#include "lib/types.h"

enum {
    NIC_FRAME_MAX = 1514, /* bytes, without the checksum */
    NIC_FRAME_MIN = 14,
    NIC_MAX = 8 /* cards in a machine */
};

struct nic_dev {
    uint8_t mac[6];
    void *soft; /* private to the driver */
    /*
     * Send a frame of `len` bytes; fill(dst, arg) stores it in a buffer.  false: no buffer is free, and the
     * frame is dropped.
     */
    bool (*send)(void *soft, unsigned len, void (*fill)(void *dst, void *arg), void *arg);
    /* Set by the network.  The function copies a frame of `len` bytes; the driver keeps the buffer. */
    void (*receive)(void *upper, const void *frame, unsigned len);
    void *upper; /* private to the network */
};

/* A driver calls this function for each card; *d must never be freed. */
typedef void (*nic_attach_fn)(struct nic_dev *d);

/* virtio_net_probe - find network cards, and call `attach` for each.  Boot thread only. */
void virtio_net_probe(nic_attach_fn attach);

#endif
