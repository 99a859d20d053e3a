// SPDX-License-Identifier: MIT
/*
 * tmpfs.c - the memory file system: nodes, their data, mounting.
 *
 * THEORY      A tmpfs keeps files in memory only; they are lost when the machine stops.  A node and its vnode
 *             are one struct.  The pages of a regular file are those of the vnode's object, and an absent
 *             page is a hole.  A node exists as long as a directory entry names the node or the
 *             node is in use; each entry holds a reference.
 *             A full tmpfs would leave no memory for programs, so each mount has a limit.  Pages are counted
 *             when they are made (by a write: reserve; by a fault: getpage), and the count is corrected when
 *             a file shrinks or is freed.  A symbolic link with a long target counts as a page, and a further
 *             name of a file counts as a node.  The last sixteenth of the root file system, of /dev/shm
 *             and of the files of memfd_create is reserved for root.
 *             The root file system is filled at boot without a limit.  Then its limit is set high enough for
 *             new files, even if the unpacked files already take more than tmpfs_max_percent of memory.
 * INVARIANTS  I1  the mount's `pages` is the sum of `charged` over the files of the mount, plus the
 *                 number of symbolic links with a long target
 *             I2  a node is on tmount.nodes from creation to its last release
 * LOCKING     tmount.lock (RANK_VNODE) guards the fields marked [m] in tmpfs.h.  `pages` and `charged` are atomic.
 * TUNABLES    tmpfs_max_percent: largest share of memory for the files of one mount; default 50 %
 * SEE ALSO    tmpfs_dir.c (directories), rdwr.c (data), docs/files.md
 */
#include "fs/tmpfs/tmpfs.h"

#include "vfs/file.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/tunable.h"
#include "pages/rangepolicy.h"
#include "pages/reserve.h"
#include "mem/usermem.h"

#define TMPFS_MAGIC 0x01021994
#define S_ISGID     02000u

enum {
    RESERVE_SHARE = 16, /* 1 / RESERVE_SHARE of each limit is reserved for root */
    LONG_TARGET = 256   /* a link whose target has at least so many bytes counts as a page */
};

static uint32_t tmpfs_max_percent = 50;
TUNABLE(
    tmpfs_max_percent, 1, 75,
    "default 50 %: share of memory that one tmpfs may take (more would starve all else); read at mount");

static struct kmem_cache *tnode_cache;

/*
 * Whether the calling thread can increase the use to `used` of `max` (max_nodes, max_pages); see tmount.reserve.
 */
static bool fits_in_mount(const struct tmount *tm, uint64_t used, uint64_t max)
{
    uint64_t reserve = tm->reserve ? max / RESERVE_SHARE : 0;

    if (likely(used <= max - reserve))
        return true;
    return used <= max && (proc_cred()->euid == 0);
}

bool tmount_node_fits(const struct tmount *tm)
{
    return (!tm->reserve || reserve_spares(0)) && fits_in_mount(tm, tm->nnodes + 1, tm->max_nodes);
}

/* Adds n pages to the count.  0; -ENOSPC: the mount would exceed its limit, or the memory is reserved for programs. */
static int charge_mount_pages(struct tmount *tm, uint64_t n)
{
    uint64_t before = atomic_load_explicit(&tm->pages, memory_order_relaxed);

    if (!reserve_spares(n))
        return -ENOSPC;
    /* the count never has what is refused: other threads would be refused because of it */
    do
        if (unlikely(!fits_in_mount(tm, before + n, tm->max_pages)))
            return -ENOSPC;
    while (!atomic_compare_exchange_weak(&tm->pages, &before, before + n));
    return 0;
}

/*
 * Adds n pages of file `t` to the counts of the file and of the mount.  Errors as for
 * charge_mount_pages().
 */
static int charge_node_pages(struct tnode *t, uint64_t n)
{
    int err = charge_mount_pages(tmount_of(&t->vn), n);

    if (err != 0)
        return err;
    atomic_fetch_add_explicit(&t->charged, n, memory_order_relaxed);
    return 0;
}

