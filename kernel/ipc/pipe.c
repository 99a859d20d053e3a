// SPDX-License-Identifier: MIT
/*
 * pipe.c - pipes and FIFOs.
 *
 * THEORY      A pipe is a buffer between two programs.  A writer sleeps while the buffer is full, a
 *             reader sleeps while the buffer is empty.
 *             The buffer is a ring of 64 KiB in 16 pages; `count` bytes of it are in use, beginning at
 *             `start`.  fcntl(F_SETPIPE_SZ) changes the number of pages.  A page is allocated when it is first
 *             written, and kept until the pipe is freed.  An empty pipe starts again at its first page, so that a
 *             pipe with little traffic needs only one page.
 *             When a user makes a pipe, all its pages are charged to that user immediately (mem/usermem.h), so
 *             that no later write fails because of the limit.  A user that already holds much memory gets pipes
 *             of 8 KiB, as on Linux beyond pipe-user-pages-soft.
 *             A FIFO (named pipe) is a vnode; all its opens share one pipe, which exists while at least one
 *             file has it open.  An open for reading waits until the FIFO is open for writing, and an open for
 *             writing waits until the FIFO is open for reading.
 * INVARIANTS  I1  start < size, count <= size; size is a power of 2
 *             I2  a write of at most PIPE_BUF bytes is not mixed with other writes: it starts only
 *                 when all of its bytes fit
 *             I3  nreaders and nwriters count opens.  refs counts the open files and the vnodes of
 *                 pipe_vnode(); the thread that drops the last reference frees the pipe, after it has
 *                 released the lock
 * LOCKING     p->lock guards all fields.  It is a mutex, because copying to and from programs can fault.  poll
 *             reads `size`, `count`, nreaders and nwriters without the lock.  fifo_mutex guards vn->fifo, and is taken
 *             before p->lock.
 * SEE ALSO    poll.c, tests/test_fs.py
 */
#include "ipc/ipc.h"
#include "vfs/filepriv.h"

#include "lib/cpu.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/page.h"
#include "mem/usermem.h"
#include "x86/uaccess.h"

#define PIPE_PAGES 16u
#define FEW_PAGES  2u /* pages of a pipe whose user already holds much memory */
#define PIPE_BUF   4096u

struct pipe {
    struct mutex lock;
    _Atomic uint32_t size; /* bytes */
    uint32_t start;
    _Atomic uint32_t count;
    _Atomic uint32_t refs;
    uint32_t nreaders, nwriters;
    uint32_t rwait, wwait; /* threads that sleep on rcv, on wcv */
    /* FIFO: number of opens so far for reading, for writing: wait_for_partner() */
    uint32_t ropens, wopens;
    struct cv rcv, wcv;
    struct pollhead ph;
    struct usermem *payer;
    struct page **page; /* size / PAGE_SIZE elements; `few`, or allocated by resize_ring() */
    struct page *few[PIPE_PAGES];
};

static struct kmem_cache *pipe_cache;
static struct mutex fifo_mutex;

static const struct fileops read_ops, write_ops, rdwr_ops;

static size_t pipe_cost(uint32_t size)
{
    return sizeof(struct pipe) + size;
}

/* Makes a pipe, *out, with 0 references.  0, -ENFILE: the user's memory limit is reached; -ENOMEM. */
static int pipe_alloc(struct pipe **out)
{
    uint32_t size = (usermem_scarce() ? FEW_PAGES : PIPE_PAGES) * (uint32_t)PAGE_SIZE;
    struct usermem *payer = usermem_charge(pipe_cost(size));
    struct pipe *p;

    if (payer == NULL)
        return -ENFILE;
    p = kmem_cache_alloc(pipe_cache);
    if (p == NULL) {
        usermem_return(payer, pipe_cost(size));
        return -ENOMEM;
    }
    memset(p, 0, sizeof *p);
    p->size = size;
    p->page = p->few;
    p->payer = payer;
    mutex_init(&p->lock, SLEEP_PIPE);
    cv_init(&p->rcv);
    cv_init(&p->wcv);
    pollhead_init(&p->ph);
    *out = p;
    return 0;
}

