// SPDX-License-Identifier: MIT
/*
 * devmem.c - the devices without hardware: null, zero, full, random, urandom.
 *
 * THEORY      Random numbers come from the generators of lib/crng.h, so that a run with the same seed
 *             repeats.  random and urandom are the same device; bytes written to them are
 *             accepted and ignored.
 *             A long read ends early when a signal comes.
 * SEE ALSO    devfs.c
 */
#include "fs/tmpfs/tmpfs.h"

#include "disp/thread.h"
#include "vfs/file.h"
#include "lib/errno.h"
#include "lib/crng.h"

static const uint8_t zeros[PAGE_SIZE] __attribute__((aligned(4096)));

static long null_read(struct file *f, struct uio *uio, loff_t off)
{
    return 0;
}

static long null_write(struct file *f, struct uio *uio, loff_t off)
{
    size_t n = uio->resid;

    uio->resid = 0;
    return (long)n;
}

static long zero_read(struct file *f, struct uio *uio, loff_t off)
{
    size_t start = uio->resid;

    while (uio->resid != 0) {
        int err = uio_move((void *)(uintptr_t)zeros, min_of(uio->resid, PAGE_SIZE), uio);

        if (err != 0)
            return start != uio->resid ? (long)(start - uio->resid) : err;
        if (signal_pending())
            break;
    }
    return (long)(start - uio->resid);
}

static long full_write(struct file *f, struct uio *uio, loff_t off)
{
    return -ENOSPC;
}

static long random_read(struct file *f, struct uio *uio, loff_t off)
{
    size_t start = uio->resid;
    uint8_t word[256];

    while (uio->resid != 0) {
        size_t n = min_of(uio->resid, sizeof word);
        int err;

        crng_bytes(word, n);
        err = uio_move(word, n, uio);
        if (err != 0)
            return start != uio->resid ? (long)(start - uio->resid) : err;
        if (signal_pending())
            break;
    }
    return (long)(start - uio->resid);
}

/* lseek succeeds and has no effect. */
static loff_t null_seek(struct file *f, loff_t off, int whence)
{
    return 0;
}

static const struct fileops null_ops = {.read = null_read, .write = null_write, .seek = null_seek};
static const struct fileops zero_ops = {.read = zero_read, .write = null_write, .seek = null_seek};
static const struct fileops full_ops = {.read = zero_read, .write = full_write, .seek = null_seek};
static const struct fileops random_ops = {
    .read = random_read, .write = null_write, .seek = null_seek};

static struct cdev devices[] = {
    {.name = "null", .rdev = makedev(1, 3), .mode = 0666, .ops = &null_ops},
    {.name = "zero", .rdev = makedev(1, 5), .mode = 0666, .ops = &zero_ops},
    {.name = "full", .rdev = makedev(1, 7), .mode = 0666, .ops = &full_ops},
    {.name = "random", .rdev = makedev(1, 8), .mode = 0666, .ops = &random_ops},
    {.name = "urandom", .rdev = makedev(1, 9), .mode = 0666, .ops = &random_ops},
};

void devmem_init(void)
{
    for (unsigned i = 0; i < array_size(devices); i++)
        cdev_register(&devices[i]);
}
