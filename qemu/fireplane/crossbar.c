// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crossbar.c - the data crossbar between boards: half-duplex ports, and a queue of lines behind each.
 *
 * THEORY      Each board has one port on the crossbar, whose wires move a line "in one direction or the other every
 *             system clock" (white paper, "Data Interconnect").  A line crosses the sender's wires, waits in the
 *             crossbar's input queue of that port, and crosses the receiver's.  A queue is first in, first out: a line
 *             whose receiver is busy holds up those behind it, whose receivers may be idle.  When it is full
 *             (crossbar_queue), the sender's wires bring in no other line; they can still take one out.
 *             A port's time is cut into slots, each as long as a line takes on the wires, and a slot holds one line, in
 *             or out.  A line takes the first slot that will do.  CPUs do not ask in the order of modelled time
 *             (model.h, M5), so a port remembers its slots for a while, and the queue's order is that of slots, not
 *             of requests: a line that is asked for later and sent earlier waits only for lines sent before it.
 *             What those sent after it were told stays.
 *             How long a line is on the wires is in the latencies of Table B-2, so in an idle crossbar it does not wait
 *             and both its slots are the same.
 * INVARIANTS  X1  a slot of a port holds one line
 *             X2  when it was sent, a line found fewer than crossbar_queue others in its queue
 *             X3  no line leaves a queue before one that was sent before it and asked for before it
 * SOURCES     Queues, their depth and the arbiter are in no source that we found; docs/fireplane.md says what was
 *             chosen.  That lines which wait for a busy receiver hold up others is the known fault of input queues:
 *             M. Karol et al., "Input Versus Output Queueing on a Space-Division Packet Switch", IEEE Transactions on
 *             Communications, 1987.
 * SEE ALSO    wire.c, docs/fireplane.md, tests/host/test_fireplane_crossbar.c
 */
#include "model.h"

#include <stdlib.h>

#define WORDS (FP_SLOTS / 64)

struct fp_port {
    uint64_t end;            /* a multiple of 64: slots from here on are empty, those before end - FP_SLOTS forgotten */
    uint64_t taken[WORDS];   /* bit: a line is on the wires in this slot                                             */
    uint64_t sent[WORDS];    /* bit: it goes to the crossbar                                                         */
    uint64_t left[FP_SLOTS]; /* of a line that was sent: the slot after that in which the receiver's wires take it   */
    uint64_t all_left;       /* the latest of them: from then on the queue is empty                                  */
};

int fp_crossbar_create(struct fp_model *m)
{
    const struct fp_params *p = &m->p;

    m->slot_ps = FP_LINE_BYTES * 1000000 / p->crossbar_mbps * (p->double_pumped ? 2 : 1);
    m->ports = calloc(p->nboards, sizeof *m->ports);
    return m->ports ? 0 : -1;
}

/* The port is about to use `slot`: words up to there hold nothing old.  Returns whether it is still remembered. */
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

/* The first slot at or after `slot`, which is remembered, in which the wires are free. */
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
 * The slot in which the n-th line that was sent before `slot` (n = 1: the last) has left the queue; 0: none is
 * remembered.  *last becomes the answer for n = 1.
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
        return t; /* long ago: no line of that time is remembered, and none waits */
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
