// SPDX-License-Identifier: MIT
/*
 * exit_at_once.S - a multiboot2 image that does nothing but end QEMU.
 *
 * It writes EXIT_CODE (0x10, clean end) to the isa-debug-exit port as its first instructions, so that a run of
 * it costs what the firmware and GRUB cost.  `make boot-time` compares Homeroom's boot with it.
 * The tests of the launcher build it with VERDICT, a string that it writes to the verdict port first, and with
 * HANG, to make it loop instead of ending; on an NMI it dies then, as it has no interrupt table.  With RESET it ends
 * in a triple fault.
 */
#ifndef EXIT_CODE
#define EXIT_CODE 0x10
#endif

    .section .multiboot, "a"
    .balign 8
header:
    .long 0xe85250d6                     /* multiboot2 */
    .long 0                              /* i386 protected mode */
    .long header_end - header
    .long -(0xe85250d6 + (header_end - header))
    .short 0, 0                          /* end of tags */
    .long 8
header_end:

    .text
    .code32
    .globl start
start:
#ifdef VERDICT
    movl $text, %esi
    movl $(text_end - text), %ecx
    movw $0x2f8, %dx
    rep outsb
#endif
#ifdef HANG
1:  pause
    jmp 1b
#endif
#ifdef RESET
    lidt nothing
    ud2
nothing:
    .short 0
    .long 0
#endif
    movl $EXIT_CODE, %eax
    outl %eax, $0xf4
2:  hlt
    jmp 2b
#ifdef VERDICT
text:
    .ascii VERDICT
text_end:
#endif
    .section .note.GNU-stack, "", @progbits
