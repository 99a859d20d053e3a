// SPDX-License-Identifier: MIT
/*
 * virtio.c - see virtio.h.
 *
 * THEORY      Offsets and bits are those of the specification, 4.1.4 (structures) and 2.1 (status).
 *             The device sees the stores of the driver in program order, like any x86 CPU.
 *             The driver notifies the device of every chain, even if the device has set the flag
 *             that means that it needs no notification (2.6.10).  To use this flag, a driver needs
 *             a full fence between adding to the `avail` ring and reading the flag.  But if one
 *             host thread runs all CPUs, QEMU before 8.1 omits the guest's fences, although its
 *             device works in another thread.  In that case a notification could be lost, and a
 *             command could wait for ever.
 */
#include "drivers/virtio.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/page.h"
#include "stat/panic.h"
#include "x86/mmu.h"

enum { CAP_VENDOR = 9, CFG_COMMON = 1, CFG_NOTIFY = 2, CFG_DEVICE = 4 };
enum { /* registers of the common structure */
       R_DEV_SELECT = 0,
       R_DEV_FEATURES = 4,
       R_DRV_SELECT = 8,
       R_DRV_FEATURES = 12,
       R_MSIX_CONFIG = 16,
       R_NQUEUES = 18,
       R_STATUS = 20,
       R_Q_SELECT = 22,
       R_Q_SIZE = 24,
       R_Q_MSIX = 26,
       R_Q_ENABLE = 28,
       R_Q_NOTIFY = 30,
       R_Q_DESC = 32,
       R_Q_DRIVER = 40,
       R_Q_DEVICE = 48,
};
enum { S_ACKNOWLEDGE = 1, S_DRIVER = 2, S_DRIVER_OK = 4, S_FEATURES_OK = 8, S_FAILED = 128 };
enum { D_NEXT = 1, D_WRITE = 2, AVAIL_NO_INTERRUPT = 1, NO_VECTOR = 0xffff, QUEUE_MAX = 256 };
#define F_VERSION_1 (1ull << 32)

struct virtq_desc {
    uint64_t addr;
    uint32_t len;
    uint16_t flags, next;
};

uint16_t virtio_read16(volatile const uint8_t *reg)
{
    return *(volatile const uint16_t *)reg;
}

uint32_t virtio_read32(volatile const uint8_t *reg)
{
    return *(volatile const uint32_t *)reg;
}

uint64_t virtio_read64(volatile const uint8_t *reg)
{
    return virtio_read32(reg) | (uint64_t)virtio_read32(reg + 4) << 32;
}

static void virtio_write16(volatile uint8_t *reg, unsigned v)
{
    *(volatile uint16_t *)reg = (uint16_t)v;
}

static void virtio_write32(volatile uint8_t *reg, uint32_t v)
{
    *(volatile uint32_t *)reg = v;
}

static void virtio_write64(volatile uint8_t *reg, uint64_t v)
{
    virtio_write32(reg, (uint32_t)v);
    virtio_write32(reg + 4, (uint32_t)(v >> 32));
}

static void add_device_status(struct virtio_dev *d, unsigned bits)
{
    d->common[R_STATUS] = (uint8_t)(d->common[R_STATUS] | bits);
}

/*
 * Maps the structure (registers) of kind `type`; NULL: there is no such structure of at least
 * `least` bytes.  *len is the size of the structure in bytes, *at is the offset of its capability.
 */
static volatile uint8_t *map_virtio_structure(struct pci_fn f, unsigned type, uint32_t least,
                                              uint32_t *len, unsigned *at)
{
    unsigned cap = pci_cap(f, CAP_VENDOR, 0);

    for (unsigned n = 0; cap != 0 && n < PCI_CAPS_MAX; n++, cap = pci_cap(f, CAP_VENDOR, cap)) {
        uint32_t off = pci_read(f, cap + 8);
        struct pci_bar bar;

        if (pci_read(f, cap) >> 24 != type)
            continue;
        *len = pci_read(f, cap + 12);
        if (*len < least || pci_bar(f, pci_read(f, cap + 4) & 0xff, &bar) != 0 || bar.io ||
            off > bar.len || *len > bar.len - off)
            continue;
        *at = cap;
        *len = min_of(*len, (uint32_t)(16 * PAGE_SIZE));
        return mmu_map_device(bar.base + off, *len);
    }
    return NULL;
}