/* Sets the count of `t` to n pages, and corrects the mount's count by the difference (I1). */
static void update_charged_pages(struct tnode *t, uint64_t n)
{
    uint64_t was = atomic_exchange_explicit(&t->charged, n, memory_order_relaxed);

    atomic_fetch_sub_explicit(&tmount_of(&t->vn)->pages, was - n, memory_order_relaxed);
}

static int tmpfs_reserve(struct vnode *vn, uint64_t pages)
{
    if (pages != 0)
        return charge_node_pages(tnode_of(vn), pages);
    update_charged_pages(tnode_of(vn), vn->obj.npages);
    return 0;
}

static int tmpfs_getpage(struct vm_object *obj, struct page *pg)
{
    int err = charge_node_pages(tnode_of(obj->owner), 1);

    if (err == 0)
        page_zero(pg, 0);
    return err;
}

static int tmpfs_page_mkwrite(struct vm_object *obj, struct page *pg)
{
    vn_times_now(obj->owner, VA_MTIME);
    return 0;
}

static const struct pager_ops tmpfs_pager = {
    .getpage = tmpfs_getpage,
    .page_mkwrite = tmpfs_page_mkwrite,
};

struct tnode *tnode_create(struct vfs *vfs, enum vtype type, uint32_t mode, uint32_t uid,
                           uint32_t gid)
{
    struct tmount *tm = vfs->data;
    struct tnode *t = kmem_cache_alloc(tnode_cache);

    if (t == NULL)
        return NULL;
    vn_init(&t->vn, vfs, type, &tmpfs_ops, &tmpfs_pager);
    t->vn.holes = true;
    t->vn.mode = mode;
    t->vn.uid = uid;
    t->vn.gid = gid;
    vn_times_now(&t->vn, VA_ATIME | VA_MTIME);
    t->entry = NULL;
    t->nentries = 0;
    if (type == VDIR) {
        tdir_init(&t->dir);
        t->vn.nlink = 2;
    } else {
        t->link.target = NULL; /* the union also has `charged`, which becomes 0 */
    }
    spin_lock(&tm->lock);
    if (!tmount_node_fits(tm)) {
        spin_unlock(&tm->lock);
        kmem_cache_free(tnode_cache, t);
        return NULL;
    }
    tm->nnodes++;
    t->vn.ino = tm->next_ino++;
    list_push_back(&tm->nodes, &t->all);
    spin_unlock(&tm->lock);
    return t;
}

static void tmpfs_inactive(struct vnode *vn)
{
    struct tnode *t = tnode_of(vn);
    struct tmount *tm = tmount_of(vn);

    if (vn->type == VREG) {
        object_truncate(&vn->obj, 0);
        object_forget_nodes(&vn->obj);
        update_charged_pages(t, 0);
    } else if (vn->type == VLNK) {
        if (t->link.target != NULL && t->link.len >= LONG_TARGET)
            atomic_fetch_sub_explicit(&tm->pages, 1, memory_order_relaxed);
        kmem_free(t->link.target);
    } else if (vn->type == VDIR) {
        tdir_destroy(&t->dir);
    }
    spin_lock(&tm->lock);
    list_remove(&t->all);
    tm->nnodes--;
    spin_unlock(&tm->lock);
    kmem_cache_free(tnode_cache, t);
}

/* Stores the target of a symbolic link.  0, -ENOSPC, -ENOMEM. */
static int set_link_target(struct tnode *t, const char *target)
{
    size_t len = strlen(target);

    if (len >= LONG_TARGET && charge_mount_pages(tmount_of(&t->vn), 1) != 0)
        return -ENOSPC;
    t->link.target = kmem_alloc(len + 1);
    if (t->link.target == NULL) {
        if (len >= LONG_TARGET)
            atomic_fetch_sub_explicit(&tmount_of(&t->vn)->pages, 1, memory_order_relaxed);
        return -ENOMEM;
    }
    memcpy(t->link.target, target, len + 1);
    t->link.len = len;
    t->vn.size = len;
    return 0;
}

static int tmpfs_create(struct vnode *dir, const char *name, size_t len, enum vtype type,
                        uint32_t mode, const struct cred *cr, uint64_t rdev, const char *target,
                        struct vnode **out)
{
    uint32_t gid = dir->mode & S_ISGID ? dir->gid : cr->fsgid;
    struct tnode *t = tnode_create(dir->vfs, type, mode, cr->fsuid, gid);
    int err = 0;