/* Frees the pages of the ring from page `first` on. */
static void free_ring_pages(struct pipe *p, uint32_t first)
{
    for (uint32_t i = first; i < p->size / PAGE_SIZE; i++)
        if (p->page[i] != NULL)
            page_free(p->page[i]);
}

static void pipe_drop(struct pipe *p)
{
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    free_ring_pages(p, 0);
    if (p->page != p->few)
        kmem_free(p->page);
    usermem_return(p->payer, pipe_cost(p->size));
    kmem_cache_free(pipe_cache, p);
}

static inline uint32_t bytes_in_pipe(const struct pipe *p)
{
    return atomic_load_explicit(&p->count, memory_order_relaxed);
}

static inline void set_bytes_in_pipe(struct pipe *p, uint32_t n)
{
    atomic_store_explicit(&p->count, n, memory_order_relaxed);
}

static inline struct page *alloc_ring_page(void)
{
    return page_alloc(this_cpu()->node, 0, ALLOC_WAIT | ALLOC_UNPAGEABLE);
}

/* Moves n bytes between the uio and one page of the ring, from byte `at` of the ring on. */
static inline int move_within_page(struct pipe *p, uint32_t at, uint32_t n, struct uio *uio)
{
    struct page **pg = &p->page[at / PAGE_SIZE];

    if (unlikely(*pg == NULL)) {
        *pg = alloc_ring_page();
        if (*pg == NULL)
            return -ENOMEM;
    }
    return uio_move((uint8_t *)page_to_virt(*pg) + at % PAGE_SIZE, n, uio);
}

static __attribute__((noinline)) int move_across_pages(struct pipe *p, uint32_t at, uint32_t n,
                                                       struct uio *uio)
{
    int err = 0;

    while (n > 0 && err == 0) {
        uint32_t len = min_of((uint32_t)(PAGE_SIZE - at % PAGE_SIZE), n);

        err = move_within_page(p, at, len, uio);
        at = (at + len) & (p->size - 1);
        n -= len;
    }
    return err;
}

/*
 * Moves n bytes between the uio and the ring, from byte `at` of the ring on.  0, -ENOMEM or -EFAULT: then
 * uio->resid tells how many bytes were moved.
 */
static inline int move_pipe_bytes(struct pipe *p, uint32_t at, uint32_t n, struct uio *uio)
{
    at &= p->size - 1;
    return likely(at % PAGE_SIZE + n <= PAGE_SIZE) ? move_within_page(p, at, n, uio)
                                                   : move_across_pages(p, at, n, uio);
}

static long pipe_read(struct file *f, struct uio *uio, loff_t off)
{
    struct pipe *p = f->data;
    size_t want = uio->resid;
    uint32_t n;
    bool wake;
    int err = 0;

    if (want == 0)
        return 0;
    mutex_enter(&p->lock);
    while ((n = bytes_in_pipe(p)) == 0) {
        if (p->nwriters == 0)
            goto out;
        if (f->flags & O_NONBLOCK) {
            err = -EAGAIN;
            goto out;
        }
        p->rwait++;
        err = cv_wait_sig(&p->rcv, &p->lock, NO_DEADLINE, "pipe read");
        p->rwait--;
        if (err != 0) {
            err = -ERESTARTSYS;
            goto out;
        }
    }
    err = move_pipe_bytes(p, p->start, (uint32_t)min_of((size_t)n, want), uio);
    n = (uint32_t)(want - uio->resid);
    set_bytes_in_pipe(p, bytes_in_pipe(p) - n);
    p->start = bytes_in_pipe(p) == 0 ? 0 : (p->start + n) & (p->size - 1);
    wake = p->wwait != 0;
    mutex_exit(&p->lock);
    if (wake)
        cv_broadcast(&p->wcv);
    poll_wake(&p->ph);
    return n != 0 ? (long)n : err;
out:
    mutex_exit(&p->lock);
    return err;
}

