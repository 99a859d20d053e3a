// SPDX-License-Identifier: MIT
/* test_mbr.c - partition tables, valid and malformed. */
#include "blk/mbr.h"
#include "tests/host/check.h"

#include <string.h>

enum { SECTORS = 100000, NTABLES = 64 };

static uint8_t image[NTABLES][512]; /* sector 0 and each 1000th sector after it */
static unsigned nread;
static int fail_at; /* a sector that cannot be read; -1: none */

static int read_table(void *arg, uint64_t sector, uint8_t buf[512])
{
    CHECK(sector < SECTORS);
    CHECK(++nread < 1000);
    if ((int64_t)sector == fail_at)
        return -5;
    memset(buf, 0, 512);
    if (sector % 1000 == 0 && sector / 1000 < NTABLES)
        memcpy(buf, image[sector / 1000], 512);
    return 0;
}

static void put(unsigned table, unsigned i, uint8_t type, uint32_t start, uint32_t count)
{
    uint8_t *e = image[table] + 446 + i * 16;

    image[table][510] = 0x55;
    image[table][511] = 0xaa;
    e[4] = type;
    memcpy(e + 8, &start, 4);
    memcpy(e + 12, &count, 4);
}

static struct mbr_part part[MBR_PARTS_MAX];
static unsigned ignored;

static int scan(void)
{
    nread = 0;
    memset(part, 0xee, sizeof part);
    return mbr_scan(part, SECTORS, read_table, NULL, &ignored);
}

static void clear(void)
{
    memset(image, 0, sizeof image);
    fail_at = -1;
}

/* Checks I2. */
static void check_within(int n)
{
    for (int i = 0; i < n; i++)
        if (part[i].type != 0)
            CHECK(part[i].start > 0 && part[i].count > 0 &&
                  part[i].start + part[i].count <= SECTORS);
}

TEST(no_table)
{
    clear();
    CHECK_EQ(scan(), 0);
    put(0, 0, 0x83, 100, 100);
    image[0][446] = 0x12; /* neither active nor inactive: this is the code of a boot sector */
    CHECK_EQ(scan(), 0);
    image[0][446] = 0x80;
    CHECK_EQ(scan(), 1);
    image[0][511] = 0;
    CHECK_EQ(scan(), 0);
}

TEST(primary_and_logical)
{
    clear();
    put(0, 0, 0x83, 2048, 100);
    put(0, 3, 5, 10000, 50000);
    put(10, 0, 0x82, 63, 100);  /* partition 5: relative to the sector of its table */
    put(10, 1, 5, 10000, 5000); /* the next table: relative to the sector of the first */
    put(20, 0, 0x83, 100, 200); /* partition 6 */
    CHECK_EQ(scan(), 6);
    CHECK_EQ(ignored, 0);
    CHECK_EQ(part[0].start, 2048);
    CHECK_EQ(part[1].type, 0);
    CHECK_EQ(part[3].type, 0); /* the extended partition does not count as one */
    CHECK_EQ(part[4].start, 10063);
    CHECK_EQ(part[4].type, 0x82);
    CHECK_EQ(part[5].start, 20100);
    CHECK_EQ(part[5].count, 200);
}

TEST(beyond_the_end)
{
    clear();
    put(0, 0, 0x83, SECTORS - 1, 2);
    put(0, 1, 0x83, SECTORS, 1);
    put(0, 2, 0x83, 0xffffffff, 0xffffffff);
    put(0, 3, 0x83, 0, 10);
    CHECK_EQ(scan(), 0);
    CHECK_EQ(ignored, 4);
    put(0, 3, 0x83, SECTORS - 1, 1);
    CHECK_EQ(scan(), 4);
}

TEST(chains_end)
{
    clear();
    put(0, 0, 5, 10000, 50000);
    put(10, 0, 0x83, 1, 1);
    put(10, 1, 5, 0, 100); /* points to itself */
    CHECK_EQ(scan(), 5);
    CHECK(nread < 10);
    put(10, 1, 5, 1000, 100);
    put(11, 0, 0x83, 1, 1);
    put(11, 1, 5, 0, 100); /* points back to the first */
    CHECK_EQ(scan(), 6);
    for (unsigned i = 10; i < 60; i++) { /* more than fit */
        put(i, 0, 0x83, 1, 1);
        put(i, 1, 5, (i - 9) * 1000, 100);
    }
    CHECK_EQ(scan(), MBR_PARTS_MAX);
    /* two logical partitions in a table, and no next one: unusual but harmless */
    put(12, 1, 0x83, 1, 1);
    CHECK(scan() > 5);
    check_within(MBR_PARTS_MAX);
}

TEST(read_errors)
{
    clear();
    put(0, 0, 0x83, 100, 100);
    put(0, 1, 5, 10000, 1000);
    put(10, 0, 0x83, 1, 1);
    fail_at = 10000;
    CHECK_EQ(scan(), 2);
    CHECK_EQ(part[1].type, 0);
    fail_at = 0;
    CHECK_EQ(scan(), -5);
}

TEST(random_tables)
{
    for (unsigned round = 0; round < 20000; round++) {
        clear();
        for (unsigned t = 0; t < NTABLES; t++) {
            for (unsigned i = 0; i < 4; i++)
                put(t, i, check_below(2) ? 5 : (uint8_t)check_below(256),
                    check_below(4) ? (uint32_t)check_below(NTABLES) * 1000
                                   : (uint32_t)check_random(),
                    check_below(2) ? (uint32_t)check_below(SECTORS) : (uint32_t)check_random());
            if (check_below(8) == 0)
                image[t][check_below(512)] = (uint8_t)check_random();
        }
        check_within(scan());
    }
}
