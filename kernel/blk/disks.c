// SPDX-License-Identifier: MIT
/*
 * disks.c - the list of disks and partitions.
 *
 * THEORY      At boot the drivers find the disks and name them.  Then the partition table of each disk is
 *             read.  Each partition has its own struct disk.  Its device number is the device
 *             number of the disk plus the number of the partition.
 * LOCKING     The list grows in the boot thread before other threads run, and never shrinks.
 *             claims_lock (RANK_BLK) guards the field `claimed` of all disks.
 */
#include "blk/blkpriv.h"
#include "blk/mbr.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "stat/vmcoreinfo.h"

static struct list disks = LIST_INIT(disks);
static unsigned nwhole;

struct disk *disk_next(struct disk *d)
{
    struct list *l = d == NULL ? disks.next : d->link.next;

    return l == &disks ? NULL : list_entry(l, struct disk, link);
}

struct disk *disk_find(const char *name)
{
    struct disk *d = NULL;

    while ((d = disk_next(d)) != NULL && strcmp(d->name, name) != 0)
        ;
    return d;
}

struct disk *disk_by_dev(uint64_t rdev)
{
    struct disk *d = NULL;

    while ((d = disk_next(d)) != NULL && d->rdev != rdev)
        ;
    return d;
}

const char *disk_name(const struct disk *d)
{
    return d->name;
}

uint64_t disk_dev(const struct disk *d)
{
    return d->rdev;
}

uint64_t disk_sectors(const struct disk *d)
{
    return d->sectors;
}

uint64_t disk_start(const struct disk *d)
{
    return d->start;
}

bool disk_readonly(const struct disk *d)
{
    return d->readonly;
}

void *disk_owner(const struct disk *d)
{
    return d->owner;
}

void disk_set_owner(struct disk *d, void *owner)
{
    d->owner = owner;
}

struct disk *disk_whole(struct disk *d)
{
    return d->whole != NULL ? d->whole : d;
}

static struct spinlock claims_lock = SPINLOCK_INIT(RANK_BLK);

int disk_claim(struct disk *d)
{
    int err = 0;

    spin_lock(&claims_lock);
    for (struct disk *o = disk_next(NULL); o != NULL; o = disk_next(o))
        if (o->claimed && (o == d || o->whole == d || d->whole == o))
            err = -EBUSY;
    if (err == 0)
        d->claimed = true;
    spin_unlock(&claims_lock);
    return err;
}

void disk_release(struct disk *d)
{
    spin_lock(&claims_lock);
    d->claimed = false;
    spin_unlock(&claims_lock);
}

/* An mbr_read_fn.  It reads into heap memory, because blk_rw() does not accept a buffer on a stack. */
static int read_sector(void *arg, uint64_t sector, uint8_t buf[512])
{
    uint8_t *tmp = kmem_alloc(SECTOR_SIZE);
    int err = tmp == NULL ? -ENOMEM : blk_rw(arg, BLK_READ, sector, tmp, SECTOR_SIZE);

    if (err == 0)
        memcpy(buf, tmp, SECTOR_SIZE);
    kmem_free(tmp);
    return err;
}

static void add_partitions(struct disk *whole)
{
    struct mbr_part part[MBR_PARTS_MAX];
    unsigned ignored;
    int n = mbr_scan(part, whole->sectors, read_sector, whole, &ignored);
    struct disk *prev = whole;

    if (n < 0)
        warn("%s: its partition table cannot be read: error %d", whole->name, -n);
    else if (ignored > 0)
        warn("%s: %u partitions that are empty or reach beyond its end: ignored", whole->name,
             ignored);
    for (int i = 0; i < n; i++) {
        struct disk *d;

        if (part[i].type == 0)
            continue;
        d = kmem_zalloc(sizeof *d);
        if (d == NULL) {
            warn("%s: no memory for partition %d", whole->name, i + 1);
            return;
        }
        snprintf(d->name, sizeof d->name, "%s%d", whole->name, i + 1);
        d->rdev = whole->rdev + (uint64_t)i + 1;
        d->whole = whole;
        d->start = part[i].start;
        d->sectors = part[i].count;
        d->readonly = whole->readonly;
        list_push_front(&prev->link, &d->link); /* directly after `prev` in the list of disks */
        prev = d;
    }
}

static void add_whole_disk(const struct disk_dev *dev)
{
    struct disk *d = kmem_zalloc(sizeof *d);

    if (d == NULL) {
        warn("%s: no memory: ignored", dev->name);
        return;
    }
    snprintf(d->name, sizeof d->name, "%s", dev->name);
    d->rdev = (uint64_t)dev->major << 8 | dev->minor;
    d->sectors = dev->sectors;
    d->readonly = dev->readonly;
    d->dev = *dev;
    if (blk_open_queue(d) != 0) {
        warn("%s: no memory: ignored", dev->name);
        kmem_free(d);
        return;
    }
    stats_register(d, nwhole++);
    list_push_back(&disks, &d->link);
    kprintf("%s: %lu sectors (%lu MiB)%s", d->name, d->sectors, d->sectors >> 11,
            d->readonly ? ", read-only" : "");
}

void disks_report(void)
{
    struct disk *d = NULL;

    while ((d = disk_next(d)) != NULL)
        if (d->whole == NULL && d->stats.wcnt + d->stats.rcnt != 0)
            kprintf("%s: %lu requests wait, %lu are under way in %u commands%s", d->name,
                    d->stats.wcnt, d->stats.rcnt, d->running,
                    d->stalled != NULL ? ", one has no room at the driver" : "");
}

void disks_init(void)
{
    struct disk *d = NULL;

    virtio_blk_probe(add_whole_disk);
    ide_probe(add_whole_disk);
    while ((d = disk_next(d)) != NULL)
        if (d->whole == NULL)
            add_partitions(d);
}

const struct vmcoreinfo_field vmcoreinfo_disk[] = {
    VMCOREINFO_FIELD(disk, link),      VMCOREINFO_FIELD(disk, name),
    VMCOREINFO_FIELD(disk, whole),     VMCOREINFO_FIELD(disk, stats),
    VMCOREINFO_FIELD(io_stats, nread), VMCOREINFO_FIELD(io_stats, nwritten),
    VMCOREINFO_FIELD(io_stats, wcnt),  VMCOREINFO_FIELD(io_stats, rcnt),
};
