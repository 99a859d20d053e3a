// SPDX-License-Identifier: MIT
/*
 * test_ext.c - the journalled file system on a host: the kernel's code, on images that mke2fs makes and e2fsck checks.
 *
 * The crash test records every write and flush, and rebuilds the disk as a power cut at some moment would leave it: all
 * writes up to the last flush, and any subset of the writes after it.
 */
#include "fs/ext/journal.h"

#include <fcntl.h>
#include <string.h>
#include <stdarg.h>
#include <unistd.h>

#include "tests/host/check.h"

#define DIR_PATH "build/host/ext.d"

static char image[128];

static int run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *fmt, ...)
{
    static bool path;
    char cmd[1024];
    va_list ap;

    if (!path) { /* where mke2fs is for users other than root */
        snprintf(cmd, sizeof cmd, "%s:/usr/sbin:/sbin", getenv("PATH"));
        setenv("PATH", cmd, 1);
        path = true;
    }
    va_start(ap, fmt);
    vsnprintf(cmd, sizeof cmd, fmt, ap);
    va_end(ap);
    return system(cmd);
}

/* Makes a new image as a disk in memory. */
static struct disk *make_disk(const char *type, unsigned block, unsigned kib, const char *more)
{
    struct disk *d, *m;

    host_quiet = true;
    run("mkdir -p " DIR_PATH);
    snprintf(image, sizeof image, "%s/homeroom-ext.%d.img",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : DIR_PATH, getpid());
    unlink(image);
    CHECK_EQ(
        run("mke2fs -q -F -t %s -b %u %s %s %uk >/dev/null 2>&1", type, block, more, image, kib),
        0);
    d = host_disk_open(image, false);
    m = host_disk_mem(d->mem, d->sectors * SECTOR_SIZE);
    host_disk_close(d);
    unlink(image);
    return m;
}

/* Writes the bytes to the image file, without the parts that are zero. */
static void save(const void *mem, size_t bytes)
{
    int fd = open(image, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, (off_t)bytes), 0);
    for (size_t at = 0; at < bytes; at += HOST_CHUNK) {
        size_t n = bytes - at < HOST_CHUNK ? bytes - at : HOST_CHUNK;

        if (!host_all_zero((const uint8_t *)mem + at, n))
            CHECK_EQ(pwrite(fd, (const uint8_t *)mem + at, n, (off_t)at), (ssize_t)n);
    }
    close(fd);
}

/* Checks a disk that is not mounted with e2fsck. */
static void fsck_mem(const void *mem, size_t bytes)
{
    save(mem, bytes);
    if (run("e2fsck -fn %s > %s.log 2>&1", image, image) != 0) {
        run("cat %s.log; cp %s " DIR_PATH "/bad.img", image, image);
        check_fail(__FILE__, __LINE__, "e2fsck finds errors, see " DIR_PATH "/bad.img");
    }
    run("rm -f %s %s.log", image, image);
}

static void fsck(struct disk *d)
{
    fsck_mem(d->mem, d->sectors * SECTOR_SIZE);
}

static struct ext_fs *mounted(struct disk *d)
{
    struct ext_fs *fs = NULL;
    int err = host_mount(d, false, &fs);

    if (err != 0)
        check_fail(__FILE__, __LINE__, "mount: %d %s", err, host_reason);
    return fs;
}

static void unmount(struct ext_fs *fs)
{
    CHECK_EQ(fs->jnl->overruns, 0);
    CHECK_EQ(fs->failed, false);
    CHECK_EQ(host_unmount(fs), 0);
}

static int make(struct ext_fs *fs, const char *path, enum vtype type, const char *target)
{
    struct ext_inode *dir, *i;
    const char *name;
    int err = host_parent(fs, path, &dir, &name);

    if (err != 0)
        return err;
    err = dir->vn.type != VDIR ? -ENOTDIR
                               : ext_create(dir, name, strlen(name), type,
                                            type == VDIR ? 0755 : 0644, 0, 0, 0x812, target, &i);
    if (err == 0)
        ext_iput(i);
    ext_iput(dir);
    return err;
}

static int rm(struct ext_fs *fs, const char *path)
{
    struct ext_inode *dir, *i;
    const char *name;
    int err = host_parent(fs, path, &dir, &name);

    if (err != 0)
        return err;
    err = dir->vn.type != VDIR ? -ENOTDIR : ext_lookup(dir, name, strlen(name), &i);
    if (err == 0) {
        err = ext_unlink(dir, name, strlen(name), i);
        ext_iput(i);
    }
    ext_iput(dir);
    return err;
}

/* Whether directory a is d or an ancestor of d. */
static bool above(struct ext_inode *a, struct ext_inode *d)
{
    struct ext_inode *up;
    bool yes = false;

    vn_hold(&d->vn);
    while (!yes) {
        yes = a == d;
        if (ext_parent(d, &up, NULL, 0) < 0)
            break;
        ext_iput(d);
        d = up;
    }
    ext_iput(d);
    return yes;
}

static int mv(struct ext_fs *fs, const char *from, const char *to)
{
    struct ext_inode *od = NULL, *nd = NULL, *m = NULL, *r = NULL;
    const char *on, *nn;
    int err = host_parent(fs, from, &od, &on);

    if (err == 0)
        err = host_parent(fs, to, &nd, &nn);
    if (err == 0)
        err = od->vn.type != VDIR || nd->vn.type != VDIR ? -ENOTDIR
                                                         : ext_lookup(od, on, strlen(on), &m);
    if (err == 0) {
        err = ext_lookup(nd, nn, strlen(nn), &r);
        if (err == -ENOENT)
            err = 0;
    }
    if (err == 0 && m->vn.type == VDIR && above(m, nd))
        err = -EINVAL;
    if (err == 0 && r != NULL && r != m && (m->vn.type == VDIR) != (r->vn.type == VDIR))
        err = -EISDIR;
    if (err == 0 && r != NULL && r->vn.type == VDIR && above(r, od))
        err = -ENOTEMPTY;
    if (err == 0 && m != r)
        err = ext_rename(od, on, strlen(on), nd, nn, strlen(nn), m, r);
    if (r != NULL)
        ext_iput(r);
    if (m != NULL)
        ext_iput(m);
    if (nd != NULL)
        ext_iput(nd);
    if (od != NULL)
        ext_iput(od);
    return err;
}

static int ln(struct ext_fs *fs, const char *old, const char *path)
{
    struct ext_inode *dir, *i;
    const char *name;
    int err = host_path(fs, old, &i);

    if (err != 0)
        return err;
    err = host_parent(fs, path, &dir, &name);
    if (err == 0) {
        err = dir->vn.type != VDIR ? -ENOTDIR
              : i->vn.type == VDIR ? -EPERM
                                   : ext_link(dir, name, strlen(name), i);
        ext_iput(dir);
    }
    ext_iput(i);
    return err;
}

static long put(struct ext_fs *fs, const char *path, const void *data, size_t n, uint64_t off)
{
    struct ext_inode *i;
    long r = host_path(fs, path, &i);

    if (r == 0) {
        r = host_write(i, data, n, off);
        ext_iput(i);
    }
    return r;
}

static long get(struct ext_fs *fs, const char *path, void *data, size_t n, uint64_t off)
{
    struct ext_inode *i;
    long r = host_path(fs, path, &i);

    if (r == 0) {
        r = host_read(i, data, n, off);
        ext_iput(i);
    }
    return r;
}

static uint64_t size_of(struct ext_fs *fs, const char *path)
{
    struct ext_inode *i;
    uint64_t n;

    CHECK_EQ(host_path(fs, path, &i), 0);
    n = i->vn.size;
    ext_iput(i);
    return n;
}

/* ---- reading what mke2fs wrote ---- */

