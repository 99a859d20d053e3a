// SPDX-License-Identifier: MIT
/*
 * namei.c - operations on names: looking up, creating, linking, removing and renaming files.
 *
 * THEORY      Each operation changes several blocks: those of the entry, the inode and the directory.  It makes
 *             all changes in one handle, so after a crash either all changes are on the disk or none.
 *             A file that loses its last name is put on the orphan list in the same handle.  It is deleted
 *             when no program has it open any more.
 *             A directory is accepted only if its ".." leads to the directory in which it was found.  So all
 *             directories that are reached from the root form a tree, even on a corrupted disk.
 * INVARIANTS  I1  i->parent of a directory in memory is the inode number of its parent, or 0 if no
 *                 look-up has found the directory yet
 * LOCKING     The caller holds vn->lock of the directories.  For operations that change a directory, it holds
 *             them for writing (vnode.h).
 * SEE ALSO    dir.c, inode.c
 */
#include "fs/ext/ext.h"

#include "lib/string.h"
#include "stat/panic.h"

/* bitmap, descriptor, inode, inode of the directory, superblock, orphan, 2 spare */
#define MAKE_CREDITS 8

/* Credits for adding an entry to a directory, which may split a block and add a level to its index. */
static unsigned dir_add_credits(struct ext_fs *fs)
{
    return DIR_ADD_CREDITS_BASE + 2 * ext_map_credits(fs, 1);
}

/*
 * Reads *ino, the parent of a directory, from its "..".  0 or an error.  The caller does not hold the directory's
 * lock, so the entries after ".." can change meanwhile.
 */
static int read_parent_ino(struct ext_inode *dir, uint32_t *ino)
{
    struct buf *b;
    struct ext_dirent *e;
    int err = ext_dir_block(dir, 0, &b);

    if (err != 0)
        return err;
    e = dirblock_dotdot(dir->fs, b);
    if (e != NULL)
        *ino = e->ino;
    else
        err = ext_error(dir->fs, "directory %u: its first block has become something else",
                        (uint32_t)dir->vn.ino);
    buf_put(b);
    return err;
}

/* Sets i->parent (I1) after `i` was found in `dir`, and checks the ".." of a directory.  0 or an error. */
static int check_parent(struct ext_inode *dir, struct ext_inode *i)
{
    uint32_t up = i->parent;
    int err = 0;

    if (i->vn.type != VDIR) {
        i->parent = (uint32_t)dir->vn.ino;
        return 0;
    }
    if (up == 0)
        err = read_parent_ino(i, &up);
    if (err != 0)
        return err;
    if (up != dir->vn.ino || i->vn.ino == EXT_ROOT_INO)
        return ext_error(dir->fs, "directory %u is in %u, and says in %u", (uint32_t)i->vn.ino,
                         (uint32_t)dir->vn.ino, up);
    i->parent = up;
    return 0;
}

int ext_lookup(struct ext_inode *dir, const char *name, size_t len, struct ext_inode **out)
{
    struct dirpos pos;
    uint32_t ino;
    int err = ext_dir_find(dir, name, len, &pos);

    if (err != 0)
        return err;
    ino = pos.e->ino;
    buf_put(pos.b);
    if (ino == dir->vn.ino)
        return ext_error(dir->fs, "directory %u is in itself", ino);
    err = ext_iget(dir->fs, ino, out);
    if (err != 0)
        return err;
    err = check_parent(dir, *out);
    if (err != 0)
        ext_iput(*out);
    return err;
}

static void touch_dir(struct handle *h, struct ext_inode *dir)
{
    vn_times_now(&dir->vn, VA_MTIME);
    ext_iwrite(h, dir);
}

/* ---- creating ------------------------------------------------------------------------------------ */

/* Makes the first block of the new directory `i`, with "." and "..". */
static int make_dot_entries(struct handle *h, struct ext_inode *i, struct ext_inode *dir)
{
    struct ext_fs *fs = i->fs;
    struct ext_dirent *e;
    struct buf *b;
    uint32_t lblk;
    int err = ext_dir_append(h, i, &b, &lblk);

    if (err != 0)
        return err;
    e = (struct ext_dirent *)b->data;
    *e = (struct ext_dirent){(uint32_t)i->vn.ino, 12, 1, fs->filetype ? ext_dirent_type[VDIR] : 0};
    e->name[0] = '.';
    e = (struct ext_dirent *)(b->data + 12);
    *e = (struct ext_dirent){(uint32_t)dir->vn.ino, (uint16_t)(fs->bsize - 12), 2,
                             fs->filetype ? ext_dirent_type[VDIR] : 0};
    e->name[0] = e->name[1] = '.';
    buf_put(b);
    return 0;
}

