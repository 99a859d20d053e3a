// SPDX-License-Identifier: MIT
/*
 * inode.c - inodes: from the table and back, the cache of them, those without a name.
 *
 * THEORY      An inode in memory keeps its block of the inode table, so writing it is a few stores.  The cache
 *             holds one reference to each inode that it can find; an inode with only that one left is thrown away
 *             second-chance when there are too many.  When the last link goes, the cache gives its reference up:
 *             the last user's vn_release() then deletes the file.
 *             An inode that must not survive a crash as it is (no links left, or blocks beyond its size) is on the
 *             orphan list: on the disk, the superblock names the first and each names the next in its dtime.
 *             Changes that need not be on the disk at once (times, size of a file whose blocks it had) are noted
 *             in fs->dirty and written to the table before the next commit.
 * INVARIANTS  I1  an inode is in the cache's hash at most once, and not when nlink is 0
 *             I2  the orphan list on the disk is fs->orphans in its order, in the transaction's view
 * LOCKING     icache_part.lock; orphan_lock (in a handle); dirty_lock
 * SEE ALSO    truncate.c, docs/ext.md
 */
#include "fs/ext/ext.h"

#include "disp/timer.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "stat/tunable.h"

#define NS          1000000000
#define HASH_SIZE   256 /* chains of one part */
#define INLINE_LINK sizeof(((struct ext_dinode *)0)->block)

static uint32_t ext_inode_max = 0;
TUNABLE(ext_inode_max, "default 0 (one for each 16 pages of memory): inodes kept by one file system; read at mount");

static const uint16_t mode_of[] = {[VREG] = IFMT_REG, [VDIR] = IFMT_DIR,   [VLNK] = IFMT_LNK, [VCHR] = IFMT_CHR,
                                   [VBLK] = IFMT_BLK, [VFIFO] = IFMT_FIFO, [VSOCK] = IFMT_SOCK};

enum vtype ext_vtype(uint32_t mode)
{
    for (unsigned t = VREG; t <= VSOCK; t++)
        if (mode_of[t] == (mode & 0xf000))
            return (enum vtype)t;
    return 0;
}

/* ---- times --------------------------------------------------------------------------------------- */

static int64_t time_in(uint32_t sec, uint32_t extra)
{
    int64_t s = (int64_t)(int32_t)sec + ((int64_t)(extra & 3) << 32);
    int64_t ns = extra >> 2;

    if (ns >= NS)
        ns = 0;
    return s > INT64_MAX / NS - 1 ? INT64_MAX : s * NS + ns;
}

static void time_out(int64_t t, uint32_t *sec, uint32_t *extra)
{
    int64_t s = t / NS, ns = t % NS;

    if (ns < 0) {
        ns += NS;
        s--;
    }
    *sec = (uint32_t)s;
    if (extra != NULL) /* the two bits say how often 2^32 is to be added to the signed 32 */
        *extra = (uint32_t)ns << 2 | (((uint32_t)((uint64_t)(s - (int32_t)s) >> 32)) & 3);
}

/* Whether the inode has the field of the 256-byte inode that ends at byte `end`. */
static inline bool has(const struct ext_inode *i, size_t end)
{
    return 128 + (size_t)i->extra_isize >= end;
}
#define HAS(i, field) has(i, offsetof(struct ext_dinode, field) + 4)

/* ---- from and to the table ----------------------------------------------------------------------- */

int ext_ibuf(struct ext_inode *i)
{
    struct ext_fs    *fs = i->fs;
    uint32_t          ino = (uint32_t)i->vn.ino - 1;
    struct buf       *db;
    struct ext_gdesc *d = ext_gdesc(fs, ino / fs->ipg, &db);
    uint32_t          k = ino % fs->ipg;

    i->ioff = k % fs->ipb * fs->isize;
    return buf_read(fs, d->inode_table + k / fs->ipb, &i->ibuf);
}

static int check_inode(struct ext_inode *i, const struct ext_dinode *d)
{
    struct ext_fs *fs = i->fs;
    uint32_t       ino = (uint32_t)i->vn.ino;

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
        if (i->vn.size == 0 || i->vn.size % fs->bsize != 0 || i->vn.size > (uint64_t)d->blocks * 512)
            return ext_error(fs, "directory %u: size %llu", ino, (unsigned long long)i->vn.size);
        break;
    case VLNK:
        if (i->vn.size == 0 || i->vn.size >= (d->blocks > (d->file_acl ? fs->spb : 0) ? fs->bsize : INLINE_LINK))
            return ext_error(fs, "symbolic link %u: size %llu", ino, (unsigned long long)i->vn.size);
        break;
    }
    return 0;
}

