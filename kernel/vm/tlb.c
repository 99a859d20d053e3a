// SPDX-License-Identifier: MIT
/*
 * tlb.c - which CPU has which address space loaded, and TLB shootdown.
 *
 * THEORY      Each processor caches page-table entries in its TLB.  It does not notice when the kernel
 *             changes an entry in memory, so the kernel must invalidate the cached copies before it reuses a
 *             page.  On other CPUs a *shootdown* does this: the sender interrupts them and waits until they
 *             have invalidated their copies.  Interrupts are expensive, so only CPUs that may use the old entry
 *             are interrupted.
 *             A CPU loads an address space when it dispatches a thread of that space.  The space stays loaded
 *             while threads without an address space (kernel threads, idle) run: the CPU is then *lazy*.  A
 *             lazy CPU uses no user translations, and writes CR3 again only to load another space.
 *             A flush increments the space's generation, flushes this CPU, and interrupts the other CPUs that
 *             have the space loaded and are not lazy.  A CPU that stops being lazy compares generations; if
 *             it has missed a flush, it flushes everything.
 *             A processor may walk page tables at any time, also while it is lazy (Intel SDM volume 3,
 *             4.10.2.3).  So before page tables are freed, lazy CPUs are interrupted, too, and unload the
 *             space.  The sender waits with interrupts off, because its request is in the struct of its own
 *             CPU.  While it waits, it carries out requests of other CPUs, so that two senders do not wait for
 *             each other for ever.  The sender holds no spin lock, because a target may be spinning on that
 *             lock with interrupts off.
 * INVARIANTS  I1  a CPU is in as->cpus whenever its vm_cpu.loaded == as and one of its threads may run there
 *             I2  a CPU that uses `as` has done all flushes up to vm_cpu.gen, and gets
 *                 requests for later ones
 * LOCKING     There are no locks.  I2 holds because of the order of accesses on both sides: a sender increments
 *             tlb_gen, then reads `cpus` and `lazy`; a CPU sets its bit in `cpus` or clears `lazy`, then reads
 *             tlb_gen.  All these accesses are sequentially consistent.
 * TUNABLES    FLUSH_PAGES below
 * SEE ALSO    docs/memory.md
 */
#include "vm/tlb.h"
#include "disp/thread.h"
#include "mem/kmem.h"
#include "stat/cpustat.h"
#include "stat/panic.h"
#include "stat/trace.h"
#include "vm/as.h"
#include "x86/asm.h"
#include "x86/ipi.h"
#include "x86/mmu.h"
#include "intr/intr.h"

#define FLUSH_PAGES 32 /* up to this many pages are flushed one by one, else the whole TLB */

/*
 * Carries out flush number `gen` of the space loaded on this CPU; start == end: of the whole space.  Interrupts
 * are off.
 */
static void flush_local_tlb(struct vm_cpu *v, struct as *as, uint64_t start, uint64_t end,
                            uint64_t gen)
{
    if (v->gen >= gen)
        return; /* a later flush of everything has included it */
    if (v->gen + 1 == gen && start != end && end - start <= FLUSH_PAGES * PAGE_SIZE) {
        for (; start < end; start += PAGE_SIZE)
            invlpg(start);
        v->gen = gen;
    } else {
        v->gen = atomic_load(&as->tlb_gen);
        write_cr3(as->cr3);
    }
}

/* Unloads the space that is loaded on this CPU, if any.  Interrupts are off. */
static void unload_local_space(struct vm_cpu *v)
{
    struct as *as = atomic_load_explicit(&v->loaded, memory_order_relaxed);

    write_cr3(kernel_pml4);
    atomic_store(&v->loaded, NULL);
    if (as != NULL)
        cpumask_clear_atomic(&as->cpus, this_cpu()->id);
}

