// SPDX-License-Identifier: MIT
/*
 * inode.c - inodes: reading them from the inode table and writing them back.
 *
 * THEORY      An inode describes one file: its type, owner, size, times and block pointers.  On the disk, the
 *             inodes of a group form a table.
 *             An inode in memory keeps a reference to the buffer with its part of the table, so writing the
 *             inode takes only a few stores.  Some changes need not reach the disk immediately:
 *             changes of times, and a new size within blocks that the file already has.  Inodes
 *             with such changes are put into fs->dirty and are written to the table before the next
 *             commit.
 * INVARIANTS  I1  in the view of the running transaction, each field in the table has the value that the
 *                 inode in memory had at the last write
 * LOCKING     table_lock is needed because two threads can write one inode at the same time.  dirty_lock guards
 *             fs->dirty.
 * SEE ALSO    icache.c, orphan.c, docs/ext.md
 */
#include "fs/ext/ext.h"

#include "disp/timer.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

#define NS          1000000000
#define INLINE_LINK sizeof(((struct ext_dinode *)0)->block)

static const uint16_t mode_of[] = {
    [VREG] = IFMT_REG, [VDIR] = IFMT_DIR,   [VLNK] = IFMT_LNK,  [VCHR] = IFMT_CHR,
    [VBLK] = IFMT_BLK, [VFIFO] = IFMT_FIFO, [VSOCK] = IFMT_SOCK};

enum vtype ext_vtype(uint32_t mode)
{
    for (unsigned t = VREG; t <= VSOCK; t++)
        if (mode_of[t] == (mode & 0xf000))
            return (enum vtype)t;
    return 0;
}

/* Whether the inode on the disk is large enough to have the field that ends at byte `end`. */
static inline bool inode_has_field(const struct ext_inode *i, size_t end)
{
    return 128 + (size_t)i->extra_isize >= end;
}
#define HAS(i, field) inode_has_field(i, offsetof(struct ext_dinode, field) + 4)

/* ---- times --------------------------------------------------------------------------------------- */

/* Converts a time of the disk to ns since 1970; see encode_inode_time(). */
static int64_t decode_inode_time(uint32_t sec, uint32_t extra)
{
    int64_t s = (int64_t)(int32_t)sec + ((int64_t)(extra & 3) << 32);
    int64_t ns = extra >> 2;

    if (ns >= NS)
        ns = 0;
    return s > INT64_MAX / NS - 1 ? INT64_MAX : s * NS + ns;
}

int64_t ext_time_fits(const struct ext_inode *i, int64_t t)
{
    int64_t least = (int64_t)INT32_MIN * NS, most = (int64_t)INT32_MAX * NS;

    if (t < least)
        return least;
    return t > most && !HAS(i, atime_extra) ? most : t;
}

/*
 * Converts ns since 1970 to a time of the disk: *sec is the low 32 bits of the seconds, as a signed number.
 * *extra has the nanoseconds in its upper 30 bits, and the lower 2 bits extend the seconds: they are
 * multiplied by 2^32 and added.
 */
static void encode_inode_time(int64_t t, uint32_t *sec, uint32_t *extra)
{
    int64_t s = t / NS, ns = t % NS;

    if (ns < 0) {
        ns += NS;
        s--;
    }
    *sec = (uint32_t)s;
    if (extra != NULL)
        *extra = (uint32_t)ns << 2 | (((uint32_t)((uint64_t)(s - (int32_t)s) >> 32)) & 3);
}

/* ---- reading and writing the table --------------------------------------------------------------- */

int ext_ibuf(struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;
    uint32_t ino = (uint32_t)i->vn.ino - 1;
    struct buf *db;
    struct ext_gdesc *d = ext_gdesc(fs, ino / fs->ipg, &db);
    uint32_t k = ino % fs->ipg;

    i->ioff = k % fs->ipb * fs->isize;
    return buf_read(fs, d->inode_table + k / fs->ipb, &i->ibuf);
}

/*
 * The limit of the size of a symbolic link: the size must be less.  The limit depends on whether
 * the target is in a block or in the inode.
 */
static uint64_t symlink_size_limit(const struct ext_fs *fs, const struct ext_dinode *d)
{
    uint32_t attribute_sectors = d->file_acl != 0 ? fs->spb : 0;

    return d->blocks > attribute_sectors ? fs->bsize : INLINE_LINK;
}

