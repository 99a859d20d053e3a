// SPDX-License-Identifier: MIT
/*
 * test_extfuzz.c - corrupt disks and the file system's code: no crash, no hang, no access outside of memory.
 *
 * There are three base images: one with a journal and 1 KiB blocks, the same as a power cut left it, with transactions
 * in its log, and one without a journal and with 4 KiB blocks.  Each of 2,000 images has up to eight changes: of a
 * field of the superblock, a descriptor, an inode, a directory entry, a pointer, the journal, or of bytes anywhere.  It
 * is mounted, read through, changed, and unmounted.  Each image has a limit of time and of disk accesses.
 * build/host/test_extfuzz -s SEED repeats a run; FUZZ_ONLY=N runs only image N of it.  FUZZ_DUMP=FILE writes the first
 * 50 images into a file instead, one after the other, for a machine to mount (tests/test_ext.py).
 */
#include "fs/ext/journal.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/host/check.h"

#define IMAGES   2000
#define DUMPED   50
#define SECONDS  20      /* for one image, with the sanitizers, on a busy machine */
#define ACCESSES 400000u /* the most reads and writes of one image */

struct base {
    uint8_t *mem;
    size_t bytes;
};
static struct base bases[3];
static unsigned current;
static uint64_t state;

/* Like check_random(), but starts anew for each image, so that one image can be repeated alone. */
static uint64_t random_bits(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t n)
{
    return n == 0 ? 0 : random_bits() % n;
}

/* Called only when an image takes far too long; prints its number. */
static void too_slow(int sig)
{
    (void)sig;
    fprintf(stderr, "@test mutated_images FAIL image %u hangs\n", current);
    _exit(1);
}

static void load(struct base *b, const char *options)
{
    char path[64], cmd[1000];
    struct disk *d;

    snprintf(path, sizeof path, "build/host/fuzz.%d.img", getpid());
    snprintf(cmd, sizeof cmd,
             "PATH=$PATH:/usr/sbin:/sbin; T=%s.d; rm -rf $T;"
             " mkdir -p $T/a/b/c && head -c 90000 /dev/zero | tr '\\0' q > $T/a/big &&"
             "for i in $(seq 90); do echo $i > $T/a/b/some-longer-name-$i; done; ln -s a/b $T/link;"
             "ln $T/a/big $T/a/b/hard; ln -s $(printf 'y%%.0s' $(seq 80)) $T/long;"
             "mke2fs -q -F %s -d $T %s 4096k >/dev/null 2>&1 && rm -rf $T",
             path, options, path);
    CHECK_EQ(system(cmd), 0);
    d = host_disk_open(path, false);
    b->bytes = d->sectors * SECTOR_SIZE;
    b->mem = malloc(b->bytes);
    memcpy(b->mem, d->mem, b->bytes);
    host_disk_close(d);
    unlink(path);
}

static int make(struct ext_fs *fs, const char *path, enum vtype type)
{
    struct ext_inode *dir, *i;
    const char *name;
    int err = host_parent(fs, path, &dir, &name);

    if (err != 0)
        return err;
    err = dir->vn.type != VDIR || *name == '\0'
              ? -ENOTDIR
              : ext_create(dir, name, strlen(name), type, 0755, 0, 0, 0, "target", &i);
    if (err == 0)
        ext_iput(i);
    ext_iput(dir);
    return err;
}

static void rm(struct ext_fs *fs, const char *path)
{
    struct ext_inode *dir, *i;
    const char *name;

    if (host_parent(fs, path, &dir, &name) != 0)
        return;
    if (dir->vn.type == VDIR && *name != '\0' && ext_lookup(dir, name, strlen(name), &i) == 0) {
        ext_unlink(dir, name, strlen(name), i);
        ext_iput(i);
    }
    ext_iput(dir);
}

