// SPDX-License-Identifier: MIT
/*
 * recover.c - the journal at mount time: finding it, and replaying it.
 *
 * THEORY      After a crash the log can hold committed transactions whose blocks are not yet in their places.
 *             Mounting replays them.  There are three passes over the log, from the block and the sequence
 *             number in the journal's superblock:
 *               SCAN    finds the last transaction that has its commit block
 *               REVOKE  notes which blocks were revoked, and in which transaction
 *               REPLAY  writes every block of every transaction to its place, unless a revoke record forbids it
 *                       (docs/ext.md: in which transactions)
 *             A revoked block was freed as metadata.  Now it can hold data of a file, which a replay must not
 *             overwrite.
 *             A transaction without its commit block has not happened.
 * INVARIANTS  I1  a pass visits each block of the log at most once
 *             I2  nothing is written before the first two passes have checked every block number
 * SEE ALSO    commit.c (the order in which the log is written), docs/ext.md
 */
#include "fs/ext/journal.h"

#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

#define JOURNAL_INO_MIN 8

/* Stores the reason why the mount fails, and returns err. */
static int refuse_journal(struct ext_fs *fs, int err, const char *why)
{
    str_copy(fs->reason, why, sizeof fs->reason);
    return err;
}

/* Adds the n blocks from `start` on to the end of j->map.  0 or -ENOMEM. */
static int add_journal_extent(struct journal *j, uint32_t start, uint32_t n)
{
    struct extent *last = j->nmap != 0 ? &j->map[j->nmap - 1] : NULL, *v;

    if (last != NULL && last->start + last->len == start) {
        last->len += n;
        return 0;
    }
    if ((j->nmap & (j->nmap - 1)) == 0) { /* the capacity is a power of two: the map is full */
        v = kmem_alloc((j->nmap == 0 ? 1 : 2 * j->nmap) * sizeof *v);
        if (v == NULL)
            return -ENOMEM;
        if (j->nmap != 0)
            memcpy(v, j->map, j->nmap * sizeof *v);
        kmem_free(j->map);
        j->map = v;
    }
    j->map[j->nmap++] = (struct extent){start, n};
    return 0;
}

/* Finds all blocks of the journal's inode: j->map, j->maxlen. */
static int map_journal_blocks(struct ext_fs *fs, struct journal *j)
{
    struct ext_inode *i;
    uint32_t nblocks, pblk, n;
    int err = ext_iload(fs, fs->sb->journal_ino, &i);

    if (err != 0)
        return refuse_journal(fs, err == -ENOMEM ? err : -EUCLEAN,
                              "the journal's inode cannot be read");
    nblocks = (uint32_t)min_of((uint64_t)i->vn.size >> fs->bshift, (uint64_t)fs->blocks);
    if (i->vn.type != VREG || nblocks < JNL_MIN_BLOCKS)
        err = refuse_journal(fs, -EUCLEAN, "the journal is not a file of at least 1024 blocks");
    for (uint32_t k = 0; err == 0 && k < nblocks; k += n) {
        err = ext_map(i, k, nblocks - k, &pblk, &n);
        if (err == 0 && pblk == 0)
            err = -EUCLEAN;
        if (err != 0)
            err = refuse_journal(fs, err, "the journal's blocks cannot be found");
        else
            err = add_journal_extent(j, pblk, n);
    }
    j->maxlen = nblocks;
    i->vn.nlink = 1; /* so that ext_iput() frees only the memory */
    ext_iput(i);
    return err;
}

static int check_journal_super(struct ext_fs *fs, struct journal *j)
{
    struct jbd_super *s = (struct jbd_super *)j->super;

    if (s->h.magic != be32(JBD_MAGIC) || s->h.type != be32(JBD_SUPER_V2))
        return refuse_journal(fs, -EUCLEAN, "the journal has no superblock of version 2");
    if (s->blocksize != be32(fs->bsize) || be32(s->maxlen) > j->maxlen ||
        be32(s->maxlen) < JNL_MIN_BLOCKS)
        return refuse_journal(fs, -EUCLEAN,
                              "the journal's superblock has another size than the journal");
    j->maxlen = be32(s->maxlen);
    j->first = be32(s->first);
    if (j->first == 0 || j->first > j->maxlen / 2 || be32(s->start) >= j->maxlen ||
        (s->start != 0 && be32(s->start) < j->first))
        return refuse_journal(fs, -EUCLEAN, "the journal's log begins outside the journal");
    if ((be32(s->incompat) & ~(uint32_t)JBD_INCOMPAT_REVOKE) != 0 || s->ro_compat != 0 ||
        (be32(s->compat) & ~1u) != 0)
        return refuse_journal(fs, -EOPNOTSUPP,
                              "the journal has a feature that is not known (64bit or checksums)");
    j->seq = be32(s->sequence);
    return 0;
}

