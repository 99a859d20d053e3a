// SPDX-License-Identifier: MIT
/*
 * core.c - the network's lock, timer and counters, and the functions that lwIP needs from the kernel.
 *
 * THEORY      The TCP/IP protocols are implemented by lwIP, a library that is not written for several
 *             threads.  So one lock, net_lock, guards all of lwIP.  It is a spin lock because
 *             frames are received in the interrupt handler of the card.  A CPU holds the lock for
 *             one packet or one call at a time.  The loopback is a queue of packets.  Before a CPU
 *             releases net_lock, it delivers the packets in this queue, and releases the lock for a
 *             moment after each packet.  So sending never recurses into receiving, and other CPUs
 *             get the lock between two packets.
 *             TCP needs a tick every 250 ms while there are connections.  ARP and the reassembly of fragments
 *             need a tick every second while they hold entries.  The timer stops when it is no longer needed,
 *             so that an idle machine is not woken.
 * INVARIANTS  I1  `ticking` is true if and only if the timer is armed or its function runs
 * LOCKING     net_lock (RANK_NET); the timer's function takes it
 * TUNABLES    net_tcp_time_wait_ms
 * SEE ALSO    memory.c, iface.c, docs/network.md
 */
#include "net/netpriv.h"

#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/crng.h"
#include "stat/kstat.h"
#include "stat/panic.h"
#include "stat/tunable.h"

#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/ip4_frag.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/stats.h"

enum {
    TICKS_PER_SECOND = 1000 / TCP_TMR_INTERVAL,
    GRACE = (IP_REASS_MAXAGE + 5) * TICKS_PER_SECOND
};

struct spinlock net_lock = SPINLOCK_INIT(RANK_NET);

/* Like Solaris's tcp_time_wait_interval, whose default is one minute.  lwIP counts the time in steps of 500 ms. */
uint32_t net_tcp_time_wait_ms = 60000;
TUNABLE(
    net_tcp_time_wait_ms, 1000, 600000,
    "ms, default 60000: how long the side that closes a connection first keeps its port; read always");

static struct timer tick_timer;
static bool ticking;    /* [n] I1 */
static unsigned ticks;  /* [n] ticks of 250 ms since boot */
static unsigned unused; /* [n] ticks without connections since net_timer_kick() */

void net_exit(void)
{
    while (iface_loop_run()) {
        spin_unlock(&net_lock);
        spin_lock(&net_lock);
    }
    spin_unlock(&net_lock);
}

/* ---- the clock ---- */

static bool arp_has_entries(void)
{
    ip4_addr_t *ip;
    struct netif *n;
    struct eth_addr *mac;

    for (size_t i = 0; i < ARP_TABLE_SIZE; i++)
        if (etharp_get_entry(i, &ip, &n, &mac))
            return true;
    return false;
}

static void run_network_tick(struct timer *t)
{
    net_enter();
    if (tcp_active_pcbs != NULL || tcp_tw_pcbs != NULL)
        tcp_tmr();
    if (++ticks % TICKS_PER_SECOND == 0) {
        etharp_tmr();
        ip_reass_tmr();
    }
    /*
     * Fragments and pending ARP requests cannot be tested here.  GRACE is longer than the lifetime of both.
     */
    if (tcp_active_pcbs == NULL && tcp_tw_pcbs == NULL && ++unused > GRACE && !arp_has_entries())
        ticking = false;
    else
        timer_arm(&tick_timer, clock_mono_ns() + TCP_TMR_INTERVAL * 1000000ull, run_network_tick);
    net_exit();
}

void net_timer_kick(void)
{
    unused = 0;
    if (ticking)
        return;
    ticking = true;
    timer_arm(&tick_timer, clock_mono_ns() + TCP_TMR_INTERVAL * 1000000ull, run_network_tick);
}

/* lwIP calls this function when it creates a connection. */
void tcp_timer_needed(void);
void tcp_timer_needed(void)
{
    net_timer_kick();
}

uint32_t sys_now(void);
uint32_t sys_now(void)
{
    return (uint32_t)(clock_mono_ns() / 1000000);
}

/* ---- functions that lwIP calls ---- */

uint32_t net_random(void)
{
    uint32_t n;

    crng_bytes(&n, sizeof n); /* sequence numbers and ports must be unpredictable */
    return n;
}

void net_assert_failed(const char *text, const char *file, int line)
{
    panic("lwIP: %s (%s:%d)", text, file, line);
}

