// SPDX-License-Identifier: MIT
/*
 * super.c - mounting and unmounting: superblock, group descriptors, features, errors.
 *
 * THEORY      The superblock describes the whole file system, and a group descriptor describes one block
 *             group.
 *             The contents of a disk are not trusted.  The values on which all other code relies are checked
 *             once, at mount time: sizes, the places of each group's bitmaps and inode table, the counts.  If
 *             one of them is wrong, the mount fails with a reason.  A block number that is read later is
 *             compared with these values (ext_block_ok).  If a fault is found after the mount, ext_error() sets
 *             the error mark in the superblock, makes the file system read-only (unless errors=continue) and
 *             returns -EUCLEAN.
 *             Free blocks and inodes are counted in memory.  At mount time the counts are the sums over the
 *             groups; the counts in the superblock are updated when the file system is quiesced.
 * INVARIANTS  I1  while fs->rdonly is set, only the replay, the error mark and the last part of ext_quiesce()
 *                 write to the disk
 * LOCKING     No other thread uses the file system during mount and unmount.
 * SEE ALSO    docs/ext.md (the table of features)
 */
#include "fs/ext/ext.h"

#include "disp/timer.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

enum kind { COMPAT, INCOMPAT, RO_COMPAT };
static const struct feature {
    uint8_t kind;
    bool known;
    uint32_t bit;
    const char *name;
} features[] = {
    {COMPAT, true, 0x1, "dir_prealloc"},
    {COMPAT, true, COMPAT_HAS_JOURNAL, "has_journal"},
    /* the attributes stay on the disk; programs do not see them */
    {COMPAT, true, COMPAT_EXT_ATTR, "ext_attr"},
    {COMPAT, true, COMPAT_RESIZE_INODE, "resize_inode"},
    {COMPAT, true, COMPAT_DIR_INDEX, "dir_index"},
    {INCOMPAT, false, 0x1, "compression"},
    {INCOMPAT, true, INCOMPAT_FILETYPE, "filetype"},
    {INCOMPAT, true, INCOMPAT_RECOVER, "needs_recovery"},
    {INCOMPAT, false, 0x8, "journal_dev"},
    {INCOMPAT, false, 0x10, "meta_bg"},
    {INCOMPAT, false, 0x40, "extent"},
    {INCOMPAT, false, 0x80, "64bit"},
    {INCOMPAT, false, 0x100, "mmp"},
    {INCOMPAT, false, 0x200, "flex_bg"},
    {INCOMPAT, false, 0x400, "ea_inode"},
    {INCOMPAT, false, 0x1000, "dirdata"},
    {INCOMPAT, false, 0x2000, "metadata_csum_seed"},
    {INCOMPAT, false, 0x4000, "large_dir"},
    {INCOMPAT, false, 0x8000, "inline_data"},
    {INCOMPAT, false, 0x10000, "encrypt"},
    {INCOMPAT, false, 0x20000, "casefold"},
    {RO_COMPAT, true, RO_SPARSE_SUPER, "sparse_super"},
    {RO_COMPAT, true, RO_LARGE_FILE, "large_file"},
    {RO_COMPAT, false, 0x8, "huge_file"},
    {RO_COMPAT, false, 0x10, "uninit_bg"},
    {RO_COMPAT, false, 0x20, "dir_nlink"},
    {RO_COMPAT, true, RO_EXTRA_ISIZE, "extra_isize"},
    {RO_COMPAT, false, 0x100, "quota"},
    {RO_COMPAT, false, 0x200, "bigalloc"},
    {RO_COMPAT, false, 0x400, "metadata_csum"},
    {RO_COMPAT, false, 0x2000, "project"},
    {RO_COMPAT, false, 0x8000, "verity"},
    {RO_COMPAT, false, 0x10000, "orphan_present"},
};

/* The lowest bit of `bits` that is not a known feature, and its name or ""; 0: all bits are known. */
static uint32_t find_unknown_feature(enum kind kind, uint32_t bits, const char **name)
{
    uint32_t bit;

    for (size_t i = 0; i < array_size(features); i++)
        if (features[i].kind == kind && features[i].known)
            bits &= ~features[i].bit;
    *name = "";
    if (bits == 0)
        return 0;
    bit = bits & -bits;
    for (size_t i = 0; i < array_size(features); i++)
        if (features[i].kind == kind && features[i].bit == bit)
            *name = features[i].name;
    return bit;
}

