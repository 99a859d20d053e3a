// SPDX-License-Identifier: MIT
/*
 * htree.c - hashed directories: an index by the hash of the name.
 *
 * THEORY      A linear search of a large directory reads all its blocks.  With an index, a look-up reads two
 *             or three blocks.
 *             The index is a tree (Phillips, "A directory index for Ext2", 2001): one or two levels of
 *             index blocks above the blocks of entries, which are its leaves.  Block 0 is the root.
 *             Each index entry has a hash and a block number.  The block with this number has the
 *             names from this hash up to the hash of the next index entry.  An index block looks
 *             like an empty directory entry, so code that does not know the index sees a list of
 *             entries.
 *             A full leaf is split in two by hash.  If names with the same hash are in both halves, the hash
 *             continues in the second half.  Then bit 0 is set in the hash of the second half's index entry.
 *             The tree grows and never shrinks.
 *             A directory is read in the order of hashes, not of blocks, because a split moves names to
 *             another block.  The names of a leaf are sorted.  If a hash continues in the following leaves,
 *             the names of these leaves are sorted together with them.
 * INVARIANTS  I1  an index block is used only after its limits have been checked (dx_node_is_valid)
 *             I2  an operation allocates all blocks that it needs before it changes anything
 * LOCKING     The caller holds the directory's vn->lock.
 * SEE ALSO    hash.c, dir.c
 */
#include "fs/ext/ext.h"

#include "lib/string.h"
#include "mem/kmem.h"

/* An index block on the path of a walk, and the entry that the path takes. */
struct frame {
    struct buf *b;
    struct dx_entry *v; /* v[0] has limit and count instead of a hash */
    uint32_t at;        /* index in v[] of the entry that the path takes */
};
/* A walk from the root to a leaf: f[0] is the root, f[levels] the lowest index block. */
struct probe {
    struct frame f[2];
    unsigned levels; /* levels of index blocks below the root: 0 or 1 */
    uint32_t hash;   /* the wanted hash */
};

static uint16_t *dx_limit_of(struct dx_entry *v)
{
    return (uint16_t *)v;
}
static uint16_t *dx_count_of(struct dx_entry *v)
{
    return (uint16_t *)v + 1;
}

static struct dx_info *dx_info_of(struct buf *root)
{
    return (struct dx_info *)(root->data + DX_ROOT_OFFSET);
}

static void release_probe(struct probe *p)
{
    for (unsigned k = 0; k < 2; k++) {
        buf_put(p->f[k].b);
        p->f[k].b = NULL;
    }
}

/*
 * The last of the n entries whose hash is not greater than `hash`; entry 0 if there is no such
 * entry.
 */
static uint32_t find_covering_entry(const struct dx_entry *v, uint32_t n, uint32_t hash)
{
    uint32_t lo = 1, hi = n;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (v[mid].hash > hash)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo - 1;
}

/* Checks I1: count and limit of the entries at byte `off` of block b. */
static bool dx_node_is_valid(struct ext_fs *fs, const struct buf *b, uint32_t off)
{
    struct dx_entry *v = (struct dx_entry *)(b->data + off);

    return *dx_limit_of(v) == (fs->bsize - off) / sizeof *v && *dx_count_of(v) >= 1 &&
           *dx_count_of(v) <= *dx_limit_of(v);
}

/*
 * Stores the block number of an index entry in *lblk.  -EUCLEAN: the directory has no such block,
 * or the block is the root.
 */
static int get_child_block_number(struct ext_inode *dir, const struct dx_entry *e, uint32_t *lblk)
{
    *lblk = e->block & 0x0fffffff;
    if (*lblk == 0 || *lblk >= dir->vn.size >> dir->fs->bshift)
        return ext_error(dir->fs, "directory %u: its index leads to block %u",
                         (uint32_t)dir->vn.ino, *lblk);
    return 0;
}

static int report_bad_dx_node(struct ext_inode *dir)
{
    return ext_error(dir->fs, "directory %u: an index block is wrong", (uint32_t)dir->vn.ino);
}

