// SPDX-License-Identifier: MIT
/*
 * trace.h - the event trace: each CPU records its last events in a ring buffer.
 *
 * THEORY      A trace shows the order of events inside the kernel.  Interesting places in the kernel have a
 *             TRACE().  While the event's bit of trace_enable is 0, a TRACE() costs a test and a branch that is
 *             not taken.  If the bit is 1, TRACE() writes a record of 32 bytes to the ring of its CPU, and
 *             replaces the oldest record.  The ring is in memory of the CPU's own board.  /dev/trace
 *             (fs/devfs/tracedev.c) creates and reads the rings.  A ring has one writer, its CPU with
 *             interrupts off, and one reader.  Neither waits for the other.  `head` counts the records written.
 *             The reader reads `head` again after it has copied a record, to check whether the slot may have
 *             been overwritten meanwhile.  The writer can overwrite the slot after the newest record at any
 *             time, so the reader can use one record less than a full ring has slots.
 * INVARIANTS  I1  head only grows: by one for each record, after the record is in its slot
 *             I2  a record that the reader returns did not change while it was copied; lost records are counted
 * LOCKING     no locks.  [w] the ring's CPU, interrupts off  [r] the reader, which has its own lock  [c]
 *             constant
 * TUNABLES    trace_enable, trace_entries (fs/devfs/tracedev.c)
 * SEE ALSO    include/uapi/trace.h (the events), docs/trace.md, tests/host/test_trace.c,
 *             tools/homeroom/live/rings.py (reads the rings from outside)
 */
#ifndef STAT_TRACE_H
#define STAT_TRACE_H

#include "lib/types.h"
#include "uapi/trace.h"

struct trace_ring {
    _Atomic uint64_t head;     /* [w] records written                     */
    uint64_t tail;             /* [r] records that were read or lost      */
    uint64_t mask;             /* [c] number of slots (power of 2) - 1    */
    struct trace_record *slot; /* [c]                                     */
};

extern uint32_t trace_enable; /* tunable; bit i: events of type i are recorded */
extern bool trace_ready;      /* [c] set once /dev/trace, which makes the rings, exists */

#define TRACE_ON(event) unlikely((trace_enable & 1u << TRACE_##event) != 0)
/* TRACE - record an event of the running thread.  Needs the definition of struct thread.  Works in any context. */
#define TRACE(event, info, a, b)                                                                   \
    do {                                                                                           \
        if (TRACE_ON(event))                                                                       \
            trace_put(TRACE_##event, curthread->tid, info, a, b);                                  \
    } while (0)

/* TRACE_SELF - the same, in a file that does not know struct thread. */
#define TRACE_SELF(event, info, a, b)                                                              \
    do {                                                                                           \
        if (TRACE_ON(event))                                                                       \
            trace_self(TRACE_##event, info, a, b);                                                 \
    } while (0)

/* trace_put - record an event of thread `tid` on this CPU.  Works in any context; takes no lock. */
void trace_put(enum trace_type type, uint32_t tid, unsigned info, uint64_t a, uint64_t b);
/*
 * trace_name - the first 8 bytes of a name as one argument of an event; padded with zeros.
 * trace_name_rest - the next 8 bytes of the name.
 */
uint64_t trace_name(const char *s);
uint64_t trace_name_rest(const char *s);
/* trace_name_of - the name of an event type, or "?" if it has none. */
const char *trace_name_of(unsigned type);

/* trace_ring_put - write a record.  Only the ring's CPU calls it, with interrupts off. */
void trace_ring_put(struct trace_ring *r, const struct trace_record *rec);
/*
 * trace_ring_read - copy records to out[max], from position *pos up to time `until` (ns), and advance *pos
 * past them.  Overwritten records are replaced by one TRACE_LOST record of CPU `cpu` with their number.
 * `max` is at least 2.  Returns the number of records stored.
 */
unsigned trace_ring_read(const struct trace_ring *r, uint64_t *pos, uint64_t until, unsigned cpu,
                         struct trace_record *out, unsigned max);

/* trace_panic - if the trace is on, turn it off and print the last events of each CPU.  Takes no lock. */
void trace_panic(void);

/* ---- implemented by disp/ ---- */
/* clock_mono_ns - nanoseconds since boot; never decreases, and is the same on every CPU. */
uint64_t clock_mono_ns(void);
/* trace_self - trace_put() of an event of the running thread. */
void trace_self(enum trace_type type, unsigned info, uint64_t a, uint64_t b);

#endif
