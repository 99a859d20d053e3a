// SPDX-License-Identifier: GPL-2.0-or-later
/* fpu.h - the time that a block of code waits for floating-point results, computed when the block is translated. */
#ifndef FIREPLANE_FPU_H
#define FIREPLANE_FPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "params.h"

#define FPU_REGISTERS 16
#define FPU_NONE      FPU_REGISTERS /* no xmm register: memory, an integer register, or nothing */

enum fpu_kind {
    FPU_OTHER,    /* not recognised: it waits for no register and changes none */
    FPU_QUICK,    /* its result is ready one clock cycle later: loads, a register set to 0 */
    FPU_COPY,     /* does not wait: the copy is ready when its source is */
    FPU_STORE,    /* waits only for results of divisions and roots */
    FPU_MOVE,     /* logic, shuffles; uses the adder */
    FPU_ADD,      /* additions, comparisons, conversions; uses the adder */
    FPU_MULTIPLY, /* this and all that follow use the multiplier */
    FPU_DIVIDE,   /* these four occupy the multiplier until they are nearly done */
    FPU_ROOT,
    FPU_DIVIDE_SINGLE,
    FPU_ROOT_SINGLE,
};

/* The xmm registers that an instruction uses. */
struct fpu_insn {
    uint8_t kind;    /* enum fpu_kind */
    uint8_t from[2]; /* the registers that it needs, or FPU_NONE */
    uint8_t to;      /* the register that it writes, or FPU_NONE */
    uint8_t results; /* number of operations in a packed instruction */
};

/* fpu_decode - how a 64-bit instruction of `length` bytes uses xmm registers. */
struct fpu_insn fpu_decode(const uint8_t *code, size_t length);

/*
 * fpu_loops - whether the last instruction, of `length` bytes, of a block of `bytes` bytes jumps to the block's first.
 */
bool fpu_loops(const uint8_t *last, size_t length, size_t bytes);

/*
 * fpu_stalls - the clock cycles that a block of n instructions waits for results, in addition to one for each
 * instruction.  `loops`: the block is a loop, so an iteration also waits for results of the previous iteration.
 */
uint64_t fpu_stalls(const struct fp_params *p, const struct fpu_insn *insn, size_t n, bool loops);

#endif