/* Reads the block to which *e leads.  0 or an error. */
static int read_child_block(struct ext_inode *dir, const struct dx_entry *e, struct buf **b)
{
    uint32_t lblk;
    int err = get_child_block_number(dir, e, &lblk);

    return err != 0 ? err : ext_dir_read(dir, lblk, b);
}

/* Reads the index block to which *e leads, checks it, and stores it in *f.  0 or an error. */
static int read_dx_node(struct ext_inode *dir, const struct dx_entry *e, struct frame *f)
{
    int err = read_child_block(dir, e, &f->b);

    if (err != 0)
        return err;
    if (((struct ext_dirent *)f->b->data)->ino != 0 ||
        !dx_node_is_valid(dir->fs, f->b, DX_NODE_OFFSET)) {
        buf_put(f->b);
        f->b = NULL;
        return report_bad_dx_node(dir);
    }
    f->v = (struct dx_entry *)(f->b->data + DX_NODE_OFFSET);
    return 0;
}

static unsigned probe_hash_version(struct ext_fs *fs, const struct probe *p)
{
    return dx_info_of(p->f[0].b)->hash_version + (fs->unsigned_hash ? HASH_UNSIGNED : 0);
}

/* The hash function for a new index. */
static uint8_t default_hash_version(struct ext_fs *fs)
{
    return fs->sb->def_hash_version <= HASH_TEA ? fs->sb->def_hash_version : HASH_HALF_MD4;
}

/* Reads and checks the root.  0; 1: this code cannot use the index; or an error. */
static int read_dx_root(struct ext_inode *dir, struct probe *p)
{
    struct ext_fs *fs = dir->fs;
    struct dx_info *info;
    int err;

    *p = (struct probe){.levels = 0};
    err = ext_dir_read(dir, 0, &p->f[0].b);
    if (err != 0)
        return err;
    info = dx_info_of(p->f[0].b);
    if (info->zero != 0 || info->hash_version > HASH_TEA || info->info_length != sizeof *info ||
        info->levels > 1 || (info->flags & 1) ||
        ((struct ext_dirent *)p->f[0].b->data)->rec_len != 12 ||
        !dx_node_is_valid(fs, p->f[0].b, DX_ROOT_OFFSET + sizeof *info)) {
        release_probe(p);
        return 1;
    }
    p->levels = info->levels;
    p->f[0].v = (struct dx_entry *)(info + 1);
    return 0;
}

/* Walks from the root to the lowest index entry that covers the hash.  An error releases the probe. */
static int descend_to_hash(struct ext_inode *dir, struct probe *p, uint32_t hash)
{
    int err;

    p->hash = hash;
    p->f[0].at = find_covering_entry(p->f[0].v, *dx_count_of(p->f[0].v), p->hash);
    if (p->levels == 1) {
        err = read_dx_node(dir, &p->f[0].v[p->f[0].at], &p->f[1]);
        if (err != 0) {
            release_probe(p);
            return err;
        }
        p->f[1].at = find_covering_entry(p->f[1].v, *dx_count_of(p->f[1].v), p->hash);
    }
    return 0;
}

/* Walks to the lowest index entry that covers the name.  Returns the same values as read_dx_root(). */
static int probe_for_name(struct ext_inode *dir, const char *name, size_t len, struct probe *p)
{
    int r = read_dx_root(dir, p);

    return r != 0 ? r
                  : descend_to_hash(
                        dir, p,
                        ext_hash(dir->fs->sb, probe_hash_version(dir->fs, p), name, len, NULL));
}

/* Stores the hash of the next leaf's index entry, including bit 0, in *hash.  false: this leaf is the last. */
static bool peek_next_leaf_hash(struct probe *p, uint32_t *hash)
{
    struct frame *f = &p->f[p->levels];

    if (f->at + 1 >= *dx_count_of(f->v))
        f = &p->f[0];
    if (f->at + 1 >= *dx_count_of(f->v))
        return false;
    *hash = f->v[f->at + 1].hash;
    return true;
}

