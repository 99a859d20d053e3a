// SPDX-License-Identifier: MIT
/*
 * show.c - /proc/net: the files that netstat, ifconfig, route and arp read.
 *
 * THEORY      The lines have Linux's format.  Each line is formatted under net_lock into a buffer of fixed
 *             size, and appended to the text after the lock is released, because struct text allocates
 *             memory.  Connections without a socket, for example in TIME_WAIT, are also shown.
 * LOCKING     The caller holds net_lock while one line is formatted.  A list is walked by position, so an entry
 *             can be missed or shown twice if the list changes between two lines.
 * SEE ALSO    proc(5) of Linux's manual
 */
#include "net/ifpriv.h"

#include "lib/errno.h"
#include "lib/printf.h"

#include "lwip/etharp.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/raw.h"
#include "lwip/udp.h"

struct line {
    char text[192];
};

/* Formats a line of tcp, udp or raw.  Addresses are in network order, ports in host order.  s can be NULL. */
static void format_ip_line(struct line *l, unsigned n, uint32_t lip, unsigned lport, uint32_t rip,
                           unsigned rport, unsigned state, unsigned tx, unsigned rx,
                           const struct socket *s)
{
    snprintf(l->text, sizeof l->text,
             "%4u: %08X:%04X %08X:%04X %02X %08X:%08X 00:00000000 00000000 %5u        0 %u 1 %x 0",
             n, lip, lport, rip, rport, state, tx, rx, s != NULL ? s->uid : 0,
             s != NULL ? s->inode : 0, 0);
}

static void format_tcp_line(struct line *l, unsigned n, const struct tcp_pcb *pcb,
                            const struct socket *s)
{
    bool listening = pcb->state == LISTEN;
    unsigned waiting = 0;

    if (s != NULL)
        waiting = listening ? s->accept_len : s->rx_bytes;
    format_ip_line(l, n, pcb->local_ip.addr, pcb->local_port, listening ? 0 : pcb->remote_ip.addr,
                   listening ? 0 : pcb->remote_port, tcp_linux_state(pcb),
                   listening ? 0 : TCP_SND_BUF - pcb->snd_buf, waiting, s);
}

/*
 * Formats the n-th TCP connection (from 0); false: there are fewer connections.  The callers of
 * format_nth_*() hold net_lock.
 */
static bool format_nth_tcp(unsigned n, struct line *l)
{
    struct tcp_pcb *const lists[] = {(struct tcp_pcb *)tcp_listen_pcbs.listen_pcbs, tcp_active_pcbs,
                                     tcp_tw_pcbs};
    unsigned i = n;

    for (unsigned k = 0; k < array_size(lists); k++)
        for (struct tcp_pcb *pcb = lists[k]; pcb != NULL; pcb = pcb->next)
            if (i-- == 0) {
                format_tcp_line(l, n, pcb, tcp_socket(pcb));
                return true;
            }
    return false;
}

static struct socket *find_nth_socket(struct list *all, unsigned n)
{
    struct socket *s;

    LIST_FOREACH (s, all, link)
        if (n-- == 0)
            return s;
    return NULL;
}

static bool format_nth_dgram(struct list *all, unsigned n, struct line *l)
{
    struct socket *s = find_nth_socket(all, n);
    const struct udp_pcb *u;
    const struct raw_pcb *r;

    if (s == NULL)
        return false;
    u = s->pcb;
    r = s->pcb;
    if (all == &raw_sockets)
        format_ip_line(l, n, r->local_ip.addr, r->protocol, r->remote_ip.addr, 0, 7, 0, s->rx_bytes,
                       s);
    else
        format_ip_line(l, n, u->local_ip.addr, u->local_port, u->remote_ip.addr, u->remote_port,
                       s->state == SS_CONNECTED ? 1 : 7, 0, s->rx_bytes, s);
    return true;
}

static bool format_nth_unix(unsigned n, struct line *l)
{
    struct socket *s = find_nth_socket(&unix_sockets, n);
    int at, chars;

    if (s == NULL)
        return false;
    at = snprintf(l->text, sizeof l->text, "%016lx: 00000002 00000000 %08X %04X %02X %5u", 0ul,
                  s->state == SS_LISTENING ? 0x10000 : 0, s->type, s->state == SS_CONNECTED ? 3 : 1,
                  s->inode);
    chars = (int)s->name.len - 2;
    if (chars > 0 && s->name.data[0] == 0)
        snprintf(l->text + at, sizeof l->text - (size_t)at, " @%.*s", chars - 1,
                 (const char *)s->name.data + 1);
    else if (chars > 0)
        snprintf(l->text + at, sizeof l->text - (size_t)at, " %.*s", chars,
                 (const char *)s->name.data);
    return true;
}

