// SPDX-License-Identifier: MIT
/*
 * virtio_net.c - network cards of a virtual machine.
 *
 * THEORY      VIRTIO 1.1, 5.1.  A card has a receive queue, whose buffers the device fills, and a send queue.
 *             Each buffer begins with a header of 12 bytes, which are all zero because the driver negotiates
 *             no offloading.
 *             All buffers are allocated at boot and stay with the card.  The network copies a frame that has
 *             arrived, and the buffer goes back to the receive queue at once.
 *             The card interrupts for frames that have arrived, on a different CPU for each card.
 *             It does not interrupt for sent frames; the driver takes back their buffers when it
 *             sends the next frame.
 *             The driver does not trust what the device writes: virtio.c refuses a chain that was not given to
 *             the device, and this file drops and counts a frame with an impossible length.
 * INVARIANTS  I1  a receive buffer is in the queue, or its frame is being received
 *             I2  a send buffer is in `free`, or in the queue
 * LOCKING     The queues have their own locks.
 *             [s] guarded by the network's lock, which is held when vnet_send() is called
 *             [i] used only by the interrupt handler, which runs on one CPU at a time
 * SEE ALSO    drivers/virtio.h, drivers/nic.h, docs/network.md, kstat link:N:vnetN
 */
#include "drivers/nic.h"
#include "drivers/virtio.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/page.h"
#include "stat/kstat.h"
#include "stat/panic.h"

enum { DEVICE_TRANSITIONAL = 0x1000, DEVICE_MODERN = 0x1041 };
enum { F_MAC = 1 << 5 };
enum { RX_QUEUE, TX_QUEUE };
enum { HEADER = 12, BUFFER = 2048, NRX = 128, NTX = 128, PER_PAGE = PAGE_SIZE / BUFFER };

struct vnet {
    struct virtio_dev dev;
    struct nic_dev nic;
    struct virtq rx, tx;
    void *free[NTX]; /* [s] send buffers */
    unsigned nfree;  /* [s]              */
    char name[16];
    uint64_t interrupts, bad_length; /* [i] */
    uint64_t no_buffer;              /* [s] */
    struct kstat ks;
};

static unsigned ncards;
static nic_attach_fn attach_card;

static bool post_rx_buffer(struct vnet *v, void *buf)
{
    struct virtq_piece piece = {virt_to_phys(buf), BUFFER, true};

    return virtq_add_chain(&v->rx, &piece, 1, buf);
}

/*
 * Passes a frame to the network.  `written`: number of bytes that the device claims to have written, including
 * the header.
 */
static void deliver_rx_frame(struct vnet *v, const uint8_t *buf, uint32_t written)
{
    if (written < HEADER + NIC_FRAME_MIN || written > HEADER + NIC_FRAME_MAX)
        v->bad_length++;
    else
        v->nic.receive(v->nic.upper, buf + HEADER, written - HEADER);
}

static void vnet_intr(void *arg)
{
    struct vnet *v = arg;
    uint32_t written;
    void *buf;

    v->interrupts++;
    while ((buf = virtq_take_used(&v->rx, &written)) != NULL) {
        deliver_rx_frame(v, buf, written);
        (void)post_rx_buffer(v, buf); /* there is room, because the buffer was just taken out */
    }
}

static bool vnet_send(void *soft, unsigned len, void (*fill)(void *dst, void *arg), void *arg)
{
    struct vnet *v = soft;
    uint8_t *buf;
    struct virtq_piece piece;

    while (v->nfree < NTX && (buf = virtq_take_used(&v->tx, NULL)) != NULL)
        v->free[v->nfree++] = buf;
    if (v->nfree == 0 || len > NIC_FRAME_MAX) {
        v->no_buffer++;
        return false;
    }
    buf = v->free[--v->nfree];
    memset(buf, 0, HEADER);
    fill(buf + HEADER, arg);
    piece = (struct virtq_piece){virt_to_phys(buf), HEADER + len, false};
    if (virtq_add_chain(&v->tx, &piece, 1, buf))
        return true;
    v->free[v->nfree++] = buf;
    v->no_buffer++;
    return false;
}

