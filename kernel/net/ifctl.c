// SPDX-License-Identifier: MIT
/*
 * ifctl.c - ioctl(2) requests that read and change interfaces and routes.
 *
 * THEORY      These are the requests of ifconfig, route and udhcpc (netdevice(7) of Linux's manual).  Every user
 *             can read the settings; only root can change them.  As on Linux, setting an address brings the
 *             interface up, and gives it the network mask of the address's class until SIOCSIFNETMASK sets
 *             another mask.  lwIP has no routing table: there are only the interfaces' own networks and one
 *             default route.
 * LOCKING     net_lock guards the interfaces.  It is released before user memory is copied.
 * SEE ALSO    iface.c
 */
#include "net/ifpriv.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "x86/uaccess.h"

#include "lwip/ip4.h"

enum {
    SIOCADDRT = 0x890b,
    SIOCDELRT = 0x890c,
    SIOCGIFNAME = 0x8910,
    SIOCGIFCONF = 0x8912,
    SIOCGIFFLAGS = 0x8913,
    SIOCSIFFLAGS,
    SIOCGIFADDR,
    SIOCSIFADDR,
    SIOCGIFDSTADDR,
    SIOCSIFDSTADDR,
    SIOCGIFBRDADDR,
    SIOCSIFBRDADDR,
    SIOCGIFNETMASK,
    SIOCSIFNETMASK,
    SIOCGIFMETRIC,
    SIOCSIFMETRIC,
    SIOCGIFMTU = 0x8921,
    SIOCSIFMTU,
    SIOCGIFHWADDR = 0x8927,
    SIOCGIFINDEX = 0x8933,
    SIOCGIFTXQLEN = 0x8942,
    SIOCSIFTXQLEN,
    SIOCGIFMAP = 0x8970,
};
enum { IFF_UP = 1, IFF_BROADCAST = 2, IFF_LOOPBACK = 8, IFF_RUNNING = 64, IFF_MULTICAST = 4096 };
enum { ARPHRD_ETHER = 1, ARPHRD_LOOPBACK = 772, RTF_GATEWAY = 2, MTU_MIN = 68 };

struct ifreq {
    char name[16];
    union {
        struct inet_addr in;
        struct {
            uint16_t family;
            uint8_t bytes[14];
        } hw;
        int16_t flags;
        int32_t number;
        uint8_t raw[24];
    };
};
_Static_assert(sizeof(struct ifreq) == 40, "as Linux's");

struct ifconf {
    int32_t len, pad;
    uint64_t buf;
};

struct rtentry {
    uint64_t pad1;
    struct inet_addr dst, gateway, mask;
    uint16_t flags, pad2[3];
    uint64_t pad3, pad4;
    int16_t metric, pad5[3];
    uint64_t dev; /* user address of the interface's name, or 0 */
    uint64_t mtu, window;
    uint16_t irtt, pad6[3];
};
_Static_assert(sizeof(struct rtentry) == 120, "as Linux's");

static void set_ifreq_addr(struct ifreq *r, uint32_t ip)
{
    r->in = (struct inet_addr){.family = AF_INET, .ip = ip};
}

static int get_iface_flags(const struct netif *n)
{
    bool lo = iface_index(n) == 1;

    return (netif_is_up(n) ? IFF_UP | IFF_RUNNING : 0) |
           (lo ? IFF_LOOPBACK : IFF_BROADCAST | IFF_MULTICAST);
}

/* The network mask of the class of address `ip` (RFC 791, 3.2); both in network order. */
static uint32_t address_class_mask(uint32_t ip)
{
    uint32_t h = lwip_ntohl(ip);

    if (h == 0)
        return 0;
    if (h >> 31 == 0)
        return lwip_htonl(0xff000000u);
    return lwip_htonl(h >> 30 == 2 ? 0xffff0000u : 0xffffff00u);
}

