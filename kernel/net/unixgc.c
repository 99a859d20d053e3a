// SPDX-License-Identifier: MIT
/*
 * unixgc.c - open files in messages of AF_UNIX sockets: references, limits, garbage collection.
 *
 * THEORY      A message can carry open files (SCM_RIGHTS).  It holds a reference to each of them until a program
 *             receives it, or until the socket in whose queue it lies is closed.  Such a file is "in flight".
 *             A socket can be in flight, too, even in its own queue.  When a program then closes its last descriptor
 *             of the socket, the reference in the queue remains.  So the socket is never closed, its queue is never
 *             emptied, and the reference stays for ever: garbage that reference counts alone do not find.
 *             rights_collect() finds it, as Linux did from 1994 to 2024.  A socket is a candidate if all references
 *             to its file are in queues.  From the number of these references, those in the queues of candidates are
 *             subtracted.  If some remain, the socket can still be received from a socket that is no candidate.  So it
 *             is not garbage, and neither is any candidate that can be reached from its queue.  The rest is garbage.
 *             The files in the queues of garbage sockets are released, so that the sockets are closed.  The files in
 *             the queue of a connection that was not accepted count as files in the queue of the listener.
 *             Garbage is made by a close.  The collector runs when an AF_UNIX socket is closed, and when a user that
 *             has more than GC_AT files in flight, or more than its limit (RLIMIT_NOFILE), sends files.  So garbage
 *             does not exceed this number for long, and its senders release it.
 *             A run looks at no more than the files in flight, and holds net_lock meanwhile.  So that many calls do not
 *             keep the lock all the time, they pay for a run in advance: each call of rights_collect() gives it
 *             GC_PER_CALL files to look at, each file that is sent GC_PER_FILE.  It runs when that is enough for all
 *             files in flight.  With few files in flight, each call is a run.
 *             The release of a file can close a socket whose queue has more files, and so on.  A kernel stack is
 *             small, so this is a loop: the closes inside it only add to the list that the outermost call frees.
 *             They do not run the collector.  Otherwise one close would last for as long as other threads make
 *             garbage.
 * INVARIANTS  I7 of unixpriv.h
 * LOCKING     net_lock, also while the collector looks at the files' reference counts.  If all references are in
 *             queues, no thread can make a new one: it would need a descriptor, or a message that was received, and
 *             both take net_lock.
 * SEE ALSO    unix(7) of Linux's manual; Linux 6.6 has the same algorithm in its net/unix
 */
#include "net/unixpriv.h"

#include "lib/errno.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

enum { GC_NONE, GC_CANDIDATE, GC_REACHED };
/* Our choice: a call costs no more than a look at GC_PER_CALL files, on average over many. */
enum { GC_PER_CALL = 64, GC_PER_FILE = 4 };
enum { GC_AT = 8 * RIGHTS_MAX }; /* Linux's UNIX_INFLIGHT_SANE_USER */

static struct list in_flight = LIST_INIT(in_flight); /* [n] sockets with inflight > 0 */
static uint64_t queued_files;                        /* [n] files in queues, of all kinds */
static uint64_t gc_paid;                             /* [n] files that the next run may look at */

/* A call of rights_free_all() that is releasing files. */
struct drain {
    struct list link;      /* [n] in `drains` */
    struct thread *thread; /* [c] */
    struct list todo;      /* [n] sock_rights.link */
};
static struct list drains = LIST_INIT(drains);

/* The call of rights_free_all() that the calling thread is inside of; or NULL.  The caller holds net_lock. */
static struct drain *drain_of_caller(void)
{
    struct drain *d;

    LIST_FOREACH (d, &drains, link)
        if (d->thread == curthread)
            return d;
    return NULL;
}

static size_t rights_size(unsigned n)
{
    return sizeof(struct sock_rights) + n * sizeof(struct file *);
}

/* The AF_UNIX socket of an open file; NULL: the file is none. */
static struct socket *unix_socket_of(struct file *f)
{
    return file_is_socket(f) && socket_family(f) == AF_UNIX ? f->data : NULL;
}

/* ---- sets of files ---- */

/* A set for n files without a check of the limit on files in flight; NULL: no memory. */
static struct sock_rights *alloc_rights(unsigned n)
{
    struct usermem *payer = usermem_charge(rights_size(n));
    struct sock_rights *r;

    if (payer == NULL)
        return NULL;
    r = kmem_alloc(rights_size(n));
    if (r == NULL) {
        usermem_return(payer, rights_size(n));
        return NULL;
    }
    list_init(&r->link);
    r->msg = NULL;
    r->payer = payer;
    r->size = n;
    r->n = 0;
    atomic_fetch_add(&payer->in_flight, n);
    return r;
}

int rights_new(unsigned n, uint64_t limit, struct sock_rights **out)
{
    struct sock_rights *r = alloc_rights(n);
    struct list dead;

    if (r == NULL)
        return -ENOMEM;
    if (atomic_load(&r->payer->in_flight) > min_of(limit, (uint64_t)GC_AT)) {
        list_init(&dead);
        net_enter();
        rights_collect(&dead);
        net_exit();
        rights_free_all(&dead);
    }
    if (atomic_load(&r->payer->in_flight) > limit && !proc_is_superuser()) {
        rights_free(r);
        return -ETOOMANYREFS;
    }
    *out = r;
    return 0;
}

