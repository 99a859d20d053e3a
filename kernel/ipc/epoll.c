// SPDX-License-Identifier: MIT
/*
 * epoll.c - waiting for files that stay watched between calls.
 *
 * THEORY      poll(2) checks every file at each call, so its cost grows with the number of files.  An epoll
 *             keeps the set of files between calls and only checks those that can be ready.
 *             An item watches one file for one epoll.  Its poller stays registered with the file's pollheads.
 *             When the file wakes its pollers, the item goes to the end of the epoll's ready list; the cost
 *             of this does not depend on the number of files that are watched.
 *             epoll_take() checks the files of the ready list only.  An item whose file is not ready leaves
 *             the list.  An item whose file is ready gives an event.  Then:
 *               level-triggered  the item goes back to the end of the list, so that the next call checks it again
 *               edge-triggered   the item leaves the list until its file wakes it again
 *               one-shot         the item leaves the list until EPOLL_CTL_MOD enables it again
 *             An item holds no reference to its file, so the last close of the file removes the item.
 *             An epoll cannot watch an epoll (-EINVAL), but poll(2) can wait for one.
 * INVARIANTS  I1  item->queued iff the item is on the ready list, or on the private list of a thread in
 *                 epoll_take()
 *             I2  an item is on its file's list iff it is in its epoll's table
 * LOCKING     In this order:
 *               epoll_mutex              guards the files' lists of items; a thread holds it to add and remove
 *                                        items, and when a file is freed
 *               ep->lock (a mutex)       guards the table; a thread holds it while it checks files.  A file that is
 *                                        being checked is not freed, because the thread that frees it waits for
 *                                        ep->lock
 *               ep->rlock (RANK_EPOLL)   guards the ready list; it is also taken under a pollhead's lock
 * SEE ALSO    poll.c, epoll(7) of Linux's manual
 */
#include "ipc/ipc.h"
#include "vfs/filepriv.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/usermem.h"

enum { ALWAYS = POLLERR | POLLHUP, FIRST_BUCKETS = 16, EPOLL_COST = 1024, ITEM_COST = 256 };
#define EPOLLONESHOT (1u << 30)
#define EPOLLET      (1u << 31)
/*
 * Bits of `events` that are not events: EPOLLET, EPOLLONESHOT, and the hints EPOLLWAKEUP and
 * EPOLLEXCLUSIVE, which have no effect.
 */
#define EPOLLPRIVATE (EPOLLET | EPOLLONESHOT | 1u << 29 | 1u << 28)

struct eventpoll;

struct epitem {
    struct poller p;
    struct poll_entry entry[2];
    struct eventpoll *ep;
    struct file *f;
    int fd;
    /* [ep->lock] requested events; 0: a one-shot item that gave its event */
    uint32_t events;
    /* [ep->lock] value that the program set, returned with each event */
    uint64_t data;
    bool queued;                 /* [ep->rlock] I1 */
    struct list ready;           /* [ep->rlock] */
    struct list hash;            /* [ep->lock] in ep->bucket */
    struct epitem *next_on_file; /* [epoll_mutex] */
    struct epitem **at_file;     /* [epoll_mutex] the pointer to this item in the file's list */
    struct usermem *payer;
};

struct eventpoll {
    struct mutex lock;
    struct spinlock rlock;
    struct list ready;
    struct cv cv;
    struct pollhead ph;
    struct list *bucket; /* the table: items by descriptor */
    unsigned nbuckets, nitems;
    struct usermem *payer;
};

static struct mutex epoll_mutex;

static const struct fileops epoll_ops;

void epoll_init(void)
{
    mutex_init(&epoll_mutex, SLEEP_EPOLL_FILES);
}

/* ---- the ready list ---- */

/* Puts an item on the ready list.  false: the item was queued already. */
static bool queue_ready_item(struct epitem *it)
{
    struct eventpoll *ep = it->ep;
    bool fresh;

    spin_lock(&ep->rlock);
    fresh = !it->queued;
    if (fresh) {
        it->queued = true;
        list_push_back(&ep->ready, &it->ready);
    }
    spin_unlock(&ep->rlock);
    return fresh;
}

