// SPDX-License-Identifier: MIT
/*
 * sys_sem.c - System V semaphores: semget, semop, semtimedop, semctl.
 *
 * THEORY      A semaphore is a number that is never negative.  A thread adds to it, or subtracts from it and waits
 *             while the result would be negative, or waits until it is 0.  Semaphores are made in sets.  One call
 *             performs several operations on one set, all at the same moment or none of them.
 *             A thread that must wait puts its operations on the set's list of waiters and sleeps.  The thread that
 *             changes a value tries the operations of the waiters in the order in which they came, performs those
 *             that are possible, and wakes their threads.  So a waiter finds its operations done when it wakes up,
 *             and no other thread can take the value in between.
 *             An operation with SEM_UNDO is taken back when the process ends, for whatever reason.  For each set the
 *             process has adjustments, one for each semaphore, which are added to the values at its end.
 *             All threads of a process share the adjustments.  A process made with CLONE_SYSVSEM shares those of its
 *             creator; they are carried out when the last of these processes ends.
 * INVARIANTS  I1  after each change of a value, no waiter's operations are possible
 *             I2  an adjustment of a set that is not removed is on the set's list and in the tree of its owner
 * LOCKING     sem_table_lock guards the table.  set->lock guards a set, with its waiters and the values of the
 *             adjustments.  undo->lock guards the tree of a process's adjustments.  Order: sem_table_lock ->
 *             set->lock -> undo->lock.  No user memory is touched under these locks.  [s] set->lock  [c] constant
 * SEE ALSO    sysv.h, user/test/t_sysv.c; Linux's manual pages semget(2), semop(2), semctl(2)
 */
#include "lib/errno.h"
#include "lib/itree.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "proc/proc.h"
#include "procfs/procfs.h"
#include "sys/sys.h"
#include "sys/sysv.h"
#include "sys/utime.h"

/*
 * SEM_VALUE_MAX and SEM_PER_SET are Linux's SEMVMX and SEMMSL.  SEM_OPS (SEMOPM; 500 on Linux) is small, because a
 * thread that changes a value tries the operations of all waiters.  The number of semaphores on the machine (SEMMNS) is
 * not limited by itself: sets are charged to their users as kernel memory.
 */
enum {
    SEM_VALUE_MAX = 32767,
    SEM_PER_SET = 32000,
    SEM_OPS = 32,
    SEM_ALL = SEM_PER_SET * SYSV_PLACES
};
enum { SEM_UNDO = 010000 }; /* flag of an operation */
enum {
    SEM_GETPID = 11,
    SEM_GETVAL = 12,
    SEM_GETALL = 13,
    SEM_GETNCNT = 14,
    SEM_GETZCNT = 15,
    SEM_SETVAL = 16,
    SEM_SETALL = 17,
    SEM_STAT = 18,
    SEM_INFO = 19,
    SEM_STAT_ANY = 20,
}; /* commands of semctl, as IPC_* */
enum { SEM_MUST_WAIT = 1 };

/* Linux's struct sembuf, struct semid64_ds and struct seminfo. */
struct sem_op {
    uint16_t num;
    int16_t add;
    uint16_t flags;
};
struct semid_ds {
    struct sysv_perm perm;
    int64_t otime, unused1, ctime, unused2;
    uint64_t nsems, unused3, unused4;
};
_Static_assert(sizeof(struct semid_ds) == 104, "struct semid64_ds");
struct seminfo {
    int32_t map, mni, mns, mnu, msl, opm, ume, usz, vmx, aem;
};

struct sem {
    int32_t value;
    int32_t pid; /* the process that changed it last */
};

struct sem_set {
    struct sysv_perm perm; /* [s]; must be the first member */
    int64_t otime, ctime;  /* [s] seconds: the last operation, the last change by semctl */
    unsigned n;            /* [c] number of semaphores */
    _Atomic uint32_t refs; /* one from the table, one from each call and each adjustment */
    _Atomic bool removed;  /* changed under [s] */
    struct mutex lock;
    struct list waiters;     /* [s] sem_wait.link, in order of arrival */
    struct list adjustments; /* [s] sem_adjust.set_link */
    struct usermem *payer;   /* [c] */
    struct sem sem[];        /* [s] */
};

