// SPDX-License-Identifier: MIT
/*
 * trace.h - what /dev/trace gives: the kernel's trace of events.
 *
 * THEORY      A struct trace_header, a TRACE_CPU record for each CPU, and then the events, CPU by CPU, those of one CPU
 *             in the order in which they happened.  A record of type TRACE_LOST stands where events were overwritten
 *             before somebody read them.  A file that is longer than what was read has a TRACE_END behind it.
 *             Everything is little-endian.  Times are nanoseconds of CLOCK_MONOTONIC.  A reader looks at `version`, and
 *             passes over types that it does not know.
 * SEE ALSO    docs/trace.md, kernel/stat/trace.h, user/cmd/trace.c; tools/homeroom/trace.py reads the names from here
 */
#ifndef UAPI_TRACE_H
#define UAPI_TRACE_H

#include <stdint.h>

#define TRACE_MAGIC   0x4543415254524820ull /* " HRTRACE" in memory */
#define TRACE_VERSION 1

/*
 * Types from 1 on, and their names; bit `type` of trace_enable turns one on.  What info, a and b are:
 *   switch   from now on thread tid runs; info: enum thread_state of the thread before; a, b: tid's name, 16 bytes
 *   wake     thread a is queued; info: on which CPU; b: TRACE_WAKE_* bits; tid: who ran there and did it
 *   migrate  thread a goes on on this CPU; info: the CPU where it ran before
 *   fault    page fault, done: a: address; info: 0 read, 1 write, 2 execute, and 4 if it brought a signal;
 *            b: memory node of the page, TRACE_NO_NODE: none is there
 *   page     a page moved; a: its position in its object, in bytes (the address, if it is private); info: from which
 *            node; b: to which
 *   intr     an interrupt; info: vector; a: its source's name, 8 bytes
 *   poke     CPU info is interrupted to look at its run queue; a: why, 8 bytes
 *   xcall    CPUs are interrupted to forget translations of addresses a to b (0 and 0: all); info: how many CPUs
 *   io       a disk begins a command; a: first sector, the operation in the top byte (0 read, 1 write, 2 flush);
 *            info: sectors; b: the disk's name, 8 bytes
 *   iodone   it has ended; as io, and TRACE_IO_ERROR in a if it failed
 *   lock     the thread goes to sleep for a lock; info: 0 mutex, 1 reader, 2 writer; a: its address; b: its name,
 *            8 bytes
 *   locked   it has it; info and a as before; b: how long it waited, ns
 *   name     the thread that runs has another name, from exec() or prctl(); a, b: the name, 16 bytes
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
    TRACE_END, /* nothing follows */
#define X(id, name) TRACE_##id,
    TRACE_EVENTS(X)
#undef X
        TRACE_TYPES,  /* one more than the last event */
    TRACE_LOST = 254, /* a: how many events of this CPU were overwritten before the next one */
    TRACE_CPU = 255,  /* info: memory node of the CPU's board; a: its lgroup */
};

/* It is new; it did not sleep: it ran or was on another queue; it was done by an interrupt. */
enum { TRACE_WAKE_NEW = 1, TRACE_WAKE_AGAIN = 2, TRACE_WAKE_INTR = 4 };

#define TRACE_NO_NODE  0xffull
#define TRACE_IO_ERROR (1ull << 63)

struct trace_record {
    uint64_t time; /* ns                                         */
    uint8_t type;  /* enum trace_type                            */
    uint8_t cpu;   /* where it happened                          */
    uint16_t info;
    uint32_t tid; /* the thread that ran there, machine-wide id */
    uint64_t a, b;
};

struct trace_header {
    uint64_t magic;
    uint32_t version;
    uint32_t record_bytes; /* of this header too: 32                    */
    uint32_t ncpus;        /* that many TRACE_CPU records follow        */
    uint32_t enabled;      /* trace_enable when reading began           */
    uint64_t time;         /* when reading began, ns: no event is later */
};

#endif