    if (t == NULL)
        return -ENOSPC;
    t->vn.rdev = rdev;
    if (type == VLNK)
        err = set_link_target(t, target);
    if (err == 0)
        err = tdir_add(tnode_of(dir), name, len, t); /* takes over our reference to t */
    if (err != 0) {
        vn_release(&t->vn);
        return err;
    }
    vn_hold(&t->vn);
    *out = &t->vn;
    return 0;
}

static int tmpfs_readlink(struct vnode *vn, char *buf, size_t size)
{
    struct tnode *t = tnode_of(vn);
    size_t n = min_of(t->link.len, size);

    memcpy(buf, t->link.target, n);
    return (int)n;
}

static int tmpfs_setattr(struct vnode *vn, unsigned mask, const struct vattr *va)
{
    if (mask & VA_SIZE) {
        int err = vn_truncate_pages(vn, va->size);

        if (err != 0)
            return err;
        update_charged_pages(tnode_of(vn), vn->obj.npages);
        vn_times_now(vn, VA_MTIME);
    }
    return vn_setattr_default(vn, mask, va);
}

const struct vnodeops tmpfs_ops = {
    .lookup = tmpfs_lookup,
    .create = tmpfs_create,
    .link = tmpfs_link,
    .unlink = tmpfs_unlink,
    .rename = tmpfs_rename,
    .readdir = tmpfs_readdir,
    .readlink = tmpfs_readlink,
    .setattr = tmpfs_setattr,
    .parent = tmpfs_parent,
    .reserve = tmpfs_reserve,
    .inactive = tmpfs_inactive,
};

static void tmpfs_statfs(struct vfs *vfs, uint64_t *blocks, uint64_t *bfree, uint64_t *files,
                         uint64_t *ffree)
{
    struct tmount *tm = vfs->data;

    *blocks = tm->max_pages;
    *bfree = tm->max_pages - min_of(tm->max_pages, tm->pages);
    *files = tm->max_nodes;
    *ffree = tm->max_nodes - tm->nnodes;
}

/*
 * Whether a node is in use, that is, has more references than directory entries.  The root has one
 * additional reference.
 */
static bool is_tmpfs_busy(struct tmount *tm, const struct vfs *vfs)
{
    struct tnode *t;
    bool yes = false;

    spin_lock(&tm->lock);
    LIST_FOREACH (t, &tm->nodes, all)
        if (t->vn.refs > t->nentries + (&t->vn == vfs->root))
            yes = true;
    spin_unlock(&tm->lock);
    return yes;
}

/*
 * Frees all nodes: first removes all entries, then drops the entries' references.  No node must be in use.
 */
static void free_all_nodes(struct tmount *tm)
{
    struct tnode *t;

    LIST_FOREACH (t, &tm->nodes, all)
        if (t->vn.type == VDIR)
            tdir_clear(t);
    while (!list_empty(&tm->nodes)) {
        t = list_first(&tm->nodes, struct tnode, all);
        t->vn.refs = 1;
        vn_release(&t->vn);
    }
}

static int tmpfs_unmount(struct vfs *vfs)
{
    struct tmount *tm = vfs->data;

    if (is_tmpfs_busy(tm, vfs))
        return -EBUSY;
    free_all_nodes(tm);
    kmem_free(tm);
    return 0;
}

/*
 * Parses a number below 2^52 and moves *at past the number.  A decimal number can have the suffix k, m or g.
 * false: there is no such number, or neither a comma nor the end follows the number.
 */
static bool parse_tmpfs_number(const char **at, unsigned base, uint64_t *out)
{
    const char *p = *at;
    uint64_t v = 0;
    unsigned shift = 0;

    for (; *p >= '0' && *p < '0' + (char)base && v >> 48 == 0; p++)
        v = v * base + (uint64_t)(*p - '0');
    if (p == *at)
        return false;
    if (base == 10 && (*p | 0x20) == 'k')
        shift = 10;
    else if (base == 10 && (*p | 0x20) == 'm')
        shift = 20;
    else if (base == 10 && (*p | 0x20) == 'g')
        shift = 30;
    p += shift != 0;
    *at = p;
    *out = v << shift;
    return v >> (52 - shift) == 0 && (*p == '\0' || *p == ',');
}

