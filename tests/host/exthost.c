// SPDX-License-Identifier: MIT
/*
 * exthost.c - stand-ins for what kernel/fs/ext calls: memory, locks, time, a disk; and functions that read and write
 * files without a page cache.
 */
#include "fs/ext/ext.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disp/timer.h"
#include "mem/kmem.h"
#include "stat/panic.h"

char host_reason[256];

/* ---- memory ---- */
struct page *page_alloc(unsigned node, unsigned order, unsigned flags)
{
    if (host_no_memory())
        return NULL;
    host_kmem++;
    return aligned_alloc(PAGE_SIZE, PAGE_SIZE);
}

void page_free(struct page *pg)
{
    kmem_free(pg);
}

uint64_t mem_total_pages(void)
{
    return 4096;
}

void object_init_vnode(struct vm_object *o, const struct pager_ops *ops, void *vnode)
{
    memset(o, 0, sizeof *o);
    o->ops = ops;
    o->owner = vnode;
}

/* ---- waiting ---- */
void cv_wait(struct cv *cv, struct mutex *m, const char *what)
{
    host_check(0, what); /* no other thread could wake this one */
}

void cv_wait_spin(struct cv *cv, struct spinlock *l, const char *what)
{
    host_check(0, what);
}

void cv_wait_disk(struct cv *cv, struct spinlock *l, const char *what)
{
    cv_wait_spin(cv, l, what);
}

void thread_sleep_ns(uint64_t ns)
{
}

/* Parts of the kernel that are not built here. */
int bdev_fsync(uint64_t rdev);
int bdev_fsync(uint64_t rdev)
{
    return 0;
}

void object_io_init(struct vm_object *o, struct object_io *io, struct disk *disk)
{
    o->io = io;
}

void object_io_fini(struct vm_object *o)
{
}

int object_sync(struct vm_object *o, uint64_t first, uint64_t last)
{
    return 0;
}

/* ---- the disk ---- */
struct disk *host_disk_open(const char *path, bool shared)
{
    struct disk *d = calloc(1, sizeof *d);
    struct stat st;
    int fd = open(path, shared ? O_RDWR : O_RDONLY);

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0) {
        perror(path);
        exit(2);
    }
    d->sectors = (uint64_t)st.st_size / SECTOR_SIZE;
    d->mem = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
                  shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    if (d->mem == MAP_FAILED) {
        perror(path);
        exit(2);
    }
    close(fd);
    d->mapped = true;
    d->fail_after = -1;
    return d;
}

bool host_all_zero(const void *p, size_t bytes)
{
    const char *c = p;

    return bytes == 0 || (*c == 0 && memcmp(c, c + 1, bytes - 1) == 0);
}

/* Pages that stay zero are never touched. */
struct disk *host_disk_mem(const void *data, size_t bytes)
{
    struct disk *d = calloc(1, sizeof *d);

    d->sectors = bytes / SECTOR_SIZE;
    d->mem = calloc(1, bytes);
    for (size_t at = 0; at < bytes; at += HOST_CHUNK) {
        size_t n = bytes - at < HOST_CHUNK ? bytes - at : HOST_CHUNK;

        if (!host_all_zero((const uint8_t *)data + at, n))
            memcpy(d->mem + at, (const uint8_t *)data + at, n);
    }
    d->fail_after = -1;
    return d;
}

void host_disk_close(struct disk *d)
{
    if (d->mapped)
        munmap(d->mem, d->sectors * SECTOR_SIZE);
    else
        free(d->mem);
    for (size_t i = 0; i < d->nlog; i++)
        free(d->log[i].data);
    free(d->log);
    free(d);
}

uint64_t disk_sectors(const struct disk *d)
{
    return d->sectors;
}

bool disk_readonly(const struct disk *d)
{
    return d->readonly;
}

static void record(struct disk *d, uint64_t sector, const void *data, uint32_t n)
{
    struct host_write *w;

    if (!d->record)
        return;
    if ((d->nlog & (d->nlog - 1)) == 0)
        d->log = realloc(d->log, (d->nlog == 0 ? 1 : 2 * d->nlog) * sizeof *d->log);
    w = &d->log[d->nlog++];
    *w = (struct host_write){sector, n, NULL};
    if (n != 0) {
        w->data = malloc((size_t)n * SECTOR_SIZE);
        memcpy(w->data, data, (size_t)n * SECTOR_SIZE);
    }
}

