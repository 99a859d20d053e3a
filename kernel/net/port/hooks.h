// SPDX-License-Identifier: MIT
/*
 * hooks.h - functions that lwIP calls for received segments, and to decide whether it sends a segment.
 */
#ifndef NET_PORT_HOOKS_H
#define NET_PORT_HOOKS_H

#include "lwip/err.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/tcp.h"

/*
 * net_tcp_judge - decide whether lwIP processes a segment for a connection: ERR_OK; or ERR_VAL: lwIP drops it.  The
 * segment has `optlen` bytes of options.  The first `opt1len` of them follow the header; the rest is at `opt2`.
 */
err_t net_tcp_judge(const struct tcp_hdr *hdr, u16_t optlen, u16_t opt1len, const u8_t *opt2);

/*
 * net_tcp_edge - called before lwIP processes a segment of p->tot_len bytes for a connection.  The caller holds
 * net_lock.
 */
void net_tcp_edge(struct tcp_pcb *pcb, const struct tcp_hdr *hdr, const struct pbuf *p);

/*
 * net_tcp_may_send - whether the first unsent segment of a connection can be sent now (1), or must wait until data in
 * flight is acknowledged (0): kernel/net/tcpsend.c.  It replaces lwIP's macro, which tcp_output() calls.  The caller
 * holds net_lock.
 */
int net_tcp_may_send(struct tcp_pcb *pcb);
#undef tcp_do_output_nagle
#define tcp_do_output_nagle(pcb) net_tcp_may_send(pcb)

#endif