int jnl_load(struct ext_fs *fs)
{
    struct journal *j = kmem_zalloc(sizeof *j);
    int err;

    if (j == NULL)
        return -ENOMEM;
    fs->jnl = j;
    j->fs = fs;
    mutex_init(&j->lock, SLEEP_JOURNAL);
    mutex_init(&j->super_lock, SLEEP_JOURNAL_SUPER);
    cv_init(&j->cv);
    list_init(&j->done);
    j->next_tid = 2;
    j->committed = 1;
    j->log = fs->journalled;
    if (!j->log)
        return 0;
    err = map_journal_blocks(fs, j);
    if (err != 0)
        return err;
    j->super = ext_block_alloc(fs);
    if (j->super == NULL)
        return -ENOMEM;
    err = ext_io_one(fs, BLK_READ, jnl_log_block(j, 0), j->super);
    if (err != 0)
        return refuse_journal(fs, err, "the journal's superblock cannot be read");
    return check_journal_super(fs, j);
}

/* ---- replay -------------------------------------------------------------------------------------- */

/* LAB journal-replay: begin */
/* A revoked block and the last transaction that revoked it: an entry of a hash table.  block 0: empty. */
struct revoked {
    uint32_t block, seq;
};

struct replay {
    struct ext_fs *fs;
    struct journal *j;
    uint8_t *buf, *data;
    uint32_t end_seq;      /* number of the first transaction that is not complete */
    uint32_t end_pos;      /* the log block after the last complete transaction */
    struct revoked *table; /* hash table with open addressing, mask + 1 entries */
    uint32_t mask, count;
    unsigned written; /* blocks that have been replayed */
};
enum pass { SCAN, REVOKE, REPLAY };

static uint32_t next_log_position(const struct journal *j, uint32_t pos)
{
    return pos + 1 == j->maxlen ? j->first : pos + 1;
}

/* The entry of `block` in the hash table, or the empty entry where `block` can be inserted. */
static struct revoked *find_revoke_slot(const struct replay *r, uint32_t block)
{
    uint32_t k = block * 0x9e3779b1u & r->mask;

    while (r->table[k].block != 0 && r->table[k].block != block)
        k = (k + 1) & r->mask;
    return &r->table[k];
}

/* Doubles the table if it is half full.  0 or -ENOMEM. */
static int grow_revoke_table(struct replay *r)
{
    struct revoked *old = r->table;
    uint32_t n = old == NULL ? 0 : r->mask + 1;

    if (r->count * 2 < n)
        return 0;
    r->mask = n == 0 ? 255 : 2 * n - 1;
    r->table = kmem_zalloc((r->mask + 1) * sizeof *r->table);
    if (r->table == NULL) {
        r->table = old;
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++)
        if (old[i].block != 0)
            *find_revoke_slot(r, old[i].block) = old[i];
    kmem_free(old);
    return 0;
}

static int scan_revoke_record(struct replay *r, uint32_t seq)
{
    struct jbd_revoke *rv = (struct jbd_revoke *)r->buf;
    uint32_t bytes = be32(rv->count), *v = (uint32_t *)(rv + 1);

    if (bytes < sizeof *rv || bytes > r->fs->bsize)
        return refuse_journal(r->fs, -EUCLEAN, "a revoke record of the journal has a wrong length");
    for (uint32_t i = 0; i < (bytes - sizeof *rv) / 4; i++) {
        uint32_t block = be32(v[i]);
        struct revoked *s;
        int err;

        if (block == 0 || block >= r->fs->blocks)
            continue; /* a block with such a number is never replayed */
        err = grow_revoke_table(r);
        if (err != 0)
            return err;
        s = find_revoke_slot(r, block);
        if (s->block == 0)
            r->count++;
        *s = (struct revoked){block, seq};
    }
    return 0;
}

/* Whether `block` was revoked in transaction `seq` or later. */
static bool is_revoked(const struct replay *r, uint32_t block, uint32_t seq)
{
    const struct revoked *s;

    if (r->table == NULL)
        return false;
    s = find_revoke_slot(r, block);
    return s->block != 0 && (int32_t)(s->seq - seq) >= 0;
}

/* Whether the replay is allowed to write the block: it is in the file system and not in the journal itself. */
static bool may_replay_to_block(const struct replay *r, uint32_t block)
{
    if (block < r->fs->first_block || block >= r->fs->blocks)
        return false;
    for (unsigned i = 0; i < r->j->nmap; i++)
        if (block - r->j->map[i].start < r->j->map[i].len)
            return false;
    return true;
}

/*
 * Copies log block `pos` to the block of the disk that the tag names, unless that block was
 * revoked.
 */
