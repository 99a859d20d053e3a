// SPDX-License-Identifier: MIT
/*
 * iocount.h - what a thread has read and written: /proc/PID/io.
 */
#ifndef STAT_IOCOUNT_H
#define STAT_IOCOUNT_H

#include "lib/types.h"

/* X(name): the lines of /proc/PID/io, in Linux's order. */
#define IO_COUNTS(X)                                                                               \
    X(rchar)                 /* bytes that system calls have read                         */       \
    X(wchar)                 /* bytes that system calls have written                      */       \
    X(syscr)                 /* reading system calls                                      */       \
    X(syscw)                 /* writing system calls                                      */       \
    X(read_bytes)            /* bytes of requests to disks, for reading                   */       \
    X(write_bytes)           /* bytes of pages of files on disks that were made dirty     */       \
    X(cancelled_write_bytes) /* bytes of such pages that were freed before they were written */

struct io_counts {
#define X(name) uint64_t name;
    IO_COUNTS(X)
#undef X
};

/* ---- implemented by proc/ ---- */
/*
 * io_count_disk - add these bytes to read_bytes, write_bytes and cancelled_write_bytes of the running thread, if it
 * belongs to a program.  Any context that is not an interrupt.  Takes no lock.
 */
void io_count_disk(uint64_t read, uint64_t write, uint64_t cancelled);

#endif
