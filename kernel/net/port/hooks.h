// SPDX-License-Identifier: MIT
/*
 * hooks.h - where lwIP asks us about what it has received.
 */
#ifndef NET_PORT_HOOKS_H
#define NET_PORT_HOOKS_H

#include "lwip/err.h"
#include "lwip/prot/tcp.h"

/*
 * net_tcp_judge - whether a segment for a connection may be taken in: ERR_OK, or ERR_VAL to drop it.  Its options are
 * `optlen` bytes, of which the first `opt1len` follow the header, the rest being at `opt2`.
 */
err_t net_tcp_judge(const struct tcp_hdr *hdr, u16_t optlen, u16_t opt1len, const u8_t *opt2);

/* net_tcp_edge - a segment for a connection, of p->tot_len bytes, is about to be taken in; net_lock is held. */
struct tcp_pcb;
struct pbuf;
void net_tcp_edge(struct tcp_pcb *pcb, const struct tcp_hdr *hdr, const struct pbuf *p);

#endif