/* Moves to the next leaf, which must exist.  0 or an error. */
static int step_to_next_leaf(struct ext_inode *dir, struct probe *p)
{
    struct frame *f = &p->f[p->levels];
    int err;

    if (f->at + 1 < *dx_count_of(f->v)) {
        f->at++;
        return 0;
    }
    buf_put(f->b);
    f->b = NULL;
    err = read_dx_node(dir, &p->f[0].v[++p->f[0].at], f);
    if (err == 0)
        f->at = 0;
    return err;
}

/* Moves to the next leaf if the wanted hash continues there.  1: moved; 0: not moved; or an error. */
static int step_if_hash_continues(struct ext_inode *dir, struct probe *p)
{
    uint32_t h;
    int err;

    if (!peek_next_leaf_hash(p, &h) || (h & ~1u) != p->hash || !(h & 1))
        return 0;
    err = step_to_next_leaf(dir, p);
    return err != 0 ? err : 1;
}

int htree_find(struct ext_inode *dir, const char *name, size_t len, struct dirpos *pos)
{
    struct probe p;
    int r = probe_for_name(dir, name, len, &p);

    if (r != 0)
        return r;
    do {
        struct frame *f = &p.f[p.levels];

        r = read_child_block(dir, &f->v[f->at], &pos->b);
        if (r != 0)
            break;
        pos->e = dirblock_find(dir->fs, pos->b, name, len, &pos->prev);
        if (pos->e != NULL)
            break;
        buf_put(pos->b);
        r = step_if_hash_continues(dir, &p);
        if (r == 0)
            r = -ENOENT;
    } while (r > 0);
    release_probe(&p);
    return r;
}

/* ---- sorting names by hash ------------------------------------------------------------------------ */

/* A directory entry: its hash, its minor hash, and its byte offset in the directory or block. */
struct item {
    uint32_t hash, minor, at;
};

/* The position of the entry for readers of the directory.  Positions 0 and 1 are those of "." and "..". */
static uint64_t item_position(const struct item *t)
{
    return ((uint64_t)(t->hash >> 1) << 32 | t->minor) + 2;
}

/* Shell's sort with Knuth's gaps.  It is short, and its worst case, for a malicious order of names, is O(n^1.5). */
static void sort_items_by_hash(struct item *v, unsigned n)
{
    unsigned gap = 1;

    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap != 0; gap /= 3)
        for (unsigned i = gap; i < n; i++) {
            struct item t = v[i];
            unsigned k = i;

            for (; k >= gap && item_position(&v[k - gap]) > item_position(&t); k -= gap)
                v[k] = v[k - gap];
            v[k] = t;
        }
}

/* Lists the entries of a block from byte `from` on in v[], at most bsize / 12.  Returns their number. */
static unsigned collect_block_items(struct ext_fs *fs, unsigned version, const uint8_t *data,
                                    uint32_t from, struct item *v)
{
    const struct ext_dirent *e;
    unsigned n = 0;

    for (uint32_t off = from; (e = dirent_at(fs, data, off)) != NULL; off += e->rec_len)
        if (e->ino != 0) {
            v[n].at = off;
            v[n].hash = ext_hash(fs->sb, version, e->name, e->name_len, &v[n].minor);
            n++;
        }
    return n;
}

/* The offset of the byte after "." and ".." in the first block; the size of the block if these are missing. */
static uint32_t offset_after_dots(struct ext_fs *fs, const struct buf *b)
{
    struct ext_dirent *e = dirblock_dotdot(fs, b);

    return e != NULL ? (uint32_t)((uint8_t *)e - b->data) + e->rec_len : fs->bsize;
}

/* ---- reading all entries ------------------------------------------------------------------------- */

/*
 * Largest number of names with the same position.  A reader whose buffer is too small for all of them starts again
 * with the first of them, so a reader of too many such names would never end.
 */
#define SAME_PLACE_MAX 4

/* Names that are sorted together. */
struct batch {
    struct item *v;
    unsigned n, room;
};

/*
 * Adds the names of leaf `lblk`.  All hashes must be in lo .. hi.  On a damaged disk, a hash outside this range is
 * replaced by the nearest value in the range, so that the order of positions is kept.
 */