/* Waits until `need` bytes fit.  The caller holds the lock.  0, -EPIPE: no reader is left; -EAGAIN, -ERESTARTSYS. */
static int wait_for_room(struct pipe *p, struct file *f, uint32_t need)
{
    for (;;) {
        int err;

        if (unlikely(p->nreaders == 0))
            return -EPIPE;
        if (likely(p->size - bytes_in_pipe(p) >= need))
            return 0;
        if (f->flags & O_NONBLOCK)
            return -EAGAIN;
        p->wwait++;
        err = cv_wait_sig(&p->wcv, &p->lock, NO_DEADLINE, "pipe write");
        p->wwait--;
        if (err != 0)
            return -ERESTARTSYS;
    }
}

static long pipe_write(struct file *f, struct uio *uio, loff_t off)
{
    struct pipe *p = f->data;
    size_t total = uio->resid;
    uint32_t need = total <= PIPE_BUF ? (uint32_t)total : 1; /* I2 */
    int err = 0;

    if (total == 0)
        return 0;
    mutex_enter(&p->lock);
    while (uio->resid != 0 && err == 0) {
        size_t before = uio->resid;
        uint32_t used, room;

        err = wait_for_room(p, f, need);
        if (err != 0)
            break;
        used = bytes_in_pipe(p);
        room = p->size - used;
        err = move_pipe_bytes(p, p->start + used, (uint32_t)min_of((size_t)room, before), uio);
        set_bytes_in_pipe(p, used + (uint32_t)(before - uio->resid));
        /* the pipe is full: wake the readers before sleeping */
        if (uio->resid != 0 && uio->resid != before) {
            if (p->rwait != 0)
                cv_broadcast(&p->rcv);
            poll_wake(&p->ph);
        }
    }
    total -= uio->resid;
    if (total != 0) {
        bool wake = p->rwait != 0;

        mutex_exit(&p->lock);
        if (wake)
            cv_broadcast(&p->rcv);
        poll_wake(&p->ph);
        return (long)total;
    }
    mutex_exit(&p->lock);
    if (err == -EPIPE && !uio->no_sigpipe)
        proc_signal_self(SIGPIPE);
    return err;
}

static unsigned pipe_poll(struct file *f, struct poller *poller)
{
    struct pipe *p = f->data;
    unsigned r = 0, flags = f->flags & O_ACCMODE;
    uint32_t n;

    if (poller != NULL)
        poll_register(poller, &p->ph);
    n = bytes_in_pipe(p);
    if (flags != O_WRONLY) {
        if (n != 0)
            r |= POLLIN | POLLRDNORM;
        if (p->nwriters == 0)
            r |= POLLHUP;
    }
    if (flags != O_RDONLY) {
        if (n + PIPE_BUF <= p->size) /* `size` may have changed since `n` was read */
            r |= POLLOUT | POLLWRNORM;
        if (p->nreaders == 0)
            r |= POLLERR;
    }
    return r;
}

static void pipe_close(struct file *f)
{
    struct pipe *p = f->data;
    unsigned acc = f->flags & O_ACCMODE;
    struct vnode *vn = f->vn;
    bool gone;

    if (vn != NULL)
        mutex_enter(&fifo_mutex);
    mutex_enter(&p->lock);
    if (acc != O_WRONLY)
        p->nreaders--;
    if (acc != O_RDONLY)
        p->nwriters--;
    gone = p->nreaders == 0 && p->nwriters == 0;
    if (!gone) {
        cv_broadcast(&p->rcv);
        cv_broadcast(&p->wcv);
        poll_wake(&p->ph);
    }
    mutex_exit(&p->lock);
    if (vn != NULL && gone && vn->fifo == p)
        vn->fifo = NULL;
    if (vn != NULL)
        mutex_exit(&fifo_mutex);
    pipe_drop(p);
}

/* FIONREAD: the number of bytes that can be read. */
static long pipe_ioctl(struct file *f, unsigned cmd, uint64_t arg)
{
    enum { FIONREAD = 0x541b };
    int n = (int)bytes_in_pipe(f->data);

    return cmd == FIONREAD ? copy_out(arg, &n, sizeof n) : -ENOTTY;
}

static const struct fileops read_ops = {
    .read = pipe_read, .poll = pipe_poll, .ioctl = pipe_ioctl, .close = pipe_close};
static const struct fileops write_ops = {
    .write = pipe_write, .poll = pipe_poll, .ioctl = pipe_ioctl, .close = pipe_close};
