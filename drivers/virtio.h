// SPDX-License-Identifier: MIT
/*
 * virtio.h - devices made for virtual machines: their registers on PCI, and the queues
 * shared with the driver.
 *
 * THEORY      Each access to a register of an emulated device leaves the virtual machine, which is slow.  A
 *             virtio device has no real hardware to imitate, so it is designed for few such accesses: driver
 *             and device exchange work in queues in shared memory.
 *             A queue is three arrays.  A descriptor describes a piece of memory that the device reads or
 *             writes.  The driver links descriptors to a chain, puts the number of the first descriptor into
 *             the `avail` ring, and notifies the device.  When the device has finished the chain, it puts this
 *             number into the `used` ring and interrupts the CPU.  Each queue has its own MSI-X vector.
 *             Virtual I/O Device (VIRTIO) Version 1.1: 4.1 (PCI, modern interface only),
 *             2.6 (split virtqueues).
 * INVARIANTS  I1  a descriptor is on the free chain, or in exactly one chain that was given to the device
 * LOCKING     q->lock (RANK_DRIVER); virtq_add_chain() and virtq_take_used() take it
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
    volatile uint8_t *common, *notify, *config; /* registers; config: specific to the device type */
    uint32_t config_len;                        /* bytes */
    uint32_t notify_step; /* bytes between the notify registers of two queues */
};

struct virtq_desc;
struct virtq {
    struct spinlock lock;
    struct virtq_desc *desc; /* [c] the three arrays, in contiguous memory */
    volatile uint16_t *avail, *used;
    volatile uint32_t *notify; /* [c] a write notifies the device              */
    uint16_t index;            /* [c] number of the queue                      */
    uint16_t size;             /* [c] descriptors                              */
    uint16_t free_head, nfree; /* [l] first free descriptor; number of free descriptors */
    uint16_t next_used;        /* [l] index in `used` that is read next        */
    bool quiet;                /* [l] do not notify: before virtio_start()     */
    /* [l] cookie[i]: cookie of the chain that begins with descriptor i; NULL: no such chain */
    void **cookie;
};

struct virtq_piece { /* a piece of a chain; pieces that the device writes come last */
    paddr_t pa;
    uint32_t len;   /* bytes */
    bool to_driver; /* the device writes the piece; else the device reads it */
};

/*
 * virtio_open - map the registers, reset the device, and negotiate features.  *features is set to those
 * features in `wanted` that the device offers.  0, or -ENODEV: the device is not modern (version
 * 1), or has no MSI-X.
 */
int virtio_open(struct virtio_dev *d, struct pci_fn f, uint64_t wanted, uint64_t *features);
/* virtio_start - tell the device that the driver is ready.  virtio_fail - give up the device. */
void virtio_start(struct virtio_dev *d);
void virtio_fail(struct virtio_dev *d);
uint16_t virtio_read16(volatile const uint8_t *reg);
uint32_t virtio_read32(volatile const uint8_t *reg);
uint64_t virtio_read64(volatile const uint8_t *reg);
/*
 * virtio_nqueues - number of queues that the driver can use: each of them exists in the
 * device and has its own MSI-X entry.
 */
unsigned virtio_nqueues(struct virtio_dev *d);
/*
 * virtq_open - make queue `index`, with its arrays in the memory of the node of CPU `cpu`.
 * @fn  an interrupt of the queue calls fn(arg) on that CPU or near it; NULL: the queue does not interrupt
 * 0, or -ENOMEM; -EBUSY: no vector is left; -ENODEV: the device does not have this queue.
 */
int virtq_open(struct virtio_dev *d, struct virtq *q, unsigned index, unsigned cpu,
               void (*fn)(void *), void *arg, const char *name);
/*
 * virtq_add_chain - give the device a chain of n pieces, and notify it.  false: too few descriptors are free.
 * virtq_take_used - the cookie of a chain that the device has finished, or NULL.  *written (if not NULL) is set
 *             to the number of bytes that the device claims to have written; the caller must check this number.
 * virtq_notify - notify the device of chains that were added while the queue was quiet.
 */
bool virtq_add_chain(struct virtq *q, const struct virtq_piece *piece, unsigned n, void *cookie);
void *virtq_take_used(struct virtq *q, uint32_t *written);
void virtq_notify(struct virtq *q);

#endif
