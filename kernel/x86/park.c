// SPDX-License-Identifier: MIT
/*
 * park.c - see lib/park.h.
 */
#include "lib/park.h"

#include "lib/cpumask.h"
#include "stat/cpustat.h"
#include "x86/ipi.h"
#include "x86/trap.h"

bool park_on;
_Atomic bool park_nmi_is_all;

static struct cpumask parked;

/* park_halt.S */
void park_halt(const _Atomic uint32_t *state);
void park_unblock_nmi(void);
extern const char park_halted[];

void park_begin(uint64_t key)
{
    struct cpu *c = this_cpu();

    atomic_store_explicit(&c->park_key, key, memory_order_relaxed);
    atomic_store_explicit(&c->park, PARK_WAITS, memory_order_release);
    cpumask_set_atomic(&parked, c->id);
    atomic_thread_fence(memory_order_seq_cst); /* announced before the condition is tested (I2) */
}

void park_end(bool halt)
{
    struct cpu *c = this_cpu();
    uint32_t was = PARK_WAITS;

    /*
     * In QEMU an FXRSTOR of any CPU changes, without an atomic operation, the word of CPU 0 that says whether
     * NMIs are blocked (cpu_clear_ignne() of its target i386).  An IRET of CPU 0 at the same moment is lost.
     */
    park_unblock_nmi();
    if (halt) {
        CPUSTAT_INC(parks);
        park_halt(&c->park);
    }
    if (!atomic_compare_exchange_strong(&c->park, &was, PARK_NONE))
        while (atomic_load(&c->park) != PARK_NONE)
            park_halt(&c->park);
    cpumask_clear_atomic(&parked, c->id);
}

void park_wake(uint64_t key)
{
    /* the condition has changed before waits are read (I2) */
    atomic_thread_fence(memory_order_seq_cst);
    CPUMASK_FOREACH (i, &parked) {
        struct cpu *c = cpus[i];
        uint32_t was = PARK_WAITS;

        /*
         * The CPU may have begun another wait since the test.  In that case the CPU only tests its
         * condition once more.
         */
        if (atomic_load_explicit(&c->park, memory_order_acquire) == PARK_WAITS &&
            atomic_load_explicit(&c->park_key, memory_order_relaxed) == key &&
            atomic_compare_exchange_strong(&c->park, &was, PARK_WOKEN))
            x86_send_nmi(i);
    }
}

bool park_nmi(struct regs *r)
{
    struct cpu *c = this_cpu();

    if (atomic_load(&c->park) != PARK_WOKEN)
        return false;
    atomic_store(&c->park, PARK_NONE);
    if (r->rip >= (uint64_t)park_halt && r->rip < (uint64_t)park_halted)
        r->rip = (uint64_t)park_halted;
    return true;
}