/* Makes the second base: changes that are committed but not checkpointed, and then the power fails. */
static void make_dirty(struct base *b, const struct base *clean)
{
    struct disk *d = host_disk_mem(clean->mem, clean->bytes);
    static char data[20000];
    struct ext_inode *i;
    struct ext_fs *fs;
    char name[40];

    CHECK_EQ(host_mount(d, false, &fs), 0);
    for (unsigned k = 0; k < 40; k++) {
        snprintf(name, sizeof name, "/n%u", k);
        CHECK_EQ(make(fs, name, k % 5 == 0 ? VDIR : VREG), 0);
        if (k % 5 != 0 && host_path(fs, name, &i) == 0) {
            host_write(i, data, sizeof data, k * 1000);
            ext_iput(i);
        }
        if (k % 3 == 0) {
            snprintf(name, sizeof name, "/n%u", k / 2);
            rm(fs, name);
        }
        if (k % 4 == 0)
            CHECK_EQ(ext_sync(fs), 0);
    }
    CHECK_EQ(host_path(fs, "/a/big", &i), 0); /* an open file without a name */
    rm(fs, "/a/big");
    rm(fs, "/a/b/hard");
    CHECK_EQ(ext_sync(fs), 0);
    b->bytes = clean->bytes;
    b->mem = malloc(b->bytes);
    memcpy(b->mem, d->mem, b->bytes);
    ext_iput(i);
    CHECK_EQ(host_unmount(fs), 0);
    host_disk_close(d);
}

/* ---- mutations ---- */

static uint32_t strange(uint32_t old, uint32_t blocks)
{
    switch (below(10)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return UINT32_MAX;
    case 3:
        return INT32_MAX;
    case 4:
        return blocks;
    case 5:
        return (uint32_t)below(blocks);
    case 6:
        return old + 1;
    case 7:
        return old - 1;
    case 8:
        return old ^ 1u << below(32);
    default:
        return (uint32_t)random_bits();
    }
}

/* Changes one 8-, 16- or 32-bit number at a random place of p[0..n). */
static void change(uint8_t *p, size_t n, uint32_t blocks)
{
    size_t at = below(n);
    uint32_t v;

    switch (below(3)) {
    case 0:
        p[at] = (uint8_t)strange(p[at], blocks);
        break;
    case 1:
        at &= ~1ul;
        memcpy(&v, p + at, 2);
        v = strange(v, blocks);
        memcpy(p + at, &v, 2);
        break;
    default:
        at &= ~3ul;
        memcpy(&v, p + at, 4);
        v = below(4) ? strange(v, blocks) : be32(strange(be32(v), blocks));
        memcpy(p + at, &v, 4);
    }
}

struct layout {
    uint8_t *mem;
    const struct ext_super *s;
    uint32_t bs, blocks, gdt, ngroups;
};

static const struct ext_gdesc *group(const struct layout *l, uint32_t g)
{
    return (const struct ext_gdesc *)(l->mem + (size_t)l->gdt * l->bs) + g;
}

static uint8_t *block(const struct layout *l, uint32_t b)
{
    return l->mem + (size_t)(b < l->blocks ? b : l->blocks - 1) * l->bs;
}

/* The bytes of an inode, usually of one in use. */
static struct ext_dinode *inode(const struct layout *l)
{
    struct ext_dinode *d = NULL;

    for (unsigned k = 0; k < 40; k++) {
        uint32_t n = (uint32_t)(below(4) ? below(60) : below(l->s->inodes_count));
        uint32_t g = n / l->s->inodes_per_group, i = n % l->s->inodes_per_group;

        d = (struct ext_dinode *)(block(l, group(l, g)->inode_table) +
                                  (size_t)i * l->s->inode_size);
        if (d->links != 0)
            break;
    }
    return d;
}

