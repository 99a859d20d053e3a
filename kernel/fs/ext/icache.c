// SPDX-License-Identifier: MIT
/*
 * icache.c - the inode cache: inodes in memory, found by their number.
 *
 * THEORY      The cache holds one reference to each inode in its hash table.  When there are too many inodes,
 *             some inodes without other references are evicted by the second-chance rule (buf.c explains this
 *             rule).
 *             When a file loses its last link, the cache drops its reference.  The vn_release() of the last
 *             user then deletes the file.
 * INVARIANTS  I1  an inode is in the cache's hash table at most once, and not when nlink is 0
 * LOCKING     icache_part.lock guards the hash chains and the list of one part.
 * SEE ALSO    inode.c, docs/ext.md
 */
#include "fs/ext/ext.h"

#include "mem/kmem.h"
#include "stat/panic.h"
#include "stat/tunable.h"

#define HASH_SIZE 256 /* hash chains of one part */

static uint32_t ext_inode_max = 0;
TUNABLE(
    ext_inode_max, 0, 1 << 20,
    "default 0 (one for each 16 pages of memory): inodes kept by one file system; read at mount");

static struct icache_part *icache_part_of(struct ext_fs *fs, uint64_t ino)
{
    return &fs->part[ino % ICACHE_PARTS];
}

static struct ext_inode **icache_chain_of(struct icache_part *p, uint64_t ino)
{
    return &p->hash[ino / ICACHE_PARTS % HASH_SIZE];
}

int icache_init(struct ext_fs *fs)
{
    uint64_t max = ext_inode_max != 0 ? ext_inode_max : mem_total_pages() / 16;

    fs->max_inodes = (uint32_t)max_of(max / ICACHE_PARTS, (uint64_t)16);
    for (unsigned k = 0; k < ICACHE_PARTS; k++) {
        mutex_init(&fs->part[k].lock, SLEEP_EXT_ICACHE);
        list_init(&fs->part[k].clock);
        fs->part[k].hash = kmem_zalloc(HASH_SIZE * sizeof(struct ext_inode *));
        if (fs->part[k].hash == NULL)
            return -ENOMEM;
    }
    return 0;
}

void icache_destroy(struct ext_fs *fs)
{
    for (unsigned k = 0; k < ICACHE_PARTS; k++)
        kmem_free(fs->part[k].hash);
}

static void insert_cached_inode(struct icache_part *p, struct ext_inode *i)
{
    struct ext_inode **c = icache_chain_of(p, i->vn.ino);

    i->hnext = *c;
    *c = i;
    i->hashed = true;
    i->referenced = true;
    list_push_back(&p->clock, &i->clock);
    p->count++;
    vn_hold(&i->vn); /* the cache's reference */
}

static void remove_cached_inode(struct icache_part *p, struct ext_inode *i)
{
    struct ext_inode **c = icache_chain_of(p, i->vn.ino);

    while (*c != i)
        c = &(*c)->hnext;
    *c = i->hnext;
    i->hashed = false;
    list_remove(&i->clock);
    p->count--;
}

/*
 * Frees the inode if only the cache has a reference, and the inode has no unfinished change or I/O.  Returns
 * whether it freed the inode.  The caller holds the part's lock.
 */
static bool try_evict_inode(struct icache_part *p, struct ext_inode *i)
{
    struct ext_fs *fs = i->fs;
    uint32_t one = 1;

    if (i->vn.refs != 1 || !fs->up->may_evict(i))
        return false;
    if (!fs->rdonly && (i->dirty || (i->orphaned && !fs->leaving) || i->otxn != NULL))
        return false;
    if (!atomic_compare_exchange_strong(&i->vn.refs, &one, 0))
        return false;
    remove_cached_inode(p, i);
    ASSERT(fs->rdonly || (!i->dirty && i->otxn == NULL), "ext.h: an inode leaves memory clean");
    if (fs->rdonly) { /* after an error, the unfinished changes of the inode are lost */
        ext_iundirty(i);
        jnl_unorder(i);
    }
    /* the inode is on the list only after an error or when fs->leaving is set */
    list_remove(&i->orphan);
    if (i->vn.type == VREG)
        fs->up->drop_pages(i, 0);
    ext_inode_free(i);
    return true;
}