static void wake_epoll_waiters(struct eventpoll *ep)
{
    cv_signal(&ep->cv);
    poll_wake(&ep->ph);
}

/* poller.wake of an item.  The caller holds the pollhead's lock. */
static void epitem_wake(struct poller *p)
{
    struct epitem *it = container_of(p, struct epitem, p);

    if (queue_ready_item(it))
        wake_epoll_waiters(it->ep);
}

/* The requested events that the item's file is ready for.  The caller holds ep->lock. */
static uint32_t ready_events(const struct epitem *it)
{
    return it->events == 0 ? 0 : file_events(it->f, NULL) & ((it->events & ~EPOLLPRIVATE) | ALWAYS);
}

/* ---- items ---- */

static unsigned bucket_of_fd(const struct eventpoll *ep, int fd)
{
    return (unsigned)fd & (ep->nbuckets - 1);
}

static struct epitem *find_epitem(struct eventpoll *ep, struct file *f, int fd)
{
    struct epitem *it;

    LIST_FOREACH (it, &ep->bucket[bucket_of_fd(ep, fd)], hash)
        if (it->f == f && it->fd == fd)
            return it;
    return NULL;
}

static struct list *make_epoll_buckets(unsigned n)
{
    struct list *b = kmem_alloc(n * sizeof *b);

    for (unsigned i = 0; b != NULL && i < n; i++)
        list_init(&b[i]);
    return b;
}

/* Doubles the number of buckets if there are more items than buckets.  If there is no memory, does nothing. */
static void grow_epoll_table(struct eventpoll *ep)
{
    struct list *old = ep->bucket, *b;
    unsigned n = ep->nbuckets;
    struct epitem *it;

    if (ep->nitems <= n)
        return;
    b = make_epoll_buckets(2 * n);
    if (b == NULL)
        return;
    ep->bucket = b;
    ep->nbuckets = 2 * n;
    for (unsigned i = 0; i < n; i++)
        while ((it = list_pop(&old[i], struct epitem, hash)) != NULL)
            list_push_back(&b[bucket_of_fd(ep, it->fd)], &it->hash);
    kmem_free(old);
}

/* Removes and frees an item.  The caller holds epoll_mutex and ep->lock. */
static void epitem_free(struct epitem *it)
{
    struct eventpoll *ep = it->ep;

    poller_leave(&it->p); /* from now on no file wakes the item */
    *it->at_file = it->next_on_file;
    if (it->next_on_file != NULL)
        it->next_on_file->at_file = it->at_file;
    spin_lock(&ep->rlock);
    list_remove(&it->ready);
    spin_unlock(&ep->rlock);
    list_remove(&it->hash);
    ep->nitems--;
    usermem_return(it->payer, ITEM_COST);
    kmem_free(it);
}

/*
 * Makes an item, and queues it if its file is ready.  The caller holds epoll_mutex and ep->lock.
 * 0, -ENOSPC, -ENOMEM.
 */
static int epitem_add(struct eventpoll *ep, struct file *f, int fd, const struct epoll_event *ev)
{
    struct usermem *payer = usermem_charge(ITEM_COST);
    struct epitem *it;

    if (payer == NULL)
        return -ENOSPC;
    it = kmem_zalloc(sizeof *it);
    if (it == NULL) {
        usermem_return(payer, ITEM_COST);
        return -ENOMEM;
    }
    it->payer = payer;
    it->p = (struct poller){.wake = epitem_wake, .size = array_size(it->entry), .entry = it->entry};
    it->ep = ep;
    it->f = f;
    it->fd = fd;
    it->events = ev->events | ALWAYS;
    it->data = ev->data;
    list_init(&it->ready);
    list_push_back(&ep->bucket[bucket_of_fd(ep, fd)], &it->hash);
    it->next_on_file = f->watched;
    it->at_file = &f->watched;
    if (f->watched != NULL)
        f->watched->at_file = &it->next_on_file;
    f->watched = it;
    ep->nitems++;
    grow_epoll_table(ep);
    (void)file_events(f, &it->p);
    if (it->p.nomem) {
        epitem_free(it);
        return -ENOSPC;
    }
    if (ready_events(it) != 0)
        epitem_wake(&it->p);
    return 0;
}

