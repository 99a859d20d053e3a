// SPDX-License-Identifier: MIT
/*
 * nethost.c - stand-ins for what kernel/net and drivers/virtio_net.c call: memory, time, waiting, files, a card.
 */
#include "vfs/file.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "disp/timer.h"
#include "drivers/virtio.h"
#include "vfs/pseudo.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/kstat.h"
#include "stat/panic.h"
#include "tests/host/check.h"

static struct cpu the_cpu;
struct cpu *cpus[1] = {&the_cpu};
unsigned ncpu = 1;
int host_spins_held;
long host_kmem;
unsigned host_fail_one_in;

void crng_bytes(void *buf, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)buf)[i] = (uint8_t)check_random();
}

/* ---- memory ---- */

struct kmem_cache {
    size_t size;
};

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align)
{
    static struct kmem_cache only;

    only.size = size;
    return &only;
}

void *kmem_alloc(size_t size)
{
    if (host_fail_one_in != 0 && check_below(host_fail_one_in) == 0)
        return NULL;
    host_kmem++;
    return malloc(size);
}

void *kmem_zalloc(size_t size)
{
    void *p = kmem_alloc(size);

    if (p != NULL)
        memset(p, 0, size);
    return p;
}

void kmem_free(void *p)
{
    host_kmem -= p != NULL;
    free(p);
}

void *kmem_cache_alloc(struct kmem_cache *c)
{
    return kmem_alloc(c->size);
}

void kmem_cache_free(struct kmem_cache *c, void *obj)
{
    kmem_free(obj);
}

struct page *page_alloc(unsigned node, unsigned order, unsigned flags)
{
    static struct host_page *all[256]; /* they are never freed */
    static unsigned n;
    struct host_page *p = calloc(1, sizeof *p);

    p->data = aligned_alloc(PAGE_SIZE, PAGE_SIZE << order);
    all[n++ % array_size(all)] = p;
    return &p->pg;
}

uint64_t mem_total_pages(void)
{
    return 65536;
}

int uio_move(void *kbuf, size_t n, struct uio *uio)
{
    uint8_t *k = kbuf;

    host_check(host_spins_held == 0, "bytes of a program moved under a spin lock");
    while (n > 0) {
        size_t here = min_of(n, (size_t)uio->iov->len - uio->skip);
        uint8_t *u = (uint8_t *)(uintptr_t)uio->iov->base + uio->skip;

        if (uio->dir == UIO_READ)
            memcpy(u, k, here);
        else
            memcpy(k, u, here);
        k += here;
        n -= here;
        uio->resid -= here;
        uio->skip += here;
        if (uio->skip == uio->iov->len && uio->niov > 1) {
            uio->iov++;
            uio->niov--;
            uio->skip = 0;
        }
    }
    return 0;
}

int copy_in(void *dst, uint64_t uaddr, size_t n)
{
    memcpy(dst, (void *)(uintptr_t)uaddr, n);
    return 0;
}

int copy_out(uint64_t uaddr, const void *src, size_t n)
{
    memcpy((void *)(uintptr_t)uaddr, src, n);
    return 0;
}

long copy_in_str(char *dst, uint64_t uaddr, size_t size)
{
    return (long)str_copy(dst, (const char *)(uintptr_t)uaddr, size);
}

/* ---- time and waiting ---- */

static uint64_t now_ns = 1000000000;
static struct timer *armed;

uint64_t clock_mono_ns(void)
{
    return now_ns;
}

void timer_arm(struct timer *t, uint64_t deadline_ns, void (*fn)(struct timer *))
{
    t->deadline_ns = deadline_ns;
    t->fn = fn;
    armed = t; /* there is only one timer */
}

void host_advance(unsigned ms)
{
    uint64_t end = now_ns + ms * 1000000ull;

    while (armed != NULL && armed->deadline_ns <= end) {
        struct timer *t = armed;

        now_ns = max_of(now_ns, t->deadline_ns);
        armed = NULL;
        t->fn(t);
    }
    now_ns = end;
}

void cv_init(struct cv *cv)
{
}

int cv_wait_sig_spin(struct cv *cv, struct spinlock *l, uint64_t deadline, const char *what)
{
    host_check(l->held, "a wait without its lock");
    return deadline == NO_DEADLINE ? -EINTR : -ETIMEDOUT;
}

unsigned cv_broadcast(struct cv *cv)
{
    return 0;
}

void mutex_init(struct mutex *m, enum sleeprank rank)
{
    m->l.word = 0;
}