TEST(reads_a_tree)
{
    static char buf[300000], want[300000];
    char target[100];
    struct ext_inode *i;
    struct ext_fs *fs;
    struct disk *d;

    CHECK_EQ(
        run("rm -rf " DIR_PATH "/tree && mkdir -p " DIR_PATH "/tree/a/b/c && cd " DIR_PATH
            "/tree &&"
            "head -c 300000 /dev/urandom > a/big && echo hello > a/b/c/small && ln -s a/b/c/small link &&"
            "ln -s $(printf 'x%%.0s' $(seq 90)) long && chmod 4751 a/b/c/small && touch -d @1234567890 a/b &&"
            "for i in $(seq 400); do echo $i > a/b/file-$i; done"),
        0);
    for (unsigned bs = 1024; bs <= 4096; bs *= 2) {
        FILE *f = fopen(DIR_PATH "/tree/a/big", "rb");

        d = make_disk("ext3", bs, 16384, "-d " DIR_PATH "/tree");
        fs = mounted(d);
        CHECK_EQ(get(fs, "/a/big", buf, sizeof buf, 0), sizeof buf);
        CHECK_EQ(fread(want, 1, sizeof want, f), sizeof want);
        fclose(f);
        CHECK(memcmp(buf, want, sizeof buf) == 0);
        for (unsigned k = 1; k <= 400; k++) {
            char name[40], text[10];

            snprintf(name, sizeof name, "/a/b/file-%u", k);
            snprintf(text, sizeof text, "%u\n", k);
            CHECK_EQ(get(fs, name, buf, 100, 0), strlen(text));
            CHECK(memcmp(buf, text, strlen(text)) == 0);
        }
        CHECK_EQ(host_path(fs, "/a/b/c/small", &i), 0);
        CHECK_EQ(i->vn.mode, 04751);
        ext_iput(i);
        CHECK_EQ(host_path(fs, "/link", &i), 0);
        CHECK_EQ(ext_readlink(i, target, sizeof target), 11);
        ext_iput(i);
        CHECK_EQ(host_path(fs, "/long", &i), 0);
        CHECK_EQ(ext_readlink(i, target, sizeof target), 90);
        ext_iput(i);
        CHECK_EQ(get(fs, "/nothing", buf, 1, 0), -ENOENT);
        unmount(fs);
        fsck(d);
        host_disk_close(d);
    }
    run("rm -rf " DIR_PATH "/tree");
    CHECK_EQ(host_kmem, 0);
}

/* ---- writing ---- */

