// SPDX-License-Identifier: MIT
/*
 * dir.c - directories as lists of entries in blocks.
 *
 * THEORY      A directory is a file whose entries translate names into inode numbers.  Each of its blocks is
 *             filled by a chain of records of variable length.  A record with inode 0 is free.  The bytes of a
 *             record after its name are also free.
 *             A block is checked when it is first read, and again after its buffer was changed for another
 *             purpose.  In addition, each step through the chain checks that the record lies inside the block
 *             (dirent_at).
 *             A directory of one block is searched linearly.  A larger directory has an index
 *             (htree.c).  A larger directory that was made without an index gets no index and is
 *             searched linearly.
 * INVARIANTS  I1  a block with BUF_CHECKED is a well-formed chain, and block 0 begins with "." and ".."
 *             I2  the blocks before block dir_hint had no free space when they were last searched
 * LOCKING     The caller holds the directory's vn->lock.
 * SEE ALSO    htree.c, namei.c
 */
#include "fs/ext/ext.h"

#include "lib/string.h"

const uint8_t ext_dirent_type[] = {
    [VREG] = 1, [VDIR] = 2, [VCHR] = 3, [VBLK] = 4, [VFIFO] = 5, [VSOCK] = 6, [VLNK] = 7};

/* Whether the entry is "." (n is 1) or ".." (n is 2). */
static bool is_dot_entry(const struct ext_dirent *e, unsigned n)
{
    return e->name_len == n && e->name[0] == '.' && (n == 1 || e->name[1] == '.');
}

bool dirblock_ok(struct ext_fs *fs, struct ext_inode *dir, const struct buf *b, uint32_t lblk)
{
    uint32_t off = 0, k = 0;

    for (; off < fs->bsize; k++) {
        const struct ext_dirent *e = dirent_at(fs, b->data, off);

        if (e == NULL)
            return false;
        if (e->ino != 0 &&
            (e->ino > fs->inodes || e->name_len == 0 || memchr(e->name, '/', e->name_len) != NULL ||
             memchr(e->name, 0, e->name_len) != NULL))
            return false;
        if (lblk == 0 && k < 2 &&
            (!is_dot_entry(e, k + 1) || e->ino == 0 || (k == 0 && e->ino != dir->vn.ino)))
            return false;
        off += e->rec_len;
    }
    return lblk != 0 || k >= 2;
}

struct ext_dirent *dirblock_dotdot(struct ext_fs *fs, const struct buf *b)
{
    struct ext_dirent *e = dirent_at(fs, b->data, 0);

    e = e != NULL ? dirent_at(fs, b->data, e->rec_len) : NULL;
    return e != NULL && e->ino != 0 && is_dot_entry(e, 2) ? e : NULL;
}

int ext_dir_block(struct ext_inode *dir, uint32_t lblk, struct buf **out)
{
    uint32_t pblk, n;
    int err = ext_map(dir, lblk, 1, &pblk, &n);

    if (err != 0)
        return err;
    if (pblk == 0)
        return ext_error(dir->fs, "directory %u: block %u is missing", (uint32_t)dir->vn.ino, lblk);
    return buf_read(dir->fs, pblk, out);
}

int ext_dir_read(struct ext_inode *dir, uint32_t lblk, struct buf **out)
{
    struct ext_fs *fs = dir->fs;
    int err = ext_dir_block(dir, lblk, out);

    if (err != 0 || likely((*out)->flags & BUF_CHECKED))
        return err;
    if (!dirblock_ok(fs, dir, *out, lblk)) {
        buf_put(*out);
        *out = NULL;
        return ext_error(fs, "directory %u: block %u is not a chain of entries",
                         (uint32_t)dir->vn.ino, lblk);
    }
    atomic_fetch_or(&(*out)->flags, BUF_CHECKED);
    return 0;
}

