// SPDX-License-Identifier: MIT
/*
 * ext_replay.c - mounts an image with the kernel's own code and unmounts it: this replays the journal and ends orphans.
 *
 *     ext-replay IMAGE            0: the image is clean now; 1: refused or failed, with the reason on standard error
 *     ext-replay IMAGE cat FILE   afterwards writes the file to standard output
 *     ext-replay IMAGE copy DIR   afterwards copies all files and directories into DIR, which must exist
 *
 * Several images in one run: ext-replay --list, with "IMAGE" or "IMAGE cat FILE" or "IMAGE copy DIR" on each line of
 * standard input.  The answer to each is a line "OK" or "FAILED".  A number after that, not 0, is a seed: first the
 * power fails at some moment of the replay or of the end of orphans, and writes that no flush covers may be lost.
 */
#include "fs/ext/ext.h"

#include <string.h>
#include <sys/stat.h>

static int copy_file(struct ext_inode *i, const char *to)
{
    static char buf[65536];
    uint64_t off = 0;
    FILE *f = fopen(to, "wb");
    long n;

    if (f == NULL)
        return 1;
    while ((n = host_read(i, buf, sizeof buf, off)) > 0) {
        fwrite(buf, 1, (size_t)n, f);
        off += (uint64_t)n;
    }
    fclose(f);
    return n != 0;
}

struct names {
    char (*name)[256];
    unsigned n, cap;
};

static int see(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
               uint64_t next)
{
    struct names *v = arg;

    if ((len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.'))
        return 0;
    if (v->n == v->cap)
        v->name = realloc(v->name, (v->cap = 2 * v->cap + 16) * sizeof *v->name);
    memcpy(v->name[v->n], name, len);
    v->name[v->n++][len] = '\0';
    return 0;
}

static int copy_dir(struct ext_inode *dir, const char *to)
{
    struct names v = {NULL, 0, 0};
    struct ext_inode *i;
    char path[2000];
    int err = ext_readdir(dir, 0, see, &v);

    for (unsigned k = 0; err == 0 && k < v.n; k++) {
        snprintf(path, sizeof path, "%s/%s", to, v.name[k]);
        if ((err = ext_lookup(dir, v.name[k], strlen(v.name[k]), &i)) != 0)
            break;
        if (i->vn.type == VDIR) {
            mkdir(path, 0755);
            err = copy_dir(i, path);
        } else if (i->vn.type == VREG) {
            err = copy_file(i, path);
        }
        ext_iput(i);
    }
    free(v.name);
    return err != 0;
}

static int copy(struct ext_fs *fs, const char *to)
{
    struct ext_inode *root;
    int err = ext_iget(fs, EXT_ROOT_INO, &root);

    if (err == 0) {
        err = copy_dir(root, to);
        ext_iput(root);
    }
    return err != 0;
}

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

/* Handles one image.  Returns 0 if all succeeded. */
static int one(const char *image, const char *what, const char *arg)
{
    struct ext_fs *fs;
    struct disk *d = host_disk_open(image, true);
    int err = host_mount(d, false, &fs), status = 0;

    if (err != 0) {
        fprintf(stderr, "%s: %s (error %d)\n", image, host_reason, -err);
        host_disk_close(d);
        return 1;
    }
    if (what != NULL && strcmp(what, "cat") == 0)
        status = cat(fs, arg);
    else if (what != NULL)
        status = copy(fs, arg);
    if (fs->failed)
        status = 1;
    if ((err = host_unmount(fs)) != 0) {
        fprintf(stderr, "%s: error %d at the end\n", image, -err);
        status = 1;
    }
    host_disk_close(d);
    return status;
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s >> 20;
}

/* Mounts a copy of the image, and changes the image to what a power cut during that mount leaves. */
static void cut_recovery(const char *image, uint64_t seed)
{
    struct disk *d = host_disk_open(image, true),
                *copy = host_disk_mem(d->mem, d->sectors * SECTOR_SIZE);
    uint64_t s = seed * 2654435761u + 88172645463325252u;
    struct ext_fs *fs;
    size_t cut, flushed = 0;

    copy->record = true;
    if (host_mount(copy, false, &fs) == 0)
        host_unmount(fs);
    cut = next_random(&s) % (copy->nlog + 1);
    for (size_t k = 0; k < cut; k++)
        if (copy->log[k].n == 0)
            flushed = k;
    for (size_t k = 0; k < cut; k++)
        if (copy->log[k].n != 0 && (k < flushed || next_random(&s) % 2))
            memcpy(d->mem + copy->log[k].sector * SECTOR_SIZE, copy->log[k].data,
                   (size_t)copy->log[k].n * SECTOR_SIZE);
    host_disk_close(copy);
    host_disk_close(d);
}

static int list(void)
{
    static char line[4096];

    host_quiet = true;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *image = strtok(line, " \n"), *what = strtok(NULL, " \n"), *arg = strtok(NULL, " \n");
        char *seed = strtok(NULL, " \n");

        if (seed != NULL && atoi(seed) != 0)
            cut_recovery(image, strtoull(seed, NULL, 10));
        puts(image != NULL && one(image, arg != NULL ? what : NULL, arg) == 0 ? "OK" : "FAILED");
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    if (argc != 2 &&
        !(argc == 4 && (strcmp(argv[2], "cat") == 0 || strcmp(argv[2], "copy") == 0))) {
        fprintf(stderr, "usage: ext-replay IMAGE [cat FILE | copy DIRECTORY]\n");
        return 2;
    }
    return one(argv[1], argc == 4 ? argv[2] : NULL, argc == 4 ? argv[3] : NULL);
}