/* The address that SIOCGIFADDR and similar requests return, in network order. */
static uint32_t get_iface_address(const struct netif *n, unsigned cmd)
{
    uint32_t ip = netif_ip4_addr(n)->addr, mask = netif_ip4_netmask(n)->addr;

    if (cmd == SIOCGIFNETMASK)
        return mask;
    if (cmd != SIOCGIFBRDADDR)
        return ip;
    return iface_index(n) == 1 ? 0 : ip | ~mask;
}

static int get_iface_attribute(struct netif *n, unsigned cmd, struct ifreq *r)
{
    bool lo = iface_index(n) == 1;

    memset(r->raw, 0, sizeof r->raw);
    switch (cmd) {
    case SIOCGIFFLAGS:
        r->flags = (int16_t)get_iface_flags(n);
        return 0;
    case SIOCGIFADDR:
    case SIOCGIFDSTADDR:
    case SIOCGIFNETMASK:
    case SIOCGIFBRDADDR:
        if (netif_ip4_addr(n)->addr == 0)
            return -EADDRNOTAVAIL;
        set_ifreq_addr(r, get_iface_address(n, cmd));
        return 0;
    case SIOCGIFMTU:
        r->number = n->mtu;
        return 0;
    case SIOCGIFINDEX:
        r->number = (int)iface_index(n);
        return 0;
    case SIOCGIFHWADDR:
        r->hw.family = lo ? ARPHRD_LOOPBACK : ARPHRD_ETHER;
        memcpy(r->hw.bytes, n->hwaddr, 6);
        return 0;
    case SIOCGIFTXQLEN:
        r->number = lo ? 0 : 256;
        return 0;
    case SIOCGIFMETRIC:
    case SIOCGIFMAP:
        return 0;
    }
    return -ENOTTY;
}

static int set_iface_attribute(struct netif *n, unsigned cmd, const struct ifreq *r)
{
    ip4_addr_t a = {r->in.ip}, mask;

    switch (cmd) {
    case SIOCSIFFLAGS:
        if (r->flags & IFF_UP)
            netif_set_up(n);
        else
            netif_set_down(n);
        return 0;
    case SIOCSIFADDR:
        if (r->in.family != AF_INET)
            return -EINVAL;
        mask.addr = address_class_mask(a.addr);
        netif_set_addr(n, &a, &mask, netif_ip4_gw(n));
        if (a.addr != 0)
            netif_set_up(n);
        return 0;
    case SIOCSIFNETMASK:
        netif_set_netmask(n, &a);
        return 0;
    case SIOCSIFMTU:
        if (iface_index(n) == 1 || r->number < MTU_MIN || r->number > 1500)
            return -EINVAL;
        n->mtu = (u16_t)r->number;
        return 0;
    case SIOCSIFBRDADDR: /* ignored: address and mask determine the broadcast address */
    case SIOCSIFDSTADDR:
    case SIOCSIFMETRIC:
    case SIOCSIFTXQLEN:
        return 0;
    }
    return -ENOTTY;
}

/* SIOCGIFCONF: copies the interfaces that have an address to the program's array.  0 or -EFAULT. */
static long list_iface_addresses(uint64_t arg)
{
    struct ifconf c;
    long err = copy_in(&c, arg, sizeof c);
    int32_t done = 0;

    for (unsigned i = 0; err == 0 && i < nifaces; i++) {
        struct ifreq r = {0};

        if (netif_ip4_addr(&ifaces[i].n)->addr == 0)
            continue;
        if (c.buf != 0) {
            if (c.len - done < (int32_t)sizeof r)
                break;
            str_copy(r.name, ifaces[i].name, sizeof r.name);
            set_ifreq_addr(&r, netif_ip4_addr(&ifaces[i].n)->addr);
            err = copy_out(c.buf + (uint64_t)done, &r, sizeof r);
        }
        done += (int32_t)sizeof r;
    }
    c.len = done;
    return err != 0 ? err : copy_out(arg, &c, sizeof c);
}

/*
 * The interface of a route: the interface with name `dev`; if `dev` is "", the interface whose
 * network has the gateway.
 */
