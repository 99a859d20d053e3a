// SPDX-License-Identifier: MIT
/*
 * ide.c - disks on the IDE controller of the PIIX3 and PIIX4.
 *
 * THEORY      The controller has two channels, at the ports and interrupts that they had on the ISA
 *             bus.  Each channel has two disks.  A channel carries out one command at a time; a
 *             command for the other disk of the channel waits.
 *             With programmed I/O (PIO) the processor moves each word between the data port and memory.  The
 *             disk interrupts once for a block of sectors (READ MULTIPLE).
 *             With DMA the controller moves all data itself, between the disk and the pieces of memory that a
 *             table (PRD) lists, and interrupts once at the end.  The table holds 32-bit addresses, so a
 *             command with memory above 4 GiB uses PIO.  If ide_dma is 0, all commands use PIO.
 *             The commands are described in ATA/ATAPI-6 (T13/1410D), DMA in Intel's PIIX data sheet (290550)
 *             and in "Programming Interface for Bus Master IDE Controller" 1.0.
 * INVARIANTS  I1  ch->cur is the command that the channel carries out; NULL: the channel is idle
 *                 and ch->waiting is empty
 * LOCKING     ch->lock (RANK_DRIVER) guards the fields marked [l].  Probing happens before interrupts are
 *             registered, and polls.
 * TUNABLES    ide_dma
 * SEE ALSO    drivers/disk.h, docs/disks.md
 */
#include "disp/timer.h"
#include "drivers/disk.h"
#include "drivers/pci.h"
#include "intr/intr.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/spinlock.h"
#include "lib/string.h"
#include "mem/page.h"
#include "stat/panic.h"
#include "stat/tunable.h"
#include "x86/pio.h"

enum {
    VENDOR_INTEL = 0x8086,
    PIIX3_IDE = 0x7010,
    PIIX4_IDE = 0x7111,
    NATIVE_MODE = 5,
    BAR_BUS_MASTER = 4
};
enum { /* registers of a channel */
       R_DATA = 0,
       R_ERROR = 1,
       R_FEATURES = 1,
       R_COUNT = 2,
       R_LBA0 = 3,
       R_LBA1 = 4,
       R_LBA2 = 5,
       R_DEVICE = 6,
       R_STATUS = 7,
       R_COMMAND = 7,
};
enum {
    ST_ERR = 0x01,
    ST_DRQ = 0x08,
    ST_DF = 0x20,
    ST_BSY = 0x80,
    CTL_SILENT = 2,
    CTL_RESET = 4,
    DEV_LBA = 0x40
};
enum {
    BM_COMMAND = 0,
    BM_STATUS = 2,
    BM_TABLE = 4,
    BM_START = 1,
    BM_TO_MEMORY = 8,
    BM_ERROR = 2,
    BM_INTR = 4
};
enum { PRD_LAST = 0x8000, PRD_MAX = PAGE_SIZE / 8 };
enum { ATA_IDENTIFY = 0xec, ATA_SET_MULTIPLE = 0xc6 };

/* Command codes: [op][0] for addresses of 28 bits, [op][1] for 48 bits. */
static const uint8_t code_pio[][2] = {[DISK_READ] = {0x20, 0x24}, [DISK_WRITE] = {0x30, 0x34}};
static const uint8_t code_multiple[][2] = {[DISK_READ] = {0xc4, 0x29}, [DISK_WRITE] = {0xc5, 0x39}};
static const uint8_t code_dma[][2] = {[DISK_READ] = {0xc8, 0x25}, [DISK_WRITE] = {0xca, 0x35}};
static const uint8_t code_flush[2] = {0xe7, 0xea};

/* 30 s: longest time for a command; after this time the channel is reset */
#define TIMEOUT_NS 30000000000ull
#define POLL_NS    1000000000ull /* 1 s: longest time that a busy disk is polled */

struct prd {
    uint32_t pa;
    uint16_t len; /* bytes; 0: 64 KiB */
    uint16_t flags;
};

struct ide_disk {
    struct channel *ch;
    unsigned unit; /* 0, 1                                                     */
    bool lba48;
    /* sectors for each interrupt; 1: do not use READ MULTIPLE and WRITE MULTIPLE */
    unsigned multiple;
    _Atomic uint64_t errors;
};