/*
 * Stores a short target in the inode, a longer target in a block.  -ENAMETOOLONG: longer than a
 * block.
 */
static int store_symlink_target(struct handle *h, struct ext_inode *i, const char *target)
{
    size_t len = strlen(target);
    uint32_t pblk, got;
    struct buf *b;
    bool fresh;
    int err;

    if (len >= i->fs->bsize)
        return -ENAMETOOLONG;
    i->vn.size = len;
    if (len < sizeof i->block) {
        memcpy(i->block, target, len);
        return 0;
    }
    err = ext_map_alloc(h, i, 0, 1, &pblk, &got, &fresh);
    if (err == 0)
        err = buf_new(i->fs, pblk, &b);
    if (err != 0)
        return err;
    jnl_access(h, b);
    memcpy(b->data, target, len);
    buf_put(b);
    return 0;
}

/* Gives the new inode its contents: entries, target or device number. */
static int fill_new_inode(struct handle *h, struct ext_inode *dir, struct ext_inode *i,
                          const char *target)
{
    if (i->vn.type == VDIR)
        return make_dot_entries(h, i, dir);
    if (i->vn.type == VLNK)
        return store_symlink_target(h, i, target);
    if (i->vn.type == VCHR || i->vn.type == VBLK) {
        if (i->vn.rdev > UINT32_MAX)
            return -EINVAL;
        i->block[i->vn.rdev > 0xffff] = (uint32_t)i->vn.rdev; /* 16 bits: block[0] */
    }
    return 0;
}

/* Makes a new inode without a name: allocates its number and clears its record in the table. */
static int make_inode(struct handle *h, struct ext_inode *dir, enum vtype type, uint32_t mode,
                      uint32_t uid, uint32_t gid, struct ext_inode **out)
{
    struct ext_fs *fs = dir->fs;
    struct ext_inode *i = ext_inode_new(fs, type);
    struct ext_dinode *d;
    uint32_t ino = 0, extra;
    int err;

    if (i == NULL)
        return -ENOMEM;
    i->vn.nlink = 1; /* so that ext_iput() after an error frees only the memory */
    err = ext_ialloc(h, dir, type == VDIR, &ino);
    if (err != 0)
        goto fail;
    i->vn.ino = ino;
    err = ext_ibuf(i);
    if (err != 0)
        goto fail;
    d = (struct ext_dinode *)(i->ibuf->data + i->ioff);
    if (d->links != 0 && d->mode != 0) {
        err = ext_error(fs, "inode %u is free in the bitmap and in use", ino);
        goto fail;
    }
    jnl_access(h, i->ibuf);
    memset(d, 0, fs->isize);
    i->vn.mode = mode;
    i->vn.uid = uid;
    i->vn.gid = gid;
    i->parent = (uint32_t)dir->vn.ino;
    i->generation = fs->next_generation++;
    extra = max_of(fs->sb->want_extra_isize, fs->sb->min_extra_isize);
    if (fs->isize > 128)
        i->extra_isize = (uint16_t)(extra >= 24 && extra <= fs->isize - 128 && extra % 4 == 0
                                        ? extra
                                        : min_of(32u, fs->isize - 128));
    vn_times_now(&i->vn, VA_ATIME | VA_MTIME);
    i->crtime = (uint32_t)(i->vn.ctime_ns / 1000000000);
    i->crtime_extra = (uint32_t)(i->vn.ctime_ns % 1000000000) << 2;
    *out = i;
    return 0;
fail:
    if (ino != 0 && !fs->rdonly)
        ext_ifree(h, ino, type == VDIR);
    ext_iput(i);
    return err;
}

/*
 * Makes an inode and its name.  If *out is set after an error, the caller must drop the reference, which deletes
 * the inode.
 */
static int create_in_handle(struct handle *h, struct ext_inode *dir, const char *name, size_t len,
                            enum vtype type, uint32_t mode, uint32_t uid, uint32_t gid,
                            uint64_t rdev, const char *target, struct ext_inode **out)
{
    struct ext_inode *i = NULL;
    int err = make_inode(h, dir, type, mode, uid, gid, &i);

    if (err != 0)
        return err;
    i->vn.rdev = rdev;
    i->vn.nlink = type == VDIR ? 2 : 1;
    *out = i;
    err = fill_new_inode(h, dir, i, target);
    if (err == 0)
        err = ext_dir_add(h, dir, name, len, (uint32_t)i->vn.ino, type);
    if (err == 0) {
        if (type == VDIR)
            dir->vn.nlink++;
        touch_dir(h, dir);
        ext_iwrite(h, i);
        return 0;
    }
    i->vn.nlink = 0; /* so that the drop of the last reference deletes the inode */
    ext_orphan_add(h, i);
    return err;
}

