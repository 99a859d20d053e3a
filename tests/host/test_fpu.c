// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_fpu.c - floating-point latency: decoded instructions, and blocks whose waits were computed by hand.
 *
 * Clock cycles from operands to result: 4 for additions and multiplications, 3 for moves, 20 and 29 for divisions and
 * roots.
 */
#include "check.h"

#include <string.h>

#include "fpu.h"

static const struct fp_params us3 = {
    .fp_latency = 4,
    .fp_move_latency = 3,
    .fp_div_latency = 20,
    .fp_sqrt_latency = 29,
    .fp_divs_latency = 17,
    .fp_sqrts_latency = 20,
};
static const struct fp_params one = {
    .fp_latency = 1,
    .fp_move_latency = 1,
    .fp_div_latency = 1,
    .fp_sqrt_latency = 1,
    .fp_divs_latency = 1,
    .fp_sqrts_latency = 1,
};

struct code {
    const char *bytes;
    size_t length;
};
#define I(bytes) {bytes, sizeof bytes - 1}

#define ADDSD_1_0 I("\xf2\x0f\x58\xc1") /* addsd %xmm1,%xmm0 */
#define ADDSD_2_3 I("\xf2\x0f\x58\xda") /* addsd %xmm2,%xmm3 */
#define ADDSD_4_5 I("\xf2\x0f\x58\xec") /* addsd %xmm4,%xmm5 */
#define MULSD_0_3 I("\xf2\x0f\x59\xd8") /* mulsd %xmm0,%xmm3 */
#define MULSD_4_5 I("\xf2\x0f\x59\xec") /* mulsd %xmm4,%xmm5 */
#define DIVSD_1_0 I("\xf2\x0f\x5e\xc1") /* divsd %xmm1,%xmm0 */
#define STORE_0   I("\xf2\x0f\x11\x07") /* movsd %xmm0,(%rdi) */
#define LOAD_0    I("\xf2\x0f\x10\x07") /* movsd (%rdi),%xmm0 */
#define NOP       I("\x90")

static uint64_t stalls(const struct fp_params *p, const struct code *code, size_t n, bool loops)
{
    struct fpu_insn insn[64];

    for (size_t i = 0; i < n; i++)
        insn[i] = fpu_decode((const uint8_t *)code[i].bytes, code[i].length);
    return fpu_stalls(p, insn, n, loops);
}

/* Checks the clock cycles that a block of these instructions waits.  With latencies of 1 it must never wait. */
#define WAITS(clocks, loops, ...)                                                                  \
    do {                                                                                           \
        const struct code block[] = {__VA_ARGS__};                                                 \
        const size_t many = sizeof block / sizeof block[0];                                        \
                                                                                                   \
        CHECK_EQ(stalls(&us3, block, many, loops), clocks);                                        \
        CHECK_EQ(stalls(&one, block, many, loops), 0);                                             \
    } while (0)

TEST(a_chain_waits_for_each_result)
{
    WAITS(0, false, ADDSD_1_0);
    WAITS(3, false, ADDSD_1_0, ADDSD_1_0);
    WAITS(9, false, ADDSD_1_0, ADDSD_1_0, ADDSD_1_0, ADDSD_1_0);
    WAITS(3, false, ADDSD_1_0, MULSD_0_3);
    WAITS(1, false, ADDSD_1_0, NOP, NOP, MULSD_0_3); /* other work hides two of three */
    WAITS(0, false, ADDSD_1_0, NOP, NOP, NOP, MULSD_0_3);
}

TEST(independent_operations_do_not_wait)
{
    WAITS(0, false, ADDSD_1_0, ADDSD_2_3, ADDSD_4_5);
    WAITS(0, false, ADDSD_1_0, MULSD_4_5, ADDSD_2_3);
    WAITS(1, false, ADDSD_1_0, ADDSD_2_3, ADDSD_4_5, ADDSD_1_0); /* issued at 0, 1, 2, 4 */
}

TEST(all_behind_one_that_waits_wait_too)
{
    /* Issued at 0; 4; 5, although its operands were ready at 0; 9, which waits for the result of the third. */
    WAITS(6, false, ADDSD_1_0, ADDSD_1_0, ADDSD_2_3, MULSD_0_3);
}

