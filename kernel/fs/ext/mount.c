// SPDX-License-Identifier: MIT
/*
 * mount.c - the file system types ext3 and ext2: options, mounting, sync, the commit thread.
 *
 * THEORY      Both names lead to the same code: a feature flag on the disk decides whether there is a
 *             journal.
 *             One thread serves all mounts.  Every five seconds (or `commit=` seconds) it writes the
 *             inodes that are newer in memory than on the disk, and commits.
 * LOCKING     mounts_mutex guards the list of mounts.  The commit thread holds it while it works, so that no
 *             mount is removed meanwhile.  vfs.c allows only one remount or unmount at a time.
 * SEE ALSO    super.c, docs/ext.md
 */
#include "fs/ext/ext_init.h"

#include "disp/thread.h"
#include "disp/timer.h"
#include "fs/ext/vnops.h"
#include "vfs/name.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"

#define EXT_SUPER_MAGIC 0xef53
#define COMMIT_SECONDS  5

/* A mounted file system: vfs->data. */
struct extmount {
    struct ext_fs *fs;
    struct list link;  /* in `mounted` */
    uint32_t commit_s; /* seconds between two commits */
    uint64_t next_commit_ns;
};

static struct mutex mounts_mutex;
static struct list mounted = LIST_INIT(mounted); /* under mounts_mutex */
static struct thread *committer;                 /* under mounts_mutex; NULL: no mount so far */

/* ---- options ------------------------------------------------------------------------------------- */

struct options {
    unsigned flags;    /* MS_RDONLY, MS_NOATIME */
    int errors;        /* EXT_ERRORS_*; 0: use the value of the superblock */
    uint32_t commit_s; /* seconds between two commits; 0: not given */
};

static bool option_equals(const char *p, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(p, word, n) == 0;
}

/* Options that occur in the fstab of other systems and have no effect here. */
static bool is_ignored_option(const char *p, size_t n)
{
    static const char *const words[] = {
        "defaults",  "rw",     "relatime", "atime",      "data=ordered", "barrier",
        "barrier=1", "nosuid", "nodev",    "noexec",     "suid",         "dev",
        "exec",      "async",  "auto",     "noauto",     "nouser",       "nodiratime",
        "diratime",  "acl",    "noacl",    "user_xattr", "silent",       "nouser_xattr",
    };

    for (size_t i = 0; i < array_size(words); i++)
        if (option_equals(p, n, words[i]))
            return true;
    return false;
}

/*
 * Sets *s to the seconds of "commit=SECONDS", at most 100,000; 0 selects the default.  false: p[n] is another option,
 * or the number is not valid.
 */
static bool parse_commit_option(const char *p, size_t n, uint32_t *s)
{
    uint32_t v = 0;

    if (n <= 7 || memcmp(p, "commit=", 7) != 0)
        return false;
    for (size_t i = 7; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || v > 100000)
            return false;
        v = v * 10 + (uint32_t)(p[i] - '0');
    }
    *s = v;
    return v <= 100000;
}

/* Parses a comma-separated list of mount options into *o.  0 or -EINVAL. */
static int parse_ext_options(const char *p, struct options *o)
{
    while (*p != '\0') {
        const char *end = strchr(p, ',');
        size_t n = end != NULL ? (size_t)(end - p) : strlen(p);

        if (option_equals(p, n, "ro"))
            o->flags |= MS_RDONLY;
        else if (option_equals(p, n, "noatime"))
            o->flags |= MS_NOATIME;
        else if (option_equals(p, n, "errors=continue"))
            o->errors = EXT_ERRORS_CONTINUE;
        else if (option_equals(p, n, "errors=remount-ro"))
            o->errors = EXT_ERRORS_RO;
        else if (n != 0 && !parse_commit_option(p, n, &o->commit_s) && !is_ignored_option(p, n)) {
            kprintf("ext3: mount option '%.*s' is not known", (int)n, p);
            return -EINVAL;
        }
        p += n + (end != NULL);
    }
    return 0;
}

