// SPDX-License-Identifier: MIT
/*
 * icmp.c - ICMP errors: a host or a router reports that it could not deliver a datagram of ours.
 *
 * THEORY      An ICMP error quotes the IP header and the first 8 bytes of the datagram that was not
 *             delivered.  This is enough to find the socket that sent the datagram.  lwIP sends
 *             such errors for closed local ports, but it drops the errors that it receives.  So the
 *             kernel has a raw socket of its own, which gets these errors after lwIP has checked
 *             the IP header.
 *             As on Linux, an error is reported only to connected UDP sockets, and only if it is permanent.
 *             Then the next call on the socket fails.  ICMP messages are easy to forge, so TCP ignores them
 *             (RFC 5927).  TCP does not need them, because a host refuses a connection with a reset.
 * LOCKING     All code here runs under net_lock.
 * SEE ALSO    RFC 792; dgram.c; t_net's udp_refused
 */
#include "net/netpriv.h"

#include "lib/errno.h"
#include "stat/panic.h"

#include "lwip/inet_chksum.h"
#include "lwip/prot/icmp.h"
#include "lwip/prot/ip.h"
#include "lwip/prot/ip4.h"
#include "lwip/raw.h"
#include "lwip/udp.h"

enum { ICMP_HEADER = 8, PORTS = 4, CODES = 16, PROTOCOL_ICMP = 1, PROTOCOL_UDP = 17 };

/* Errno of each code of "destination unreachable", as on Linux; 0: the error can be temporary. */
static const uint8_t unreachable[CODES] = {
    [2] = ENOPROTOOPT,   [3] = ECONNREFUSED,  [6] = ENETUNREACH,   [7] = EHOSTDOWN,
    [8] = ENONET,        [9] = ENETUNREACH,   [10] = EHOSTUNREACH, [13] = EHOSTUNREACH,
    [14] = EHOSTUNREACH, [15] = EHOSTUNREACH,
};

/* The positive errno of a permanent error, or 0. */
static int icmp_to_errno(const uint8_t *header)
{
    if (header[0] == ICMP_PP)
        return EPROTO;
    return header[0] == ICMP_DUR && header[1] < CODES ? unreachable[header[1]] : 0;
}

/* Whether the ICMP message after the first `skip` bytes of p has a valid checksum.  Loopback packets have none. */
static bool icmp_checksum_is_valid(struct pbuf *p, unsigned skip)
{
    bool right = true;

    IF__NETIF_CHECKSUM_ENABLED(ip_current_input_netif(), NETIF_CHECKSUM_CHECK_ICMP)
    {
        if (pbuf_remove_header(p, skip) != 0)
            return false;
        right = inet_chksum_pbuf(p) == 0;
        (void)pbuf_add_header_force(p, skip);
    }
    return right;
}

/*
 * The connected socket that sent the datagram with IP header `sent` and ports port[] (source, destination,
 * network order); NULL: there is no such socket.
 */
static struct socket *find_udp_sender(const struct ip_hdr *sent, const uint16_t port[2])
{
    struct socket *s;

    LIST_FOREACH (s, &udp_sockets, link) {
        const struct udp_pcb *u = s->pcb;

        if (s->state == SS_CONNECTED && u->local_port == lwip_ntohs(port[0]) &&
            u->remote_port == lwip_ntohs(port[1]) && u->remote_ip.addr == sent->dest.addr &&
            u->local_ip.addr == sent->src.addr)
            return s;
    }
    return NULL;
}

static u8_t on_icmp_message(void *arg, struct raw_pcb *pcb, struct pbuf *p, const ip_addr_t *from)
{
    unsigned skip = ip_current_header_tot_len(), at = skip + ICMP_HEADER;
    uint8_t header[ICMP_HEADER];
    uint16_t port[2];
    struct ip_hdr sent;
    struct socket *s;
    int err;

    if (pbuf_copy_partial(p, header, sizeof header, (u16_t)skip) != sizeof header)
        return 0;
    err = icmp_to_errno(header);
    if (err == 0 || pbuf_copy_partial(p, &sent, sizeof sent, (u16_t)at) != sizeof sent ||
        IPH_V(&sent) != 4 || IPH_HL_BYTES(&sent) < IP_HLEN || IPH_PROTO(&sent) != PROTOCOL_UDP ||
        (IPH_OFFSET(&sent) & PP_HTONS(IP_OFFMASK)) != 0 ||
        pbuf_copy_partial(p, port, PORTS, (u16_t)(at + IPH_HL_BYTES(&sent))) != PORTS ||
        !icmp_checksum_is_valid(p, skip))
        return 0;
    s = find_udp_sender(&sent, port);
    if (s != NULL) {
        s->err = err;
        socket_wake_reader(s);
        socket_wake_writer(s);
    }
    return 0; /* 0: other receivers also get the message */
}

void socket_icmp_init(void)
{
    struct raw_pcb *pcb = raw_new(PROTOCOL_ICMP);

    if (pcb == NULL)
        panic("no memory for the network");
    raw_recv(pcb, on_icmp_message, NULL);
}
