// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fpu.c - floating-point latency: runs a scoreboard over a block of code once, when the block is translated.
 *
 * THEORY      UltraSPARC III issues instructions in order.  An instruction waits until its operands are ready, and all
 *             instructions behind it wait, too.  A scoreboard keeps for each register the time at which it is ready.
 *             The code of an SSE instruction shows which registers it reads and writes.  So the time that a block waits
 *             is known before it runs, and is added together with the block's count of instructions (plugin.c).
 *             One instruction is issued per clock cycle, as everywhere in the model.  There are an adder and a
 *             multiplier, and each begins one operation per clock cycle.  Divisions and roots are not pipelined: they
 *             occupy the multiplier until two clock cycles before their result, so that multiplications wait, too [GCC,
 *             config/sparc/ultra3.md].  A packed instruction is two (doubles) or four (singles) operations, one after
 *             the other in the same unit.
 *             A register copy costs only one clock cycle, because SPARC does not need it (its instructions have three
 *             operands).  A load also costs only one, because the model of the caches charges its waits.  A store can
 *             issue together with the operation whose result it stores, unless that is a division or a root [the same
 *             source].  A branch does not wait for a comparison, because it is predicted.
 *             At the end of a block all registers count as ready.  A block that jumps to its own first instruction is
 *             different: it is charged the time of its second iteration.
 *             Two kinds of wait are ignored: for the upper half of a register that a scalar instruction leaves
 *             unchanged, and for an integer register that a conversion writes.  x87, MMX, AVX and integers in xmm
 *             registers are not recognised, and cause no waits.
 * INVARIANTS  F1  if every latency is 1, no instruction waits
 * SEE ALSO    docs/fireplane.md, tests/host/test_fireplane.c
 */
#include "fpu.h"

#include <string.h>

/* ---- instructions -------------------------------------------------------------------------- */

/* Prefixes, as bits: none, 66, f3, f2.  For arithmetic: packed singles, packed doubles, a single, a double. */
enum { PS = 1, PD = 2, SS = 4, SD = 8, PACKED = PS | PD, SCALAR = SS | SD, ALL = PACKED | SCALAR };

/* The roles of the two operands.  `reg` is an xmm register, except with TO_INTEGER; `rm` can be memory. */
enum shape {
    UNKNOWN,
    IN,           /* reg = rm */
    OUT,          /* rm = reg */
    HALF,         /* half of reg = memory or a half of rm */
    UNARY,        /* reg = f(rm) */
    BINARY,       /* reg = f(reg, rm) */
    CLEARS,       /* like BINARY; the result is 0 if reg and rm are the same */
    COMPARE,      /* flags = f(reg, rm) */
    FROM_INTEGER, /* reg = f(integer) */
    TO_INTEGER,   /* integer = f(rm) */
};

