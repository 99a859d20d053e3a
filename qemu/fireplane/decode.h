// SPDX-License-Identifier: GPL-2.0-or-later
/* decode.h - the few x86-64 instructions that the plugin must tell apart. */
#ifndef FIREPLANE_DECODE_H
#define FIREPLANE_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum fp_insn {
    FP_INSN_OTHER,
    FP_INSN_ONE_LOAD,  /* reads memory exactly once, or not at all if it faults, and writes none */
    FP_INSN_ONE_STORE, /* writes memory exactly once, and reads none                            */
    FP_INSN_REP_STORE, /* rep movs, rep stos: one store each time round, perhaps a load         */
    FP_INSN_REP_LOAD,  /* rep lods, rep scas: one load each time round                          */
    FP_INSN_REP_LOADS, /* rep cmps: two                                                         */
    FP_INSN_PAUSE,
    FP_INSN_HALT, /* hlt, mwait                                                             */
    FP_INSN_MMU,  /* changes what virtual addresses mean: mov to cr3 or cr4, invlpg, invpcid */
    FP_INSN_DOORBELL,
};

/* fp_decode - the kind of a 64-bit instruction; *op: what a doorbell asks (enum fp_op). */
enum fp_insn fp_decode(const uint8_t *code, size_t length, unsigned *op);

#endif