static const struct fileops rdwr_ops = {.read = pipe_read,
                                        .write = pipe_write,
                                        .poll = pipe_poll,
                                        .ioctl = pipe_ioctl,
                                        .close = pipe_close};

int pipe_create(struct file **rd, struct file **wr, unsigned flags)
{
    struct pipe *p;
    int err = pipe_alloc(&p);

    if (err != 0)
        return err;
    flags &= O_NONBLOCK;
    *rd = file_alloc(&read_ops, NULL, O_RDONLY | flags);
    *wr = *rd == NULL ? NULL : file_alloc(&write_ops, NULL, O_WRONLY | flags);
    if (*wr == NULL) {
        p->refs = 1;
        if (*rd == NULL) {
            pipe_drop(p);
        } else {
            (*rd)->data = p;
            p->nreaders = 1;
            file_release(*rd);
        }
        return -ENFILE;
    }
    (*rd)->data = (*wr)->data = p;
    (*wr)->ino = file_ino(*rd);
    p->refs = 2;
    p->nreaders = p->nwriters = 1;
    return 0;
}

/* The pipe of an open file; NULL: the file is not a pipe. */
static struct pipe *pipe_of(struct file *f)
{
    return f->ops == &read_ops || f->ops == &write_ops || f->ops == &rdwr_ops ? f->data : NULL;
}

long pipe_size(struct file *f)
{
    struct pipe *p = pipe_of(f);

    return p != NULL ? (long)p->size : -EBADF;
}

/*
 * Gives the ring `size` bytes, at least bytes_in_pipe().  Its pages are turned so that the first byte is in page 0.
 * The end of the data may then be in page 0, too, before `start`, or in the first page that goes.  These bytes, less
 * than a page, move.  0 or -ENOMEM.  The caller holds the lock.
 */
static int resize_ring(struct pipe *p, uint32_t size)
{
    uint32_t pages = size / PAGE_SIZE, old_pages = p->size / PAGE_SIZE;
    uint32_t turn = p->start / PAGE_SIZE, start = p->start % PAGE_SIZE;
    uint32_t end = start + bytes_in_pipe(p), edge = min_of((uint32_t)p->size, size);
    struct page **page = kmem_zalloc(max_of(pages, old_pages) * sizeof *page);

    if (page == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < old_pages; i++)
        page[i] = p->page[(turn + i) % old_pages];
    if (end > edge && pages > old_pages) {
        page[old_pages] = alloc_ring_page();
        if (page[old_pages] == NULL) {
            kmem_free(page);
            return -ENOMEM;
        }
        memcpy(page_to_virt(page[old_pages]), page_to_virt(page[0]), end - edge);
    } else if (end > edge) {
        memcpy(page_to_virt(page[0]), page_to_virt(page[pages]), end - edge);
    }
    if (p->page != p->few)
        kmem_free(p->page);
    p->page = page;
    p->start = start;
    free_ring_pages(p, pages);
    p->size = size;
    if (pages <= PIPE_PAGES) {
        p->page = memcpy(p->few, page, pages * sizeof *page);
        kmem_free(page);
    }
    return 0;
}

/* pipe_set_size() for a size that is a power of two.  The caller holds the lock. */
static int set_ring_size(struct pipe *p, uint32_t size)
{
    uint32_t old = p->size;
    struct usermem *payer = NULL;
    int err;

    if (size > old && !proc_is_superuser() && (size > PIPE_MAX_SIZE || usermem_scarce()))
        return -EPERM;
    if (bytes_in_pipe(p) > size)
        return -EBUSY;
    if (size > old) {
        payer = usermem_charge(pipe_cost(size));
        if (payer == NULL)
            return -EPERM;
    }
    err = resize_ring(p, size);
    if (err != 0) {
        if (payer != NULL)
            usermem_return(payer, pipe_cost(size));
    } else if (payer != NULL) {
        usermem_return(p->payer, pipe_cost(old));
        p->payer = payer;
    } else {
        usermem_return(p->payer, old - size);
    }
    return err;
}

