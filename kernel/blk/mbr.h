// SPDX-License-Identifier: MIT
/*
 * mbr.h - partition tables in the PC's format.
 */
#ifndef BLK_MBR_H
#define BLK_MBR_H

#include "lib/types.h"

#define MBR_PARTS_MAX 15 /* four primary ones, 1 to 4; logical ones from 5 on */

struct mbr_part {
    uint8_t type;   /* 0: there is no such partition  */
    uint64_t start; /* sectors of 512 bytes           */
    uint64_t count;
};

/* What mbr_scan() calls to read sector `sector` to buf: 0 or an error. */
typedef int (*mbr_read_fn)(void *arg, uint64_t sector, uint8_t buf[512]);

/*
 * mbr_scan - the partitions of a disk of `sectors` sectors: part[i] is partition i + 1.  Entries that are empty, begin
 * at sector 0 or reach beyond the disk are left out; a chain of extended partitions ends at the first table that is
 * not one, points back, or has no room here.
 * @ignored  entries left out that were not empty
 * How many slots of part[] are used; 0: no table; an error of `read` for the first sector.
 */
int mbr_scan(struct mbr_part part[MBR_PARTS_MAX], uint64_t sectors, mbr_read_fn read, void *arg,
             unsigned *ignored);

#endif