static struct channel {
    struct spinlock lock;
    uint16_t base, ctl, bm; /* [c] ports; bm 0: no DMA                        */
    unsigned irq;           /* [c]                                            */
    const char *name;       /* [c]                                            */
    struct prd *table;      /* [c]                                            */
    struct ide_disk disk[2];
    struct disk_cmd *cur;      /* [l] I1                                         */
    struct ide_disk *cur_disk; /* [l]                                            */
    struct list waiting;       /* [l] commands                                   */
    bool dma;                  /* [l] the controller moves cur's data            */
    unsigned seg;              /* [l] PIO: segment of the next sector            */
    uint32_t off;              /* [l] PIO: byte in this segment                  */
    uint32_t left;             /* [l] PIO: sectors that are still to be moved    */
    struct timer timer;        /* ends a command that takes too long             */
    bool timer_set;            /* [l]                                            */
    uint64_t deadline;         /* [l] of cur, ns of clock_mono_ns()              */
} channels[2] = {
    {.base = 0x1f0, .ctl = 0x3f6, .irq = 14, .name = "ide0"},
    {.base = 0x170, .ctl = 0x376, .irq = 15, .name = "ide1"},
};

static unsigned ide_dma = 1;
TUNABLE(ide_dma, 0, 1,
        "default 1; 0: the processor moves the data of IDE disks (PIO); read for each command");

/* Status becomes valid 400 ns after a command; four reads of the alternate status register take that long. */
static uint8_t read_settled_status(struct channel *ch)
{
    for (unsigned i = 0; i < 3; i++)
        inb(ch->ctl);
    return inb(ch->ctl);
}

static void load_lba_registers(struct channel *ch, const struct ide_disk *k, uint64_t sector,
                               uint32_t count)
{
    if (k->lba48) { /* each register takes two bytes, the high byte first */
        outb(ch->base + R_COUNT, (uint8_t)(count >> 8));
        outb(ch->base + R_LBA0, (uint8_t)(sector >> 24));
        outb(ch->base + R_LBA1, (uint8_t)(sector >> 32));
        outb(ch->base + R_LBA2, (uint8_t)(sector >> 40));
    }
    outb(ch->base + R_COUNT, (uint8_t)count);
    outb(ch->base + R_LBA0, (uint8_t)sector);
    outb(ch->base + R_LBA1, (uint8_t)(sector >> 8));
    outb(ch->base + R_LBA2, (uint8_t)(sector >> 16));
    outb(ch->base + R_DEVICE,
         (uint8_t)(DEV_LBA | k->unit << 4 | (k->lba48 ? 0 : sector >> 24 & 15)));
}

/* ---- moving data ----------------------------------------------------------------------------- */

/*
 * Fills the controller's PRD table.  false: the command has too many pieces, or memory above 4 GiB.
 */
static bool build_prd_table(struct channel *ch, const struct disk_cmd *c)
{
    unsigned n = 0;

    for (unsigned i = 0; i < c->nsegs; i++) {
        paddr_t pa = c->seg[i].pa;
        uint32_t left = c->seg[i].len;

        if (pa + left > 1ull << 32)
            return false;
        while (left > 0) { /* a piece must not cross a multiple of 64 KiB */
            uint32_t len = min_of(left, (uint32_t)(0x10000 - (pa & 0xffff)));

            if (n == PRD_MAX)
                return false;
            ch->table[n++] = (struct prd){(uint32_t)pa, (uint16_t)len, 0};
            pa += len;
            left -= len;
        }
    }
    ch->table[n - 1].flags = PRD_LAST;
    return true;
}

/* Moves the sectors of one interrupt between the data port and memory. */
static void move_pio_block(struct channel *ch)
{
    struct disk_cmd *c = ch->cur;

    for (unsigned i = 0; i < ch->cur_disk->multiple && ch->left > 0; i++, ch->left--) {
        void *at = phys_to_virt(c->seg[ch->seg].pa + ch->off);

        if (c->op == DISK_READ)
            insw(ch->base + R_DATA, at, DISK_SECTOR / 2);
        else
            outsw(ch->base + R_DATA, at, DISK_SECTOR / 2);
        ch->off += DISK_SECTOR;
        if (ch->off == c->seg[ch->seg].len) {
            ch->seg++;
            ch->off = 0;
        }
    }
}

