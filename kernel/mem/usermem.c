// SPDX-License-Identifier: MIT
/*
 * usermem.c - memory of the kernel that users hold; see usermem.h.
 */
#include "mem/usermem.h"

#include "mem/page.h"
#include "stat/tunable.h"

static uint32_t user_kmem_percent = 12;
TUNABLE(user_kmem_percent, 1, 50,
        "default 12 %: share of memory that the kernel holds for one ordinary user's files, pipes, sockets and locks; "
        "read at boot");

struct usermem *(*usermem_caller)(bool *superuser);

static struct usermem kernel_account; /* threads that belong to no process */
static uint64_t       user_max = UINT64_MAX;

void usermem_init(void)
{
    user_max = mem_total_pages() * PAGE_SIZE / 100 * user_kmem_percent;
}

static struct usermem *account_of_caller(bool *superuser)
{
    struct usermem *u = NULL;

    *superuser = true;
    if (usermem_caller != NULL)
        u = usermem_caller(superuser);
    return u != NULL ? u : &kernel_account;
}

struct usermem *usermem_charge(size_t bytes)
{
    bool            superuser;
    struct usermem *u = account_of_caller(&superuser);

    if (atomic_fetch_add_explicit(&u->bytes, bytes, memory_order_relaxed) + bytes <= user_max || superuser)
        return u;
    usermem_return(u, bytes);
    return NULL;
}

void usermem_return(struct usermem *u, size_t bytes)
{
    atomic_fetch_sub_explicit(&u->bytes, bytes, memory_order_relaxed);
}

bool usermem_scarce(void)
{
    bool            superuser;
    struct usermem *u = account_of_caller(&superuser);

    return !superuser && atomic_load_explicit(&u->bytes, memory_order_relaxed) > user_max / 2;
}
