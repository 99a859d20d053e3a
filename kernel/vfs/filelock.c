// SPDX-License-Identifier: MIT
/*
 * filelock.c - record locks: fcntl's ranges of bytes and flock's whole files.
 *
 * THEORY      Programs that share a file use record locks to agree which of them may change it.  The locks
 *             are advisory: they do not stop reads and writes, only other locks.
 *             Each vnode has a tree of locks, by the bytes that they cover (lib/itree.h).  A lock set by fcntl
 *             belongs to a descriptor table (a process), and is removed when the process closes any descriptor
 *             of the file.  A lock set by flock belongs to an open file, and is removed when that file is
 *             closed.  The two kinds never conflict with each other, as on Linux.
 *             Setting a lock on a range first removes the range from the owner's other locks.  The parts of
 *             these locks outside the range remain.  Then the new lock is added and merged with adjacent locks
 *             of the same type.
 *             Deadlock: an owner that waits for a range is recorded together with its blocker, the owner of
 *             the conflicting lock.  Before the thread sleeps, it follows the chain from blocker to
 *             blocker.  If the chain leads back to the waiting owner, the wait would never end, so
 *             the call fails with EDEADLK.
 *             As on Linux, this is done for fcntl's locks only, and for at most CHAIN_MAX steps.
 *             Each lock is charged to the user that sets it (mem/usermem.h).  The call fails with ENOLCK if
 *             the user's memory limit is reached.
 * INVARIANTS  I1  locks of one kind and owner on one vnode do not overlap
 *             I2  w->blocker is NULL, or owns a lock that conflicts with the lock for which w waits
 * LOCKING     A vnode's tree is guarded by the mutex of a bucket, which is found by hashing the vnode's
 *             address.  A thread that waits for a lock sleeps on the bucket's cv.  waits_mutex, which comes
 *             after the bucket's mutex, guards the list of all waiting owners.
 * SEE ALSO    tests/host/test_fs.c, user/test/t_file.c
 */
#include "vfs/filepriv.h"

#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

#define RANGE_END INT64_MAX

enum { BUCKET_BITS = 6, NBUCKETS = 1 << BUCKET_BITS, CHAIN_MAX = 32 };

struct filelock {
    struct itree_node n; /* the first and the last byte; both are at most RANGE_END */
    const void *owner;   /* struct fdtable, or struct file for flock */
    struct usermem *payer;
    int type, pid;
    bool flock;
};

struct lock_bucket {
    struct mutex mutex;
    struct cv cv;
    unsigned nwaiting; /* threads on cv that have an entry in `waits` */
};

/* One owner that waits for an fcntl lock. */
struct lock_wait {
    struct list link;
    const struct vnode *vn;
    const void *owner, *blocker; /* I2 */
};

static struct lock_bucket buckets[NBUCKETS];
static struct mutex waits_mutex;
static struct list waits = LIST_INIT(waits);

static struct lock_bucket *bucket_of_vnode(const struct vnode *vn)
{
    return &buckets[((uintptr_t)vn * 0x9e3779b97f4a7c15ull) >> (64 - BUCKET_BITS)];
}

static inline struct itree_node range_of(loff_t start, loff_t end)
{
    return (struct itree_node){.first = (uint64_t)start, .last = (uint64_t)end};
}

static inline bool has_same_owner(const struct filelock *a, const struct filelock *b)
{
    return a->owner == b->owner && a->flock == b->flock;
}

/* The first lock of another owner that conflicts with `want`, or NULL. */
static struct filelock *find_conflicting_lock(struct vnode *vn, const struct filelock *want)
{
    struct filelock *l;

    ITREE_FOREACH (l, &vn->locks, n, want->n.first, want->n.last)
        if (l->flock == want->flock && l->owner != want->owner &&
            (l->type == F_WRLCK || want->type == F_WRLCK))
            return l;
    return NULL;
}

/* ---- the tree of a vnode; its bucket's mutex is held ------------------------------------------ */

/* A new lock; the caller has charged its size to `payer`.  NULL: no memory, and the charge has been undone. */
static struct filelock *filelock_new(struct usermem *payer)
{
    struct filelock *l = kmem_alloc(sizeof *l);

    if (l == NULL)
        usermem_return(payer, sizeof *l);
    else
        l->payer = payer;
    return l;
}

static void filelock_free(struct filelock *l)
{
    if (l != NULL)
        usermem_return(l->payer, sizeof *l);
    kmem_free(l);
}

static void filelock_remove(struct vnode *vn, struct filelock *l)
{
    itree_remove(&vn->locks, &l->n);
    filelock_free(l);
}

/* The first lock of w's owner after `l` (NULL: from the start) that overlaps first .. last, or NULL. */
static struct filelock *next_of_owner(struct vnode *vn, const struct filelock *l,
                                      const struct filelock *w, uint64_t first, uint64_t last)
{
    struct itree_node *n = l != NULL ? (struct itree_node *)&l->n : NULL;

    while ((n = itree_next(&vn->locks, n, first, last)) != NULL) {
        struct filelock *next = container_of(n, struct filelock, n);

        if (has_same_owner(next, w))
            return next;
    }
    return NULL;
}

