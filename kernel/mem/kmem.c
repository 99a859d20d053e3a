// SPDX-License-Identifier: MIT
/*
 * kmem.c - slabs and magazines: see kmem.h.
 *
 * THEORY      A slab is a block of frames, divided into objects of one cache.  The descriptors of all its
 *             frames have PG_SLAB and name the slab, so kmem_free() finds the slab of an object.  Free objects
 *             of a slab are linked through their first word.
 *             A magazine is a short stack of free objects that one CPU uses without a lock.  It is filled
 *             from the slabs of the CPU's node, and emptied into them.  A node without memory has slabs, too,
 *             in frames of the nearest node.
 *             A slab holds at least eight objects, if eight frames are enough for that.  If memory is
 *             fragmented, a slab can be smaller, as long as it holds one object.  So allocating an object of up
 *             to 2 KiB never needs more than one frame.
 *             Sizes over 8 KiB come directly from the page allocator.
 * INVARIANTS  I1  an object goes back to the slab, and so to the node, from which it came
 *             I2  a slab on a node's partial list has a free object; a full one is on no list
 * LOCKING     cache->node[n].lock (RANK_SLAB), one at a time.  A CPU uses its magazines with interrupts off.
 */
#include "mem/kmem.h"

#include "lib/cpu.h"
#include "lib/string.h"
#include "mem/mem_init.h"
#include "mem/page.h"
#include "mem/percpu.h"
#include "stat/panic.h"

struct slab { /* at the start of the block */
    struct kmem_cache *cache;
    struct list link;
    void *free; /* list of free objects, linked through the first word of each object */
    uint32_t nfree, total;
    unsigned order; /* order of the block */
    /* node on whose list the slab is; the frames of the slab may be of another node */
    unsigned node;
};

struct kmem_cache {
    const char *name;
    uint32_t size, id;
    uint32_t order; /* order of a slab */
    uint32_t least; /* order of a slab for one object */
    uint32_t first; /* offset of the first object */
    bool pageable;  /* kmem_cache_pageable() was called */
    struct {
        struct spinlock lock;
        struct list partial;
        uint32_t nempty; /* slabs on the list that have no object in use */
    } node[NODE_MAX];
};

/* The caches themselves are static: a cache is made once for each type of object. */
static struct kmem_cache caches[KMEM_CACHES];
static _Atomic uint32_t ncaches;

static const uint16_t general_sizes[] = {16,  32,  48,  64,   96,   128,  192,  256,
                                         384, 512, 768, 1024, 1536, 2048, 4096, 8192};
static struct kmem_cache *general[array_size(general_sizes)];
static uint8_t general_index[8192 / 16 + 1]; /* (size + 15) / 16 -> general[] */

/* The slab of an object; NULL: the object came directly from the page allocator. */
static struct slab *slab_of(void *obj)
{
    struct page *pg = virt_to_page(obj);

    return pg->flags & PG_SLAB ? pg->slab : NULL;
}

/* Makes a slab for the list of `node`, with all objects free; NULL: no memory. */
static struct slab *slab_create(struct kmem_cache *c, unsigned node)
{
    unsigned order = c->order;
    struct page *pg;
    struct slab *s;
    char *base;

    while ((pg = page_alloc(node, order, ALLOC_NEAR | (c->pageable ? 0 : ALLOC_UNPAGEABLE))) ==
           NULL)
        if (order-- == c->least)
            return NULL;
    s = page_to_virt(pg);
    for (unsigned i = 0; i < 1u << order; i++) {
        struct page *p = pg + i;

        if (i > 0)
            p->order = 0;
        p->node = pg->node;
        p->flags = PG_SLAB | (i == 0 ? pg->flags : 0);
        p->slab = s;
    }
    base = (char *)s;
    *s = (struct slab){.cache = c, .order = order, .node = node};
    list_init(&s->link);
    for (size_t off = c->first; off + c->size <= PAGE_SIZE << order; off += c->size) {
        *(void **)(base + off) = s->free;
        s->free = base + off;
        s->nfree++;
    }
    s->total = s->nfree;
    return s;
}

static void slab_destroy(struct slab *s)
{
    struct page *pg = virt_to_page(s);

    for (unsigned i = 0; i < 1u << s->order; i++)
        pg[i].flags &= ~(uint32_t)PG_SLAB;
    page_free(pg);
}

/*
 * Takes up to `want` objects from the node's slabs, or from a new slab if the node has none, and
 * stores them in out[].  Returns how many.
 */
static unsigned take_slab_objects(struct kmem_cache *c, unsigned node, void **out, unsigned want)
{
    unsigned got = 0;
    struct slab *fresh = NULL;

    while (got < want) {
        spin_lock(&c->node[node].lock);
        if (fresh != NULL) {
            list_push_front(&c->node[node].partial, &fresh->link);
            c->node[node].nempty++;
            fresh = NULL;
        }
        while (got < want && !list_empty(&c->node[node].partial)) {
            struct slab *s = list_first(&c->node[node].partial, struct slab, link);

            if (s->nfree == s->total)
                c->node[node].nempty--;
            while (got < want && s->free != NULL) {
                out[got++] = s->free;
                s->free = *(void **)s->free;
                s->nfree--;
            }
            if (s->free == NULL)
                list_remove(&s->link);
        }
        spin_unlock(&c->node[node].lock);
        if (got > 0)
            break;
        fresh = slab_create(c, node);
        if (fresh == NULL)
            break;
    }
    return got;
}