static void mutate(const struct layout *l)
{
    struct ext_dinode *d = inode(l);
    uint32_t jblock =
        ((struct ext_dinode *)(block(l, group(l, 0)->inode_table) + 7ul * l->s->inode_size))
            ->block[0];
    uint8_t *p;

    switch (below(12)) {
    case 0: /* superblock */
        change(l->mem + 1024, 0x170, l->blocks);
        break;
    case 1: /* descriptors */
        change(block(l, l->gdt), l->ngroups * 32, l->blocks);
        break;
    case 2:
    case 3: /* an inode */
        change((uint8_t *)d, l->s->inode_size > 128 ? 152 : 128, l->blocks);
        break;
    case 4: /* the pointers of an inode */
        change((uint8_t *)d->block, sizeof d->block, l->blocks);
        break;
    case 5:
    case 6: /* a block of an inode: entries, pointers, an index */
        p = block(l, d->block[below(3)]);
        change(p, below(2) ? 64 : l->bs, l->blocks);
        break;
    case 7:
        p = block(l, d->block[12 + below(2)]);
        change(p, l->bs, l->blocks);
        break;
    case 8: /* bitmaps */
        p = block(l, below(2) ? group(l, 0)->block_bitmap : group(l, 0)->inode_bitmap);
        change(p, l->bs, l->blocks);
        break;
    case 9: /* the journal's superblock */
        change(block(l, jblock), 0x50, l->blocks);
        break;
    case 10: /* the log of the journal */
        p = block(l, jblock + 1 + (uint32_t)below(200));
        change(p, below(2) ? 64 : l->bs, l->blocks);
        break;
    default: /* bytes anywhere */
        for (unsigned k = 0; k < 20; k++)
            l->mem[below((uint64_t)l->blocks * l->bs)] = (uint8_t)random_bits();
    }
}

/* ---- work with an image ---- */

struct found {
    char name[20][256];
    unsigned n;
};

static int see(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
               uint64_t next)
{
    struct found *f = arg;

    if (name[0] != '.' && f->n < 20) {
        memcpy(f->name[f->n], name, len);
        f->name[f->n++][len] = '\0';
    }
    return 0;
}

static void read_through(struct ext_inode *dir, unsigned depth)
{
    static char buf[5000];
    struct found *f = calloc(1, sizeof *f);
    struct ext_inode *i;

    ext_readdir(dir, 0, see, f);
    for (unsigned k = 0; k < f->n; k++) {
        if (ext_lookup(dir, f->name[k], strlen(f->name[k]), &i) != 0)
            continue;
        if (i->vn.type == VDIR && depth < 8)
            read_through(i, depth + 1);
        if (i->vn.type == VLNK)
            ext_readlink(i, buf, sizeof buf);
        if (i->vn.type == VREG)
            for (unsigned m = 0; m < 6; m++)
                host_read(i, buf, sizeof buf, m < 3 ? m * 30000 : below(i->vn.size + 1));
        ext_iput(i);
    }
    free(f);
}

static void work(struct ext_fs *fs)
{
    static const char *const names[] = {
        "/a",
        "/a/b",
        "/a/big",
        "/a/b/hard",
        "/n1",
        "/n2",
        "/x",
        "/a/x",
        "/a/b/c",
        "/n5/y",
        "/n10",
        "/link",
        "/a/b/some-longer-name-7",
        "/long",
        "/a/b/some-longer-name-70",
    };
    static char data[9000];
    struct ext_inode *i;

    for (unsigned k = 0; k < 60; k++) {
        const char *name = names[below(array_size(names))];

        switch (below(6)) {
        case 0:
            make(fs, name, below(2) ? VREG : VDIR);
            break;
        case 1:
            rm(fs, name);
            break;
        case 2:
        case 3:
            if (host_path(fs, name, &i) == 0) {
                if (i->vn.type == VREG)
                    host_write(i, data, sizeof data,
                               below(2) ? below(200000) : below(i->vn.size + 1));
                ext_iput(i);
            }
            break;
        case 4:
            if (host_path(fs, name, &i) == 0) {
                if (i->vn.type == VREG)
                    host_truncate(i, below(2) ? 0 : below(i->vn.size + 1));
                ext_iput(i);
            }
            break;
        default:
            if (below(4) == 0)
                ext_sync(fs);
        }
    }
}