/* What one process will add to each semaphore of one set when it ends. */
struct sem_adjust {
    struct list set_link;
    struct itree_node undo_node; /* the interval that has only the address of `set` */
    struct sem_set *set;         /* [c] with a reference */
    struct usermem *payer;       /* [c] */
    int16_t by[];                /* under set->lock */
};

struct sem_undo {
    _Atomic uint32_t refs; /* processes that share it */
    struct mutex lock;
    struct itree adjustments; /* sem_adjust.undo_node, under `lock` */
    struct usermem *payer;    /* [c] */
};

/* The operations of one call. */
struct sem_wait {
    struct list link; /* [s] */
    struct sem_op op[SEM_OPS];
    unsigned n;
    bool changes;                  /* an operation is not a wait for 0 */
    bool undo;                     /* an operation has SEM_UNDO */
    struct sem_adjust *adjust;     /* NULL: `undo` is false */
    const struct sem_op *blocking; /* [s] the operation that was not possible */
    int pid;
    int result; /* [s] SEM_MUST_WAIT; 0: done; or an error */
    struct cv cv;
};

static struct sysv_table sem_table;
static struct mutex sem_table_lock;

void sem_init(void)
{
    mutex_init(&sem_table_lock, SLEEP_SEM_TABLE);
}

/* ---- sets ---- */

static size_t sem_set_size(unsigned n)
{
    return sizeof(struct sem_set) + n * sizeof(struct sem);
}

static void release_sem_set(struct sem_set *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    usermem_return(s->payer, sem_set_size(s->n));
    kmem_free(s);
}

/* The set with this identifier, with a reference; NULL: there is none.  Takes sem_table_lock. */
static struct sem_set *hold_sem_set(int id)
{
    struct sysv_perm *p;

    mutex_enter(&sem_table_lock);
    p = sysv_find(&sem_table, id);
    if (p != NULL)
        atomic_fetch_add(&container_of(p, struct sem_set, perm)->refs, 1);
    mutex_exit(&sem_table_lock);
    return p != NULL ? container_of(p, struct sem_set, perm) : NULL;
}

/*
 * Creates a set of n semaphores with value 0.  Returns its identifier; -ENOSPC: the table is full or the user holds
 * too much memory; -EINVAL, -ENOMEM.  The caller holds sem_table_lock.
 */
static int create_sem_set(int key, unsigned n, int flags)
{
    struct usermem *payer;
    struct sem_set *s;
    int id;

    if (n == 0)
        return -EINVAL;
    payer = usermem_charge(sem_set_size(n));
    if (payer == NULL)
        return -ENOSPC;
    s = kmem_zalloc(sem_set_size(n));
    if (s == NULL) {
        usermem_return(payer, sem_set_size(n));
        return -ENOMEM;
    }
    s->payer = payer;
    s->n = n;
    s->refs = 1;
    s->ctime = sysv_now();
    mutex_init(&s->lock, SLEEP_SEM);
    list_init(&s->waiters);
    list_init(&s->adjustments);
    id = sysv_add(&sem_table, &s->perm, key, flags);
    if (id < 0)
        release_sem_set(s);
    return id;
}

/* semget(key, n, flags) */
long sys_semget(struct regs *r)
{
    int key = (int)r->arg[0], n = (int)r->arg[1], flags = (int)r->arg[2], id = 0, err;
    struct sysv_perm *p;
    struct sem_set *s;

    if (n < 0 || n > SEM_PER_SET)
        return -EINVAL;
    mutex_enter(&sem_table_lock);
    err = sysv_lookup(&sem_table, key, flags, &p, &id);
    if (err == 0 && p == NULL) {
        id = create_sem_set(key, (unsigned)n, flags);
    } else if (err == 0) {
        s = container_of(p, struct sem_set, perm);
        mutex_enter(&s->lock);
        err = (unsigned)n > s->n ? -EINVAL : sysv_check(p, sysv_wanted(flags));
        mutex_exit(&s->lock);
    }
    mutex_exit(&sem_table_lock);
    return err != 0 ? err : id;
}

/* ---- operations ---- */