long pipe_set_size(struct file *f, uint32_t bytes)
{
    struct pipe *p = pipe_of(f);
    uint32_t size = PAGE_SIZE;
    int err = 0;

    if (p == NULL)
        return -EBADF;
    if (bytes > 1u << 31)
        return -EINVAL;
    while (size < bytes)
        size *= 2;
    mutex_enter(&p->lock);
    if (size != p->size)
        err = set_ring_size(p, size);
    cv_broadcast(&p->wcv);
    mutex_exit(&p->lock);
    poll_wake(&p->ph);
    return err != 0 ? err : (long)size;
}

/* ---- FIFOs ----------------------------------------------------------------------------------- */

/*
 * Waits until the other end is open: *others counts the files that have the other end open.  An
 * open that was closed again meanwhile also ends the wait; then *opens differs from `seen`.  The
 * caller holds the lock.  0 or -ERESTARTSYS.
 */
static int wait_for_partner(struct pipe *p, struct cv *cv, uint32_t *waiting,
                            const uint32_t *others, const uint32_t *opens, uint32_t seen)
{
    while (*others == 0 && *opens == seen) {
        int err;

        ++*waiting;
        err = cv_wait_sig(cv, &p->lock, NO_DEADLINE, "fifo open");
        --*waiting;
        if (err != 0)
            return -ERESTARTSYS;
    }
    return 0;
}

static const struct vnodeops pipe_vnode_ops;

static const struct fileops *pipe_ops_for(unsigned access)
{
    if (access == O_RDONLY)
        return &read_ops;
    return access == O_WRONLY ? &write_ops : &rdwr_ops;
}

int fifo_open(struct vnode *vn, int oflags, struct file *f)
{
    bool named = vn->op != &pipe_vnode_ops; /* the open of a pipe through /proc does not wait */
    unsigned acc = (unsigned)oflags & O_ACCMODE;
    struct pipe *p;
    int err = 0;

    mutex_enter(&fifo_mutex);
    if (vn->fifo == NULL)
        err = pipe_alloc(&vn->fifo);
    if (err != 0) {
        mutex_exit(&fifo_mutex);
        return err;
    }
    p = vn->fifo;
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    mutex_enter(&p->lock);
    f->data = p;
    f->ops = pipe_ops_for(acc);
    if (named && acc == O_WRONLY && (oflags & O_NONBLOCK) && p->nreaders == 0)
        err = -ENXIO;
    p->nreaders += acc != O_WRONLY;
    p->nwriters += acc != O_RDONLY;
    p->ropens += acc != O_WRONLY;
    p->wopens += acc != O_RDONLY;
    cv_broadcast(&p->rcv);
    cv_broadcast(&p->wcv);
    mutex_exit(&fifo_mutex);
    if (err == 0 && named && !(oflags & O_NONBLOCK)) {
        if (acc == O_RDONLY)
            err = wait_for_partner(p, &p->rcv, &p->rwait, &p->nwriters, &p->wopens, p->wopens);
        else if (acc == O_WRONLY)
            err = wait_for_partner(p, &p->wcv, &p->wwait, &p->nreaders, &p->ropens, p->ropens);
    }
    mutex_exit(&p->lock);
    if (err != 0)
        pipe_close(f);
    return err;
}

/* ---- a vnode for an anonymous pipe, made when /proc/PID/fd/N is opened ------------------------ */

static void pipe_vnode_inactive(struct vnode *vn)
{
    pipe_drop(vn->data);
    kmem_free(vn);
}

static const struct vnodeops pipe_vnode_ops = {.inactive = pipe_vnode_inactive};

struct vnode *pipe_vnode(struct file *f)
{
    struct pipe *p = pipe_of(f);
    struct vnode *vn = file_new_vnode(f, &pipe_vnode_ops);

    if (vn == NULL)
        return NULL;
    vn->fifo = vn->data = p;
    /*
     * This is a reference, but not an open: so the vnode alone does not keep readers from seeing
     * end of file.
     */
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return vn;
}

void pipe_init(void)
{
    pipe_cache = kmem_cache_create("pipe", sizeof(struct pipe), 64);
    mutex_init(&fifo_mutex, SLEEP_FIFO);
}