/* Fills in what the table says. */
static int read_in(struct ext_inode *i, const struct ext_dinode *d)
{
    struct vnode *vn = &i->vn;
    uint32_t      none = 0;

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
    vn->ctime_ns = time_in(d->ctime, HAS(i, ctime_extra) ? d->ctime_extra : none);
    vn->mtime_ns = time_in(d->mtime, HAS(i, mtime_extra) ? d->mtime_extra : none);
    vn->atime_ns = time_in(d->atime, HAS(i, atime_extra) ? d->atime_extra : none);
    i->crtime = HAS(i, crtime) ? d->crtime : 0;
    i->crtime_extra = HAS(i, crtime_extra) ? d->crtime_extra : 0;
    return 0;
}

void ext_iwrite(struct handle *h, struct ext_inode *i)
{
    struct ext_dinode *d = (struct ext_dinode *)(i->ibuf->data + i->ioff);
    struct vnode      *vn = &i->vn;
    uint64_t           size = max_of(vn->size, i->growing);

    jnl_access(h, i->ibuf);
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
    if (h->fs->isize > 128)
        d->extra_isize = i->extra_isize;
    time_out(vn->ctime_ns, &d->ctime, HAS(i, ctime_extra) ? &d->ctime_extra : NULL);
    time_out(vn->mtime_ns, &d->mtime, HAS(i, mtime_extra) ? &d->mtime_extra : NULL);
    time_out(vn->atime_ns, &d->atime, HAS(i, atime_extra) ? &d->atime_extra : NULL);
    if (HAS(i, crtime))
        d->crtime = i->crtime;
    if (HAS(i, crtime_extra))
        d->crtime_extra = i->crtime_extra;
    if (vn->type == VREG && size > i->disksize) {
        jnl_order(h, i); /* what the new size shows has to be there */
        if (unlikely(size > INT32_MAX && !(h->fs->sb->ro_compat & RO_LARGE_FILE))) {
            jnl_access(h, h->fs->sb_buf);
            h->fs->sb->ro_compat |= RO_LARGE_FILE;
        }
    }
    i->disksize = size;
    i->tid = jnl_tid(h);
}

struct ext_inode *ext_ialloc_mem(struct ext_fs *fs, enum vtype type)
{
    struct ext_inode *i = kmem_zalloc(sizeof *i);

    if (i == NULL)
        return NULL;
    vn_init(&i->vn, fs->vfs, type, fs->up->ops, fs->up->pager);
    if (type == VREG)
        object_io_init(&i->vn.obj, &i->io);
    i->fs = fs;
    mutex_init(&i->map_lock, "file map");
    list_init(&i->orphan);
    list_init(&i->dirty_link);
    list_init(&i->olink);
    list_init(&i->clock);
    return i;
}

static void free_mem(struct ext_inode *i)
{
    if (i->vn.obj.io != NULL)
        object_io_fini(&i->vn.obj);
    buf_put(i->ibuf);
    kmem_free(i);
}

int ext_iload(struct ext_fs *fs, uint32_t ino, struct ext_inode **out)
{
    struct ext_inode  probe = {.fs = fs}, *i;
    struct ext_dinode *d;
    int               err;

    *out = NULL;
    if (ino == 0 || ino > fs->inodes)
        return ext_error(fs, "inode number %u", ino);
    probe.vn.ino = ino;
    if ((err = ext_ibuf(&probe)) != 0)
        return err;
    d = (struct ext_dinode *)(probe.ibuf->data + probe.ioff);
    i = ext_ialloc_mem(fs, ext_vtype(d->mode));
    if (i == NULL) {
        buf_put(probe.ibuf);
        return -ENOMEM;
    }
    i->vn.ino = ino;
    i->ibuf = probe.ibuf;
    i->ioff = probe.ioff;
    if ((err = read_in(i, d)) != 0) {
        free_mem(i);
        return err;
    }
    *out = i;
    return 0;
}

/* ---- the cache ----------------------------------------------------------------------------------- */

static struct icache_part *part_of(struct ext_fs *fs, uint64_t ino)
{
    return &fs->part[ino % ICACHE_PARTS];
}

static struct ext_inode **chain_of(struct icache_part *p, uint64_t ino)
{
    return &p->hash[ino / ICACHE_PARTS % HASH_SIZE];
}

