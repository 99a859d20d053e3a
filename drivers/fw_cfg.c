// SPDX-License-Identifier: MIT
/*
 * fw_cfg.c - QEMU's firmware configuration device.
 *
 * THEORY      QEMU passes data to the guest in numbered items.  Item 0x19 is a directory that gives names and
 *             sizes to some of them.
 *             An item can be read byte by byte through a selector port and a data port, or as a whole by DMA.
 *             For DMA the kernel writes the physical address of a small request to a third port.  The
 *             transfer is complete when the request's control word has become 0, normally when the write
 *             instruction ends.
 *             The device keeps a position in the selected item, which each read advances.  A DMA request of
 *             kind SKIP advances the position without a transfer.
 *             All numbers of the interface are big-endian, except for the selector port and
 *             the contents of items.
 *             The directory is read once, at first use; it does not change while the machine runs.
 * INVARIANTS  I1  fw_cfg_lock is held from the selection of an item to the last byte of its transfer
 *             I2  fw_cfg_dir is filled completely before fw_cfg_state becomes READY
 * LOCKING     fw_cfg_lock (RANK_UART: no other lock is taken while it is held)
 * SEE ALSO    docs/devices.md; QEMU's docs/specs/fw_cfg
 */
#include "drivers/fw_cfg.h"
#include "lib/errno.h"
#include "lib/spinlock.h"
#include "lib/string.h"
#include "x86/mmu.h"
#include "x86/pio.h"

enum {
    PORT_SELECT = 0x510, /* 16 bits, little-endian */
    PORT_DATA = 0x511,
    PORT_DMA_HI = 0x514, /* 32 bits each, big-endian; writing the low half starts the request */
    PORT_DMA_LO = 0x518,
    ITEM_SIG = 0x00, /* contains "QEMU" */
    ITEM_ID = 0x01,  /* bit 1: the device has DMA */
    ITEM_DIR = 0x19,
    DMA_ERROR = 1,
    DMA_READ = 2,
    DMA_SKIP = 4,
    DMA_SELECT = 8,
    DIR_MAX = 96, /* most files of the directory; further files are ignored */
};

struct dma_request {
    uint32_t control; /* selector << 16 | DMA_* */
    uint32_t length;
    uint64_t addr;
} __attribute__((packed));

static struct spinlock fw_cfg_lock = SPINLOCK_INIT(RANK_UART);
static enum { UNKNOWN, ABSENT, READY } fw_cfg_state; /* [fw_cfg_lock] */
static bool fw_cfg_dma;                              /* [c] once READY */
static unsigned fw_cfg_nfiles;
static struct fw_cfg_file fw_cfg_dir[DIR_MAX];
/* [fw_cfg_lock] number of files, big-endian; static, so that DMA can write it */
static uint32_t dir_count;
static struct dma_request request __attribute__((aligned(16))); /* [fw_cfg_lock] */

/* Carries out one DMA request and waits for its end; buf is NULL for SKIP.  0 or -EIO. */
static int run_fw_cfg_dma(uint32_t control, void *buf, uint32_t n)
{
    paddr_t pa = kva_to_phys(&request);

    request.control = __builtin_bswap32(control);
    request.length = __builtin_bswap32(n);
    request.addr = buf != NULL ? __builtin_bswap64(kva_to_phys(buf)) : 0;
    outl(PORT_DMA_HI, __builtin_bswap32((uint32_t)(pa >> 32)));
    outl(PORT_DMA_LO, __builtin_bswap32((uint32_t)pa));
    while ((control = __builtin_bswap32(__atomic_load_n(&request.control, __ATOMIC_ACQUIRE))) &
           ~DMA_ERROR)
        cpu_pause();
    return control & DMA_ERROR ? -EIO : 0;
}

/* Copies n bytes of an item, starting at byte `off`.  The caller holds fw_cfg_lock (I1).  0 or -EIO. */
static int read_fw_cfg_item(uint16_t sel, uint32_t off, void *buf, size_t n)
{
    uint32_t first = (uint32_t)sel << 16 | DMA_SELECT;
    uint8_t *out = buf;
    int err;

    if (fw_cfg_dma && !mmu_on_stack(buf)) {
        if (off != 0) {
            err = run_fw_cfg_dma(first | DMA_SKIP, NULL, off);
            if (err != 0)
                return err;
            first = 0;
        }
        return run_fw_cfg_dma(first | DMA_READ, buf, (uint32_t)n);
    }
    outw(PORT_SELECT, sel);
    while (off-- > 0)
        (void)inb(PORT_DATA);
    while (n-- > 0)
        *out++ = inb(PORT_DATA);
    return 0;
}

/*
 * At the first call, finds the device and reads its directory.  Returns whether the device exists.  The caller
 * holds fw_cfg_lock.
 */
static bool probe_fw_cfg(void)
{
    uint8_t id[4];
    uint32_t n;

    if (fw_cfg_state != UNKNOWN)
        return fw_cfg_state == READY;
    fw_cfg_state = ABSENT;
    read_fw_cfg_item(ITEM_SIG, 0, id, sizeof id);
    if (memcmp(id, "QEMU", 4) != 0)
        return false;
    read_fw_cfg_item(ITEM_ID, 0, id, sizeof id);
    fw_cfg_dma = (id[0] & 2) != 0;
    if (read_fw_cfg_item(ITEM_DIR, 0, &dir_count, sizeof dir_count) != 0)
        return false;
    n = min_of(__builtin_bswap32(dir_count), (uint32_t)DIR_MAX);
    if (read_fw_cfg_item(ITEM_DIR, sizeof dir_count, fw_cfg_dir, n * sizeof fw_cfg_dir[0]) != 0)
        return false;
    for (unsigned i = 0; i < n; i++) {
        struct fw_cfg_file *f = &fw_cfg_dir[i];

        f->size = __builtin_bswap32(f->size);
        f->sel = __builtin_bswap16(f->sel);
        f->name[FW_CFG_NAME_MAX - 1] = '\0';
    }
    fw_cfg_nfiles = n;
    fw_cfg_state = READY; /* I2 */
    return true;
}

static bool is_fw_cfg_present(void)
{
    bool r;

    spin_lock(&fw_cfg_lock);
    r = probe_fw_cfg();
    spin_unlock(&fw_cfg_lock);
    return r;
}

const struct fw_cfg_file *fw_cfg_file_at(unsigned i)
{
    return is_fw_cfg_present() && i < fw_cfg_nfiles ? &fw_cfg_dir[i] : NULL;
}

int fw_cfg_find(const char *name, uint32_t *size, uint16_t *sel)
{
    const struct fw_cfg_file *f;

    for (unsigned i = 0; (f = fw_cfg_file_at(i)) != NULL; i++) {
        if (strcmp(f->name, name) != 0)
            continue;
        *size = f->size;
        *sel = f->sel;
        return 0;
    }
    return -ENOENT;
}

int fw_cfg_read_at(uint16_t sel, uint32_t off, void *buf, size_t size)
{
    int err;

    spin_lock(&fw_cfg_lock);
    err = probe_fw_cfg() ? read_fw_cfg_item(sel, off, buf, size) : -ENODEV;
    spin_unlock(&fw_cfg_lock);
    return err;
}

int fw_cfg_read(uint16_t sel, void *buf, size_t size)
{
    return fw_cfg_read_at(sel, 0, buf, size);
}