/*
 * Returns whether to repeat a change that failed with `err`.  If the first try found no free space, commits first,
 * because a commit makes freed blocks available.
 */
static bool commit_for_space(struct ext_fs *fs, int err, unsigned tries)
{
    return err == -ENOSPC && fs->free_blocks > 0 && tries == 0 && jnl_commit_all(fs) == 0;
}

int ext_create(struct ext_inode *dir, const char *name, size_t len, enum vtype type, uint32_t mode,
               uint32_t uid, uint32_t gid, uint64_t rdev, const char *target,
               struct ext_inode **out)
{
    struct ext_fs *fs = dir->fs;
    struct ext_inode *i = NULL;
    struct dirpos pos;
    struct handle h;
    int err;

    if (dir->vn.nlink == 0)
        return -ENOENT;
    if (type == VDIR && dir->vn.nlink >= EXT_LINK_MAX)
        return -EMLINK;
    err = ext_dir_find(dir, name, len, &pos);
    if (err != -ENOENT) {
        if (err == 0)
            buf_put(pos.b);
        return err == 0 ? -EEXIST : err;
    }
    for (unsigned tries = 0;; tries++) {
        i = NULL;
        err = jnl_start(fs, MAKE_CREDITS + dir_add_credits(fs) + ext_map_credits(fs, 1), &h);
        if (err != 0)
            return err;
        err = create_in_handle(&h, dir, name, len, type, mode, uid, gid, rdev, target, &i);
        jnl_stop(&h);
        if (err != 0 && i != NULL)
            ext_iput(i);
        if (fs->free_inodes == 0 || !commit_for_space(fs, err, tries))
            break;
    }
    if (err != 0)
        return err;
    ext_ihash(i);
    *out = i;
    return 0;
}

/* ---- linking and removing ------------------------------------------------------------------------ */

/* Decreases the link count of `i`, which has lost a name.  Returns whether this was the last name. */
static bool drop_inode_link(struct handle *h, struct ext_inode *i)
{
    bool last;

    mutex_enter(&i->map_lock);
    i->vn.nlink = i->vn.type == VDIR || i->vn.nlink == 0 ? 0 : i->vn.nlink - 1;
    last = i->vn.nlink == 0;
    mutex_exit(&i->map_lock);
    vn_times_now(&i->vn, 0);
    if (last)
        ext_orphan_add(h, i);
    ext_iwrite(h, i);
    return last;
}

/*
 * Adds a name for `i` and increases its link count.  *last is set if adding has failed and meanwhile the file has
 * lost its last link.
 */
static int link_in_handle(struct handle *h, struct ext_inode *dir, const char *name, size_t len,
                          struct ext_inode *i, bool *last)
{
    int err = 0;

    /* operations in two directories can change the link count of one file at the same time */
    mutex_enter(&i->map_lock);
    if (i->vn.nlink == 0)
        err = -ENOENT;
    else if (i->vn.nlink >= EXT_LINK_MAX)
        err = -EMLINK;
    else
        i->vn.nlink++;
    mutex_exit(&i->map_lock);
    if (err != 0)
        return err;
    err = ext_dir_add(h, dir, name, len, (uint32_t)i->vn.ino, (enum vtype)i->vn.type);
    if (err == 0) {
        touch_dir(h, dir);
        vn_times_now(&i->vn, 0);
        ext_iwrite(h, i);
    } else {
        /* another name of the file was perhaps removed meanwhile */
        *last = drop_inode_link(h, i);
    }
    return err;
}

int ext_link(struct ext_inode *dir, const char *name, size_t len, struct ext_inode *i)
{
    struct ext_fs *fs = dir->fs;
    struct dirpos pos;
    struct handle h;
    bool last = false;
    int err;

    if (dir->vn.nlink == 0)
        return -ENOENT;
    err = ext_dir_find(dir, name, len, &pos);
    if (err != -ENOENT) {
        if (err == 0)
            buf_put(pos.b);
        return err == 0 ? -EEXIST : err;
    }
    for (unsigned tries = 0;; tries++) {
        err = jnl_start(fs, MAKE_CREDITS + dir_add_credits(fs), &h);
        if (err != 0)
            return err;
        err = link_in_handle(&h, dir, name, len, i, &last);
        jnl_stop(&h);
        if (last || !commit_for_space(fs, err, tries))
            break;
    }
    if (last)
        ext_iforget(i);
    return err;
}

