// SPDX-License-Identifier: MIT
/*
 * pgcount.c - counts pages that are read and written, by kind; vmstat -p prints the counts.
 *
 * LOCKING     cpustat.h
 */
#include "stat/cpustat.h"
#include "pages/pcache.h"

void pcache_count_in(enum page_kind kind, unsigned n)
{
    CPUSTAT_INC(pgin);
    CPUSTAT_ADD(pgpgin, n);
    if (kind == KIND_ANON)
        CPUSTAT_ADD(anonpgin, n);
    else if (kind == KIND_EXEC)
        CPUSTAT_ADD(execpgin, n);
    else
        CPUSTAT_ADD(fspgin, n);
}

void pcache_count_out(enum page_kind kind, unsigned n)
{
    CPUSTAT_INC(pgout);
    CPUSTAT_ADD(pgpgout, n);
    if (kind == KIND_ANON)
        CPUSTAT_ADD(anonpgout, n);
    else if (kind == KIND_EXEC)
        CPUSTAT_ADD(execpgout, n);
    else
        CPUSTAT_ADD(fspgout, n);
}

void pcache_count_around(unsigned n)
{
    CPUSTAT_ADD(around_read, n);
}

void page_touch_ahead(struct page *pg, struct around *a)
{
    if ((atomic_load_explicit(&pg->flags, memory_order_relaxed) & PG_AHEAD) != 0 &&
        (atomic_fetch_and(&pg->flags, ~(uint32_t)PG_AHEAD) & PG_AHEAD) != 0) {
        around_used(a);
        CPUSTAT_INC(around_used);
    }
}

void pcache_count_reclaim(void)
{
    CPUSTAT_INC(pgrec);
    CPUSTAT_INC(pgfrec);
}
