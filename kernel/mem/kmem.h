// SPDX-License-Identifier: MIT
/*
 * kmem.h - the allocator of small kernel objects.
 *
 * THEORY      The kernel needs many objects that are much smaller than a frame: threads, inodes, queue
 *             entries.  This is a slab allocator after Bonwick ("The Slab Allocator", USENIX 1994;
 *             magazines: USENIX 2001).  A cache allocates objects of one size.  It cuts them from slabs; a slab
 *             is a block of frames.  Each CPU has a magazine of free objects for each cache, so that most calls
 *             need no lock.  Objects come from the caller's node unless another is named.
 * LOCKING     Callers can hold spin locks of a rank below RANK_SLAB.  Only kmem_cache_alloc_wait() sleeps.
 */
#ifndef MEM_KMEM_H
#define MEM_KMEM_H

#include "lib/types.h"

struct kmem_cache;

/*
 * kmem_cache_create - make a cache of objects of `size` bytes (at most 8192), aligned to `align` bytes (a
 * power of two; at least 16).  Never NULL: caches are static, and more than KMEM_CACHES of them cause a
 * panic.  Objects are not zeroed.
 */
struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align);
/*
 * kmem_cache_pageable - declare that objects of the cache belong to pages that the pageout daemon can take.
 * Then mem_unpageable() does not count the cache's slabs.
 */
void kmem_cache_pageable(struct kmem_cache *c);
/* kmem_cache_alloc - allocate an object from the CPU's node; NULL: no memory. */
void *kmem_cache_alloc(struct kmem_cache *c);
/*
 * kmem_cache_alloc_wait - like kmem_cache_alloc(), but sleep until there is memory.  NULL: waiting does not
 * help.  The caller must hold no spin lock.
 */
void *kmem_cache_alloc_wait(struct kmem_cache *c);
/* kmem_cache_alloc_node - like kmem_cache_alloc(), from `node`, or from a near node if `node` has no memory. */
void *kmem_cache_alloc_node(struct kmem_cache *c, unsigned node);
void kmem_cache_free(struct kmem_cache *c, void *obj);

/* kmem_alloc - allocate `size` bytes (up to 4 MiB); kmem_zalloc: zeroed.  NULL: no memory. */
void *kmem_alloc(size_t size);
void *kmem_zalloc(size_t size);
void *kmem_alloc_node(size_t size, unsigned node);
/* kmem_free - free memory that kmem_alloc*() returned; NULL is allowed. */
void kmem_free(void *p);

/*
 * kmem_live_objects - objects allocated and not freed, over all caches, for leak checks.  Allocations over 8
 * KiB are not counted.
 */
uint64_t kmem_live_objects(void);

#endif