/*
 * Puts an object back into its slab.  Frees the slab if it has become empty and another empty slab is on the
 * list.
 */
static void return_slab_object(void *obj)
{
    struct slab *s = slab_of(obj);
    struct kmem_cache *c = s->cache;
    unsigned node = s->node;
    bool drop = false;

    spin_lock(&c->node[node].lock);
    *(void **)obj = s->free;
    s->free = obj;
    if (s->nfree++ == 0)
        list_push_back(&c->node[node].partial, &s->link);
    if (s->nfree == s->total) {
        drop = c->node[node].nempty > 0; /* keep one empty slab for the next allocations */
        if (drop)
            list_remove(&s->link);
        else
            c->node[node].nempty++;
    }
    spin_unlock(&c->node[node].lock);
    if (drop)
        slab_destroy(s);
}

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align)
{
    uint32_t id = ncaches++;
    struct kmem_cache *c;

    if (id >= KMEM_CACHES)
        panic("more than %u kmem caches", KMEM_CACHES);
    if (align < 16)
        align = 16;
    c = &caches[id];
    c->name = name;
    c->id = id;
    c->size = (uint32_t)round_up(max_of(size, (size_t)16), align);
    c->first = (uint32_t)round_up(sizeof(struct slab), align);
    while (PAGE_SIZE << c->least < c->first + c->size)
        c->least++;
    c->order = c->least;
    while ((PAGE_SIZE << c->order) - c->first < 8 * (size_t)c->size && c->order < 3)
        c->order++;
    for (unsigned i = 0; i < NODE_MAX; i++) {
        spin_init(&c->node[i].lock, RANK_SLAB);
        list_init(&c->node[i].partial);
    }
    return c;
}

/*
 * Makes magazines of the running CPU, for `c` and for other caches.  Magazines are cut from whole frames, so that
 * making a magazine needs no other magazine.  NULL: no memory.
 */
static __attribute__((noinline)) struct obj_mag *make_cpu_magazines(const struct kmem_cache *c)
{
    struct cpu *cpu = this_cpu();
    struct page *pg = page_alloc(cpu->node, 0, ALLOC_NEAR | ALLOC_ZERO | ALLOC_UNPAGEABLE);

    if (pg == NULL)
        return NULL;
    for (unsigned i = 0, k = 0; i < KMEM_CACHES && k < PAGE_SIZE / sizeof(struct obj_mag); i++) {
        unsigned id = (c->id + i) % KMEM_CACHES;

        if (cpu->mem->mag[id] == NULL)
            cpu->mem->mag[id] = (struct obj_mag *)page_to_virt(pg) + k++;
    }
    return cpu->mem->mag[c->id];
}

/*
 * Returns the running CPU's magazine for `c`, which is made on first use.  NULL: no memory for the
 * magazine.  Interrupts are off.
 */
static inline struct obj_mag *get_cpu_magazine(const struct kmem_cache *c)
{
    struct obj_mag *m = this_cpu()->mem->mag[c->id];

    return likely(m != NULL) ? m : make_cpu_magazines(c);
}

/* Takes an object from the CPU's magazine, filled if necessary; NULL: no memory. */
static void *take_object(struct kmem_cache *c)
{
    struct obj_mag *m;
    void *obj = NULL;

    irq_push();
    m = get_cpu_magazine(c);
    if (likely(m != NULL)) {
        if (m->n == 0)
            m->n = take_slab_objects(c, this_cpu()->node, m->obj, OBJ_MAG / 2);
        if (m->n > 0) {
            obj = m->obj[--m->n];
            m->live++;
        }
    }
    irq_pop();
    return obj;
}

/* attempts: enough to get the frames of a slab, if memory is not fragmented */
#define TRIES         4u
/* attempts: other threads may take freed frames, and a slab needs several frames */
#define TRIES_WAITING 64u

/*
 * Frees pages of the cache list, or with `wait` sleeps until memory is free, and tries again.  Does nothing if
 * interrupts are off.
 */
static __attribute__((noinline)) void *retry_take_object(struct kmem_cache *c, bool wait)
{
    struct mem_need need = {this_cpu()->node, wait ? TRIES_WAITING : TRIES, wait, true};
    void *obj = NULL;

    while (obj == NULL && irq_enabled() && mem_wait(&need) == MEM_FREED)
        obj = take_object(c);
    return obj;
}

void *kmem_cache_alloc(struct kmem_cache *c)
{
    void *obj = take_object(c);

    return likely(obj != NULL) ? obj : retry_take_object(c, false);
}

void *kmem_cache_alloc_wait(struct kmem_cache *c)
{
    void *obj;

    spin_check_sleep(0);
    obj = take_object(c);
    return likely(obj != NULL) ? obj : retry_take_object(c, true);
}

