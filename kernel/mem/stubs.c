// SPDX-License-Identifier: MIT
/*
 * stubs.c - stubs of functions in higher folders, for host tests of mem/ without pages/, vm/ and proc/.
 * Memory is never short.  The functions are weak, so that a test can define its own.
 */
#include "mem/page.h"
#include "mem/usermem.h"

__attribute__((weak)) enum mem_wait mem_wait(struct mem_need *need)
{
    (void)need;
    return MEM_EXHAUSTED;
}

__attribute__((weak)) bool pageout_may_take(void)
{
    return true;
}

__attribute__((weak)) void swap_free_slot(struct page *pg)
{
    (void)pg;
}

__attribute__((weak)) void tlb_flush_kernel(void)
{
}

__attribute__((weak)) struct usermem *proc_usermem(void)
{
    static struct usermem root;

    return &root;
}

__attribute__((weak)) bool proc_is_superuser(void)
{
    return true;
}

__attribute__((weak)) bool oom_frees(void)
{
    return false;
}

__attribute__((weak)) bool reserve_spares(uint64_t pages)
{
    (void)pages;
    return true;
}