void rights_free_all(struct list *dead)
{
    struct drain me = {.thread = curthread}, *mine;
    struct sock_rights *r;

    if (list_empty(dead))
        return;
    list_init(&me.todo);
    net_enter();
    mine = drain_of_caller();
    if (mine == NULL)
        list_push_back(&drains, &me.link);
    while ((r = list_pop(dead, struct sock_rights, link)) != NULL)
        list_push_back(mine != NULL ? &mine->todo : &me.todo, &r->link);
    net_exit();
    while (mine == NULL) {
        net_enter();
        r = list_pop(&me.todo, struct sock_rights, link);
        if (r == NULL)
            list_remove(&me.link);
        net_exit();
        if (r == NULL)
            break;
        for (unsigned i = 0; i < r->n; i++)
            file_release(r->file[i]);
        atomic_fetch_sub(&r->payer->in_flight, r->size);
        usermem_return(r->payer, rights_size(r->size));
        kmem_free(r);
    }
}

void rights_free(struct sock_rights *r)
{
    struct list dead;

    if (r == NULL)
        return;
    list_init(&dead);
    list_push_back(&dead, &r->link);
    rights_free_all(&dead);
}

void rights_queued(struct sock_rights *r, struct socket *to, struct unix_msg *msg)
{
    r->msg = msg;
    msg->rights = r;
    list_push_back(to->listener != NULL ? &to->listener->rights : &to->rights, &r->link);
    queued_files += r->n;
    gc_paid += GC_PER_FILE * r->n;
    for (unsigned i = 0; i < r->n; i++) {
        struct socket *s = unix_socket_of(r->file[i]);

        if (s != NULL && s->inflight++ == 0)
            list_push_back(&in_flight, &s->inflight_link);
    }
}

void rights_taken(struct sock_rights *r)
{
    r->msg->rights = NULL;
    r->msg = NULL;
    list_remove(&r->link);
    queued_files -= r->n;
    for (unsigned i = 0; i < r->n; i++) {
        struct socket *s = unix_socket_of(r->file[i]);

        if (s != NULL && --s->inflight == 0)
            list_remove(&s->inflight_link);
    }
}

void rights_accepted(struct socket *n)
{
    struct unix_msg *u;

    LIST_FOREACH (u, &n->dgrams, link)
        if (u->rights != NULL) {
            list_remove(&u->rights->link);
            list_push_back(&n->rights, &u->rights->link);
        }
}

struct sock_rights *rights_peek(const struct sock_rights *r)
{
    struct sock_rights *copy = alloc_rights(r->n);

    if (copy == NULL)
        return NULL;
    for (; copy->n < r->n; copy->n++) {
        copy->file[copy->n] = r->file[copy->n];
        file_hold(r->file[copy->n]);
    }
    return copy;
}

/* ---- the collector ---- */

/* Calls fn(t, arg) for each candidate t, once for each reference to it in the queue of q. */
static void each_queued_candidate(struct socket *q, void (*fn)(struct socket *t, struct list *arg),
                                  struct list *arg)
{
    struct sock_rights *r;

    LIST_FOREACH (r, &q->rights, link)
        for (unsigned i = 0; i < r->n; i++) {
            struct socket *t = unix_socket_of(r->file[i]);

            if (t != NULL && t->gc == GC_CANDIDATE)
                fn(t, arg);
        }
}

static void count_inner_reference(struct socket *t, struct list *arg)
{
    t->outside--;
}

static void reach_candidate(struct socket *t, struct list *reached)
{
    t->gc = GC_REACHED;
    list_push_back(reached, &t->gc_link);
}

/* Marks the candidates: all references to their files are in queues. */
static void mark_candidates(void)
{
    struct socket *s;

    LIST_FOREACH (s, &in_flight, inflight_link) {
        s->outside = s->inflight;
        s->gc = atomic_load(&s->file->refs) == s->inflight ? GC_CANDIDATE : GC_NONE;
    }
    LIST_FOREACH (s, &in_flight, inflight_link)
        if (s->gc == GC_CANDIDATE)
            each_queued_candidate(s, count_inner_reference, NULL);
}

/* Moves the files in the queue of q to `dead`. */
static void take_all_rights(struct socket *q, struct list *dead)
{
    struct sock_rights *r;

    while (!list_empty(&q->rights)) {
        r = list_first(&q->rights, struct sock_rights, link);
        rights_taken(r);
        list_push_back(dead, &r->link);
    }
}

void rights_collect(struct list *dead)
{
    struct list reached, garbage;
    struct socket *s;

    if (list_empty(&in_flight) || drain_of_caller() != NULL)
        return;
    gc_paid += GC_PER_CALL;
    if (gc_paid < queued_files)
        return;
    gc_paid = 0;
    list_init(&reached);
    list_init(&garbage);
    mark_candidates();
    LIST_FOREACH (s, &in_flight, inflight_link)
        if (s->gc == GC_CANDIDATE && s->outside > 0)
            reach_candidate(s, &reached);
    while ((s = list_pop(&reached, struct socket, gc_link)) != NULL)
        each_queued_candidate(s, reach_candidate, &reached);
    LIST_FOREACH (s, &in_flight, inflight_link)
        if (s->gc == GC_CANDIDATE)
            list_push_back(&garbage, &s->gc_link);
    while ((s = list_pop(&garbage, struct socket, gc_link)) != NULL)
        take_all_rights(s, dead);
}
