// SPDX-License-Identifier: MIT
/*
 * lwipopts.h - which parts of lwIP are built, and their sizes.
 *
 * THEORY      Only the protocols that the sockets need are built: IPv4, ARP, ICMP, UDP, TCP, raw.  Here lwIP has no
 *             thread and no lock of its own: all code of lwIP runs under net_lock
 *             (kernel/net/core.c).  The memory of lwIP comes from the kernel's allocator through
 *             net_malloc(), which limits the amount.  kernel/net/core.c calls the timers of lwIP.
 *             The segment size is the largest for which a segment on the loopback fits, with its headers, into one
 *             object of 8 KiB.  On a card, the MTU reduces the segment size to the usual 1460 bytes
 *             (TCP_CALCULATE_EFF_SEND_MSS).
 * SEE ALSO    docs/network.md; lwIP's src/include/lwip/opt.h explains each line
 */
#ifndef NET_PORT_LWIPOPTS_H
#define NET_PORT_LWIPOPTS_H

#define NO_SYS                        1
#define SYS_LIGHTWEIGHT_PROT          0
#define LWIP_TIMERS                   0
#define LWIP_SOCKET                   0
#define LWIP_NETCONN                  0
#define LWIP_IPV6                     0
#define LWIP_DHCP                     0
#define LWIP_AUTOIP                   0
#define LWIP_IGMP                     0
#define LWIP_DNS                      0
#define LWIP_RAW                      1
#define LWIP_UDP                      1
#define LWIP_TCP                      1
#define LWIP_ICMP                     1
#define LWIP_ARP                      1
#define LWIP_ETHERNET                 1
#define LWIP_HAVE_LOOPIF              0 /* kernel/net/iface.c has its own loopback */
#define LWIP_NETIF_LOOPBACK           0
#define LWIP_SINGLE_NETIF             0
#define LWIP_NETIF_API                0
#define LWIP_NETIF_HWADDRHINT         0

#define LWIP_HOOK_FILENAME            "net/port/hooks.h"
#define LWIP_HOOK_TCP_INPACKET_PCB(pcb, hdr, optlen, opt1len, opt2, p) \
    (net_tcp_judge(hdr, optlen, opt1len, opt2) != ERR_OK ? ERR_VAL : (net_tcp_edge(pcb, hdr, p), ERR_OK))

#define MEM_ALIGNMENT                 16
#define MEM_LIBC_MALLOC               1
#define MEMP_MEM_MALLOC               1 /* kernel/net/memory.c replaces lwIP's memp.c */
#define mem_clib_malloc               net_malloc
#define mem_clib_calloc               net_calloc
#define mem_clib_free                 net_free

#define ETH_PAD_SIZE                  0
#define IP_REASSEMBLY                 1
#define IP_REASS_MAX_PBUFS            64
#define IP_FRAG                       1
#define IP_FORWARD                    0
#define IP_DEFAULT_TTL                64
#define IP_SOF_BROADCAST              1
#define SO_REUSE                      1
#define SO_REUSE_RXTOALL              0
#define LWIP_BROADCAST_PING           0
#define ARP_TABLE_SIZE                32
#define ARP_QUEUEING                  1
#define ARP_QUEUE_LEN                 8
#define ETHARP_SUPPORT_STATIC_ENTRIES 1

#define TCP_MSS                       8000
#define TCP_CALCULATE_EFF_SEND_MSS    1
#define LWIP_WND_SCALE                1
#define TCP_RCV_SCALE                 2
#define TCP_WND                       (128 * 1024)
#define TCP_SND_BUF                   (128 * 1024)
#define TCP_SND_QUEUELEN              1024
#define TCP_SNDLOWAT                  16384
#define TCP_SNDQUEUELOWAT             (TCP_SND_QUEUELEN / 2)
#define MEMP_NUM_TCP_SEG              TCP_SND_QUEUELEN
#define TCP_OVERSIZE                  512
#define TCP_QUEUE_OOSEQ               1
#define TCP_OOSEQ_MAX_BYTES           (64 * 1024)
#define TCP_OOSEQ_MAX_PBUFS           0
#define PBUF_POOL_FREE_OOSEQ          0
#define TCP_LISTEN_BACKLOG            1
#define TCP_DEFAULT_LISTEN_BACKLOG    128
#define LWIP_TCP_KEEPALIVE            1
#define LWIP_TCP_TIMESTAMPS           0
#define LWIP_TCP_PCB_NUM_EXT_ARGS     1 /* lwIP calls tcp.c when a pcb is freed */
#define TCP_MSL                       (net_tcp_time_wait_ms / 2)

#define LWIP_CHECKSUM_CTRL_PER_NETIF  1 /* no checksums on the loopback */
#define LWIP_CHKSUM                   net_checksum
#define LWIP_CHECKSUM_ON_COPY         0

#define LWIP_STATS                    1
#define LWIP_STATS_LARGE              1
#define MEM_STATS                     0
#define MEMP_STATS                    0
#define SYS_STATS                     0
#define MIB2_STATS                    0
#define LWIP_STATS_DISPLAY            0

#endif
