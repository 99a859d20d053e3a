// SPDX-License-Identifier: MIT
/*
 * trace.h - a record of what happens, kept for each CPU.
 *
 * THEORY      A place in the kernel that is worth seeing has a TRACE().  While its bit of trace_enable is 0 it costs
 *             a test and a jump that is not taken.  Else a record of 32 bytes goes into the ring of the CPU, in the
 *             memory of the CPU's own board, over the oldest.  /dev/trace (fs/devfs/tracedev.c) makes and reads them.
 *             A ring has one writer, its CPU with interrupts off, and one reader.  Neither waits: `head` counts the
 *             records written, and the reader looks at it once more after it has copied one.  A slot is written again
 *             when head has reached its position plus the size, so of a full ring all but one record can be read.
 * INVARIANTS  I1  head only grows, by one for each record, after the record is in its slot
 *             I2  a record that a reader returns was not touched while it was copied, and those it does not are counted
 * LOCKING     none: [w] the CPU, interrupts off  [r] the reader, who has a lock of his own  [c] constant
 * TUNABLES    trace_enable, trace_entries (fs/devfs/tracedev.c)
 * SEE ALSO    include/uapi/trace.h (the events), docs/trace.md, tests/host/test_trace.c
 */
#ifndef STAT_TRACE_H
#define STAT_TRACE_H

#include "lib/types.h"
#include "uapi/trace.h"

struct trace_ring {
    _Atomic uint64_t head;     /* [w] records written                     */
    uint64_t tail;             /* [r] records read or given up for lost   */
    uint64_t mask;             /* [c] number of slots - 1, a power of two */
    struct trace_record *slot; /* [c]                                     */
};

extern uint32_t trace_enable; /* tunable: bit i is on: events of type i are recorded */
extern bool trace_ready;      /* [c] /dev/trace is there, which makes the rings */

/* ---- implemented by disp/ ---- */
/* clock_mono_ns - nanoseconds since boot, never stepping back, the same on every CPU. */
uint64_t clock_mono_ns(void);

#define TRACE_ON(event) unlikely((trace_enable & 1u << TRACE_##event) != 0)
/* TRACE - record an event of the thread that runs; where struct thread is known.  Any context. */
#define TRACE(event, info, a, b)                                                                   \
    do {                                                                                           \
        if (TRACE_ON(event))                                                                       \
            trace_put(TRACE_##event, curthread->tid, info, a, b);                                  \
    } while (0)

/* trace_put - record an event of thread `tid` on this CPU.  Any context; takes no lock. */
void trace_put(enum trace_type type, uint32_t tid, unsigned info, uint64_t a, uint64_t b);
/* trace_name - up to 8 bytes of a name, as an argument of an event.  trace_name_rest - 8 bytes from the ninth on. */
uint64_t trace_name(const char *s);
uint64_t trace_name_rest(const char *s);
/* trace_name_of - the name of an event; "?" for another number. */
const char *trace_name_of(unsigned type);

/* trace_ring_put - write a record.  The ring's CPU only, interrupts off. */
void trace_ring_put(struct trace_ring *r, const struct trace_record *rec);
/*
 * trace_ring_read - copy records from position *pos on that are not later than `until` (ns), at most `max` (2 at
 * least), and move *pos behind them.  Those that are gone are one TRACE_LOST of CPU `cpu`.  Returns how many.
 */
unsigned trace_ring_read(const struct trace_ring *r, uint64_t *pos, uint64_t until, unsigned cpu,
                         struct trace_record *out, unsigned max);

/* trace_panic - print the last events of each CPU, if the trace is on.  Takes no lock. */
void trace_panic(void);

#endif
