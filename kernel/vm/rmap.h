// SPDX-License-Identifier: MIT
/*
 * rmap.h - from a page to all its mappings; most of it is declared in pages/mapping.h.  See rmap.c.
 */
#ifndef VM_RMAP_H
#define VM_RMAP_H

#include "vm/as.h"
#include "vm/tlb.h"

/* rmap_locked_shared - whether a locked segment maps the page of a file or shared object.  The caller holds o->lock. */
bool rmap_locked_shared(struct vm_object *o, struct page *pg);

#endif