/* Carries out every pending request to this CPU.  Interrupts are off. */
static void answer_tlb_requests(struct vm_cpu *v)
{
    for (unsigned w = 0; w < CPUMASK_WORDS; w++) {
        uint64_t bits;

        if (__atomic_load_n(&v->senders.w[w], __ATOMIC_RELAXED) == 0)
            continue;
        bits = __atomic_exchange_n(&v->senders.w[w], 0, __ATOMIC_ACQ_REL);
        for (; bits != 0; bits &= bits - 1) {
            struct tlb_request *r = &cpus[w * 64 + (unsigned)__builtin_ctzll(bits)]->vm->request;

            if (r->what == TLB_KERNEL) {
                write_cr3(read_cr3());
            } else if (atomic_load_explicit(&v->loaded, memory_order_relaxed) == r->as) {
                if (r->what == TLB_LEAVE ||
                    (r->what == TLB_TABLES && atomic_load_explicit(&v->lazy, memory_order_relaxed)))
                    unload_local_space(v);
                else
                    flush_local_tlb(v, r->as, r->start, r->end, r->gen);
            }
            if (atomic_fetch_sub(&r->waiting, 1) == 1 && park_on)
                park_wake(park_key(r, 0));
        }
    }
}

/* Whether a request to this CPU is pending. */
static bool has_tlb_request(struct vm_cpu *v)
{
    for (unsigned w = 0; w < CPUMASK_WORDS; w++)
        if (__atomic_load_n(&v->senders.w[w], __ATOMIC_RELAXED) != 0)
            return true;
    return false;
}

void vm_tlb_ipi(void)
{
    CPUSTAT_INC(tlb_ipi);
    answer_tlb_requests(this_cpu()->vm);
}

/* Adds to *ask, which is empty at first, the CPUs that the request concerns, except `me`.  Returns how many. */
static uint32_t choose_tlb_targets(const struct tlb_request *r, unsigned me, struct cpumask *ask)
{
    uint32_t n = 0;

    for (unsigned i = 0; r->what == TLB_KERNEL && i < ncpu; i++)
        if (i != me) {
            cpumask_set(ask, i);
            n++;
        }
    if (r->what == TLB_KERNEL)
        return n;
    CPUMASK_FOREACH (i, &r->as->cpus) {
        if (i == me || (r->what == TLB_PAGES && atomic_load(&cpus[i]->vm->lazy)))
            continue;
        cpumask_set(ask, i);
        n++;
    }
    return n;
}

/* Sends this CPU's request to the other CPUs that it concerns, and waits for them.  Interrupts are off. */
static void shoot_down_others(struct vm_cpu *v, struct cpu *me)
{
    struct tlb_request *r = &v->request;
    struct cpumask ask = {{0}}, interrupt;
    uint32_t n = choose_tlb_targets(r, me->id, &ask);

    if (n == 0)
        return;
    atomic_store(&r->waiting, n);
    TRACE(XCALL, n, r->start, r->end);
    interrupt = ask;
    CPUMASK_FOREACH (i, &ask)
        if (cpumask_set_word(&cpus[i]->vm->senders, me->id) != 0)
            cpumask_clear(&interrupt, i); /* the interrupt of another sender is on its way */
    x86_send_ipi_mask(&interrupt, IPI_TLB);
    if (park_on)
        CPUMASK_FOREACH (i, &ask) /* the target may itself wait here, with interrupts off */
            park_wake(park_key(&cpus[i]->vm->request, 0));
    for (unsigned turns = 0; atomic_load_explicit(&r->waiting, memory_order_acquire) != 0;
         turns++) {
        answer_tlb_requests(v);
        cpu_pause();
        if (park_on && turns == PARK_TURNS) {
            turns = 0;
            park_begin(park_key(r, 0));
            park_end(atomic_load(&r->waiting) != 0 && !has_tlb_request(v));
        }
    }
}

bool tlb_only_here(const struct as *as)
{
    unsigned me = this_cpu()->id;
    uint64_t others = 0;

    for (unsigned w = 0; w * 64 < ncpu; w++) {
        uint64_t bits = __atomic_load_n(&as->cpus.w[w], __ATOMIC_SEQ_CST);

        others |= w == me / 64 ? bits & ~(1ull << (me % 64)) : bits;
    }
    return others == 0;
}