int icache_init(struct ext_fs *fs)
{
    uint64_t max = ext_inode_max != 0 ? ext_inode_max : mem_total_pages() / 16;

    fs->max_inodes = (uint32_t)max_of(max / ICACHE_PARTS, (uint64_t)16);
    for (unsigned k = 0; k < ICACHE_PARTS; k++) {
        mutex_init(&fs->part[k].lock, "inode cache");
        list_init(&fs->part[k].clock);
        if ((fs->part[k].hash = kmem_zalloc(HASH_SIZE * sizeof(struct ext_inode *))) == NULL)
            return -ENOMEM;
    }
    return 0;
}

void icache_destroy(struct ext_fs *fs)
{
    for (unsigned k = 0; k < ICACHE_PARTS; k++)
        kmem_free(fs->part[k].hash);
}

static void insert(struct icache_part *p, struct ext_inode *i)
{
    struct ext_inode **c = chain_of(p, i->vn.ino);

    i->hnext = *c;
    *c = i;
    i->hashed = true;
    i->referenced = true;
    list_push_back(&p->clock, &i->clock);
    p->count++;
    vn_hold(&i->vn); /* the cache's */
}

static void take_out(struct icache_part *p, struct ext_inode *i)
{
    struct ext_inode **c = chain_of(p, i->vn.ino);

    while (*c != i)
        c = &(*c)->hnext;
    *c = i->hnext;
    i->hashed = false;
    list_remove(&i->clock);
    p->count--;
}

/* Takes i off fs->dirty. */
static void undirty(struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;

    spin_lock(&fs->dirty_lock);
    if (i->dirty)
        list_remove(&i->dirty_link);
    i->dirty = false;
    spin_unlock(&fs->dirty_lock);
}

/* Frees the inode if only the cache has it and nothing of it is under way.  Part locked. */
static bool evict(struct icache_part *p, struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;
    uint32_t       one = 1;

    if (i->vn.refs != 1 || !fs->up->may_evict(i) || (!fs->rdonly && (i->dirty || i->orphaned || i->otxn != NULL)))
        return false;
    if (!atomic_compare_exchange_strong(&i->vn.refs, &one, 0))
        return false;
    take_out(p, i);
    if (fs->rdonly) { /* after an error: what was under way stays undone */
        undirty(i);
        jnl_unorder(i);
        list_remove(&i->orphan);
    }
    if (i->vn.type == VREG)
        fs->up->drop_pages(i, 0);
    free_mem(i);
    return true;
}

static void trim(struct ext_fs *fs, struct icache_part *p)
{
    for (unsigned k = 0; k < 4 && p->count >= fs->max_inodes; k++) {
        struct ext_inode *i = list_first(&p->clock, struct ext_inode, clock);

        if (!i->referenced && evict(p, i))
            continue;
        i->referenced = false;
        list_remove(&i->clock);
        list_push_back(&p->clock, &i->clock);
    }
}

int ext_iget(struct ext_fs *fs, uint32_t ino, struct ext_inode **out)
{
    struct icache_part *p = part_of(fs, ino);
    struct ext_inode   *i;
    int                 err = 0;

    mutex_enter(&p->lock);
    for (i = *chain_of(p, ino); i != NULL && i->vn.ino != ino; i = i->hnext)
        ;
    if (likely(i != NULL)) {
        vn_hold(&i->vn);
        i->referenced = true;
    } else {
        trim(fs, p);
        if (ino != EXT_ROOT_INO && ino < fs->first_ino)
            err = ext_error(fs, "a name leads to inode %u", ino);
        else
            err = ext_iload(fs, ino, &i);
        if (err == 0 && i->vn.nlink == 0) {
            free_mem(i);
            i = NULL;
            err = ext_error(fs, "a name leads to inode %u, which is free", ino);
        }
        if (err == 0)
            insert(p, i);
    }
    mutex_exit(&p->lock);
    *out = i;
    return err;
}

void ext_iput(struct ext_inode *i)
{
    vn_release(&i->vn);
}

void ext_ihash(struct ext_inode *i)
{
    struct icache_part *p = part_of(i->fs, i->vn.ino);

    mutex_enter(&p->lock);
    insert(p, i);
    trim(i->fs, p);
    mutex_exit(&p->lock);
}

void ext_iforget(struct ext_inode *i)
{
    struct icache_part *p = part_of(i->fs, i->vn.ino);
    bool                was;

    mutex_enter(&p->lock);
    was = i->hashed;
    if (was)
        take_out(p, i);
    mutex_exit(&p->lock);
    if (was)
        vn_release(&i->vn);
}

