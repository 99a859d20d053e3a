// SPDX-License-Identifier: MIT
/*
 * sysfs_fw_cfg.c - /sys/firmware/qemu_fw_cfg/by_name: the launcher's files, under the same paths as on Linux.
 *
 * THEORY      The device's directory is a flat list of names with slashes, such as "opt/homeroom/run".  Here
 *             these names become a tree.  Each file of the device becomes a leaf directory with the files
 *             `size` and `raw`.
 *             `arg` describes a directory.  arg.a is the number of any file below it.  arg.b is the length, in
 *             bytes, of the part of that file's name that leads to the directory.  All names that begin with
 *             this part are collected; the entries of the directory are their different next components.  The
 *             key of an entry is the number of the first file with that component.
 *             Only root can read the files, because their contents come from the owner of the machine.
 * SEE ALSO    drivers/fw_cfg.h, sysfs.c
 */
#include "drivers/fw_cfg.h"
#include "fs/sysfs/sysfs.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"

enum { PIECE = 65536 };

static const struct pseudo_node inner_dir, file_dir;

/* Length of the component that begins at name[at]. */
static size_t component_length(const char *name, size_t at)
{
    const char *slash = strchr(name + at, '/');

    return slash != NULL ? (size_t)(slash - name) - at : strlen(name + at);
}

/* Whether files i and k have the same first `len` bytes. */
static bool share_name_prefix(unsigned i, unsigned k, size_t len)
{
    return strncmp(fw_cfg_file_at(i)->name, fw_cfg_file_at(k)->name, len) == 0;
}

/* Makes the entry for file i in the directory to which `at` bytes of the file's name lead. */
static void fill_fw_cfg_entry(unsigned i, size_t at, struct pseudo_entry *e)
{
    const char *name = fw_cfg_file_at(i)->name;
    size_t len = component_length(name, at);
    bool leaf = name[at + len] == '\0';

    *e = (struct pseudo_entry){
        .key = i, .node = leaf ? &file_dir : &inner_dir, .arg = {i, at + len + !leaf}};
    memcpy(e->name, name + at, len);
}

static int fw_cfg_dir_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                           struct pseudo_entry *e)
{
    const struct fw_cfg_file *f;

    for (unsigned i = (unsigned)from; (f = fw_cfg_file_at(i)) != NULL; i++) {
        size_t end;
        unsigned k = 0;

        if (arg.b > 0 && !share_name_prefix(i, (unsigned)arg.a, arg.b))
            continue;
        end = arg.b + component_length(f->name, arg.b);
        while (k < i && !share_name_prefix(i, k, end + 1))
            k++;
        if (k < i)
            continue; /* a file with a lower number has the same component */
        fill_fw_cfg_entry(i, arg.b, e);
        return 0;
    }
    return -ENOENT;
}

static int fw_cfg_dir_find(const struct pseudo_node *dir, struct pseudo_arg arg, const char *name,
                           size_t len, struct pseudo_entry *e)
{
    for (uint64_t i = 0; fw_cfg_dir_next(dir, arg, i, e) == 0; i = e->key + 1)
        if (strlen(e->name) == len && memcmp(e->name, name, len) == 0)
            return 0;
    return -ENOENT;
}

static long read_fw_cfg_raw(const struct pseudo_node *n, struct pseudo_arg arg, struct uio *uio,
                            loff_t off)
{
    const struct fw_cfg_file *f = fw_cfg_file_at((unsigned)arg.a);
    size_t done = 0, left = (uint64_t)off < f->size ? f->size - (size_t)off : 0;
    char *buf;
    int err = 0;

    left = min_of(left, uio->resid);
    buf = kmem_alloc(min_of(left, (size_t)PIECE) + 1);
    if (buf == NULL)
        return -ENOMEM;
    while (done < left && err == 0) {
        size_t k = min_of(left - done, (size_t)PIECE);

        err = fw_cfg_read_at(f->sel, (uint32_t)(off + (loff_t)done), buf, k);
        if (err == 0)
            err = uio_move(buf, k, uio);
        if (err == 0)
            done += k;
    }
    kmem_free(buf);
    return done > 0 ? (long)done : err;
}

static int show_fw_cfg_size(const struct pseudo_node *n, struct pseudo_arg arg, struct text *out)
{
    text_add(out, "%u\n", fw_cfg_file_at((unsigned)arg.a)->size);
    return 0;
}

static const struct pseudo_node file_files[] = {
    {.name = "raw", .type = VREG, .mode = 0400, .read = read_fw_cfg_raw},
    {.name = "size", .type = VREG, .mode = 0400, .show = show_fw_cfg_size},
    {.name = NULL},
};

static const struct pseudo_node file_dir = {.type = VDIR, .mode = 0555, .children = file_files};
static const struct pseudo_node inner_dir = {
    .type = VDIR, .mode = 0555, .next = fw_cfg_dir_next, .find = fw_cfg_dir_find};

const struct pseudo_node sysfs_fw_cfg_files[] = {
    {.name = "by_name",
     .type = VDIR,
     .mode = 0555,
     .next = fw_cfg_dir_next,
     .find = fw_cfg_dir_find},
    {.name = NULL},
};