/* Performs one operation.  0, SEM_MUST_WAIT, -EAGAIN (IPC_NOWAIT), -ERANGE.  The set is locked. */
static int perform_sem_op(struct sem_set *s, struct sem_wait *w, const struct sem_op *op)
{
    struct sem *sem = &s->sem[op->num];
    int value = sem->value + op->add, by;

    if (value < 0 || (op->add == 0 && value != 0)) {
        w->blocking = op;
        return op->flags & IPC_NOWAIT ? -EAGAIN : SEM_MUST_WAIT;
    }
    if (value > SEM_VALUE_MAX)
        return -ERANGE;
    if (op->flags & SEM_UNDO) {
        by = w->adjust->by[op->num] - op->add;
        if (by < -SEM_VALUE_MAX - 1 || by > SEM_VALUE_MAX)
            return -ERANGE;
        w->adjust->by[op->num] = (int16_t)by;
    }
    sem->value = value;
    return 0;
}

/*
 * Performs all operations of w, or none.  0: done; SEM_MUST_WAIT, -EAGAIN, -ERANGE: nothing was changed.  The set is
 * locked.
 */
static int perform_sem_ops(struct sem_set *s, struct sem_wait *w)
{
    unsigned done = 0;
    int err = 0;

    while (done < w->n && err == 0) {
        err = perform_sem_op(s, w, &w->op[done]);
        done += err == 0;
    }
    while (err != 0 && done-- > 0) {
        s->sem[w->op[done].num].value -= w->op[done].add;
        if (w->op[done].flags & SEM_UNDO)
            w->adjust->by[w->op[done].num] =
                (int16_t)(w->adjust->by[w->op[done].num] + w->op[done].add);
    }
    if (err != 0)
        return err;
    for (unsigned i = 0; i < w->n; i++)
        s->sem[w->op[i].num].pid = w->pid;
    s->otime = sysv_now();
    return 0;
}

/* Performs the operations of all waiters for which that is possible now (I1).  The set is locked. */
static void serve_sem_waiters(struct sem_set *s)
{
    struct sem_wait *w, *next;
    bool again = true;

    while (again) {
        again = false;
        LIST_FOREACH_SAFE (w, next, &s->waiters, link) {
            int result = perform_sem_ops(s, w);

            if (result == SEM_MUST_WAIT)
                continue;
            again |= result == 0 && w->changes;
            list_remove(&w->link);
            w->result = result;
            cv_signal(&w->cv);
        }
    }
}

/* Sleeps until another thread has performed the operations of w.  0 or the error of the call.  The set is locked. */
static int await_sem_ops(struct sem_set *s, struct sem_wait *w, uint64_t deadline)
{
    int err;

    w->result = SEM_MUST_WAIT;
    list_push_back(&s->waiters, &w->link);
    while (w->result == SEM_MUST_WAIT) {
        err = cv_wait_sig(&w->cv, &s->lock, deadline, "semaphore");
        if (err != 0 && w->result == SEM_MUST_WAIT) {
            list_remove(&w->link);
            return err == -ETIMEDOUT ? -EAGAIN : -EINTR; /* never restarted: signal(7) */
        }
    }
    return w->result;
}

/* ---- adjustments ---- */

static size_t sem_adjust_size(const struct sem_set *s)
{
    return sizeof(struct sem_adjust) + s->n * sizeof(int16_t);
}

static void free_sem_adjust(struct sem_adjust *a)
{
    struct sem_set *s = a->set;

    usermem_return(a->payer, sem_adjust_size(s));
    kmem_free(a);
    release_sem_set(s);
}

/* The adjustments of process p; makes an empty tree if it has none.  NULL: no memory. */
static struct sem_undo *sem_undo_of(struct proc *p)
{
    struct usermem *payer;
    struct sem_undo *u;

    mutex_enter(&p->mutex);
    u = p->sem_undo;
    payer = u == NULL ? usermem_charge(sizeof *u) : NULL;
    if (payer != NULL) {
        u = kmem_zalloc(sizeof *u);
        if (u == NULL)
            usermem_return(payer, sizeof *u);
    }
    if (payer != NULL && u != NULL) {
        u->refs = 1;
        u->payer = payer;
        mutex_init(&u->lock, SLEEP_SEM_UNDO);
        p->sem_undo = u;
    }
    mutex_exit(&p->mutex);
    return u;
}

