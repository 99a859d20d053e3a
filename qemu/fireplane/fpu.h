// SPDX-License-Identifier: GPL-2.0-or-later
/* fpu.h - the clocks that a block of code waits for floating-point results, found when it is translated. */
#ifndef FIREPLANE_FPU_H
#define FIREPLANE_FPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "params.h"

#define FPU_REGISTERS 16
#define FPU_NONE      FPU_REGISTERS /* no xmm register: memory, an integer register, or nothing */

enum fpu_kind {
    FPU_OTHER, /* not known here: it waits for nothing and changes nothing */
    FPU_QUICK, /* its result is there the next clock: loads, a register set to 0 */
    FPU_COPY,  /* waits for nothing: the copy is there when what is copied is */
    FPU_STORE, /* waits for quotients and roots only */
    FPU_MOVE,  /* logic, shuffles: in the adder */
    FPU_ADD,   /* additions, comparisons, conversions */
    FPU_MULTIPLY,
    FPU_DIVIDE, /* these four in the multiplier, one after the other */
    FPU_ROOT,
    FPU_DIVIDE_SINGLE,
    FPU_ROOT_SINGLE,
};

/* An instruction, as far as xmm registers go. */
struct fpu_insn {
    uint8_t kind;      /* enum fpu_kind                                  */
    uint8_t from[2];   /* the registers that it needs, or FPU_NONE       */
    uint8_t to;        /* the register that it writes, or FPU_NONE       */
    uint8_t results;   /* how many operations a packed instruction is    */
};

/* fpu_decode - what a 64-bit instruction of `length` bytes does with xmm registers. */
struct fpu_insn fpu_decode(const uint8_t *code, size_t length);

/* fpu_loops - is the last instruction of a block of `bytes` bytes a jump to the block's first? */
bool fpu_loops(const uint8_t *last, size_t length, size_t bytes);

/*
 * fpu_stalls - the clocks that a block of n instructions waits for results, beside one clock for each instruction.
 * `loops`: it is followed by itself, so results of one time round are waited for in the next.
 */
uint64_t fpu_stalls(const struct fp_params *p, const struct fpu_insn *insn, size_t n, bool loops);

#endif
