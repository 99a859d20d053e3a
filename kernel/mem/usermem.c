// SPDX-License-Identifier: MIT
/*
 * usermem.c - memory of the kernel that users hold; see usermem.h.
 */
#include "mem/usermem.h"

#include "mem/page.h"
#include "stat/tunable.h"

static uint32_t user_kmem_percent = 12;
TUNABLE_BOOT(
    user_kmem_percent, 1, 50,
    "default 12 %: share of memory that the kernel holds for one ordinary user's files, pipes, sockets and locks; "
    "read at boot");

static struct usermem kernel_account; /* threads that belong to no process */

static struct usermem *get_kernel_account(void)
{
    return &kernel_account;
}

static bool always_superuser(void)
{
    return true;
}

struct usermem_ops usermem_ops = {get_kernel_account, always_superuser, NULL, NULL};

static uint64_t user_max = UINT64_MAX;

void usermem_init(void)
{
    user_max = mem_total_pages() * PAGE_SIZE / 100 * user_kmem_percent;
}

struct usermem *usermem_charge(size_t bytes)
{
    struct usermem *u = usermem_ops.account();

    bool held =
        atomic_fetch_add_explicit(&u->bytes, bytes, memory_order_relaxed) + bytes <= user_max;

    if (held && usermem_ops.spares != NULL)
        held = usermem_ops.spares(bytes / PAGE_SIZE);
    if (likely(held) || usermem_ops.superuser())
        return u;
    usermem_return(u, bytes);
    return NULL;
}

bool usermem_scarce(void)
{
    return atomic_load_explicit(&usermem_ops.account()->bytes, memory_order_relaxed) >
               user_max / 2 &&
           !usermem_ops.superuser();
}