int ext_dir_append(struct handle *h, struct ext_inode *dir, struct buf **out, uint32_t *lblk)
{
    struct ext_fs *fs = dir->fs;
    struct ext_dirent *e;
    uint32_t pblk, got;
    bool fresh;
    int err;

    *lblk = (uint32_t)(dir->vn.size >> fs->bshift);
    if (dir->vn.size >= INT32_MAX - fs->bsize)
        return -ENOSPC;
    err = ext_map_alloc(h, dir, *lblk, 1, &pblk, &got, &fresh);
    if (err != 0)
        return err;
    if (!fresh)
        return ext_error(fs, "directory %u: has a block beyond its size", (uint32_t)dir->vn.ino);
    err = buf_new(fs, pblk, out);
    if (err != 0)
        return err;
    jnl_access(h, *out);
    e = (struct ext_dirent *)(*out)->data;
    e->rec_len = (uint16_t)fs->bsize;
    atomic_fetch_or(&(*out)->flags, BUF_CHECKED);
    dir->vn.size += fs->bsize;
    /*
     * write the inode now: the operation can still fail after the index has got a link to the block
     */
    ext_iwrite(h, dir);
    return 0;
}

static inline bool dirent_name_is(const struct ext_dirent *e, const char *name, size_t len)
{
    return e->name_len == len && e->ino != 0 && e->name[0] == name[0] &&
           memcmp(e->name, name, len) == 0;
}

struct ext_dirent *dirblock_find(struct ext_fs *fs, struct buf *b, const char *name, size_t len,
                                 struct ext_dirent **prev)
{
    struct ext_dirent *e;

    *prev = NULL;
    for (uint32_t off = 0; (e = dirent_at(fs, b->data, off)) != NULL; off += e->rec_len) {
        if (dirent_name_is(e, name, len))
            return e;
        *prev = e;
    }
    return NULL;
}

bool dirblock_add(struct handle *h, struct ext_inode *dir, struct buf *b, const char *name,
                  size_t len, uint32_t ino, enum vtype type)
{
    struct ext_fs *fs = dir->fs;
    unsigned need = DIRENT_SIZE(len), used;
    struct ext_dirent *e, *n;

    for (uint32_t off = 0;; off += e->rec_len) {
        e = dirent_at(fs, b->data, off);
        if (e == NULL)
            return false;
        used = e->ino == 0 ? 0 : DIRENT_SIZE(e->name_len);
        if (e->rec_len >= used + need)
            break;
    }
    jnl_access_entries(h, b);
    n = e;
    if (used != 0) {
        n = (struct ext_dirent *)((uint8_t *)e + used);
        n->rec_len = (uint16_t)(e->rec_len - used);
        e->rec_len = (uint16_t)used;
    }
    n->ino = ino;
    n->name_len = (uint8_t)len;
    n->type = fs->filetype ? ext_dirent_type[type] : 0;
    memcpy(n->name, name, len);
    return true;
}

static int find_entry_linear(struct ext_inode *dir, const char *name, size_t len,
                             struct dirpos *pos)
{
    uint32_t n = (uint32_t)(dir->vn.size >> dir->fs->bshift);

    for (uint32_t k = 0; k < n; k++) {
        int err = ext_dir_read(dir, k, &pos->b);

        if (err != 0)
            return err;
        pos->e = dirblock_find(dir->fs, pos->b, name, len, &pos->prev);
        if (pos->e != NULL)
            return 0;
        buf_put(pos->b);
    }
    return -ENOENT;
}

int ext_dir_find(struct ext_inode *dir, const char *name, size_t len, struct dirpos *pos)
{
    if ((dir->flags & EXT_FL_INDEX) && dir->fs->index_dirs) {
        int r = htree_find(dir, name, len, pos);

        if (r <= 0)
            return r;
    }
    return find_entry_linear(dir, name, len, pos);
}

/* Adds an entry to a directory without an index; makes the index if the first block is full. */
static int add_entry_linear(struct handle *h, struct ext_inode *dir, const char *name, size_t len,
                            uint32_t ino, enum vtype type)
{
    uint32_t n = (uint32_t)(dir->vn.size >> dir->fs->bshift), k;
    struct buf *b;
    int err;

    for (k = dir->dir_hint; k < n; k++) {
        bool done;

        err = ext_dir_read(dir, k, &b);
        if (err != 0)
            return err;
        done = dirblock_add(h, dir, b, name, len, ino, type);
        buf_put(b);
        if (done) {
            dir->dir_hint = k;
            return 0;
        }
    }
    if (n == 1 && dir->fs->index_dirs) {
        err = htree_make(h, dir);
        return err != 0 ? err : htree_add(h, dir, name, len, ino, type);
    }
    err = ext_dir_append(h, dir, &b, &k);
    if (err != 0)
        return err;
    dirblock_add(h, dir, b, name, len, ino, type);
    buf_put(b);
    dir->dir_hint = k;
    return 0;
}