static int batch_add(struct ext_inode *dir, struct batch *a, uint32_t lblk, unsigned version,
                     uint32_t lo, uint32_t hi)
{
    struct ext_fs *fs = dir->fs;
    unsigned most = fs->bsize / 12, n;
    uint32_t from = 0;
    struct item *v;
    struct buf *b;
    int err;

    if (a->n + most > a->room) {
        /* the room is at least doubled, so that copies are rare */
        unsigned room = a->room + max_of(most, a->room);

        v = ext_alloc(fs, room * sizeof *v);
        if (v == NULL)
            return -ENOMEM;
        if (a->n != 0)
            memcpy(v, a->v, a->n * sizeof *v);
        kmem_free(a->v);
        a->v = v;
        a->room = room;
    }
    err = ext_dir_read(dir, lblk, &b);
    if (err != 0)
        return err;
    if (lblk == 0)
        from = offset_after_dots(fs, b);
    n = collect_block_items(fs, version, b->data, from, a->v + a->n);
    buf_put(b);
    for (v = a->v + a->n; n > 0; n--, v++) {
        v->at += lblk << fs->bshift;
        v->hash = min_of(max_of(v->hash, lo), hi);
        a->n++;
    }
    return 0;
}

/*
 * Calls fn() for the names of the batch with positions from *off on, and advances *off.  1: fn() stopped the walk;
 * 0: all names were passed; or an error.
 */
static int batch_emit(struct ext_inode *dir, struct batch *a, uint64_t *off, dirent_fn fn,
                      void *arg)
{
    struct ext_fs *fs = dir->fs;

    sort_items_by_hash(a->v, a->n);
    for (unsigned k = 0; k < a->n; k++) {
        uint64_t place = item_position(&a->v[k]);
        bool again = k + 1 < a->n && item_position(&a->v[k + 1]) == place;
        struct ext_dirent *e;
        struct buf *b;
        int r;

        if (place < *off)
            continue;
        if (k + SAME_PLACE_MAX < a->n && item_position(&a->v[k + SAME_PLACE_MAX]) == place)
            return ext_error(fs, "directory %u: it has a name many times", (uint32_t)dir->vn.ino);
        r = ext_dir_read(dir, a->v[k].at >> fs->bshift, &b);
        if (r != 0)
            return r;
        e = dirent_at(fs, b->data, a->v[k].at & (fs->bsize - 1));
        *off = place + !again;
        r = e == NULL ? 0 : fn(arg, e->name, e->name_len, e->ino, ext_dirent_vtype(fs, e), *off);
        buf_put(b);
        if (r != 0)
            return 1;
    }
    return 0;
}

/* Like batch_emit(), for the entries "." and "..". */
static int emit_dot_entries(struct ext_inode *dir, uint64_t *off, dirent_fn fn, void *arg)
{
    struct ext_dirent *e;
    struct buf *b;
    uint32_t at = 0;
    int r = *off < 2 ? ext_dir_read(dir, 0, &b) : 0;

    if (*off >= 2 || r != 0)
        return r;
    for (unsigned k = 0; k < 2 && r == 0 && (e = dirent_at(dir->fs, b->data, at)) != NULL; k++) {
        if (*off == k) {
            r = fn(arg, "..", k + 1, e->ino, VDIR, k + 1);
            *off = k + 1;
        }
        at += e->rec_len;
    }
    buf_put(b);
    return r != 0;
}

