// SPDX-License-Identifier: MIT
/*
 * test_fs.c - names, directories, file data, descriptors and pipes on a host: the kernel's own code.
 *
 * The random tests compare file data with a plain array, and check what is left after random changes of names.
 */
#include "ipc/ipc.h"
#include "vfs/file.h"

#include <string.h>

#include "fs/initramfs/initramfs.h"
#include "fs/tmpfs/tmpfs.h"
#include "fs/root.h"
#include "lib/errno.h"
#include "tests/host/check.h"

static struct cred root = {.refs = 1},
                   user = {.refs = 1, .uid = 1000, .euid = 1000, .fsuid = 1000, .fsgid = 1000};
static struct fs_ctx ctx;
const struct cred *proc_cred(void)
{
    return ctx.cred;
}
uint64_t proc_fsize_limit(void)
{
    return UINT64_MAX;
}

bool proc_is_ending(void)
{
    return false;
}

void proc_signal_self(int sig)
{
    host_signals++;
}

/* A look-up that waits for a umount (vfs_cross): does not occur with one thread. */
void cv_wait_spin(struct cv *cv, struct spinlock *l, const char *what)
{
    check_fail(__FILE__, __LINE__, "waits for %s", what);
}

static void start(void)
{
    static bool done;

    ctx.cred = &root;
    if (!done) {
        fs_init();
        pipe_init();
        CHECK_EQ(fs_mount_root(NULL, 0, NULL, 0), 0);
        done = true;
    }
    ctx = (struct fs_ctx){vfs_root, vfs_root, &root};
    host_page_limit = host_fault_after = -1;
}

static int mk(const char *path, enum vtype type, uint32_t mode)
{
    return name_create(&ctx, NULL, path, type, mode, 0, type == VLNK ? "x" : NULL);
}

static int ln(const char *target, const char *path)
{
    return name_create(&ctx, NULL, path, VLNK, 0777, 0, target);
}

static struct file *opened(const char *path, int flags)
{
    struct file *f = NULL;

    CHECK_EQ(file_open(&ctx, NULL, path, flags, 0644, &f), 0);
    return f;
}

static int open_error(const char *path, int flags)
{
    struct file *f;
    int err = file_open(&ctx, NULL, path, flags, 0644, &f);

    if (err == 0)
        file_release(f);
    return err;
}

static long put(struct file *f, const void *data, size_t n, loff_t off)
{
    struct iovec one;
    struct uio uio;

    uio_init_kernel(&uio, &one, (void *)(uintptr_t)data, n, UIO_WRITE);
    return file_write(f, &uio, off);
}

static long take(struct file *f, void *data, size_t n, loff_t off)
{
    struct iovec one;
    struct uio uio;

    uio_init_kernel(&uio, &one, data, n, UIO_READ);
    return file_read(f, &uio, off);
}

static struct vattr attr(const char *path)
{
    struct vnode *vn;
    struct vattr va;

    CHECK_EQ(name_lookup(&ctx, NULL, path, 0, &vn), 0);
    vn_getattr(vn, &va);
    vn_release(vn);
    return va;
}

static int resize(const char *path, uint64_t size)
{
    struct vattr va = {.size = size};
    struct vnode *vn;
    int err = name_lookup(&ctx, NULL, path, NAME_FOLLOW, &vn);

    if (err == 0) {
        err = vn_setattr(vn, VA_SIZE, &va, ctx.cred, false);
        vn_release(vn);
    }
    return err;
}

static unsigned nsyncs;

static int count_sync(struct vfs *vfs, bool data)
{
    nsyncs++;
    return 0;
}

static int mount_counted(const char *source, const char *options, unsigned flags, struct vfs **out)
{
    static struct vfs_ops ops;
    int err = tmpfs_mount(source, options, flags, out);

    if (err == 0) {
        ops = *(*out)->op;
        ops.sync = count_sync;
        (*out)->op = &ops;
    }
    return err;
}

/*
 * sync() needs no path: it also writes a file system that is mounted on a directory whose path is too long to be
 * returned.
 */
TEST(sync_without_a_path)
{
    static struct vfs_type counted = {.name = "counted", .mount = mount_counted};
    struct vnode *dir;
    char name[251];

    start();
    vfs_register_type(&counted);
    memset(name, 'd', 250);
    name[250] = '\0';
    vn_hold(ctx.cwd);
    for (unsigned k = 0; k < 20; k++) {
        CHECK_EQ(mk(name, VDIR, 0755), 0);
        CHECK_EQ(name_lookup(&ctx, NULL, name, 0, &dir), 0);
        vn_release(ctx.cwd);
        ctx.cwd = dir;
    }
    CHECK_EQ(vfs_mount(dir, "counted", "none", "", 0), 0);
    nsyncs = 0;
    vfs_sync_all();
    CHECK_EQ(nsyncs, 1);
    for (unsigned k = 0; k < 20; k++) {
        CHECK_EQ(name_lookup(&ctx, NULL, "..", 0, &dir), 0);
        vn_release(ctx.cwd);
        ctx.cwd = dir;
        if (k == 0) {
            CHECK_EQ(name_lookup(&ctx, NULL, name, 0, &dir), 0);
            CHECK_EQ(vfs_unmount(dir, 0), 0);
        }
        CHECK_EQ(name_unlink(&ctx, NULL, name, true), 0);
    }
    vn_release(ctx.cwd);
    ctx.cwd = vfs_root;
}

