// SPDX-License-Identifier: MIT
/*
 * nic.h - what the network and a driver of cards see of each other.
 *
 * THEORY      A driver tells of each card by struct nic_dev, once, at boot.  The network fills in where frames go that
 *             come in, and hands frames out; both copy, so a card's buffers are its own and their number is fixed.
 *             What finds no buffer is dropped and counted: protocols that care send again.
 * LOCKING     send() is called with the network's lock held (RANK_NET): a driver's own locks have RANK_DRIVER.
 *             receive() is called with no lock held, where the card's interrupt landed.
 * SEE ALSO    drivers/virtio_net.c, kernel/net/iface.c
 */
#ifndef DRIVERS_NIC_H
#define DRIVERS_NIC_H

#include "lib/types.h"

enum {
    NIC_FRAME_MAX = 1514,
    NIC_FRAME_MIN = 14,
    NIC_MAX = 8
}; /* bytes, without the checksum; cards of a machine */

struct nic_dev {
    uint8_t mac[6];
    void *soft; /* the driver's own */
    /* Send a frame of `len` bytes, which fill(dst, arg) stores.  false: there is no buffer now; it is dropped. */
    bool (*send)(void *soft, unsigned len, void (*fill)(void *dst, void *arg), void *arg);
    /* Filled in by the network: take a frame, which is the driver's again afterwards. */
    void (*receive)(void *upper, const void *frame, unsigned len);
    void *upper;
};

/* What the drivers call for each card; *d stays. */
typedef void (*nic_attach_fn)(struct nic_dev *d);

/* virtio_net_probe - find cards.  Boot thread. */
void virtio_net_probe(nic_attach_fn attach);

#endif
