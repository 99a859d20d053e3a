// SPDX-License-Identifier: MIT
/*
 * vdso_image.S - the linked vDSO, as bytes in the kernel (kernel/proc/build.mk builds it).
 */
        .section .rodata, "a"
        .balign 4096
        .globl vdso_image_start, vdso_image_end
vdso_image_start:
        .incbin "vdso.so"
vdso_image_end:
        .section .note.GNU-stack, "", @progbits