/* Stores the reason why the mount fails and returns err. */
static int refuse_mount(struct ext_fs *fs, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int refuse_mount(struct ext_fs *fs, int err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(fs->reason, sizeof fs->reason, fmt, ap);
    va_end(ap);
    return err;
}

bool ext_has_super(struct ext_fs *fs, uint32_t group)
{
    static const uint8_t base[] = {3, 5, 7};

    if (group <= 1 || !(fs->sb->ro_compat & RO_SPARSE_SUPER))
        return true;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t n = base[i];

        while (n < group)
            n *= base[i];
        if (n == group)
            return true;
    }
    return false;
}

uint32_t ext_group_blocks(struct ext_fs *fs, uint32_t group)
{
    uint64_t start = fs->first_block + (uint64_t)group * fs->bpg;

    return (uint32_t)min_of((uint64_t)fs->bpg, fs->blocks - start);
}

static bool ranges_overlap(uint32_t start, uint32_t n, uint64_t a, uint64_t len)
{
    return start < a + len && a < (uint64_t)start + n;
}

bool ext_block_ok(struct ext_fs *fs, uint32_t start, uint32_t n)
{
    uint32_t g, last;

    if (start < fs->first_block || start >= fs->blocks || n > fs->blocks - start)
        return false;
    g = (start - fs->first_block) / fs->bpg;
    last = (start + n - 1 - fs->first_block) / fs->bpg;
    for (; g <= last; g++) {
        struct buf *b;
        struct ext_gdesc *d = ext_gdesc(fs, g, &b);
        uint32_t first = fs->first_block + g * fs->bpg;

        if (start - d->inode_table < fs->table_blocks ||
            ranges_overlap(start, n, d->inode_table, fs->table_blocks) ||
            ranges_overlap(start, n, d->block_bitmap, 1) ||
            ranges_overlap(start, n, d->inode_bitmap, 1))
            return false;
        if (start < first + 1 + fs->gdt_blocks + fs->reserved_gdt && ext_has_super(fs, g) &&
            ranges_overlap(start, n, first, 1 + fs->gdt_blocks + fs->reserved_gdt))
            return false;
    }
    return true;
}

/* ---- checks at mount time ------------------------------------------------------------------------ */

static int check_features(struct ext_fs *fs, const struct ext_super *s)
{
    const char *name;
    uint32_t bit = find_unknown_feature(INCOMPAT, s->incompat, &name);

    if (bit != 0)
        return refuse_mount(fs, -EOPNOTSUPP, "incompatible feature 0x%x %s is not known", bit,
                            name);
    bit = find_unknown_feature(RO_COMPAT, s->ro_compat, &name);
    if (bit != 0 && !fs->rdonly) {
        warn("%s: feature 0x%x %s is not known: mounted read-only", fs->name, bit, name);
        fs->rdonly = true;
    }
    fs->journalled = (s->compat & COMPAT_HAS_JOURNAL) != 0;
    if (fs->journalled && (s->journal_dev != 0 || s->journal_ino != 8))
        return refuse_mount(fs, -EOPNOTSUPP, "the journal is not inode 8 but inode %u, device 0x%x",
                            s->journal_ino, s->journal_dev);
    if (!fs->journalled && (s->incompat & INCOMPAT_RECOVER))
        return refuse_mount(fs, -EUCLEAN, "it needs recovery and has no journal");
    fs->index_dirs = (s->compat & COMPAT_DIR_INDEX) != 0;
    fs->filetype = (s->incompat & INCOMPAT_FILETYPE) != 0;
    fs->unsigned_hash = (s->flags & SB_UNSIGNED_HASH) != 0;
    return 0;
}