/* The instructions 0f XX, by XX: shape, kind, valid prefixes, results.  0 results: the number depends on the prefix. */
static const struct form {
    uint8_t shape, kind, prefixes, results;
} forms[256] = {
    [0x10] = {IN, FPU_QUICK, ALL, 1}, /* movups, movupd, movss, movsd */
    [0x11] = {OUT, FPU_STORE, ALL, 1},
    [0x12] = {HALF, FPU_MOVE, PACKED, 1}, /* movlps, movlpd, movhlps */
    [0x13] = {OUT, FPU_STORE, PACKED, 1},
    [0x14] = {BINARY, FPU_MOVE, PACKED, 1}, /* unpcklps, unpcklpd */
    [0x15] = {BINARY, FPU_MOVE, PACKED, 1},
    [0x16] = {HALF, FPU_MOVE, PACKED, 1}, /* movhps, movhpd, movlhps */
    [0x17] = {OUT, FPU_STORE, PACKED, 1},
    [0x28] = {IN, FPU_QUICK, PACKED, 1}, /* movaps, movapd */
    [0x29] = {OUT, FPU_STORE, PACKED, 1},
    [0x2a] = {FROM_INTEGER, FPU_ADD, SCALAR, 1}, /* cvtsi2ss, cvtsi2sd */
    [0x2b] = {OUT, FPU_STORE, PACKED, 1},        /* movntps, movntpd */
    [0x2c] = {TO_INTEGER, FPU_ADD, SCALAR, 1},   /* cvttss2si, cvttsd2si */
    [0x2d] = {TO_INTEGER, FPU_ADD, SCALAR, 1},
    [0x2e] = {COMPARE, FPU_ADD, PACKED, 1}, /* ucomiss, ucomisd, comiss, comisd */
    [0x2f] = {COMPARE, FPU_ADD, PACKED, 1},
    [0x50] = {TO_INTEGER, FPU_MOVE, PACKED, 1}, /* movmskps, movmskpd */
    [0x51] = {UNARY, FPU_ROOT, ALL, 0},
    [0x54] = {BINARY, FPU_MOVE, PACKED, 1}, /* and, andn, or, xor */
    [0x55] = {BINARY, FPU_MOVE, PACKED, 1},
    [0x56] = {BINARY, FPU_MOVE, PACKED, 1},
    [0x57] = {CLEARS, FPU_MOVE, PACKED, 1},
    [0x58] = {BINARY, FPU_ADD, ALL, 0},
    [0x59] = {BINARY, FPU_MULTIPLY, ALL, 0},
    [0x5a] = {UNARY, FPU_ADD, PACKED, 2},       /* cvtps2pd, cvtpd2ps; scalars: below */
    [0x5b] = {UNARY, FPU_ADD, PS | PD | SS, 4}, /* cvtdq2ps, cvtps2dq, cvttps2dq */
    [0x5c] = {BINARY, FPU_ADD, ALL, 0},         /* sub, min, div, max */
    [0x5d] = {BINARY, FPU_ADD, ALL, 0},
    [0x5e] = {BINARY, FPU_DIVIDE, ALL, 0},
    [0x5f] = {BINARY, FPU_ADD, ALL, 0},
    [0x62] = {BINARY, FPU_MOVE, PD, 1}, /* punpckldq */
    [0x6c] = {BINARY, FPU_MOVE, PD, 1}, /* punpcklqdq, punpckhqdq */
    [0x6d] = {BINARY, FPU_MOVE, PD, 1},
    [0x6e] = {FROM_INTEGER, FPU_QUICK, PD, 1},   /* movd, movq */
    [0x6f] = {IN, FPU_QUICK, PD | SS, 1},        /* movdqa, movdqu */
    [0x70] = {UNARY, FPU_MOVE, PD | SS | SD, 1}, /* pshufd, pshufhw, pshuflw */
    [0x7e] = {IN, FPU_QUICK, SS, 1},             /* movq; to integers: below */
    [0x7f] = {OUT, FPU_STORE, PD | SS, 1},
    [0xc2] = {BINARY, FPU_ADD, ALL, 0},     /* cmpps, cmppd, cmpss, cmpsd */
    [0xc6] = {BINARY, FPU_MOVE, PACKED, 1}, /* shufps, shufpd */
    [0xd6] = {OUT, FPU_STORE, PD, 1},       /* movq */
    [0xdb] = {BINARY, FPU_MOVE, PD, 1},     /* pand, pandn, por, pxor */
    [0xdf] = {BINARY, FPU_MOVE, PD, 1},
    [0xe6] = {UNARY, FPU_ADD, PD | SCALAR, 2}, /* cvttpd2dq, cvtdq2pd, cvtpd2dq */
    [0xe7] = {OUT, FPU_STORE, PD, 1},          /* movntdq */
    [0xeb] = {BINARY, FPU_MOVE, PD, 1},
    [0xef] = {CLEARS, FPU_MOVE, PD, 1},
};

/* The form of an instruction, also of those whose form depends on the prefix. */
static struct form form_of(uint8_t opcode, unsigned prefix)
{
    if (opcode == 0x5a && (prefix & SCALAR)) /* cvtss2sd, cvtsd2ss */
        return (struct form){UNARY, FPU_ADD, SCALAR, 1};
    /* movd, movq to memory; to an integer register: fpu_decode() */
    if (opcode == 0x7e && prefix == PD)
        return (struct form){OUT, FPU_STORE, PD, 1};
    return forms[opcode];
}

/* Makes the instruction from its form and operands; rm is FPU_NONE if it is memory. */
static struct fpu_insn put_together(struct form f, unsigned prefix, uint8_t reg, uint8_t rm)
{
    struct fpu_insn out = {f.kind, {rm, FPU_NONE}, reg, f.results};

    if (f.results == 0)
        out.results = prefix == PS ? 4 : prefix == PD ? 2 : 1;
    if (prefix & (PS | SS))
        out.kind = f.kind == FPU_DIVIDE ? FPU_DIVIDE_SINGLE
                   : f.kind == FPU_ROOT ? FPU_ROOT_SINGLE
                                        : f.kind;
    switch (f.shape) {
    case IN:
        out.kind = rm == FPU_NONE ? FPU_QUICK : FPU_COPY;
        break;
    case OUT:
        out = (struct fpu_insn){rm == FPU_NONE ? FPU_STORE : FPU_COPY, {reg, FPU_NONE}, rm, 1};
        break;
    case HALF: /* from memory: the register is ready when its other half is */
        out.kind = rm == FPU_NONE ? FPU_COPY : FPU_MOVE;
        out.from[rm != FPU_NONE] = reg;
        break;
    case CLEARS:
        if (rm == reg)
            return (struct fpu_insn){FPU_QUICK, {FPU_NONE, FPU_NONE}, reg, 1};
        out.from[1] = reg;
        break;
    case BINARY:
        out.from[1] = reg;
        break;
    case COMPARE:
        out.from[1] = reg;
        out.to = FPU_NONE;
        break;
    case FROM_INTEGER:
        out.from[0] = FPU_NONE;
        break;
    case TO_INTEGER:
        out.to = FPU_NONE;
        break;
    default:
        break;
    }
    return out;
}