static struct netif *find_route_iface(const char *dev, uint32_t gateway)
{
    if (dev[0] != '\0')
        return iface_by_name(dev);
    for (unsigned i = 1; i < nifaces; i++) {
        struct netif *n = &ifaces[i].n;

        if (netif_is_up(n) &&
            ((gateway ^ netif_ip4_addr(n)->addr) & netif_ip4_netmask(n)->addr) == 0)
            return n;
    }
    return NULL;
}

/* Adds or removes the default route through n.  0, -EEXIST, -ESRCH; -EOPNOTSUPP for most other routes. */
static int change_route(struct netif *n, const struct rtentry *r, bool add)
{
    ip4_addr_t g = {add ? r->gateway.ip : 0};
    /* Whether r is the route to n's own network. */
    bool own = r->dst.ip != 0 && r->mask.ip == netif_ip4_netmask(n)->addr &&
               (r->dst.ip & r->mask.ip) == (netif_ip4_addr(n)->addr & r->mask.ip);

    if (own)
        return add ? -EEXIST : -EOPNOTSUPP; /* this route exists as long as n has its address */
    if (r->dst.ip != 0 || r->mask.ip != 0)
        return -EOPNOTSUPP;
    if (!add && netif_default != n)
        return -ESRCH;
    if (add && netif_default != NULL)
        return -EEXIST;
    netif_set_gw(n, &g);
    netif_set_default(add ? n : NULL);
    return 0;
}

static long ioctl_change_route(unsigned cmd, uint64_t arg)
{
    struct rtentry r;
    char dev[16] = "";
    struct netif *n;
    long err = copy_in(&r, arg, sizeof r);

    if (err == 0 && r.dev != 0)
        err = copy_in_str(dev, r.dev, sizeof dev);
    if (err < 0)
        return err == -ENAMETOOLONG ? -ENODEV : err;
    net_enter();
    n = cmd == SIOCDELRT && dev[0] == '\0' && r.dst.ip == 0 ? netif_default
                                                            : find_route_iface(dev, r.gateway.ip);
    if (n != NULL)
        err = change_route(n, &r, cmd == SIOCADDRT);
    else if (cmd == SIOCDELRT)
        err = -ESRCH;
    else
        err = dev[0] != '\0' ? -ENODEV : -ENETUNREACH;
    net_exit();
    return err;
}

static bool is_change_request(unsigned cmd)
{
    return cmd == SIOCADDRT || cmd == SIOCDELRT || cmd == SIOCSIFFLAGS || cmd == SIOCSIFADDR ||
           cmd == SIOCSIFDSTADDR || cmd == SIOCSIFBRDADDR || cmd == SIOCSIFNETMASK ||
           cmd == SIOCSIFMETRIC || cmd == SIOCSIFMTU || cmd == SIOCSIFTXQLEN;
}

long iface_ioctl(struct socket *s, unsigned cmd, uint64_t arg)
{
    struct ifreq r;
    struct netif *n;
    bool change = is_change_request(cmd);
    long err;

    if (cmd < SIOCADDRT || cmd > SIOCGIFMAP)
        return -ENOTTY;
    if (change && proc_cred()->euid != 0)
        return -EPERM;
    if (cmd == SIOCGIFCONF)
        return list_iface_addresses(arg);
    if (cmd == SIOCADDRT || cmd == SIOCDELRT)
        return ioctl_change_route(cmd, arg);
    err = copy_in(&r, arg, sizeof r);
    if (err != 0)
        return err;
    r.name[sizeof r.name - 1] = '\0';
    net_enter();
    n = cmd == SIOCGIFNAME ? iface_by_index((unsigned)r.number) : iface_by_name(r.name);
    if (n == NULL)
        err = -ENODEV;
    else if (cmd == SIOCGIFNAME)
        str_copy(r.name, ifaces[iface_index(n) - 1].name, sizeof r.name);
    else
        err = change ? set_iface_attribute(n, cmd, &r) : get_iface_attribute(n, cmd, &r);
    net_exit();
    return err != 0 || change ? err : copy_out(arg, &r, sizeof r);
}
