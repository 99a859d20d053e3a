// SPDX-License-Identifier: MIT
/*
 * mbr.h - partition tables in the PC's format.
 */
#ifndef BLK_MBR_H
#define BLK_MBR_H

#include "lib/types.h"

/* primary partitions have the numbers 1 to 4, logical partitions 5 to 15 */
#define MBR_PARTS_MAX 15

struct mbr_part {
    uint8_t type;   /* 0: this partition does not exist */
    uint64_t start; /* sectors of 512 bytes */
    uint64_t count; /* sectors */
};

/* Called by mbr_scan() to read sector `sector` into buf.  Returns 0 or an error. */
typedef int (*mbr_read_fn)(void *arg, uint64_t sector, uint8_t buf[512]);

/*
 * mbr_scan - find the partitions of a disk of `sectors` sectors: part[i] becomes partition i + 1.
 * Entries of 0 sectors, entries that begin at sector 0 and entries that reach beyond the disk are left out.
 * A chain of extended partitions ends at a sector that is not a table, at a link to a lower sector, or when
 * part[] is full.
 * @ignored  out: the number of entries with a nonzero type that were left out
 * Returns the number of slots of part[] in use, some of which may have type 0; 0 if there is no table; or the
 * error of `read` for the first sector.
 */
int mbr_scan(struct mbr_part part[MBR_PARTS_MAX], uint64_t sectors, mbr_read_fn read, void *arg,
             unsigned *ignored);

#endif
