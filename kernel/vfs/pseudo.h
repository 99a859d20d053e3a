// SPDX-License-Identifier: MIT
/*
 * pseudo.h - pseudo file systems, whose files are made when they are read: the base of procfs and sysfs.
 *
 * THEORY      The files of /proc and /sys are stored nowhere.  They show the state of the kernel as text, and
 *             the text is made when a program reads the file.
 *             Constants of type struct pseudo_node describe a tree.  A directory lists its children in a table.
 *             It can also have computed entries (processes, CPUs, descriptors), each with a number as its key.
 *             A vnode exists only while it is in use.  It has a pointer to its node and two numbers, `arg`,
 *             which tell the subject of the file: which process or CPU.  The subject may vanish at any time.
 *             So every function of a node looks it up again, and returns -ESRCH or -ENOENT if it is gone.
 *             The whole text of a file is made when it is read from offset 0.  It is kept with the open file,
 *             and later reads continue in this text.  So all parts show the same moment, even if the
 *             program reads the file in small pieces.
 * LOCKING     The functions of a node are called with no spin lock held, and may sleep.
 * SEE ALSO    procfs.c, sysfs.c, docs/devices.md
 */
#ifndef VFS_PSEUDO_H
#define VFS_PSEUDO_H

#include "vfs/file.h"
#include "vfs/vnode.h"
#include "lib/types.h"

#define PSEUDO_NAME_MAX 64 /* the NUL included */

/* Text of any length, in a chain of chunks; all zero is the empty text. */
struct text_chunk;
struct text {
    struct text_chunk *first, *last;
    size_t len;
    bool failed; /* there was no memory for more text: the text is incomplete */
};

/* text_add - append formatted text of at most 255 bytes.  text_bytes, text_str - append bytes unchanged. */
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_bytes(struct text *t, const void *p, size_t n);
void text_str(struct text *t, const char *s);
/* text_escaped - append s, with each byte that is in `special` as in Linux's files of /proc: a newline as \012. */
void text_escaped(struct text *t, const char *s, const char *special);
/*
 * text_mask, text_list - append a set of numbers below nbits in Linux's formats: "00000000,000000ff" and
 * "0-7,12".  words[0] has the lowest numbers.  They append no newline.
 */
void text_mask(struct text *t, const uint64_t *words, unsigned nbits);
void text_list(struct text *t, const uint64_t *words, unsigned nbits);
/* text_clear - make the text empty, and free its memory. */
void text_clear(struct text *t);
/* text_read - copy the text from offset `off` on to the uio.  Bytes moved, or -EFAULT. */
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
    const char *name; /* NULL: the end of the parent's table */
    uint8_t type;     /* enum vtype: VREG, VDIR, VLNK, or VCHR with the device's number in arg.b */
    uint16_t mode;
    uint32_t tag; /* distinguishes nodes that share functions */

    const struct pseudo_node *children; /* VDIR: table, or NULL */
    /* VDIR: whether the subject still exists; else look-ups and reads give -ENOENT.  NULL: it never vanishes. */
    bool (*exists)(const struct pseudo_node *dir, struct pseudo_arg arg);
    /*
     * VDIR with computed entries.  next() finds the entry with the lowest key >= `from`: 0, or -ENOENT after
     * the last.  find() looks an entry up by name.  If `find` is NULL, a name must be `prefix` and the key in
     * decimal, and the look-up calls next(key).
     */
    const char *prefix;
    int (*next)(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                struct pseudo_entry *e);
    int (*find)(const struct pseudo_node *dir, struct pseudo_arg arg, const char *name, size_t len,
                struct pseudo_entry *e);

    /* VREG: make the text.  0, or an error that the read returns. */
    int (*show)(const struct pseudo_node *n, struct pseudo_arg arg, struct text *out);
    /*
     * VREG: check whether the caller may open it, in addition to the mode.  0 or an error.  NULL: no check.
     */
    int (*open)(const struct pseudo_node *n, struct pseudo_arg arg);
    /* VREG, instead of the functions below: open the file with its own operations.  0 or an error. */
    int (*open_file)(const struct pseudo_node *n, struct pseudo_arg arg, struct file *f);
    /* VREG: accept the bytes of one write, followed by a NUL.  0 or an error. */
    int (*store)(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t len);
    /* VREG, instead of show: move bytes directly. */
    long (*read)(const struct pseudo_node *n, struct pseudo_arg arg, struct uio *uio, loff_t off);
    /* VLNK: link() stores the target's name, and returns its length or an error. */
    int (*link)(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t size);
    /* VLNK: if not NULL, *out is the target itself, with a reference; only readlink uses the name. */
    int (*follow)(const struct pseudo_node *n, struct pseudo_arg arg, struct vnode **out);
    /* Finds the file's owner, at each look-up.  NULL: the directory's owner owns the file. */
    void (*owner)(const struct pseudo_node *n, struct pseudo_arg arg, uint32_t *uid, uint32_t *gid);
};

/*
 * pseudo_mount - make a file system of the tree below `root`, for a vfs_type's mount function.
 * 0 and *out, or -ENOMEM.
 */
int pseudo_mount(const char *type, const char *source, uint32_t magic,
                 const struct pseudo_node *root, struct vfs **out);
/*
 * pseudo_arg - the subject of `vn`, for a device's open function.  NULL: it is in another
 * kind of file system.
 */
const struct pseudo_arg *pseudo_arg(struct vnode *vn);

#endif