/* Makes room for one inode; tries at most four inodes.  The caller holds the part's lock. */
static void trim_icache_part(struct ext_fs *fs, struct icache_part *p)
{
    for (unsigned k = 0; k < 4 && p->count >= fs->max_inodes; k++) {
        struct ext_inode *i = list_first(&p->clock, struct ext_inode, clock);

        if (!i->referenced && try_evict_inode(p, i))
            continue;
        i->referenced = false;
        list_remove(&i->clock);
        list_push_back(&p->clock, &i->clock);
    }
}

int ext_iget(struct ext_fs *fs, uint32_t ino, struct ext_inode **out)
{
    struct icache_part *p = icache_part_of(fs, ino);
    struct ext_inode *i;
    int err = 0;

    mutex_enter(&p->lock);
    for (i = *icache_chain_of(p, ino); i != NULL && i->vn.ino != ino; i = i->hnext)
        ;
    if (likely(i != NULL)) {
        vn_hold(&i->vn);
        i->referenced = true;
    } else {
        trim_icache_part(fs, p);
        if (ino != EXT_ROOT_INO && ino < fs->first_ino)
            err = ext_error(fs, "a name leads to inode %u", ino);
        else
            err = ext_iload(fs, ino, &i);
        if (err == 0 && i->vn.nlink == 0) {
            ext_inode_free(i);
            i = NULL;
            err = ext_error(fs, "a name leads to inode %u, which is free", ino);
        }
        if (err == 0)
            insert_cached_inode(p, i);
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
    struct icache_part *p = icache_part_of(i->fs, i->vn.ino);

    mutex_enter(&p->lock);
    insert_cached_inode(p, i);
    trim_icache_part(i->fs, p);
    mutex_exit(&p->lock);
}

void ext_iforget(struct ext_inode *i)
{
    struct icache_part *p = icache_part_of(i->fs, i->vn.ino);
    bool was;

    mutex_enter(&p->lock);
    was = i->hashed;
    if (was)
        remove_cached_inode(p, i);
    mutex_exit(&p->lock);
    if (was)
        vn_release(&i->vn);
}

unsigned icache_drop(struct ext_fs *fs)
{
    unsigned busy = 0;

    for (unsigned k = 0; k < ICACHE_PARTS; k++) {
        struct icache_part *p = &fs->part[k];
        struct ext_inode *i, *tmp;

        if (p->hash == NULL)
            continue;
        mutex_enter(&p->lock);
        LIST_FOREACH_SAFE (i, tmp, &p->clock, clock)
            if (!try_evict_inode(p, i))
                busy++;
        mutex_exit(&p->lock);
    }
    return busy;
}

unsigned icache_hold_some(struct ext_fs *fs, unsigned *at, bool (*want)(struct ext_inode *i),
                          struct ext_inode **out, unsigned max)
{
    unsigned n = 0;

    while (n == 0 && *at < ICACHE_PARTS * HASH_SIZE) {
        struct icache_part *p = &fs->part[*at / HASH_SIZE];

        mutex_enter(&p->lock);
        do {
            struct ext_inode *i = p->hash[*at % HASH_SIZE];

            for (; i != NULL && n < max; i = i->hnext)
                if (want(i)) {
                    vn_hold(&i->vn);
                    out[n++] = i;
                }
            if (i != NULL) /* out[] is full: the next call looks at this chain again */
                break;
            ++*at;
        } while (n < max && *at % HASH_SIZE != 0);
        mutex_exit(&p->lock);
    }
    return n;
}

unsigned icache_count(struct ext_fs *fs, bool (*want)(struct ext_inode *i))
{
    struct ext_inode *i;
    unsigned n = 0;

    for (unsigned k = 0; k < ICACHE_PARTS; k++) {
        mutex_enter(&fs->part[k].lock);
        LIST_FOREACH (i, &fs->part[k].clock, clock)
            n += want(i);
        mutex_exit(&fs->part[k].lock);
    }
    return n;
}