static int epoll_change_locked(struct eventpoll *ep, int op, struct file *f, int fd,
                               const struct epoll_event *ev)
{
    struct epitem *it = find_epitem(ep, f, fd);

    switch (op) {
    case EPOLL_CTL_ADD:
        return it != NULL ? -EEXIST : epitem_add(ep, f, fd, ev);
    case EPOLL_CTL_DEL:
        if (it != NULL)
            epitem_free(it);
        return it != NULL ? 0 : -ENOENT;
    case EPOLL_CTL_MOD:
        if (it == NULL)
            return -ENOENT;
        it->events = ev->events | ALWAYS;
        it->data = ev->data;
        if (ready_events(it) != 0)
            epitem_wake(&it->p);
        return 0;
    }
    return -EINVAL;
}

int epoll_change(struct file *epf, int op, struct file *f, int fd, const struct epoll_event *ev)
{
    struct eventpoll *ep = epf->data;
    int err;

    if (f->ops->poll == NULL)
        return -EPERM;
    if (epf->ops != &epoll_ops || f == epf || (f->ops == &epoll_ops && op == EPOLL_CTL_ADD))
        return -EINVAL;
    mutex_enter(&epoll_mutex);
    mutex_enter(&ep->lock);
    err = epoll_change_locked(ep, op, f, fd, ev);
    mutex_exit(&ep->lock);
    mutex_exit(&epoll_mutex);
    return err;
}

void epoll_file_gone(struct file *f)
{
    mutex_enter(&epoll_mutex);
    while (f->watched != NULL) {
        struct eventpoll *ep = f->watched->ep;

        mutex_enter(&ep->lock);
        epitem_free(f->watched);
        mutex_exit(&ep->lock);
    }
    mutex_exit(&epoll_mutex);
}

/* ---- taking events ---- */

/* Moves all elements of list `from` to the front of list `to`. */
static void splice_to_front(struct list *from, struct list *to)
{
    if (list_empty(from))
        return;
    from->prev->next = to->next;
    to->next->prev = from->prev;
    to->next = from->next;
    to->next->prev = to;
    list_init(from);
}

/* Takes the first item off a list of queued items.  From now on a wake-up queues the item again. */
static struct epitem *pop_ready_item(struct eventpoll *ep, struct list *l)
{
    struct epitem *it;

    spin_lock(&ep->rlock);
    it = list_pop(l, struct epitem, ready);
    if (it != NULL)
        it->queued = false;
    spin_unlock(&ep->rlock);
    return it;
}

/*
 * Checks each file of the ready list once, and stores up to n events in out[].  Returns their number.  The caller
 * holds ep->lock.
 */
static unsigned collect_ready_events(struct eventpoll *ep, struct epoll_event *out, unsigned n)
{
    struct list todo;
    struct epitem *it;
    unsigned got = 0;

    list_init(&todo);
    spin_lock(&ep->rlock);
    splice_to_front(&ep->ready, &todo);
    spin_unlock(&ep->rlock);
    while (got < n && (it = pop_ready_item(ep, &todo)) != NULL) {
        uint32_t r = ready_events(it);

        if (r == 0)
            continue;
        out[got++] = (struct epoll_event){.events = r, .data = it->data};
        if (it->events & EPOLLONESHOT)
            it->events = 0;
        else if (!(it->events & EPOLLET))
            (void)queue_ready_item(it);
    }
    spin_lock(&ep->rlock);
    splice_to_front(&todo, &ep->ready);
    spin_unlock(&ep->rlock);
    return got;
}