/* Checks the fields of an inode that has just been read.  0 or -EUCLEAN. */
static int check_inode(struct ext_inode *i, const struct ext_dinode *d)
{
    struct ext_fs *fs = i->fs;
    uint32_t ino = (uint32_t)i->vn.ino;

    if (i->vn.type == 0)
        return ext_error(fs, "inode %u: mode 0%o", ino, d->mode);
    if (d->flags & EXT_FL_UNKNOWN)
        return ext_error(fs, "inode %u: flags 0x%x (extents or inline data)", ino, d->flags);
    if (i->extra_isize > fs->isize - 128 || i->extra_isize % 4 != 0)
        return ext_error(fs, "inode %u: extra size %u", ino, i->extra_isize);
    if (d->blocks_high != 0 || d->blocks / fs->spb > fs->blocks)
        return ext_error(fs, "inode %u: %u sectors", ino, d->blocks);
    if (d->file_acl != 0 && !ext_block_ok(fs, d->file_acl, 1))
        return ext_error(fs, "inode %u: attribute block %u", ino, d->file_acl);
    switch (i->vn.type) {
    case VREG:
        if (i->vn.size > ext_max_size(fs))
            return ext_error(fs, "inode %u: size %llu", ino, (unsigned long long)i->vn.size);
        break;
    case VDIR:
        if (i->vn.size == 0 || i->vn.size % fs->bsize != 0 ||
            i->vn.size > (uint64_t)d->blocks * 512)
            return ext_error(fs, "directory %u: size %llu", ino, (unsigned long long)i->vn.size);
        break;
    case VLNK:
        if (i->vn.size == 0 || i->vn.size >= symlink_size_limit(fs, d))
            return ext_error(fs, "symbolic link %u: size %llu", ino,
                             (unsigned long long)i->vn.size);
        break;
    }
    return 0;
}

#define ATTR_ACL 2 /* index of the name "system.posix_acl_access" */

/* Whether a list of extended attributes contains an access control list; true also if the list is damaged. */
static bool attr_list_has_acl(const uint8_t *p, const uint8_t *end)
{
    while (end - p >= 4 && *(const uint32_t *)p != 0) {
        /* p[0]: length of a name; p[1]: kind of the name */
        if (p[1] == ATTR_ACL || end - p < 16 + p[0])
            return true;
        p += round_up(16u + p[0], 4u);
    }
    return false;
}

/*
 * Whether the inode has an access control list, in the table after its fields or in its block of attributes.
 * True also if that block cannot be read.
 */
static bool inode_has_acl(struct ext_inode *i, const struct ext_dinode *d)
{
    uint32_t off = 128u + i->extra_isize, isize = i->fs->isize;
    const uint8_t *table = (const uint8_t *)d;
    struct buf *b;
    bool found;

    if (isize > 128 && off + 4 <= isize && *(const uint32_t *)(table + off) == ATTR_MAGIC &&
        attr_list_has_acl(table + off + 4, table + isize))
        return true;
    if (i->file_acl == 0)
        return false;
    if (buf_read(i->fs, i->file_acl, &b) != 0)
        return true;
    found = *(const uint32_t *)b->data != ATTR_MAGIC ||
            attr_list_has_acl(b->data + 32, b->data + i->fs->bsize);
    buf_put(b);
    return found;
}

/* Fills in the inode from the table and checks it.  0 or -EUCLEAN. */
static int load_inode_fields(struct ext_inode *i, const struct ext_dinode *d)
{
    struct vnode *vn = &i->vn;
    uint32_t none = 0;

    vn->mode = d->mode & 07777;
    vn->uid = d->uid | (uint32_t)d->uid_high << 16;
    vn->gid = d->gid | (uint32_t)d->gid_high << 16;
    vn->nlink = d->links;
    vn->size = d->size | (vn->type == VREG ? (uint64_t)d->size_high << 32 : 0);
    vn->obj.size_pages = (vn->size + PAGE_SIZE - 1) >> PAGE_SHIFT;
    i->disksize = vn->size;
    i->extra_isize = i->fs->isize > 128 ? d->extra_isize : 0;
    memcpy(i->block, d->block, sizeof i->block);
    i->nsectors = d->blocks;
    i->flags = d->flags;
    i->generation = d->generation;
    i->file_acl = d->file_acl;
    i->dtime = d->dtime;
    if (vn->type == VCHR || vn->type == VBLK)
        vn->rdev = d->block[0] != 0 ? d->block[0] : d->block[1];
    if (check_inode(i, d) != 0)
        return -EUCLEAN;
    if (d->flags & EXT_FL_IMMUTABLE)
        vn->attr |= VN_IMMUTABLE;
    if (d->flags & EXT_FL_APPEND)
        vn->attr |= VN_APPEND;
    if (inode_has_acl(i, d))
        vn->attr |= VN_ACL;
    vn->ctime_ns = decode_inode_time(d->ctime, HAS(i, ctime_extra) ? d->ctime_extra : none);
    vn->mtime_ns = decode_inode_time(d->mtime, HAS(i, mtime_extra) ? d->mtime_extra : none);
    vn->atime_ns = decode_inode_time(d->atime, HAS(i, atime_extra) ? d->atime_extra : none);
    i->crtime = HAS(i, crtime) ? d->crtime : 0;
    i->crtime_extra = HAS(i, crtime_extra) ? d->crtime_extra : 0;
    return 0;
}

