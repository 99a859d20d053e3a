// SPDX-License-Identifier: MIT
/*
 * packet.c - sockets that receive and send whole frames (AF_PACKET), as a DHCP client needs.
 *
 * THEORY      Such a socket gets a copy of each frame that arrives on the socket's interface and has the
 *             socket's Ethernet protocol.  A SOCK_RAW socket gets the whole frame.  A SOCK_DGRAM socket gets the
 *             frame without the Ethernet header; the sender's address holds the contents of the header.  Sending
 *             works the same way.  If there are no packet sockets, no frame is copied.
 * LOCKING     see netpriv.h
 * SEE ALSO    packet(7) of Linux's manual
 */
#include "net/ifpriv.h"

#include "lib/errno.h"
#include "lib/string.h"

#include "lwip/pbuf.h"
#include "lwip/prot/ethernet.h"

enum { ETH_ALL = 3, HEADER = 14, FRAME_MAX = 1514, LL_BYTES = 20, LL_LEAST = 12 };
enum { PACKET_HOST, PACKET_BROADCAST, PACKET_MULTICAST, PACKET_OTHERHOST };

struct ll_addr { /* Linux's struct sockaddr_ll */
    uint16_t family, protocol;
    int32_t ifindex;
    uint16_t hatype;
    uint8_t pkttype, halen, addr[8];
};

struct list packet_sockets = LIST_INIT(packet_sockets);

static uint8_t classify_frame(const struct netif *n, const uint8_t *to)
{
    static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

    if (memcmp(to, all, sizeof all) == 0)
        return PACKET_BROADCAST;
    if (to[0] & 1)
        return PACKET_MULTICAST;
    return memcmp(to, n->hwaddr, sizeof all) == 0 ? PACKET_HOST : PACKET_OTHERHOST;
}

static void deliver_frame_copy(struct socket *s, struct netif *n, struct pbuf *p,
                               const struct eth_hdr *h)
{
    uint16_t cut = s->type == SOCK_DGRAM ? HEADER : 0;
    struct pbuf *copy = pbuf_alloc(PBUF_RAW, (u16_t)(p->tot_len - cut), PBUF_RAM);
    struct sock_addr from = {.len = LL_BYTES};
    struct ll_addr ll = {.family = AF_PACKET, .protocol = h->type, .hatype = 1, .halen = 6};

    if (copy == NULL) {
        s->rx_drops++;
        return;
    }
    (void)pbuf_copy_partial(p, copy->payload, copy->len, cut);
    ll.ifindex = (int)iface_index(n);
    ll.pkttype = classify_frame(n, h->dest.addr);
    memcpy(ll.addr, h->src.addr, 6);
    memcpy(&from, &ll, LL_BYTES);
    dgram_add(s, copy, &from);
}

void packet_input(struct netif *n, struct pbuf *p)
{
    const struct eth_hdr *h = p->payload;
    struct socket *s;

    if (likely(list_empty(&packet_sockets)) || p->len < HEADER)
        return;
    LIST_FOREACH (s, &packet_sockets, link)
        if ((s->ethertype == lwip_htons(ETH_ALL) || s->ethertype == h->type) && s->ethertype != 0 &&
            (s->ifindex == 0 || s->ifindex == iface_index(n)))
            deliver_frame_copy(s, n, p, h);
}

static int parse_ll_addr(const struct sock_addr *a, struct ll_addr *ll)
{
    if (a->len < LL_LEAST)
        return -EINVAL;
    memset(ll, 0, sizeof *ll);
    memcpy(ll, a, min_of(a->len, (uint32_t)sizeof *ll));
    return ll->family == AF_PACKET ? 0 : -EINVAL;
}

static int packet_bind(struct socket *s, const struct sock_addr *a)
{
    struct ll_addr ll;
    int err = parse_ll_addr(a, &ll);

    if (err != 0)
        return err;
    net_enter();
    if (ll.ifindex != 0 && iface_by_index((unsigned)ll.ifindex) == NULL) {
        err = -ENODEV;
    } else {
        s->ifindex = (uint32_t)ll.ifindex;
        if (ll.protocol != 0)
            s->ethertype = ll.protocol;
    }
    net_exit();
    return err;
}

static long packet_send(struct socket *s, struct sock_msg *m, bool nonblock)
{
    size_t n = m->uio->resid;
    bool whole = s->type == SOCK_RAW;
    struct ll_addr ll = {.ifindex = (int)s->ifindex, .protocol = s->ethertype};
    struct netif *card;
    struct pbuf *p;
    int err = 0;

    if (m->name.len != 0)
        err = parse_ll_addr(&m->name, &ll);
    if (err != 0)
        return err;
    if (m->name.len == 0 && !whole)
        return -EDESTADDRREQ;
    if (n > FRAME_MAX - (whole ? 0u : (unsigned)HEADER))
        return -EMSGSIZE;
    if (whole && n < HEADER)
        return -EINVAL;
    err = pbuf_from_uio(m->uio, n, &p);
    if (err != 0)
        return err;
    net_enter();
    card = iface_by_index((unsigned)ll.ifindex);
    if (card == NULL || card->linkoutput == NULL)
        err = -ENXIO;
    else if (!netif_is_up(card))
        err = -ENETDOWN;
    else if (!whole && pbuf_add_header(p, HEADER) == 0) {
        struct eth_hdr *h = p->payload;

        memcpy(h->dest.addr, ll.addr, 6);
        memcpy(h->src.addr, card->hwaddr, 6);
        h->type = ll.protocol;
    }
    if (err == 0)
        (void)card->linkoutput(card, p);
    pbuf_free(p);
    net_exit();
    return err != 0 ? err : (long)n;
}

static int packet_get_name(struct socket *s, bool peer, struct sock_addr *a)
{
    struct ll_addr ll = {.family = AF_PACKET, .protocol = s->ethertype, .hatype = 1, .halen = 6};
    struct netif *n = iface_by_index(s->ifindex);

    if (peer)
        return -EOPNOTSUPP;
    ll.ifindex = (int)s->ifindex;
    if (n != NULL)
        memcpy(ll.addr, n->hwaddr, 6);
    memcpy(a, &ll, LL_BYTES);
    a->len = LL_BYTES;
    return 0;
}

static void packet_close(struct socket *s)
{
    net_enter();
    list_remove(&s->link);
    net_exit();
}

static const struct sock_ops packet_ops = {
    .bind = packet_bind,
    .send = packet_send,
    .receive = dgram_receive,
    .poll = dgram_poll,
    .name = packet_get_name,
    .readable = dgram_readable,
    .close = packet_close,
};

int socket_make_packet(int type, int protocol, struct socket **out)
{
    struct socket *s;

    if (type != SOCK_RAW && type != SOCK_DGRAM)
        return -ESOCKTNOSUPPORT;
    s = socket_new(&packet_ops, AF_PACKET, type, protocol);
    if (s == NULL)
        return -ENOMEM;
    s->ethertype = (uint16_t)protocol;
    net_enter();
    list_push_back(&packet_sockets, &s->link);
    net_exit();
    *out = s;
    return 0;
}