static bool format_nth_packet(unsigned n, struct line *l)
{
    struct socket *s = find_nth_socket(&packet_sockets, n);

    if (s == NULL)
        return false;
    snprintf(l->text, sizeof l->text, "%016lx 3      %-6u %04x   %-5u 1 %-6u %-6u %-6u", 0ul,
             s->type, lwip_ntohs(s->ethertype), s->ifindex, s->rx_bytes, s->uid, s->inode);
    return true;
}

static bool format_nth_dev(unsigned n, struct line *l)
{
    const struct iface *i = &ifaces[n];

    if (n >= nifaces)
        return false;
    snprintf(
        l->text, sizeof l->text,
        "%6s: %7lu %7lu    0 %4lu    0     0          0         0 %8lu %7lu    0 %4lu    0     0       0 0",
        i->name, i->rx_bytes, i->rx_packets, i->rx_drops, i->tx_bytes, i->tx_packets, i->tx_drops);
    return true;
}

/*
 * Formats the n-th route (from 0): first the default route, then the networks of the interfaces
 * that are up.
 */
static bool format_nth_route(unsigned n, struct line *l)
{
    enum { UP = 1, GATEWAY = 2 };
    unsigned i = n;

    if (netif_default != NULL && netif_is_up(netif_default) && i-- == 0) {
        snprintf(l->text, sizeof l->text, "%s\t00000000\t%08X\t%04X\t0\t0\t0\t00000000\t0\t0\t0",
                 ifaces[iface_index(netif_default) - 1].name, netif_ip4_gw(netif_default)->addr,
                 UP | GATEWAY);
        return true;
    }
    for (unsigned k = 1; k < nifaces; k++) {
        const struct netif *nf = &ifaces[k].n;
        uint32_t mask = netif_ip4_netmask(nf)->addr;

        if (netif_is_up(nf) && netif_ip4_addr(nf)->addr != 0 && i-- == 0) {
            snprintf(l->text, sizeof l->text, "%s\t%08X\t00000000\t%04X\t0\t0\t0\t%08X\t0\t0\t0",
                     ifaces[k].name, netif_ip4_addr(nf)->addr & mask, UP, mask);
            return true;
        }
    }
    return false;
}

static bool format_nth_arp(unsigned n, struct line *l)
{
    ip4_addr_t *ip;
    struct netif *nf;
    struct eth_addr *m;

    for (size_t i = 0; i < ARP_TABLE_SIZE; i++)
        if (etharp_get_entry(i, &ip, &nf, &m) && n-- == 0) {
            char text[16];

            snprintf(l->text, sizeof l->text,
                     "%-16s 0x1         0x2         %02x:%02x:%02x:%02x:%02x:%02x     *        %s",
                     ip4addr_ntoa_r(ip, text, sizeof text), m->addr[0], m->addr[1], m->addr[2],
                     m->addr[3], m->addr[4], m->addr[5], ifaces[iface_index(nf) - 1].name);
            return true;
        }
    return false;
}

static bool format_nth_line(uint32_t what, unsigned n, struct line *l)
{
    switch (what) {
    case NET_SHOW_TCP:
        return format_nth_tcp(n, l);
    case NET_SHOW_UDP:
        return format_nth_dgram(&udp_sockets, n, l);
    case NET_SHOW_RAW:
        return format_nth_dgram(&raw_sockets, n, l);
    case NET_SHOW_UNIX:
        return format_nth_unix(n, l);
    case NET_SHOW_PACKET:
        return format_nth_packet(n, l);
    case NET_SHOW_DEV:
        return format_nth_dev(n, l);
    case NET_SHOW_ROUTE:
        return format_nth_route(n, l);
    default:
        return format_nth_arp(n, l);
    }
}

int net_show(const struct pseudo_node *node, struct pseudo_arg arg, struct text *out)
{
    static const char ip_head[] =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
    static const char *const head[] = {
        [NET_SHOW_TCP] = ip_head,
        [NET_SHOW_UDP] = ip_head,
        [NET_SHOW_RAW] = ip_head,
        [NET_SHOW_UNIX] = "Num       RefCount Protocol Flags    Type St Inode Path\n",
        [NET_SHOW_PACKET] = "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n",
        [NET_SHOW_DEV] =
            "Inter-|   Receive                                                |  Transmit\n"
            " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
            "fifo colls carrier compressed\n",
        [NET_SHOW_ROUTE] =
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n",
        [NET_SHOW_ARP] =
            "IP address       HW type     Flags       HW address            Mask     Device\n",
    };
    struct line l;

    text_str(out, head[node->tag]);
    for (unsigned n = 0; !out->failed; n++) {
        bool there;

        net_enter();
        there = format_nth_line(node->tag, n, &l);
        net_exit();
        if (!there)
            break;
        text_str(out, l.text);
        text_str(out, "\n");
    }
    return 0;
}
