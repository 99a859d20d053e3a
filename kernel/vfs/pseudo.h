// SPDX-License-Identifier: MIT
/*
 * pseudo.h - file systems whose files are made up when somebody looks: procfs and sysfs are built
 * on this.
 *
 * THEORY      A tree is described by constant struct pseudo_nodes.  A directory has children listed
 *             in a table, and may have one family of computed entries (processes, CPUs,
 *             descriptors), each known by a number.  A vnode exists only while it is in use; it
 *             carries its node and two numbers, `arg`, that say which process or CPU it is about.
 *             What it is about may vanish at any time: every function looks it up anew and returns
 *             -ESRCH or -ENOENT when it is gone.
 *             A text file is made whole when it is read from offset 0, kept with the open file, and
 *             served from there, so that a reader sees one moment, whatever size its reads have.
 * LOCKING     the node's functions are called with no spin lock held and may sleep
 * SEE ALSO    procfs.c, sysfs.c, docs/devices.md
 */
#ifndef VFS_PSEUDO_H
#define VFS_PSEUDO_H

#include "vfs/file.h"
#include "vfs/vnode.h"
#include "lib/types.h"

#define PSEUDO_NAME_MAX 64 /* the NUL included */

/* Text of any length, in a chain of chunks. */
struct text_chunk;
struct text {
    struct text_chunk *first, *last;
    size_t len;
    bool failed; /* memory ran out: the text is cut */
};

/* text_add - append formatted text of at most 255 bytes.  text_bytes, text_str - append as it is. */
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_bytes(struct text *t, const void *p, size_t n);
void text_str(struct text *t, const char *s);
/*
 * text_mask, text_list - a set of `nbits` numbers as Linux prints it: "00000000,000000ff", and
 * "0-7,12".
 * words[0] has the lowest numbers.  No newline.
 */
void text_mask(struct text *t, const uint64_t *words, unsigned nbits);
void text_list(struct text *t, const uint64_t *words, unsigned nbits);
/* text_clear - back to empty, freeing the memory. */
void text_clear(struct text *t);
/* text_read - move bytes from offset `off` on to the uio.  Bytes moved, or -EFAULT. */
long text_read(const struct text *t, struct uio *uio, loff_t off);

struct pseudo_arg {
    uint64_t a, b;
};

struct pseudo_node;

/* One computed entry of a directory. */
struct pseudo_entry {
    uint64_t key;
    const struct pseudo_node *node;
    struct pseudo_arg arg;
    char name[PSEUDO_NAME_MAX];
};

struct pseudo_node {
    const char *name; /* in its parent's table; a table ends with a NULL name */
    uint8_t type;     /* enum vtype: VREG, VDIR, VLNK, or VCHR with the device's number in arg.b */
    uint16_t mode;
    uint32_t tag; /* for nodes that share functions */

    const struct pseudo_node *children; /* VDIR: table, or NULL */
    /*
     * VDIR: the computed entry with the lowest key >= `from`: 0, or -ENOENT past the last.  With `prefix` the
     * names are prefix and key in decimal, and looking one up is next(key).  Otherwise `find` looks up.
     */
    const char *prefix;
    int (*next)(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                struct pseudo_entry *e);
    int (*find)(const struct pseudo_node *dir, struct pseudo_arg arg, const char *name, size_t len,
                struct pseudo_entry *e);

    /* VREG: make the text; 0 or an error for the reader. */
    int (*show)(const struct pseudo_node *n, struct pseudo_arg arg, struct text *out);
    /* VREG: may the caller open it?  Its mode has been looked at.  0 or an error; NULL: yes. */
    int (*open)(const struct pseudo_node *n, struct pseudo_arg arg);
    /* VREG: take what was written, NUL-terminated; 0 or an error. */
    int (*store)(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t len);
    /* VREG, instead of show: move bytes directly. */
    long (*read)(const struct pseudo_node *n, struct pseudo_arg arg, struct uio *uio, loff_t off);
    /* VLNK: the target's name (length or error); the target itself, held, where the name is not enough. */
    int (*link)(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t size);
    int (*follow)(const struct pseudo_node *n, struct pseudo_arg arg, struct vnode **out);
    /* Owner, at the time of the look-up; NULL: like the directory's. */
    void (*owner)(const struct pseudo_node *n, struct pseudo_arg arg, uint32_t *uid, uint32_t *gid);
};

/*
 * pseudo_mount - make a file system of the tree below `root`: the body of a vfs_type's mount
 * function.
 * 0 and *out, or -ENOMEM.
 */
int pseudo_mount(const char *type, const char *source, uint32_t magic,
                 const struct pseudo_node *root, struct vfs **out);
/* pseudo_arg - what `vn` is about, for a device's open; NULL: it is in another kind of file system. */
const struct pseudo_arg *pseudo_arg(struct vnode *vn);

#endif