/* The Internet checksum (RFC 1071) of `len` bytes, not inverted: sums 64-bit words, then folds to 16 bits. */
uint16_t net_checksum(const void *data, int len)
{
    const uint8_t *p = data;
    uint64_t sum = 0, last = 0;
    size_t n = (size_t)len;

    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;

        __builtin_memcpy(&word, p, 8);
        sum += word;
        sum += sum < word; /* add the carry, as one's complement requires */
    }
    if (n > 0) {
        __builtin_memcpy(&last, p, n);
        sum += last;
        sum += sum < last;
    }
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

int net_errno(int e)
{
    static const uint16_t table[] = {
        [0] = 0,
        [-ERR_MEM] = ENOBUFS,
        [-ERR_BUF] = ENOBUFS,
        [-ERR_TIMEOUT] = ETIMEDOUT,
        [-ERR_RTE] = ENETUNREACH,
        [-ERR_INPROGRESS] = EINPROGRESS,
        [-ERR_VAL] = EINVAL,
        [-ERR_WOULDBLOCK] = EAGAIN,
        [-ERR_USE] = EADDRINUSE,
        [-ERR_ALREADY] = EALREADY,
        [-ERR_ISCONN] = EISCONN,
        [-ERR_CONN] = ENOTCONN,
        [-ERR_IF] = ENETDOWN,
        [-ERR_ABRT] = ECONNABORTED,
        [-ERR_RST] = ECONNRESET,
        [-ERR_CLSD] = ENOTCONN,
        [-ERR_ARG] = EINVAL,
    };

    return -e >= 0 && -e < (int)array_size(table) ? -(int)table[-e] : -EINVAL;
}

/* ---- counters ---- */

static const char *const stack_names[] = {
    "ip_in",     "ip_out",   "ip_drop", "ip_errors", "icmp_in",    "icmp_out",
    "icmp_drop", "tcp_in",   "tcp_out", "tcp_drop",  "tcp_errors", "udp_in",
    "udp_out",   "udp_drop", "arp_in",  "arp_out",   "arp_drop",   "no_memory",
};

static void net_stack_snapshot(struct kstat *ks, uint64_t *out)
{
    const struct stats_ *l = &lwip_stats;
    unsigned n = 0;

#define ERRORS(p)                                                                                  \
    ((uint64_t)(p).chkerr + (p).lenerr + (p).rterr + (p).proterr + (p).opterr + (p).err)
    out[n++] = l->ip.recv, out[n++] = l->ip.xmit, out[n++] = l->ip.drop, out[n++] = ERRORS(l->ip);
    out[n++] = l->icmp.recv, out[n++] = l->icmp.xmit, out[n++] = l->icmp.drop;
    out[n++] = l->tcp.recv, out[n++] = l->tcp.xmit, out[n++] = l->tcp.drop,
    out[n++] = ERRORS(l->tcp);
    out[n++] = l->udp.recv, out[n++] = l->udp.xmit, out[n++] = l->udp.drop;
    out[n++] = l->etharp.recv, out[n++] = l->etharp.xmit, out[n++] = l->etharp.drop;
    out[n] = (uint64_t)l->link.memerr + l->ip.memerr + l->icmp.memerr;
    out[n] += (uint64_t)l->tcp.memerr + l->udp.memerr + l->etharp.memerr;
}

static void net_stack_clear(struct kstat *ks)
{
    lwip_stats = (struct stats_){0};
}

static struct kstat stack_kstat = {
    .module = "net",
    .name = "stack",
    .kclass = "net",
    .nstat = array_size(stack_names),
    .names = stack_names,
    .snapshot = net_stack_snapshot,
    .clear = net_stack_clear,
};

static const char *const socket_names[] = {"tcp", "udp", "raw", "packet", "unix"};

static void socket_snapshot(struct kstat *ks, uint64_t *out)
{
    struct list *const all[] = {&tcp_sockets, &udp_sockets, &raw_sockets, &packet_sockets,
                                &unix_sockets};
    struct list *l;

    net_enter();
    for (unsigned i = 0; i < array_size(all); i++) {
        out[i] = 0;
        for (l = all[i]->next; l != all[i]; l = l->next)
            out[i]++;
    }
    net_exit();
}

/* kstat.clear: does nothing, because the counters show the number of sockets that exist now. */
static void keep_socket_counts(struct kstat *ks)
{
}

static struct kstat socket_kstat = {
    .module = "net",
    .name = "sockets",
    .kclass = "net",
    .nstat = array_size(socket_names),
    .names = socket_names,
    .snapshot = socket_snapshot,
    .clear = keep_socket_counts,
};

void net_init(const char *config)
{
    net_memory_init();
    socket_init();
    socket_unix_init();
    net_enter();
    lwip_init();
    socket_tcp_init();
    socket_icmp_init();
    net_exit();
    iface_init(config);
    kstat_register(&stack_kstat);
    kstat_register(&socket_kstat);
}