TEST(names)
{
    struct vnode *vn;
    char buf[64];

    start();
    CHECK_EQ(mk("/n", VDIR, 0755), 0);
    CHECK_EQ(mk("/n/", VDIR, 0755), -EEXIST);
    CHECK_EQ(mk("/n/a/b", VDIR, 0755), -ENOENT);
    CHECK_EQ(mk("/n/a/", VDIR, 0755), 0);
    CHECK_EQ(mk("/n/f", VREG, 0644), 0);
    CHECK_EQ(mk("/n/f/x", VREG, 0644), -ENOTDIR);
    CHECK_EQ(mk("/n/g/", VREG, 0644), -ENOENT);
    CHECK_EQ(mk("/", VDIR, 0755), -EEXIST);
    CHECK_EQ(mk("/n/..", VDIR, 0755), -EEXIST);
    CHECK_EQ(mk("", VDIR, 0755), -ENOENT);
    CHECK_EQ(attr("/n").nlink, 3);

    CHECK_EQ(ln("n/a", "/rel"), 0);
    CHECK_EQ(ln("/n/../n/./a", "/abs"), 0);
    CHECK_EQ(ln("loop2", "/loop1"), 0);
    CHECK_EQ(ln("loop1", "/loop2"), 0);
    CHECK_EQ(mk("/rel/deep", VDIR, 0755), 0);
    CHECK_EQ(name_lookup(&ctx, NULL, "/abs/deep/../../a//deep/.", 0, &vn), 0);
    CHECK_EQ(name_of(&ctx, vn, buf, sizeof buf), 9);
    CHECK(strcmp(buf, "/n/a/deep") == 0);
    CHECK_EQ(name_of(&ctx, vn, buf, 9), -ERANGE);
    vn_release(vn);
    CHECK_EQ(name_lookup(&ctx, NULL, "/loop1", NAME_FOLLOW, &vn), -ELOOP);
    CHECK_EQ(name_lookup(&ctx, NULL, "/loop1", 0, &vn), 0);
    vn_release(vn);
    CHECK_EQ(name_lookup(&ctx, NULL, "/n/f/", 0, &vn), -ENOTDIR);
    CHECK_EQ(name_lookup(&ctx, NULL, "/rel/", 0, &vn), 0);
    CHECK_EQ(vn->type, VDIR);
    vn_release(vn);
    CHECK_EQ(name_of(&ctx, vfs_root, buf, sizeof buf), 1);
    CHECK(strcmp(buf, "/") == 0);

    CHECK_EQ(name_unlink(&ctx, NULL, "/n", true), -ENOTEMPTY);
    CHECK_EQ(name_unlink(&ctx, NULL, "/n/a", false), -EISDIR);
    CHECK_EQ(name_unlink(&ctx, NULL, "/n/f", true), -ENOTDIR);
    CHECK_EQ(name_unlink(&ctx, NULL, "/n/f/", false), -ENOTDIR);
    CHECK_EQ(name_unlink(&ctx, NULL, "/n/a/.", true), -EINVAL);
    CHECK_EQ(name_unlink(&ctx, NULL, "/n/f", false), 0);
    CHECK_EQ(name_unlink(&ctx, NULL, "/n/a/deep", true), 0);
    CHECK_EQ(name_unlink(&ctx, NULL, "/n/a", true), 0);
    CHECK_EQ(attr("/n").nlink, 2);
    CHECK_EQ(name_unlink(&ctx, NULL, "/n/", true), 0);
    for (unsigned i = 0; i < 4; i++)
        CHECK_EQ(
            name_unlink(&ctx, NULL, (const char *[]){"/rel", "/abs", "/loop1", "/loop2"}[i], false),
            0);
}

TEST(removed_directory)
{
    struct vnode *dir;
    char buf[64];

    start();
    CHECK_EQ(mk("/gone", VDIR, 0755), 0);
    CHECK_EQ(name_lookup(&ctx, NULL, "/gone", 0, &dir), 0);
    CHECK_EQ(name_unlink(&ctx, NULL, "/gone", true), 0);
    CHECK_EQ(name_create(&ctx, dir, "x", VREG, 0644, 0, NULL), -ENOENT);
    CHECK_EQ(name_of(&ctx, dir, buf, sizeof buf), -ENOENT);
    vn_release(dir);
}