static void apply_mount_options(struct extmount *m, const struct options *o)
{
    m->fs->vfs->flags |= o->flags & MS_NOATIME;
    if (o->errors != 0)
        m->fs->errors = (uint8_t)o->errors;
    if (o->commit_s != 0)
        m->commit_s = o->commit_s;
}

/* ---- the thread ---------------------------------------------------------------------------------- */

/* Commits the mounts whose interval has ended.  Takes mounts_mutex. */
static void commit_due_mounts(uint64_t now)
{
    struct extmount *m;

    mutex_enter(&mounts_mutex);
    LIST_FOREACH (m, &mounted, link)
        if (now >= m->next_commit_ns) {
            m->next_commit_ns = now + m->commit_s * 1000000000ul;
            if (!m->fs->rdonly)
                ext_sync(m->fs);
        }
    mutex_exit(&mounts_mutex);
}

static void ext_commit_main(void *arg)
{
    (void)arg;
    for (;;) {
        thread_sleep_ns(1000000000);
        commit_due_mounts(clock_mono_ns());
    }
}

/* ---- operations of a mounted file system ----------------------------------------------------------- */

static void ext_vfs_statfs(struct vfs *vfs, uint64_t *blocks, uint64_t *bfree, uint64_t *files,
                           uint64_t *ffree)
{
    struct ext_fs *fs = ((struct extmount *)vfs->data)->fs;
    uint64_t own = fs->first_block;

    for (uint32_t g = 0; g < fs->ngroups; g++)
        own += 2 + fs->table_blocks +
               (ext_has_super(fs, g) ? 1 + fs->gdt_blocks + fs->reserved_gdt : 0);
    *blocks = (fs->blocks - own) << fs->bshift >> PAGE_SHIFT;
    *bfree = (uint64_t)fs->free_blocks << fs->bshift >> PAGE_SHIFT;
    *files = fs->inodes;
    *ffree = (uint64_t)fs->free_inodes;
}

static bool belongs_to_vfs(void *owner, void *arg)
{
    return ((struct vnode *)owner)->vfs == arg;
}

/* Whether the inode has pages that are newer than the disk. */
static bool inode_has_dirty_pages(struct ext_inode *i)
{
    return i->vn.obj.io != NULL && i->io.ndirty != 0;
}

static int ext_vfs_sync(struct vfs *vfs, bool data)
{
    struct ext_fs *fs = ((struct extmount *)vfs->data)->fs;
    /*
     * from now on each dirty page is written again, even if an earlier write of the page has failed
     */
    uint32_t refused = fs->n_write_errors;
    int err;

    if (!data)
        return ext_sync(fs);
    object_writeback_all(belongs_to_vfs, vfs);
    ext_wait_written(fs);
    err = ext_sync(fs);
    if (err == 0 && !fs->rdonly)
        err = blk_flush(fs->disk);
    return err == 0 && fs->n_write_errors != refused ? -EIO : err;
}

static void ext_vfs_shutdown(struct vfs *vfs)
{
    struct ext_fs *fs = ((struct extmount *)vfs->data)->fs;

    vfs->readonly = true;
    if (!fs->rdonly && ext_quiesce(fs) != 0)
        warn("%s: could not be written", vfs->source);
}

static bool inode_is_in_use(struct ext_inode *i)
{
    return i->vn.refs > 1; /* the inode cache has one reference */
}

/* Whether only the root inode is in use, and only the cache and the mount have references to it. */
static bool only_root_in_use(struct ext_fs *fs, struct vnode *root)
{
    return root->refs == 2 && icache_count(fs, inode_is_in_use) == 1 && !ext_orphans_used(fs);
}

