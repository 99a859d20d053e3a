// SPDX-License-Identifier: MIT
/*
 * inet.c - struct sockaddr_in, and the options that all AF_INET sockets have.
 *
 * LOCKING     netpriv.h
 * SEE ALSO    ip(7), socket(7) of Linux's manual
 */
#include "net/netpriv.h"

#include "lib/errno.h"
#include "lib/string.h"

#include "lwip/ip.h"
#include "lwip/netif.h"

enum { IPPROTO_IP = 0, SOL_SOCKET = 1, INET_ADDR_BYTES = 16 };
enum {
    IP_TOS_OPTION = 1,
    IP_TTL_OPTION = 2,
    IP_OPTIONS = 4,
    IP_RECVOPTS = 6,
    IP_PKTINFO = 8,
    IP_MTU_DISCOVER = 10,
    IP_PMTUDISC_WANT = 1,
    IP_RECVERR = 11,
    IP_RECVTTL = 12,
    IP_RECVTOS = 13,
    IP_MTU = 14,
    IP_FREEBIND = 15,
    IP_BIND_ADDRESS_NO_PORT = 24,
};
enum {
    SO_REUSEADDR = 2,
    SO_BROADCAST = 6,
    SO_KEEPALIVE = 9,
    SO_REUSEPORT = 15,
    SO_BINDTODEVICE = 25
};

bool inet_may_bind(uint16_t port)
{
    return port == 0 || port >= 1024 || proc_cred()->euid == 0;
}

int inet_get(const struct sock_addr *a, uint32_t *ip, uint16_t *port)
{
    struct inet_addr in;

    if (a->len < INET_ADDR_BYTES)
        return -EINVAL;
    memcpy(&in, a, sizeof in);
    if (in.family != AF_INET && !(in.family == AF_UNSPEC && in.ip == 0))
        return -EAFNOSUPPORT;
    *ip = in.ip;
    *port = lwip_ntohs(in.port);
    return 0;
}

void inet_put(struct sock_addr *a, uint32_t ip, uint16_t port)
{
    struct inet_addr in = {.family = AF_INET, .port = lwip_htons(port), .ip = ip};

    memcpy(a, &in, sizeof in);
    a->len = INET_ADDR_BYTES;
}

/* SO_BINDTODEVICE: use only the interface name[len]; "": any interface.  0 or -ENODEV. */
static int bind_to_device(struct socket *s, struct ip_pcb *pcb, const char *name, unsigned len)
{
    char text[16];
    struct netif *n;

    len = min_of(len, (unsigned)sizeof text - 1);
    memcpy(text, name, len);
    text[len] = '\0';
    n = text[0] != '\0' ? iface_by_name(text) : NULL;
    if (n == NULL && text[0] != '\0')
        return -ENODEV;
    s->ifindex = n != NULL ? iface_index(n) : 0;
    if (pcb != NULL)
        pcb->netif_idx = n != NULL ? netif_get_index(n) : NETIF_NO_INDEX;
    return 0;
}

/* Copies a SOL_SOCKET flag, which is already stored in the socket, to lwIP's pcb. */
static int copy_flag_to_pcb(struct socket *s, struct ip_pcb *pcb, int name)
{
    const struct {
        int name;
        uint8_t flag;
        bool on;
    } flags[] = {{SO_REUSEADDR, SOF_REUSEADDR, s->reuse || s->reuse_port},
                 {SO_REUSEPORT, SOF_REUSEADDR, s->reuse || s->reuse_port},
                 {SO_BROADCAST, SOF_BROADCAST, s->broadcast},
                 {SO_KEEPALIVE, SOF_KEEPALIVE, s->keepalive}};

    for (unsigned i = 0; i < array_size(flags); i++) {
        if (flags[i].name == name && pcb != NULL) {
            if (flags[i].on)
                ip_set_option(pcb, flags[i].flag);
            else
                ip_reset_option(pcb, flags[i].flag);
            return 0;
        }
    }
    return -ENOPROTOOPT;
}

/* Reads an option's value, which may have one byte or four.  0 or -EINVAL. */
static int read_option_int(const void *val, unsigned len, int *v)
{
    if (len == 0)
        return -EINVAL;
    *v = *(const uint8_t *)val;
    if (len >= sizeof *v)
        memcpy(v, val, sizeof *v);
    return 0;
}

int inet_option_set(struct socket *s, struct ip_pcb *pcb, int level, int name, const void *val,
                    unsigned len)
{
    int v, err;

    if (level == SOL_SOCKET)
        return name == SO_BINDTODEVICE ? bind_to_device(s, pcb, val, len)
                                       : copy_flag_to_pcb(s, pcb, name);
    if (level != IPPROTO_IP)
        return -ENOPROTOOPT;
    if (name == IP_OPTIONS) /* options cannot be sent */
        return len != 0 ? -ENOPROTOOPT : 0;
    err = read_option_int(val, len, &v);
    if (err != 0)
        return err;
    switch (name) {
    case IP_TOS_OPTION:
        if (pcb != NULL)
            pcb->tos = (uint8_t)v;
        return 0;
    case IP_TTL_OPTION:
        if (v == -1)
            v = IP_DEFAULT_TTL;
        if (v < 1 || v > 255)
            return -EINVAL;
        if (pcb != NULL)
            pcb->ttl = (uint8_t)v;
        return 0;
    case IP_RECVERR: /* must succeed for glibc's resolver; connected sockets always report errors */
    case IP_BIND_ADDRESS_NO_PORT: /* a hint, which has no effect */
        return 0;
    case IP_MTU_DISCOVER: /* 0 and 1 allow fragmentation, which is always on here */
        return v < 0 || v > IP_PMTUDISC_WANT ? -ENOPROTOOPT : 0;
    case IP_RECVTTL: /* this option and the next ones can only be off */
    case IP_RECVTOS:
    case IP_RECVOPTS:
    case IP_PKTINFO:
    case IP_FREEBIND:
        return v != 0 ? -ENOPROTOOPT : 0;
    }
    return -ENOPROTOOPT;
}

int inet_option_get(struct socket *s, struct ip_pcb *pcb, int level, int name, void *val,
                    unsigned *len)
{
    int v;

    if (level != IPPROTO_IP)
        return -ENOPROTOOPT;
    switch (name) {
    case IP_TOS_OPTION:
        v = pcb != NULL ? pcb->tos : 0;
        break;
    case IP_TTL_OPTION:
        v = pcb != NULL ? pcb->ttl : IP_DEFAULT_TTL;
        break;
    case IP_OPTIONS:
        *len = 0;
        return 0;
    case IP_MTU_DISCOVER:
    case IP_RECVERR:
        v = 0;
        break;
    case IP_MTU:
        v = 1500;
        break;
    default:
        return -ENOPROTOOPT;
    }
    *len = min_of(*len, (unsigned)sizeof v);
    memcpy(val, &v, *len);
    return 0;
}