TEST(rename)
{
    start();
    CHECK_EQ(mk("/r", VDIR, 0755), 0);
    CHECK_EQ(mk("/r/a", VDIR, 0755), 0);
    CHECK_EQ(mk("/r/a/b", VDIR, 0755), 0);
    CHECK_EQ(mk("/r/f", VREG, 0644), 0);
    CHECK_EQ(mk("/r/g", VREG, 0644), 0);
    CHECK_EQ(name_rename(&ctx, NULL, "/r/a", NULL, "/r/a/b/c", 0), -EINVAL);
    CHECK_EQ(name_rename(&ctx, NULL, "/r/a/b", NULL, "/r/a", 0), -ENOTEMPTY);
    CHECK_EQ(name_rename(&ctx, NULL, "/r/f", NULL, "/r/a", 0), -EISDIR);
    CHECK_EQ(name_rename(&ctx, NULL, "/r/a", NULL, "/r/f", 0), -ENOTDIR);
    CHECK_EQ(name_rename(&ctx, NULL, "/r/f", NULL, "/r/g", RENAME_NOREPLACE), -EEXIST);
    CHECK_EQ(name_rename(&ctx, NULL, "/r/none", NULL, "/r/g", 0), -ENOENT);
    uint64_t ino = attr("/r/f").ino;

    CHECK_EQ(name_rename(&ctx, NULL, "/r/f", NULL, "/r/g", 0), 0);
    CHECK_EQ(attr("/r/g").ino, ino);
    CHECK_EQ(open_error("/r/f", O_RDONLY), -ENOENT);
    CHECK_EQ(name_rename(&ctx, NULL, "/r/a/b", NULL, "/r/b", 0), 0);
    CHECK_EQ(attr("/r/a").nlink, 2);
    CHECK_EQ(attr("/r").nlink, 4);
    CHECK_EQ(name_rename(&ctx, NULL, "/r/a", NULL, "/r/b", 0), 0); /* onto an empty directory */
    CHECK_EQ(attr("/r").nlink, 3);
    CHECK_EQ(name_rename(&ctx, NULL, "/r/g", NULL, "/r/b/g", 0), 0);
    CHECK_EQ(name_unlink(&ctx, NULL, "/r/b/g", false), 0);
    CHECK_EQ(name_unlink(&ctx, NULL, "/r/b", true), 0);
    CHECK_EQ(name_unlink(&ctx, NULL, "/r", true), 0);
}

