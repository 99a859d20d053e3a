// SPDX-License-Identifier: MIT
/*
 * tcpopt.c - socket options of level TCP, and a check of the options in received segments.
 *
 * THEORY      Options that lwIP implements (no delay, keep-alive, segment size) are set in its pcb.  lwIP has
 *             one congestion control algorithm, Reno.  Selecting another algorithm is an error, as on a Linux
 *             without that algorithm.  TCP_INFO returns the values that lwIP has; all other fields are zero.
 * LOCKING     All code here runs under net_lock.
 * SEE ALSO    tcp(7) of Linux's manual
 */
#include "net/netpriv.h"

#include "lib/errno.h"
#include "lib/string.h"

#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/port/hooks.h"

enum { SOL_TCP = 6, LEAST_MSS = 64 };
enum {
    TCP_NODELAY_OPTION = 1,
    TCP_MAXSEG = 2,
    TCP_CORK = 3,
    TCP_KEEPIDLE_OPTION = 4,
    TCP_KEEPINTVL_OPTION = 5,
    TCP_KEEPCNT_OPTION = 6,
    TCP_SYNCNT = 7,
    TCP_LINGER2 = 8,
    TCP_DEFER_ACCEPT = 9,
    TCP_WINDOW_CLAMP = 10,
    TCP_INFO = 11,
    TCP_QUICKACK = 12,
    TCP_CONGESTION = 13,
    TCP_USER_TIMEOUT = 18,
};

static const char congestion[16] = "reno";

struct tcp_info { /* Linux's, up to tcpi_total_retrans */
    uint8_t state, ca_state, retransmits, probes, backoff, options, wscale, delivery;
    uint32_t rto_us, ato_us, snd_mss, rcv_mss, unacked, sacked, lost, retrans, fackets;
    uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
    uint32_t pmtu, rcv_ssthresh, rtt_us, rttvar_us, snd_ssthresh, snd_cwnd, advmss, reordering,
        rcv_rtt, rcv_space;
    uint32_t total_retrans;
};
_Static_assert(sizeof(struct tcp_info) == 104, "as Linux's");

unsigned tcp_linux_state(const struct tcp_pcb *pcb)
{
    static const uint8_t linux_state[] = {
        [CLOSED] = 7,      [LISTEN] = 10,    [SYN_SENT] = 2,   [SYN_RCVD] = 3,
        [ESTABLISHED] = 1, [FIN_WAIT_1] = 4, [FIN_WAIT_2] = 5, [CLOSE_WAIT] = 8,
        [CLOSING] = 11,    [LAST_ACK] = 9,   [TIME_WAIT] = 6,
    };

    return pcb == NULL || pcb->state >= array_size(linux_state) ? 7 : linux_state[pcb->state];
}

static void fill_tcp_info(const struct tcp_pcb *pcb, struct tcp_info *i)
{
    uint32_t mss, unacked;

    memset(i, 0, sizeof *i);
    i->state = (uint8_t)tcp_linux_state(pcb);
    if (pcb == NULL || pcb->state == LISTEN || pcb->mss == 0)
        return;
    mss = pcb->mss;
    unacked = pcb->snd_nxt - pcb->lastack;
    i->retransmits = pcb->nrtx;
    i->probes = pcb->persist_probe;
    i->options = pcb->flags & TF_WND_SCALE ? 4 : 0;
    i->wscale = (uint8_t)(pcb->snd_scale | pcb->rcv_scale << 4);
    i->rto_us = (uint32_t)pcb->rto * TCP_SLOW_INTERVAL * 1000;
    i->snd_mss = i->rcv_mss = i->advmss = mss;
    i->unacked = (unacked + mss - 1) / mss;
    i->pmtu = mss + 40;
    i->rtt_us = (uint32_t)(pcb->sa >> 3) * TCP_SLOW_INTERVAL * 1000;
    i->rttvar_us = (uint32_t)(pcb->sv >> 2) * TCP_SLOW_INTERVAL * 1000;
    i->snd_ssthresh = pcb->ssthresh / mss;
    i->snd_cwnd = pcb->cwnd / mss;
    i->reordering = 3;
    i->rcv_space = pcb->rcv_wnd;
    i->total_retrans = pcb->nrtx;
}

/* 0 if name[len], which can end in a NUL, is the name of the only algorithm; else -ENOENT. */
static int check_congestion_name(const char *name, unsigned len)
{
    unsigned n = 0;

    while (n < len && n < sizeof congestion - 1 && name[n] != '\0')
        n++;
    return n == strlen(congestion) && memcmp(name, congestion, n) == 0 ? 0 : -ENOENT;
}

static int set_keepalive(struct tcp_pcb *pcb, int name, int v)
{
    if (v < 1 || v > 32767)
        return -EINVAL;
    if (name == TCP_KEEPIDLE_OPTION)
        pcb->keep_idle = (uint32_t)v * 1000;
    else if (name == TCP_KEEPINTVL_OPTION)
        pcb->keep_intvl = (uint32_t)v * 1000;
    else
        pcb->keep_cnt = (uint32_t)v;
    return 0;
}

