// SPDX-License-Identifier: MIT
/*
 * no_net.c - a kernel without network: its system calls do not exist, and its files in /proc are empty.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "absent/absent.h"
#include "net/net.h"

ABSENT_CALL(socket)
ABSENT_CALL(socketpair)
ABSENT_CALL(bind)
ABSENT_CALL(connect)
ABSENT_CALL(listen)
ABSENT_CALL(accept)
ABSENT_CALL(accept4)
ABSENT_CALL(shutdown)
ABSENT_CALL(sendto)
ABSENT_CALL(sendmsg)
ABSENT_CALL(sendmmsg)
ABSENT_CALL(recvfrom)
ABSENT_CALL(recvmsg)
ABSENT_CALL(recvmmsg)
ABSENT_CALL(getsockname)
ABSENT_CALL(getpeername)
ABSENT_CALL(getsockopt)
ABSENT_CALL(setsockopt)

void net_init(const char *config)
{
    (void)config;
}

int net_show(const struct pseudo_node *n, struct pseudo_arg arg, struct text *out)
{
    (void)n, (void)arg, (void)out;
    return 0;
}