static bool one(const struct base *b, FILE *dump)
{
    struct disk *d = host_disk_mem(b->mem, b->bytes);
    struct layout l = {.mem = d->mem, .s = (const struct ext_super *)(b->mem + 1024)};
    struct ext_inode *root;
    struct ext_fs *fs;
    bool mounts;

    l.bs = 1024u << l.s->log_block_size;
    l.blocks = l.s->blocks_count;
    l.gdt = l.s->first_data_block + 1;
    l.ngroups =
        (l.blocks - l.s->first_data_block + l.s->blocks_per_group - 1) / l.s->blocks_per_group;
    /* places are computed from the base, which is not changed */
    uint8_t *mem = d->mem;
    struct layout orig = l;

    orig.mem = mem;
    for (unsigned k = 1 + (unsigned)below(8); k != 0; k--) {
        struct ext_gdesc keep[8];
        uint8_t *g = mem + (size_t)l.gdt * l.bs;
        bool changed;

        memcpy(keep, g, sizeof keep);
        memcpy(g, b->mem + (size_t)l.gdt * l.bs, sizeof keep);
        mutate(&orig);
        changed = memcmp(g, b->mem + (size_t)l.gdt * l.bs, sizeof keep) != 0;
        if (!changed)
            memcpy(g, keep, sizeof keep);
    }
    if (dump != NULL) {
        CHECK_EQ(fwrite(d->mem, 1, b->bytes, dump), b->bytes);
        host_disk_close(d);
        return false;
    }
    mounts = host_mount(d, below(8) == 0, &fs) == 0;
    if (mounts) {
        if (ext_iget(fs, EXT_ROOT_INO, &root) == 0) {
            read_through(root, 0);
            ext_iput(root);
        }
        work(fs);
        if (host_unmount(fs) == -EBUSY)
            check_fail(__FILE__, __LINE__, "image %u: an inode is still in use", current);
    } else if (host_reason[0] == '\0') {
        check_fail(__FILE__, __LINE__, "image %u is refused without a reason", current);
    }
    if (d->reads + d->writes > ACCESSES)
        check_fail(__FILE__, __LINE__, "image %u: %lu disk accesses", current,
                   d->reads + d->writes);
    host_disk_close(d);
    return mounts;
}

TEST(mutated_images)
{
    const char *only = getenv("FUZZ_ONLY"), *file = getenv("FUZZ_DUMP");
    FILE *dump = file != NULL ? fopen(file, "wb") : NULL;
    uint64_t seed = check_random();
    unsigned mounted = 0;

    host_quiet = true;
    signal(SIGALRM, too_slow);
    load(&bases[0], "-t ext3 -b 1024 -J size=1 -N 160");
    load(&bases[2], "-t ext2 -b 4096 -N 160");
    make_dirty(&bases[1], &bases[0]);
    CHECK(file == NULL || dump != NULL);
    for (current = 0; current < (dump != NULL ? DUMPED : IMAGES); current++) {
        state = seed ^ current * 0x2545f4914f6cdd1dull;
        if (only != NULL && (unsigned)atoi(only) != current)
            continue;
        alarm(SECONDS);
        mounted += one(&bases[current % 3], dump);
        alarm(0);
        if (host_kmem != 0)
            check_fail(__FILE__, __LINE__, "image %u: %ld pieces of memory are lost", current,
                       host_kmem);
    }
    /* If all images were refused, or none, the changes would be useless. */
    if (only == NULL && dump == NULL) {
        CHECK(mounted > IMAGES / 4);
        CHECK(mounted < IMAGES * 9 / 10);
    }
    for (unsigned k = 0; k < 3; k++)
        free(bases[k].mem);
    if (dump != NULL)
        fclose(dump);
}
