// SPDX-License-Identifier: MIT
/* test_cpio.c - the reader of cpio archives: what it accepts, what it refuses, and that no input makes it fail. */
#include "fs/initramfs/initramfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/host/check.h"

/* Archives are built in a block of exactly their length, so that the sanitizer sees each read beyond the end. */
static uint8_t buf[1 << 16];
static size_t len;

static void add(const char *name, uint32_t mode, const void *data, size_t size)
{
    size_t n = strlen(name) + 1;

    len += (size_t)sprintf((char *)buf + len,
                           "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", 1, mode, 0,
                           0, 1, 1000, (unsigned)size, 0, 0, 5, 1, (unsigned)n, 0);
    memcpy(buf + len, name, n);
    len = (len + n + 3) & ~(size_t)3;
    memcpy(buf + len, data, size);
    len = (len + size + 3) & ~(size_t)3;
}

static void start(void)
{
    memset(buf, 0, sizeof buf);
    len = 0;
}

/* Reads all of buf[0 .. n-1] from a block of that size.  Returns the number of members; *err is the last result. */
static int count(size_t n, int *err, const char **why)
{
    uint8_t *copy = malloc(n != 0 ? n : 1);
    struct cpio_entry e;
    size_t pos = 0, before;
    int members = 0;
    uint8_t sum = 0;

    memcpy(copy, buf, n);
    *why = NULL;
    for (;;) {
        before = pos;
        *err = cpio_next(copy, n, &pos, &e, why);
        if (*err != 1)
            break;
        CHECK(pos > before);
        CHECK(e.nlen > 0 && e.name[0] != '/');
        for (size_t i = 0; i < e.size; i++) /* touches every byte of the member */
            sum = (uint8_t)(sum + e.data[i]);
        for (size_t i = 0; i < e.nlen; i++)
            CHECK(e.name[i] != '\0');
        members++;
    }
    CHECK(pos <= n);
    free(copy);
    return members + (sum & 0);
}

TEST(members)
{
    struct cpio_entry e;
    const char *why;
    size_t pos = 0;

    start();
    add(".", 040755, "", 0);
    add("./bin/sh", 0100755, "hello", 5);
    add("/etc/a", 0120777, "b", 1);
    add("TRAILER!!!", 0, "", 0);
    len += 512; /* padding, then a second archive */
    add("second", 0100644, "xyz", 3);

    CHECK_EQ(cpio_next(buf, len, &pos, &e, &why), 1);
    CHECK(e.nlen == 1 && e.name[0] == '.' && e.mode == 040755);
    CHECK_EQ(cpio_next(buf, len, &pos, &e, &why), 1);
    CHECK(e.nlen == 6 && memcmp(e.name, "bin/sh", 6) == 0);
    CHECK(e.size == 5 && memcmp(e.data, "hello", 5) == 0);
    CHECK(e.mode == 0100755 && e.mtime == 1000 && e.rdev_major == 5 && e.rdev_minor == 1);
    CHECK_EQ(cpio_next(buf, len, &pos, &e, &why), 1);
    CHECK(e.nlen == 5 && memcmp(e.name, "etc/a", 5) == 0);
    CHECK_EQ(cpio_next(buf, len, &pos, &e, &why), 1);
    CHECK(e.nlen == 6 && memcmp(e.name, "second", 6) == 0);
    CHECK_EQ(cpio_next(buf, len, &pos, &e, &why), 0);
}

TEST(names_that_lead_elsewhere)
{
    static const char *const bad[] = {"../x", "a/../b", "a/./b", "a//b", "..", "a/..", "a/"};
    const char *why;
    int err;

    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        start();
        add("good", 0100644, "", 0);
        add(bad[i], 0100644, "", 0);
        CHECK_EQ(count(len, &err, &why), 1);
        CHECK_EQ(err, -EINVAL);
        CHECK(why != NULL);
    }
}

TEST(cut_anywhere)
{
    const char *why;
    int err, members;

    start();
    add("one", 0100644, "11111", 5);
    add("two/three", 0100644, "", 0);
    for (size_t n = 0; n < len; n++) {
        members = count(n, &err, &why);
        CHECK(members <= 2);
        CHECK(err == 0 || why != NULL);
    }
    CHECK_EQ(count(len, &err, &why), 2);
    CHECK_EQ(err, 0);
}

TEST(fuzz)
{
    const char *why;
    int err;

    for (unsigned round = 0; round < 20000; round++) {
        start();
        add("a", 0100644, "data", 4);
        add("dir/b", 0100644, "more data", 9);
        add("TRAILER!!!", 0, "", 0);
        for (uint64_t k = check_below(6) + 1; k > 0; k--)
            buf[check_below(len)] = check_below(3) == 0
                                        ? (uint8_t)check_random()
                                        : (uint8_t)"0123456789abcdefF"[check_below(17)];
        count(check_below(8) == 0 ? check_below(len) : len, &err, &why);
    }
}
