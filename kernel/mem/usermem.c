// SPDX-License-Identifier: MIT
/*
 * usermem.c - limits the kernel memory that a user holds; see usermem.h.
 */
#include "mem/usermem.h"

#include "mem/page.h"
#include "stat/tunable.h"

static uint32_t user_kmem_percent = 12;
TUNABLE_BOOT(
    user_kmem_percent, 1, 50,
    "default 12 %: share of memory that the kernel holds for one ordinary user's files, pipes, sockets and locks; "
    "read at boot");

static uint64_t user_max = UINT64_MAX;

void usermem_init(void)
{
    user_max = mem_total_pages() * PAGE_SIZE / 100 * user_kmem_percent;
}

struct usermem *usermem_charge(size_t bytes)
{
    struct usermem *u = proc_usermem();
    uint64_t all = atomic_fetch_add_explicit(&u->bytes, bytes, memory_order_relaxed) + bytes;

    if (likely(all <= user_max && reserve_spares(bytes / PAGE_SIZE)) || proc_is_superuser())
        return u;
    usermem_return(u, bytes);
    return NULL;
}

bool usermem_scarce(void)
{
    return atomic_load_explicit(&proc_usermem()->bytes, memory_order_relaxed) > user_max / 2 &&
           !proc_is_superuser();
}