/* Makes the adjustments for set s in u.  NULL: no memory.  The caller holds s->lock and u->lock. */
static struct sem_adjust *make_sem_adjust(struct sem_set *s, struct sem_undo *u)
{
    struct usermem *payer = usermem_charge(sem_adjust_size(s));
    struct sem_adjust *a;

    if (payer == NULL)
        return NULL;
    a = kmem_zalloc(sem_adjust_size(s));
    if (a == NULL) {
        usermem_return(payer, sem_adjust_size(s));
        return NULL;
    }
    a->payer = payer;
    a->set = s;
    atomic_fetch_add(&s->refs, 1);
    list_push_back(&s->adjustments, &a->set_link);
    a->undo_node.first = a->undo_node.last = (uintptr_t)s;
    itree_insert(&u->adjustments, &a->undo_node);
    return a;
}

/*
 * The adjustments for set s in u, made if there are none; NULL: no memory.  Before it makes new ones, it frees those of
 * sets that are removed.  The caller holds s->lock.  Takes u->lock.
 */
static struct sem_adjust *find_sem_adjust(struct sem_set *s, struct sem_undo *u)
{
    struct itree_node *n;
    struct sem_adjust *a;
    struct list old;

    list_init(&old);
    mutex_enter(&u->lock);
    n = itree_next(&u->adjustments, NULL, (uintptr_t)s, (uintptr_t)s);
    if (likely(n != NULL)) {
        mutex_exit(&u->lock);
        return container_of(n, struct sem_adjust, undo_node);
    }
    ITREE_FOREACH (a, &u->adjustments, undo_node, 0, UINT64_MAX)
        if (atomic_load(&a->set->removed)) {
            itree_remove(&u->adjustments, &a->undo_node);
            list_push_back(&old, &a->set_link); /* it is on no set's list any more */
        }
    a = make_sem_adjust(s, u);
    mutex_exit(&u->lock);
    for (struct sem_adjust *o; (o = list_pop(&old, struct sem_adjust, set_link)) != NULL;)
        free_sem_adjust(o);
    return a;
}

int sem_undo_share(struct proc *from, struct proc *to)
{
    struct sem_undo *u = sem_undo_of(from);

    if (u == NULL)
        return -ENOMEM;
    atomic_fetch_add(&u->refs, 1);
    to->sem_undo = u;
    return 0;
}

/* Adds the adjustments to the values; a result out of range becomes the nearest value. */
static void carry_out_adjustment(struct sem_adjust *a)
{
    struct sem_set *s = a->set;

    mutex_enter(&s->lock);
    for (unsigned i = 0; i < s->n && !s->removed; i++) {
        int value = s->sem[i].value + a->by[i];

        if (a->by[i] == 0)
            continue;
        s->sem[i].value = min_of(max_of(value, 0), (int)SEM_VALUE_MAX);
        s->sem[i].pid = curproc()->pid;
    }
    list_remove(&a->set_link);
    serve_sem_waiters(s);
    mutex_exit(&s->lock);
}

void sem_undo_release(struct proc *p)
{
    struct sem_undo *u = p->sem_undo;
    struct sem_adjust *a;

    p->sem_undo = NULL;
    if (u == NULL || atomic_fetch_sub_explicit(&u->refs, 1, memory_order_acq_rel) != 1)
        return;
    while (!itree_empty(&u->adjustments)) {
        a = container_of(u->adjustments.root, struct sem_adjust, undo_node);
        itree_remove(&u->adjustments, &a->undo_node);
        carry_out_adjustment(a);
        free_sem_adjust(a);
    }
    usermem_return(u->payer, sizeof *u);
    kmem_free(u);
}

/* ---- semop ---- */

/* Checks the operations of w and performs them.  0 or the error of semop(2).  Takes s->lock. */
static int run_sem_ops(struct sem_set *s, struct sem_wait *w, struct sem_undo *u, uint64_t deadline)
{
    int err = 0;

    mutex_enter(&s->lock);
    for (unsigned i = 0; i < w->n && err == 0; i++)
        err = w->op[i].num < s->n ? 0 : -EFBIG;
    if (s->removed)
        err = -EIDRM;
    if (err == 0)
        err = sysv_check(&s->perm, w->changes ? SYSV_WRITE : SYSV_READ);
    if (err == 0 && u != NULL) {
        w->adjust = find_sem_adjust(s, u);
        err = w->adjust != NULL ? 0 : -ENOMEM;
    }
    if (err == 0)
        err = perform_sem_ops(s, w);
    if (err == 0 && w->changes)
        serve_sem_waiters(s);
    else if (err == SEM_MUST_WAIT)
        err = await_sem_ops(s, w, deadline);
    mutex_exit(&s->lock);
    return err;
}