/* Fills *a with the names of the leaf of p, and of the following leaves as long as a hash continues. */
static int batch_fill(struct ext_inode *dir, struct probe *p, struct batch *a)
{
    struct frame *f = &p->f[p->levels];
    uint32_t lo = 0, hi = UINT32_MAX, lblk, left = (uint32_t)(dir->vn.size >> dir->fs->bshift);
    int err;

    if (f->at != 0)
        lo = f->v[f->at].hash & ~1u;
    else if (p->levels != 0 && p->f[0].at != 0)
        lo = p->f[0].v[p->f[0].at].hash & ~1u;
    a->n = 0;
    for (;;) {
        bool last = !peek_next_leaf_hash(p, &hi), over = !last && (hi & 1);

        err = get_child_block_number(dir, &f->v[f->at], &lblk);
        if (err == 0)
            err = batch_add(dir, a, lblk, probe_hash_version(dir->fs, p), lo,
                            last ? UINT32_MAX : hi & ~1u);
        if (err != 0 || !over)
            return err;
        if (--left == 0)
            return ext_error(dir->fs, "directory %u: its index is longer than it",
                             (uint32_t)dir->vn.ino);
        err = step_to_next_leaf(dir, p);
        if (err != 0)
            return err;
    }
}

/* Passes the names of all leaves from position `off` on, and releases p.  Returns the same values as batch_emit(). */
static int emit_leaf_names(struct ext_inode *dir, struct probe *p, struct batch *a, uint64_t off,
                           dirent_fn fn, void *arg)
{
    uint32_t h;
    int r = descend_to_hash(dir, p, (uint32_t)((off - 2) >> 32 << 1));

    while (r == 0 && (r = batch_fill(dir, p, a)) == 0 &&
           (r = batch_emit(dir, a, &off, fn, arg)) == 0) {
        if (!peek_next_leaf_hash(p, &h))
            break;
        r = step_to_next_leaf(dir, p);
    }
    release_probe(p);
    return r;
}

int htree_readdir(struct ext_inode *dir, uint64_t off, dirent_fn fn, void *arg)
{
    struct ext_fs *fs = dir->fs;
    struct batch a = {NULL, 0, 0};
    struct probe p;
    bool indexed = (dir->flags & EXT_FL_INDEX) != 0;
    int r = indexed ? read_dx_root(dir, &p) : 0;

    if (r != 0)
        return r;
    r = emit_dot_entries(dir, &off, fn, arg);
    if (r != 0 && indexed) {
        release_probe(&p);
    } else if (r == 0 && indexed) {
        r = emit_leaf_names(dir, &p, &a, off, fn, arg);
    } else if (r == 0) {
        unsigned version = default_hash_version(fs) + (fs->unsigned_hash ? HASH_UNSIGNED : 0u);

        r = batch_add(dir, &a, 0, version, 0, UINT32_MAX);
        if (r == 0)
            r = batch_emit(dir, &a, &off, fn, arg);
    }
    kmem_free(a.v);
    return r < 0 ? r : 0;
}

/* ---- changes ------------------------------------------------------------------------------------- */

static uint32_t item_size(const uint8_t *data, const struct item *t)
{
    return DIRENT_SIZE(((const struct ext_dirent *)(data + t->at))->name_len);
}

/*
 * Fills block `to` with copies of the entries v[0..n) of block `from`; the last copy extends to the
 * end of the block.
 */
static void pack_dirents(struct ext_fs *fs, uint8_t *to, const uint8_t *from, const struct item *v,
                         unsigned n)
{
    struct ext_dirent *e = (struct ext_dirent *)to;
    uint32_t off = 0;

    memset(to, 0, fs->bsize);
    for (unsigned i = 0; i < n; i++) {
        uint32_t size = item_size(from, &v[i]);

        e = (struct ext_dirent *)(to + off);
        memcpy(e, from + v[i].at, size);
        e->rec_len = (uint16_t)size;
        off += size;
    }
    if (n == 0)
        e->rec_len = (uint16_t)fs->bsize;
    else
        e->rec_len = (uint16_t)(e->rec_len + fs->bsize - off);
}

/* The number of index entries that fit into the block of a frame. */
static uint32_t dx_frame_capacity(struct ext_fs *fs, const struct frame *f)
{
    return (fs->bsize - (uint32_t)((uint8_t *)f->v - f->b->data)) / (uint32_t)sizeof *f->v;
}

/*
 * Inserts the index entry (hash, block) after entry f->at.  Does nothing if the block has become invalid
 * since dx_node_is_valid(), which happens only on a damaged disk.
 */
