// SPDX-License-Identifier: MIT
/*
 * errno.h - error numbers, with Linux's values, because system calls return them to programs.
 *
 * A function that can fail returns 0, or one of these numbers negated (-ENOMEM).
 */
#ifndef LIB_ERRNO_H
#define LIB_ERRNO_H

#ifdef HR_HOST
#include <errno.h>
#else
#define EPERM           1
#define ENOENT          2
#define ESRCH           3
#define EINTR           4
#define EIO             5
#define ENXIO           6
#define E2BIG           7
#define ENOEXEC         8
#define EBADF           9
#define ECHILD          10
#define EAGAIN          11
#define ENOMEM          12
#define EACCES          13
#define EFAULT          14
#define ENOTBLK         15
#define EBUSY           16
#define EEXIST          17
#define EXDEV           18
#define ENODEV          19
#define ENOTDIR         20
#define EISDIR          21
#define EINVAL          22
#define ENFILE          23
#define EMFILE          24
#define ENOTTY          25
#define ETXTBSY         26
#define EFBIG           27
#define ENOSPC          28
#define ESPIPE          29
#define EROFS           30
#define EMLINK          31
#define EPIPE           32
#define EDOM            33
#define ERANGE          34
#define EDEADLK         35
#define ENAMETOOLONG    36
#define ENOLCK          37
#define ENOSYS          38
#define ENOTEMPTY       39
#define ELOOP           40
#define EIDRM           43
#define ENODATA         61
#define ETIME           62
#define ENONET          64
#define EPROTO          71
#define EOVERFLOW       75
#define ELIBBAD         80
#define EILSEQ          84
#define ENOTSOCK        88
#define EDESTADDRREQ    89
#define EMSGSIZE        90
#define EPROTOTYPE      91
#define ENOPROTOOPT     92
#define EPROTONOSUPPORT 93
#define ESOCKTNOSUPPORT 94
#define EOPNOTSUPP      95
#define ENOTSUP         EOPNOTSUPP
#define EAFNOSUPPORT    97
#define EADDRINUSE      98
#define EADDRNOTAVAIL   99
#define ENETDOWN        100
#define ENETUNREACH     101
#define ECONNABORTED    103
#define ECONNRESET      104
#define ENOBUFS         105
#define EISCONN         106
#define ENOTCONN        107
#define ETOOMANYREFS    109
#define ETIMEDOUT       110
#define ECONNREFUSED    111
#define EHOSTDOWN       112
#define EHOSTUNREACH    113
#define EALREADY        114
#define EINPROGRESS     115
#define ECANCELED       125
#endif

/*
 * Results of system calls that a signal has interrupted.  Signal delivery turns them into EINTR or restarts
 * the call, so that a program never sees them.
 */
#define ERESTARTSYS           512 /* restart unless a handler without SA_RESTART runs: then EINTR */
#define ERESTARTNOINTR        513 /* restart always                                               */
#define ERESTARTNOHAND        514 /* restart unless a handler runs: then EINTR                    */
#define ERESTART_RESTARTBLOCK 516 /* like ERESTARTNOHAND, by restart_syscall (sleeps) */

#endif