static long do_semop(int id, uint64_t uops, uint64_t n, uint64_t deadline)
{
    struct sem_wait w = {.n = (unsigned)n, .pid = curproc()->pid};
    struct sem_undo *u = NULL;
    struct sem_set *s;
    int err;

    if (n == 0 || id < 0)
        return -EINVAL;
    if (n > SEM_OPS)
        return -E2BIG;
    err = copy_in(w.op, uops, n * sizeof w.op[0]);
    if (err != 0)
        return err;
    cv_init(&w.cv);
    for (unsigned i = 0; i < w.n; i++) {
        w.changes |= w.op[i].add != 0;
        w.undo |= w.op[i].add != 0 && (w.op[i].flags & SEM_UNDO);
        if (w.op[i].add == 0)
            w.op[i].flags =
                (uint16_t)(w.op[i].flags & ~SEM_UNDO); /* there is nothing to take back */
    }
    s = hold_sem_set(id);
    if (s == NULL)
        return -EINVAL;
    if (w.undo)
        u = sem_undo_of(curproc());
    err = w.undo && u == NULL ? -ENOMEM : run_sem_ops(s, &w, u, deadline);
    release_sem_set(s);
    return err;
}

/* semop(id, ops, n) */
long sys_semop(struct regs *r)
{
    return do_semop((int)r->arg[0], r->arg[1], r->arg[2], NO_DEADLINE);
}

/* semtimedop(id, ops, n, timeout) */
long sys_semtimedop(struct regs *r)
{
    uint64_t now = clock_mono_ns(), deadline = NO_DEADLINE;
    int64_t ns;
    int err;

    if (r->arg[3] != 0) {
        err = timespec_in(r->arg[3], &ns);
        if (err != 0)
            return err;
        deadline = (uint64_t)ns < NO_DEADLINE - 1 - now ? now + (uint64_t)ns : NO_DEADLINE - 1;
    }
    return do_semop((int)r->arg[0], r->arg[1], r->arg[2], deadline);
}

/* ---- semctl ---- */

/* Forgets what processes would add to the semaphore `num`, or to all of them.  The set is locked. */
static void forget_adjustments(struct sem_set *s, int num)
{
    struct sem_adjust *a;

    LIST_FOREACH (a, &s->adjustments, set_link)
        if (num >= 0)
            a->by[num] = 0;
        else
            memset(a->by, 0, s->n * sizeof a->by[0]);
}

/* The number of waiters whose first impossible operation is on `num`: for GETNCNT, GETZCNT.  The set is locked. */
static int count_sem_waiters(struct sem_set *s, int num, bool for_zero)
{
    struct sem_wait *w;
    int n = 0;

    LIST_FOREACH (w, &s->waiters, link)
        n += w->blocking->num == num && (w->blocking->add == 0) == for_zero;
    return n;
}

/* A command about one semaphore.  The set is locked. */
static int control_one_sem(struct sem_set *s, int num, int cmd, int value)
{
    int err = sysv_check(&s->perm, cmd == SEM_SETVAL ? SYSV_WRITE : SYSV_READ);

    if (num < 0 || (unsigned)num >= s->n)
        return -EINVAL;
    if (err != 0)
        return err;
    switch (cmd) {
    case SEM_GETVAL:
        return s->sem[num].value;
    case SEM_GETPID:
        return s->sem[num].pid;
    case SEM_GETNCNT:
        return count_sem_waiters(s, num, false);
    case SEM_GETZCNT:
        return count_sem_waiters(s, num, true);
    default: /* SEM_SETVAL */
        if (value < 0 || value > SEM_VALUE_MAX)
            return -ERANGE;
        forget_adjustments(s, num);
        s->sem[num] = (struct sem){value, curproc()->pid};
        s->ctime = sysv_now();
        serve_sem_waiters(s);
        return 0;
    }
}