long epoll_take(struct file *epf, struct epoll_event *out, unsigned n, uint64_t deadline)
{
    struct eventpoll *ep = epf->data;
    unsigned got;
    bool more;
    int err = 0;

    if (epf->ops != &epoll_ops)
        return -EINVAL;
    for (;;) {
        mutex_enter(&ep->lock);
        got = collect_ready_events(ep, out, n);
        mutex_exit(&ep->lock);
        if (got > 0 || deadline == 0 || err != 0)
            break;
        spin_lock(&ep->rlock);
        while (list_empty(&ep->ready) && err == 0)
            err = cv_wait_sig_spin(&ep->cv, &ep->rlock, deadline, "epoll");
        spin_unlock(&ep->rlock);
    }
    spin_lock(&ep->rlock);
    more = !list_empty(&ep->ready);
    spin_unlock(&ep->rlock);
    if (more)
        cv_signal(&ep->cv); /* another waiting thread can take the rest */
    if (got > 0)
        return got;
    return err == -EINTR ? err : 0;
}

/* ---- as a file ---- */

static unsigned epoll_poll(struct file *f, struct poller *p)
{
    struct eventpoll *ep = f->data;
    struct epitem *it;
    bool ready = false;

    if (p != NULL)
        poll_register(p, &ep->ph);
    mutex_enter(&ep->lock);
    while (!ready && (it = pop_ready_item(ep, &ep->ready)) != NULL) {
        ready = ready_events(it) != 0;
        if (ready)
            (void)queue_ready_item(it);
    }
    mutex_exit(&ep->lock);
    return ready ? POLLIN | POLLRDNORM : 0;
}

static void epoll_close(struct file *f)
{
    struct eventpoll *ep = f->data;

    mutex_enter(&epoll_mutex);
    mutex_enter(&ep->lock);
    for (unsigned i = 0; i < ep->nbuckets; i++)
        while (!list_empty(&ep->bucket[i]))
            epitem_free(list_first(&ep->bucket[i], struct epitem, hash));
    mutex_exit(&ep->lock);
    mutex_exit(&epoll_mutex);
    usermem_return(ep->payer, EPOLL_COST);
    kmem_free(ep->bucket);
    kmem_free(ep);
}

static const struct fileops epoll_ops = {
    .poll = epoll_poll,
    .close = epoll_close,
    .kind = "anon_inode:[eventpoll]",
    .type = VANON,
};

/* NULL: no memory. */
static struct eventpoll *alloc_eventpoll(void)
{
    struct eventpoll *ep = kmem_zalloc(sizeof *ep);

    if (ep == NULL)
        return NULL;
    ep->bucket = make_epoll_buckets(FIRST_BUCKETS);
    if (ep->bucket == NULL) {
        kmem_free(ep);
        return NULL;
    }
    return ep;
}

int epoll_create(struct file **out)
{
    struct usermem *payer = usermem_charge(EPOLL_COST);
    struct eventpoll *ep;

    if (payer == NULL)
        return -ENFILE;
    ep = alloc_eventpoll();
    *out = ep != NULL ? file_alloc(&epoll_ops, NULL, O_RDWR) : NULL;
    if (*out == NULL) {
        usermem_return(payer, EPOLL_COST);
        if (ep != NULL)
            kmem_free(ep->bucket);
        kmem_free(ep);
        return -ENFILE;
    }
    ep->payer = payer;
    ep->nbuckets = FIRST_BUCKETS;
    mutex_init(&ep->lock, SLEEP_EPOLL);
    spin_init(&ep->rlock, RANK_EPOLL);
    list_init(&ep->ready);
    cv_init(&ep->cv);
    pollhead_init(&ep->ph);
    /* RANK_EPOLL, because epitem_wake() takes this lock under another pollhead's lock, and without rlock. */
    spin_init(&ep->ph.lock, RANK_EPOLL);
    (*out)->data = ep;
    return 0;
}