static void drop_subdir_link(struct ext_inode *dir)
{
    if (dir->vn.nlink > 2)
        dir->vn.nlink--;
}

/* Finds the entry of `name`.  -ENOENT also if the entry does not lead to inode `ino`. */
static int find_entry_of_inode(struct ext_inode *dir, const char *name, size_t len, uint64_t ino,
                               struct dirpos *pos)
{
    int err = ext_dir_find(dir, name, len, pos);

    if (err == 0 && pos->e->ino != ino) {
        buf_put(pos->b);
        err = -ENOENT;
    }
    return err;
}

/* Returns 0 if `i` is NULL, not a directory, or empty; -ENOTEMPTY; or an error. */
static int check_dir_is_empty(struct ext_inode *i)
{
    int r = i == NULL || i->vn.type != VDIR ? 1 : ext_dir_empty(i);

    if (r < 0)
        return r;
    return r == 0 ? -ENOTEMPTY : 0;
}

int ext_unlink(struct ext_inode *dir, const char *name, size_t len, struct ext_inode *victim)
{
    struct dirpos pos;
    struct handle h;
    bool last;
    int err = check_dir_is_empty(victim);

    if (err == 0)
        err = find_entry_of_inode(dir, name, len, victim->vn.ino, &pos);
    if (err != 0)
        return err;
    err = jnl_start(dir->fs, MAKE_CREDITS, &h);
    if (err == 0) {
        ext_dir_remove(&h, dir, &pos);
        if (victim->vn.type == VDIR)
            drop_subdir_link(dir);
        touch_dir(&h, dir);
        last = drop_inode_link(&h, victim);
        jnl_stop(&h);
        if (last)
            ext_iforget(victim);
    }
    buf_put(pos.b);
    return err;
}

/* ---- renaming ------------------------------------------------------------------------------------ */

/* Makes the new name: adds an entry, or changes the entry of `replaced`. */
static int write_new_entry(struct handle *h, struct ext_inode *nd, const char *nn, size_t nl,
                           struct ext_inode *moved, struct ext_inode *replaced)
{
    struct dirpos pos;
    int err;

    if (replaced == NULL)
        return ext_dir_add(h, nd, nn, nl, (uint32_t)moved->vn.ino, (enum vtype)moved->vn.type);
    err = find_entry_of_inode(nd, nn, nl, replaced->vn.ino, &pos);
    if (err != 0)
        return err;
    jnl_access_entries(h, pos.b);
    pos.e->ino = (uint32_t)moved->vn.ino;
    pos.e->type = nd->fs->filetype ? ext_dirent_type[moved->vn.type] : 0;
    buf_put(pos.b);
    return 0;
}

/* Makes the ".." of a directory lead to its new parent.  For the lock see read_parent_ino(). */
static int set_dotdot_parent(struct handle *h, struct ext_inode *dir, struct ext_inode *parent)
{
    struct buf *b;
    struct ext_dirent *e;
    int err = ext_dir_block(dir, 0, &b);

    if (err != 0)
        return err;
    e = dirblock_dotdot(dir->fs, b);
    if (e != NULL) {
        jnl_access_entries(h, b);
        e->ino = (uint32_t)parent->vn.ino;
    }
    buf_put(b);
    return e != NULL ? 0 : -EUCLEAN;
}

static int rename_in_handle(struct handle *h, struct ext_inode *od, const char *on, size_t ol,
                            struct ext_inode *nd, const char *nn, size_t nl,
                            struct ext_inode *moved, struct ext_inode *replaced)
{
    bool dir = moved->vn.type == VDIR;
    struct dirpos pos, before;
    int err = find_entry_of_inode(od, on, ol, moved->vn.ino, &before);

    if (err != 0)
        return err;
    err = write_new_entry(h, nd, nn, nl, moved, replaced);
    if (err != 0) {
        buf_put(before.b);
        return err;
    }
    /*
     * Search again, because a split can have moved the entry.  `before` keeps the block of the
     * entry in memory.
     */
    err = find_entry_of_inode(od, on, ol, moved->vn.ino, &pos);
    buf_put(before.b);
    if (err == 0) {
        ext_dir_remove(h, od, &pos);
        buf_put(pos.b);
        if (dir && od != nd)
            err = set_dotdot_parent(h, moved, nd);
    }
    if (err != 0)
        return ext_error(od->fs, "directory %u cannot be read in the middle of a rename",
                         (uint32_t)od->vn.ino);
    if (dir && replaced != NULL)
        drop_subdir_link(nd);
    if (dir && od != nd) {
        drop_subdir_link(od);
        nd->vn.nlink++;
    }
    moved->parent = (uint32_t)nd->vn.ino;
    touch_dir(h, od);
    if (od != nd)
        touch_dir(h, nd);
    vn_times_now(&moved->vn, 0);
    ext_iwrite(h, moved);
    return 0;
}