unsigned icache_drop(struct ext_fs *fs)
{
    unsigned busy = 0;

    for (unsigned k = 0; k < ICACHE_PARTS; k++) {
        struct icache_part *p = &fs->part[k];
        struct ext_inode   *i, *tmp;

        if (p->hash == NULL)
            continue;
        mutex_enter(&p->lock);
        LIST_FOREACH_SAFE (i, tmp, &p->clock, clock)
            if (!evict(p, i))
                busy++;
        mutex_exit(&p->lock);
    }
    return busy;
}

void icache_each(struct ext_fs *fs, void (*fn)(struct ext_inode *i))
{
    struct ext_inode *i;

    for (unsigned k = 0; k < ICACHE_PARTS; k++) {
        mutex_enter(&fs->part[k].lock);
        LIST_FOREACH (i, &fs->part[k].clock, clock)
            fn(i);
        mutex_exit(&fs->part[k].lock);
    }
}

unsigned icache_writers(struct ext_fs *fs)
{
    struct ext_inode *i;
    unsigned          n = 0;

    for (unsigned k = 0; k < ICACHE_PARTS; k++) {
        mutex_enter(&fs->part[k].lock);
        LIST_FOREACH (i, &fs->part[k].clock, clock)
            n += i->vn.writers > 0;
        mutex_exit(&fs->part[k].lock);
    }
    return n;
}

/* ---- inodes that are newer in memory ------------------------------------------------------------- */

void ext_idirty(struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;

    if (i->dirty || fs->rdonly)
        return;
    spin_lock(&fs->dirty_lock);
    if (!i->dirty) {
        i->dirty = true;
        list_push_back(&fs->dirty, &i->dirty_link);
    }
    spin_unlock(&fs->dirty_lock);
}

int ext_iflush_one(struct ext_inode *i)
{
    struct handle h;
    int           err;

    if (!i->dirty)
        return 0;
    if ((err = jnl_start(i->fs, 2, &h)) != 0)
        return err;
    undirty(i); /* before it is read: a change from now on makes it dirty again */
    ext_iwrite(&h, i);
    jnl_stop(&h);
    return 0;
}

/* The first dirty inode, with a reference; NULL: none.  One that is being deleted takes itself off. */
static struct ext_inode *next_dirty(struct ext_fs *fs)
{
    struct ext_inode *i, *found = NULL;

    spin_lock(&fs->dirty_lock);
    LIST_FOREACH (i, &fs->dirty, dirty_link) {
        uint32_t n = i->vn.refs;

        while (n != 0 && !atomic_compare_exchange_weak(&i->vn.refs, &n, n + 1))
            ;
        if (n != 0) {
            found = i;
            break;
        }
    }
    spin_unlock(&fs->dirty_lock);
    return found;
}

int ext_iflush(struct ext_fs *fs)
{
    struct ext_inode *i;
    int               err = 0;

    while (err == 0 && (i = next_dirty(fs)) != NULL) {
        err = ext_iflush_one(i);
        ext_iput(i);
    }
    return err;
}

/* ---- orphans ------------------------------------------------------------------------------------- */

int ext_orphan_add(struct handle *h, struct ext_inode *i)
{
    struct ext_fs *fs = h->fs;

    mutex_enter(&fs->orphan_lock);
    if (!i->orphaned) {
        i->orphaned = true;
        jnl_access(h, fs->sb_buf);
        i->dtime = fs->sb->last_orphan;
        fs->sb->last_orphan = (uint32_t)i->vn.ino;
        list_push_front(&fs->orphans, &i->orphan);
        ext_iwrite(h, i);
    }
    mutex_exit(&fs->orphan_lock);
    return 0;
}

int ext_orphan_del(struct handle *h, struct ext_inode *i)
{
    struct ext_fs *fs = h->fs;

    mutex_enter(&fs->orphan_lock);
    if (i->orphaned) {
        if (i->orphan.prev == &fs->orphans) {
            jnl_access(h, fs->sb_buf);
            fs->sb->last_orphan = i->dtime;
        } else {
            struct ext_inode  *prev = list_entry(i->orphan.prev, struct ext_inode, orphan);
            struct ext_dinode *d = (struct ext_dinode *)(prev->ibuf->data + prev->ioff);

            jnl_access(h, prev->ibuf);
            prev->dtime = i->dtime;
            d->dtime = i->dtime;
        }
        list_remove(&i->orphan);
        i->orphaned = false;
        i->dtime = 0;
        ext_iwrite(h, i);
    }
    mutex_exit(&fs->orphan_lock);
    return 0;
}

