// SPDX-License-Identifier: MIT
/*
 * iface.c - interfaces: the loopback and the cards.
 *
 * THEORY      An interface is a way to send and receive packets.  The loopback `lo` is a queue: packets to
 *             lo, and packets to this machine's own addresses, are put into this queue and received from it.
 *             They need no checksums.  Each network card is an interface ethN.  The card's interrupt handler
 *             copies a received frame to memory of the network.  A frame to send is copied to a buffer of the
 *             card.
 *             A packet leaves by the interface whose network contains its destination, or else by
 *             the default route, through a gateway.
 * INVARIANTS  I1  ifaces[0] is lo; programs use the index i + 1 for ifaces[i]; it never changes
 * LOCKING     net_lock guards all fields that change; the array and the names are constant after boot
 * SEE ALSO    ifctl.c (ioctl requests), drivers/nic.h, docs/network.md
 */
#include "net/ifpriv.h"

#include "drivers/nic.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "stat/kstat.h"
#include "stat/panic.h"

#include "lwip/etharp.h"
#include "lwip/ip4.h"
#include "netif/ethernet.h"

enum {
    WIRE_MIN = 60
}; /* minimum size of a frame on a wire, in bytes; shorter frames are padded (IEEE 802.3, 3.2.8) */

struct iface ifaces[NIC_MAX + 1];
unsigned nifaces;

static struct { /* lo's packets, oldest first, linked by ->next; each packet is one pbuf */
    struct pbuf *first, *last;
} loop;

struct netif *iface_by_index(unsigned index)
{
    return index >= 1 && index <= nifaces ? &ifaces[index - 1].n : NULL;
}

unsigned iface_index(const struct netif *n)
{
    return (unsigned)(container_of(n, struct iface, n) - ifaces) + 1;
}

struct netif *iface_by_name(const char *name)
{
    for (unsigned i = 0; i < nifaces; i++)
        if (strcmp(ifaces[i].name, name) == 0)
            return &ifaces[i].n;
    return NULL;
}

/* ---- the loopback ---- */

/* netif.output of lo.  ERR_OK; ERR_MEM: the packet was dropped. */
static err_t queue_on_loopback(struct netif *n, struct pbuf *p, const ip4_addr_t *to)
{
    struct iface *lo = &ifaces[0];
    struct pbuf *copy = pbuf_clone(PBUF_LINK, PBUF_RAM, p); /* TCP keeps p and can send it again */

    if (copy == NULL) {
        lo->tx_drops++;
        return ERR_MEM;
    }
    lo->tx_packets++;
    lo->tx_bytes += p->tot_len;
    if (loop.first == NULL)
        loop.first = copy;
    else
        loop.last->next = copy;
    loop.last = copy;
    return ERR_OK;
}

bool iface_loop_run(void)
{
    struct iface *lo = &ifaces[0];
    struct pbuf *p = loop.first;

    if (likely(p == NULL))
        return false;
    loop.first = p->next;
    p->next = NULL;
    lo->rx_packets++;
    lo->rx_bytes += p->tot_len;
    if (lo->n.input(p, &lo->n) != ERR_OK)
        pbuf_free(p);
    return true;
}

static err_t init_loopback_netif(struct netif *n)
{
    n->name[0] = 'l';
    n->name[1] = 'o';
    n->output = queue_on_loopback;
    n->mtu = TCP_MSS + 40;
    NETIF_SET_CHECKSUM_CTRL(n, NETIF_CHECKSUM_DISABLE_ALL);
    return ERR_OK;
}

/* ---- cards ---- */

static void copy_packet_to_card(void *dst, void *arg)
{
    const struct pbuf *p = arg;

    (void)pbuf_copy_partial(p, dst, p->tot_len, 0);
}

/* netif.linkoutput of a card: sends the complete frame p.  ERR_OK; ERR_MEM: the frame was dropped. */
static err_t card_send_frame(struct netif *n, struct pbuf *p)
{
    struct iface *i = container_of(n, struct iface, n);

    if (p->tot_len > NIC_FRAME_MAX ||
        !i->nic->send(i->nic->soft, p->tot_len, copy_packet_to_card, p)) {
        i->tx_drops++;
        return ERR_MEM;
    }
    i->tx_packets++;
    i->tx_bytes += p->tot_len;
    return ERR_OK;
}

static bool is_own_address(const ip4_addr_t *ip)
{
    for (unsigned i = 1; i < nifaces; i++)
        if (ip4_addr_cmp(ip, netif_ip4_addr(&ifaces[i].n)))
            return true;
    return false;
}

bool iface_may_bind(uint32_t ip)
{
    const ip4_addr_t a = {ip};

    return ip == IPADDR_ANY || ip == IPADDR_BROADCAST || ip4_addr_isloopback(&a) ||
           ip4_addr_ismulticast(&a) || is_own_address(&a);
}

/* netif.output of a card: sends an IP packet; a packet to a local address goes to the loopback. */
static err_t card_send_packet(struct netif *n, struct pbuf *p, const ip4_addr_t *to)
{
    net_timer_kick(); /* the ARP table can get an entry, which must age */
    return is_own_address(to) ? queue_on_loopback(n, p, to) : etharp_output(n, p, to);
}

/*
 * Allocates a pbuf of `len` bytes for a received frame; NULL: no memory.  If memory is short, frees out-of-order
 * segments, because the frame perhaps contains the missing segment for which these segments wait.
 */
static struct pbuf *alloc_frame_pbuf(unsigned len)
{
    struct pbuf *p;
    bool again;

    while ((p = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_RAM)) == NULL) {
        net_enter();
        again = tcp_free_out_of_order();
        net_exit();
        if (!again)
            break;
    }
    return p;
}