int blk_rw(struct disk *d, enum blk_op op, uint64_t sector, void *buf, size_t len)
{
    if (len % SECTOR_SIZE != 0 || sector > d->sectors || len / SECTOR_SIZE > d->sectors - sector)
        return -EIO;
    if (d->fail_after == 0)
        return -EIO;
    if (sector < d->bad + d->nbad && d->bad < sector + len / SECTOR_SIZE)
        return -EIO;
    if (d->fail_after > 0)
        d->fail_after--;
    if (op == BLK_READ) {
        d->reads++;
        memcpy(buf, d->mem + sector * SECTOR_SIZE, len);
    } else {
        d->writes++;
        host_check(!d->readonly, "write to a read-only disk");
        memcpy(d->mem + sector * SECTOR_SIZE, buf, len);
        record(d, sector, buf, (uint32_t)(len / SECTOR_SIZE));
    }
    return 0;
}

bool blk_use_kernel_pri(bool on)
{
    return !on;
}

const char *disk_name(const struct disk *d)
{
    return "disk";
}

int blk_flush(struct disk *d)
{
    d->flushes++;
    if (d->fail_flush != 0 && --d->fail_flush == 0)
        return -EIO;
    record(d, 0, NULL, 0);
    return 0;
}

void blk_submit(struct blk_req *r)
{
    uint64_t sector = r->sector;

    r->error = 0;
    for (unsigned i = 0; i < r->nvecs; i++) {
        int err =
            blk_rw(r->disk, r->op, sector, (uint8_t *)r->vec[i].pg + r->vec[i].off, r->vec[i].len);

        if (err != 0)
            r->error = err;
        sector += r->vec[i].len / SECTOR_SIZE;
    }
    r->done(r);
}

/* ---- the caller's side of the file system ---- */
uint64_t host_ordered_from, host_ordered_to;
unsigned host_ordered;

static int write_data(struct ext_inode *i, struct ext_bytes b, bool wait)
{
    host_ordered_from = b.lo;
    host_ordered_to = b.hi;
    host_ordered += wait;
    return 0; /* host_write() has written it already */
}

void (*host_dropping)(struct ext_inode *i, uint64_t size);

static void drop_pages(struct ext_inode *i, uint64_t size)
{
    if (host_dropping != NULL)
        host_dropping(i, size);
}

static bool may_evict(struct ext_inode *i)
{
    return true;
}

bool (*host_privileged)(void);

static bool privileged(void)
{
    return host_privileged == NULL || host_privileged();
}

static const struct vnodeops ops = {.inactive = ext_inactive};
static const struct pager_ops pager;
/* Memory is freed without further action. */
unsigned host_waits;

enum mem_wait mem_wait(struct mem_need *need)
{
    host_waits++;
    return need->tries-- > MEM_TRIES - 16 ? MEM_FREED : MEM_EXHAUSTED;
}

static const struct ext_up up = {&ops, &pager, write_data, drop_pages, may_evict, privileged};

int host_mount(struct disk *d, bool rdonly, struct ext_fs **out)
{
    static struct vfs vfs;

    vfs = (struct vfs){.type = "ext3"};
    host_reason[0] = '\0';
    return ext_mount(d, "disk", rdonly, &vfs, &up, out, host_reason, sizeof host_reason);
}

int host_unmount(struct ext_fs *fs)
{
    int err = ext_sync(fs);

    /* as in the kernel: unmounting goes on even if files could not be cut */
    if (icache_drop(fs) != 0 && !fs->rdonly) {
        fs->leaving = true;
        if (icache_drop(fs) != 0)
            return -EBUSY;
    }
    return ext_unmount(fs) != 0 ? -EIO : err;
}

int host_parent(struct ext_fs *fs, const char *path, struct ext_inode **dir, const char **name)
{
    struct ext_inode *d, *next;
    int err = ext_iget(fs, EXT_ROOT_INO, &d);

    while (err == 0) {
        const char *end;

        while (*path == '/')
            path++;
        if ((end = strchr(path, '/')) == NULL) {
            *dir = d;
            *name = path;
            return 0;
        }
        err = d->vn.type != VDIR ? -ENOTDIR : ext_lookup(d, path, (size_t)(end - path), &next);
        ext_iput(d);
        d = next;
        path = end;
    }
    return err;
}