/* Checks *s and fills in the constants of *fs from it.  0 -EINVAL -EUCLEAN -EOPNOTSUPP. */
static int check_fs_super(struct ext_fs *fs, const struct ext_super *s)
{
    uint32_t groups;

    if (s->magic != EXT_MAGIC)
        return refuse_mount(fs, -EINVAL, "no ext2 or ext3 file system is there");
    if (s->rev_level > 1)
        return refuse_mount(fs, -EOPNOTSUPP, "revision %u is not known", s->rev_level);
    if (s->log_block_size > 2)
        return refuse_mount(fs, -EUCLEAN, "block size 2^%u", s->log_block_size + 10);
    if (fs->bsize != 0 && (fs->bshift != s->log_block_size + 10 || fs->blocks != s->blocks_count ||
                           fs->bpg != s->blocks_per_group || fs->ipg != s->inodes_per_group ||
                           fs->isize != (s->rev_level == 0 ? 128 : s->inode_size)))
        return refuse_mount(fs, -EUCLEAN, "the journal holds another superblock");
    fs->bshift = s->log_block_size + 10;
    fs->bsize = 1u << fs->bshift;
    fs->spb = fs->bsize / SECTOR_SIZE;
    fs->apb_shift = fs->bshift - 2;
    fs->apb = 1u << fs->apb_shift;
    fs->blocks = s->blocks_count;
    fs->first_block = s->first_data_block;
    fs->bpg = s->blocks_per_group;
    fs->ipg = s->inodes_per_group;
    fs->inodes = s->inodes_count;
    fs->isize = s->rev_level == 0 ? 128 : s->inode_size;
    fs->first_ino = s->rev_level == 0 ? EXT_FIRST_INO_OLD : s->first_ino;
    fs->reserved_gdt = s->compat & COMPAT_RESIZE_INODE ? s->reserved_gdt_blocks : 0;
    fs->errors = s->errors == EXT_ERRORS_CONTINUE ? EXT_ERRORS_CONTINUE : EXT_ERRORS_RO;
    if (fs->first_block != (fs->bsize == 1024 ? 1 : 0))
        return refuse_mount(fs, -EUCLEAN, "the first data block is %u", fs->first_block);
    if (fs->bpg < 256 || fs->bpg > 8 * fs->bsize || fs->bpg % 8 != 0)
        return refuse_mount(fs, -EUCLEAN, "%u blocks in a group", fs->bpg);
    if (fs->isize < 128 || fs->isize > fs->bsize || (fs->isize & (fs->isize - 1)) != 0)
        return refuse_mount(fs, -EUCLEAN, "inodes of %u bytes", fs->isize);
    fs->ipb = fs->bsize / fs->isize;
    if (fs->ipg == 0 || fs->ipg > 8 * fs->bsize || fs->ipg % fs->ipb != 0)
        return refuse_mount(fs, -EUCLEAN, "%u inodes in a group", fs->ipg);
    fs->table_blocks = fs->ipg / fs->ipb;
    if (fs->blocks <= fs->first_block + 8 ||
        (uint64_t)fs->blocks * fs->spb > disk_sectors(fs->disk))
        return refuse_mount(fs, -EUCLEAN, "%u blocks of %u bytes, the disk has %llu", fs->blocks,
                            fs->bsize, (unsigned long long)(disk_sectors(fs->disk) / fs->spb));
    groups = (uint32_t)(((uint64_t)fs->blocks - fs->first_block + fs->bpg - 1) / fs->bpg);
    if ((uint64_t)groups * fs->ipg != fs->inodes)
        return refuse_mount(fs, -EUCLEAN, "%u inodes are not %u groups of %u", fs->inodes, groups,
                            fs->ipg);
    if (fs->first_ino < EXT_FIRST_INO_OLD || fs->first_ino > fs->ipg)
        return refuse_mount(fs, -EUCLEAN, "the first inode is %u", fs->first_ino);
    fs->ngroups = groups;
    fs->gdt_blocks = (groups + fs->bsize / 32 - 1) / (fs->bsize / 32);
    if (1 + fs->gdt_blocks + fs->reserved_gdt >= fs->bpg || fs->reserved_gdt > fs->apb)
        return refuse_mount(fs, -EUCLEAN, "%u blocks reserved for descriptors", fs->reserved_gdt);
    return check_features(fs, s);
}