/*
 * Cuts the range of `w` out of `l`, which covers bytes on both sides of it: l keeps the lower part, and *spare
 * becomes the upper part and is set to NULL.  -ENOLCK: *spare was NULL before.
 */
static int split_lock(struct vnode *vn, const struct filelock *w, struct filelock *l,
                      struct filelock **spare)
{
    struct filelock *upper = *spare;

    if (upper == NULL)
        return -ENOLCK;
    *spare = NULL;
    upper->owner = l->owner, upper->type = l->type;
    upper->pid = l->pid, upper->flock = l->flock;
    upper->n.first = w->n.last + 1;
    upper->n.last = l->n.last;
    itree_set_last(&vn->locks, &l->n, w->n.first - 1);
    itree_insert(&vn->locks, &upper->n);
    return 0;
}

/* Removes the range of `w` from the locks of w's owner.  0, or an error of split_lock(). */
static int remove_lock_range(struct vnode *vn, const struct filelock *w, struct filelock **spare)
{
    struct filelock *l = next_of_owner(vn, NULL, w, w->n.first, w->n.last), *next;

    for (; l != NULL; l = next) {
        if (l->n.first < w->n.first && l->n.last > w->n.last)
            return split_lock(vn, w, l, spare); /* by I1 this is the only lock in the range */
        next = next_of_owner(vn, l, w, w->n.first, w->n.last);
        if (l->n.first < w->n.first) {
            itree_set_last(&vn->locks, &l->n, w->n.first - 1);
        } else if (l->n.last > w->n.last) {
            itree_remove(&vn->locks, &l->n);
            l->n.first = w->n.last + 1;
            itree_insert(&vn->locks, &l->n);
        } else {
            filelock_remove(vn, l);
        }
    }
    return 0;
}

/* Extends `add` by the owner's adjacent locks of the same type, and removes those locks. */
static void merge_adjacent_locks(struct vnode *vn, struct filelock *add)
{
    uint64_t first = add->n.first, last = add->n.last, from = first - (first != 0);
    struct filelock *l = next_of_owner(vn, NULL, add, from, last + 1), *next;

    for (; l != NULL; l = next) {
        next = next_of_owner(vn, l, add, from, last + 1);
        if (l->type != add->type || (l->n.last + 1 != first && l->n.first != last + 1))
            continue;
        add->n.first = min_of(add->n.first, l->n.first);
        add->n.last = max_of(add->n.last, l->n.last);
        filelock_remove(vn, l);
    }
}

/* ---- waiting ---------------------------------------------------------------------------------- */

/* Whether the chain of blockers leads from `from` to `owner`.  The caller holds waits_mutex. */
static bool chain_leads_to(const void *from, const void *owner)
{
    for (unsigned n = 0; from != NULL && n < CHAIN_MAX; n++) {
        struct lock_wait *w;
        const void *next = NULL;

        if (from == owner)
            return true;
        LIST_FOREACH (w, &waits, link)
            if (w->owner == from && w->blocker != NULL) {
                next = w->blocker;
                break;
            }
        from = next;
    }
    return false;
}

/*
 * Records that `w` waits for `blocker`.  -EDEADLK: `blocker` waits for w's owner, directly or
 * through other owners.
 */
static int check_and_set_blocker(struct lock_wait *w, const void *blocker)
{
    int err = 0;

    mutex_enter(&waits_mutex);
    if (chain_leads_to(blocker, w->owner))
        err = -EDEADLK;
    else
        w->blocker = blocker;
    mutex_exit(&waits_mutex);
    return err;
}

/*
 * Wakes the owners that wait for a lock on `vn`, because the locks of `vn` have changed.  Sets the blocker of
 * each of them to NULL until the owner checks again (I2).
 */
static void wake_lock_waiters(struct lock_bucket *b, const struct vnode *vn)
{
    struct lock_wait *w;

    if (b->nwaiting != 0) {
        mutex_enter(&waits_mutex);
        LIST_FOREACH (w, &waits, link)
            if (w->vn == vn)
                w->blocker = NULL;
        mutex_exit(&waits_mutex);
    }
    cv_broadcast(&b->cv);
}

/* Waits until no lock conflicts with `want`.  The caller holds the bucket's mutex.  0, -EINTR, -EDEADLK. */
static int wait_for_range(struct lock_bucket *b, struct vnode *vn, const struct filelock *want)
{
    struct lock_wait w = {.vn = vn, .owner = want->owner};
    struct filelock *l;
    int err = 0;

    if (find_conflicting_lock(vn, want) == NULL)
        return 0;
    if (!want->flock) {
        mutex_enter(&waits_mutex);
        list_push_back(&waits, &w.link);
        mutex_exit(&waits_mutex);
        b->nwaiting++;
    }
    while (err == 0 && (l = find_conflicting_lock(vn, want)) != NULL) {
        if (!want->flock)
            err = check_and_set_blocker(&w, l->owner);
        if (err == 0)
            err = cv_wait_sig(&b->cv, &b->mutex, NO_DEADLINE, "file lock");
    }
    if (!want->flock) {
        b->nwaiting--;
        mutex_enter(&waits_mutex);
        list_remove(&w.link);
        mutex_exit(&waits_mutex);
    }
    return err;
}

