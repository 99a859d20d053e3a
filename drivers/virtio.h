// SPDX-License-Identifier: MIT
/*
 * virtio.h - devices made for virtual machines: their registers on PCI, and the queues they share with the driver.
 *
 * THEORY      Virtual I/O Device (VIRTIO) Version 1.1, 4.1 (PCI, modern interface only) and 2.6 (split virtqueues).  A
 *             queue is three arrays in memory.  The driver writes chains of descriptors, each a piece of memory that
 *             the device reads or writes, and puts the number of a chain's first descriptor into the `avail` ring; the
 *             device puts it into the `used` ring when it is done with the chain, and interrupts (one MSI-X vector for
 *             each queue).
 * INVARIANTS  I1  a descriptor is on the free chain, or in exactly one chain that was given to the device
 * LOCKING     q->lock (RANK_DRIVER); the functions here take it
 * SEE ALSO    drivers/virtio_blk.c, drivers/virtio_net.c
 */
#ifndef DRIVERS_VIRTIO_H
#define DRIVERS_VIRTIO_H

#include "drivers/disk.h"
#include "drivers/pci.h"
#include "lib/spinlock.h"

#define VIRTIO_VENDOR 0x1af4

struct virtio_dev {
    struct pci_fn f;
    struct pci_msix msix;
    volatile uint8_t *common, *notify, *config; /* registers; config: those of the kind of device */
    uint32_t config_len;
    uint32_t notify_step;
};

struct virtq_desc;
struct virtq {
    struct spinlock lock;
    struct virtq_desc *desc; /* [c] the three arrays, in one piece of memory */
    volatile uint16_t *avail, *used;
    volatile uint32_t *notify; /* [c] written to tell the device               */
    uint16_t index;            /* [c] number of the queue                      */
    uint16_t size;             /* [c] descriptors                              */
    uint16_t free_head, nfree; /* [l]                                   */
    uint16_t next_used;        /* [l]                                          */
    bool quiet;                /* [l] the device is not told yet: before virtio_start() */
    void **cookie; /* [l] of the chain that begins at a descriptor; NULL: none begins there */
};

struct virtq_piece { /* of a chain; those the device writes come last */
    paddr_t pa;
    uint32_t len;
    bool to_driver;
};

/*
 * virtio_open - map the registers, reset the device, agree on the features of `wanted` that it offers.
 * @features  what both have.  0, -ENODEV: no modern device, or no MSI-X.
 */
int virtio_open(struct virtio_dev *d, struct pci_fn f, uint64_t wanted, uint64_t *features);
/* virtio_start - the driver is ready.  virtio_fail - it gives the device up. */
void virtio_start(struct virtio_dev *d);
void virtio_fail(struct virtio_dev *d);
uint16_t virtio_read16(volatile const uint8_t *reg);
uint32_t virtio_read32(volatile const uint8_t *reg);
uint64_t virtio_read64(volatile const uint8_t *reg);
unsigned virtio_nqueues(struct virtio_dev *d);
/*
 * virtq_open - make queue `index`; its interrupts call fn(arg) on CPU `cpu`, whose node the arrays come from.
 * fn NULL: the queue does not interrupt.  0, -ENOMEM, -EBUSY (no vector), -ENODEV.
 */
int virtq_open(struct virtio_dev *d, struct virtq *q, unsigned index, unsigned cpu,
               void (*fn)(void *), void *arg, const char *name);
/*
 * virtq_put - give the device a chain.  false: too few descriptors are free.  virtq_get - the cookie of one that it is
 * done with, or NULL; *written (may be NULL): bytes that it says it has written there, not to be trusted.
 * virtq_tell - tell the device of what was given to it while the queue was quiet.
 */
bool virtq_put(struct virtq *q, const struct virtq_piece *piece, unsigned n, void *cookie);
void *virtq_get(struct virtq *q, uint32_t *written);
void virtq_tell(struct virtq *q);

#endif