TEST(permissions)
{
    struct vattr va = {.mode = 0777};
    struct vnode *vn;

    start();
    CHECK_EQ(mk("/p", VDIR, 01777), 0);
    CHECK_EQ(mk("/p/closed", VDIR, 0700), 0);
    CHECK_EQ(mk("/p/closed/f", VREG, 0644), 0);
    CHECK_EQ(mk("/p/rootfile", VREG, 0600), 0);
    CHECK_EQ(mk("/p/suid", VREG, 04777), 0);
    CHECK_EQ(mk("/p/noexec", VREG, 0644), 0);
    CHECK_EQ(name_lookup(&ctx, NULL, "/p/noexec", 0, &vn), 0);
    CHECK_EQ(vn_access(vn, 1, &root), -EACCES);
    CHECK_EQ(vn_access(vn, 6, &root), 0);
    vn_release(vn);
    ctx.cred = &user;
    CHECK_EQ(open_error("/p/closed/f", O_RDONLY), -EACCES);
    CHECK_EQ(open_error("/p/rootfile", O_RDONLY), -EACCES);
    CHECK_EQ(name_unlink(&ctx, NULL, "/p/rootfile", false), -EPERM); /* sticky */
    CHECK_EQ(name_rename(&ctx, NULL, "/p/rootfile", NULL, "/p/mine", 0), -EPERM);
    CHECK_EQ(mk("/mine", VREG, 0644), -EACCES);
    CHECK_EQ(mk("/p", VDIR, 0755), -EEXIST);
    CHECK_EQ(mk("/p/mine", VREG, 0644), 0);
    CHECK_EQ(attr("/p/mine").uid, 1000);
    CHECK_EQ(name_create(&ctx, NULL, "/p/dev", VCHR, 0666, 259, NULL), -EPERM);
    CHECK_EQ(name_lookup(&ctx, NULL, "/p/suid", 0, &vn), 0);
    CHECK_EQ(vn_setattr(vn, VA_MODE, &va, &user, false), -EPERM);
    vn_release(vn);
    struct file *f = opened("/p/suid", O_WRONLY);

    CHECK_EQ(put(f, "x", 1, -1), 1);
    file_release(f);
    CHECK_EQ(attr("/p/suid").mode, 0777); /* the write has cleared the bit */
    CHECK_EQ(name_unlink(&ctx, NULL, "/p/mine", false), 0);
    ctx.cred = &root;
    CHECK_EQ(name_unlink(&ctx, NULL, "/p/closed/f", false), 0);
    CHECK_EQ(name_unlink(&ctx, NULL, "/p/closed", true), 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(name_unlink(&ctx, NULL, (const char *[]){"/p/rootfile", "/p/suid", "/p/noexec"}[i],
                             false),
                 0);
    CHECK_EQ(name_unlink(&ctx, NULL, "/p", true), 0);
}

TEST(open_flags)
{
    struct file *f;
    char buf[8];

    start();
    CHECK_EQ(open_error("/o", O_RDONLY), -ENOENT);
    CHECK_EQ(open_error("/o", O_WRONLY | O_CREAT | O_EXCL), 0);
    CHECK_EQ(open_error("/o", O_WRONLY | O_CREAT | O_EXCL), -EEXIST);
    CHECK_EQ(open_error("/o/", O_WRONLY | O_CREAT), -EISDIR);
    CHECK_EQ(open_error("/o/", O_RDONLY), -ENOTDIR);
    CHECK_EQ(open_error("/", O_WRONLY), -EISDIR);
    CHECK_EQ(open_error("/o", O_RDONLY | O_DIRECTORY), -ENOTDIR);
    CHECK_EQ(ln("target", "/dangling"), 0);
    CHECK_EQ(open_error("/dangling", O_RDONLY), -ENOENT);
    CHECK_EQ(open_error("/dangling", O_RDONLY | O_NOFOLLOW), -ELOOP);
    CHECK_EQ(open_error("/dangling", O_WRONLY | O_CREAT | O_EXCL), -EEXIST);
    /* makes the file that the link names */
    CHECK_EQ(open_error("/dangling", O_WRONLY | O_CREAT), 0);
    CHECK_EQ(attr("/target").type, VREG);
    f = opened("/o", O_WRONLY);
    CHECK_EQ(put(f, "12345", 5, -1), 5);
    CHECK_EQ(take(f, buf, 1, -1), -EBADF);
    file_release(f);
    f = opened("/o", O_RDWR | O_APPEND);
    CHECK_EQ(put(f, "67", 2, -1), 2);
    CHECK_EQ(f->off, 7);
    CHECK_EQ(take(f, buf, 8, 0), 7);
    CHECK(memcmp(buf, "1234567", 7) == 0);
    CHECK_EQ(file_seek(f, -2, 2), 5);
    CHECK_EQ(take(f, buf, 8, -1), 2);
    CHECK_EQ(file_seek(f, -1, 0), -EINVAL);
    file_release(f);
    f = opened("/o", O_PATH);
    CHECK_EQ(take(f, buf, 1, -1), -EBADF);
    file_release(f);
    CHECK_EQ(open_error("/o", O_RDWR | O_TRUNC), 0);
    CHECK_EQ(attr("/o").size, 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(name_unlink(&ctx, NULL, (const char *[]){"/o", "/target", "/dangling"}[i], false),
                 0);
}

TEST(data)
{
    static uint8_t big[5 * 4096], back[8 * 4096];
    long pages;
    struct file *f;

    start();
    pages = host_pages;
    memset(big, 7, sizeof big);
    f = opened("/d", O_RDWR | O_CREAT);
    CHECK_EQ(put(f, big, sizeof big, 4096 * 2 + 100), (long)sizeof big);
    CHECK_EQ(host_pages - pages, 6); /* the hole before it needs no pages */
    CHECK_EQ(take(f, back, sizeof back, 0), 4096 * 7 + 100);
    for (size_t i = 0; i < 4096 * 7 + 100; i++)
        CHECK(back[i] == (i < 4096 * 2 + 100 ? 0 : 7));
    /* after shrinking in the middle of a page and growing again there must be zeros */
    CHECK_EQ(resize("/d", 4096 * 3 + 10), 0);
    CHECK_EQ(host_pages - pages, 2);
    CHECK_EQ(resize("/d", 4096 * 5), 0);
    CHECK_EQ(take(f, back, sizeof back, 0), 4096 * 5);
    for (size_t i = 4096 * 2 + 100; i < 4096 * 5; i++)
        CHECK(back[i] == (i < 4096 * 3 + 10 ? 7 : 0));
    CHECK_EQ(vn_fallocate(f->vn, FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE, 4096 * 2 + 200, 4096), 0);
    CHECK_EQ(take(f, back, 4096, 4096 * 2 + 150), 4096);
    CHECK(back[49] == 7 && back[50] == 0 && back[4095] == 0);
    CHECK_EQ(vn_fallocate(f->vn, 0, 0, 4096 * 6), 0);
    CHECK_EQ(host_pages - pages, 6);
    CHECK_EQ(attr("/d").size, 4096 * 6);
    CHECK_EQ(name_unlink(&ctx, NULL, "/d", false), 0);
    CHECK_EQ(take(f, back, 1, 4096 * 2 + 120), 1); /* an unlinked file exists while it is open */
    CHECK(back[0] == 7);
    file_release(f);
    CHECK_EQ(host_pages, pages);
}

TEST(faults_and_no_space)
{
    static uint8_t big[3 * 4096], back[4 * 4096];
    long pages;
    struct file *f;

    start();
    pages = host_pages;
    memset(big, 9, sizeof big);
    f = opened("/e", O_RDWR | O_CREAT);
    host_fault_after = 4096 + 50;
    CHECK_EQ(put(f, big, sizeof big, 0), 4096 + 50);
    host_fault_after = 0;
    CHECK_EQ(put(f, big, sizeof big, 4096 * 4), -EFAULT);
    host_fault_after = -1;
    CHECK_EQ(attr("/e").size, 4096 + 50);
    CHECK_EQ(resize("/e", sizeof back), 0); /* the old contents of the frames must not appear */
    CHECK_EQ(take(f, back, sizeof back, 0), (long)sizeof back);
    for (size_t i = 0; i < sizeof back; i++)
        CHECK(back[i] == (i < 4096 + 50 ? 9 : 0));
    host_page_limit = pages + 3;
    CHECK_EQ(put(f, big, sizeof big, 4096 * 4), 4096);
    CHECK_EQ(put(f, big, sizeof big, 4096 * 5), -ENOMEM);
    host_page_limit = -1;
    host_spare_pages = 0; /* programs have reserved the rest */
    CHECK_EQ(put(f, big, sizeof big, 4096 * 5), -ENOSPC);
    host_spare_pages = UINT64_MAX;
    CHECK_EQ(attr("/e").size, 4096 * 5);
    for (loff_t off = 0;; off += 4096) { /* half of the 2000 pages of this machine */
        long n = put(f, big, 4096, off);

        if (n == -ENOSPC) {
            CHECK_EQ(off, 1000 * 4096);
            break;
        }
        CHECK_EQ(n, 4096);
    }
    CHECK_EQ(resize("/e", 0), 0);
    CHECK_EQ(put(f, big, 4096, 0), 4096); /* there is space again */
    pages = host_pages;
    CHECK_EQ(vn_fallocate(f->vn, 0, 0, 1ll << 50), -ENOSPC);
    CHECK_EQ(vn_fallocate(f->vn, 0, 0, 1005 * 4096), -ENOSPC);
    CHECK_EQ(host_pages, pages); /* refused before any page was allocated */
    pages--;
    file_release(f);
    CHECK_EQ(name_unlink(&ctx, NULL, "/e", false), 0);
    CHECK_EQ(host_pages, pages);
}

/* Random reads, writes, sizes and holes compared with an array. */
TEST(random_data)
{
    enum { MAX = 40000 };
    static uint8_t model[MAX], buf[MAX];
    uint64_t size = 0;
    struct file *f;

    start();
    memset(model, 0, sizeof model);
    f = opened("/rnd", O_RDWR | O_CREAT);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t off = check_below(MAX), n = check_below(check_below(4) == 0 ? MAX : 5000), end;
        long got;

        n = n > MAX - off ? MAX - off : n;
        end = off + n;
        switch (check_below(6)) {
        case 0:
        case 1:
            if (n == 0)
                break;
            memset(buf, (int)(1 + check_below(255)), n);
            host_fault_after = check_below(5) == 0 ? (long)check_below(n) : -1;
            got = put(f, buf, n, (loff_t)off);
            if (host_fault_after == 0 && got == -EFAULT)
                got = 0;
            host_fault_after = -1;
            CHECK(got >= 0 && got <= (long)n);
            memcpy(model + off, buf, (size_t)got);
            if (got > 0 && off + (uint64_t)got > size)
                size = off + (uint64_t)got;
            break;
        case 2:
            CHECK_EQ(resize("/rnd", off), 0);
            if (off < size)
                memset(model + off, 0, size - off);
            size = off;
            break;
        case 3:
            if (n == 0)
                break;
            CHECK_EQ(
                vn_fallocate(f->vn, FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE, (loff_t)off, (loff_t)n),
                0);
            memset(model + off, 0, n);
            break;
        case 4:
            if (n == 0)
                break;
            CHECK_EQ(vn_fallocate(f->vn, 0, (loff_t)off, (loff_t)n), 0);
            size = end > size ? end : size;
            break;
        case 5:
            got = take(f, buf, n, (loff_t)off);
            CHECK_EQ(got, off >= size ? 0 : n < size - off ? n : size - off);
            CHECK(memcmp(buf, model + off, (size_t)got) == 0);
            break;
        }
        CHECK_EQ(attr("/rnd").size, size);
    }
    file_release(f);
    CHECK_EQ(name_unlink(&ctx, NULL, "/rnd", false), 0);
}

/* Writes an archive member.  Returns the place of the next one. */
static size_t member(uint8_t *p, size_t at, const char *name, unsigned mode, unsigned ino,
                     unsigned nlink, const char *data)
{
    size_t n = strlen(name) + 1, size = strlen(data);

    at += (size_t)sprintf((char *)p + at,
                          "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", ino, mode,
                          5, 6, nlink, 1000, (unsigned)size, 0, 0, 0, 0, (unsigned)n, 0);
    memcpy(p + at, name, n);
    at = (at + n + 3) & ~(size_t)3;
    memcpy(p + at, data, size);
    return (at + size + 3) & ~(size_t)3;
}

TEST(initramfs)
{
    static uint8_t ar[4096];
    struct file *f;
    char buf[32];
    size_t n = 0;

    start();
    n = member(ar, n, "i", 040750, 1, 2, "");
    n = member(ar, n, "i/new/deep/f", 0100640, 2, 1, "first");
    n = member(ar, n, "i/l", 0120777, 3, 1, "new/deep");
    n = member(ar, n, "i/h1", 0100644, 4, 2, "");
    n = member(ar, n, "i/h2", 0100644, 4, 2, "both");
    n = member(ar, n, "TRAILER!!!", 0, 0, 1, "");
    CHECK_EQ(initramfs_unpack("one", ar, n), 0);
    CHECK_EQ(attr("/i").mode, 0750);
    CHECK_EQ(attr("/i/new/deep/f").uid, 5);
    CHECK_EQ(attr("/i/new/deep/f").mtime.sec, 1000);
    CHECK_EQ(attr("/i/h1").ino, attr("/i/h2").ino);
    f = opened("/i/h1", O_RDONLY);
    CHECK_EQ(take(f, buf, 32, 0), 4);
    file_release(f);
    memset(ar, 0, sizeof ar);
    n = member(ar, 0, "i/l/f", 0100600, 2, 1, "second, through a link"); /* an overlay */
    n = member(ar, n, "i/h1", 0120777, 3, 1, "h2");
    n = member(ar, n, "i/../etc", 0120777, 3, 1, "x");
    n = member(ar, n, "i/after", 0100600, 3, 1, "x");
    CHECK_EQ(initramfs_unpack("two (expected)", ar, n), -EINVAL);
    f = opened("/i/new/deep/f", O_RDONLY);
    CHECK_EQ(take(f, buf, 32, 0), 22);
    file_release(f);
    CHECK_EQ(attr("/i/h1").type, VLNK);
    CHECK_EQ(attr("/i/h2").nlink, 1);
    CHECK_EQ(open_error("/i/after", O_RDONLY), -ENOENT);
}

struct seen {
    unsigned n, stop_after;
    uint64_t last;
    uint8_t times[600];
};

static int see(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
               uint64_t next)
{
    struct seen *s = arg;
    unsigned k = 0;

    if (s->n == s->stop_after)
        return 1;
    CHECK(next > s->last);
    s->last = next;
    if (name[0] == 'f') {
        for (size_t i = 1; i < len; i++)
            k = k * 10 + (unsigned)(name[i] - '0');
        s->times[k]++;
    }
    s->n++;
    return 0;
}

TEST(readdir_while_it_changes)
{
    struct seen s = {0};
    struct file *f;
    char path[32];

    start();
    CHECK_EQ(mk("/rd", VDIR, 0755), 0);
    for (unsigned i = 0; i < 500; i++) {
        sprintf(path, "/rd/f%u", i);
        CHECK_EQ(mk(path, VREG, 0644), 0);
    }
    f = opened("/rd", O_RDONLY | O_DIRECTORY);
    for (unsigned k = 0; k < 600; k++) {
        unsigned before = s.n;

        s.stop_after = s.n + 7;
        CHECK_EQ(file_readdir(f, see, &s), 0);
        if (s.n == before)
            break;
        /* removes one that was shown and one that may not have been; makes a new one */
        if (k < 100) {
            sprintf(path, "/rd/f%u", k);
            CHECK_EQ(name_unlink(&ctx, NULL, path, false), 0);
            sprintf(path, "/rd/f%u", 500 + k);
            CHECK_EQ(mk(path, VREG, 0644), 0);
        }
    }
    for (unsigned i = 100; i < 500; i++)
        CHECK_EQ(s.times[i], 1); /* those that existed all the time are shown once each */
    file_release(f);
    for (unsigned i = 0; i < 600; i++) {
        sprintf(path, "/rd/f%u", i);
        name_unlink(&ctx, NULL, path, false);
    }
    CHECK_EQ(name_unlink(&ctx, NULL, "/rd", true), 0);
}

TEST(descriptors)
{
    struct fdtable *t, *u;
    struct file *f, *g;

    start();
    t = fdtable_create();
    for (int i = 0; i < 300; i++)
        CHECK_EQ(fd_install(t, opened("/", O_RDONLY), 0, (unsigned)i & 1, 300), i);
    CHECK_EQ(fd_install(t, f = opened("/", O_RDONLY), 0, 0, 300), -EMFILE);
    CHECK_EQ(fd_close(t, 77), 0);
    CHECK_EQ(fd_close(t, 3), 0);
    CHECK_EQ(fd_close(t, 3), -EBADF);
    CHECK(fd_get(t, 3) == NULL && fd_get(t, -1) == NULL && fd_get(t, 100000) == NULL);
    CHECK_EQ(fd_install(t, f, 5, 0, 300), 77);
    CHECK_EQ(fd_install(t, opened("/", O_RDONLY), 0, 0, 300), 3);
    u = fdtable_copy(t);
    CHECK_EQ(fd_get_flags(u, 1), FD_CLOEXEC);
    fdtable_close_on_exec(u);
    CHECK_EQ(fd_get_flags(u, 1), -EBADF);
    CHECK_EQ(fd_next(u, 0), 0);
    CHECK_EQ(fd_next(u, 1), 2);
    CHECK_EQ(fd_next(u, 299), -1);
    g = fd_get(t, 0);
    CHECK_EQ(fd_install_at(t, g, 500, 0), 500);
    CHECK(fd_get(t, 500) == g);
    file_release(g);
    fdtable_release(t);
    fdtable_release(u);
}

TEST(pipes)
{
    static char big[70000], back[70000];
    enum { FIONREAD = 0x541b };
    struct file *r, *w;
    int n = 0;

    start();
    CHECK_EQ(pipe_create(&r, &w, O_NONBLOCK), 0);
    CHECK_EQ(take(r, back, 1, -1), -EAGAIN);
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)(i * 7 + i / 256);
    CHECK_EQ(put(w, big, 60000, -1), 60000);
    CHECK_EQ(put(w, big, 4096, -1), 4096);
    CHECK_EQ(put(w, big, 4096, -1), -EAGAIN); /* all or nothing up to PIPE_BUF */
    CHECK_EQ(put(w, big, 5000, -1), 65536 - 64096);
    CHECK_EQ(r->ops->ioctl(r, FIONREAD, (uintptr_t)&n), 0);
    CHECK_EQ(n, 65536);
    CHECK_EQ(take(r, back, 60000, -1), 60000);
    CHECK(memcmp(big, back, 60000) == 0);
    CHECK_EQ(put(w, big, 30000, -1), 30000); /* wraps around the end of the buffer */
    CHECK_EQ(take(r, back, 70000, -1), 5536 + 30000);
    CHECK(memcmp(back + 5536, big, 30000) == 0);
    CHECK_EQ(r->ops->poll(r, NULL), 0);
    CHECK_EQ(put(w, big, 1, -1), 1);
    CHECK_EQ(r->ops->poll(r, NULL), POLLIN | POLLRDNORM);
    file_release(w);
    CHECK_EQ(r->ops->poll(r, NULL), POLLIN | POLLRDNORM | POLLHUP);
    CHECK_EQ(take(r, back, 10, -1), 1);
    CHECK_EQ(take(r, back, 10, -1), 0);
    file_release(r);
    CHECK_EQ(pipe_create(&r, &w, 0), 0);
    CHECK_EQ(take(r, back, 1, -1), -ERESTARTSYS);
    file_release(r);
    host_signals = 0;
    CHECK_EQ(put(w, big, 1, -1), -EPIPE);
    CHECK_EQ(host_signals, 1);
    file_release(w);
    CHECK_EQ(mk("/fifo", VFIFO, 0644), 0);
    CHECK_EQ(open_error("/fifo", O_WRONLY | O_NONBLOCK), -ENXIO);
    CHECK_EQ(open_error("/fifo", O_WRONLY), -ERESTARTSYS);
    r = opened("/fifo", O_RDONLY | O_NONBLOCK);
    w = opened("/fifo", O_WRONLY);
    CHECK_EQ(put(w, "abc", 3, -1), 3);
    CHECK_EQ(take(r, back, 10, -1), 3);
    CHECK_EQ(put(w, "abc", 3, 0), -ESPIPE);
    file_release(w);
    file_release(r);
    CHECK_EQ(name_unlink(&ctx, NULL, "/fifo", false), 0);
}