/* Sets d->common, d->config, d->notify and d->notify_step; false if the device lacks one of the structures. */
static bool map_virtio_structures(struct virtio_dev *d)
{
    uint32_t len;
    unsigned cap;

    d->common = map_virtio_structure(d->f, CFG_COMMON, 56, &len, &cap);
    if (d->common == NULL)
        return false;
    d->config = map_virtio_structure(d->f, CFG_DEVICE, 1, &d->config_len, &cap);
    if (d->config == NULL)
        return false;
    d->notify = map_virtio_structure(d->f, CFG_NOTIFY, 2, &len, &cap);
    if (d->notify == NULL)
        return false;
    d->notify_step = pci_read(d->f, cap + 16);
    return true;
}

int virtio_open(struct virtio_dev *d, struct pci_fn f, uint64_t wanted, uint64_t *features)
{
    uint64_t offered;

    *d = (struct virtio_dev){.f = f};
    pci_enable(f, PCI_CMD_MEMORY);
    if (!map_virtio_structures(d) || pci_msix_open(f, &d->msix) != 0)
        return -ENODEV;
    d->common[R_STATUS] = 0;
    while (d->common[R_STATUS] != 0)
        cpu_pause(); /* the reset has ended when the status is 0 */
    add_device_status(d, S_ACKNOWLEDGE | S_DRIVER);
    virtio_write32(d->common + R_DEV_SELECT, 0);
    offered = virtio_read32(d->common + R_DEV_FEATURES);
    virtio_write32(d->common + R_DEV_SELECT, 1);
    offered |= (uint64_t)virtio_read32(d->common + R_DEV_FEATURES) << 32;
    *features = offered & (wanted | F_VERSION_1);
    virtio_write32(d->common + R_DRV_SELECT, 0);
    virtio_write32(d->common + R_DRV_FEATURES, (uint32_t)*features);
    virtio_write32(d->common + R_DRV_SELECT, 1);
    virtio_write32(d->common + R_DRV_FEATURES, (uint32_t)(*features >> 32));
    add_device_status(d, S_FEATURES_OK);
    if (!(*features & F_VERSION_1) || !(d->common[R_STATUS] & S_FEATURES_OK)) {
        virtio_fail(d);
        return -ENODEV;
    }
    virtio_write16(d->common + R_MSIX_CONFIG, NO_VECTOR);
    pci_msix_enable(&d->msix);
    return 0;
}

void virtio_start(struct virtio_dev *d)
{
    add_device_status(d, S_DRIVER_OK);
}

void virtio_fail(struct virtio_dev *d)
{
    add_device_status(d, S_FAILED);
}

unsigned virtio_nqueues(struct virtio_dev *d)
{
    return min_of((unsigned)virtio_read16(d->common + R_NQUEUES), d->msix.count);
}

/*
 * Allocates the arrays of a queue in contiguous memory: q->size descriptors of 16 bytes, the `avail` ring, and
 * the `used` ring at a multiple of 64 bytes.  0 or -ENOMEM.
 */
static int alloc_virtq_arrays(struct virtq *q, unsigned node)
{
    size_t avail = 16ul * q->size, used = round_up(avail + 6 + 2ul * q->size, 64);
    size_t bytes = used + 6 + 8ul * q->size;
    unsigned order = 0;
    struct page *pg;

    while (PAGE_SIZE << order < bytes)
        order++;
    pg = page_alloc(node, order, ALLOC_ZERO);
    q->cookie = kmem_zalloc(q->size * sizeof q->cookie[0]);
    if (pg == NULL || q->cookie == NULL) {
        if (pg != NULL)
            page_free(pg);
        kmem_free(q->cookie);
        return -ENOMEM;
    }
    q->desc = page_to_virt(pg);
    q->avail = (volatile uint16_t *)((uint8_t *)q->desc + avail);
    q->used = (volatile uint16_t *)((uint8_t *)q->desc + used);
    for (uint16_t i = 0; i < q->size; i++)
        q->desc[i].next = (uint16_t)(i + 1);
    q->nfree = q->size;
    return 0;
}