/* Evicts all inodes except the root.  Returns whether that was possible.  The caller holds mounts_mutex. */
static bool evict_all_but_root(struct ext_fs *fs, struct vnode *root)
{
    if (!only_root_in_use(fs, root))
        return false;
    if (icache_drop(fs) == 1)
        return true;
    fs->leaving = true; /* from now on also evict files with pages whose write has failed again */
    if (icache_drop(fs) == 1)
        return true;
    fs->leaving = false;
    return false;
}

static int ext_vfs_unmount(struct vfs *vfs)
{
    struct extmount *m = vfs->data;
    struct vnode *root = vfs->root;
    struct disk *d = m->fs->disk;
    bool busy;
    int err;

    mutex_enter(&mounts_mutex); /* so that the commit thread has no reference to an inode */
    busy = !only_root_in_use(m->fs, root);
    mutex_exit(&mounts_mutex);
    if (busy) /* return without a sync, because look-ups wait for the result (vfs.c) */
        return -EBUSY;
    ext_vfs_sync(vfs, true);
    mutex_enter(&mounts_mutex);
    busy = !evict_all_but_root(m->fs, root);
    if (!busy)
        list_remove(&m->link);
    mutex_exit(&mounts_mutex);
    if (busy)
        return -EBUSY;
    vn_release(root);
    if (icache_drop(m->fs) != 0)
        panic("ext: an inode of %s came into use while nobody was there", m->fs->name);
    err = ext_unmount(m->fs);
    if (err != 0)
        warn("%s: unmounted with an error: %d", vfs->source, -err);
    disk_release(d);
    kmem_free(m);
    return 0;
}

/*
 * Writes everything to the disk, for a file system that becomes read-only.  -EIO: a write has failed.
 * -EBUSY: there are open files without a name, or dirty pages are left.
 */
static int sync_and_quiesce(struct vfs *vfs)
{
    struct ext_fs *fs = ((struct extmount *)vfs->data)->fs;
    int err = ext_vfs_sync(vfs, true);

    if (err != 0)
        return err;
    /* there are open files without a name, whose last close must free blocks */
    if (fs->sb->last_orphan != 0)
        return -EBUSY;
    return icache_count(fs, inode_has_dirty_pages) != 0 ? -EBUSY : ext_quiesce(fs);
}

static int ext_vfs_remount(struct vfs *vfs, const char *text, unsigned flags)
{
    struct extmount *m = vfs->data;
    struct options o = {.flags = flags};
    int err = parse_ext_options(text, &o);

    if (err != 0)
        return err;
    if ((o.flags & MS_RDONLY) && !vfs->readonly) {
        err = vfs_set_readonly(vfs, true);
        if (err != 0) /* no new change can begin */
            return err;
        err = sync_and_quiesce(vfs);
        if (err != 0) {
            vfs->readonly = m->fs->rdonly;
            return err;
        }
    } else if (!(o.flags & MS_RDONLY) && vfs->readonly) {
        err = ext_writable(m->fs);
        if (err != 0)
            return err;
        vfs->readonly = false;
    }
    apply_mount_options(m, &o);
    return 0;
}

static const struct vfs_ops ext_vfs_ops = {
    .statfs = ext_vfs_statfs,
    .sync = ext_vfs_sync,
    .unmount = ext_vfs_unmount,
    .shutdown = ext_vfs_shutdown,
    .remount = ext_vfs_remount,
};

/* ---- mounting ------------------------------------------------------------------------------------ */

/*
 * Finds the disk of a mount.  `source` is the path of a device node; if there is no such node, or no root
 * file system yet, it is "/dev/" and the name of a disk, or the name alone.  -ENOTBLK -ENXIO -ENOENT.
 */
