// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * decode.c - recognises the x86-64 instructions that matter to the plugin.
 *
 * THEORY      A callback for each block of code, only to count its instructions, would be slow.  So the count is added
 *             by the callback of a memory access in the block, if there is one that happens exactly once each time the
 *             block runs.  Only common instructions with such an access are recognised.  If such an instruction is
 *             missing here, the plugin is slower.  If another instruction is taken for one, the counts are wrong.
 * SEE ALSO    plugin.c, tests/host/test_fireplane.c
 */
#include "decode.h"

#include <stdbool.h>

#include "uapi/fireplane.h"

static const uint8_t doorbell[4] = {0x0f, 0x1f, 0x84, 0x00};

static enum fp_insn two_bytes(const uint8_t *op, size_t left, bool scalar)
{
    bool memory;
    unsigned reg;

    if (left < 2)
        return FP_INSN_OTHER;
    memory = op[1] >> 6 != 3;
    reg = op[1] >> 3 & 7;
    switch (op[0]) {
    case 0x01:
        return op[1] == 0xc9 ? FP_INSN_HALT : memory && reg == 7 ? FP_INSN_MMU : FP_INSN_OTHER;
    case 0x22:
        return reg == 3 || reg == 4 ? FP_INSN_MMU : FP_INSN_OTHER;
    case 0x38:
        return op[1] == 0x82 ? FP_INSN_MMU : FP_INSN_OTHER;
    case 0x11: /* movsd, movss to memory */
        return memory && scalar ? FP_INSN_ONE_STORE : FP_INSN_OTHER;
    case 0x10: /* movsd, movss from memory; sqrt, add, mul, sub, min, div, max of scalars */
    case 0x51:
    case 0x58:
    case 0x59:
    case 0x5c:
    case 0x5d:
    case 0x5e:
    case 0x5f:
        return memory && scalar ? FP_INSN_ONE_LOAD : FP_INSN_OTHER;
    case 0xb6: /* movzx, movsx */
    case 0xb7:
    case 0xbe:
    case 0xbf:
        return memory ? FP_INSN_ONE_LOAD : FP_INSN_OTHER;
    default:
        return FP_INSN_OTHER;
    }
}

static enum fp_insn one_byte(const uint8_t *op, size_t left)
{
    bool memory = left > 1 && op[1] >> 6 != 3;

    if (op[0] >= 0x50 && op[0] <= 0x57)
        return FP_INSN_ONE_STORE; /* push */
    if (op[0] >= 0x58 && op[0] <= 0x5f)
        return FP_INSN_ONE_LOAD; /* pop */
    switch (op[0]) {
    case 0xc3: /* ret */
        return FP_INSN_ONE_LOAD;
    case 0xe8: /* call */
        return FP_INSN_ONE_STORE;
    case 0x88: /* mov to memory */
    case 0x89:
    case 0xc6:
    case 0xc7:
        return memory ? FP_INSN_ONE_STORE : FP_INSN_OTHER;
    case 0x8a: /* mov from memory */
    case 0x8b:
    case 0x63:
    case 0x38: /* cmp, and arithmetic into a register */
    case 0x39:
    case 0x3a:
    case 0x3b:
    case 0x03:
    case 0x0b:
    case 0x23:
    case 0x2b:
    case 0x33:
        return memory ? FP_INSN_ONE_LOAD : FP_INSN_OTHER;
    case 0xf4:
        return FP_INSN_HALT;
    default:
        return FP_INSN_OTHER;
    }
}

/* Whether b is a size or segment prefix.  These do not change the number and kind of memory accesses. */
static bool is_size_or_segment(uint8_t b)
{
    switch (b) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
        return true;
    default:
        return false;
    }
}

/* The kind of a repeated string instruction.  Before other opcodes the prefix does not repeat: FP_INSN_OTHER. */
static enum fp_insn repeated(uint8_t op)
{
    switch (op & ~1u) {
    case 0xa4: /* movs */
    case 0xaa: /* stos */
        return FP_INSN_REP_STORE;
    case 0xac: /* lods */
    case 0xae: /* scas */
        return FP_INSN_REP_LOAD;
    case 0xa6: /* cmps */
        return FP_INSN_REP_LOADS;
    default:
        return FP_INSN_OTHER;
    }
}

enum fp_insn fp_decode(const uint8_t *code, size_t length, unsigned *op)
{
    enum fp_insn kind;
    uint8_t repeat = 0;
    size_t i = 0;

    if (length == 8 && __builtin_memcmp(code, doorbell, 4) == 0) {
        uint32_t tag = (uint32_t)code[4] | (uint32_t)code[5] << 8 | (uint32_t)code[6] << 16 |
                       (uint32_t)code[7] << 24;

        *op = tag & 0xff;
        return (tag & 0xffffff00) == FP_TAG ? FP_INSN_DOORBELL : FP_INSN_OTHER;
    }
    for (; i < length; i++) {
        uint8_t b = code[i];

        if (b == 0xf0) /* lock: a load and a store */
            return FP_INSN_OTHER;
        if (b == 0xf3 || b == 0xf2)
            repeat = b;
        else if (!is_size_or_segment(b))
            break;
    }
    if (i < length && code[i] >> 4 == 4) /* REX */
        i++;
    if (i >= length)
        return FP_INSN_OTHER;
    if (code[i] == 0x0f)
        return two_bytes(code + i + 1, length - i - 1, repeat != 0);
    if (repeat == 0xf3 && code[i] == 0x90)
        return FP_INSN_PAUSE;
    if (repeat != 0 && (kind = repeated(code[i])) != FP_INSN_OTHER)
        return kind;
    return one_byte(code + i, length - i);
}