/* GETALL and SETALL, with the values in val[s->n].  The set is locked. */
static int control_all_sems(struct sem_set *s, int cmd, uint16_t *val)
{
    int err = sysv_check(&s->perm, cmd == SEM_SETALL ? SYSV_WRITE : SYSV_READ);

    for (unsigned i = 0; i < s->n && err == 0; i++) {
        if (cmd == SEM_GETALL)
            val[i] = (uint16_t)s->sem[i].value;
        else if (val[i] > SEM_VALUE_MAX)
            err = -ERANGE;
    }
    if (err != 0 || cmd == SEM_GETALL)
        return err;
    for (unsigned i = 0; i < s->n; i++)
        s->sem[i] = (struct sem){val[i], curproc()->pid};
    forget_adjustments(s, -1);
    s->ctime = sysv_now();
    serve_sem_waiters(s);
    return 0;
}

/* GETALL, SETALL: moves the values from or to user memory; s is held, but not locked. */
static int move_all_sems(struct sem_set *s, int cmd, uint64_t udata)
{
    size_t bytes = s->n * sizeof(uint16_t);
    uint16_t *val = kmem_alloc(bytes);
    int err = 0;

    if (val == NULL)
        return -ENOMEM;
    if (cmd == SEM_SETALL)
        err = copy_in(val, udata, bytes);
    if (err == 0) {
        mutex_enter(&s->lock);
        err = s->removed ? -EIDRM : control_all_sems(s, cmd, val);
        mutex_exit(&s->lock);
    }
    if (err == 0 && cmd == SEM_GETALL)
        err = copy_out(udata, val, bytes);
    kmem_free(val);
    return err;
}

/* IPC_RMID: wakes the waiters and forgets the adjustments.  sem_table_lock is held, and the set is locked. */
static void remove_sem_set(struct sem_set *s, int id)
{
    struct sem_wait *w;

    sysv_remove(&sem_table, id);
    while ((w = list_pop(&s->waiters, struct sem_wait, link)) != NULL) {
        w->result = -EIDRM;
        cv_signal(&w->cv);
    }
    while (list_pop(&s->adjustments, struct sem_adjust, set_link) != NULL)
        ; /* their owners free them when they see `removed`, so it is set last */
    s->removed = true;
}

/* IPC_SET and IPC_RMID. */
static int change_sem_set(int id, int cmd, uint64_t udata)
{
    struct sysv_perm *p;
    struct semid_ds ds;
    struct sem_set *s;
    int err = cmd == IPC_SET ? copy_in(&ds, udata, sizeof ds) : 0;

    if (err != 0)
        return err;
    mutex_enter(&sem_table_lock);
    p = sysv_find(&sem_table, id);
    if (p == NULL) {
        mutex_exit(&sem_table_lock);
        return -EINVAL;
    }
    s = container_of(p, struct sem_set, perm);
    mutex_enter(&s->lock);
    err = sysv_check_owner(p);
    if (err == 0 && cmd == IPC_RMID) {
        remove_sem_set(s, id);
    } else if (err == 0) {
        sysv_set(p, &ds.perm);
        s->ctime = sysv_now();
    }
    mutex_exit(&s->lock);
    mutex_exit(&sem_table_lock);
    if (err == 0 && cmd == IPC_RMID)
        release_sem_set(s); /* the table's reference */
    return err;
}

/* Copies the state of a set.  The caller holds sem_table_lock.  Takes s->lock. */
static void copy_sem_state(struct sem_set *s, struct semid_ds *ds)
{
    mutex_enter(&s->lock);
    *ds = (struct semid_ds){.perm = s->perm, .otime = s->otime, .ctime = s->ctime, .nsems = s->n};
    mutex_exit(&s->lock);
}

/* IPC_STAT, SEM_STAT (`id` is a place in the table), SEM_STAT_ANY (without permission).  0, the id, or error. */
static int stat_sem_set(int id, int cmd, uint64_t udata)
{
    int result = 0, err = -EINVAL;
    struct sysv_perm *p;
    struct semid_ds ds;

    mutex_enter(&sem_table_lock);
    p = cmd == IPC_STAT ? sysv_find(&sem_table, id) : sysv_at(&sem_table, id, &result);
    if (p != NULL) {
        copy_sem_state(container_of(p, struct sem_set, perm), &ds);
        err = cmd == SEM_STAT_ANY ? 0 : sysv_check(&ds.perm, SYSV_READ);
    }
    mutex_exit(&sem_table_lock);
    if (err == 0)
        err = copy_out(udata, &ds, sizeof ds);
    return err != 0 ? err : result;
}

