// SPDX-License-Identifier: MIT
/*
 * ext_replay.c - mount an image with the kernel's own code and unmount it: replays the journal, ends orphans.
 *
 *   ext-replay IMAGE            0: it is clean now; 1: refused or failed, the reason on standard error
 *   ext-replay IMAGE cat FILE   after that, writes the file to standard output
 */
#include "fs/ext/ext.h"

#include <string.h>

static int cat(struct ext_fs *fs, const char *path)
{
    static char buf[65536];
    struct ext_inode *i;
    uint64_t off = 0;
    long n;
    int err = host_path(fs, path, &i);

    if (err != 0) {
        fprintf(stderr, "%s: error %d\n", path, -err);
        return 1;
    }
    while ((n = host_read(i, buf, sizeof buf, off)) > 0) {
        fwrite(buf, 1, (size_t)n, stdout);
        off += (uint64_t)n;
    }
    ext_iput(i);
    return n != 0;
}

int main(int argc, char **argv)
{
    struct ext_fs *fs;
    struct disk *d;
    int err, status = 0;

    if (argc != 2 && !(argc == 4 && strcmp(argv[2], "cat") == 0)) {
        fprintf(stderr, "usage: ext-replay IMAGE [cat FILE]\n");
        return 2;
    }
    d = host_disk_open(argv[1], true);
    if ((err = host_mount(d, false, &fs)) != 0) {
        fprintf(stderr, "%s: %s (error %d)\n", argv[1], host_reason, -err);
        return 1;
    }
    if (argc == 4)
        status = cat(fs, argv[3]);
    if ((err = host_unmount(fs)) != 0) {
        fprintf(stderr, "%s: error %d at the end\n", argv[1], -err);
        status = 1;
    }
    host_disk_close(d);
    return status;
}
