// SPDX-License-Identifier: MIT
/*
 * trace.h - the format of /dev/trace, the kernel's trace of events.
 *
 * THEORY      The kernel can record its events (a thread switch, a page fault, a disk command) with time and
 *             CPU.  A program reads them from /dev/trace: first a struct trace_header, then a TRACE_CPU
 *             record for each CPU, then the events, CPU by CPU.  The events of one CPU are in the order in which
 *             they happened.  A TRACE_LOST record replaces events that were overwritten before
 *             they were read.  A trace in a longer file, such as a disk image, ends with a TRACE_END record.
 *             All numbers are little-endian.  Times are nanoseconds of CLOCK_MONOTONIC.  A reader must check
 *             `version`, and must ignore records of types that it does not know.
 * SEE ALSO    docs/trace.md, kernel/stat/trace.h, user/cmd/trace.c; tools/homeroom/trace.py reads the names from here
 */
#ifndef UAPI_TRACE_H
#define UAPI_TRACE_H

#include <stdint.h>

#define TRACE_MAGIC   0x4543415254524820ull /* " HRTRACE" in memory */
#define TRACE_VERSION 1

/*
 * The event types, from 1 on, their names, and what is recorded.  Bit `type` of trace_enable turns a type on.  The
 * fields:
 *   switch   this CPU switches to thread tid; info: enum thread_state of the old thread;
 *            a, b: tid's name, 16 bytes
 *   wake     thread tid, which runs on this CPU, puts thread a into a run queue; info: the CPU of the queue;
 *            b: TRACE_WAKE_* bits
 *   migrate  this CPU takes thread a from another CPU; info: the CPU where a ran before
 *   fault    a page fault was handled; a: address; info: 0 read, 1 write, 2 execute, plus 4 if it was not
 *            resolved (signal, no memory); b: memory node of the page, TRACE_NO_NODE: there is no page
 *   page     a page was migrated; a: its position in its object, bytes (private memory: the address);
 *            info: the old memory node, plus enum trace_moved << 8; b: the new one
 *   intr     an interrupt arrives; info: vector; a: name of its source, 8 bytes
 *   poke     this CPU sends a reschedule IPI; info: the target CPU; a: the reason, 8 bytes
 *   xcall    this CPU sends a TLB shootdown; info: number of CPUs; a, b: first address, and the address after
 *            the last one (0 and 0: all addresses)
 *   io       a disk command starts; a: first sector, with the operation in the top byte (0 read, 1 write,
 *            2 flush); info: number of sectors; b: the disk's name, 8 bytes
 *   iodone   a disk command has ended; fields as for io; TRACE_IO_ERROR in a if it failed
 *   lock     the thread goes to sleep for a lock; info: 0 mutex, 1 reader, 2 writer; a: the lock's address;
 *            b: its name, 8 bytes
 *   locked   the thread has got the lock, after one or several sleeps; info and a as for lock; b: time since
 *            the first sleep began, ns
 *   name     the running thread has a new name, from exec() or prctl(); a, b: the name, 16 bytes
 *   touch    a new page was placed for the thread; a: position as for page; info: the lgroup that the policy
 *            chose, plus the policy << 8 (enum lgrp_mem_policy; TRACE_NODES: the nodes of mbind() or
 *            set_mempolicy()); b: memory node of the page, TRACE_NO_NODE: there is no page
 *   fallback such a page is not in the lgroup that the policy chose; a as for touch; info: this lgroup, plus
 *            the node << 8; b: the reason, 8 bytes: "full", "block" (no free block of the size), "memless"
 *            (a board without memory), "none" (no page anywhere)
 *   read     a read of pages of a file begins; info: number of pages; a: position, bytes; b: the file, as an
 *            address in the kernel that is the same in all events of a file in use
 *   write    a write of pages of a file begins; info: number of pages, plus the reason << 8 (0 write-behind,
 *            1 a thread waits or will wait, 2 the pageout daemon); a, b as for read
 * The following events are recorded twice, by the same thread: when it begins and, with TRACE_ENDS in info, when it
 * ends.
 *   throttle a writer waits because too much of its file is on the way to the disk; info: 0 ufs_HW, 1 maxpout;
 *            a: pages on the way; b: the file
 *   fsync    fsync() or fdatasync(); info: 1 for data only; a: at the begin, the name of the disk of the file,
 *            8 bytes as in flush, 0 for a file in memory; at the end, the error or 0; b: the file
 *   commit   a commit of the journal; a: number of the transaction; b: at the begin, the name of the disk, as in
 *            flush; at the end, its blocks
 *   flush    the thread waits until the disk has flushed its cache (io, iodone: the command of the disk);
 *            a: at the end, the error or 0; b: the disk's name, 8 bytes
 * The following events are samples, taken at each tick of the 100 Hz clock; the last two only with the model.
 *   memory   info: memory node; a: free pages; b: installed pages.  Between two tenths of a second only changes
 *            are recorded
 *   misses   info: board; a, b: cache misses to the own board and to other boards, since the model started
 *   link     info: board; a: bytes that it has sent to other boards and received; b: modelled time, ps
 */