int virtq_open(struct virtio_dev *d, struct virtq *q, unsigned index, unsigned cpu,
               void (*fn)(void *), void *arg, const char *name)
{
    int err;

    memset(q, 0, sizeof *q);
    spin_init(&q->lock, RANK_DRIVER);
    virtio_write16(d->common + R_Q_SELECT, index);
    q->index = (uint16_t)index;
    q->size = (uint16_t)min_of((unsigned)virtio_read16(d->common + R_Q_SIZE), (unsigned)QUEUE_MAX);
    if (q->size == 0 || (q->size & (q->size - 1)) != 0)
        return -ENODEV;
    err = alloc_virtq_arrays(q, cpus[cpu]->node);
    if (err != 0)
        return err;
    if (fn == NULL) {
        q->avail[0] = AVAIL_NO_INTERRUPT;
        virtio_write16(d->common + R_Q_MSIX, NO_VECTOR);
    } else {
        err = pci_msix_handle(&d->msix, index, cpu, fn, arg, name);
        if (err != 0)
            return err;
        virtio_write16(d->common + R_Q_MSIX, index);
        if (virtio_read16(d->common + R_Q_MSIX) == NO_VECTOR)
            return -ENODEV;
    }
    virtio_write16(d->common + R_Q_SIZE, q->size);
    virtio_write64(d->common + R_Q_DESC, virt_to_phys(q->desc));
    virtio_write64(d->common + R_Q_DRIVER, virt_to_phys((void *)(uintptr_t)q->avail));
    virtio_write64(d->common + R_Q_DEVICE, virt_to_phys((void *)(uintptr_t)q->used));
    q->notify =
        (volatile uint32_t *)(d->notify + virtio_read16(d->common + R_Q_NOTIFY) * d->notify_step);
    virtio_write16(d->common + R_Q_ENABLE, 1);
    return 0;
}

void virtq_notify(struct virtq *q)
{
    *(volatile uint16_t *)q->notify = q->index;
}

bool virtq_add_chain(struct virtq *q, const struct virtq_piece *piece, unsigned n, void *cookie)
{
    uint16_t head, at;
    bool quiet;

    spin_lock(&q->lock);
    if (q->nfree < n) {
        spin_unlock(&q->lock);
        return false;
    }
    head = at = q->free_head;
    for (unsigned i = 0; i < n; i++) {
        struct virtq_desc *e = &q->desc[at];

        e->addr = piece[i].pa;
        e->len = piece[i].len;
        e->flags = (uint16_t)((piece[i].to_driver ? D_WRITE : 0) | (i + 1 < n ? D_NEXT : 0));
        at = e->next;
    }
    q->free_head = at;
    q->nfree = (uint16_t)(q->nfree - n);
    q->cookie[head] = cookie;
    q->avail[2 + (q->avail[1] & (q->size - 1))] = head;
    atomic_thread_fence(memory_order_release);
    q->avail[1] = (uint16_t)(q->avail[1] + 1);
    quiet = q->quiet;
    spin_unlock(&q->lock);
    if (!quiet)
        virtq_notify(q);
    return true;
}

void *virtq_take_used(struct virtq *q, uint32_t *written)
{
    void *cookie = NULL;

    spin_lock(&q->lock);
    while (cookie == NULL && q->next_used != q->used[1]) {
        volatile uint32_t *e =
            (volatile uint32_t *)(q->used + 2) + 2 * (q->next_used & (q->size - 1));
        uint32_t head = (atomic_thread_fence(memory_order_acquire), e[0]), len = e[1];
        uint16_t n = 1, last;

        q->next_used++;
        if (head < q->size)
            cookie = q->cookie[head];
        if (cookie == NULL) {
            warn("virtio: the device ended a chain, %u, that it was not given", head);
            continue;
        }
        if (written != NULL)
            *written = len;
        q->cookie[head] = NULL;
        for (last = (uint16_t)head; q->desc[last].flags & D_NEXT; last = q->desc[last].next)
            n++;
        q->desc[last].next = q->free_head;
        q->free_head = (uint16_t)head;
        q->nfree = (uint16_t)(q->nfree + n);
    }
    spin_unlock(&q->lock);
    return cookie;
}
