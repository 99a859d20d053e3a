// SPDX-License-Identifier: MIT
/*
 * cc.h - what lwIP needs from the compiler and the kernel.
 *
 * LOCKING     lwIP runs under net_lock; memory comes from allocators with locks of their own
 */
#ifndef NET_PORT_CC_H
#define NET_PORT_CC_H

#include <stddef.h>
#include <stdint.h>

#define LWIP_NO_LIMITS_H   1
#define LWIP_NO_CTYPE_H    1
#define LWIP_NO_UNISTD_H   1
#define LWIP_NO_INTTYPES_H 1
#define SSIZE_MAX          INT64_MAX
#define INT_MAX            0x7fffffff
typedef long ssize_t;
#define X8_F  "02x"
#define U16_F "u"
#define S16_F "d"
#define X16_F "x"
#define U32_F "u"
#define S32_F "d"
#define X32_F "x"
#define SZT_F "lu"

#define BYTE_ORDER           LITTLE_ENDIAN
#define LWIP_RAND()          net_random()
#define LWIP_PLATFORM_DIAG(x) \
    do { \
    } while (0)

/* In a test build, a failed check of lwIP ends the run.  In other builds, lwIP's checks have no effect. */
#if defined(HR_TEST) || defined(HR_HOST)
#define LWIP_PLATFORM_ASSERT(text) net_assert_failed(text, __FILE__, __LINE__)
#else
#define LWIP_NOASSERT 1
#define LWIP_PLATFORM_ASSERT(text)
#endif

#define mem_init lwip_mem_init /* the kernel has a function with this name */

uint32_t net_random(void);
void     net_assert_failed(const char *text, const char *file, int line);
/* net_malloc, net_calloc, net_free - memory, counted and limited.  NULL: no memory, or the limit is reached. */
void *net_malloc(size_t size);
void *net_calloc(size_t n, size_t size);
void  net_free(void *p);
/*
 * net_checksum - the one's complement sum of `len` bytes as 16-bit words in the machine's byte order (RFC 1071), not
 * inverted.
 */
uint16_t net_checksum(const void *data, int len);
extern uint32_t net_tcp_time_wait_ms;

#endif
