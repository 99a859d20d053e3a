// SPDX-License-Identifier: MIT
/*
 * exit_at_once.S - a multiboot2 image that does nothing but end QEMU.
 *
 * It writes 0x10 (clean end) to the isa-debug-exit port as its first instruction, so that a run of it
 * costs what the firmware and GRUB cost.  `make boot-time` compares Homeroom's boot with it.
 */
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
    movl $0x10, %eax
    outl %eax, $0xf4
1:  hlt
    jmp 1b
    .section .note.GNU-stack, "", @progbits