TEST(makes_every_kind)
{
    static const enum vtype kinds[] = {VREG, VDIR, VLNK, VCHR, VBLK, VFIFO, VSOCK};
    char name[16], longer[200];
    struct ext_inode *i;
    struct ext_fs *fs;

    memset(longer, 'y', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    for (unsigned bs = 1024; bs <= 4096; bs *= 2) {
        struct disk *d = make_disk("ext3", bs, 8192, "");

        fs = mounted(d);
        for (unsigned k = 0; k < 7; k++) {
            snprintf(name, sizeof name, "/k%u", k);
            CHECK_EQ(make(fs, name, kinds[k], "target"), 0);
            CHECK_EQ(make(fs, name, kinds[k], "target"), -EEXIST);
        }
        CHECK_EQ(make(fs, "/long", VLNK, longer), 0);
        CHECK_EQ(ln(fs, "/k0", "/k1/again"), 0);
        CHECK_EQ(rm(fs, "/k1"), -ENOTEMPTY);
        CHECK_EQ(mv(fs, "/k0", "/k1/moved"), 0);
        CHECK_EQ(mv(fs, "/k1", "/dir"), 0);
        CHECK_EQ(mv(fs, "/dir/moved", "/long"), 0);
        CHECK_EQ(put(fs, "/long", "text", 4, 100), 4);
        unmount(fs);
        fsck(d);
        fs = mounted(d);
        CHECK_EQ(host_path(fs, "/k3", &i), 0);
        CHECK_EQ(i->vn.type, VCHR);
        CHECK_EQ(i->vn.rdev, 0x812);
        ext_iput(i);
        CHECK_EQ(host_path(fs, "/dir/again", &i), 0);
        CHECK_EQ(i->vn.nlink, 2);
        CHECK_EQ(i->vn.size, 104);
        CHECK(i->vn.mtime_ns % 1000000000 != 0);
        ext_iput(i);
        for (unsigned k = 2; k < 7; k++) {
            snprintf(name, sizeof name, "/k%u", k);
            CHECK_EQ(rm(fs, name), 0);
        }
        CHECK_EQ(rm(fs, "/long"), 0);
        CHECK_EQ(rm(fs, "/dir/again"), 0);
        CHECK_EQ(rm(fs, "/dir"), 0);
        unmount(fs);
        fsck(d);
        host_disk_close(d);
    }
    CHECK_EQ(host_kmem, 0);
}

static int count_one(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
                     uint64_t next)
{
    ++*(unsigned *)arg;
    return 0;
}

/* A directory so large that its index has two levels (1 KiB blocks); a look-up of a name reads few blocks. */
TEST(large_directories)
{
    static const char *const hashes[] = {"", "-E hash_seed=00000000-0000-0000-0000-000000000001"};

    for (unsigned bs = 1024; bs <= 4096; bs *= 4) {
        struct disk *d = make_disk("ext3", bs, 65536, hashes[bs == 4096]);
        struct ext_fs *fs = mounted(d);
        struct ext_inode *dir, *i;
        unsigned n = 0;
        char name[80];
        uint64_t before;

        CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
        CHECK_EQ(host_path(fs, "/d", &dir), 0);
        for (unsigned k = 0; k < 10000; k++) {
            int len = snprintf(name, sizeof name, "%u-a-name-of-some-length", k);

            CHECK_EQ(ext_create(dir, name, (size_t)len, VREG, 0644, 0, 0, 0, NULL, &i), 0);
            ext_iput(i);
        }
        CHECK(dir->flags & EXT_FL_INDEX);
        ext_iput(dir);
        unmount(fs);
        fsck(d);
        fs = mounted(d);
        CHECK_EQ(host_path(fs, "/d", &dir), 0);
        before = fs->n_buf_reads;
        CHECK_EQ(ext_lookup(dir, "7777-a-name-of-some-length", 26, &i), 0);
        /* one of the map, two of the index, one of entries, one of the inode */
        CHECK(fs->n_buf_reads - before <= 8);
        ext_iput(i);
        before = fs->n_buf_reads;
        CHECK_EQ(ext_lookup(dir, "no such name", 12, &i), -ENOENT);
        CHECK(fs->n_buf_reads - before <= 4);
        CHECK_EQ(ext_readdir(dir, 0, count_one, &n), 0);
        CHECK_EQ(n, 10002);
        for (unsigned k = 0; k < 10000; k += 1 + k % 3) {
            int len = snprintf(name, sizeof name, "%u-a-name-of-some-length", k);

            CHECK_EQ(ext_lookup(dir, name, (size_t)len, &i), 0);
            CHECK_EQ(ext_unlink(dir, name, (size_t)len, i), 0);
            ext_iput(i);
        }
        ext_iput(dir);
        unmount(fs);
        fsck(d);
        host_disk_close(d);
    }
    CHECK_EQ(host_kmem, 0);
}

/* A reader that takes a few names at a time, and counts those that begin with 'o'. */
struct reader {
    unsigned char seen[1200];
    unsigned left;
    uint64_t next;
    bool any;
};

static int take_name(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
                     uint64_t next)
{
    struct reader *r = arg;

    if (r->left == 0)
        return 1;
    r->left--;
    r->any = true;
    CHECK(next >= r->next);
    r->next = next;
    if (name[0] == 'o')
        r->seen[atoi(name + 1)]++;
    return 0;
}

static void touch_in(struct ext_inode *dir, const char *name)
{
    struct ext_inode *i;

    CHECK_EQ(ext_create(dir, name, strlen(name), VREG, 0644, 0, 0, 0, NULL, &i), 0);
    ext_iput(i);
}

/*
 * Names that stay are read exactly once while others are made and removed, in directories from a list of one block to
 * an index of two levels.
 */
TEST(reading_beside_changes)
{
    static const unsigned versions[] = {0, 1, 2}; /* legacy, half MD4, TEA */

    for (unsigned k = 0; k < 9; k++) {
        unsigned olds = (unsigned[]){10, 300, 1200}[k % 3], more = 0;
        struct disk *d = make_disk("ext3", k < 6 ? 1024 : 4096, 32768, "-N 8000");
        struct ext_fs *fs = mounted(d);
        struct reader r = {.next = 0, .any = true};
        struct ext_inode *dir, *i;
        char name[80];

        fs->sb->def_hash_version = (uint8_t)versions[k / 3];
        CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
        CHECK_EQ(host_path(fs, "/d", &dir), 0);
        for (unsigned n = 0; n < olds; n++) {
            snprintf(name, sizeof name, "o%u-aaaaaaaaaaaaaaaaaaaa", n);
            touch_in(dir, name);
        }
        for (unsigned piece = 0; r.any; piece++) {
            r.any = false;
            r.left = 7;
            CHECK_EQ(ext_readdir(dir, r.next, take_name, &r), 0);
            for (unsigned n = 0; n < 20 && more < 2500; n++, more++) {
                snprintf(name, sizeof name, "n%u-bbbbbbbbbbbbbbbbbbbbbbbb", more);
                touch_in(dir, name);
            }
            snprintf(name, sizeof name, "n%u-bbbbbbbbbbbbbbbbbbbbbbbb", piece * 3);
            if (piece * 3 < more && ext_lookup(dir, name, strlen(name), &i) == 0) {
                CHECK_EQ(ext_unlink(dir, name, strlen(name), i), 0);
                ext_iput(i);
            }
        }
        for (unsigned n = 0; n < olds; n++)
            if (r.seen[n] != 1)
                check_fail(__FILE__, __LINE__, "round %u: name %u was read %u times", k, n,
                           r.seen[n]);
        ext_iput(dir);
        unmount(fs);
        fsck(d);
        host_disk_close(d);
    }
    CHECK_EQ(host_kmem, 0);
}

static int count_name(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
                      uint64_t next)
{
    struct reader *r = arg;

    if (r->left == 0)
        return 1;
    r->left--;
    r->next = next;
    r->any = true;
    r->seen[0]++;
    return 0;
}

/* Names with the same hash, more than a reader takes at a time.  The plain hash makes them easy to find. */
TEST(reading_names_of_one_hash)
{
    static const struct {
        const char *head, *tail;
    } names[] = {{"0000013", "De`L"}, {"0000038", "7A%}"}, {"0000042", "p<A!"},
                 {"0000056", "xZLV"}, {"0000062", "b7!,"}, {"0000090", "Lr+l"},
                 {"0000099", "SaOJ"}, {"0000250", "Bh>o"}};
    struct disk *d = make_disk("ext3", 1024, 8192, "");
    struct ext_fs *fs = mounted(d);
    struct reader r = {.next = 0, .any = true};
    struct ext_inode *dir;
    char name[256];
    uint32_t hash = 0;

    fs->sb->def_hash_version = HASH_LEGACY;
    CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
    CHECK_EQ(host_path(fs, "/d", &dir), 0);
    memset(name, 'x', 255);
    name[255] = '\0';
    for (unsigned k = 0; k < array_size(names); k++) {
        memcpy(name, names[k].head, 7);
        memcpy(name + 251, names[k].tail, 4);
        if (k == 0)
            hash = ext_hash(fs->sb, HASH_LEGACY, name, 255, NULL);
        CHECK_EQ(ext_hash(fs->sb, HASH_LEGACY, name, 255, NULL), hash);
        touch_in(dir, name);
    }
    while (r.any && r.seen[0] < 100) {
        r.any = false;
        r.left = 3;
        CHECK_EQ(ext_readdir(dir, r.next, count_name, &r), 0);
    }
    CHECK_EQ(r.seen[0], array_size(names) + 2);
    ext_iput(dir);
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/* An index that leads to one block again and again is not followed for ever, and a name is not returned that often. */
TEST(reading_made_up_directories)
{
    for (unsigned k = 0; k < 2; k++) {
        struct disk *d = make_disk("ext3", 4096, 8192, "");
        struct ext_fs *fs = mounted(d);
        struct ext_inode *dir;
        struct dx_entry *v;
        struct ext_dirent *e;
        unsigned n = 0;
        char name[80];
        struct buf *b;

        CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
        CHECK_EQ(host_path(fs, "/d", &dir), 0);
        for (unsigned i = 0; i < (k == 0 ? 200 : 10); i++) {
            snprintf(name, sizeof name, "%03u-and-this-is-the-rest-of-the-name", i);
            touch_in(dir, name);
        }
        CHECK_EQ(ext_dir_read(dir, 0, &b), 0);
        if (k == 0) {
            v = (struct dx_entry *)(b->data + DX_ROOT_OFFSET + sizeof(struct dx_info));
            ((uint16_t *)v)[1] = *(uint16_t *)v; /* the count is equal to the limit */
            for (uint32_t i = 1; i < *(uint16_t *)v; i++)
                v[i] = (struct dx_entry){i << 1 | 1, v[0].block};
        } else {
            for (uint32_t at = 0; (e = dirent_at(fs, b->data, at)) != NULL; at += e->rec_len)
                if (e->name_len > 2)
                    memcpy(e->name, "000", 3);
        }
        buf_put(b);
        CHECK_EQ(ext_readdir(dir, 0, count_one, &n), -EUCLEAN);
        CHECK(fs->failed);
        ext_iput(dir);
        host_unmount(fs);
        host_disk_close(d);
    }
    CHECK_EQ(host_kmem, 0);
}

TEST(sparse_and_large_files)
{
    static const uint64_t offs[] = {0,          13 << 10,   300 << 10, 70ull << 20, 2200ull << 20,
                                    5ull << 30, 15ull << 30};
    char buf[16];

    for (unsigned bs = 1024; bs <= 4096; bs *= 2) {
        struct disk *d = make_disk("ext3", bs, 8192, "");
        struct ext_fs *fs = mounted(d);
        struct ext_inode *i;

        CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
        for (unsigned k = 0; k < 7; k++)
            CHECK_EQ(put(fs, "/f", "0123456789", 10, offs[k] - (k != 0 ? 5 : 0)), 10);
        CHECK_EQ(put(fs, "/f", "x", 1, 1ull << 42), -EFBIG);
        unmount(fs);
        fsck(d);
        fs = mounted(d);
        for (unsigned k = 1; k < 7; k++) {
            CHECK_EQ(get(fs, "/f", buf, 12, offs[k] - 5), k == 6 ? 10 : 12);
            CHECK(memcmp(buf, "0123456789\0\0", k == 6 ? 10 : 12) == 0);
            CHECK_EQ(get(fs, "/f", buf, 10, offs[k] - 5000), 10);
            CHECK(memcmp(buf, "\0\0\0\0\0\0\0\0\0\0", 10) == 0);
        }
        CHECK_EQ(host_path(fs, "/f", &i), 0);
        for (unsigned k = 6; k > 0; k--) {
            CHECK_EQ(host_truncate(i, offs[k]), 0);
            CHECK_EQ(ext_sync(fs), 0);
        }
        CHECK_EQ(host_truncate(i, 0), 0);
        CHECK_EQ(i->nsectors, 0);
        ext_iput(i);
        unmount(fs);
        fsck(d);
        host_disk_close(d);
    }
    CHECK_EQ(host_kmem, 0);
}

/* The disk is filled three times.  Deleted blocks and inodes can be used again at once, and nothing is lost. */
TEST(full_disk)
{
    static char block[40000];
    struct disk *d = make_disk("ext3", 1024, 6144, "");
    struct ext_fs *fs = mounted(d);
    char name[40];
    unsigned total = 0;

    memset(block, 'z', sizeof block);
    CHECK_EQ(make(fs, "/keep", VREG, NULL), 0);
    CHECK_EQ(put(fs, "/keep", block, 30000, 0), 30000);
    for (unsigned round = 0; round < 3; round++) {
        unsigned n = 0;
        long r = 0;

        while (r >= 0) {
            snprintf(name, sizeof name, "/f%u", n);
            r = make(fs, name, VREG, NULL);
            if (r == 0) {
                n++;
                r = put(fs, name, block, sizeof block, 0);
            }
        }
        CHECK_EQ(r, -ENOSPC);
        CHECK(n > 50);
        if (round != 0)
            CHECK_EQ(n, total);
        total = n;
        CHECK_EQ(ext_sync(fs), 0);
        CHECK_EQ(size_of(fs, "/keep"), 30000);
        while (n-- != 0) {
            snprintf(name, sizeof name, "/f%u", n);
            CHECK_EQ(rm(fs, name), 0);
        }
    }
    for (unsigned n = 0;; n++) { /* no inode left */
        int err;

        snprintf(name, sizeof name, "/i%u", n);
        if ((err = make(fs, name, VREG, NULL)) != 0) {
            CHECK_EQ(err, -ENOSPC);
            break;
        }
    }
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

TEST(open_files_without_a_name)
{
    struct disk *d = make_disk("ext3", 4096, 16384, ""), *after;
    struct ext_fs *fs = mounted(d);
    struct ext_inode *i[3];
    char block[9000], name[10];
    int64_t was = fs->free_blocks;

    memset(block, 1, sizeof block);
    for (unsigned k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "/o%u", k);
        CHECK_EQ(make(fs, name, VREG, NULL), 0);
        CHECK_EQ(put(fs, name, block, sizeof block, 300000 * k), sizeof block);
        CHECK_EQ(host_path(fs, name, &i[k]), 0);
        CHECK_EQ(rm(fs, name), 0);
    }
    ext_iput(i[1]); /* from the middle of the list */
    CHECK_EQ(host_read(i[2], block, 10, 600000), 10);
    CHECK_EQ(ext_sync(fs), 0);
    after = host_disk_mem(d->mem, d->sectors * SECTOR_SIZE); /* the power fails */
    ext_iput(i[0]);
    ext_iput(i[2]);
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    fs = mounted(after);
    CHECK_EQ(fs->free_blocks, was);
    CHECK_EQ(fs->sb->last_orphan, 0);
    unmount(fs);
    fsck(after);
    host_disk_close(after);
    CHECK_EQ(host_kmem, 0);
}

/* A directory in which another thread is changing entries is found, and gets another parent. */
TEST(parent_beside_changes)
{
    struct disk *d = make_disk("ext3", 1024, 8192, "");
    struct ext_fs *fs = mounted(d);
    struct ext_inode *dir;
    struct ext_dirent *e;
    uint16_t len;
    struct buf *b;

    CHECK_EQ(make(fs, "/a", VDIR, NULL), 0);
    CHECK_EQ(make(fs, "/b", VDIR, NULL), 0);
    CHECK_EQ(make(fs, "/a/dir", VDIR, NULL), 0);
    CHECK_EQ(make(fs, "/a/dir/x", VREG, NULL), 0);
    CHECK_EQ(host_path(fs, "/a/dir", &dir), 0);
    CHECK_EQ(ext_dir_read(dir, 0, &b), 0);
    e = dirblock_dotdot(fs, b);
    e = (struct ext_dirent *)((uint8_t *)e + e->rec_len);
    len = e->rec_len;
    e->rec_len = 0; /* the other thread is making an index */
    atomic_fetch_and(&b->flags, ~(uint32_t)BUF_CHECKED);
    dir->parent = 0;
    ext_iput(dir);
    CHECK_EQ(mv(fs, "/a/dir", "/b/dir"), 0);
    CHECK_EQ(fs->failed, false);
    e->rec_len = len;
    buf_put(b);
    CHECK_EQ(get(fs, "/b/dir/x", &len, 1, 0), 0);
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/*
 * When the disk is asked for a block, and has none, another thread removes the other name of the file that is getting a
 * name.
 */
static struct ext_fs *beside;

static bool unlink_beside(void)
{
    struct ext_fs *fs = beside;

    beside = NULL;
    if (fs != NULL)
        CHECK_EQ(rm(fs, "/d2/name"), 0);
    return false;
}

TEST(link_fails_beside_an_unlink)
{
    struct disk *d = make_disk("ext3", 1024, 8192, "-m 0");
    struct ext_fs *fs = mounted(d);
    struct ext_inode *i;
    int64_t was = fs->free_inodes;
    uint32_t reserved = fs->sb->r_blocks_count;
    char name[32];
    int err = 0;

    CHECK_EQ(make(fs, "/d1", VDIR, NULL), 0);
    CHECK_EQ(make(fs, "/d2", VDIR, NULL), 0);
    CHECK_EQ(make(fs, "/d2/name", VREG, NULL), 0);
    CHECK_EQ(make(fs, "/other", VREG, NULL), 0);
    beside = fs;
    host_privileged = unlink_beside;
    for (int n = 0; err == 0; n++) { /* until the directory needs another block */
        fs->sb->r_blocks_count = fs->blocks;
        snprintf(name, sizeof name, "/d1/%d", n);
        err = ln(fs, "/d2/name", name);
        fs->sb->r_blocks_count = reserved;
        if (err == 0)
            CHECK_EQ(rm(fs, name), 0);
        if (err == 0)
            CHECK_EQ(ln(fs, "/other", name), 0);
    }
    host_privileged = NULL;
    CHECK_EQ(err, -ENOSPC);
    CHECK(beside == NULL);
    CHECK_EQ(get(fs, "/d2/name", &err, 1, 0), -ENOENT);
    CHECK_EQ(fs->free_inodes, was - 3);
    CHECK_EQ(fs->sb->last_orphan, 0);
    CHECK_EQ(host_path(fs, "/other", &i), 0);
    ext_iput(i);
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

static struct ext_inode *cut_file;

/* Called when the blocks of the file that is being cut are free, and it is about to leave the orphan list. */
static void unlink_cut_file(void)
{
    if (!cut_file->orphaned || cut_file->nsectors != 0 || cut_file->map_lock.l.word != 0)
        return;
    host_before_mutex = NULL;
    CHECK_EQ(rm(cut_file->fs, "/f"), 0);
}

/*
 * An open file loses its name at the end of its truncation.  It stays an orphan, and the last close frees its blocks.
 */
TEST(truncate_beside_an_unlink)
{
    static char bytes[5000];
    struct disk *d = make_disk("ext3", 1024, 8192, "");
    struct ext_fs *fs = mounted(d);
    int64_t was = fs->free_inodes;

    CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
    CHECK_EQ(put(fs, "/f", bytes, sizeof bytes, 0), sizeof bytes);
    CHECK_EQ(host_path(fs, "/f", &cut_file), 0);
    host_before_mutex = unlink_cut_file;
    CHECK_EQ(host_truncate(cut_file, 0), 0);
    CHECK(host_before_mutex == NULL && cut_file->vn.nlink == 0);
    CHECK(ext_orphans_used(fs));
    CHECK_EQ(fs->sb->last_orphan, cut_file->vn.ino);
    ext_iput(cut_file);
    CHECK_EQ(fs->free_inodes, was);
    CHECK_EQ(fs->sb->last_orphan, 0);
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/*
 * A block that belongs to a directory and is also a file's block of pointers: after the file changes it, the directory
 * checks it again.
 */
TEST(directory_block_is_pointers_too)
{
    struct disk *d = make_disk("ext3", 1024, 8192, "-N 256 -O ^dir_index,^resize_inode");
    struct ext_fs *fs = mounted(d);
    struct ext_inode *dir, *file, *i;
    struct ext_dirent *e;
    uint32_t pblk, n;
    struct buf *b;
    char name[32];

    CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
    CHECK_EQ(make(fs, "/file", VREG, NULL), 0);
    CHECK_EQ(host_path(fs, "/d", &dir), 0);
    CHECK_EQ(host_path(fs, "/file", &file), 0);
    for (unsigned k = 0; dir->vn.size < 2048; k++) {
        snprintf(name, sizeof name, "name_number_%03u", k);
        touch_in(dir, name);
    }
    /* one name, and a free record, whose length is pointer 129 */
    CHECK_EQ(ext_dir_read(dir, 1, &b), 0);
    e = (struct ext_dirent *)b->data;
    e->rec_len = 512;
    memset(b->data + 512, 0, 512);
    e = (struct ext_dirent *)(b->data + 512);
    e->rec_len = 512;
    CHECK_EQ(ext_map(dir, 1, 1, &pblk, &n), 0);
    file->block[EXT_NDIR] = pblk;
    file->vn.size = (EXT_NDIR + 256) * 1024;
    file->nsectors = 4;
    CHECK_EQ(ext_lookup(dir, "nothing", 7, &i), -ENOENT);
    CHECK_EQ(ext_truncate(file, (EXT_NDIR + 129) * 1024), 0);
    CHECK_EQ(e->rec_len, 0);
    CHECK_EQ(ext_lookup(dir, "nothing", 7, &i), -EUCLEAN);
    CHECK(fs->failed);
    buf_put(b);
    ext_iput(file);
    ext_iput(dir);
    host_unmount(fs);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/*
 * Fills the directory /d with names until it needs a block that is not available; `name` is the one that does not fit.
 */
static void fill_names(struct ext_fs *fs, char *name, unsigned *k)
{
    int err;

    do
        snprintf(name, 256, "/d/%0240u", (*k)++);
    while ((err = ln(fs, "/one", name)) == 0);
    CHECK_EQ(err, -ENOSPC);
}

/* The same, after the disk has been filled. */
static void fill_all(struct ext_fs *fs, char *name, unsigned *k)
{
    static char bytes[1024];
    struct ext_inode *i;

    CHECK_EQ(host_path(fs, "/fill", &i), 0);
    for (unsigned again = 0; again < 2; again++) {
        while (host_write(i, bytes, sizeof bytes, i->vn.size) > 0)
            ;
        CHECK_EQ(ext_sync(fs), 0);
    }
    ext_iput(i);
    fill_names(fs, name, k);
}

/*
 * Blocks that were deleted just now are available for a new name: a link and a rename commit and try again, as a new
 * file does.
 */
TEST(room_for_names_after_a_deletion)
{
    struct disk *d = make_disk("ext3", 1024, 6144, "-m 0");
    struct ext_fs *fs = mounted(d);
    static char bytes[20000];
    char name[256];
    unsigned k = 0;

    CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
    for (unsigned n = 0; n < 5; n++)
        CHECK_EQ(
            make(fs, (const char *[]){"/one", "/two", "/fill", "/gone1", "/gone2"}[n], VREG, NULL),
            0);
    CHECK_EQ(put(fs, "/gone1", bytes, sizeof bytes, 0), sizeof bytes);
    CHECK_EQ(put(fs, "/gone2", bytes, sizeof bytes, 0), sizeof bytes);
    fill_all(fs, name, &k);
    CHECK_EQ(rm(fs, "/gone1"), 0);
    CHECK_EQ(ln(fs, "/one", name), 0);
    fill_all(fs, name, &k);
    CHECK_EQ(rm(fs, "/gone2"), 0);
    CHECK_EQ(mv(fs, "/two", name), 0);
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/* The index gets a second level, and then there is no block of entries for the name: the new level is on the disk. */
TEST(index_grows_on_a_full_disk)
{
    struct disk *d = make_disk("ext3", 1024, 6144, "-m 0");
    struct ext_fs *fs = mounted(d);
    struct ext_inode *dir, *fill;
    unsigned k = 0, levels = 0;
    char name[256];
    struct buf *b;

    CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
    CHECK_EQ(make(fs, "/one", VREG, NULL), 0);
    CHECK_EQ(make(fs, "/fill", VREG, NULL), 0);
    CHECK_EQ(host_path(fs, "/d", &dir), 0);
    CHECK_EQ(host_path(fs, "/fill", &fill), 0);
    fill_all(fs, name, &k);
    while (levels == 0) { /* one more block, and again the name that did not fit */
        k--;
        CHECK_EQ(host_truncate(fill, fill->vn.size - 1024), 0);
        CHECK_EQ(ext_sync(fs), 0);
        fill_names(fs, name, &k);
        CHECK_EQ(ext_dir_read(dir, 0, &b), 0);
        if (dir->flags & EXT_FL_INDEX)
            levels = ((struct dx_info *)(b->data + DX_ROOT_OFFSET))->levels;
        buf_put(b);
    }
    /* the root, 124 blocks of entries, and the new block of the index */
    CHECK_EQ(dir->vn.size >> 10, 126);
    CHECK_EQ(((struct ext_dinode *)(dir->ibuf->data + dir->ioff))->size, dir->vn.size);
    ext_iput(fill);
    ext_iput(dir);
    unmount(fs);
    fsck(d);
    fs = mounted(d);
    for (k--; k-- != 0;) {
        snprintf(name, sizeof name, "/d/%0240u", k);
        CHECK_EQ(get(fs, name, name, 1, 0), 0);
    }
    unmount(fs);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/* Unknown features of each kind. */
TEST(features)
{
    struct disk *d = make_disk("ext4", 4096, 16384, "");
    struct ext_fs *fs;
    struct ext_super *s;

    CHECK_EQ(host_mount(d, false, &fs), -EOPNOTSUPP);
    CHECK(strstr(host_reason, "extent") != NULL);
    host_disk_close(d);
    d = make_disk("ext3", 4096, 16384, "");
    s = (struct ext_super *)(d->mem + 1024);
    s->incompat |= 0x80000000;
    CHECK_EQ(host_mount(d, false, &fs), -EOPNOTSUPP);
    s->incompat &= ~0x80000000;
    s->ro_compat |= 0x10; /* uninit_bg */
    CHECK_EQ(host_mount(d, false, &fs), 0);
    CHECK(fs->rdonly);
    CHECK(strstr(host_warning, "uninit_bg") != NULL);
    CHECK_EQ(make(fs, "/x", VREG, NULL), -EROFS);
    CHECK_EQ(ext_writable(fs), -EROFS);
    CHECK_EQ(host_unmount(fs), 0);
    s->ro_compat &= ~0x10;
    s->compat |= 0x80000000; /* an unknown compatible feature is accepted */
    CHECK_EQ(host_mount(d, false, &fs), 0);
    CHECK(!fs->rdonly);
    unmount(fs);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/* ---- journals written by other programs, and our journals replayed by other programs ---- */

TEST(replays_debugfs_journals)
{
    static uint8_t buf[4096], want[4096];
    struct disk *d = make_disk("ext3", 4096, 16384, ""), *m;
    struct ext_fs *fs;
    uint32_t free_block = 3000;

    /* Two transactions: both write the block; the second also revokes another block that the first wrote. */
    save(d->mem, d->sectors * SECTOR_SIZE);
    host_disk_close(d);
    CHECK_EQ(run("head -c 8192 /dev/urandom > " DIR_PATH
                 "/data && head -c 4096 /dev/urandom > " DIR_PATH "/data2"),
             0);
    CHECK_EQ(run("printf 'jo\\njw -b %u,%u " DIR_PATH "/data\\njw -b %u -r %u " DIR_PATH
                 "/data2\\njc\\n' |"
                 "debugfs -w -f - %s >/dev/null 2>&1",
                 free_block, free_block + 1, free_block, free_block + 1, image),
             0);
    m = host_disk_open(image, false);
    d = host_disk_mem(m->mem, m->sectors * SECTOR_SIZE);
    host_disk_close(m);
    memcpy(buf, d->mem + 4096ul * (free_block + 1), 4096);
    fs = mounted(d);
    CHECK(fs->n_replayed >= 2);
    FILE *f = fopen(DIR_PATH "/data2", "rb");
    CHECK_EQ(fread(want, 1, 4096, f), 4096);
    fclose(f);
    CHECK(memcmp(d->mem + 4096ul * free_block, want, 4096) == 0);
    /* the revoked block is unchanged */
    CHECK(memcmp(d->mem + 4096ul * (free_block + 1), buf, 4096) == 0);
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/* A data block that begins like a block of the journal is restored unchanged. */
TEST(escapes_magic)
{
    struct disk *d = make_disk("ext3", 1024, 8192, ""), *after;
    struct ext_fs *fs = mounted(d);
    uint32_t start, got, magic = be32(JBD_MAGIC);
    struct handle h;
    struct buf *b;

    CHECK_EQ(jnl_start(fs, 10, &h), 0);
    CHECK_EQ(ext_balloc(&h, 0, 0, 1, &start, &got), 0);
    CHECK_EQ(buf_new(fs, start, &b), 0);
    jnl_access(&h, b);
    memcpy(b->data, &magic, 4);
    memcpy(b->data + 4, "rest", 4);
    buf_put(b);
    jnl_stop(&h);
    CHECK_EQ(jnl_commit_all(fs), 0);
    after = host_disk_mem(d->mem, d->sectors * SECTOR_SIZE);
    CHECK(memcmp(after->mem + 1024ul * start, &magic, 4) != 0); /* not yet at its place */
    unmount(fs);
    host_disk_close(d);
    fs = mounted(after);
    CHECK(memcmp(after->mem + 1024ul * start, &magic, 4) == 0);
    CHECK(memcmp(after->mem + 1024ul * start + 4, "rest", 4) == 0);
    unmount(fs);
    host_disk_close(after);
    CHECK_EQ(host_kmem, 0);
}

/* ---- random work ---- */

#define NAMES 40

static void random_name(char *name, size_t size)
{
    static const char *const dirs[] = {"", "/da", "/db", "/da/dc"};

    snprintf(name, size, "%s/n%u", dirs[check_below(4)], (unsigned)check_below(NAMES));
}

static void random_change(struct ext_fs *fs)
{
    static char data[20000];
    char a[64], b[64];
    struct ext_inode *i;

    random_name(a, sizeof a);
    random_name(b, sizeof b);
    switch (check_below(12)) {
    case 0:
    case 1:
    case 2:
        make(fs, a, VREG, NULL);
        break;
    case 3:
        make(fs, a, check_below(2) ? VDIR : VLNK,
             "somewhere/else/that/is/longer/than/what/an/inode/has/room/for");
        break;
    case 4:
    case 5:
        rm(fs, a);
        break;
    case 6:
        mv(fs, a, b);
        break;
    case 7:
        ln(fs, a, b);
        break;
    case 8:
    case 9:
    case 10:
        if (host_path(fs, a, &i) == 0) {
            memset(data, (int)check_below(256), sizeof data);
            if (i->vn.type == VREG)
                host_write(i, data, check_below(sizeof data),
                           check_below(8) ? check_below(40000) : check_below(3u << 20));
            ext_iput(i);
        }
        break;
    case 11:
        if (host_path(fs, a, &i) == 0) {
            if (i->vn.type == VREG)
                host_truncate(i, check_below(60000));
            ext_iput(i);
        }
        break;
    }
}

static void make_random_dirs(struct ext_fs *fs)
{
    CHECK_EQ(make(fs, "/da", VDIR, NULL), 0);
    CHECK_EQ(make(fs, "/db", VDIR, NULL), 0);
    CHECK_EQ(make(fs, "/da/dc", VDIR, NULL), 0);
}

TEST(random_changes)
{
    for (unsigned k = 0; k < 6; k++) {
        struct disk *d = make_disk(k < 3 ? "ext3" : "ext2", 1024u << k % 3, 12288, "-N 512");
        struct ext_fs *fs = mounted(d);

        make_random_dirs(fs);
        for (unsigned n = 0; n < 4000; n++) {
            random_change(fs);
            if (check_below(100) == 0)
                CHECK_EQ(ext_sync(fs), 0);
            if (check_below(1500) == 0) {
                unmount(fs);
                fsck(d);
                fs = mounted(d);
            }
        }
        unmount(fs);
        fsck(d);
        host_disk_close(d);
    }
    CHECK_EQ(host_kmem, 0);
}

/* What fsync promised: the content of one file that grows and is overwritten, as a number. */
struct promise {
    size_t at; /* the number of recorded writes and flushes when the promise was given */
    uint64_t number;
};

/*
 * Rebuilds the disk after `cut` recorded writes.  With `drop`, each write since the last flush is kept with probability
 * 1/2.
 */
static void rebuild(uint8_t *mem, const struct disk *d, size_t cut, bool drop)
{
    size_t flushed = 0;

    for (size_t k = 0; k < cut; k++)
        if (d->log[k].n == 0)
            flushed = k;
    for (size_t k = 0; k < cut; k++)
        if (d->log[k].n != 0 && (k < flushed || !drop || check_below(2)))
            memcpy(mem + d->log[k].sector * SECTOR_SIZE, d->log[k].data,
                   (size_t)d->log[k].n * SECTOR_SIZE);
}

static void check_cut(const struct disk *d, const uint8_t *base, size_t cut,
                      const struct promise *p, unsigned np, bool drop, bool by_e2fsck)
{
    size_t bytes = d->sectors * SECTOR_SIZE;
    struct disk *after = host_disk_mem(base, bytes);
    uint64_t number = 0, least = 0;
    struct ext_fs *fs;

    rebuild(after->mem, d, cut, drop);
    if (by_e2fsck) { /* e2fsck replays our journal */
        save(after->mem, bytes);
        CHECK(run("e2fsck -fy %s >/dev/null 2>&1", image) != -1);
        CHECK_EQ(run("e2fsck -fn %s >/dev/null 2>&1", image), 0);
        unlink(image);
    }
    fs = mounted(after);
    for (unsigned k = 0; k < np && p[k].at <= cut; k++)
        least = p[k].number;
    if (least != 0) {
        CHECK_EQ(get(fs, "/promise", &number, 8, 0), 8);
        CHECK(number >= least);
        /* every number was appended, too */
        CHECK_EQ(get(fs, "/promise", &number, 8, least * 8), 8);
        CHECK_EQ(number, least);
    }
    unmount(fs);
    fsck(after);
    host_disk_close(after);
}

/* One of a few allocations fails, and then memory is freed: no call reports an error. */
TEST(short_memory)
{
    for (unsigned k = 0; k < 3; k++) {
        struct disk *d = make_disk("ext3", 1024u << k, 8192, "");
        struct ext_fs *fs = mounted(d);
        struct ext_inode *i;
        static char data[40000];

        make_random_dirs(fs);
        host_waits = 0;
        host_alloc_fails = 3;
        for (unsigned n = 0; n < 400; n++) {
            random_change(fs);
            if (n % 100 == 99) {
                CHECK_EQ(make(fs, "/big", VREG, NULL), 0);
                for (unsigned at = 0; at < 3000000; at += 300000)
                    CHECK_EQ(put(fs, "/big", data, sizeof data, at), sizeof data);
                CHECK_EQ(host_path(fs, "/big", &i), 0);
                CHECK_EQ(host_truncate(i, 500000), 0);
                ext_iput(i);
                CHECK_EQ(ext_sync(fs), 0);
                CHECK_EQ(rm(fs, "/big"), 0);
            }
        }
        CHECK_EQ(ext_sync(fs), 0);
        host_alloc_fails = 0;
        CHECK(host_waits > 0);
        unmount(fs);
        fsck(d);
        host_disk_close(d);
    }
    CHECK_EQ(host_kmem, 0);
}

/*
 * A commit waits for the bytes of a file that got new blocks, or that become visible by a new size, and for no others.
 */
TEST(ordered_bytes)
{
    static const struct {
        unsigned n;
        uint64_t at, from, to; /* a write; the range to wait for, to == 0: none */
    } step[] = {
        {16384, 0, 0, 16384},       /* new blocks */
        {8192, 4096, 0, 0},         /* over existing bytes */
        {100, 16384, 16384, 20480}, /* a new block */
        {50, 16484, 16484, 16534},  /* longer, in that block */
        /* a new block beyond a hole: what the new size shows begins at the old end */
        {4096, 40960, 16534, 45056},
        {4096, 24576, 24576, 28672}, /* into the hole */
        {45056, 0, 20480, 40960},    /* into the rest of the hole */
        {10000, 10000, 0, 0},
    };
    static uint8_t bytes[45056];
    struct disk *d = make_disk("ext3", 4096, 65536, "");
    struct ext_fs *fs = mounted(d);
    struct ext_inode *i;

    CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
    CHECK_EQ(ext_sync(fs), 0);
    for (unsigned k = 0; k < sizeof step / sizeof step[0]; k++) {
        host_ordered = 0;
        CHECK_EQ(put(fs, "/f", bytes, step[k].n, step[k].at), step[k].n);
        CHECK_EQ(ext_sync(fs), 0);
        CHECK_EQ(host_ordered, step[k].to != 0);
        if (step[k].to != 0) {
            CHECK_EQ(host_ordered_from, step[k].from);
            CHECK_EQ(host_ordered_to, step[k].to);
        }
    }
    host_ordered = 0;
    CHECK_EQ(host_path(fs, "/f", &i), 0);
    CHECK_EQ(host_truncate(i, 5000), 0);
    ext_iput(i);
    CHECK_EQ(ext_sync(fs), 0);
    CHECK_EQ(host_ordered, 1);
    CHECK_EQ(host_ordered_from, 5000); /* the zeros beyond the end are on its page */
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/* fsync of an inode that has left memory since it was changed commits the change. */
TEST(fsync_after_eviction)
{
    struct disk *d = make_disk("ext3", 1024, 8192, ""), *after;
    struct ext_fs *fs = mounted(d);
    struct ext_inode *i;
    struct handle h;

    CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
    CHECK_EQ(ext_sync(fs), 0);
    CHECK_EQ(host_path(fs, "/f", &i), 0);
    CHECK_EQ(jnl_start(fs, 2, &h), 0);
    i->vn.mode = 0600;
    ext_iwrite(&h, i);
    jnl_stop(&h);
    ext_iput(i);
    icache_drop(fs);
    CHECK_EQ(host_path(fs, "/f", &i), 0);
    CHECK_EQ(i->vn.mode, 0600);
    CHECK_EQ(jnl_sync(fs, i->tid), 0);
    ext_iput(i);
    after = host_disk_mem(d->mem, d->sectors * SECTOR_SIZE); /* the power is cut */
    unmount(fs);
    host_disk_close(d);
    fs = mounted(after);
    CHECK_EQ(host_path(fs, "/f", &i), 0);
    CHECK_EQ(i->vn.mode, 0600);
    ext_iput(i);
    unmount(fs);
    host_disk_close(after);
    CHECK_EQ(host_kmem, 0);
}

static struct ext_inode *grown;
static unsigned looks;

/* A thread that calls fsync now finds the change: the inode is dirty, or in a transaction that will be committed. */
static void look_at_grown(void)
{
    looks++;
    CHECK(grown->dirty || !jnl_committed(grown->fs, grown->tid));
}

/* Also a thread that calls fdatasync: the size is not yet in the table, or in a transaction that will be committed. */
static void look_at_size(void)
{
    looks++;
    CHECK(grown->vn.size != grown->disksize || !jnl_committed(grown->fs, grown->tid));
}

/* While another thread is writing the inode of a file to the table, fsync of the file waits for the same commit. */
TEST(fsync_beside_another)
{
    static uint8_t bytes[200];
    struct disk *d = make_disk("ext3", 1024, 8192, "");
    struct ext_fs *fs = mounted(d);
    struct handle h;

    CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
    CHECK_EQ(put(fs, "/f", bytes, 100, 0), 100);
    CHECK_EQ(ext_sync(fs), 0);
    CHECK_EQ(put(fs, "/f", bytes, 200, 100), 200); /* longer, in its present block */
    CHECK_EQ(host_path(fs, "/f", &grown), 0);
    CHECK(grown->dirty && jnl_committed(fs, grown->tid));
    host_before_mutex = look_at_grown;
    CHECK_EQ(ext_iflush_one(grown), 0);
    host_before_mutex = NULL;
    CHECK(looks >= 2 && !grown->dirty);
    CHECK_EQ(ext_sync(fs), 0);
    CHECK_EQ(put(fs, "/f", bytes, 200, 300), 200);
    CHECK_EQ(jnl_start(fs, 2, &h), 0);
    looks = 0;
    host_before_mutex = look_at_size;
    ext_iwrite(&h, grown); /* as chmod does */
    host_before_mutex = NULL;
    CHECK(looks >= 2);
    jnl_stop(&h);
    ext_iput(grown);
    unmount(fs);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/* The error that was recorded on the disk is still there after a replay has restored an older superblock. */
TEST(error_outlives_replay)
{
    struct disk *d = make_disk("ext3", 1024, 8192, ""), *after;
    struct ext_fs *fs = mounted(d);
    struct ext_inode *i;

    CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
    CHECK_EQ(host_path(fs, "/f", &i), 0);
    CHECK_EQ(rm(fs, "/f"), 0); /* makes an orphan, so the superblock is in the log */
    CHECK_EQ(ext_sync(fs), 0);
    fs->errors = EXT_ERRORS_RO;
    ext_error(fs, "not really");
    CHECK_EQ(fs->rdonly, true);
    after = host_disk_mem(d->mem, d->sectors * SECTOR_SIZE);
    ext_iput(i);
    host_unmount(fs);
    host_disk_close(d);
    /* the second mount, without a replay, keeps it, too */
    for (unsigned k = 0; k < 2; k++) {
        fs = mounted(after);
        CHECK(fs->sb->state & EXT_STATE_ERROR);
        CHECK(!jnl_has_error(fs));
        unmount(fs);
    }
    CHECK(((struct ext_super *)(after->mem + EXT_SUPER_OFFSET))->state & EXT_STATE_ERROR);
    host_disk_close(after);
    CHECK_EQ(host_kmem, 0);
}

static void change_again(void)
{
    CHECK(++looks < 1000);
    ext_idirty(grown);
}

/* A sync ends although an inode changes as fast as it is written.  What was changed before the sync is written, too. */
TEST(sync_beside_changes)
{
    static uint8_t bytes[200];
    struct disk *d = make_disk("ext3", 1024, 8192, "");
    struct ext_fs *fs = mounted(d);
    struct ext_inode *other;

    CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
    CHECK_EQ(make(fs, "/g", VREG, NULL), 0);
    CHECK_EQ(put(fs, "/f", bytes, 100, 0), 100);
    CHECK_EQ(put(fs, "/g", bytes, 100, 0), 100);
    CHECK_EQ(host_path(fs, "/f", &grown), 0);
    CHECK_EQ(host_path(fs, "/g", &other), 0);
    CHECK(grown->dirty && other->dirty);
    looks = 0;
    host_before_mutex = change_again;
    CHECK_EQ(ext_sync(fs), 0);
    host_before_mutex = NULL;
    CHECK(grown->dirty && !other->dirty && jnl_committed(fs, other->tid));
    ext_iput(other);
    ext_iput(grown);
    CHECK_EQ(ext_sync(fs), 0);
    CHECK_EQ(fs->ndirty, 0);
    unmount(fs);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/* A directory with more blocks than one transaction may revoke can be removed. */
TEST(long_directory_goes)
{
    struct disk *d = make_disk("ext3", 1024, 32768, "");
    struct ext_fs *fs = mounted(d);
    struct ext_inode *dir;
    struct handle h;
    struct buf *b;
    uint32_t lblk;
    uint64_t commits;

    CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
    CHECK_EQ(host_path(fs, "/d", &dir), 0);
    for (unsigned n = 0; n < 6000; n++) {
        CHECK_EQ(jnl_start(fs, 2 + ext_map_credits(fs, 1), &h), 0);
        CHECK_EQ(ext_dir_append(&h, dir, &b, &lblk), 0);
        buf_put(b);
        ext_iwrite(&h, dir);
        jnl_stop(&h);
    }
    ext_iput(dir);
    unmount(fs);
    fs = mounted(d); /* no block is in the log */
    commits = fs->n_commits;
    CHECK_EQ(rm(fs, "/d"), 0);
    CHECK_EQ(ext_sync(fs), 0);
    CHECK(fs->n_commits - commits >= 3);
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

/*
 * The disk fails while a file is deleted or cut.  The work is completed when the disk works again, or else by the next
 * mount.
 */
TEST(unfinished_work)
{
    static char data[300000];

    for (unsigned k = 0; k < 4; k++) {
        bool cut = (k & 1) != 0, heals = (k & 2) != 0;
        struct disk *d = make_disk("ext3", 1024, 8192, "");
        struct ext_fs *fs = mounted(d);
        struct ext_inode *i;
        int64_t before, all;

        CHECK_EQ(make(fs, "/other", VREG, NULL), 0);
        before = fs->free_blocks;
        CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
        CHECK_EQ(put(fs, "/f", data, sizeof data, 0), sizeof data);
        all = fs->free_blocks;
        unmount(fs);
        fs = mounted(d); /* its pointers are not in memory */
        CHECK_EQ(make(fs, "/second", VREG, NULL), 0);
        CHECK_EQ(rm(fs, "/second"), 0);
        CHECK_EQ(ext_sync(fs), 0);
        CHECK_EQ(host_path(fs, "/f", &i), 0);
        if (!cut)
            CHECK_EQ(rm(fs, "/f"), 0);
        d->fail_after = 0;
        if (cut)
            CHECK_EQ(host_truncate(i, 0), -EIO);
        ext_iput(i);
        CHECK_EQ(fs->rdonly, false);
        CHECK(fs->free_blocks - all < 20);
        CHECK(fs->sb->last_orphan != 0);
        d->fail_after = -1;
        if (heals) {
            CHECK_EQ(ext_sync(fs), 0);
            CHECK_EQ(fs->sb->last_orphan, 0);
            CHECK_EQ(fs->free_blocks, before);
            unmount(fs);
        } else { /* the power fails before the second try */
            struct disk *after;

            CHECK_EQ(jnl_commit_all(fs), 0);
            after = host_disk_mem(d->mem, d->sectors * SECTOR_SIZE);
            unmount(fs);
            host_disk_close(d);
            d = after;
            fs = mounted(d);
            CHECK_EQ(fs->free_blocks, before);
            unmount(fs);
        }
        fsck(d);
        host_disk_close(d);
    }
    CHECK_EQ(host_kmem, 0);
}

/* An inode of 128 bytes has no room for a time after January 2038, or for nanoseconds. */
TEST(old_inodes_times)
{
    static const int64_t year_2100 = 4102444800, year_1800 = -5364662400;

    for (unsigned size = 128; size <= 256; size *= 2) {
        struct disk *d = make_disk("ext3", 1024, 8192, size == 128 ? "-I 128" : "-I 256");
        struct ext_fs *fs = mounted(d);
        struct ext_inode *i;

        CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
        CHECK_EQ(host_path(fs, "/f", &i), 0);
        i->vn.mtime_ns = year_2100 * 1000000000;
        i->vn.atime_ns = year_1800 * 1000000000;
        ext_idirty(i);
        ext_iput(i);
        unmount(fs);
        fs = mounted(d);
        CHECK_EQ(host_path(fs, "/f", &i), 0);
        CHECK_EQ(i->vn.mtime_ns / 1000000000, size == 128 ? INT32_MAX : year_2100);
        CHECK_EQ(i->vn.atime_ns / 1000000000, INT32_MIN);
        ext_iput(i);
        unmount(fs);
        fsck(d);
        host_disk_close(d);
    }
    CHECK_EQ(host_kmem, 0);
}

static struct disk *cut_from, *cut_off;

/* Called when a file is being cut and its pages are about to be dropped: commits everything, and cuts the power. */
static void cut_power(struct ext_inode *i, uint64_t size)
{
    CHECK_EQ(jnl_commit_all(i->fs), 0);
    CHECK_EQ(i->otxn, NULL);
    if (cut_off == NULL)
        cut_off = host_disk_mem(cut_from->mem, cut_from->sectors * SECTOR_SIZE);
}

/* A commit comes between the new size of a file and the release of its blocks: the file is in the orphan list. */
TEST(cut_in_the_middle)
{
    static char data[300000];

    for (uint64_t size = 0; size < 300000; size += 99999) {
        struct disk *d = make_disk("ext3", 1024, 8192, "");
        struct ext_fs *fs = mounted(d);
        struct ext_inode *i;

        CHECK_EQ(make(fs, "/f", VREG, NULL), 0);
        CHECK_EQ(put(fs, "/f", data, sizeof data, 0), sizeof data);
        CHECK_EQ(ext_sync(fs), 0);
        CHECK_EQ(host_path(fs, "/f", &i), 0);
        cut_from = d;
        host_dropping = cut_power;
        CHECK_EQ(host_truncate(i, size), 0);
        host_dropping = NULL;
        CHECK(cut_off != NULL);
        ext_iput(i);
        unmount(fs);
        fsck(d);
        host_disk_close(d);
        fs = mounted(cut_off);
        CHECK_EQ(size_of(fs, "/f"), size);
        unmount(fs);
        fsck(cut_off);
        host_disk_close(cut_off);
        cut_off = NULL;
    }
    CHECK_EQ(host_kmem, 0);
}

/* Files that are made and removed in one transaction leave no revoke record, and need no commit to free space. */
TEST(short_lives)
{
    struct disk *d = make_disk("ext3", 4096, 65536, "");
    struct ext_fs *fs = mounted(d);
    uint64_t commits, revokes;

    CHECK_EQ(ext_sync(fs), 0);
    commits = fs->n_commits;
    revokes = fs->n_revokes;
    for (unsigned n = 0; n < 5000; n++) {
        CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
        CHECK_EQ(rm(fs, "/d"), 0);
    }
    CHECK_EQ(fs->n_commits, commits);
    CHECK_EQ(fs->n_revokes, revokes);
    /* an older copy of its block in the log must not be restored */
    for (unsigned placed = 0; placed < 2; placed++) {
        CHECK_EQ(make(fs, "/d", VDIR, NULL), 0);
        CHECK_EQ(ext_sync(fs), 0);
        if (placed)
            CHECK_EQ(jnl_checkpoint(fs->jnl), 0);
        CHECK_EQ(make(fs, "/d/x", VREG, NULL), 0);
        CHECK_EQ(rm(fs, "/d/x"), 0);
        CHECK_EQ(rm(fs, "/d"), 0);
        CHECK_EQ(fs->n_revokes, ++revokes);
    }
    unmount(fs);
    fsck(d);
    host_disk_close(d);
    CHECK_EQ(host_kmem, 0);
}

TEST(power_cuts)
{
    for (unsigned round = 0; round < 3; round++) {
        struct disk *d = make_disk("ext3", 1024u << round, 12288, "-N 512 -J size=4");
        size_t bytes = d->sectors * SECTOR_SIZE;
        struct promise p[400];
        uint64_t number = 0;
        unsigned np = 0;
        struct ext_inode *i;
        uint8_t *base;
        struct ext_fs *fs = mounted(d);

        make_random_dirs(fs);
        CHECK_EQ(make(fs, "/promise", VREG, NULL), 0);
        CHECK_EQ(ext_sync(fs), 0);
        base = malloc(bytes);
        memcpy(base, d->mem, bytes);
        d->record = true;
        for (unsigned n = 0; n < 3000; n++) {
            random_change(fs);
            if (n % 10 == 0) {
                number++;
                CHECK_EQ(put(fs, "/promise", &number, 8, 0), 8);
                CHECK_EQ(put(fs, "/promise", &number, 8, number * 8), 8);
                CHECK_EQ(host_path(fs, "/promise", &i), 0);
                CHECK_EQ(ext_iflush_one(i), 0);
                CHECK_EQ(jnl_commit(fs, i->tid), 0);
                ext_iput(i);
                p[np++] = (struct promise){d->nlog, number};
            }
        }
        d->record = false;
        for (unsigned k = 0; k < 60; k++)
            check_cut(d, base, check_below(d->nlog + 1), p, np, k % 3 != 0, k % 6 == 5);
        CHECK_EQ(ext_sync(fs), 0);
        unmount(fs);
        fsck(d);
        host_disk_close(d);
        free(base);
    }
    CHECK_EQ(host_kmem, 0);
}

/* The disk fails after a few thousand accesses: errors, but no crash; all that was acknowledged before is there. */
TEST(failing_disk)
{
    for (unsigned k = 0; k < 30; k++) {
        struct disk *d = make_disk("ext3", 1024, 8192, "-N 256");
        struct ext_fs *fs = mounted(d);

        make_random_dirs(fs);
        CHECK_EQ(ext_sync(fs), 0);
        d->fail_after = (long)check_below(3000);
        for (unsigned n = 0; n < 800; n++) {
            random_change(fs);
            if (check_below(50) == 0)
                ext_sync(fs);
        }
        host_unmount(fs);
        d->fail_after = -1;
        host_disk_close(d);
    }
}