TEST(loads_and_copies)
{
    WAITS(0, false, LOAD_0, ADDSD_1_0);
    /* addsd (%rdi),%xmm0: reads and writes 0 */
    WAITS(3, false, LOAD_0, ADDSD_1_0, I("\xf2\x0f\x58\x07"));
    WAITS(0, false, ADDSD_1_0, LOAD_0, MULSD_0_3);     /* the sum is not used */
    WAITS(0, false, ADDSD_1_0, I("\x66\x0f\x28\xd8")); /* movapd %xmm0,%xmm3 passes it on */
    WAITS(2, false, ADDSD_1_0, I("\x66\x0f\x28\xd8"), ADDSD_2_3); /* and 3 is ready when 0 is */
    WAITS(0, false, ADDSD_1_0, I("\x66\x0f\xef\xc0"), MULSD_0_3); /* pxor %xmm0,%xmm0 */
    WAITS(0, false, ADDSD_1_0, I("\x66\x0f\x57\xc0"), MULSD_0_3); /* xorpd %xmm0,%xmm0 */
    WAITS(5, false, ADDSD_1_0, I("\x66\x0f\x57\xc1"), MULSD_0_3); /* xorpd %xmm1,%xmm0: 0, 4, 7 */
    /* movhpd (%rdi),%xmm0: half of it */
    WAITS(2, false, ADDSD_1_0, I("\x66\x0f\x16\x07"), MULSD_0_3);
}

TEST(stores_go_with_the_operation_but_not_with_a_division)
{
    WAITS(0, false, ADDSD_1_0, STORE_0);
    WAITS(19, false, DIVSD_1_0, STORE_0);
    WAITS(0, false, DIVSD_1_0, LOAD_0, STORE_0);
    WAITS(28, false, I("\xf2\x0f\x51\xc1"), STORE_0); /* sqrtsd %xmm1,%xmm0 */
    /* a copy of a quotient */
    WAITS(18, false, DIVSD_1_0, I("\x66\x0f\x28\xd8"), I("\xf2\x0f\x11\x1f"));
}

TEST(divisions_are_not_pipelined)
{
    WAITS(19, false, DIVSD_1_0, MULSD_0_3); /* the quotient */
    WAITS(17, false, DIVSD_1_0, MULSD_4_5); /* the multiplier is busy for 18 clock cycles */
    WAITS(0, false, DIVSD_1_0, ADDSD_2_3, ADDSD_4_5);   /* the adder is not busy */
    WAITS(17, false, DIVSD_1_0, I("\xf2\x0f\x5e\xd4")); /* divsd %xmm4,%xmm2 */
    WAITS(16, false, I("\xf3\x0f\x5e\xc1"), STORE_0);   /* divss: 17 */
    WAITS(19, false, I("\xf3\x0f\x51\xc1"), STORE_0);   /* sqrtss: 20 */
    WAITS(26, false, I("\xf2\x0f\x51\xc1"), MULSD_4_5); /* sqrtsd: 29, the multiplier 27 */
}

TEST(packed_instructions_are_several_operations)
{
    /* addpd, mulpd: the second sum is ready at 5 */
    WAITS(4, false, I("\x66\x0f\x58\xc1"), I("\x66\x0f\x59\xd8"));
    WAITS(1, false, I("\x66\x0f\x58\xc1"), ADDSD_2_3); /* the adder begins its second at 1 */
    WAITS(0, false, I("\x66\x0f\x58\xc1"), MULSD_4_5);
    WAITS(3, false, I("\x0f\x58\xc1"), ADDSD_2_3); /* addps: four */
    /* divpd, movapd to memory: 18 + 20 */
    WAITS(37, false, I("\x66\x0f\x5e\xc1"), I("\x66\x0f\x29\x07"));
    WAITS(35, false, I("\x66\x0f\x5e\xc1"), MULSD_4_5); /* 2 x 18 */
}

TEST(integers_and_flags)
{
    WAITS(3, false, ADDSD_1_0, I("\x66\x0f\x2e\xc2"));                /* ucomisd %xmm2,%xmm0 */
    WAITS(3, false, ADDSD_1_0, I("\x66\x0f\x2f\xd0"), I("\x76\x10")); /* comisd %xmm0,%xmm2; jbe */
    WAITS(3, false, ADDSD_1_0, I("\xf2\x48\x0f\x2c\xc0"));            /* cvttsd2si %xmm0,%rax */
    WAITS(3, false, I("\xf2\x48\x0f\x2a\xc0"), ADDSD_1_0);            /* cvtsi2sd %rax,%xmm0 */
    WAITS(3, false, ADDSD_1_0, I("\x66\x48\x0f\x7e\xc0"));            /* movq %xmm0,%rax */
    WAITS(0, false, ADDSD_1_0, I("\x66\x0f\xd6\x07"));                /* movq %xmm0,(%rdi) */
    WAITS(0, false, I("\x66\x48\x0f\x6e\xc0"), ADDSD_1_0);            /* movq %rax,%xmm0 */
    WAITS(0, false, ADDSD_1_0, I("\xf2\x0f\x2a\xc0"), NOP); /* cvtsi2sd waits for no xmm register */
}