/* ---- the calls -------------------------------------------------------------------------------- */

/*
 * Sets or removes the lock `want`.  The lock *add becomes a copy of `want` in the tree, and then *add is set to
 * NULL.  *spare is as for split_lock().
 */
static int change_locks(struct vnode *vn, const struct filelock *want, bool wait,
                        struct filelock **add, struct filelock **spare)
{
    struct lock_bucket *b = bucket_of_vnode(vn);
    int err = 0;

    mutex_enter(&b->mutex);
    if (want->type != F_UNLCK) {
        if (wait)
            err = wait_for_range(b, vn, want);
        else if (find_conflicting_lock(vn, want) != NULL)
            err = -EAGAIN;
    }
    if (err == 0)
        err = remove_lock_range(vn, want, spare);
    if (err == 0) {
        if (want->type != F_UNLCK) {
            merge_adjacent_locks(vn, *add);
            itree_insert(&vn->locks, &(*add)->n);
            *add = NULL;
        }
        wake_lock_waiters(b, vn);
    }
    mutex_exit(&b->mutex);
    return err == -EINTR ? -ERESTARTSYS : err;
}

static int set_file_lock(struct vnode *vn, const struct filelock *want, bool wait)
{
    /*
     * The size of two locks: the new lock, and the second part of an old lock that is cut in two.
     */
    struct usermem *payer = usermem_charge(2 * sizeof(struct filelock));
    struct filelock *add = NULL, *spare = NULL;
    int err = -ENOMEM;

    if (payer == NULL)
        return want->type == F_UNLCK ? change_locks(vn, want, false, &add, &spare) : -ENOLCK;
    add = filelock_new(payer);
    spare = filelock_new(payer);
    if (add != NULL && spare != NULL) {
        *add = *want;
        add->payer = payer;
        err = change_locks(vn, want, wait, &add, &spare);
    }
    filelock_free(add);
    filelock_free(spare);
    return err;
}

int file_lock(struct file *f, struct fdtable *owner, const struct lock_range *lr, bool wait)
{
    unsigned acc = f->flags & O_ACCMODE;
    struct filelock want = {
        .n = range_of(lr->start, lr->end), .owner = owner, .type = lr->type, .pid = lr->pid};

    if (f->vn == NULL || f->vn->type != VREG || lr->start < 0 || lr->end < lr->start)
        return -EINVAL;
    if ((lr->type == F_RDLCK && acc == O_WRONLY) || (lr->type == F_WRLCK && acc == O_RDONLY))
        return -EBADF;
    fdtable_set_locked(owner);
    return set_file_lock(f->vn, &want, wait);
}

void file_lock_test(struct file *f, struct fdtable *owner, struct lock_range *lr)
{
    struct filelock want = {.n = range_of(lr->start, lr->end), .owner = owner, .type = lr->type};
    struct filelock *l;
    struct lock_bucket *b;

    lr->type = F_UNLCK;
    if (f->vn == NULL)
        return;
    b = bucket_of_vnode(f->vn);
    mutex_enter(&b->mutex);
    l = find_conflicting_lock(f->vn, &want);
    if (l != NULL)
        *lr = (struct lock_range){l->type, l->pid, (loff_t)l->n.first, (loff_t)l->n.last};
    mutex_exit(&b->mutex);
}

int file_flock(struct file *f, int type, bool wait)
{
    struct filelock want = {.n = range_of(0, RANGE_END), .owner = f, .type = type, .flock = true};

    if (f->vn == NULL)
        return -EBADF;
    f->locked = true;
    return set_file_lock(f->vn, &want, wait);
}

/* Removes every lock of `owner` on vn. */
static void drop_owner_locks(struct vnode *vn, const void *owner, bool flock)
{
    struct filelock all = {.n = range_of(0, RANGE_END), .owner = owner, .flock = flock},
                    *none = NULL;
    struct lock_bucket *b = bucket_of_vnode(vn);

    mutex_enter(&b->mutex);
    remove_lock_range(vn, &all, &none);
    wake_lock_waiters(b, vn);
    mutex_exit(&b->mutex);
}

void filelocks_flock_closed(struct file *f)
{
    drop_owner_locks(f->vn, f, true);
}

void filelocks_drop(struct file *f, struct fdtable *t)
{
    drop_owner_locks(f->vn, t, false);
}

void lock_init(void)
{
    for (unsigned i = 0; i < NBUCKETS; i++) {
        mutex_init(&buckets[i].mutex, SLEEP_LOCKS);
        cv_init(&buckets[i].cv);
    }
    mutex_init(&waits_mutex, SLEEP_LOCK_WAITS);
}