/* IPC_INFO: the limits; SEM_INFO: also what is in use.  Returns the highest place in use, or -EFAULT. */
static int tell_sem_info(int cmd, uint64_t udata)
{
    struct seminfo si = {.map = SEM_ALL,
                         .mni = SYSV_PLACES,
                         .mns = SEM_ALL,
                         .mnu = SEM_ALL,
                         .msl = SEM_PER_SET,
                         .opm = SEM_OPS,
                         .ume = SEM_OPS,
                         .usz = sizeof(struct sem_undo),
                         .vmx = SEM_VALUE_MAX,
                         .aem = SEM_VALUE_MAX};
    int top, err;

    if (cmd == SEM_INFO)
        si.usz = si.aem = 0;
    mutex_enter(&sem_table_lock);
    top = sysv_top(&sem_table);
    for (int i = 0, id; i <= top && cmd == SEM_INFO; i++) {
        struct sysv_perm *p = sysv_at(&sem_table, i, &id);

        if (p == NULL)
            continue;
        si.usz++;
        si.aem += (int32_t)container_of(p, struct sem_set, perm)->n;
    }
    mutex_exit(&sem_table_lock);
    err = copy_out(udata, &si, sizeof si);
    return err != 0 ? err : top;
}

/* A command about one or all semaphores of a set. */
static int control_sems(int id, int num, int cmd, uint64_t arg)
{
    struct sem_set *s = hold_sem_set(id);
    int result;

    if (s == NULL)
        return -EINVAL;
    if (cmd == SEM_GETALL || cmd == SEM_SETALL) {
        result = move_all_sems(s, cmd, arg);
    } else {
        mutex_enter(&s->lock);
        result = s->removed ? -EIDRM : control_one_sem(s, num, cmd, (int)arg);
        mutex_exit(&s->lock);
    }
    release_sem_set(s);
    return result;
}

/* semctl(id, num, cmd, arg) */
long sys_semctl(struct regs *r)
{
    int id = (int)r->arg[0], num = (int)r->arg[1], cmd = (int)r->arg[2];
    uint64_t arg = r->arg[3];

    switch (cmd) {
    case IPC_RMID:
    case IPC_SET:
        return change_sem_set(id, cmd, arg);
    case IPC_STAT:
    case SEM_STAT:
    case SEM_STAT_ANY:
        return stat_sem_set(id, cmd, arg);
    case IPC_INFO:
    case SEM_INFO:
        return tell_sem_info(cmd, arg);
    case SEM_GETPID:
    case SEM_GETVAL:
    case SEM_GETALL:
    case SEM_GETNCNT:
    case SEM_GETZCNT:
    case SEM_SETVAL:
    case SEM_SETALL:
        return control_sems(id, num, cmd, arg);
    }
    return -EINVAL;
}

/* /proc/sysvipc/sem, and the limits in /proc/sys/kernel/sem, in Linux's format. */
PROCFS_SHOW(procfs_show_sem)
{
    if (n->tag != SHOW_LIST) {
        text_add(out, "%d\t%d\t%d\t%d\n", SEM_PER_SET, SEM_ALL, SEM_OPS, SYSV_PLACES);
        return 0;
    }
    text_str(
        out,
        "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n");
    for (int i = 0, id; i < SYSV_PLACES; i++) {
        struct sysv_perm *p;
        struct semid_ds ds;

        mutex_enter(&sem_table_lock);
        p = sysv_at(&sem_table, i, &id);
        if (p != NULL)
            copy_sem_state(container_of(p, struct sem_set, perm), &ds);
        mutex_exit(&sem_table_lock);
        if (p != NULL)
            text_add(out, "%10d %10d  %4o %10lu %5u %5u %5u %5u %10ld %10ld\n", ds.perm.key, id,
                     ds.perm.mode, ds.nsems, ds.perm.uid, ds.perm.gid, ds.perm.cuid, ds.perm.cgid,
                     ds.otime, ds.ctime);
    }
    return 0;
}