TEST(record_locks)
{
    struct fdtable *a = fdtable_create(), *b = fdtable_create();
    struct lock_range l = {F_WRLCK, 1, 100, 199}, part = {F_UNLCK, 1, 140, 149},
                      all = {F_WRLCK, 2, 0, INT64_MAX};
    struct file *f;

    start();
    f = opened("/l", O_RDWR | O_CREAT);
    CHECK_EQ(file_lock(f, a, &l, false), 0);
    CHECK_EQ(file_lock(f, b, &all, false), -EAGAIN);
    CHECK_EQ(file_lock(f, a, &part, false), 0);
    l = (struct lock_range){F_RDLCK, 2, 140, 149};
    CHECK_EQ(file_lock(f, b, &l, false), 0); /* in the gap */
    l = (struct lock_range){F_RDLCK, 2, 140, 150};
    file_lock_test(f, b, &l);
    CHECK(l.type == F_WRLCK && l.pid == 1 && l.start == 150 && l.end == 199);
    CHECK_EQ(file_flock(f, F_WRLCK, false), 0);
    CHECK_EQ(fd_install(a, f, 0, 0, 10), 0);
    file_hold(f);
    CHECK_EQ(fd_close(a, 0), 0); /* also removes the locks of a */
    l = (struct lock_range){F_WRLCK, 2, 0, 1000};
    CHECK_EQ(file_lock(f, b, &l, false), 0);
    CHECK_EQ(fd_install(b, f, 0, 0, 10), 0);
    fdtable_release(b);
    fdtable_release(a);
    CHECK_EQ(name_unlink(&ctx, NULL, "/l", false), 0);
}

