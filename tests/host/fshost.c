// SPDX-License-Identifier: MIT
/*
 * fshost.c - stand-ins for what kernel/fs calls: memory, page objects, locks, time, user
 * memory.
 */
#include "ipc/ipc.h"
#include "blk/blk.h"
#include "vfs/bdev.h"
#include "vfs/file.h"

#include <errno.h>
#include <string.h>

#include "disp/timer.h"
#include "fs/ext/ext_init.h"
#include "pages/filecache.h"
#include "fs/devfs/statdev.h"
#include "fs/sysfs/sysfs.h"
#include "fs/tmpfs/tmpfs.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "vm/vm.h"

int host_signals;
long host_pages, host_page_limit = -1, host_fault_after = -1;

/* ---- memory ---- */
struct page *page_alloc(unsigned node, unsigned order, unsigned flags)
{
    struct host_page *p;

    if (host_page_limit >= 0 && host_pages >= host_page_limit)
        return NULL;
    p = calloc(1, sizeof *p);
    p->data = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
    memset(p->data, 0xa5, PAGE_SIZE); /* stands for the old contents of a frame */
    p->pg.refs = 1;
    host_pages++;
    return &p->pg;
}

void page_free(struct page *pg)
{
    free(((struct host_page *)pg)->data);
    free(pg);
    host_pages--;
}

void page_zero(struct page *pg, unsigned order)
{
    memset(page_to_virt(pg), 0, PAGE_SIZE);
}

uint64_t host_spare_pages = UINT64_MAX;

bool reserve_spares(uint64_t pages)
{
    return pages <= host_spare_pages;
}

uint64_t mem_total_pages(void)
{
    return 2000;
}

/* ---- page objects: a list of all pages of all objects; with HOST_REAL_OBJECTS the test uses the kernel's ---- */
#ifndef HOST_REAL_OBJECTS
struct slot {
    struct slot *next;
    struct vm_object *obj;
    uint64_t index;
    struct page *pg;
};
static struct slot *slots;

void object_init_vnode(struct vm_object *o, const struct pager_ops *ops, void *vnode)
{
    memset(o, 0, sizeof *o);
    o->ops = ops;
    o->owner = vnode;
}

static int get(struct vm_object *o, uint64_t index, bool create, bool overwrite, struct page **out)
{
    struct slot *s;
    int err;

    host_check(host_spins_held == 0, "page asked for under a spin lock");
    for (s = slots; s != NULL; s = s->next)
        if (s->obj == o && s->index == index) {
            *out = s->pg;
            page_hold(s->pg);
            return 0;
        }
    *out = NULL;
    if (!create)
        return 0;
    if ((*out = page_alloc(0, 0, 0)) == NULL)
        return -ENOMEM;
    (*out)->obj = o;
    (*out)->index = index;
    if (!overwrite && (err = o->ops->getpage(o, *out)) != 0) {
        page_release(*out);
        *out = NULL;
        return err;
    }
    s = malloc(sizeof *s);
    *s = (struct slot){slots, o, index, *out};
    slots = s;
    o->npages++;
    page_hold(*out);
    return 0;
}

struct page *object_page_find(struct vm_object *o, uint64_t index)
{
    struct page *pg;

    return get(o, index, false, false, &pg) == 0 ? pg : NULL;
}

int object_page_get(struct vm_object *o, uint64_t index, struct page **out)
{
    return get(o, index, true, false, out);
}

int object_page_get_overwrite(struct vm_object *o, uint64_t index, struct page **out)
{
    return get(o, index, true, true, out);
}

void object_punch(struct vm_object *o, uint64_t first, uint64_t last)
{
    for (struct slot **p = &slots; *p != NULL;) {
        struct slot *s = *p;

        if (s->obj != o || s->index < first || s->index > last) {
            p = &s->next;
            continue;
        }
        *p = s->next;
        o->npages--;
        page_release(s->pg);
        free(s);
    }
}

void object_truncate(struct vm_object *o, uint64_t first)
{
    object_punch(o, first, UINT64_MAX);
}