int tcp_option_set(struct socket *s, struct tcp_pcb *pcb, int level, int name, const void *val,
                   unsigned len)
{
    int v;

    if (level != SOL_TCP)
        return inet_option_set(s, (struct ip_pcb *)pcb, level, name, val, len);
    if (name == TCP_CONGESTION)
        return check_congestion_name(val, len);
    if (len < sizeof v)
        return -EINVAL;
    memcpy(&v, val, sizeof v);
    if (pcb == NULL || pcb->state == LISTEN)
        return 0; /* there is no connection that the option could change */
    switch (name) {
    case TCP_NODELAY_OPTION:
        if (v != 0)
            tcp_nagle_disable(pcb);
        else
            tcp_nagle_enable(pcb);
        if (v != 0)
            (void)tcp_output(pcb);
        return 0;
    case TCP_MAXSEG:
        if (v < 88 || v > TCP_MSS)
            return -EINVAL;
        if (pcb->unsent == NULL) /* lwIP assumes that queued segments fit pcb->mss */
            pcb->mss = (uint16_t)min_of(v, (int)pcb->mss);
        return 0;
    case TCP_KEEPIDLE_OPTION:
    case TCP_KEEPINTVL_OPTION:
    case TCP_KEEPCNT_OPTION:
        return set_keepalive(pcb, name, v);
    case TCP_CORK:
    case TCP_SYNCNT:
    case TCP_LINGER2:
    case TCP_DEFER_ACCEPT:
    case TCP_WINDOW_CLAMP:
    case TCP_QUICKACK:
        return 0; /* these options are hints and have no effect */
    case TCP_USER_TIMEOUT:
        return v != 0 ? -ENOPROTOOPT : 0;
    }
    return -ENOPROTOOPT;
}

int tcp_option_get(struct socket *s, struct tcp_pcb *pcb, int level, int name, void *val,
                   unsigned *len)
{
    bool live = pcb != NULL && pcb->state != LISTEN;
    struct tcp_info info;
    const void *from = NULL;
    unsigned size = sizeof(int);
    int v = 0;

    if (level != SOL_TCP)
        return inet_option_get(s, (struct ip_pcb *)pcb, level, name, val, len);
    switch (name) {
    case TCP_NODELAY_OPTION:
        v = live && tcp_nagle_disabled(pcb);
        break;
    case TCP_MAXSEG:
        v = live ? pcb->mss : 536;
        break;
    case TCP_KEEPIDLE_OPTION:
        v = live ? (int)(pcb->keep_idle / 1000) : 7200;
        break;
    case TCP_KEEPINTVL_OPTION:
        v = live ? (int)(pcb->keep_intvl / 1000) : 75;
        break;
    case TCP_KEEPCNT_OPTION:
        v = live ? (int)pcb->keep_cnt : 9;
        break;
    case TCP_CORK:
    case TCP_DEFER_ACCEPT:
    case TCP_QUICKACK:
    case TCP_USER_TIMEOUT:
        break;
    case TCP_CONGESTION:
        from = congestion;
        size = sizeof congestion;
        break;
    case TCP_INFO:
        fill_tcp_info(pcb, &info);
        from = &info;
        size = sizeof info;
        break;
    default:
        return -ENOPROTOOPT;
    }
    *len = min_of(*len, size);
    memcpy(val, from != NULL ? from : &v, *len);
    return 0;
}

/* ---- segment size ---- */

/*
 * The peer announces its maximum segment size (MSS) in its SYN.  lwIP assumes that the size does not change
 * while segments are queued.  But it does not ensure this: it accepts the MSS option in any segment, and it
 * limits the size to half of the largest send window so far.  So net_tcp_judge() drops a segment that has the
 * option but is not a SYN.  tcp_fix_segment_size() increases a smaller size to LEAST_MSS (Linux's
 * minimum is 48), and increases snd_wnd_max so that the window does not limit the size.
 */
err_t net_tcp_judge(const struct tcp_hdr *hdr, u16_t optlen, u16_t opt1len, const u8_t *opt2)
{
    enum { END = 0, NOTHING = 1, MSS = 2 };
    const uint8_t *opt1 = (const uint8_t *)(hdr + 1);
    unsigned i = 0;

    if (TCPH_FLAGS(hdr) & TCP_SYN)
        return ERR_OK;
    while (i < optlen) {
        uint8_t kind = i < opt1len ? opt1[i] : opt2[i - opt1len], len = 1;

        if (kind == MSS)
            return ERR_VAL;
        if (kind == END)
            break;
        if (kind != NOTHING) {
            if (i + 1 >= optlen)
                break;
            len = i + 1 < opt1len ? opt1[i + 1] : opt2[i + 1 - opt1len];
        }
        if (len == 0)
            break;
        i += len;
    }
    return ERR_OK;
}

void tcp_fix_segment_size(struct tcp_pcb *pcb)
{
    if (pcb->mss < LEAST_MSS)
        pcb->mss = LEAST_MSS;
    pcb->snd_wnd_max = max_of(pcb->snd_wnd_max, (tcpwnd_size_t)2 * TCP_MSS);
}