static struct vnode *given_away;

static void give_away(void)
{
    given_away->uid = 0;
}

/* The owner changes between the call and the lock: the former owner cannot change the file any more. */
TEST(owner_changes_meanwhile)
{
    static const struct {
        unsigned mask;
        struct vattr va;
        int err;
    } changes[] = {
        {VA_MODE, {.mode = 04755}, -EPERM},    {VA_GID, {.gid = 1000}, -EPERM},
        {VA_ATIME, {.atime = {1, 0}}, -EPERM}, {VA_MTIME_NOW, {.mode = 0}, -EACCES},
        {VA_SIZE, {.size = 0}, -EACCES},
    };
    struct file *f;

    start();
    f = opened("/given", O_RDWR | O_CREAT);
    given_away = f->vn;
    for (unsigned i = 0; i < array_size(changes); i++) {
        f->vn->uid = 1000;
        f->vn->mode = 0700;
        f->vn->size = 0;
        host_before_write = give_away;
        CHECK_EQ(vn_setattr(f->vn, changes[i].mask, &changes[i].va, &user, false), changes[i].err);
        CHECK_EQ(f->vn->mode, 0700);
        CHECK(f->vn->uid == 0 && host_before_write == NULL);
    }
    file_release(f);
    CHECK_EQ(name_unlink(&ctx, NULL, "/given", false), 0);
}

