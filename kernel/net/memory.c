// SPDX-License-Identifier: MIT
/*
 * memory.c - memory of the network: limited and counted.
 *
 * THEORY      Other machines can send packets at any rate, so the memory that packets take needs a
 *             limit.  All allocations of lwIP come here: packets (net_malloc) and its own
 *             structures, with one pool for each type (memp_*, which replace lwIP's memp.c).
 *             Together they take at most net_mem_max_kib.  Above this limit an allocation fails.
 *             Then lwIP drops the packet, or lwIP or the socket tries again later.  Some pools also
 *             have a maximum number of objects.  This maximum keeps the lists of connections short,
 *             because lwIP searches them linearly.  If no pcb is free, lwIP ends the oldest
 *             connection in TIME_WAIT.
 * LOCKING     None: the allocator has its own locks, and the counters are atomic.  The functions can be called in
 *             any context.
 * TUNABLES    net_mem_max_kib
 * SEE ALSO    kstat net:0:memory, net:0:pools
 */
#include "net/netpriv.h"

#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/page.h"
#include "mem/usermem.h"
#include "stat/kstat.h"
#include "stat/tunable.h"

#include "lwip/api.h"
#include "lwip/etharp.h"
#include "lwip/ip4_frag.h"
#include "lwip/memp.h"
#include "lwip/pbuf.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/raw.h"
#include "lwip/udp.h"

enum { HEADER = 16, MANY = 1 << 20 };

uint32_t net_mem_max_kib;
TUNABLE(net_mem_max_kib, 16, 65536,
        "KiB, default 16384 or an eighth of memory: most that packets and connections take");

_Atomic uint64_t net_bytes_used, net_alloc_failed;

/* Maximum number of objects of a pool; 0: only memory limits the number. */
static const uint32_t pool_max[MEMP_MAX] = {
    [MEMP_TCP_PCB] = 1024,
    [MEMP_TCP_PCB_LISTEN] = 1024,
    [MEMP_UDP_PCB] = 1024,
    [MEMP_RAW_PCB] = 256,
};
static const uint16_t pool_size[MEMP_MAX] = {
#define LWIP_MEMPOOL(name, num, size, desc) [MEMP_##name] = (uint16_t)(size),
#include "lwip/priv/memp_std.h"
};
static const char *const pool_names[MEMP_MAX] = {
#define LWIP_MEMPOOL(name, num, size, desc) [MEMP_##name] = #name,
#include "lwip/priv/memp_std.h"
};
static _Atomic uint64_t pool_used[MEMP_MAX];

static const char *const memory_names[] = {"bytes", "failed"};

static void net_memory_snapshot(struct kstat *ks, uint64_t *out)
{
    out[0] = net_bytes_used;
    out[1] = net_alloc_failed;
}

/* kstat.clear: does nothing, because the counters show the memory in use. */
static void keep_memory_counts(struct kstat *ks)
{
}

static struct kstat memory_kstat = {
    .module = "net",
    .name = "memory",
    .kclass = "net",
    .nstat = array_size(memory_names),
    .names = memory_names,
    .snapshot = net_memory_snapshot,
    .clear = keep_memory_counts,
};
static struct kstat pools_kstat = {
    .module = "net",
    .name = "pools",
    .kclass = "net",
    .nstat = MEMP_MAX,
    .names = pool_names,
    .values = pool_used,
    .clear = keep_memory_counts,
};

void net_memory_init(void)
{
    uint64_t eighth = mem_total_pages() * (PAGE_SIZE / 1024) / 8;

    if (net_mem_max_kib == 0)
        net_mem_max_kib = (uint32_t)min_of(eighth, 16384ul);
    kstat_register(&memory_kstat);
    kstat_register(&pools_kstat);
}

/* The caller's share of the limit `max`: one sixteenth is reserved for the superuser. */
static uint64_t limit_for_caller(uint64_t max)
{
    return proc_is_superuser() ? max : max - max / 16;
}

void *net_malloc(size_t size)
{
    uint64_t *p = NULL;
    size_t whole = size + HEADER;

    if (atomic_fetch_add(&net_bytes_used, whole) + whole <=
        limit_for_caller((uint64_t)net_mem_max_kib * 1024))
        p = kmem_alloc(whole);
    if (p == NULL) {
        atomic_fetch_sub(&net_bytes_used, whole);
        atomic_fetch_add(&net_alloc_failed, 1);
        return NULL;
    }
    *p = whole;
    return (uint8_t *)p + HEADER;
}

void *net_calloc(size_t n, size_t size)
{
    /* the product cannot overflow: both factors are constants of lwIP */
    void *p = net_malloc(n * size);

    if (p != NULL)
        memset(p, 0, n * size);
    return p;
}

void net_free(void *mem)
{
    uint64_t *p;

    if (mem == NULL)
        return;
    p = (uint64_t *)((uint8_t *)mem - HEADER);
    atomic_fetch_sub(&net_bytes_used, *p);
    kmem_free(p);
}

void memp_init(void)
{
}

void *memp_malloc(memp_t type)
{
    uint64_t max = pool_max[type] != 0 ? pool_max[type] : MANY;
    void *p = NULL;

    if (atomic_fetch_add(&pool_used[type], 1) < limit_for_caller(max))
        p = net_malloc(pool_size[type]);
    if (p == NULL)
        atomic_fetch_sub(&pool_used[type], 1);
    return p;
}

void memp_free(memp_t type, void *p)
{
    if (p == NULL)
        return;
    atomic_fetch_sub(&pool_used[type], 1);
    net_free(p);
}