static void insert_dx_entry(struct ext_fs *fs, struct frame *f, uint32_t hash, uint32_t block)
{
    struct dx_entry *v = f->v;
    uint32_t n = *dx_count_of(v), at = f->at;

    if (n <= at || n >= dx_frame_capacity(fs, f))
        return;
    memmove(&v[at + 2], &v[at + 1], (n - at - 1) * sizeof *v);
    v[at + 1] = (struct dx_entry){hash, block};
    *dx_count_of(v) = (uint16_t)(n + 1);
}

/* Turns an empty block into an index block with n entries, copied from `from`. */
static struct dx_entry *init_dx_node(struct ext_fs *fs, struct buf *b, const struct dx_entry *from,
                                     uint32_t n)
{
    struct ext_dirent *e = (struct ext_dirent *)b->data;
    struct dx_entry *v = (struct dx_entry *)(b->data + DX_NODE_OFFSET);

    e->ino = 0;
    e->rec_len = (uint16_t)fs->bsize;
    memcpy(v, from, n * sizeof *v);
    *dx_limit_of(v) = (uint16_t)((fs->bsize - DX_NODE_OFFSET) / sizeof *v);
    *dx_count_of(v) = (uint16_t)n;
    return v;
}

/*
 * Makes space in the lowest index block, which is full: adds a level, or moves half of the entries to a new block.
 * Updates p.
 * -ENOSPC: both levels are full.
 */
static int grow_dx_tree(struct handle *h, struct ext_inode *dir, struct probe *p)
{
    struct ext_fs *fs = dir->fs;
    struct frame *root = &p->f[0], *f = &p->f[p->levels];
    uint32_t lblk, n = min_of((uint32_t)*dx_count_of(f->v), dx_frame_capacity(fs, f)), half = n / 2;
    struct buf *b;
    int err;

    if (p->levels == 1 && *dx_count_of(root->v) == *dx_limit_of(root->v))
        return -ENOSPC;
    err = ext_dir_append(h, dir, &b, &lblk);
    if (err != 0)
        return err;
    jnl_access(h, root->b);
    if (p->levels == 0) {
        p->f[1] = (struct frame){b, init_dx_node(fs, b, root->v, n), root->at};
        *dx_count_of(root->v) = 1;
        root->v[0].block = lblk;
        root->at = 0;
        dx_info_of(root->b)->levels = 1;
        p->levels = 1;
        return 0;
    }
    jnl_access(h, f->b);
    insert_dx_entry(fs, root, f->v[half].hash, lblk);
    init_dx_node(fs, b, f->v + half, n - half);
    *dx_count_of(f->v) = (uint16_t)half;
    if (f->at >= half) {
        buf_put(f->b);
        *f = (struct frame){b, (struct dx_entry *)(b->data + DX_NODE_OFFSET), f->at - half};
        root->at++;
    } else {
        buf_put(b);
    }
    return 0;
}

/*
 * Splits the full block `leaf` in two.  *into is the half for the wanted hash, with a reference: `leaf` or a new
 * block.  The lowest index block must have space for one entry.
 */
static int split_dir_leaf(struct handle *h, struct ext_inode *dir, struct probe *p,
                          struct buf *leaf, struct buf **into)
{
    struct ext_fs *fs = dir->fs;
    struct frame *f = &p->f[p->levels];
    struct item *v = kmem_alloc(fs->bsize / 12 * sizeof *v);
    uint8_t *copy = ext_block_alloc(fs);
    uint32_t lblk, hash2, size = 0;
    unsigned n, k;
    struct buf *b;
    int err = v == NULL || copy == NULL ? -ENOMEM : 0;