/* What three owners have locked of a small file, byte by byte: F_UNLCK or a type. */
enum { LOCK_OWNERS = 3, LOCK_BYTES = 40 };
static int lock_model[LOCK_OWNERS][LOCK_BYTES];

/* The lock of `owner` that contains `byte`: neighbours of the same type are one lock. */
static struct lock_range model_lock(unsigned owner, int byte)
{
    struct lock_range l = {lock_model[owner][byte], (int)owner, byte, byte};

    while (l.start > 0 && lock_model[owner][l.start - 1] == l.type)
        l.start--;
    while (l.end + 1 < LOCK_BYTES && lock_model[owner][l.end + 1] == l.type)
        l.end++;
    return l;
}

/* The first lock, by its start, that conflicts with `want`; type F_UNLCK: none. */
static struct lock_range model_conflict(unsigned owner, const struct lock_range *want)
{
    struct lock_range first = {F_UNLCK, 0, LOCK_BYTES, 0};

    for (unsigned o = 0; o < LOCK_OWNERS; o++)
        for (int i = (int)want->start; o != owner && i <= want->end; i++) {
            struct lock_range l = model_lock(o, i);

            if (l.type != F_UNLCK && (l.type == F_WRLCK || want->type == F_WRLCK) &&
                l.start < first.start)
                first = l;
        }
    return first;
}

