// SPDX-License-Identifier: MIT
/*
 * procfs_disk.c - /proc/partitions and /proc/diskstats, in Linux's formats.
 *
 * LOCKING     None: disk_read_stats() returns a consistent copy of one disk's counters.
 * SEE ALSO    kernel/blk/blk.h (disk_counts), proc(5), docs/disks.md
 */
#include "blk/blk.h"
#include "procfs/procfs.h"

static unsigned major_of(const struct disk *d)
{
    return (unsigned)(disk_dev(d) >> 8);
}

static unsigned minor_of(const struct disk *d)
{
    return (unsigned)(disk_dev(d) & 0xff);
}

PROCFS_SHOW(procfs_show_partitions)
{
    text_str(out, "major minor  #blocks  name\n\n");
    for (struct disk *d = disk_next(NULL); d != NULL; d = disk_next(d))
        text_add(out, "%4u  %7u %10lu %s\n", major_of(d), minor_of(d), disk_sectors(d) / 2,
                 disk_name(d));
    return 0;
}

/*
 * Shows only whole disks, which also count the requests of their partitions.  Merged requests are
 * counted separately.
 */
PROCFS_SHOW(procfs_show_diskstats)
{
    struct disk_counts c;

    for (struct disk *d = disk_next(NULL); d != NULL; d = disk_next(d)) {
        if (disk_whole(d) != d)
            continue;
        disk_read_stats(d, &c);
        text_add(out, "%4u %7u %s %lu %lu %lu %lu ", major_of(d), minor_of(d), disk_name(d),
                 c.reads - c.reads_merged, c.reads_merged, c.nread / SECTOR_SIZE, c.rns / 1000000);
        text_add(out, "%lu %lu %lu %lu %lu %lu %lu ", c.writes - c.writes_merged, c.writes_merged,
                 c.nwritten / SECTOR_SIZE, c.wns / 1000000, c.inflight, c.busy_ns / 1000000,
                 (c.rns + c.wns + c.flush_ns) / 1000000);
        /* the zeros are the counts of discards, which do not exist here */
        text_add(out, "0 0 0 0 %lu %lu\n", c.flushes, c.flush_ns / 1000000);
    }
    return 0;
}