int ext_rename(struct ext_inode *od, const char *on, size_t ol, struct ext_inode *nd,
               const char *nn, size_t nl, struct ext_inode *moved, struct ext_inode *replaced)
{
    struct ext_fs *fs = od->fs;
    struct handle h;
    bool last = false;
    int err = check_dir_is_empty(replaced);

    if (err == 0 && nd->vn.nlink == 0)
        err = -ENOENT;
    if (err == 0 && moved->vn.type == VDIR && od != nd && replaced == NULL &&
        nd->vn.nlink >= EXT_LINK_MAX)
        err = -EMLINK;
    if (err != 0)
        return err;
    for (unsigned tries = 0;; tries++) {
        err = jnl_start(fs, 2 * MAKE_CREDITS + dir_add_credits(fs), &h);
        if (err != 0)
            return err;
        err = rename_in_handle(&h, od, on, ol, nd, nn, nl, moved, replaced);
        if (err == 0 && replaced != NULL)
            last = drop_inode_link(&h, replaced);
        jnl_stop(&h);
        if (!commit_for_space(fs, err, tries))
            break;
    }
    if (last)
        ext_iforget(replaced);
    return err;
}

/* ---- the rest ------------------------------------------------------------------------------------ */

int ext_readlink(struct ext_inode *i, char *buf, size_t size)
{
    size_t n = min_of((size_t)i->vn.size, size);
    uint32_t pblk, got;
    struct buf *b;
    int err;

    if (i->nsectors == (i->file_acl != 0 ? i->fs->spb : 0)) {
        memcpy(buf, i->block, n);
        return (int)n;
    }
    err = ext_map(i, 0, 1, &pblk, &got);
    if (err != 0)
        return err;
    if (pblk == 0)
        return ext_error(i->fs, "symbolic link %u has no block", (uint32_t)i->vn.ino);
    err = buf_read(i->fs, pblk, &b);
    if (err != 0)
        return err;
    memcpy(buf, b->data, n);
    buf_put(b);
    return memchr(buf, 0, n) != NULL
               ? ext_error(i->fs, "symbolic link %u: its target is shorter than its size",
                           (uint32_t)i->vn.ino)
               : (int)n;
}

/* Argument of copy_name_of_inode(): the inode, and where to store its name. */
struct name_search {
    uint64_t ino;
    char *buf;
    size_t size;
    int len;
};

/* A dirent_fn that copies the name of inode s->ino and stops there. */
static int copy_name_of_inode(void *arg, const char *name, size_t len, uint64_t ino,
                              enum vtype type, uint64_t next)
{
    struct name_search *s = arg;

    if (ino != s->ino || (len <= 2 && name[0] == '.' && (len == 1 || name[1] == '.')))
        return 0;
    s->len = len > s->size ? -ENAMETOOLONG : (int)len;
    if (s->len > 0)
        memcpy(s->buf, name, len);
    return 1;
}

int ext_parent(struct ext_inode *i, struct ext_inode **parent, char *buf, size_t size)
{
    struct name_search s = {i->vn.ino, buf, size, -ENOENT};
    struct ext_inode *up;
    uint32_t ino = i->parent;
    int err = 0;

    if (i->vn.nlink == 0)
        return -ENOENT;
    if (ino == 0 && i->vn.type == VDIR)
        err = read_parent_ino(i, &ino);
    if (err != 0 || ino == 0 || ino == i->vn.ino)
        return err != 0 ? err : -ENOENT;
    err = ext_iget(i->fs, ino, &up);
    if (err != 0)
        return err;
    if (up->vn.type != VDIR) {
        err = -ENOENT;
    } else if (size != 0) {
        rw_enter_read(&up->vn.lock);
        err = ext_dir_scan(up, 0, copy_name_of_inode, &s);
        rw_exit_read(&up->vn.lock);
        if (err == 0)
            err = s.len;
    }
    if (err >= 0 && parent != NULL)
        *parent = up;
    else
        ext_iput(up);
    return err;
}
