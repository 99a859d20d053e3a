// SPDX-License-Identifier: MIT
/*
 * initramfs.h - cpio archives (format "newc", magic 070701 and 070702): reading them, and unpacking into the root.
 */
#ifndef FS_INITRAMFS_INITRAMFS_H
#define FS_INITRAMFS_INITRAMFS_H

#include "lib/types.h"

/* One member of an archive. */
struct cpio_entry {
    const char *name; /* nlen bytes, then a NUL; no leading '/' or "./"; never "" */
    size_t nlen;
    const uint8_t *data;
    size_t size;   /* bytes of data */
    uint32_t mode; /* file type and permissions, as in st_mode */
    uint32_t uid, gid, nlink, mtime, ino, dev_major, dev_minor, rdev_major, rdev_minor;
};

/*
 * cpio_next - read the member at *pos of the archive buf[len], and move *pos to the next.
 * Returns 1 with *e filled in; 0 at the trailer or at the end; -EINVAL and a reason in *why if the archive is
 * malformed there: bad magic or number, name or data beyond the end, a name with an empty, "." or ".." component.
 */
int cpio_next(const uint8_t *buf, size_t len, size_t *pos, struct cpio_entry *e, const char **why);

/*
 * initramfs_unpack - lay an archive over the root file system; later members replace earlier ones.
 * Says on the console, in one line, what stopped it; what came before stays.  0, or the error.
 */
int initramfs_unpack(const char *what, const void *archive, size_t len);

#endif
