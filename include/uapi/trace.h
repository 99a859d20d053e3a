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
 * The event types, from 1 on, and their names.  Bit `type` of trace_enable turns a type on.  The fields:
 *   switch   this CPU switches to thread tid; info: enum thread_state of the old thread;
 *            a, b: tid's name, 16 bytes
 *   wake     thread tid, which runs on this CPU, puts thread a into a run queue; info: the CPU of the queue;
 *            b: TRACE_WAKE_* bits
 *   migrate  this CPU takes thread a from another CPU; info: the CPU where a ran before
 *   fault    a page fault was handled; a: address; info: 0 read, 1 write, 2 execute, plus 4 if it was not
 *            resolved (signal, no memory); b: memory node of the page, TRACE_NO_NODE: there is no page
 *   page     a page was migrated; a: its position in its object, bytes (private memory: the address);
 *            info: the old memory node; b: the new one
 *   intr     an interrupt arrives; info: vector; a: name of its source, 8 bytes
 *   poke     this CPU sends a reschedule IPI; info: the target CPU; a: the reason, 8 bytes
 *   xcall    this CPU sends a TLB shootdown; info: number of CPUs; a, b: first address, and the address after
 *            the last one (0 and 0: all addresses)
 *   io       a disk command starts; a: first sector, with the operation in the top byte (0 read, 1 write,
 *            2 flush); info: number of sectors; b: the disk's name, 8 bytes
 *   iodone   a disk command has ended; fields as for io; TRACE_IO_ERROR in a if it failed
 *   lock     the thread goes to sleep for a lock; info: 0 mutex, 1 reader, 2 writer; a: the lock's address;
 *            b: its name, 8 bytes
 *   locked   the thread has got the lock; info and a as for lock; b: time waited, ns
 *   name     the running thread has a new name, from exec() or prctl(); a, b: the name, 16 bytes
 */
#define TRACE_EVENTS(X)                                                                            \
    X(SWITCH, "switch")                                                                            \
    X(WAKE, "wake")                                                                                \
    X(MIGRATE, "migrate")                                                                          \
    X(FAULT, "fault")                                                                              \
    X(PAGE, "page")                                                                                \
    X(INTR, "intr")                                                                                \
    X(POKE, "poke")                                                                                \
    X(XCALL, "xcall")                                                                              \
    X(IO, "io")                                                                                    \
    X(IODONE, "iodone")                                                                            \
    X(LOCK, "lock")                                                                                \
    X(LOCKED, "locked")                                                                            \
    X(NAME, "name")

enum trace_type {
    TRACE_END, /* the end of the trace */
#define X(id, name) TRACE_##id,
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