/*
 * Parses the options "size=BYTES,mode=OCTAL"; "mode" only if `mode` is not NULL.  -EINVAL: there is another option.
 */
static int parse_options(const char *list, uint64_t *bytes, uint64_t *mode)
{
    while (list != NULL && *list != '\0') {
        bool size = strncmp(list, "size=", 5) == 0;

        if (!size && (mode == NULL || strncmp(list, "mode=", 5) != 0))
            return -EINVAL;
        list += 5;
        if (!parse_tmpfs_number(&list, size ? 10 : 8, size ? bytes : mode) || *bytes == 0)
            return -EINVAL;
        if (mode != NULL && *mode > 07777)
            return -EINVAL;
        list += *list == ',';
    }
    return 0;
}

/* Sets a new limit.  -EINVAL: the files need more than the new limit; -EBUSY.  The caller holds the mount mutex. */
static int tmpfs_remount(struct vfs *vfs, const char *options, unsigned flags)
{
    struct tmount *tm = vfs->data;
    uint64_t bytes = tm->max_pages << PAGE_SHIFT;
    int err = parse_options(options, &bytes, NULL);

    if (err == 0 && tm->pages > (bytes + PAGE_SIZE - 1) >> PAGE_SHIFT)
        err = -EINVAL;
    if (err == 0)
        err = vfs_set_readonly(vfs, (flags & MS_RDONLY) != 0);
    if (err != 0)
        return err;
    tm->max_pages = (bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;
    return 0;
}

static const struct vfs_ops tmpfs_vfs_ops = {
    .statfs = tmpfs_statfs,
    .remount = tmpfs_remount,
    .unmount = tmpfs_unmount,
};

static uint64_t max_tmpfs_pages(void)
{
    return mem_total_pages() * tmpfs_max_percent / 100;
}

void tmpfs_unlimit(struct vfs *vfs)
{
    struct tmount *tm = vfs->data;

    tm->max_nodes = tm->max_pages = mem_total_pages();
}

void tmpfs_limit(struct vfs *vfs)
{
    struct tmount *tm = vfs->data;

    uint64_t share = max_tmpfs_pages(), room = min_of(share, mem_total_pages() / 16);

    tm->max_nodes = max_of(share, tm->nnodes + room);
    tm->max_pages = max_of(share, tm->pages + room);
}

void tmpfs_reserve_for_root(struct vfs *vfs)
{
    struct tmount *tm = vfs->data;

    tm->reserve = true;
}

int tmpfs_mount(const char *source, const char *options, unsigned flags, struct vfs **out)
{
    uint64_t most = max_tmpfs_pages(), bytes = most << PAGE_SHIFT, mode = 0755;
    struct vfs *vfs;
    struct tmount *tm;
    struct tnode *root;
    int err = parse_options(options, &bytes, &mode);

    if (err != 0)
        return err;
    vfs = vfs_alloc("tmpfs", &tmpfs_vfs_ops, source, TMPFS_MAGIC);
    tm = kmem_zalloc(sizeof *tm);
    if (vfs == NULL || tm == NULL)
        goto nomem;
    spin_init(&tm->lock, RANK_VNODE);
    list_init(&tm->nodes);
    tm->next_ino = 1;
    tm->max_nodes = most;
    tm->max_pages = (bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;
    vfs->data = tm;
    root = tnode_create(vfs, VDIR, (uint32_t)mode, 0, 0);
    if (root == NULL)
        goto nomem;
    vfs->root = &root->vn;
    *out = vfs;
    return 0;
nomem:
    kmem_free(tm);
    if (vfs != NULL)
        vfs_free(vfs);
    return -ENOMEM;
}

void tmpfs_init(void)
{
    static struct vfs_type type = {.name = "tmpfs", .mount = tmpfs_mount};

    tnode_cache = kmem_cache_create("tnode", sizeof(struct tnode), 0);
    vfs_register_type(&type);
}
