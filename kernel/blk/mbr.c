// SPDX-License-Identifier: MIT
/*
 * mbr.c - reads the partition table in the master boot record (MBR) of a disk.
 *
 * THEORY      A partition table divides a disk into partitions.  The PC's format holds only four, so an
 *             "extended" partition contains a chain of further tables.
 *             The last two bytes of the first sector are 55 aa (hexadecimal).  Before them are four entries
 *             of 16 bytes:
 *               flag         1 byte, 0 or 80
 *               geometry     3 bytes, not used
 *               type         1 byte, 0: the entry is empty
 *               geometry     3 bytes, not used
 *               first sector 32 bits
 *               count        32 bits, sectors
 *             An extended partition (type 5, f or 85) starts with a sector in the same format.  This table
 *             has one entry for a logical partition, whose first sector counts from this table.  Another
 *             entry links to the next extended table; its first sector counts from the start of the first
 *             extended partition.  As in Linux, a sector with a flag other than 0 and 80 is not a partition
 *             table, because boot sectors of FAT end in 55 aa, too.
 * INVARIANTS  I1  each link of the chain leads to a higher sector, so the chain ends
 *             I2  each partition that mbr_scan() returns lies within the disk
 * SEE ALSO    tests/host/test_mbr.c
 */
#include "blk/mbr.h"

enum { TABLE = 446, ENTRY = 16, NPRIMARY = 4 };

static uint32_t read_le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool is_partition_table(const uint8_t *s)
{
    if (s[510] != 0x55 || s[511] != 0xaa)
        return false;
    for (unsigned i = 0; i < NPRIMARY; i++)
        if ((s[TABLE + i * ENTRY] & 0x7f) != 0)
            return false;
    return true;
}

static struct mbr_part parse_partition_entry(const uint8_t *s, unsigned i, uint64_t base)
{
    const uint8_t *e = s + TABLE + i * ENTRY;

    return (struct mbr_part){e[4], base + read_le32(e + 8), read_le32(e + 12)};
}

static bool is_extended_type(uint8_t type)
{
    return type == 0x05 || type == 0x0f || type == 0x85;
}

static bool is_valid_partition(struct mbr_part p, uint64_t sectors)
{
    return p.start > 0 && p.count > 0 && p.start < sectors && p.count <= sectors - p.start;
}

/*
 * Adds the logical partitions of the extended partition that begins at sector `first` to part[n] and the
 * following slots.  Returns the new n.  A sector that cannot be read ends the chain.
 */
static unsigned scan_logical_partitions(struct mbr_part *part, unsigned n, uint64_t first,
                                        uint64_t sectors, mbr_read_fn read, void *arg,
                                        unsigned *ignored)
{
    uint64_t at = first;
    uint8_t s[512];

    while (n < MBR_PARTS_MAX && at < sectors && read(arg, at, s) == 0 && is_partition_table(s)) {
        struct mbr_part next = {0};

        for (unsigned i = 0; i < 2; i++) {
            struct mbr_part p = parse_partition_entry(s, i, at);

            if (is_extended_type(p.type))
                next = parse_partition_entry(s, i, first);
            else if (p.type != 0 && is_valid_partition(p, sectors) && n < MBR_PARTS_MAX)
                part[n++] = p;
            else if (p.type != 0)
                ++*ignored;
        }
        if (next.start <= at) /* I1 */
            break;
        at = next.start;
    }
    return n;
}

int mbr_scan(struct mbr_part part[MBR_PARTS_MAX], uint64_t sectors, mbr_read_fn read, void *arg,
             unsigned *ignored)
{
    unsigned n = 0, logical = NPRIMARY;
    uint8_t s[512];
    int err;

    *ignored = 0;
    if (sectors == 0)
        return 0;
    err = read(arg, 0, s);
    if (err != 0)
        return err;
    if (!is_partition_table(s))
        return 0;
    for (unsigned i = 0; i < MBR_PARTS_MAX; i++)
        part[i] = (struct mbr_part){0};
    for (unsigned i = 0; i < NPRIMARY; i++) {
        struct mbr_part p = parse_partition_entry(s, i, 0);

        if (p.type == 0)
            continue;
        if (!is_valid_partition(p, sectors)) {
            ++*ignored;
            continue;
        }
        if (is_extended_type(p.type))
            logical = scan_logical_partitions(part, logical, p.start, sectors, read, arg, ignored);
        else
            part[i] = p;
        n = i + 1;
    }
    return (int)(logical > NPRIMARY ? logical : n);
}