static int replay_log_block(struct replay *r, uint32_t pos, const struct jbd_tag *tag, uint32_t seq)
{
    uint32_t block = be32(tag->block);
    int err;

    if (is_revoked(r, block, seq))
        return 0;
    err = ext_io_one(r->fs, BLK_READ, jnl_log_block(r->j, pos), r->data);
    if (err != 0)
        return err;
    if (be16(tag->flags) & JBD_TAG_ESCAPE)
        *(uint32_t *)r->data = be32(JBD_MAGIC);
    r->written++;
    return ext_io_one(r->fs, BLK_WRITE, block, r->data);
}

/*
 * Handles the tags of the descriptor in r->buf.  *pos moves over the log blocks that the tags
 * describe, and *left, the number of log blocks that this pass may still visit (I1), decreases.
 */
static int walk_descriptor_tags(struct replay *r, enum pass pass, uint32_t seq, uint32_t *pos,
                                uint32_t *left)
{
    uint32_t off = sizeof(struct jbd_header);
    bool last = false;

    while (!last) {
        const struct jbd_tag *tag = (const struct jbd_tag *)(r->buf + off);
        uint16_t flags;
        int err = 0;

        if (off + sizeof *tag > r->fs->bsize) {
            if (pass == SCAN)
                return refuse_journal(r->fs, -EUCLEAN, "a descriptor of the journal does not end");
            break;
        }
        flags = be16(tag->flags);
        last = (flags & JBD_TAG_LAST) != 0;
        off += (uint32_t)sizeof *tag + (flags & JBD_TAG_SAME_UUID ? 0 : 16);
        if (*left == 0)
            return refuse_journal(r->fs, -EUCLEAN, "the journal's log is longer than the journal");
        --*left;
        if (pass == REVOKE && !may_replay_to_block(r, be32(tag->block)))
            return refuse_journal(r->fs, -EUCLEAN,
                                  "the journal holds a block that is outside the file system");
        if (pass == REPLAY)
            err = replay_log_block(r, *pos, tag, seq);
        if (err != 0)
            return err;
        *pos = next_log_position(r->j, *pos);
    }
    return 0;
}

static int run_recovery_pass(struct replay *r, enum pass pass)
{
    struct journal *j = r->j;
    uint32_t pos = be32(((struct jbd_super *)j->super)->start), seq = j->seq,
             left = j->maxlen - j->first;
    int err = 0;

    while (err == 0 && left-- != 0) {
        struct jbd_header *hd = (struct jbd_header *)r->buf;

        if (pass != SCAN && seq == r->end_seq)
            break;
        err = ext_io_one(r->fs, BLK_READ, jnl_log_block(j, pos), r->buf);
        if (err != 0)
            break;
        if (hd->magic != be32(JBD_MAGIC) || hd->sequence != be32(seq))
            break;
        pos = next_log_position(j, pos);
        switch (be32(hd->type)) {
        case JBD_DESCRIPTOR:
            err = walk_descriptor_tags(r, pass, seq, &pos, &left);
            /* an unfinished transaction can contain old blocks with any contents, so the log ends before it */
            if (pass == SCAN && err == -EUCLEAN)
                return 0;
            break;
        case JBD_COMMIT:
            seq++;
            if (pass == SCAN) {
                r->end_seq = seq;
                r->end_pos = pos;
            }
            break;
        case JBD_REVOKE:
            if (pass == REVOKE)
                err = scan_revoke_record(r, seq);
            break;
        default:
            left = 0;
        }
    }
    return err;
}

int jnl_recover(struct ext_fs *fs, unsigned *replayed)
{
    struct journal *j = fs->jnl;
    struct replay r = {.fs = fs, .j = j, .end_seq = j->seq};
    uint32_t was = j->seq;
    int err = 0;

    *replayed = 0;
    if (((struct jbd_super *)j->super)->start == 0)
        return 0;
    r.buf = ext_block_alloc(fs);
    r.data = ext_block_alloc(fs);
    if (r.buf == NULL || r.data == NULL)
        err = -ENOMEM;
    for (enum pass p = SCAN; err == 0 && p <= REPLAY; p++)
        err = run_recovery_pass(&r, p);
    if (err == -EIO)
        refuse_journal(fs, err, "the journal cannot be replayed: the disk has errors");
    if (err == 0) {
        j->seq = r.end_seq + 1; /* + 1: old blocks after the end must never continue the log */
        *replayed = r.end_seq - was;
        fs->n_replayed = *replayed;
        err = jnl_write_super(j, 0, j->seq);
    }
    ext_block_free(fs, r.buf);
    ext_block_free(fs, r.data);
    kmem_free(r.table);
    return err;
}
/* LAB journal-replay: end */