/* Allocates the buffers for both directions, in the memory of node `node`.  0 or -ENOMEM. */
static int alloc_vnet_buffers(struct vnet *v, unsigned node)
{
    unsigned nrx = 0;

    while (v->nfree < NTX) {
        struct page *pg = page_alloc(node, 0, 0);

        if (pg == NULL)
            return -ENOMEM;
        for (unsigned k = 0; k < PER_PAGE && v->nfree < NTX; k++) {
            uint8_t *buf = (uint8_t *)page_to_virt(pg) + k * BUFFER;

            if (nrx < NRX && post_rx_buffer(v, buf)) {
                nrx++;
            } else {
                nrx = NRX; /* there are enough buffers, or the device's queue is shorter */
                v->free[v->nfree++] = buf;
            }
        }
    }
    return 0;
}

static const char *const names[] = {"interrupts", "bad_length", "no_buffer"};

static void vnet_kstat_snapshot(struct kstat *ks, uint64_t *out)
{
    const struct vnet *v = ks->arg;

    out[0] = v->interrupts, out[1] = v->bad_length, out[2] = v->no_buffer;
}

static void vnet_kstat_clear(struct kstat *ks)
{
    struct vnet *v = ks->arg;

    v->interrupts = v->bad_length = v->no_buffer = 0;
}

static int vnet_open_card(struct vnet *v, struct pci_fn f, unsigned cpu)
{
    uint64_t features;
    int err = virtio_open(&v->dev, f, F_MAC, &features);

    if (err != 0)
        return err;
    if (!(features & F_MAC) || v->dev.config_len < sizeof v->nic.mac)
        return -ENODEV;
    for (unsigned i = 0; i < sizeof v->nic.mac; i++)
        v->nic.mac[i] = v->dev.config[i];
    err = virtq_open(&v->dev, &v->rx, RX_QUEUE, cpu, vnet_intr, v, v->name);
    if (err == 0)
        err = virtq_open(&v->dev, &v->tx, TX_QUEUE, cpu, NULL, NULL, NULL);
    if (err != 0)
        return err;
    v->rx.quiet = true; /* a device must not be notified before virtio_start() */
    return alloc_vnet_buffers(v, cpus[cpu]->node);
}

static bool probe_virtio_card(struct pci_fn f, uint32_t id, void *arg)
{
    /* The cards' interrupts go to different CPUs, and not to CPU 0, which gets other interrupts. */
    unsigned cpu = (ncards * ncpu / 4 + 1 + ncards / 4) % ncpu;
    struct vnet *v;
    int err;

    if (id != (VIRTIO_VENDOR | DEVICE_MODERN << 16) &&
        id != (VIRTIO_VENDOR | DEVICE_TRANSITIONAL << 16))
        return false;
    v = ncards < NIC_MAX ? kmem_zalloc(sizeof *v) : NULL;
    if (v == NULL) {
        warn("virtio-net: more cards than %u, or no memory: ignored", (unsigned)NIC_MAX);
        return false;
    }
    snprintf(v->name, sizeof v->name, "vnet%u", ncards);
    v->nic.soft = v;
    v->nic.send = vnet_send;
    err = vnet_open_card(v, f, cpu);
    if (err != 0) {
        warn("%s: PCI %02x:%02x.%u cannot be used: error %d", v->name, f.bus, f.dev, f.fn, -err);
        return false; /* v is not freed: the device may still use its queues */
    }
    v->ks = (struct kstat){
        .module = "link",
        .instance = (int)ncards,
        .kclass = "net",
        .nstat = array_size(names),
        .names = names,
        .snapshot = vnet_kstat_snapshot,
        .clear = vnet_kstat_clear,
        .arg = v,
    };
    str_copy(v->ks.name, v->name, sizeof v->ks.name);
    kstat_register(&v->ks);
    ncards++;
    attach_card(&v->nic); /* sets nic.receive, so it must come before the first interrupt */
    virtio_start(&v->dev);
    v->rx.quiet = false;
    virtq_notify(&v->rx);
    return false;
}

void virtio_net_probe(nic_attach_fn attach)
{
    attach_card = attach;
    pci_each(probe_virtio_card, NULL);
}
