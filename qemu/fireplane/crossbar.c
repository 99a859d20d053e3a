// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crossbar.c - the data crossbar between boards: half-duplex ports, and a queue of lines behind each.
 *
 * THEORY      Each board has one port on the crossbar.  The port's wires move a line "in one direction or the other
 *             every system clock" (white paper, "Data Interconnect").  A line crosses the sender's wires, waits in the
 *             crossbar's input queue of that port, and crosses the receiver's wires.  A queue is first in, first out.
 *             So a line whose receiver is busy delays the lines behind it, even if their receivers are idle.  While a
 *             queue is full (crossbar_queue lines), its port cannot send; it can still receive.
 *             The time of a port is divided into slots, each as long as a line needs on the wires.  A slot holds one
 *             line, sent or received.  A line takes the first slot that fits.  Requests do not come in the order of
 *             modelled time (model.h, M5).  So a port remembers its slots for a while, and the order of a queue is the
 *             order of the slots, not of the requests.  A line that is requested later but sent earlier waits only for
 *             lines sent before it.  The times of the lines sent after it do not change any more.
 *             The latencies of Table B-2 include the time on the wires.  So in an idle crossbar a line does not wait,
 *             and its slots at the sender and at the receiver are the same.
 * INVARIANTS  X1  a slot of a port holds at most one line
 *             X2  when a line was sent, fewer than crossbar_queue others were in its queue
 *             X3  no line leaves a queue before a line that was both sent and requested earlier
 * SOURCES     No source was found for the queues, their depth and the arbiter; docs/fireplane.md describes the choices.
 *             A line that waits for a busy receiver delays others.  This is the known weakness of input queues:
 *             M. Karol et al., "Input Versus Output Queueing on a Space-Division Packet Switch", IEEE Transactions on
 *             Communications, 1987.
 * SEE ALSO    wire.c, docs/fireplane.md, tests/host/test_fireplane_crossbar.c
 */
#include "model.h"

#include <stdlib.h>

#define WORDS (FP_SLOTS / 64)

struct fp_port {
    /* a multiple of 64: slots from here on are empty, those before end - FP_SLOTS forgotten */
    uint64_t end;
    uint64_t taken[WORDS]; /* bit: the slot holds a line */
    uint64_t sent[WORDS];  /* bit: the slot holds a line that this port sends */
    /* for a line sent in this slot: the slot after the slot in which its receiver takes it */
    uint64_t left[FP_SLOTS];
    uint64_t all_left; /* the highest value in left[]: from this slot on the queue is empty */
};

int fp_crossbar_create(struct fp_model *m)
{
    const struct fp_params *p = &m->p;

    m->slot_ps = FP_LINE_BYTES * 1000000 / p->crossbar_mbps * (p->double_pumped ? 2 : 1);
    m->ports = calloc(p->nboards, sizeof *m->ports);
    return m->ports ? 0 : -1;
}

/* Prepares the port for a use of `slot`: clears the words of slots up to this one.  False: the slot is forgotten. */
static bool reach(struct fp_port *port, uint64_t slot)
{
    while (slot >= port->end) {
        if (slot - port->end >= FP_SLOTS)
            port->end = (slot - FP_SLOTS) / 64 * 64 + 64;
        port->taken[port->end / 64 % WORDS] = 0;
        port->sent[port->end / 64 % WORDS] = 0;
        port->end += 64;
    }
    return port->end - slot <= FP_SLOTS;
}

/* The first free slot at or after `slot`, which must not be forgotten. */
static uint64_t free_slot(struct fp_port *port, uint64_t slot)
{
    uint64_t busy = port->taken[slot / 64 % WORDS] | ((1ull << slot % 64) - 1);

    while (busy == ~0ull) {
        slot = (slot / 64 + 1) * 64;
        reach(port, slot);
        busy = port->taken[slot / 64 % WORDS];
    }
    return slot / 64 * 64 + (unsigned)__builtin_ctzll(~busy);
}

/*
 * Finds the n-th last line that was sent before `slot` (n = 1: the last).  Returns the first slot in which this line
 * has left the queue; 0: there is no such line.  *last becomes the result for n = 1.
 */
static uint64_t left_by(const struct fp_port *port, uint64_t slot, uint64_t n, uint64_t *last)
{
    uint64_t oldest = port->end > FP_SLOTS ? port->end - FP_SLOTS : 0, base = slot / 64 * 64;
    uint64_t sent = port->sent[base / 64 % WORDS] & ((1ull << slot % 64) - 1);

    *last = 0;
    if (port->all_left <= slot)
        return 0;
    for (uint64_t found = 0; found < n;) {
        unsigned bit;

        if (sent == 0) {
            if (base == oldest)
                return 0;
            base -= 64;
            sent = port->sent[base / 64 % WORDS];
            continue;
        }
        bit = 63 - (unsigned)__builtin_clzll(sent);
        sent &= ~(1ull << bit);
        slot = base + bit;
        if (++found == 1)
            *last = port->left[slot % FP_SLOTS];
    }
    return port->left[slot % FP_SLOTS];
}

uint64_t fp_crossbar(struct fp_model *m, unsigned from, unsigned to, uint64_t t)
{
    struct fp_port *sender = &m->ports[from], *receiver = &m->ports[to];
    uint64_t first = t / m->slot_ps, send = first, receive, last;

    if (!reach(sender, first) || !reach(receiver, first))
        return t; /* too long ago: lines of that time are forgotten, so the line does not wait */
    for (;;) {
        uint64_t full;

        send = free_slot(sender, send);
        full = left_by(sender, send, m->p.crossbar_queue, &last);
        if (full <= send) /* X2 */
            break;
        send = full;
        reach(sender, send);
    }
    receive = last > send ? last : send; /* X3 */
    reach(receiver, receive);
    receive = free_slot(receiver, receive);
    sender->taken[send / 64 % WORDS] |= 1ull << send % 64;
    sender->sent[send / 64 % WORDS] |= 1ull << send % 64;
    sender->left[send % FP_SLOTS] = receive + 1;
    if (receive >= sender->all_left)
        sender->all_left = receive + 1;
    receiver->taken[receive / 64 % WORDS] |= 1ull << receive % 64;
    return receive == first ? t : receive * m->slot_ps;
}