struct fpu_insn fpu_decode(const uint8_t *code, size_t length)
{
    static const struct fpu_insn other = {FPU_OTHER, {FPU_NONE, FPU_NONE}, FPU_NONE, 1};
    unsigned prefix = PS, rex = 0;
    struct form f;
    uint8_t modrm, reg, rm;
    size_t i = 0;

    for (; i < length; i++) {
        if (code[i] == 0xf3 || code[i] == 0xf2)
            prefix = code[i] == 0xf3 ? SS : SD;
        else if (code[i] == 0x66)
            prefix = prefix == PS ? PD : prefix;
        else if (code[i] != 0x64 && code[i] != 0x65)
            break;
    }
    if (i < length && code[i] >> 4 == 4)
        rex = code[i++];
    if (length - i < 3 || code[i] != 0x0f)
        return other;
    f = form_of(code[i + 1], prefix);
    if (f.shape == UNKNOWN || !(f.prefixes & prefix))
        return other;
    modrm = code[i + 2];
    reg = (uint8_t)((modrm >> 3 & 7) | (rex & 4) << 1);
    rm = modrm >> 6 == 3 ? (uint8_t)((modrm & 7) | (rex & 1) << 3) : FPU_NONE;
    if (code[i + 1] == 0x7e && prefix == PD && rm != FPU_NONE) /* to an integer register */
        return (struct fpu_insn){FPU_QUICK, {reg, FPU_NONE}, FPU_NONE, 1};
    return put_together(f, prefix, reg, rm);
}

bool fpu_loops(const uint8_t *last, size_t length, size_t bytes)
{
    int32_t distance;

    if (length == 2 && ((last[0] & 0xf0) == 0x70 || (last[0] & 0xfc) == 0xe0 || last[0] == 0xeb)) {
        distance = (int8_t)last[1];
    } else if ((length == 5 && last[0] == 0xe9) ||
               (length == 6 && last[0] == 0x0f && (last[1] & 0xf0) == 0x80)) {
        memcpy(&distance, last + length - 4, sizeof distance);
    } else {
        return false;
    }
    return (uint64_t)bytes == -(uint64_t)(int64_t)distance;
}

/* ---- the scoreboard ------------------------------------------------------------------------ */

struct board {
    uint64_t now;                      /* clock cycle in which the next instruction can issue */
    uint64_t ready[FPU_REGISTERS + 1]; /* when each register is ready; ready[FPU_NONE] is 0 */
    bool divided[FPU_REGISTERS + 1];   /* it is the result of a division or a root */
    uint64_t adder, multiplier;        /* when each can begin its next operation */
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t latency_of(const struct fp_params *p, uint8_t kind)
{
    switch (kind) {
    case FPU_MOVE:
        return p->fp_move_latency;
    case FPU_ADD:
    case FPU_MULTIPLY:
        return p->fp_latency;
    case FPU_DIVIDE:
        return p->fp_div_latency;
    case FPU_ROOT:
        return p->fp_sqrt_latency;
    case FPU_DIVIDE_SINGLE:
        return p->fp_divs_latency;
    case FPU_ROOT_SINGLE:
        return p->fp_sqrts_latency;
    default:
        return 1;
    }
}

/* Issues one instruction.  Returns the clock cycles that it waited. */
static uint64_t issue(struct board *b, const struct fp_params *p, const struct fpu_insn *in)
{
    uint64_t latency = latency_of(p, in->kind), start = b->now, ready, busy = 1;
    uint64_t *unit = in->kind >= FPU_MULTIPLY ? &b->multiplier
                     : in->kind >= FPU_MOVE   ? &b->adder
                                              : NULL;
    bool divides = in->kind >= FPU_DIVIDE;

    if (in->kind == FPU_STORE ? b->divided[in->from[0]] : in->kind != FPU_COPY)
        start = later(start, later(b->ready[in->from[0]], b->ready[in->from[1]]));
    if (unit)
        start = later(start, *unit);
    ready = start + latency;
    if (unit && latency > 1) { /* F1 */
        busy = divides && latency > 2 ? latency - 2 : 1;
        ready += (in->results - 1u) * busy;
        busy *= in->results;
    }
    if (unit)
        *unit = start + busy;
    if (in->kind == FPU_COPY) {
        ready = later(ready, b->ready[in->from[0]]);
        divides = b->divided[in->from[0]];
    }
    if (in->to != FPU_NONE) {
        b->ready[in->to] = ready;
        b->divided[in->to] = divides;
    }
    start -= b->now;
    b->now += start + 1;
    return start;
}

uint64_t fpu_stalls(const struct fp_params *p, const struct fpu_insn *insn, size_t n, bool loops)
{
    struct board b = {0};
    uint64_t stalls = 0;

    for (int round = 0; round <= loops; round++) {
        stalls = 0;
        for (size_t i = 0; i < n; i++)
            stalls += issue(&b, p, &insn[i]);
    }
    return stalls;
}
