// SPDX-License-Identifier: MIT
/*
 * tlb.h - which CPU has which address space loaded, and how they forget old translations.
 *
 * See tlb.c.
 */
#ifndef VM_TLB_H
#define VM_TLB_H

#include "lib/cpumask.h"
#include "lib/types.h"
#include "vm/as.h"

#define PT_CACHE 24 /* zeroed tables kept per CPU                 */
#define PT_TOPS  4  /* top-level tables kept per CPU              */

enum tlb_what {
    TLB_PAGES,  /* forget translations; lazy CPUs do so when they use the space again */
    TLB_TABLES, /* tables are freed: all forget them, and lazy CPUs leave the space   */
    TLB_LEAVE,  /* all CPUs leave the space                                            */
    TLB_KERNEL, /* no space: all CPUs forget all but global translations               */
};

/* A request to other CPUs; lives in the sender's vm_cpu. */
struct tlb_request {
    struct as *as;
    uint64_t start, end; /* bytes; the whole space when start == end */
    uint64_t gen;
    enum tlb_what what;
    _Atomic uint32_t waiting; /* CPUs that have not answered              */
};

/* Lock key: [o] only its own CPU, interrupts off  [a] atomic */
struct vm_cpu {
    struct as *_Atomic loaded;  /* [a] written by its own CPU               */
    _Atomic bool lazy;          /* [a] a thread without address space runs  */
    uint64_t gen;               /* [o] flushes of `loaded` carried out      */
    struct tlb_request request; /* [o] filled, read by the targets          */
    struct cpumask senders;     /* [a] CPUs whose request waits for this one */
    uint32_t ntables;           /* [o]                                      */
    uint32_t ntops;             /* [o]                                      */
    uint64_t *tables[PT_CACHE];
    uint64_t *tops[PT_TOPS];
};

/* tlb_flush - make every CPU forget its translations of [start, end) of `as`.  No spin lock may be held. */
void tlb_flush(struct as *as, uint64_t start, uint64_t end);
void tlb_flush_all(struct as *as);
/* tlb_flush_tables - the same for all of `as`, some of whose page tables are about to be freed. */
void tlb_flush_tables(struct as *as);
/* tlb_flush_kernel - make every CPU forget the translations of kernel stacks, which are not global. */
void tlb_flush_kernel(void);
/* tlb_only_here - can no CPU but this one have translations of `as`?  Interrupts are off. */
bool tlb_only_here(const struct as *as);
/* tlb_retire - make every CPU stop using `as`, which is about to be freed. */
void tlb_retire(struct as *as);

/* A few spaces to flush, gathered while spin locks are held. */
#define TLB_BATCH 6
struct tlb_batch {
    unsigned n;
    bool everyone;            /* too many: flush all CPUs */
    struct as *as[TLB_BATCH]; /* each held */
};
static inline void tlb_batch_init(struct tlb_batch *b)
{
    b->n = 0;
    b->everyone = false;
}
/* tlb_batch_add - `as` needs a flush; a space without references is dying and needs none. */
void tlb_batch_add(struct tlb_batch *b, struct as *as);
/* tlb_batch_done - flush what was gathered; the batch is empty afterwards.  No spin lock may be held. */
void tlb_batch_done(struct tlb_batch *b);
/* as_release_later - as as_release(), but a thread gives up the last reference (deferred_release.c): the caller may not sleep. */
void as_release_later(struct as *as);

#endif
