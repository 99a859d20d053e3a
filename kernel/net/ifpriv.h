// SPDX-License-Identifier: MIT
/*
 * ifpriv.h - struct iface, for the files that use interfaces.
 */
#ifndef NET_IFPRIV_H
#define NET_IFPRIV_H

#include "net/netpriv.h"
#include "stat/kstat.h"

#include "lwip/netif.h"

struct nic_dev;

/* [n] net_lock  [c] constant after boot */
struct iface {
    struct netif n;      /* [n] lwIP's interface        */
    char name[16];       /* [c] "lo", "eth0" ...        */
    struct nic_dev *nic; /* [c] the card; NULL: lo      */
    uint64_t rx_packets, rx_bytes, rx_drops, tx_packets, tx_bytes, tx_drops; /* [n] */
    struct kstat ks;
};

extern struct iface ifaces[];
extern unsigned nifaces;

#endif