static int resolve_mount_source(const char *source, struct disk **out)
{
    static const struct cred root = {.refs = 1};
    struct fs_ctx ctx = {vfs_root, vfs_root, &root};
    struct vnode *vn;

    *out = NULL;
    if (source[0] == '/' && vfs_root != NULL &&
        name_lookup(&ctx, NULL, source, NAME_FOLLOW, &vn) == 0) {
        bool block = vn->type == VBLK;

        if (block)
            *out = disk_by_dev(vn->rdev);
        vn_release(vn);
        if (!block)
            return -ENOTBLK;
        return *out == NULL ? -ENXIO : 0;
    }
    if (strncmp(source, "/dev/", 5) == 0)
        source += 5;
    *out = disk_find(source);
    return *out == NULL ? -ENOENT : 0;
}

/* Mounts disk d and starts the commit thread if it does not run yet.  The caller holds mounts_mutex. */
static int mount_on_disk(struct vfs *vfs, struct extmount *m, struct disk *d,
                         const struct options *o)
{
    struct ext_inode *root;
    char reason[160];
    int err;

    err = ext_mount(d, disk_name(d), (o->flags & MS_RDONLY) != 0, vfs, &ext_kernel_up, &m->fs,
                    reason, sizeof reason);
    if (err != 0) {
        kprintf("%s: cannot be mounted: %s", disk_name(d), reason);
        return err;
    }
    err = ext_iget(m->fs, EXT_ROOT_INO, &root);
    if (err == 0) {
        vfs->root = &root->vn;
        if (committer == NULL)
            committer = kthread_create("ext-commit", PRI_SYS, ext_commit_main, NULL);
        if (committer != NULL)
            return 0;
        ext_iput(root);
        err = -ENOMEM;
    }
    icache_drop(m->fs);
    ext_unmount(m->fs);
    return err;
}

static int mount_ext_type(const char *type, const char *source, const char *text, unsigned flags,
                          struct vfs **out)
{
    struct options o = {.flags = flags & (MS_RDONLY | MS_NOATIME)};
    struct disk *d;
    struct vfs *vfs;
    struct extmount *m;
    int err = parse_ext_options(text, &o);

    if (err == 0)
        err = resolve_mount_source(source, &d);
    if (err == 0)
        err = disk_claim(d);
    if (err != 0)
        return err;
    if (disk_readonly(d))
        o.flags |= MS_RDONLY;
    vfs = vfs_alloc(type, &ext_vfs_ops, source, EXT_SUPER_MAGIC);
    m = kmem_zalloc(sizeof *m);
    if (vfs == NULL || m == NULL) {
        err = -ENOMEM;
        goto fail;
    }
    vfs->data = m;
    vfs->disk = d;
    list_init(&m->link);
    m->commit_s = COMMIT_SECONDS;
    mutex_enter(&mounts_mutex);
    err = mount_on_disk(vfs, m, d, &o);
    if (err == 0) {
        apply_mount_options(m, &o);
        m->next_commit_ns = clock_mono_ns() + m->commit_s * 1000000000ul;
        list_push_back(&mounted, &m->link);
    }
    mutex_exit(&mounts_mutex);
    if (err != 0)
        goto fail;
    vfs->readonly = m->fs->rdonly;
    *out = vfs;
    return 0;
fail:
    disk_release(d);
    kmem_free(m);
    if (vfs != NULL)
        vfs_free(vfs);
    return err;
}

static int mount_ext3(const char *source, const char *options, unsigned flags, struct vfs **out)
{
    return mount_ext_type("ext3", source, options, flags, out);
}

static int mount_ext2(const char *source, const char *options, unsigned flags, struct vfs **out)
{
    return mount_ext_type("ext2", source, options, flags, out);
}

void ext_init(void)
{
    static struct vfs_type ext3 = {.name = "ext3", .mount = mount_ext3, .disk = true};
    static struct vfs_type ext2 = {.name = "ext2", .mount = mount_ext2, .disk = true};

    mutex_init(&mounts_mutex, SLEEP_EXT_MOUNTS);
    vfs_register_type(&ext3);
    vfs_register_type(&ext2);
}
