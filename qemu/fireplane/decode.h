// SPDX-License-Identifier: GPL-2.0-or-later
/* decode.h - the few kinds of x86-64 instructions that the plugin must recognise. */
#ifndef FIREPLANE_DECODE_H
#define FIREPLANE_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum fp_insn {
    FP_INSN_OTHER,
    FP_INSN_ONE_LOAD,  /* reads memory exactly once (not at all if it faults) and writes none */
    FP_INSN_ONE_STORE, /* writes memory exactly once and reads none */
    FP_INSN_REP_STORE, /* rep movs, rep stos: one store per iteration, perhaps also a load */
    FP_INSN_REP_LOAD,  /* rep lods, rep scas: one load per iteration */
    FP_INSN_REP_LOADS, /* rep cmps: two loads per iteration */
    FP_INSN_PAUSE,
    FP_INSN_HALT, /* hlt, mwait */
    FP_INSN_MMU,  /* changes the mapping of virtual addresses: mov to cr3 or cr4, invlpg, invpcid */
    FP_INSN_DOORBELL,
};

/* fp_decode - the kind of a 64-bit instruction of `length` bytes.  For a doorbell *op becomes its enum fp_op. */
enum fp_insn fp_decode(const uint8_t *code, size_t length, unsigned *op);

#endif