static int check_group_descriptor(struct ext_fs *fs, uint32_t g)
{
    struct buf *b;
    struct ext_gdesc *d = ext_gdesc(fs, g, &b);
    uint32_t first = fs->first_block + g * fs->bpg, n = ext_group_blocks(fs, g), head = 0;

    if (ext_has_super(fs, g))
        head = 1 + fs->gdt_blocks + fs->reserved_gdt;
    if (n < head + 2 + fs->table_blocks)
        return refuse_mount(fs, -EUCLEAN, "group %u has no room for its own data", g);
    if (d->block_bitmap - first < head || d->block_bitmap - first >= n ||
        d->inode_bitmap - first < head || d->inode_bitmap - first >= n ||
        d->inode_table - first < head || d->inode_table - first > n - fs->table_blocks)
        return refuse_mount(fs, -EUCLEAN, "group %u: its bitmaps or inodes lie outside it", g);
    if (d->block_bitmap == d->inode_bitmap || d->block_bitmap - d->inode_table < fs->table_blocks ||
        d->inode_bitmap - d->inode_table < fs->table_blocks)
        return refuse_mount(fs, -EUCLEAN, "group %u: its bitmaps and inodes overlap", g);
    if (d->free_blocks > n || d->free_inodes > fs->ipg || d->used_dirs > fs->ipg)
        return refuse_mount(fs, -EUCLEAN, "group %u: more is free than there is", g);
    return 0;
}

static void unload_fs_metadata(struct ext_fs *fs)
{
    if (fs->gdt != NULL)
        for (uint32_t i = 0; i < fs->gdt_blocks; i++)
            buf_put(fs->gdt[i]);
    kmem_free(fs->gdt);
    fs->gdt = NULL;
    buf_put(fs->sb_buf);
    fs->sb_buf = NULL;
    bufs_destroy(fs);
}

static int read_fs_super(struct ext_fs *fs)
{
    struct ext_super *s;
    int err;

    if (disk_sectors(fs->disk) < 4)
        return refuse_mount(fs, -EINVAL, "the disk is too small");
    s = kmem_alloc(sizeof *s);
    if (s == NULL)
        return -ENOMEM;
    err = blk_rw(fs->disk, BLK_READ, EXT_SUPER_OFFSET / SECTOR_SIZE, s, sizeof *s);
    if (err != 0)
        err = refuse_mount(fs, err, "the superblock cannot be read");
    else
        err = check_fs_super(fs, s);
    kmem_free(s);
    return err;
}

/* Reads and checks the superblock and the group descriptors. */
static int load_fs_metadata(struct ext_fs *fs)
{
    uint32_t where;
    int err = read_fs_super(fs);

    if (err == 0)
        err = bufs_init(fs);
    if (err != 0)
        return err;
    where = EXT_SUPER_OFFSET >> fs->bshift;
    err = buf_read(fs, where, &fs->sb_buf);
    if (err != 0)
        return err;
    fs->sb = (struct ext_super *)(fs->sb_buf->data + (EXT_SUPER_OFFSET & (fs->bsize - 1)));
    fs->gdt = kmem_zalloc(fs->gdt_blocks * sizeof *fs->gdt);
    if (fs->gdt == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < fs->gdt_blocks; i++) {
        err = buf_read(fs, where + 1 + i, &fs->gdt[i]);
        if (err != 0)
            return refuse_mount(fs, err, "the group descriptors cannot be read");
    }
    fs->free_blocks = fs->free_inodes = fs->ndirs = 0;
    for (uint32_t g = 0; g < fs->ngroups; g++) {
        struct buf *b;
        struct ext_gdesc *d = ext_gdesc(fs, g, &b);

        err = check_group_descriptor(fs, g);
        if (err != 0)
            return err;
        fs->free_blocks += d->free_blocks;
        fs->free_inodes += d->free_inodes;
        fs->ndirs += d->used_dirs;
    }
    return 0;
}

static int init_block_groups(struct ext_fs *fs)
{
    size_t size = fs->ngroups * sizeof *fs->groups;

    if (size > 4 << 20)
        return refuse_mount(fs, -ENOMEM, "%u groups are more than there is room for", fs->ngroups);
    fs->groups = kmem_zalloc(size);
    if (fs->groups == NULL)
        return -ENOMEM;
    for (uint32_t g = 0; g < fs->ngroups; g++)
        mutex_init(&fs->groups[g].lock, SLEEP_EXT_GROUP);
    return 0;
}

/* ---- the superblock on the disk ------------------------------------------------------------------ */

static int write_fs_super(struct ext_fs *fs)
{
    fs->sb->wtime = (uint32_t)(clock_real_ns() / 1000000000);
    return ext_io_one(fs, BLK_WRITE, fs->sb_buf->block, fs->sb_buf->data);
}

