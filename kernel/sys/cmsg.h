// SPDX-License-Identifier: MIT
/*
 * cmsg.h - control messages of sendmsg(2) and recvmsg(2) in user memory.
 */
#ifndef SYS_CMSG_H
#define SYS_CMSG_H

#include "net/net.h"

/*
 * cmsg_copy_in - read the control messages for an AF_UNIX socket at `control`: files (SCM_RIGHTS) and ids
 * (SCM_CREDENTIALS) for m.  Returns 0; -EINVAL, -EFAULT; -EBADF: a descriptor is not open; -EPERM: ids that are not
 * the caller's; -ETOOMANYREFS; -ENOBUFS: too long; -ENOMEM.  After an error m has no files.
 */
int cmsg_copy_in(struct sock_msg *m, uint64_t control, uint64_t len);
/*
 * cmsg_copy_out - write what m has received as control messages, and free the files that do not fit.
 * @control, len  the user's buffer; 0: there is none
 * @cloexec       descriptors of received files are closed by exec
 * Stores in *used the number of bytes written, and sets MSG_CTRUNC in m->flags if something was left out.  0 or
 * -EFAULT.
 */
int cmsg_copy_out(struct sock_msg *m, uint64_t control, uint64_t len, bool cloexec, uint64_t *used);

#endif