/* No file here is on a disk. */
void object_set_dirty(struct vm_object *o, struct page *pg)
{
    atomic_fetch_or(&pg->flags, PG_DIRTY);
}

int object_sync(struct vm_object *o, uint64_t first, uint64_t last)
{
    return 0;
}

void object_throttle(struct vm_object *o)
{
}

void page_wait(struct page *pg, uint32_t mask)
{
    host_check((pg->flags & mask) == 0, "a single thread waits for a page");
}

void object_prepare_begin(struct page *pg)
{
    abort();
}

void object_prepare_end(struct vm_object *o, struct page *pg, int err)
{
    abort();
}

/* The functions of filecache.c. */
int cache_page_get(struct vm_object *o, uint64_t off, const struct uio *uio, struct page **pg)
{
    return object_page_get(o, off >> PAGE_SHIFT, pg);
}

void cache_read_end(struct vm_object *o, const struct readahead *ra, uint64_t off, size_t n)
{
}

int cache_write(struct file_write *w)
{
    abort();
}

int cache_page_allocate(struct vm_object *o, uint64_t index, size_t n, struct page **pg)
{
    abort();
}

bool cache_has_blocks(struct vm_object *o, uint64_t index)
{
    abort();
}
#endif

void object_forget_nodes(struct vm_object *o)
{
    host_check(o->policies == NULL, "a file has policies for nodes");
}

/* ---- waiting ---- */
int cv_wait_sig(struct cv *cv, struct mutex *m, uint64_t deadline, const char *what)
{
    return -EINTR; /* no other thread could wake this one: acts as if a signal had arrived */
}

void epoll_init(void)
{
}

void sigio_file_gone(struct file *f)
{
}

void epoll_file_gone(struct file *f)
{
}

void pollhead_init(struct pollhead *ph)
{
}

void poll_register(struct poller *p, struct pollhead *ph)
{
}

void poll_wake(struct pollhead *ph)
{
}

/* ---- other functions ---- */
void uio_init_kernel(struct uio *uio, struct iovec *one, void *buf, size_t n, enum uio_dir dir)
{
    *one = (struct iovec){.base = (uintptr_t)buf, .len = n};
    *uio = (struct uio){.iov = one, .niov = 1, .resid = n, .dir = dir};
}

int uio_move(void *kbuf, size_t n, struct uio *uio)
{
    uint8_t *user = (uint8_t *)(uintptr_t)uio->iov->base + uio->skip;
    int err = 0;

    host_check(host_spins_held == 0, "copy to a program under a spin lock");
    n = min_of(n, uio->resid);
    if (host_fault_after >= 0 && n > (size_t)host_fault_after) {
        n = (size_t)host_fault_after;
        err = -EFAULT;
    }
    if (host_fault_after >= 0)
        host_fault_after -= (long)n;
    if (uio->dir == UIO_READ)
        memcpy(user, kbuf, n);
    else
        memcpy(kbuf, user, n);
    uio->skip += n;
    uio->resid -= n;
    return err;
}

int copy_out(uint64_t uaddr, const void *src, size_t n)
{
    memcpy((void *)(uintptr_t)uaddr, src, n);
    return 0;
}

/* Parts of the folder that are not built here. */
void devmem_init(void)
{
}

char system_root_fs[16], system_root_dev[96];

void ext_init(void)
{
}

void sysfs_init(void)
{
}

void statdev_init(void)
{
}

/* ---- disks: there are none ---- */

struct disk *disk_next(struct disk *d)
{
    return NULL;
}

const char *disk_name(const struct disk *d)
{
    return NULL;
}

uint64_t disk_dev(const struct disk *d)
{
    return 0;
}

int bdev_open(struct vnode *vn, int oflags, struct file *f)
{
    return -ENXIO;
}

int bdev_fsync(uint64_t rdev)
{
    return -ENXIO;
}

/* No file here is mapped. */
void as_drop_private(struct vm_object *o, uint64_t first, uint64_t last)
{
}

void bdev_sync_all(void)
{
}

void bdev_init(void)
{
}
