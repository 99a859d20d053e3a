// SPDX-License-Identifier: MIT
/*
 * initramfs.h - reading cpio archives (format "newc", magic 070701 or 070702), and
 * unpacking them into the root.
 */
#ifndef FS_INITRAMFS_INITRAMFS_H
#define FS_INITRAMFS_INITRAMFS_H

#include "lib/types.h"

/* One member of an archive. */
struct cpio_entry {
    const char *name; /* nlen bytes, then a NUL; no leading '/' or "./"; never "" */
    size_t nlen;
    const uint8_t *data; /* points into the archive */
    size_t size;         /* bytes of data */
    uint32_t mode;       /* file type and permissions, as in st_mode */
    uint32_t uid, gid, nlink, mtime, ino, dev_major, dev_minor, rdev_major, rdev_minor;
};

/*
 * cpio_next - read the member at *pos of the archive buf[len], and move *pos to the next one.
 * Returns 1: *e is filled in;  0: the end of buf is reached;  -EINVAL: the archive is malformed, and *why is
 * the reason: bad magic or number, name or data beyond the end, a name with an empty, "." or ".." component.
 */
int cpio_next(const uint8_t *buf, size_t len, size_t *pos, struct cpio_entry *e, const char **why);

/*
 * initramfs_unpack - unpack an archive into the root file system.  Its members replace existing files.
 * @what  name of the archive, for messages
 * After an error, prints one line with the reason and skips the rest; the members that were
 * unpacked before the error stay.  0, or the error.
 */
int initramfs_unpack(const char *what, const void *archive, size_t len);

#endif