void mutex_enter(struct mutex *m)
{
    host_check(host_spins_held == 0 && m->l.word == 0, "a mutex under a spin lock, or twice");
    m->l.word = 1;
}

bool mutex_tryenter(struct mutex *m)
{
    bool free = m->l.word == 0;

    if (free)
        m->l.word = 1;
    return free;
}

void mutex_exit(struct mutex *m)
{
    m->l.word = 0;
}

/* ---- files, text, counters ---- */

struct file *file_alloc(const struct fileops *ops, struct vnode *vn, unsigned flags)
{
    struct file *f = kmem_zalloc(sizeof *f);

    if (f == NULL)
        return NULL;
    f->refs = 1;
    f->flags = flags;
    f->ops = ops;
    return f;
}

void file_release(struct file *f)
{
    if (--f->refs != 0)
        return;
    f->ops->close(f);
    kmem_free(f);
}

void vn_release(struct vnode *vn)
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

void text_str(struct text *t, const char *s)
{
    t->len += strlen(s);
}

void kstat_register(struct kstat *ks)
{
}

void warn(const char *fmt, ...)
{
}

void panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

size_t str_copy(char *dst, const char *src, size_t size)
{
    return (size_t)snprintf(dst, size, "%s", src);
}

/* ---- a card ---- */

enum { RING = 256 };

static struct fifo {
    void *cookie[RING];
    uint64_t pa[RING];
    uint32_t len[RING];
    unsigned first, n;
} rx_given, rx_used, tx_given;
static struct virtq *rx_queue;
static void (*rx_fn)(void *);
static void *rx_arg;
static uint8_t sent[2048]; /* the newest frame that was sent */
static unsigned sent_len;
static uint8_t config[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};

static void fifo_put(struct fifo *q, void *cookie, uint64_t pa, uint32_t len)
{
    unsigned at = (q->first + q->n++) % RING;

    q->cookie[at] = cookie;
    q->pa[at] = pa;
    q->len[at] = len;
}

static unsigned fifo_take(struct fifo *q)
{
    unsigned at = q->first;

    q->first = (q->first + 1) % RING;
    q->n--;
    return at;
}

bool pci_each(bool (*fn)(struct pci_fn f, uint32_t id, void *arg), void *arg)
{
    return fn((struct pci_fn){0}, VIRTIO_VENDOR | 0x1041u << 16, arg);
}

int virtio_open(struct virtio_dev *d, struct pci_fn f, uint64_t wanted, uint64_t *features)
{
    d->config = config;
    d->config_len = sizeof config;
    *features = wanted;
    return 0;
}

void virtio_start(struct virtio_dev *d)
{
}

int virtq_open(struct virtio_dev *d, struct virtq *q, unsigned index, unsigned cpu,
               void (*fn)(void *), void *arg, const char *name)
{
    if (fn != NULL) {
        rx_queue = q;
        rx_fn = fn;
        rx_arg = arg;
    }
    return 0;
}

bool virtq_add_chain(struct virtq *q, const struct virtq_piece *piece, unsigned n, void *cookie)
{
    struct fifo *to = q == rx_queue ? &rx_given : &tx_given;

    if (to->n == RING)
        return false;
    if (q != rx_queue) {
        sent_len = piece->len - 12;
        memcpy(sent, (uint8_t *)cookie + 12, sent_len);
    }
    fifo_put(to, cookie, piece->pa, piece->len);
    return true;
}

void virtq_notify(struct virtq *q)
{
}

/* Sent buffers are returned some frames later. */
void *virtq_take_used(struct virtq *q, uint32_t *written)
{
    struct fifo *from = q == rx_queue ? &rx_used : &tx_given;
    unsigned at;

    if (from->n == 0 || (q != rx_queue && from->n < 32))
        return NULL;
    at = fifo_take(from);
    if (written != NULL)
        *written = from->len[at];
    return from->cookie[at];
}

void host_frame(const void *frame, unsigned len, uint32_t written)
{
    unsigned at;

    host_check(rx_given.n > 0, "the card has no buffer");
    at = fifo_take(&rx_given);
    memset(rx_given.cookie[at], 0, 12);
    memcpy((uint8_t *)rx_given.cookie[at] + 12, frame, min_of(len, 2036u));
    fifo_put(&rx_used, rx_given.cookie[at], 0, written);
    rx_fn(rx_arg);
}

const uint8_t *host_sent(unsigned *len)
{
    *len = sent_len;
    sent_len = 0;
    return *len > 0 ? sent : NULL;
}