void *kmem_cache_alloc_node(struct kmem_cache *c, unsigned node)
{
    void *obj = NULL;

    irq_push();
    if (node == this_cpu()->node) {
        obj = kmem_cache_alloc(c);
    } else if (take_slab_objects(c, node, &obj, 1) == 1) {
        struct obj_mag *m = get_cpu_magazine(c);

        if (m != NULL)
            m->live++;
    }
    irq_pop();
    return obj;
}

#ifdef HR_TEST
enum { POISON = 0xdb };

/*
 * Test builds: detects the use of freed objects.  A freed object is filled with POISON, so that code that reads
 * it finds neither the old contents nor zeroes.  The object then stays in a ring until the CPU has freed
 * QUARANTINE others.  If a store changes the object in that time, the kernel panics.
 * Puts *obj of cache *c into the ring, and counts it as freed.  If the ring was not full, returns false.
 * Otherwise sets *c and *obj to the object that has been in the ring longest, and counts that object as in use;
 * the caller must free it.
 */
static bool quarantine_object(struct kmem_cache **c, void **obj)
{
    struct mem_cpu *m = this_cpu()->mem;
    void **place, *old;

    if (get_cpu_magazine(*c) == NULL)
        return true; /* no memory for a magazine: free *obj at once */
    place = &m->freed[m->nfreed++ % QUARANTINE];
    old = *place;
    memset(*obj, POISON, (*c)->size);
    get_cpu_magazine(*c)->live--;
    *place = *obj;
    if (old == NULL)
        return false;
    *obj = old;
    *c = slab_of(old)->cache;
    get_cpu_magazine(*c)->live++; /* the object was counted before, so there is a magazine */
    for (uint32_t i = 0; i < (*c)->size; i++)
        if (((uint8_t *)old)[i] != POISON)
            panic("object %p of cache %s: byte %u was written after it was freed", old, (*c)->name,
                  i);
    return true;
}
#else
static inline bool quarantine_object(struct kmem_cache **c, void **obj)
{
    return true;
}
#endif

void kmem_cache_free(struct kmem_cache *c, void *obj)
{
    struct obj_mag *m;

    irq_push();
    if (!quarantine_object(&c, &obj))
        goto out;
    m = get_cpu_magazine(c);
    if (m != NULL)
        m->live--;
    if (m == NULL || slab_of(obj)->node != this_cpu()->node) {
        return_slab_object(obj); /* there is no magazine, or the slab is of another node (I1) */
    } else {
        if (m->n == OBJ_MAG)
            while (m->n > OBJ_MAG / 2)
                return_slab_object(m->obj[--m->n]);
        m->obj[m->n++] = obj;
    }
out:
    irq_pop();
}

static struct kmem_cache *general_cache_for(size_t size)
{
    return general[general_index[(size + 15) / 16]];
}

static unsigned order_for_size(size_t size)
{
    unsigned order = 0;

    while (PAGE_SIZE << order < size)
        order++;
    return order;
}

void *kmem_alloc_node(size_t size, unsigned node)
{
    struct page *pg;

    if (size <= 8192)
        return kmem_cache_alloc_node(general_cache_for(size), node);
    if (order_for_size(size) > MAX_ORDER)
        return NULL;
    pg = page_alloc(node, order_for_size(size), ALLOC_NEAR | ALLOC_UNPAGEABLE);
    return pg == NULL ? NULL : page_to_virt(pg);
}

void *kmem_alloc(size_t size)
{
    if (size <= 8192)
        return kmem_cache_alloc(general_cache_for(size));
    return kmem_alloc_node(size, this_cpu()->node);
}

void *kmem_zalloc(size_t size)
{
    void *p = kmem_alloc(size);

    return p == NULL ? NULL : memset(p, 0, size);
}

void kmem_free(void *p)
{
    struct slab *s;

    if (p == NULL)
        return;
    s = slab_of(p);
    if (s != NULL)
        kmem_cache_free(s->cache, p);
    else
        page_free(virt_to_page(p));
}

uint64_t kmem_live_objects(void)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < ncpu; i++)
        for (unsigned k = 0; k < KMEM_CACHES; k++)
            if (cpus[i] != NULL && cpus[i]->mem->mag[k] != NULL)
                n += cpus[i]->mem->mag[k]->live;
    return n;
}

void kmem_init(void)
{
    for (unsigned i = 0; i < array_size(general_sizes); i++)
        general[i] = kmem_cache_create("kmem_alloc", general_sizes[i], 16);
    for (unsigned s = 0, i = 0; s < array_size(general_index); s++) {
        while (s * 16u > general_sizes[i])
            i++;
        general_index[s] = (uint8_t)i;
    }
}

void kmem_cache_pageable(struct kmem_cache *c)
{
    c->pageable = true;
}

void mem_cpu_init(struct cpu *c)
{
    unsigned order = order_for_size(sizeof(struct mem_cpu));
    struct page *pg = page_alloc(c->node, order, ALLOC_NEAR | ALLOC_ZERO | ALLOC_UNPAGEABLE);

    if (pg == NULL)
        panic("no memory for the magazines of CPU %u", c->id);
    c->mem = page_to_virt(pg);
}
