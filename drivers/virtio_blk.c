// SPDX-License-Identifier: MIT
/*
 * virtio_blk.c - disks of a virtual machine.
 *
 * THEORY      VIRTIO 1.1, 5.2.  A command is a chain: a header of 16 bytes (operation and sector), the data,
 *             and a byte of status that the device writes.  Header and status are stored in the struct
 *             disk_cmd itself.
 *             A disk can have several queues, each with its own interrupt.  The interrupts are spread evenly
 *             over the CPUs, and a CPU uses the queue whose interrupt arrives nearest to it.
 * LOCKING     Each queue has a lock.  struct vblk is constant after virtio_blk_probe().
 * SEE ALSO    drivers/virtio.h, docs/disks.md
 */
#include "drivers/disk.h"
#include "drivers/virtio.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

enum {
    DEVICE_TRANSITIONAL = 0x1001,
    DEVICE_MODERN = 0x1042,
    MAX_QUEUES = 16,
    MAX_DISKS = 16,
    MINORS = 16
};
enum { MAJOR = 254 };
enum { F_SEG_MAX = 1 << 2, F_RO = 1 << 5, F_FLUSH = 1 << 9, F_MQ = 1 << 12 };
enum { C_CAPACITY = 0, C_SEG_MAX = 12, C_NUM_QUEUES = 34 }; /* registers */
enum { T_IN = 0, T_OUT = 1, T_FLUSH = 4, STATUS_OK = 0 };

struct header { /* in cmd->hw: 16 bytes that the device reads, then the status that it writes */
    uint32_t type, reserved;
    uint64_t sector;
    uint8_t status;
};
_Static_assert(sizeof(struct header) <= sizeof((struct disk_cmd *)0)->hw, "fits into a command");

struct vblk {
    struct virtio_dev dev;
    unsigned nqueues;
    _Atomic uint64_t errors;
    struct vblk_queue {
        struct vblk *disk;
        struct virtq q;
        char name[16]; /* name of the interrupt */
    } queue[MAX_QUEUES];
};

static unsigned ndisks;
static disk_attach_fn attach_disk;

static uint32_t request_type(enum disk_op op)
{
    if (op == DISK_READ)
        return T_IN;
    return op == DISK_WRITE ? T_OUT : T_FLUSH;
}

static bool vblk_start(void *soft, struct disk_cmd *c)
{
    struct vblk *v = soft;
    struct header *h = (struct header *)c->hw;
    struct virtq_piece piece[DISK_MAX_SEGS + 2];
    unsigned n = 0;

    h->type = request_type(c->op);
    h->reserved = 0;
    h->sector = c->op == DISK_FLUSH ? 0 : c->sector;
    h->status = 0xff;
    piece[n++] = (struct virtq_piece){virt_to_phys(h), 16, false};
    for (unsigned i = 0; i < c->nsegs; i++)
        piece[n++] = (struct virtq_piece){c->seg[i].pa, c->seg[i].len, c->op == DISK_READ};
    piece[n++] = (struct virtq_piece){virt_to_phys(&h->status), 1, true};
    return virtq_add_chain(&v->queue[this_cpu()->id * v->nqueues / ncpu].q, piece, n, c);
}

static void vblk_intr(void *arg)
{
    struct vblk_queue *vq = arg;
    struct disk_cmd *c;

    while ((c = virtq_take_used(&vq->q, NULL)) != NULL) {
        bool ok = ((struct header *)c->hw)->status == STATUS_OK;

        if (!ok)
            vq->disk->errors++;
        c->done(c, ok ? 0 : -EIO);
    }
}

static uint64_t vblk_hw_errors(void *soft)
{
    return ((struct vblk *)soft)->errors;
}

static int vblk_open_queues(struct vblk *v, unsigned disk, const char *name)
{
    for (unsigned i = 0; i < v->nqueues; i++) {
        struct vblk_queue *vq = &v->queue[i];
        unsigned cpu = (i * ncpu / v->nqueues + disk) % ncpu;
        int err;

        vq->disk = v;
        snprintf(vq->name, sizeof vq->name, "%s-q%u", name, i);
        err = virtq_open(&v->dev, &vq->q, i, cpu, vblk_intr, vq, vq->name);
        if (err != 0)
            return err;
    }
    return 0;
}

static bool probe_virtio_disk(struct pci_fn f, uint32_t id, void *arg)
{
    struct disk_dev d = {
        .major = MAJOR, .minor = ndisks * MINORS, .start = vblk_start, .hw_errors = vblk_hw_errors};
    struct vblk *v;
    uint64_t features;
    int err;

    if (id != (VIRTIO_VENDOR | DEVICE_MODERN << 16) &&
        id != (VIRTIO_VENDOR | DEVICE_TRANSITIONAL << 16))
        return false;
    v = ndisks < MAX_DISKS ? kmem_zalloc(sizeof *v) : NULL;
    if (v == NULL) {
        warn("virtio-blk: more disks than %u, or no memory: ignored", ndisks);
        return false;
    }
    snprintf(d.name, sizeof d.name, "vd%c", 'a' + (int)ndisks);
    err = virtio_open(&v->dev, f, F_SEG_MAX | F_RO | F_FLUSH | F_MQ, &features);
    if (err == 0) {
        v->nqueues = features & F_MQ ? virtio_read16(v->dev.config + C_NUM_QUEUES) : 1;
        v->nqueues =
            min_of(min_of(v->nqueues, virtio_nqueues(&v->dev)), min_of((unsigned)MAX_QUEUES, ncpu));
        err = vblk_open_queues(v, ndisks, d.name);
    }
    if (err != 0) {
        warn("%s: PCI %02x:%02x.%u cannot be used: error %d", d.name, f.bus, f.dev, f.fn, -err);
        return false; /* v is not freed: the device may still use its queues */
    }
    d.sectors = virtio_read64(v->dev.config + C_CAPACITY);
    d.readonly = (features & F_RO) != 0;
    d.cached = (features & F_FLUSH) != 0;
    d.max_segs = features & F_SEG_MAX ? virtio_read32(v->dev.config + C_SEG_MAX) : 1;
    d.max_segs =
        max_of(1u, min_of(d.max_segs, min_of((unsigned)DISK_MAX_SEGS, v->queue[0].q.size - 2u)));
    d.max_sectors = DISK_MAX_SEGS * (PAGE_SIZE / DISK_SECTOR);
    d.depth = v->queue[0].q.size / 3; /* a command of one segment takes 3 descriptors */
    d.soft = v;
    ndisks++;
    virtio_start(&v->dev);
    attach_disk(&d);
    return false;
}

void virtio_blk_probe(disk_attach_fn attach)
{
    attach_disk = attach;
    pci_each(probe_virtio_disk, NULL);
}
