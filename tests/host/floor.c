// SPDX-License-Identifier: MIT
/* floor.c - memory, locks, time and messages: see floor.h. */
#include "disp/sync.h"
#include "disp/timer.h"
#include "mem/kmem.h"
#include "mem/page.h"
#include "stat/panic.h"
#include "stat/trace.h"

#include <stdarg.h>
#include <string.h>

int host_spins_held;
void (*host_before_write)(void);
long host_kmem;
unsigned host_alloc_fails, host_allocs;
bool host_quiet;
char host_warning[256];
uint32_t trace_enable;

void trace_self(enum trace_type type, unsigned info, uint64_t a, uint64_t b)
{
    host_check(0, "the trace is off");
}

uint64_t trace_name(const char *s)
{
    host_check(0, "the trace is off");
    return 0;
}

/* ---- memory ---- */
bool host_no_memory(void)
{
    return host_alloc_fails != 0 && ++host_allocs % host_alloc_fails == 0;
}

struct kmem_cache {
    size_t size, align;
};

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align)
{
    static struct kmem_cache caches[16];
    static unsigned n;

    caches[n] = (struct kmem_cache){size, max_of(align, (size_t)16)};
    return &caches[n++];
}

void *kmem_alloc(size_t size)
{
    void *p;

    if (size > 4 << 20 || host_no_memory())
        return NULL;
    host_kmem++;
    p = size >= PAGE_SIZE ? aligned_alloc(PAGE_SIZE, round_up(size, PAGE_SIZE)) : malloc(size);
    return memset(p, 0xa5, size);
}

void *kmem_zalloc(size_t size)
{
    void *p = kmem_alloc(size);

    return p == NULL ? NULL : memset(p, 0, size);
}

void kmem_free(void *p)
{
    host_kmem -= p != NULL;
    free(p);
}

void *kmem_cache_alloc(struct kmem_cache *c)
{
    if (host_no_memory())
        return NULL;
    host_kmem++;
    return aligned_alloc(c->align, round_up(c->size, c->align));
}

void *kmem_cache_alloc_wait(struct kmem_cache *c)
{
    host_check(host_spins_held == 0, "a wait for memory with a spin lock");
    return kmem_cache_alloc(c);
}

void kmem_cache_free(struct kmem_cache *c, void *obj)
{
    kmem_free(obj);
}

/* ---- locks ---- */
static const char *const rank_name[] = {
#define X(rank, name, guards) [rank] = name,
    SLEEPING_LOCKS(X)
#undef X
};

void mutex_init(struct mutex *m, enum sleeprank rank)
{
    m->l.word = 0;
    m->l.rank = rank;
}

void (*host_before_mutex)(void);

void mutex_enter(struct mutex *m)
{
    if (host_before_mutex != NULL)
        host_before_mutex();
    host_check(host_spins_held == 0 && m->l.word == 0, rank_name[m->l.rank]);
    m->l.word = 1;
}

bool mutex_tryenter(struct mutex *m)
{
    if (m->l.word != 0)
        return false;
    mutex_enter(m);
    return true;
}

void mutex_exit(struct mutex *m)
{
    host_check(m->l.word == 1, rank_name[m->l.rank]);
    m->l.word = 0;
}

void rw_init(struct rwlock *rw, enum sleeprank rank)
{
    rw->l.word = 0;
    rw->l.rank = rank;
}

void rw_enter_read(struct rwlock *rw)
{
    host_check(host_spins_held == 0 && (rw->l.word & 1) == 0, rank_name[rw->l.rank]);
    rw->l.word += 4;
}

void rw_exit_read(struct rwlock *rw)
{
    host_check(rw->l.word >= 4, rank_name[rw->l.rank]);
    rw->l.word -= 4;
}

void rw_enter_write(struct rwlock *rw)
{
    void (*before)(void) = host_before_write;

    host_before_write = NULL;
    if (before != NULL)
        before();
    host_check(host_spins_held == 0 && rw->l.word == 0, rank_name[rw->l.rank]);
    rw->l.word = 1;
}

void rw_exit_write(struct rwlock *rw)
{
    host_check(rw->l.word == 1, rank_name[rw->l.rank]);
    rw->l.word = 0;
}

void cv_init(struct cv *cv)
{
}

unsigned cv_broadcast(struct cv *cv)
{
    cv->lock.rank++; /* counts the calls */
    return 0;
}

/* ---- other functions ---- */
uint64_t clock_real_ns(void)
{
    static uint64_t now = 1000000000ull * 1000000000;

    return now += 1000;
}

size_t str_copy(char *dst, const char *src, size_t size)
{
    snprintf(dst, size, "%s", src);
    return strlen(src);
}

void warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(host_warning, sizeof host_warning, fmt, ap);
    va_end(ap);
    if (!host_quiet)
        fprintf(stderr, "%s\n", host_warning);
}

void kprintf(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (!host_quiet) {
        vfprintf(stderr, fmt, ap);
        fputc('\n', stderr);
    }
    va_end(ap);
}

void panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    abort();
}
