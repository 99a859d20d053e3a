// SPDX-License-Identifier: MIT
/*
 * tracedev.c - /dev/trace: makes the rings of the trace when it is turned on, and reads them.
 *
 * THEORY      The trace records what each CPU does, in a ring of its own (kernel/stat/trace.h).  Changing
 *             trace_enable from 0 to another value makes a ring for each CPU, in the memory of the CPU's
 *             board.  Rings that already have the size of trace_entries are kept.  Rings of another size are
 *             freed with their contents.  Turning the trace off keeps the rings, so that they can still be
 *             read.  If there is not enough memory for all rings, the trace stays off.
 *             A CPU writes to its ring with interrupts off.  So after the ring was replaced and the CPU has
 *             taken an interrupt (intr_settle()), it no longer uses the old ring, which can then be freed.
 *             A reader gets a header, then the events that were recorded before the reading began, one CPU
 *             after the other, then end of file.  The next read begins again with a header.  Events are
 *             removed when they are read, so there should be only one reader.  The buffer of a read must have
 *             space for at least two records.
 * LOCKING     trace_lock (sleeping) guards the rings and their tails.
 * TUNABLES    trace_enable, trace_entries
 * SEE ALSO    include/uapi/trace.h (the format), kernel/stat/trace.h (the rings), user/cmd/trace.c
 */
#include "fs/devfs/tracedev.h"

#include "disp/timer.h"
#include "vfs/file.h"
#include "intr/intr.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "stat/panic.h"
#include "stat/trace.h"
#include "stat/tunable.h"

enum { BATCH = 32 };

static struct mutex trace_lock;
static uint32_t trace_entries = 8192;

static int set_trace_enable(uint64_t value);
TUNABLE_HOOK(trace_enable, set_trace_enable, 0, UINT32_MAX,
             "default 0; bit i is on: events of type i are traced (uapi/trace.h)");
TUNABLE(trace_entries, 16, 1 << 17,
        "default 8192 events a CPU, rounded down to a power of two; read when turned on");

/* ---- making rings ---- */

static void trace_ring_free(struct trace_ring *r)
{
    if (r != NULL)
        kmem_free(r->slot);
    kmem_free(r);
}

static struct trace_ring *trace_ring_make(const struct cpu *c, uint32_t entries)
{
    struct trace_ring *r = kmem_alloc_node(sizeof *r, c->node);

    if (r == NULL)
        return NULL;
    *r = (struct trace_ring){.mask = entries - 1};
    r->slot = kmem_alloc_node(entries * sizeof *r->slot, c->node);
    if (r->slot == NULL) {
        kmem_free(r);
        return NULL;
    }
    return r;
}

/* Makes a ring with trace_entries events for each CPU, unless such rings exist.  -ENOMEM: the old rings stay. */
static int make_trace_rings(void)
{
    static struct trace_ring *fresh[CPU_MAX]; /* trace_lock */
    /* read once, because the tunable can change */
    uint32_t asked = *(volatile uint32_t *)&trace_entries;
    uint32_t entries = 1u << (31 - __builtin_clz(asked));
    int err = 0;

    if (cpus[0]->trace != NULL && cpus[0]->trace->mask == entries - 1)
        return 0;
    for (unsigned i = 0; i < ncpu && err == 0; i++)
        err = (fresh[i] = trace_ring_make(cpus[i], entries)) == NULL ? -ENOMEM : 0;
    if (err != 0)
        warn("trace: no memory for %u CPUs with %u events each (trace_entries)", ncpu, entries);
    for (unsigned i = 0; i < ncpu; i++) {
        struct trace_ring *old = fresh[i];

        if (err == 0) {
            old = __atomic_exchange_n(&cpus[i]->trace, fresh[i], __ATOMIC_ACQ_REL);
            if (old != NULL)
                intr_settle(i);
        }
        trace_ring_free(old);
        fresh[i] = NULL;
    }
    return err;
}

