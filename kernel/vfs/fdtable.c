// SPDX-License-Identifier: MIT
/*
 * fdtable.c - descriptor tables.
 *
 * THEORY      A descriptor is an index into an array of pointers to open files.  POSIX demands that a new
 *             descriptor is the lowest free number.  To find it quickly, a bit map marks the slots in use
 *             (`open`) and is searched 64 bits at a time, beginning at word `hint`; all words before it are
 *             full.  A second bit map marks the descriptors that exec closes.
 *             The first 64 slots are part of the struct.  When a table is full, its size is doubled.
 *             A table is private if it has one reference and its process has never had a second thread.  Only
 *             that one thread changes a private table, so that thread reads slots without the lock.  A
 *             thread of another process (procfs) takes a reference first, and never changes the table.
 * INVARIANTS  I1  bit fd of `open` is set iff files[fd] != NULL; if it is clear, bit fd of `cloexec` has no
 *                 meaning
 *             I2  all words of `open` below `hint` are full
 * LOCKING     t->lock (RANK_FD) is held for all changes, and for reading a table that is not private.
 * SEE ALSO    file.c
 */
#include "vfs/filepriv.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"

#define FD_INLINE 64u
#define FD_MAX    (1u << 20)

struct fdtable {
    _Atomic uint32_t refs;
    bool shared;         /* the process of the table has had several threads; never cleared */
    _Atomic bool locked; /* the table has had fcntl locks (filelock.c); never cleared */
    struct spinlock lock;
    uint32_t size; /* slots, a multiple of 64 */
    uint32_t hint; /* index of the first word of `open` that can have a clear bit (I2) */
    struct file **files;
    uint64_t *open, *cloexec;
    struct file *files0[FD_INLINE];
    uint64_t bits0[2];
};

static struct kmem_cache *fdtable_cache;

void fdtable_init(void)
{
    fdtable_cache = kmem_cache_create("fdtable", sizeof(struct fdtable), 64);
}

struct fdtable *fdtable_create(void)
{
    struct fdtable *t = kmem_cache_alloc_wait(fdtable_cache);

    if (t == NULL)
        return NULL;
    memset(t, 0, sizeof *t);
    t->refs = 1;
    spin_init(&t->lock, RANK_FD);
    t->size = FD_INLINE;
    t->files = t->files0;
    t->open = &t->bits0[0];
    t->cloexec = &t->bits0[1];
    return t;
}

void fdtable_hold(struct fdtable *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
}

void fdtable_share(struct fdtable *t)
{
    t->shared = true;
}

bool fdtable_private(const struct fdtable *t)
{
    return !t->shared && atomic_load_explicit(&t->refs, memory_order_acquire) == 1;
}

/* Doubles the table until it has slot `fd`.  The caller holds the lock.  0 or -ENOMEM. */
static int expand_fdtable(struct fdtable *t, unsigned fd)
{
    unsigned size = t->size, words;
    struct file **files, **old = t->files;
    uint64_t *bits;

    while (size <= fd)
        size *= 2;
    words = size / 64;
    files = kmem_zalloc(size * sizeof *files + 2 * words * sizeof *bits);
    if (files == NULL)
        return -ENOMEM;
    bits = (uint64_t *)(files + size);
    memcpy(files, t->files, t->size * sizeof *files);
    memcpy(bits, t->open, t->size / 8);
    memcpy(bits + words, t->cloexec, t->size / 8);
    t->files = files;
    t->open = bits;
    t->cloexec = bits + words;
    t->size = size;
    if (old != t->files0)
        kmem_free(old);
    return 0;
}

struct fdtable *fdtable_copy(struct fdtable *t)
{
    struct fdtable *n = fdtable_create();

    if (n == NULL)
        return NULL;
    spin_lock(&t->lock);
    if (t->size > n->size && expand_fdtable(n, t->size - 1) != 0) {
        spin_unlock(&t->lock);
        kmem_cache_free(fdtable_cache, n);
        return NULL;
    }
    for (unsigned w = 0; w < t->size / 64; w++) {
        n->open[w] = t->open[w];
        n->cloexec[w] = t->cloexec[w];
        for (uint64_t m = t->open[w]; m != 0; m &= m - 1) {
            unsigned fd = w * 64 + (unsigned)__builtin_ctzll(m);
            struct file *f = t->files[fd];

            file_hold(f);
            n->files[fd] = f;
        }
    }
    spin_unlock(&t->lock);
    return n;
}

void fdtable_set_locked(struct fdtable *t)
{
    atomic_store_explicit(&t->locked, true, memory_order_relaxed);
}

/* A descriptor of `f` has been closed: removes the table's locks of the file, which others may have by the thousand. */
static void remove_locks(struct fdtable *t, struct file *f)
{
    if (unlikely(atomic_load_explicit(&t->locked, memory_order_relaxed)) && f->vn != NULL)
        filelocks_drop(f, t);
}

void fdtable_release(struct fdtable *t)
{
    if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int fd = -1; (fd = fd_next(t, fd + 1)) >= 0;) {
        remove_locks(t, t->files[fd]);
        file_release(t->files[fd]);
    }
    if (t->files != t->files0)
        kmem_free(t->files);
    kmem_cache_free(fdtable_cache, t);
}

struct file *fd_peek(struct fdtable *t, int fd)
{
    return (unsigned)fd < t->size ? t->files[fd] : NULL;
}