int host_path(struct ext_fs *fs, const char *path, struct ext_inode **out)
{
    struct ext_inode *dir;
    const char *name;
    int err = host_parent(fs, path, &dir, &name);

    if (err != 0)
        return err;
    if (*name == '\0') {
        *out = dir;
        return 0;
    }
    err = dir->vn.type != VDIR ? -ENOTDIR : ext_lookup(dir, name, strlen(name), out);
    ext_iput(dir);
    return err;
}

long host_read(struct ext_inode *i, void *buf, size_t n, uint64_t off)
{
    struct ext_fs *fs = i->fs;
    uint8_t *block, *to = buf;
    size_t done = 0;

    if (off >= i->vn.size)
        return 0;
    n = min_of(n, i->vn.size - off);
    block = malloc(fs->bsize);
    while (done < n) {
        uint32_t in = (uint32_t)(off & (fs->bsize - 1)), pblk, got;
        size_t k = min_of(n - done, (size_t)(fs->bsize - in));
        int err = ext_map(i, off >> fs->bshift, 1, &pblk, &got);

        if (err == 0 && pblk == 0)
            memset(block, 0, fs->bsize);
        else if (err == 0)
            err = ext_io_one(fs, BLK_READ, pblk, block);
        if (err != 0) {
            free(block);
            return err;
        }
        memcpy(to + done, block + in, k);
        done += k;
        off += k;
    }
    free(block);
    return (long)done;
}

static void zero_new(void *arg, uint64_t lblk, uint32_t n)
{
    struct ext_inode *i = arg;
    struct ext_fs *fs = i->fs;
    uint8_t *block = calloc(1, fs->bsize);
    uint32_t pblk, got;

    for (uint32_t k = 0; k < n; k++)
        if (ext_map(i, lblk + k, 1, &pblk, &got) == 0 && pblk != 0)
            ext_io_one(fs, BLK_WRITE, pblk, block);
    free(block);
}

long host_write(struct ext_inode *i, const void *buf, size_t n, uint64_t off)
{
    struct ext_fs *fs = i->fs;
    const uint8_t *from = buf;
    uint8_t *block;
    size_t done = 0;
    int err = ext_prepare(i, off, n, true, zero_new, i);

    if (err != 0) {
        ext_trim(i);
        return err;
    }
    block = malloc(fs->bsize);
    while (done < n && err == 0) {
        uint32_t in = (uint32_t)(off & (fs->bsize - 1)), pblk, got;
        size_t k = min_of(n - done, (size_t)(fs->bsize - in));

        err = ext_map(i, off >> fs->bshift, 1, &pblk, &got);
        if (err == 0 && k < fs->bsize)
            err = ext_io_one(fs, BLK_READ, pblk, block);
        memcpy(block + in, from + done, k);
        if (err == 0)
            err = ext_io_one(fs, BLK_WRITE, pblk, block);
        done += k;
        off += k;
    }
    free(block);
    if (err == 0 && off > i->vn.size)
        i->vn.size = off;
    vn_times_now(&i->vn, VA_MTIME);
    if (err == 0)
        ext_idirty(i);
    else
        ext_trim(i);
    return err != 0 ? err : (long)n;
}

int host_truncate(struct ext_inode *i, uint64_t size)
{
    uint64_t in = size & (i->fs->bsize - 1);

    if (size >= i->vn.size) {
        i->vn.size = size;
        ext_idirty(i);
        return 0;
    }
    if (in != 0) { /* the bytes beyond the end of the file must be zero */
        uint8_t *block = malloc(i->fs->bsize);
        uint32_t pblk, got;

        if (ext_map(i, size >> i->fs->bshift, 1, &pblk, &got) == 0 && pblk != 0 &&
            ext_io_one(i->fs, BLK_READ, pblk, block) == 0) {
            memset(block + in, 0, i->fs->bsize - in);
            ext_io_one(i->fs, BLK_WRITE, pblk, block);
        }
        free(block);
    }
    return ext_truncate(i, size);
}