static void card_receive_frame(void *upper, const void *frame, unsigned len)
{
    struct iface *i = upper;
    unsigned padded = max_of(len, (unsigned)WIRE_MIN); /* lwIP assumes that headers are complete */
    struct pbuf *p = NULL;

    if (len >= NIC_FRAME_MIN && len <= NIC_FRAME_MAX)
        p = alloc_frame_pbuf(padded);
    if (p == NULL) {
        i->rx_drops++;
        return;
    }
    memcpy(p->payload, frame, len);
    memset((uint8_t *)p->payload + len, 0, padded - len);
    net_enter();
    i->rx_packets++;
    i->rx_bytes += len;
    packet_input(&i->n, p);
    if (!netif_is_up(&i->n) || i->n.input(p, &i->n) != ERR_OK)
        pbuf_free(p);
    net_exit();
}

static err_t init_card_netif(struct netif *n)
{
    struct iface *i = container_of(n, struct iface, n);

    n->name[0] = 'e';
    n->name[1] = 't';
    n->output = card_send_packet;
    n->linkoutput = card_send_frame;
    n->mtu = NIC_FRAME_MAX - NIC_FRAME_MIN;
    n->hwaddr_len = sizeof i->nic->mac;
    memcpy(n->hwaddr, i->nic->mac, sizeof i->nic->mac);
    n->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET;
    return ERR_OK;
}

/* ---- counters and initialization ---- */

static const char *const iface_names[] = {
    "rx_packets", "rx_bytes", "rx_drops", "tx_packets", "tx_bytes", "tx_drops",
};

static void iface_snapshot(struct kstat *ks, uint64_t *out)
{
    const struct iface *i = ks->arg;

    out[0] = i->rx_packets, out[1] = i->rx_bytes, out[2] = i->rx_drops;
    out[3] = i->tx_packets, out[4] = i->tx_bytes, out[5] = i->tx_drops;
}

static void iface_clear(struct kstat *ks)
{
    struct iface *i = ks->arg;

    i->rx_packets = i->rx_bytes = i->rx_drops = i->tx_packets = i->tx_bytes = i->tx_drops = 0;
}

/* Adds an interface to ifaces[] and registers its kstat.  `number` is appended to the name, unless it is -1. */
static struct iface *iface_new(const char *name, int number)
{
    struct iface *i = &ifaces[nifaces];

    snprintf(i->name, sizeof i->name, number < 0 ? "%s" : "%s%d", name, number);
    i->ks = (struct kstat){
        .module = "link",
        .instance = (int)nifaces,
        .kclass = "net",
        .nstat = array_size(iface_names),
        .names = iface_names,
        .snapshot = iface_snapshot,
        .clear = iface_clear,
        .arg = i,
    };
    str_copy(i->ks.name, i->name, sizeof i->ks.name);
    kstat_register(&i->ks);
    nifaces++;
    return i;
}

static void card_attach(struct nic_dev *d)
{
    struct iface *i;

    if (nifaces == array_size(ifaces)) {
        warn("more network cards than %u: ignored", (unsigned)NIC_MAX);
        return;
    }
    i = iface_new("eth", (int)nifaces - 1);
    i->nic = d;
    d->upper = i;
    d->receive = card_receive_frame;
    net_enter();
    netif_add_noaddr(&i->n, NULL, init_card_netif, netif_input);
    netif_set_link_up(&i->n);
    net_exit();
}

/* Configures card `number` from one line, ADDRESS/BITS GATEWAY.  Returns the start of the next line. */
static const char *configure_card(const char *text, unsigned number)
{
    char ip[16] = "", gw[16] = "";
    unsigned bits = 0, n = 0;
    ip4_addr_t a, m, g = {0};
    struct netif *card = iface_by_index(number + 2);

    for (; *text != '\0' && *text != '/' && *text != '\n' && n < sizeof ip - 1; text++)
        ip[n++] = *text;
    if (*text == '/')
        for (text++; *text >= '0' && *text <= '9' && bits < 100; text++)
            bits = bits * 10 + (unsigned)(*text - '0');
    for (n = 0; *text == ' '; text++)
        ;
    for (; *text != '\0' && *text != '\n' && n < sizeof gw - 1; text++)
        gw[n++] = *text;
    if (card != NULL && ip[0] != '\0') {
        if (bits > 32 || !ip4addr_aton(ip, &a) || (gw[0] != '\0' && !ip4addr_aton(gw, &g))) {
            warn("the addresses given for eth%u cannot be read", number);
        } else {
            m.addr = bits == 0 ? 0 : lwip_htonl(~0u << (32 - bits));
            net_enter();
            netif_set_addr(card, &a, &m, &g);
            netif_set_up(card);
            if (g.addr != 0 && netif_default == NULL)
                netif_set_default(card);
            net_exit();
        }
    }
    while (*text != '\0' && *text++ != '\n')
        ;
    return text;
}

void iface_init(const char *config)
{
    struct iface *lo = iface_new("lo", -1);
    ip4_addr_t ip, mask, none = {0};

    IP4_ADDR(&ip, 127, 0, 0, 1);
    IP4_ADDR(&mask, 255, 0, 0, 0);
    net_enter();
    netif_add(&lo->n, &ip, &mask, &none, NULL, init_loopback_netif, ip4_input);
    netif_set_link_up(&lo->n);
    netif_set_up(&lo->n);
    net_exit();
    virtio_net_probe(card_attach);
    for (unsigned i = 0; config != NULL && *config != '\0'; i++)
        config = configure_card(config, i);
}