/*
 * Stores the fields into the table.  Returns whether this makes a regular file longer in the table.  The caller holds
 * table_lock.
 */
static bool store_inode_fields(struct ext_inode *i)
{
    struct ext_dinode *d = (struct ext_dinode *)(i->ibuf->data + i->ioff);
    struct vnode *vn = &i->vn;
    uint64_t size = max_of(vn->size, i->growing);
    bool longer = vn->type == VREG && size > i->disksize;

    d->mode = (uint16_t)(mode_of[vn->type] | vn->mode);
    d->uid = (uint16_t)vn->uid;
    d->uid_high = (uint16_t)(vn->uid >> 16);
    d->gid = (uint16_t)vn->gid;
    d->gid_high = (uint16_t)(vn->gid >> 16);
    d->links = (uint16_t)vn->nlink;
    d->size = (uint32_t)size;
    if (vn->type == VREG)
        d->size_high = (uint32_t)(size >> 32);
    d->blocks = i->nsectors;
    d->flags = i->flags;
    d->generation = i->generation;
    d->file_acl = i->file_acl;
    d->dtime = i->dtime;
    memcpy(d->block, i->block, sizeof i->block);
    if (i->fs->isize > 128)
        d->extra_isize = i->extra_isize;
    encode_inode_time(ext_time_fits(i, vn->ctime_ns), &d->ctime,
                      HAS(i, ctime_extra) ? &d->ctime_extra : NULL);
    encode_inode_time(ext_time_fits(i, vn->mtime_ns), &d->mtime,
                      HAS(i, mtime_extra) ? &d->mtime_extra : NULL);
    encode_inode_time(ext_time_fits(i, vn->atime_ns), &d->atime,
                      HAS(i, atime_extra) ? &d->atime_extra : NULL);
    if (HAS(i, crtime))
        d->crtime = i->crtime;
    if (HAS(i, crtime_extra))
        d->crtime_extra = i->crtime_extra;
    i->disksize = size;
    return longer;
}

void ext_iwrite(struct handle *h, struct ext_inode *i)
{
    uint64_t was, is;
    bool longer;

    jnl_access(h, i->ibuf);
    ASSERT((int32_t)(jnl_tid(h) - i->tid) >= 0, "ext.h: tid never goes back");
    /* before disksize: an fdatasync that finds the new size in the table must commit this transaction */
    i->tid = jnl_tid(h);
    /* one critical section for reading and storing the fields: no old value overwrites a newer one (I1) */
    spin_lock(&i->table_lock);
    was = i->disksize;
    longer = store_inode_fields(i);
    is = i->disksize;
    spin_unlock(&i->table_lock);
    if (longer) {
        jnl_order(h, i, was, is); /* the bytes between the sizes must be on the disk first */
        if (unlikely(i->disksize > INT32_MAX && !(h->fs->sb->ro_compat & RO_LARGE_FILE))) {
            jnl_access(h, h->fs->sb_buf);
            h->fs->sb->ro_compat |= RO_LARGE_FILE;
        }
    }
}

struct ext_inode *ext_inode_new(struct ext_fs *fs, enum vtype type)
{
    struct ext_inode *i = ext_alloc(fs, sizeof *i);

