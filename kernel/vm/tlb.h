// SPDX-License-Identifier: MIT
/*
 * tlb.h - which CPU has which address space loaded, and TLB shootdown.  See tlb.c.
 */
#ifndef VM_TLB_H
#define VM_TLB_H

#include "lib/cpumask.h"
#include "lib/types.h"
#include "pages/mapping.h"
#include "vm/as.h"

#define PT_CACHE 24 /* zeroed tables kept per CPU */
#define PT_TOPS  4  /* top-level tables kept per CPU */

enum tlb_what {
    TLB_PAGES,  /* invalidate translations; lazy CPUs do so when they use the space again */
    TLB_TABLES, /* tables are freed: like TLB_PAGES, and lazy CPUs unload the space */
    TLB_LEAVE,  /* all CPUs unload the space */
    TLB_KERNEL, /* no space: all CPUs invalidate all but global translations */
};

/* A shootdown request to other CPUs; it is in the sender's vm_cpu. */
struct tlb_request {
    struct as *as;
    uint64_t start, end; /* bytes; the whole space when start == end */
    uint64_t gen;        /* number of this flush of the space */
    enum tlb_what what;
    _Atomic uint32_t waiting; /* CPUs that have not carried out the request yet */
};

/* Lock key: [o] only its own CPU, interrupts off  [a] atomic */
struct vm_cpu {
    struct as *_Atomic loaded;  /* [a] space in CR3; written by its own CPU */
    _Atomic bool lazy;          /* [a] a thread without address space runs */
    uint64_t gen;               /* [o] last flush of `loaded` carried out */
    struct tlb_request request; /* [o] written; read by the target CPUs */
    struct cpumask senders;     /* [a] CPUs with a request to this CPU pending */
    uint32_t ntables;           /* [o] used entries of `tables` */
    uint32_t ntops;             /* [o] used entries of `tops` */
    uint64_t *tables[PT_CACHE];
    uint64_t *tops[PT_TOPS];
};

/* The tlb_flush functions and tlb_retire() wait for other CPUs, so the caller must hold no spin lock. */
/* tlb_flush - invalidate the translations of [start, end) of `as` on every CPU. */
void tlb_flush(struct as *as, uint64_t start, uint64_t end);
void tlb_flush_all(struct as *as);
/* tlb_flush_tables - like tlb_flush_all(), but called before some page tables of `as` are freed. */
void tlb_flush_tables(struct as *as);
/* tlb_only_here - whether this is the only CPU that can have translations of `as`.  Interrupts are off. */
bool tlb_only_here(const struct as *as);
/* tlb_retire - make every CPU unload `as`, whose memory is about to be freed. */
void tlb_retire(struct as *as);

/*
 * tlb_batch_add - note that `as` needs a flush, and take a reference to it until then.  The caller holds a lock under
 * which I9 of as.h holds: of the object that a segment maps, or of the family.
 */
void tlb_batch_add(struct tlb_batch *b, struct as *as);

#endif