struct file *fd_get(struct fdtable *t, int fd)
{
    struct file *f;

    if (likely(fdtable_private(t))) {
        f = fd_peek(t, fd);
        if (likely(f != NULL))
            file_hold(f);
        return f;
    }
    spin_lock(&t->lock);
    f = fd_peek(t, fd);
    if (f != NULL)
        file_hold(f);
    spin_unlock(&t->lock);
    return f;
}

static inline void assign_bit(uint64_t *map, unsigned i, bool on)
{
    if (on)
        map[i / 64] |= 1ull << i % 64;
    else
        map[i / 64] &= ~(1ull << i % 64);
}

/* The lowest free descriptor >= min; it can be beyond the last slot.  The caller holds the lock. */
static unsigned find_lowest_free_fd(struct fdtable *t, unsigned min)
{
    unsigned w = max_of(t->hint, min / 64);

    for (; w < t->size / 64; w++) {
        uint64_t m = ~t->open[w];

        if (w == min / 64)
            m &= ~0ull << min % 64;
        if (m != 0)
            return w * 64 + (unsigned)__builtin_ctzll(m);
    }
    return max_of(w * 64, min);
}

int fd_install(struct fdtable *t, struct file *f, int min, unsigned fdflags, unsigned limit)
{
    unsigned fd;
    int err = 0;

    spin_lock(&t->lock);
    fd = find_lowest_free_fd(t, (unsigned)min);
    if (fd >= min_of(limit, FD_MAX))
        err = -EMFILE;
    else if (fd >= t->size)
        err = expand_fdtable(t, fd);
    if (err == 0) {
        t->files[fd] = f;
        assign_bit(t->open, fd, true);
        assign_bit(t->cloexec, fd, fdflags & FD_CLOEXEC);
        while (t->hint < t->size / 64 && t->open[t->hint] == ~0ull)
            t->hint++;
    }
    spin_unlock(&t->lock);
    return err != 0 ? err : (int)fd;
}

bool fd_full(struct fdtable *t, unsigned limit)
{
    bool full;

    spin_lock(&t->lock);
    full = find_lowest_free_fd(t, 0) >= min_of(limit, FD_MAX);
    spin_unlock(&t->lock);
    return full;
}

int fd_install_at(struct fdtable *t, struct file *f, int fd, unsigned fdflags)
{
    struct file *old;
    int err = 0;

    if ((unsigned)fd >= FD_MAX)
        return -EBADF;
    spin_lock(&t->lock);
    if ((unsigned)fd >= t->size)
        err = expand_fdtable(t, (unsigned)fd);
    if (err != 0) {
        spin_unlock(&t->lock);
        return err;
    }
    old = t->files[fd];
    t->files[fd] = f;
    assign_bit(t->open, (unsigned)fd, true);
    assign_bit(t->cloexec, (unsigned)fd, fdflags & FD_CLOEXEC);
    spin_unlock(&t->lock);
    if (old != NULL) {
        remove_locks(t, old);
        file_release(old);
    }
    return fd;
}

int fd_close(struct fdtable *t, int fd)
{
    struct file *f;

    spin_lock(&t->lock);
    f = fd_peek(t, fd);
    if (f != NULL) {
        t->files[fd] = NULL;
        assign_bit(t->open, (unsigned)fd, false);
        t->hint = min_of(t->hint, (unsigned)fd / 64);
    }
    spin_unlock(&t->lock);
    if (f == NULL)
        return -EBADF;
    remove_locks(t, f);
    file_release(f);
    return 0;
}

int fd_check_lock(struct fdtable *t, int fd, struct file *f)
{
    bool same;

    spin_lock(&t->lock);
    same = fd_peek(t, fd) == f;
    spin_unlock(&t->lock);
    if (same)
        return 0; /* a later close of fd will find and remove the lock */
    remove_locks(t, f);
    return -EBADF;
}

int fd_get_flags(struct fdtable *t, int fd)
{
    int r = -EBADF;

    spin_lock(&t->lock);
    if (fd_peek(t, fd) != NULL)
        r = t->cloexec[fd / 64] >> fd % 64 & 1 ? FD_CLOEXEC : 0;
    spin_unlock(&t->lock);
    return r;
}

int fd_set_flags(struct fdtable *t, int fd, unsigned fdflags)
{
    int r = -EBADF;

    spin_lock(&t->lock);
    if (fd_peek(t, fd) != NULL) {
        assign_bit(t->cloexec, (unsigned)fd, fdflags & FD_CLOEXEC);
        r = 0;
    }
    spin_unlock(&t->lock);
    return r;
}

int fd_next(struct fdtable *t, int fd)
{
    int r = -1;

    if (fd < 0)
        return -1;
    spin_lock(&t->lock);
    for (unsigned w = (unsigned)fd / 64; r < 0 && w < t->size / 64; w++) {
        uint64_t m = t->open[w];

        if (w == (unsigned)fd / 64)
            m &= ~0ull << (unsigned)fd % 64;
        if (m != 0)
            r = (int)(w * 64 + (unsigned)__builtin_ctzll(m));
    }
    spin_unlock(&t->lock);
    return r;
}

void fdtable_close_on_exec(struct fdtable *t)
{
    for (unsigned w = 0; w < t->size / 64; w++) {
        uint64_t m;

        while ((m = t->cloexec[w] & t->open[w]) != 0)
            fd_close(t, (int)(w * 64 + (unsigned)__builtin_ctzll(m)));
    }
}