    if (err == 0)
        err = ext_dir_append(h, dir, &b, &lblk);
    if (err == 0) {
        memcpy(copy, leaf->data, fs->bsize);
        n = collect_block_items(fs, probe_hash_version(fs, p), copy, 0, v);
        sort_items_by_hash(v, n);
        for (k = n; k > 1 && size + item_size(copy, &v[k - 1]) / 2 <= fs->bsize / 2; k--)
            size += item_size(copy, &v[k - 1]);
        if (k == n && n > 1)
            k--;
        if (n < 2) { /* impossible: one entry cannot fill a block */
            buf_put(b);
            err = ext_error(fs, "directory %u: a full block has %u entries", (uint32_t)dir->vn.ino,
                            n);
        }
    }
    if (err == 0) {
        hash2 = v[k].hash;
        jnl_access(h, leaf);
        jnl_access(h, f->b);
        pack_dirents(fs, leaf->data, copy, v, k);
        pack_dirents(fs, b->data, copy, v + k, n - k);
        insert_dx_entry(fs, f, hash2 | (hash2 == v[k - 1].hash), lblk);
        *into = b;
        if (p->hash < hash2) {
            *into = leaf;
            buf_hold(leaf);
            buf_put(b);
        }
    }
    kmem_free(v);
    ext_block_free(fs, copy);
    return err;
}

int htree_add(struct handle *h, struct ext_inode *dir, const char *name, size_t len, uint32_t ino,
              enum vtype type)
{
    struct buf *leaf, *into;
    struct frame *f;
    struct probe p;
    int err = probe_for_name(dir, name, len, &p);

    if (err != 0)
        return err;
    f = &p.f[p.levels];
    err = read_child_block(dir, &f->v[f->at], &leaf);
    if (err != 0) {
        release_probe(&p);
        return err;
    }
    if (!dirblock_add(h, dir, leaf, name, len, ino, type)) {
        if (*dx_count_of(f->v) == *dx_limit_of(f->v))
            err = grow_dx_tree(h, dir, &p);
        if (err == 0)
            err = split_dir_leaf(h, dir, &p, leaf, &into);
        if (err == 0) {
            if (!dirblock_add(h, dir, into, name, len, ino, type))
                err = -ENOSPC;
            buf_put(into);
        }
    }
    buf_put(leaf);
    release_probe(&p);
    return err;
}

int htree_make(struct handle *h, struct ext_inode *dir)
{
    struct ext_fs *fs = dir->fs;
    struct buf *root, *b;
    struct ext_dirent *dot, *dotdot;
    struct dx_info *info;
    struct dx_entry *v;
    struct item *items = kmem_alloc(fs->bsize / 12 * sizeof *items);
    uint32_t lblk, first;
    int err = items == NULL ? -ENOMEM : ext_dir_read(dir, 0, &root);

    if (err != 0) {
        kmem_free(items);
        return err;
    }
    err = ext_dir_append(h, dir, &b, &lblk);
    if (err != 0)
        goto out;
    first = b == root ? fs->bsize : offset_after_dots(fs, root);
    if (first == fs->bsize) {
        buf_put(b);
        err = ext_error(fs, "directory %u: its first block has become something else",
                        (uint32_t)dir->vn.ino);
        goto out;
    }
    dot = (struct ext_dirent *)root->data;
    dotdot = dirblock_dotdot(fs, root);
    pack_dirents(fs, b->data, root->data, items,
                 collect_block_items(fs, HASH_LEGACY, root->data, first, items));
    buf_put(b);
    jnl_access(h, root);
    if (dot->rec_len != 12) {
        memmove(root->data + 12, dotdot, 12);
        dot->rec_len = 12;
        dotdot = (struct ext_dirent *)(root->data + 12);
    }
    dotdot->rec_len = (uint16_t)(fs->bsize - 12);
    memset(root->data + DX_ROOT_OFFSET, 0, fs->bsize - DX_ROOT_OFFSET);
    info = dx_info_of(root);
    info->hash_version = default_hash_version(fs);
    info->info_length = sizeof *info;
    v = (struct dx_entry *)(info + 1);
    v[0].block = lblk;
    *dx_limit_of(v) = (uint16_t)((fs->bsize - DX_ROOT_OFFSET - sizeof *info) / sizeof *v);
    *dx_count_of(v) = 1;
    dir->flags |= EXT_FL_INDEX;
    ext_iwrite(h, dir);
out:
    buf_put(root);
    kmem_free(items);
    return err;
}