int ext_writable(struct ext_fs *fs)
{
    const char *name;
    unsigned n = 0;
    int err;

    if (fs->failed || disk_readonly(fs->disk) ||
        find_unknown_feature(RO_COMPAT, fs->sb->ro_compat, &name) != 0)
        return -EROFS;
    if (fs->sb->state & EXT_STATE_ERROR)
        warn("%s: has an error noted on it: run e2fsck", fs->name);
    else if (!(fs->sb->state & EXT_STATE_VALID))
        warn("%s: was not unmounted: run e2fsck", fs->name);
    if (fs->journalled)
        fs->sb->incompat |= INCOMPAT_RECOVER;
    else
        fs->sb->state &= (uint16_t)~EXT_STATE_VALID;
    fs->sb->mtime = (uint32_t)(clock_real_ns() / 1000000000);
    fs->sb->mnt_count++;
    fs->rdonly = false;
    err = jnl_open(fs);
    if (err == 0)
        err = write_fs_super(fs);
    if (err == 0)
        err = blk_flush(fs->disk);
    if (err == 0)
        err = ext_orphans_end(fs, &n);
    if (err != 0) {
        fs->rdonly = true;
        return err;
    }
    if (n != 0)
        kprintf("%s: %u files that were deleted or cut while open: done", fs->name, n);
    return fs->rdonly ? -EROFS : 0;
}

int ext_sync(struct ext_fs *fs)
{
    int err;

    if (fs->rdonly)
        return fs->failed ? -EIO : 0;
    ext_orphans_retry(fs);
    err = ext_iflush(fs);
    return err != 0 ? err : jnl_commit_all(fs);
}

int ext_quiesce(struct ext_fs *fs)
{
    int err;

    if (fs->rdonly)
        return 0;
    err = ext_sync(fs);
    if (err != 0)
        return err;
    fs->rdonly = true; /* no new handle begins; the open handles end before the last commit */
    err = jnl_close(fs);
    if (err != 0)
        return err;
    fs->sb->free_blocks = (uint32_t)fs->free_blocks;
    fs->sb->free_inodes = (uint32_t)fs->free_inodes;
    if (fs->journalled)
        fs->sb->incompat &= ~(uint32_t)INCOMPAT_RECOVER;
    if (!(fs->sb->state & EXT_STATE_ERROR))
        fs->sb->state |= EXT_STATE_VALID;
    err = write_fs_super(fs);
    return err != 0 ? err : blk_flush(fs->disk);
}

void ext_note_error(struct ext_fs *fs)
{
    /* read from the disk, because the superblock in memory has uncommitted bytes */
    struct ext_super *s;
    uint32_t now = (uint32_t)(clock_real_ns() / 1000000000);

    s = disk_readonly(fs->disk) ? NULL : kmem_alloc(sizeof *s);
    if (s == NULL)
        return;
    fs->sb->state |= EXT_STATE_ERROR;
    if (blk_rw(fs->disk, BLK_READ, EXT_SUPER_OFFSET / SECTOR_SIZE, s, sizeof *s) == 0) {
        s->state |= EXT_STATE_ERROR;
        s->error_count++;
        if (s->first_error_time == 0)
            s->first_error_time = now;
        blk_rw(fs->disk, BLK_WRITE, EXT_SUPER_OFFSET / SECTOR_SIZE, s, sizeof *s);
    }
    kmem_free(s);
    jnl_note_error(fs, true);
}

int ext_error(struct ext_fs *fs, const char *fmt, ...)
{
    char text[128];
    bool first = !fs->failed;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fs->failed = true;
    if (first) {
        warn("%s: file system error: %s", fs->name, text);
        str_copy(fs->reason, text, sizeof fs->reason);
        if (!fs->rdonly)
            ext_note_error(fs);
        if (fs->errors != EXT_ERRORS_CONTINUE && !fs->rdonly)
            jnl_abort(fs);
    }
    return -EUCLEAN;
}

/* ---- mount and unmount --------------------------------------------------------------------------- */

static void free_ext_fs(struct ext_fs *fs)
{
    struct ext_inode *i;

    while ((i = list_pop(&fs->orphans, struct ext_inode, orphan)) != NULL)
        ext_inode_free(i); /* deleting the inode has failed; it stays on the list on the disk */
    icache_destroy(fs);
    jnl_free(fs);
    if (fs->groups != NULL)
        for (uint32_t g = 0; g < fs->ngroups; g++)
            kmem_free(fs->groups[g].pending);
    kmem_free(fs->groups);
    unload_fs_metadata(fs);
    kmem_free(fs);
}