    if (i == NULL)
        return NULL;
    vn_init(&i->vn, fs->vfs, type, fs->up->ops, fs->up->pager);
    if (type == VREG)
        object_io_init(&i->vn.obj, &i->io, fs->disk);
    i->fs = fs;
    mutex_init(&i->map_lock, SLEEP_EXT_MAP);
    spin_init(&i->table_lock, RANK_BUF);
    list_init(&i->orphan);
    list_init(&i->dirty_link);
    list_init(&i->olink);
    list_init(&i->clock);
    return i;
}

void ext_inode_free(struct ext_inode *i)
{
    if (i->vn.obj.io != NULL)
        object_io_fini(&i->vn.obj);
    buf_put(i->ibuf);
    kmem_free(i);
}

int ext_iload(struct ext_fs *fs, uint32_t ino, struct ext_inode **out)
{
    struct ext_inode probe = {.fs = fs}, *i;
    struct ext_dinode *d;
    int err;

    *out = NULL;
    if (ino == 0 || ino > fs->inodes)
        return ext_error(fs, "inode number %u", ino);
    probe.vn.ino = ino;
    err = ext_ibuf(&probe);
    if (err != 0)
        return err;
    d = (struct ext_dinode *)(probe.ibuf->data + probe.ioff);
    i = ext_inode_new(fs, ext_vtype(d->mode));
    if (i == NULL) {
        buf_put(probe.ibuf);
        return -ENOMEM;
    }
    i->vn.ino = ino;
    i->ibuf = probe.ibuf;
    i->ioff = probe.ioff;
    if (fs->jnl != NULL && !fs->rdonly)
        i->tid = jnl_tid_of(fs, i->ibuf); /* changes from before an eviction can be uncommitted */
    err = load_inode_fields(i, d);
    if (err != 0) {
        ext_inode_free(i);
        return err;
    }
    *out = i;
    return 0;
}
/* ---- inodes that are newer in memory ------------------------------------------------------------- */

void ext_idirty(struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;

    /* a thread that clears i->dirty after the check below sees the stores of the caller */
    atomic_thread_fence(memory_order_seq_cst);
    if (i->dirty || fs->rdonly)
        return;
    spin_lock(&fs->dirty_lock);
    if (!i->dirty) {
        i->dirty = true;
        fs->ndirty++;
        list_push_back(&fs->dirty, &i->dirty_link);
    }
    spin_unlock(&fs->dirty_lock);
}

void ext_iundirty(struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;

    spin_lock(&fs->dirty_lock);
    if (i->dirty) {
        fs->ndirty--;
        list_remove(&i->dirty_link);
    }
    i->dirty = false;
    spin_unlock(&fs->dirty_lock);
}

int ext_iflush_one(struct ext_inode *i)
{
    struct handle h;
    int err;

    if (!i->dirty)
        return 0;
    err = jnl_start(i->fs, 2, &h);
    if (err != 0)
        return err;
    /*
     * set tid before `dirty` is cleared: an fsync that finds the inode clean must wait for this
     * transaction
     */
    i->tid = jnl_tid(&h);
    /* call this before ext_iwrite(): any later change makes the inode dirty again */
    ext_iundirty(i);
    ext_iwrite(&h, i);
    jnl_stop(&h);
    return 0;
}

bool ext_itryhold(struct ext_inode *i)
{
    uint32_t n = i->vn.refs;

    while (n != 0 && !atomic_compare_exchange_weak(&i->vn.refs, &n, n + 1))
        ;
    return n != 0;
}

/*
 * Returns the first dirty inode, with a reference; NULL: no inode is dirty.  Skips inodes whose
 * last reference is gone, because ext_inactive() takes them off the list.
 */
static struct ext_inode *hold_first_dirty_inode(struct ext_fs *fs)
{
    struct ext_inode *i, *found = NULL;

    spin_lock(&fs->dirty_lock);
    LIST_FOREACH (i, &fs->dirty, dirty_link)
        if (ext_itryhold(i)) {
            found = i;
            break;
        }
    spin_unlock(&fs->dirty_lock);
    return found;
}

int ext_iflush(struct ext_fs *fs)
{
    struct ext_inode *i;
    int err = 0;

    /*
     * write only as many inodes as are dirty now, because inodes can become dirty again and go to
     * the end
     */
    for (uint32_t left = fs->ndirty;
         left > 0 && err == 0 && (i = hold_first_dirty_inode(fs)) != NULL; left--) {
        err = ext_iflush_one(i);
        ext_iput(i);
    }
    return err;
}