int ext_dir_add(struct handle *h, struct ext_inode *dir, const char *name, size_t len, uint32_t ino,
                enum vtype type)
{
    if (dir->flags & EXT_FL_INDEX) {
        int r = dir->fs->index_dirs ? htree_add(h, dir, name, len, ino, type) : 1;

        if (r <= 0)
            return r;
        /* this code cannot use the index: use the directory as a list */
        dir->flags &= ~(uint32_t)EXT_FL_INDEX;
        ext_iwrite(h, dir);
    }
    return add_entry_linear(h, dir, name, len, ino, type);
}

void ext_dir_remove(struct handle *h, struct ext_inode *dir, struct dirpos *pos)
{
    jnl_access_entries(h, pos->b);
    if (pos->prev != NULL)
        pos->prev->rec_len = (uint16_t)(pos->prev->rec_len + pos->e->rec_len);
    pos->e->ino = 0;
    dir->dir_hint = 0;
}

int ext_dir_empty(struct ext_inode *dir)
{
    uint32_t n = (uint32_t)(dir->vn.size >> dir->fs->bshift);

    for (uint32_t k = 0; k < n; k++) {
        struct buf *b;
        struct ext_dirent *e;
        bool empty = true;
        int err = ext_dir_read(dir, k, &b);

        if (err != 0)
            return err;
        for (uint32_t off = 0; (e = dirent_at(dir->fs, b->data, off)) != NULL; off += e->rec_len)
            if (e->ino != 0 && !is_dot_entry(e, 1) && !is_dot_entry(e, 2))
                empty = false;
        buf_put(b);
        if (!empty)
            return 0;
    }
    return 1;
}

/* ---- reading all entries ------------------------------------------------------------------------- */

enum vtype ext_dirent_vtype(struct ext_fs *fs, const struct ext_dirent *e)
{
    struct ext_inode *i;
    enum vtype type = VREG;

    if (fs->filetype)
        for (unsigned t = VREG; t <= VSOCK; t++)
            if (ext_dirent_type[t] == e->type)
                return (enum vtype)t;
    if (ext_iload(fs, e->ino, &i) == 0) {
        type = (enum vtype)i->vn.type;
        i->vn.nlink = 1; /* so that ext_iput() frees only the memory */
        ext_iput(i);
    }
    return type;
}

int ext_dir_scan(struct ext_inode *dir, uint64_t off, dirent_fn fn, void *arg)
{
    struct ext_fs *fs = dir->fs;
    bool more = true;

    for (uint64_t base = round_down(off, (uint64_t)fs->bsize); more && base < dir->vn.size;
         base += fs->bsize) {
        struct ext_dirent *e;
        struct buf *b;
        int err = ext_dir_read(dir, (uint32_t)(base >> fs->bshift), &b);

        if (err != 0)
            return err;
        /*
         * begin at the start of the block, because `off` can now lie inside a record that was
         * merged
         */
        for (uint32_t k = 0; more && (e = dirent_at(fs, b->data, k)) != NULL; k += e->rec_len)
            if (base + k >= off && e->ino != 0)
                more = fn(arg, e->name, e->name_len, e->ino, ext_dirent_vtype(fs, e),
                          base + k + e->rec_len) == 0;
        buf_put(b);
    }
    return 0;
}

int ext_readdir(struct ext_inode *dir, uint64_t off, dirent_fn fn, void *arg)
{
    int r = 1;

    if (dir->fs->index_dirs && ((dir->flags & EXT_FL_INDEX) || dir->vn.size == dir->fs->bsize))
        r = htree_readdir(dir, off, fn, arg);
    return r <= 0 ? r : ext_dir_scan(dir, off, fn, arg);
}