/*
 * Polls until the disk is not busy, for at most POLL_NS.  Returns the status of the disk; ST_BSY is
 * set if the disk stays busy.
 */
static uint8_t poll_while_busy(struct channel *ch)
{
    uint64_t give_up = clock_mono_ns() + POLL_NS;
    uint8_t status = read_settled_status(ch);

    while ((status & ST_BSY) && clock_mono_ns() < give_up)
        status = inb(ch->ctl);
    return status;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void check_command_deadline(struct timer *t);

/*
 * Sets the deadline of the current command.  A timer that is set is not changed, because its function may
 * already be running and waiting for ch->lock.  The function compares the time with ch->deadline.
 */
static void set_command_deadline(struct channel *ch, uint64_t deadline)
{
    ch->deadline = deadline;
    if (!ch->timer_set) {
        ch->timer_set = true;
        timer_arm(&ch->timer, deadline, check_command_deadline);
    }
}

static void start_dma_command(struct channel *ch, unsigned code)
{
    unsigned dir = ch->cur->op == DISK_READ ? BM_TO_MEMORY : 0;

    outb(ch->bm + BM_COMMAND, (uint8_t)dir);
    outl(ch->bm + BM_TABLE, (uint32_t)virt_to_phys(ch->table));
    outb(ch->bm + BM_STATUS, (uint8_t)(inb(ch->bm + BM_STATUS) | BM_ERROR | BM_INTR));
    outb(ch->base + R_COMMAND, (uint8_t)code);
    outb(ch->bm + BM_COMMAND, (uint8_t)(dir | BM_START));
}

/*
 * Starts ch->cur.  The caller holds the lock.  If the command cannot be started, the timer's function ends it
 * with an error.
 */
static void start_current_command(struct channel *ch)
{
    struct disk_cmd *c = ch->cur;
    struct ide_disk *k = ch->cur_disk;
    uint64_t now = clock_mono_ns();

    set_command_deadline(ch, now + TIMEOUT_NS);
    ch->seg = ch->off = 0;
    ch->left = c->nsect;
    ch->dma = c->op != DISK_FLUSH && ide_dma != 0 && ch->bm != 0 && build_prd_table(ch, c);
    outb(ch->base + R_DEVICE, (uint8_t)(DEV_LBA | k->unit << 4));
    if (poll_while_busy(ch) & ST_BSY) {
        set_command_deadline(ch, now);
        return;
    }
    if (c->op == DISK_FLUSH) {
        outb(ch->base + R_COMMAND, code_flush[k->lba48]);
        return;
    }
    load_lba_registers(ch, k, c->sector, c->nsect);
    if (ch->dma) {
        start_dma_command(ch, code_dma[c->op][k->lba48]);
        return;
    }
    outb(ch->base + R_COMMAND, (k->multiple > 1 ? code_multiple : code_pio)[c->op][k->lba48]);
    if (c->op == DISK_WRITE) { /* the disk sends no interrupt before the first block */
        uint8_t status = poll_while_busy(ch);

        if ((status & (ST_BSY | ST_ERR | ST_DF)) == 0 && (status & ST_DRQ))
            move_pio_block(ch);
        else
            set_command_deadline(ch, now);
    }
}

static bool ide_start(void *soft, struct disk_cmd *c)
{
    struct ide_disk *k = soft;
    struct channel *ch = k->ch;

    *(struct ide_disk **)c->hw = k;
    spin_lock(&ch->lock);
    if (ch->cur != NULL) {
        list_push_back(&ch->waiting, &c->link);
    } else {
        ch->cur = c;
        ch->cur_disk = k;
        start_current_command(ch);
    }
    spin_unlock(&ch->lock);
    return true;
}

/* Ends the current command and starts the next.  The caller holds the lock.  Returns the command that has ended. */
static struct disk_cmd *end_current_command(struct channel *ch, int error)
{
    struct disk_cmd *ended = ch->cur;

    if (error != 0)
        ch->cur_disk->errors++;
    ch->cur = list_pop(&ch->waiting, struct disk_cmd, link);
    if (ch->cur != NULL) {
        ch->cur_disk = *(struct ide_disk **)ch->cur->hw;
        start_current_command(ch);
    }
    return ended;
}

static void ide_intr(void *arg)
{
    struct channel *ch = arg;
    struct disk_cmd *ended = NULL;
    uint8_t status, bm = 0;
    int error = 0;

    spin_lock(&ch->lock);
    status = inb(ch->base + R_STATUS); /* this read clears the interrupt */
    if (ch->cur == NULL || (status & ST_BSY)) {
        spin_unlock(&ch->lock);
        return;
    }
    if (ch->dma) {
        bm = inb(ch->bm + BM_STATUS);
        if (!(bm & BM_INTR)) {
            spin_unlock(&ch->lock);
            return;
        }
        outb(ch->bm + BM_COMMAND, 0);
        outb(ch->bm + BM_STATUS, (uint8_t)(bm | BM_INTR | BM_ERROR));
        ch->left = 0;
    }
    if ((status & (ST_ERR | ST_DF)) || (bm & BM_ERROR))
        error = -EIO;
    else if (ch->left > 0 && ch->cur->op != DISK_FLUSH && (status & ST_DRQ))
        move_pio_block(ch);
    /* A read ends with its last block.  A write ends with one more interrupt, after the last block. */
    if (error != 0 || ch->cur->op == DISK_FLUSH || ch->dma ||
        (ch->left == 0 && !(status & ST_DRQ)) || (ch->left == 0 && ch->cur->op == DISK_READ))
        ended = end_current_command(ch, error);
    spin_unlock(&ch->lock);
    if (ended != NULL)
        ended->done(ended, error);
}

static void reset_ide_channel(struct channel *ch)
{
    if (ch->bm != 0)
        outb(ch->bm + BM_COMMAND, 0);
    outb(ch->ctl, CTL_RESET);
    read_settled_status(ch);
    outb(ch->ctl, 0);
    poll_while_busy(ch);
}

/* Timer function: if the deadline has passed, resets the channel and ends the command with -EIO. */
static void check_command_deadline(struct timer *t)
{
    struct channel *ch = container_of(t, struct channel, timer);
    struct disk_cmd *ended = NULL;

    spin_lock(&ch->lock);
    ch->timer_set = false;
    if (ch->cur != NULL && clock_mono_ns() >= ch->deadline) {
        warn("%s: no answer to a command for sector %lu: reset", ch->name, ch->cur->sector);
        reset_ide_channel(ch);
        ended = end_current_command(ch, -EIO);
    } else if (ch->cur != NULL) {
        set_command_deadline(ch, ch->deadline);
    }
    spin_unlock(&ch->lock);
    if (ended != NULL)
        ended->done(ended, -EIO);
}

/* ---- probing --------------------------------------------------------------------------------- */

static uint64_t ide_hw_errors(void *soft)
{
    return ((struct ide_disk *)soft)->errors;
}

/* Gets the disk's IDENTIFY data.  false: there is no disk, or it does not support block addresses (LBA). */
static bool identify_disk(struct channel *ch, unsigned unit, uint16_t id[256])
{
    uint8_t status;

    outb(ch->base + R_DEVICE, (uint8_t)(DEV_LBA | unit << 4));
    status = read_settled_status(ch);
    if (status == 0 || status == 0xff)
        return false;
    outb(ch->base + R_COUNT, 0);
    outb(ch->base + R_LBA0, 0);
    outb(ch->base + R_LBA1, 0);
    outb(ch->base + R_LBA2, 0);
    outb(ch->base + R_COMMAND, ATA_IDENTIFY);
    status = poll_while_busy(ch);
    if ((status & (ST_BSY | ST_ERR)) || !(status & ST_DRQ)) /* a CD drive returns an error */
        return false;
    insw(ch->base + R_DATA, id, 256);
    return (id[49] & 1 << 9) != 0; /* supports LBA */
}

/* Sets the number of sectors for each interrupt to `most`, the disk's limit; to 1 if the disk refuses. */
static void set_multiple_mode(struct channel *ch, struct ide_disk *k, unsigned most)
{
    uint8_t status;

    k->multiple = 1;
    if (most < 2)
        return;
    outb(ch->base + R_COUNT, (uint8_t)most);
    outb(ch->base + R_COMMAND, ATA_SET_MULTIPLE);
    status = poll_while_busy(ch);
    if (!(status & (ST_BSY | ST_ERR)))
        k->multiple = most;
}

static bool probe_ide_disk(struct channel *ch, unsigned number, unsigned unit, struct disk_dev *d)
{
    struct ide_disk *k = &ch->disk[unit];
    uint16_t id[256];

    if (!identify_disk(ch, unit, id))
        return false;
    *k = (struct ide_disk){.ch = ch, .unit = unit, .lba48 = (id[83] & 0xc400) == 0x4400};
    *d = (struct disk_dev){.major = number == 0 ? 3 : 22,
                           .minor = unit * 64,
                           .soft = k,
                           .start = ide_start,
                           .hw_errors = ide_hw_errors,
                           .depth = 1,
                           .max_segs = DISK_MAX_SEGS};
    snprintf(d->name, sizeof d->name, "hd%c", 'a' + (int)(number * 2 + unit));
    d->sectors = k->lba48 ? id[100] | (uint64_t)id[101] << 16 | (uint64_t)id[102] << 32 |
                                (uint64_t)id[103] << 48
                          : id[60] | (uint64_t)id[61] << 16;
    d->cached = (id[83] & 1 << 12) != 0; /* supports FLUSH CACHE */
    d->max_sectors = k->lba48 ? DISK_MAX_SEGS * (PAGE_SIZE / DISK_SECTOR) : 256;
    set_multiple_mode(ch, k, id[47] & 0xff);
    return true;
}

static void probe_ide_channel(unsigned number, uint16_t bus_master, disk_attach_fn attach)
{
    struct channel *ch = &channels[number];
    struct disk_dev d[2];
    bool found[2];
    struct page *pg = page_alloc(0, 0, ALLOC_NEAR);

    spin_init(&ch->lock, RANK_DRIVER);
    list_init(&ch->waiting);
    outb(ch->ctl, CTL_SILENT);
    for (unsigned unit = 0; unit < 2; unit++)
        found[unit] = probe_ide_disk(ch, number, unit, &d[unit]);
    if (!found[0] && !found[1]) {
        if (pg != NULL)
            page_free(pg);
        return;
    }
    if (pg != NULL && page_to_phys(pg) < 1ul << 32 && bus_master != 0) {
        ch->bm = bus_master;
        ch->table = page_to_virt(pg);
    } else {
        warn("%s: no bus-master DMA: PIO", ch->name);
    }
    if (intr_register_isa(ch->irq, ide_intr, ch, ch->name) != 0) {
        warn("%s: its interrupt %u cannot be had: its disks are ignored", ch->name, ch->irq);
        return;
    }
    inb(ch->base + R_STATUS);
    outb(ch->ctl, 0);
    for (unsigned unit = 0; unit < 2; unit++)
        if (found[unit])
            attach(&d[unit]);
}

void ide_probe(disk_attach_fn attach)
{
    struct pci_fn f;
    struct pci_bar bar;
    uint16_t bm = 0;

    if (!pci_find(VENDOR_INTEL, PIIX3_IDE, &f) && !pci_find(VENDOR_INTEL, PIIX4_IDE, &f))
        return;
    if (pci_read(f, PCI_CLASS) >> 8 & NATIVE_MODE) {
        warn("ide: the controller is not at the ISA bus's places: ignored");
        return;
    }
    if (pci_bar(f, BAR_BUS_MASTER, &bar) == 0 && bar.io)
        bm = (uint16_t)bar.base;
    pci_enable(f, PCI_CMD_IO | PCI_CMD_MASTER);
    for (unsigned i = 0; i < 2; i++)
        probe_ide_channel(i, bm != 0 ? (uint16_t)(bm + 8 * i) : 0, attach);
}