TEST(registers_above_seven)
{
    WAITS(0, false, I("\xf2\x44\x0f\x58\xc1"), ADDSD_1_0);                 /* addsd %xmm1,%xmm8 */
    WAITS(3, false, I("\xf2\x44\x0f\x58\xc1"), I("\xf2\x41\x0f\x58\xc0")); /* addsd %xmm8,%xmm0 */
    WAITS(3, false, I("\xf2\x44\x0f\x58\xc1"), I("\xf2\x45\x0f\x58\xc8")); /* addsd %xmm8,%xmm9 */
    WAITS(0, false, ADDSD_1_0, I("\xf2\x43\x0f\x58\x1c\xc8")); /* addsd (%r8,%r9,8),%xmm3 */
}

TEST(a_loop_onto_itself_waits_for_its_last_round)
{
    WAITS(0, false, ADDSD_1_0, NOP);
    WAITS(2, true, ADDSD_1_0, NOP);
    WAITS(0, true, ADDSD_1_0, NOP, NOP, NOP);
    WAITS(16, true, DIVSD_1_0, LOAD_0); /* the multiplier is free at 18; the loop body is 2 long */
}

TEST(jumps_to_the_first_instruction)
{
    CHECK(fpu_loops((const uint8_t *)"\x75\xf0", 2, 16));
    CHECK(!fpu_loops((const uint8_t *)"\x75\xf0", 2, 17));
    CHECK(!fpu_loops((const uint8_t *)"\x75\x10", 2, 16));
    CHECK(fpu_loops((const uint8_t *)"\xeb\xf0", 2, 16));
    CHECK(fpu_loops((const uint8_t *)"\x0f\x85\x00\xff\xff\xff", 6, 256));
    CHECK(fpu_loops((const uint8_t *)"\xe9\x00\xff\xff\xff", 5, 256));
    CHECK(!fpu_loops((const uint8_t *)"\xe8\x00\xff\xff\xff", 5, 256)); /* call */
    CHECK(!fpu_loops((const uint8_t *)"\xff\xf0", 2, 16));
    CHECK(!fpu_loops((const uint8_t *)"", 0, 0));
}

