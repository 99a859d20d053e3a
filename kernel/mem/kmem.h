// SPDX-License-Identifier: MIT
/*
 * kmem.h - kernel memory in small pieces.
 *
 * THEORY      A slab allocator after Bonwick ("The Slab Allocator", USENIX 1994; magazines: USENIX 2001): caches
 *             of equal objects, slabs of one block of frames each, a magazine per CPU.  Objects come from the
 *             caller's node unless another is named.
 * LOCKING     Callable with spin locks below RANK_SLAB; does not sleep.
 */
#ifndef MEM_KMEM_H
#define MEM_KMEM_H

#include "lib/types.h"

struct kmem_cache;

/*
 * kmem_cache_create - make a cache of objects of `size` bytes (8 .. 8192), aligned to `align` (a power of 2, 0: 16).
 * Returns NULL when there is no memory.  Objects are not zeroed unless kmem_zalloc'ed.
 */
struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align);
/* kmem_cache_pageable - its objects go with pages that the page daemon takes: mem_unpageable() leaves them out. */
void kmem_cache_pageable(struct kmem_cache *c);
/* kmem_cache_alloc - an object from the CPU's node; NULL when there is no memory. */
void *kmem_cache_alloc(struct kmem_cache *c);
/* kmem_cache_alloc_wait - the same, but sleeps while there is no memory, unless none comes.  No spin lock is held. */
void *kmem_cache_alloc_wait(struct kmem_cache *c);
void *kmem_cache_alloc_node(struct kmem_cache *c, unsigned node);
void kmem_cache_free(struct kmem_cache *c, void *obj);

/* kmem_alloc - `size` bytes (any size up to 4 MiB); kmem_zalloc: zeroed.  NULL when there is no memory. */
void *kmem_alloc(size_t size);
void *kmem_zalloc(size_t size);
void *kmem_alloc_node(size_t size, unsigned node);
/* kmem_free - give back what kmem_alloc*() returned; NULL is allowed. */
void kmem_free(void *p);

/* kmem_live_objects - objects allocated and not freed, over all caches: for leak checks. */
uint64_t kmem_live_objects(void);

#endif