/* At mount time: what a crash left on the list.  Each is deleted, or cut to its size. */
int ext_orphans_end(struct ext_fs *fs, unsigned *n)
{
    int err = 0;

    *n = 0;
    for (uint32_t left = fs->inodes; err == 0 && fs->sb->last_orphan != 0; left--) {
        uint32_t          ino = fs->sb->last_orphan;
        struct ext_inode *i;
        struct handle     h;

        if (left == 0 || ino < fs->first_ino || ino > fs->inodes || (err = ext_ino_used(fs, ino)) != 1)
            return err < 0 ? err : ext_error(fs, "the orphan list leads to inode %u", ino);
        if ((err = ext_iload(fs, ino, &i)) != 0)
            break;
        i->orphaned = true;
        mutex_enter(&fs->orphan_lock);
        list_push_front(&fs->orphans, &i->orphan);
        mutex_exit(&fs->orphan_lock);
        ++*n;
        if (i->vn.nlink != 0) {
            err = i->vn.type == VREG || i->vn.type == VDIR || i->vn.type == VLNK ? ext_truncate(i, i->vn.size) : 0;
            if (err == 0 && (err = jnl_start(fs, ORPHAN_CREDITS, &h)) == 0) {
                ext_orphan_del(&h, i);
                jnl_stop(&h);
            }
        }
        ext_iput(i); /* without links: this deletes it */
        if (err == 0 && fs->sb->last_orphan == ino)
            err = fs->rdonly ? -EIO : ext_error(fs, "orphan inode %u cannot be deleted", ino);
    }
    return err;
}

/* ---- the end ------------------------------------------------------------------------------------- */

/* Gives up the block of extended attributes, which inodes may share. */
static int free_attributes(struct handle *h, struct ext_inode *i)
{
    struct ext_fs *fs = h->fs;
    struct buf    *b;
    uint32_t      *hd, block = i->file_acl;
    int            err;

    if (block == 0)
        return 0;
    if ((err = buf_read(fs, block, &b)) != 0)
        return err;
    hd = (uint32_t *)b->data; /* magic, count of inodes */
    if (hd[0] != 0xea020000 || hd[1] == 0) {
        err = ext_error(fs, "inode %u: its attribute block %u is none", (uint32_t)i->vn.ino, block);
    } else if (hd[1] == 1) {
        err = ext_bfree_meta(h, block);
    } else {
        jnl_access(h, b);
        hd[1]--;
    }
    buf_put(b);
    i->file_acl = 0;
    return err;
}

static bool has_blocks(const struct ext_inode *i)
{
    return i->nsectors > (i->file_acl != 0 ? i->fs->spb : 0) &&
           (i->vn.type == VREG || i->vn.type == VDIR || i->vn.type == VLNK);
}

int ext_delete(struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;
    struct handle  h;
    int            err = jnl_start(fs, 2 * DELETE_CREDITS, &h);

    if (err != 0)
        return err;
    i->vn.size = 0;
    if (has_blocks(i))
        err = ext_free_blocks(&h, i, 0);
    if (err == 0 && h.credits < DELETE_CREDITS) {
        ext_iwrite(&h, i);
        if ((err = jnl_restart(&h, DELETE_CREDITS)) != 0)
            return err;
    }
    if (h.txn == NULL)
        return err;
    if (err == 0)
        err = free_attributes(&h, i);
    if (err == 0) {
        ext_orphan_del(&h, i);
        i->dtime = (uint32_t)(clock_real_ns() / NS);
        i->nsectors = 0;
        ext_iwrite(&h, i);
        err = ext_ifree(&h, (uint32_t)i->vn.ino, i->vn.type == VDIR);
    }
    jnl_stop(&h);
    return err;
}

void ext_inactive(struct vnode *vn)
{
    struct ext_inode *i = ext_i(vn);
    struct ext_fs    *fs = i->fs;

    if (i->dirty)
        undirty(i);
    if (vn->type == VREG)
        fs->up->drop_pages(i, 0);
    jnl_unorder(i);
    if (vn->nlink == 0 && !fs->rdonly)
        ext_delete(i);
    mutex_enter(&fs->orphan_lock);
    list_remove(&i->orphan); /* after an error; else it is not there */
    mutex_exit(&fs->orphan_lock);
    free_mem(i);
}