#define TRACE_EVENTS(X)                                                                            \
    X(SWITCH, "switch", "a CPU switches to another thread")                                        \
    X(WAKE, "wake", "a thread is put on a run queue")                                              \
    X(MIGRATE, "migrate", "a thread continues on another CPU")                                     \
    X(FAULT, "fault", "a page fault has been handled")                                             \
    X(PAGE, "page", "a page moves to another board, and why")                                      \
    X(INTR, "intr", "an interrupt is taken")                                                       \
    X(POKE, "poke", "a CPU interrupts another CPU, and why")                                       \
    X(XCALL, "xcall", "CPUs are interrupted to invalidate translations")                           \
    X(IO, "io", "a disk command begins")                                                           \
    X(IODONE, "iodone", "a disk command has ended")                                                \
    X(LOCK, "lock", "a thread begins to sleep for a lock")                                         \
    X(LOCKED, "locked", "it has got the lock")                                                     \
    X(NAME, "name", "a thread gets another name")                                                  \
    X(TOUCH, "touch", "a new page is placed, by which policy")                                     \
    X(FALLBACK, "fallback", "a new page is not where the policy wants it, and why")                \
    X(READ, "read", "pages of a file are being read from the disk")                                \
    X(WRITE, "write", "pages of a file are being written to the disk, and why")                    \
    X(THROTTLE, "throttle", "a writer waits for the disk: begin and end")                          \
    X(FSYNC, "fsync", "a program waits for a file to be on the disk: begin and end")               \
    X(COMMIT, "commit", "a commit of the journal: begin and end")                                  \
    X(FLUSH, "flush", "a thread waits for the disk's cache to be flushed: begin, end")             \
    X(MEMORY, "memory", "free memory of a board, 100 times a second")                              \
    X(MISSES, "misses", "misses of a board's CPUs, if the model is attached")                      \
    X(LINK, "link", "bytes that a board has sent and received, if the model is attached")

enum trace_type {
    TRACE_END, /* the end of the trace */
#define X(id, name, doc) TRACE_##id,
    TRACE_EVENTS(X)
#undef X
        TRACE_TYPES,  /* one more than the last event */
    TRACE_LOST = 254, /* a: number of events of this CPU that were overwritten here */
    TRACE_CPU = 255,  /* info: memory node of the CPU's board; a: its lgroup */
};

/*
 * NEW: the thread is new.  AGAIN: it ran or was queued before and did not sleep.  INTR: an interrupt handler queued it.
 */
enum { TRACE_WAKE_NEW = 1, TRACE_WAKE_AGAIN = 2, TRACE_WAKE_INTR = 4 };

/* Why a page moved: madvise(MADV_ACCESS_*); samples showed that one board uses it, or several; a call of Linux. */
enum trace_moved { TRACE_MOVED_ADVICE = 1, TRACE_MOVED_USED, TRACE_MOVED_SPREAD, TRACE_MOVED_CALL };

#define TRACE_NODES    15 /* touch: a policy that names nodes */
#define TRACE_ENDS     0x8000u
#define TRACE_NO_NODE  0xffull
#define TRACE_IO_ERROR (1ull << 63)

struct trace_record {
    uint64_t time; /* ns                                         */
    uint8_t type;  /* enum trace_type                            */
    uint8_t cpu;   /* the CPU that recorded it                   */
    uint16_t info;
    uint32_t tid; /* the thread that ran there, machine-wide id */
    uint64_t a, b;
};

struct trace_header {
    uint64_t magic;
    uint32_t version;
    uint32_t record_bytes; /* size of a record and of this header: 32    */
    uint32_t ncpus;        /* number of TRACE_CPU records that follow    */
    uint32_t enabled;      /* trace_enable when reading began            */
    uint64_t time;         /* when reading began, ns; no event is later  */
};

#endif