TEST(instructions_in_full)
{
    static const struct {
        struct code code;
        struct fpu_insn is;
    } rows[] = {
        {I("\xf2\x0f\x58\x07"), {FPU_ADD, {16, 0}, 0, 1}},         /* addsd (%rdi),%xmm0 */
        {I("\x66\x45\x0f\x5e\xd9"), {FPU_DIVIDE, {9, 11}, 11, 2}}, /* divpd %xmm9,%xmm11 */
        {I("\x0f\x5e\xd9"), {FPU_DIVIDE_SINGLE, {1, 3}, 3, 4}},    /* divps */
        {I("\xf2\x0f\x51\xd9"), {FPU_ROOT, {1, 16}, 3, 1}},        /* sqrtsd */
        {I("\xf3\x0f\x51\xd9"), {FPU_ROOT_SINGLE, {1, 16}, 3, 1}}, /* sqrtss */
        {I("\xf2\x0f\x5a\xd9"), {FPU_ADD, {1, 16}, 3, 1}},         /* cvtsd2ss */
        {I("\x0f\x5a\xd9"), {FPU_ADD, {1, 16}, 3, 2}},             /* cvtps2pd */
        {I("\xf3\x0f\xe6\xd9"), {FPU_ADD, {1, 16}, 3, 2}},         /* cvtdq2pd */
        {I("\xf3\x0f\x5b\xd9"), {FPU_ADD, {1, 16}, 3, 4}},         /* cvttps2dq */
        {I("\xf2\x0f\xc2\xd9\x01"), {FPU_ADD, {1, 3}, 3, 1}},      /* cmpltsd */
        {I("\x66\x0f\xc6\xd9\x01"), {FPU_MOVE, {1, 3}, 3, 1}},     /* shufpd */
        {I("\x66\x0f\x54\xd9"), {FPU_MOVE, {1, 3}, 3, 1}},         /* andpd */
        {I("\x0f\x12\xd9"), {FPU_MOVE, {1, 3}, 3, 1}},             /* movhlps */
        {I("\x66\x0f\x12\x1f"), {FPU_COPY, {3, 16}, 3, 1}},        /* movlpd (%rdi),%xmm3 */
        {I("\x66\x0f\x13\x1f"), {FPU_STORE, {3, 16}, 16, 1}},      /* movlpd %xmm3,(%rdi) */
        {I("\x0f\x11\xd9"), {FPU_COPY, {3, 16}, 1, 1}},            /* movups %xmm3,%xmm1 */
        {I("\xf3\x0f\x7e\xd9"), {FPU_COPY, {1, 16}, 3, 1}},        /* movq %xmm1,%xmm3 */
        {I("\x66\x0f\x6f\x1f"), {FPU_QUICK, {16, 16}, 3, 1}},      /* movdqa (%rdi),%xmm3 */
        {I("\x66\x0f\xe7\x1f"), {FPU_STORE, {3, 16}, 16, 1}},      /* movntdq */
        /* movsd %fs:8,%xmm3 */
        {I("\x64\xf2\x0f\x10\x1c\x25\x08\x00\x00\x00"), {FPU_QUICK, {16, 16}, 3, 1}},
        {I("\x0f\x6f\x1f"), {FPU_OTHER, {16, 16}, 16, 1}},     /* movq (%rdi),%mm3 */
        {I("\x0f\x2a\xc0"), {FPU_OTHER, {16, 16}, 16, 1}},     /* cvtpi2ps %mm0,%xmm0 */
        {I("\x66\x0f\xd4\xd9"), {FPU_OTHER, {16, 16}, 16, 1}}, /* paddq: integers */
        {I("\xc5\xfb\x58\xc1"), {FPU_OTHER, {16, 16}, 16, 1}}, /* vaddsd */
        {I("\xd8\xc1"), {FPU_OTHER, {16, 16}, 16, 1}},         /* fadd: x87 */
        {I("\x48\x8b\x07"), {FPU_OTHER, {16, 16}, 16, 1}},
        {I("\xf2\x0f\x58"), {FPU_OTHER, {16, 16}, 16, 1}}, /* incomplete */
        {I("\xf2"), {FPU_OTHER, {16, 16}, 16, 1}},
        {I("\x66\x48"), {FPU_OTHER, {16, 16}, 16, 1}},
        {I(""), {FPU_OTHER, {16, 16}, 16, 1}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fpu_insn got = fpu_decode((const uint8_t *)rows[i].code.bytes, rows[i].code.length);

        if (memcmp(&got, &rows[i].is, sizeof got) != 0)
            check_fail(__FILE__, __LINE__, "row %zu: kind %d from %d %d to %d, %d results", i,
                       got.kind, got.from[0], got.from[1], got.to, got.results);
    }
}

/* Whatever the bytes are, a block ends, and waits no longer than if each instruction were four roots. */
TEST(fuzz)
{
    for (unsigned round = 0; round < 20000; round++) {
        struct fpu_insn insn[64];
        size_t n = 1 + check_below(64);

        for (size_t i = 0; i < n; i++) {
            uint8_t bytes[16];
            size_t length = check_below(sizeof bytes), at = 0;
            uint8_t exact[16];

            for (size_t k = 0; k < length; k++)
                bytes[k] = (uint8_t)check_random();
            if (check_below(4) && length > 3) { /* likely instructions */
                bytes[at++] = (uint8_t[]){0xf2, 0xf3, 0x66, 0x48}[check_below(4)];
                bytes[at++] = 0x0f;
            }
            /* so that the sanitizer sees a read beyond the end */
            memcpy(exact + sizeof exact - length, bytes, length);
            insn[i] = fpu_decode(exact + sizeof exact - length, length);
            CHECK(insn[i].kind <= FPU_ROOT_SINGLE && insn[i].to <= FPU_NONE);
            CHECK(insn[i].from[0] <= FPU_NONE && insn[i].from[1] <= FPU_NONE);
            CHECK(insn[i].results >= 1 && insn[i].results <= 4);
            fpu_loops(exact + sizeof exact - length, length, 2);
        }
        CHECK(fpu_stalls(&us3, insn, n, round & 1) <= 4 * 29 * n);
        CHECK_EQ(fpu_stalls(&one, insn, n, round & 1), 0); /* F1 */
    }
}