/* Tunable hook, called before trace_enable changes to `value`.  0; or -ENOMEM, and trace_enable does not change. */
static int set_trace_enable(uint64_t value)
{
    int err = 0;

    if (!trace_ready) /* set by /etc/system during boot: tracedev_init() makes the rings */
        return 0;
    mutex_enter(&trace_lock);
    if (trace_enable == 0 && (uint32_t)value != 0)
        err = make_trace_rings();
    mutex_exit(&trace_lock);
    return err;
}

/* ---- reading ---- */

struct reader {
    uint64_t until; /* time in ns: later events are read in the next pass */
    unsigned given; /* header and TRACE_CPU records returned so far */
    bool reading;   /* a pass has begun: `until` is set            */
};

/* Record number `i` of the records before the events: the header, then one TRACE_CPU record for each CPU. */
static struct trace_record make_preface_record(const struct reader *rd, unsigned i)
{
    struct trace_header h = {TRACE_MAGIC, TRACE_VERSION, sizeof(struct trace_record),
                             ncpu,        trace_enable,  rd->until};
    struct trace_record rec = {.time = rd->until, .type = TRACE_CPU};

    if (i == 0) {
        memcpy(&rec, &h, sizeof rec);
    } else {
        rec.cpu = (uint8_t)(i - 1);
        rec.info = (uint16_t)cpus[i - 1]->node;
        rec.a = cpus[i - 1]->lgrp;
    }
    return rec;
}

/*
 * Gets up to `max` records for the reader: either records that precede the events, or events of one CPU.  For
 * events, *ring is the CPU's ring, and *from is the new tail of this ring.  The caller must store
 * the new tail after it has copied the records to the program.  For other records, *ring is NULL.
 */
static unsigned take_trace_records(struct reader *rd, struct trace_record *out, unsigned max,
                                   struct trace_ring **ring, uint64_t *from)
{
    unsigned n = 0;

    *ring = NULL;
    while (rd->given + n <= ncpu && n < max) {
        out[n] = make_preface_record(rd, rd->given + n);
        n++;
    }
    for (unsigned i = 0; i < ncpu && n == 0; i++) {
        *ring = cpus[i]->trace;
        if (*ring != NULL) {
            *from = (*ring)->tail;
            n = trace_ring_read(*ring, from, rd->until, i, out, max);
        }
    }
    return n;
}

static long trace_read(struct file *f, struct uio *uio, loff_t off)
{
    struct reader *rd = f->data;
    struct trace_record out[BATCH];
    struct trace_ring *ring;
    size_t want = uio->resid / sizeof out[0], moved = 0;
    uint64_t pos = 0;
    unsigned n = 0;
    int err = 0;

    if (want < 2)
        return -EINVAL;
    mutex_enter(&trace_lock);
    if (!rd->reading)
        *rd = (struct reader){.until = clock_mono_ns(), .reading = true};
    while (err == 0 && want >= 2 &&
           (n = take_trace_records(rd, out, (unsigned)min_of(want, (size_t)BATCH), &ring, &pos)) >
               0) {
        err = uio_move(out, n * sizeof out[0], uio);
        if (err != 0)
            break;
        want -= n;
        moved += n;
        if (ring != NULL)
            ring->tail = pos;
        else
            rd->given += n;
    }
    if (n == 0)
        rd->reading = moved > 0;
    mutex_exit(&trace_lock);
    return moved > 0 ? (long)(moved * sizeof out[0]) : err;
}

static void trace_close(struct file *f)
{
    kmem_free(f->data);
}

static int trace_open(struct vnode *vn, int oflags, struct file *f)
{
    f->data = kmem_zalloc(sizeof(struct reader));
    return f->data != NULL ? 0 : -ENOMEM;
}

void tracedev_init(void)
{
    static const struct fileops ops = {.read = trace_read, .close = trace_close};
    static struct cdev dev = {
        .name = "trace",
        .rdev = makedev(10, 243),
        .mode = 0600,
        .open = trace_open,
        .ops = &ops,
    };

    mutex_init(&trace_lock, SLEEP_TRACE);
    trace_ready = true;
    cdev_register(&dev);
    if (trace_enable != 0 && make_trace_rings() != 0)
        trace_enable = 0;
}
