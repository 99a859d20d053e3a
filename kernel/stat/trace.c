// SPDX-License-Identifier: MIT
/*
 * trace.c - the ring buffers of traced events; trace.h describes the idea.
 *
 * THEORY      The words of a slot are written and read by single atomic accesses in program order.  x86 keeps
 *             the order of stores and the order of loads, so a fence for the compiler is enough for the
 *             reader and the writer.
 */
#include "stat/trace.h"

#include "lib/cpu.h"
#include "lib/string.h"
#include "stat/panic.h"

enum { WORDS = sizeof(struct trace_record) / sizeof(uint64_t), PANIC_EVENTS = 6 };
_Static_assert(sizeof(struct trace_record) == 32 && sizeof(struct trace_header) == 32,
               "uapi/trace.h");

uint32_t trace_enable;
bool trace_ready;

static const char *const names[TRACE_TYPES] = {
#define X(id, name, doc) [TRACE_##id] = name,
    TRACE_EVENTS(X)
#undef X
};

const char *trace_name_of(unsigned type)
{
    return type < TRACE_TYPES && names[type] != NULL ? names[type] : "?";
}

uint64_t trace_name(const char *s)
{
    uint64_t word = 0;

    for (unsigned i = 0; i < sizeof word && s[i] != '\0'; i++)
        word |= (uint64_t)(uint8_t)s[i] << (8 * i);
    return word;
}

uint64_t trace_name_rest(const char *s)
{
    return trace_name(strlen(s) > 8 ? s + 8 : "");
}

/* Copies a slot word by word, with atomic accesses, because the other side may access it at the same time. */
static void copy_trace_record(struct trace_record *to, const struct trace_record *from)
{
    for (unsigned i = 0; i < WORDS; i++)
        __atomic_store_n((uint64_t *)to + i,
                         __atomic_load_n((const uint64_t *)from + i, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
}

void trace_ring_put(struct trace_ring *r, const struct trace_record *rec)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

    /* the previous store of `head` comes before this copy */
    atomic_thread_fence(memory_order_release);
    copy_trace_record(&r->slot[head & r->mask], rec);
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

static struct trace_record make_lost_record(uint64_t time, unsigned cpu, uint64_t n)
{
    return (struct trace_record){.time = time, .type = TRACE_LOST, .cpu = (uint8_t)cpu, .a = n};
}

unsigned trace_ring_read(const struct trace_ring *r, uint64_t *pos, uint64_t until, unsigned cpu,
                         struct trace_record *out, unsigned max)
{
    unsigned n = 0;
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire), gone = 0;

    while (n + (gone > 0) < max && *pos < head) {
        if (head - *pos <= r->mask) {
            copy_trace_record(&out[n], &r->slot[*pos & r->mask]);
            atomic_thread_fence(memory_order_acquire);
            head = atomic_load_explicit(&r->head, memory_order_acquire);
        }
        if (head - *pos > r->mask) { /* the slot was overwritten, or is perhaps being written */
            gone += head - r->mask - *pos;
            *pos = head - r->mask;
            continue;
        }
        if (out[n].time > until)
            break;
        if (gone > 0) {
            out[n + 1] = out[n];
            out[n] = make_lost_record(out[n].time, cpu, gone);
            gone = 0;
            n++;
        }
        ++*pos;
        n++;
    }
    if (gone > 0)
        out[n++] = make_lost_record(until, cpu, gone);
    return n;
}

void trace_put(enum trace_type type, uint32_t tid, unsigned info, uint64_t a, uint64_t b)
{
    bool on = irq_enabled();
    struct cpu *c;

    irq_disable();
    c = this_cpu();
    if (c->trace != NULL) /* NULL if /etc/system turns the trace on before /dev/trace exists */
        trace_ring_put(c->trace, &(struct trace_record){.time = clock_mono_ns(),
                                                        .type = (uint8_t)type,
                                                        .cpu = (uint8_t)c->id,
                                                        .info = (uint16_t)info,
                                                        .tid = tid,
                                                        .a = a,
                                                        .b = b});
    if (on)
        irq_enable();
}

static void print_trace_record(const struct trace_record *e, uint64_t now)
{
    char name[17] = "";
    uint64_t ago = now - e->time;

    if (e->type == TRACE_SWITCH || e->type == TRACE_NAME)
        memcpy(name, &e->a, 16);
    if (name[0] != '\0')
        kprintf("%7lu.%03lu us ago  CPU %-3u %7u %-8s %s", ago / 1000, ago % 1000, e->cpu, e->tid,
                trace_name_of(e->type), name);
    else
        kprintf("%7lu.%03lu us ago  CPU %-3u %7u %-8s %#x %#lx %#lx", ago / 1000, ago % 1000,
                e->cpu, e->tid, trace_name_of(e->type), e->info, e->a, e->b);
}

void trace_panic(void)
{
    uint64_t now;

    if (trace_enable == 0 || !trace_ready)
        return;
    trace_enable = 0;
    now = clock_mono_ns();
    kprintf("trace: the last events of each CPU");
    for (unsigned i = 0; i < ncpu; i++) {
        struct trace_ring *r = cpus[i] != NULL ? cpus[i]->trace : NULL;
        uint64_t head = r != NULL ? atomic_load(&r->head) : 0;

        for (uint64_t at = head - min_of(head, (uint64_t)PANIC_EVENTS); at < head; at++)
            print_trace_record(&r->slot[at & r->mask], now);
    }
}
