// SPDX-License-Identifier: MIT
/*
 * lock.c - record locks: fcntl's ranges of bytes and flock's whole files.
 *
 * THEORY      A vnode has a list of locks.  fcntl's belong to a descriptor table (a process) and go when it closes any
 *             descriptor of the file; flock's belong to an open file and go with it.  The two kinds do not see each
 *             other, as on Linux.  Setting a range first takes it out of the owner's other locks, cutting them where
 *             they stick out, then adds it, joined with neighbours of the same type.
 *             Nothing looks for deadlocks: two processes that wait for each other wait until a signal comes.
 * INVARIANTS  I1  locks of one kind and owner on one vnode do not overlap
 * LOCKING     locks_mutex for all lists; those who wait for a lock all sleep on locks_cv.
 * SEE ALSO    tests/test_fs.py
 */
#include "fs/filepriv.h"

#include "lib/errno.h"
#include "mem/kmem.h"

#define RANGE_END INT64_MAX

struct filelock {
    struct filelock *next;
    const void *owner; /* struct fdtable, or struct file for flock */
    loff_t start, end;
    int type, pid;
    bool flock;
};

static struct mutex locks_mutex;
static struct cv locks_cv;

static inline bool mine(const struct filelock *a, const struct filelock *b)
{
    return a->owner == b->owner && a->flock == b->flock;
}

/* The first lock of somebody else that keeps `want` from being set, or NULL. */
static struct filelock *in_the_way(struct vnode *vn, const struct filelock *want)
{
    for (struct filelock *l = vn->locks; l != NULL; l = l->next)
        if (l->flock == want->flock && l->owner != want->owner && l->start <= want->end &&
            want->start <= l->end && (l->type == F_WRLCK || want->type == F_WRLCK))
            return l;
    return NULL;
}

static void push(struct vnode *vn, struct filelock *l)
{
    l->next = vn->locks;
    vn->locks = l;
}

/* Takes start .. end out of the owner's locks.  *spare is used up when one is cut in two. */
static void carve(struct vnode *vn, const struct filelock *w, struct filelock **spare)
{
    struct filelock *l, *prev = NULL, *next;

    for (l = vn->locks; l != NULL; l = next) {
        next = l->next;
        if (!mine(l, w) || l->start > w->end || l->end < w->start) {
            prev = l;
            continue;
        }
        if (l->start < w->start && l->end > w->end) {
            struct filelock *tail = *spare;

            *spare = NULL;
            *tail = *l;
            tail->start = w->end + 1;
            l->end = w->start - 1;
            tail->next = l->next;
            l->next = tail;
            return; /* by I1 there is no other */
        }
        if (l->start < w->start) {
            l->end = w->start - 1;
            prev = l;
        } else if (l->end > w->end) {
            l->start = w->end + 1;
            prev = l;
        } else {
            if (prev == NULL)
                vn->locks = next;
            else
                prev->next = next;
            kmem_free(l);
        }
    }
}

/* Widens `add` by the owner's neighbours of the same type and takes these away. */
static void join(struct vnode *vn, struct filelock *add)
{
    struct filelock *l, *prev = NULL, *next;

    for (l = vn->locks; l != NULL; l = next) {
        next = l->next;
        if (!mine(l, add) || l->type != add->type ||
            (l->end + 1 != add->start && add->end + 1 != l->start)) {
            prev = l;
            continue;
        }
        add->start = min_of(add->start, l->start);
        add->end = max_of(add->end, l->end);
        if (prev == NULL)
            vn->locks = next;
        else
            prev->next = next;
        kmem_free(l);
    }
}

static int set_lock(struct vnode *vn, const struct filelock *want, bool wait)
{
    struct filelock *add = kmem_alloc(sizeof *add), *spare = kmem_alloc(sizeof *spare);
    int err = 0;

    if (add == NULL || spare == NULL) {
        kmem_free(add);
        kmem_free(spare);
        return -ENOMEM;
    }
    *add = *want;
    mutex_enter(&locks_mutex);
    while (want->type != F_UNLCK && in_the_way(vn, want) != NULL && err == 0)
        err = wait ? cv_wait_sig(&locks_cv, &locks_mutex, NO_DEADLINE, "file lock") : -EAGAIN;
    if (err == 0) {
        carve(vn, want, &spare);
        if (want->type != F_UNLCK) {
            join(vn, add);
            push(vn, add);
            add = NULL;
        }
        cv_broadcast(&locks_cv);
    }
    mutex_exit(&locks_mutex);
    kmem_free(add);
    kmem_free(spare);
    return err == -EINTR ? -ERESTARTSYS : err;
}

int file_lock(struct file *f, struct fdtable *owner, const struct lock_range *lr, bool wait)
{
    unsigned acc = f->flags & O_ACCMODE;
    struct filelock want = {
        .owner = owner, .start = lr->start, .end = lr->end, .type = lr->type, .pid = lr->pid};

    if (f->vn == NULL || f->vn->type != VREG || lr->start < 0 || lr->end < lr->start)
        return -EINVAL;
    if ((lr->type == F_RDLCK && acc == O_WRONLY) || (lr->type == F_WRLCK && acc == O_RDONLY))
        return -EBADF;
    return set_lock(f->vn, &want, wait);
}

void file_lock_test(struct file *f, struct fdtable *owner, struct lock_range *lr)
{
    struct filelock want = {
        .owner = owner, .start = lr->start, .end = lr->end, .type = lr->type};
    struct filelock *l = NULL;

    mutex_enter(&locks_mutex);
    if (f->vn != NULL)
        l = in_the_way(f->vn, &want);
    if (l != NULL)
        *lr = (struct lock_range){l->type, l->pid, l->start, l->end};
    else
        lr->type = F_UNLCK;
    mutex_exit(&locks_mutex);
}

int file_flock(struct file *f, int type, bool wait)
{
    struct filelock want = {
        .owner = f, .start = 0, .end = RANGE_END, .type = type, .flock = true};

    if (f->vn == NULL)
        return -EBADF;
    f->locked = true;
    return set_lock(f->vn, &want, wait);
}

/* Removes every lock of `owner` on vn. */
static void drop_all(struct vnode *vn, const void *owner, bool flock)
{
    struct filelock all = {.owner = owner, .start = 0, .end = RANGE_END, .flock = flock},
                    *none = NULL;

    mutex_enter(&locks_mutex);
    carve(vn, &all, &none);
    cv_broadcast(&locks_cv);
    mutex_exit(&locks_mutex);
}

void lock_file_closed(struct file *f)
{
    drop_all(f->vn, f, true);
}

void lock_table_drop(struct file *f, struct fdtable *t)
{
    drop_all(f->vn, t, false);
}

void lock_init(void)
{
    mutex_init(&locks_mutex, "locks");
    cv_init(&locks_cv);
}