TEST(random_locks)
{
    struct fdtable *t[LOCK_OWNERS];
    struct file *f;

    start();
    f = opened("/rl", O_RDWR | O_CREAT);
    for (unsigned o = 0; o < LOCK_OWNERS; o++) {
        t[o] = fdtable_create();
        for (unsigned i = 0; i < LOCK_BYTES; i++)
            lock_model[o][i] = F_UNLCK;
    }
    for (unsigned n = 0; n < 20000; n++) {
        unsigned o = (unsigned)check_random() % LOCK_OWNERS;
        int a = (int)(check_random() % LOCK_BYTES), b = (int)(check_random() % LOCK_BYTES);
        struct lock_range l = {(int)(check_random() % 3), (int)o, min_of(a, b), max_of(a, b)},
                          test = l, want;

        want = l.type == F_UNLCK ? l : model_conflict(o, &l);
        if (l.type != F_UNLCK) {
            file_lock_test(f, t[o], &test);
            CHECK_EQ(test.type, want.type);
            if (want.type != F_UNLCK)
                CHECK(test.start == want.start);
        }
        CHECK_EQ(file_lock(f, t[o], &l, false), want.type == F_UNLCK ? 0 : -EAGAIN);
        for (int i = (int)l.start; want.type == F_UNLCK && i <= l.end; i++)
            lock_model[o][i] = l.type;
    }
    for (unsigned o = 0; o < LOCK_OWNERS; o++) {
        file_hold(f);
        CHECK_EQ(fd_install(t[o], f, 0, 0, 10), 0);
        fdtable_release(t[o]);
    }
    CHECK(itree_empty(&f->vn->locks));
    file_release(f);
    CHECK_EQ(name_unlink(&ctx, NULL, "/rl", false), 0);
}

/* The first entry of a directory that is not "." or "..", as a path. */
struct first {
    char *end;
    size_t room;
    bool found;
};

static int see_first(void *arg, const char *name, size_t len, uint64_t ino, enum vtype type,
                     uint64_t next)
{
    struct first *s = arg;

    if (name[0] == '.' || len >= s->room)
        return 0;
    memcpy(s->end, name, len);
    s->end[len] = '\0';
    s->found = true;
    return 1;
}

/* Removes everything below `path`. */
static void remove_below(const char *path)
{
    char sub[4096];
    size_t n = (size_t)sprintf(sub, "%s/", path);
    struct first s;

    do {
        struct file *f = opened(path, O_RDONLY);

        s = (struct first){sub + n, sizeof sub - n, false};
        CHECK_EQ(file_readdir(f, see_first, &s), 0);
        file_release(f);
        if (s.found && name_unlink(&ctx, NULL, sub, false) == -EISDIR) {
            remove_below(sub);
            CHECK_EQ(name_unlink(&ctx, NULL, sub, true), 0);
        }
    } while (s.found);
}

/* Random calls on a small set of names; the tree is checked by counting at the end. */
TEST(random_names)
{
    static const char *const names[] = {"/x",     "/x/a",   "/x/b",     "/x/a/c",  "/x/a/d",
                                        "/x/b/c", "/x/b/e", "/x/a/c/d", "/x/b/c/d"};
    enum { N = sizeof names / sizeof names[0] };
    long kmem, pages;

    start();
    kmem = host_kmem;
    pages = host_pages;
    for (unsigned i = 0; i < 200000; i++) {
        const char *p = names[check_below(N)], *q = names[check_below(N)];
        struct vnode *vn;
        struct file *f;

        switch (check_below(7)) {
        case 0:
            mk(p, VDIR, 0755);
            break;
        case 1:
            if (file_open(&ctx, NULL, p, O_RDWR | O_CREAT, 0644, &f) == 0) {
                put(f, names, 30, (loff_t)check_below(10000));
                file_release(f);
            }
            break;
        case 2:
            name_unlink(&ctx, NULL, p, false);
            break;
        case 3:
            name_unlink(&ctx, NULL, p, true);
            break;
        case 4:
            name_rename(&ctx, NULL, p, NULL, q, 0);
            break;
        case 5:
            if (name_lookup(&ctx, NULL, p, 0, &vn) == 0) {
                name_link(&ctx, vn, NULL, q);
                vn_release(vn);
            }
            break;
        case 6:
            ln(q, p);
            break;
        }
    }
    if (name_unlink(&ctx, NULL, "/x", false) != 0) {
        remove_below("/x");
        CHECK_EQ(name_unlink(&ctx, NULL, "/x", true), 0);
    }
    CHECK_EQ(host_pages, pages);
    CHECK_EQ(host_kmem, kmem);
    CHECK_EQ(vfs_root->refs, 1);
}

/* After all tests: what is left is the root, and what is mounted on. */
TEST(nothing_is_left)
{
    static const char *const mounts[] = {"dev", "proc", "sys"};
    uint64_t blocks, bfree, files, ffree;
    struct vnode *vn;
    unsigned kept = 1;

    start();
    if (name_lookup(&ctx, NULL, "/i", 0, &vn) == 0) {
        vn_release(vn);
        remove_below("/i");
        CHECK_EQ(name_unlink(&ctx, NULL, "/i", true), 0);
    }
    for (unsigned i = 0; i < 3; i++)
        if (name_lookup(&ctx, NULL, mounts[i], 0, &vn) == 0) {
            vn_release(vn);
            kept++;
        }
    vfs_root->vfs->op->statfs(vfs_root->vfs, &blocks, &bfree, &files, &ffree);
    CHECK_EQ(files - ffree, kept);
    CHECK_EQ(blocks - bfree, 0);
}