/*
 * Moves the error mark of the journal into the superblock, because a replay can have overwritten the superblock
 * with a version without the mark.
 */
static int copy_journal_error(struct ext_fs *fs)
{
    int err;

    if (!jnl_has_error(fs))
        return 0;
    fs->sb->state |= EXT_STATE_ERROR;
    if (disk_readonly(fs->disk))
        return 0;
    err = write_fs_super(fs);
    if (err == 0)
        err = blk_flush(fs->disk);
    return err != 0 ? err : jnl_note_error(fs, false);
}

/* Loads the journal and replays it if necessary; after a replay, reads the metadata again. */
static int load_and_replay_journal(struct ext_fs *fs)
{
    unsigned n;
    int err = jnl_load(fs);

    if (err != 0 || !fs->journalled)
        return err;
    if (!(fs->sb->incompat & INCOMPAT_RECOVER))
        return copy_journal_error(fs);
    if (disk_readonly(fs->disk))
        return refuse_mount(fs, -EROFS,
                            "its journal must be replayed, and the disk cannot be written");
    err = jnl_recover(fs, &n);
    if (err != 0)
        return err;
    unload_fs_metadata(fs);
    err = load_fs_metadata(fs);
    if (err != 0)
        return err;
    if (n != 0)
        kprintf("%s: journal replayed, %u transactions", fs->name, n);
    err = copy_journal_error(fs);
    if (err != 0)
        return err;
    if (fs->rdonly) {
        /* record that the journal is empty now, because a read-only mount does not do this later */
        fs->sb->incompat &= ~(uint32_t)INCOMPAT_RECOVER;
        err = write_fs_super(fs);
        if (err == 0)
            err = blk_flush(fs->disk);
    }
    return err;
}

static int check_root_inode(struct ext_fs *fs)
{
    struct ext_inode *root;
    int err = ext_iget(fs, EXT_ROOT_INO, &root);

    if (err == 0) {
        if (root->vn.type != VDIR)
            err = -EUCLEAN;
        ext_iput(root);
    }
    if (err == 0)
        return 0;
    return refuse_mount(fs, err == -ENOENT ? -EUCLEAN : err, "the root directory cannot be read");
}

/* Reads and checks the file system, replays its journal and, unless fs->rdonly, opens it for writing.  0 or -errno. */
static int load_fs(struct ext_fs *fs)
{
    int err = icache_init(fs);

    if (err == 0)
        err = load_fs_metadata(fs);
    if (err == 0 && !fs->rdonly && disk_readonly(fs->disk))
        err = refuse_mount(fs, -EROFS, "the disk cannot be written");
    if (err == 0)
        err = init_block_groups(fs);
    if (err == 0)
        err = load_and_replay_journal(fs);
    if (err == 0)
        err = check_root_inode(fs);
    if (err != 0 || fs->rdonly)
        return err;
    err = ext_writable(fs);
    if (err != 0 && fs->reason[0] == '\0')
        refuse_mount(fs, err, "it cannot be made writable");
    return err;
}

int ext_mount(struct disk *disk, const char *name, bool rdonly, struct vfs *vfs,
              const struct ext_up *up, struct ext_fs **out, char *reason, size_t size)
{
    struct ext_fs *fs = kmem_zalloc(sizeof *fs);
    int err;

    str_copy(reason, "no memory", size);
    if (fs == NULL)
        return -ENOMEM;
    fs->disk = disk;
    fs->vfs = vfs;
    fs->up = up;
    fs->rdonly = rdonly;
    str_copy(fs->name, name, sizeof fs->name);
    list_init(&fs->orphans);
    list_init(&fs->dirty);
    mutex_init(&fs->orphan_lock, SLEEP_EXT_ORPHANS);
    spin_init(&fs->dirty_lock, RANK_BUF);
    fs->next_generation = (uint32_t)clock_real_ns();
    err = load_fs(fs);
    if (err == 0) {
        *out = fs;
        return 0;
    }
    if (fs->reason[0] != '\0')
        str_copy(reason, fs->reason, size);
    icache_drop(fs);
    free_ext_fs(fs);
    return err;
}

int ext_unmount(struct ext_fs *fs)
{
    int err = ext_quiesce(fs);

    free_ext_fs(fs);
    return err;
}