/* Flushes [start, end) of `as` on all CPUs that have `as` loaded; start == end: the whole space. */
static void flush_space(struct as *as, uint64_t start, uint64_t end, enum tlb_what what)
{
    struct cpu *me;
    struct vm_cpu *v;
    uint64_t gen;

    irq_push();
    me = this_cpu();
    ASSERT(me->nlock == 1, "tlb: a sender holds no spin lock");
    v = me->vm;
    gen = atomic_fetch_add(&as->tlb_gen, 1) + 1;
    if (atomic_load_explicit(&v->loaded, memory_order_relaxed) == as) {
        if (what == TLB_LEAVE)
            unload_local_space(v);
        else
            flush_local_tlb(v, as, start, end, gen);
    }
    if (!tlb_only_here(as)) {
        v->request =
            (struct tlb_request){.as = as, .start = start, .end = end, .gen = gen, .what = what};
        shoot_down_others(v, me);
    }
    irq_pop();
}

void tlb_flush(struct as *as, uint64_t start, uint64_t end)
{
    flush_space(as, start, end, TLB_PAGES);
}

void tlb_flush_all(struct as *as)
{
    flush_space(as, 0, 0, TLB_PAGES);
}

void tlb_flush_tables(struct as *as)
{
    flush_space(as, 0, 0, TLB_TABLES);
}

void tlb_flush_kernel(void)
{
    struct cpu *me;

    irq_push();
    me = this_cpu();
    ASSERT(me->nlock == 1, "tlb: a sender holds no spin lock");
    write_cr3(read_cr3());
    me->vm->request = (struct tlb_request){.what = TLB_KERNEL};
    shoot_down_others(me->vm, me);
    irq_pop();
}

void tlb_retire(struct as *as)
{
    flush_space(as, 0, 0, TLB_LEAVE);
}

void as_activate(struct thread *next)
{
    struct cpu *me = this_cpu();
    struct vm_cpu *v = me->vm;
    struct as *as = next->as, *old = atomic_load_explicit(&v->loaded, memory_order_relaxed);

    ASSERT(!irq_enabled(), "tlb: switching with interrupts on");
    if (as == NULL) {
        atomic_store_explicit(&v->lazy, true, memory_order_release);
        return;
    }
    if (as == old) {
        if (!atomic_load_explicit(&v->lazy, memory_order_relaxed))
            return;
        atomic_store(&v->lazy, false);
        if (v->gen != atomic_load(&as->tlb_gen)) {
            v->gen = atomic_load(&as->tlb_gen);
            write_cr3(as->cr3);
        }
        return;
    }
    cpumask_set_atomic(&as->cpus, me->id);
    v->gen = atomic_load(&as->tlb_gen);
    atomic_store_explicit(&v->loaded, as, memory_order_relaxed);
    atomic_store(&v->lazy, false);
    write_cr3(as->cr3);
    if (old != NULL)
        cpumask_clear_atomic(&old->cpus, me->id);
}

void tlb_batch_add(struct tlb_batch *b, struct as *as)
{
    for (unsigned i = 0; i < b->n; i++)
        if (b->as[i] == as)
            return;
    if (b->n == TLB_BATCH) {
        b->everyone = true;
        return;
    }
    as_pin(as);
    b->as[b->n++] = as;
}

/* Flushes every space that a CPU has loaded: for batches that overflowed. */
static void flush_all_spaces(void)
{
    struct as *next;

    for (struct as *as = as_next(NULL); as != NULL; as = next) {
        if (!cpumask_empty(&as->cpus))
            tlb_flush_all(as);
        next = as_next(as);
        as_unpin(as);
    }
}

void tlb_batch_flush(struct tlb_batch *b)
{
    if (b->everyone)
        flush_all_spaces();
    for (unsigned i = 0; i < b->n; i++) {
        if (!b->everyone)
            tlb_flush_all(b->as[i]);
        as_unpin(b->as[i]);
    }
    tlb_batch_init(b);
}

void vm_cpu_init(struct cpu *c)
{
    c->vm = kmem_alloc_node(sizeof *c->vm, c->node);
    if (c->vm == NULL)
        panic("no memory for CPU %u", c->id);
    *c->vm = (struct vm_cpu){.lazy = true};
}
