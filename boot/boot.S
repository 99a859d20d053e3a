// SPDX-License-Identifier: MIT
/*
 * boot.S - the path from the boot loader (GRUB or QEMU) to C code: switches from 32-bit protected mode to 64-bit mode
 * at the kernel's own addresses.
 *
 * THEORY      The kernel is linked for 64-bit mode near the top of the address space, but a boot loader
 *             enters it in 32-bit mode with paging off.  So this code builds page tables, turns on paging and
 *             long mode, and jumps to kmain().
 *             GRUB enters at boot_entry.  %eax is multiboot2's magic number, and %ebx is the physical address of
 *             the boot information.  QEMU's -kernel enters at pvh_entry, whose address is in an ELF note of the
 *             file.  Then %ebx is the physical address of Xen's hvm_start_info.
 *             The boot page tables map the first 4 GiB at their physical addresses (for this file and for the
 *             start of the other CPUs) and at DIRECT_BASE, and the first 1 GiB at KERNEL_BASE.  mmu_init()
 *             later replaces them by tables with proper access rights.
 * SEE ALSO    Multiboot2 specification 3.1-3.3; Xen's docs/misc/pvh.pandoc and include/public/elfnote.h; Intel SDM
 *             vol. 3, 9.8.5 (entering IA-32e mode)
 */
#define MB2_MAGIC 0xe85250d6
#define PVH_MAGIC 0x336ec578
#define PHYS32_ENTRY 18

    .section .multiboot, "a"
    .align 8
mb2_header:
    .long MB2_MAGIC, 0, mb2_end - mb2_header, -(MB2_MAGIC + (mb2_end - mb2_header))
    .align 8
    .word 6, 0          /* modules page-aligned */
    .long 8
    .align 8
    .word 0, 0          /* end */
    .long 8
mb2_end:

    .section .note.pvh, "a", @note
    .align 4
    .long 4, 8, PHYS32_ENTRY
    .asciz "Xen"
    .quad pvh_entry

    .section .boot, "ax"
    .code32
pvh_entry:
    movl $PVH_MAGIC, %eax
    .globl boot_entry
boot_entry:
    cli
    cld
    movl %eax, %ebp                 /* the magic number, for kmain(); %ebx keeps the information */
    movw %ds, %ax                   /* set up a stack: the loader need not provide one */
    movw %ax, %ss
    movl $boot_call_stack, %esp

    /* Four page directories: 2048 entries of 2 MiB, present, writable, large. */
    movl $boot_pd, %edi
    movl $0x83, %eax
    xorl %edx, %edx
    movl $2048, %ecx
1:  movl %eax, (%edi)
    movl %edx, 4(%edi)
    addl $0x200000, %eax
    addl $8, %edi
    decl %ecx
    jnz 1b

    movl $boot_pd + 3, %eax
    movl $boot_pdpt_low, %edi
    movl $4, %ecx
2:  movl %eax, (%edi)
    addl $4096, %eax
    addl $8, %edi
    decl %ecx
    jnz 2b

    movl $boot_pd + 3, boot_pdpt_high + 510 * 8
    movl $boot_pdpt_low + 3, boot_pml4
    movl $boot_pdpt_low + 3, boot_pml4 + 273 * 8   /* DIRECT_BASE */
    movl $boot_pdpt_high + 3, boot_pml4 + 511 * 8  /* KERNEL_BASE */

    call enable_long_mode
    lgdt boot_gdt_ptr
    ljmp $0x08, $boot64

/* Turns on PAE, long mode with no-execute, and paging over boot_pml4.  Clobbers eax, ecx, edx. */
    .globl enable_long_mode
enable_long_mode:
    movl %cr4, %eax
    orl $0x20, %eax                 /* PAE */
    movl %eax, %cr4
    movl $boot_pml4, %eax
    movl %eax, %cr3
    movl $0xc0000080, %ecx          /* EFER */
    rdmsr
    orl $0x901, %eax                /* SCE, LME, NXE */
    wrmsr
    movl %cr0, %eax
    andl $~0x4, %eax                /* clear EM: FPU instructions do not trap */
    orl $0x80010022, %eax           /* PG, WP, NE, MP */
    movl %eax, %cr0
    ret

    .code64
boot64:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movabsq $boot_stack_top, %rsp
    movl %ebp, %edi
    movl %ebx, %esi
    xorl %ebp, %ebp
    movabsq $kmain, %rax
    call *%rax
3:  hlt
    jmp 3b

    .align 16
    .globl boot_gdt_ptr
boot_gdt:
    .quad 0
    .quad 0x00af9a000000ffff        /* 0x08: 64-bit code */
    .quad 0x00cf92000000ffff        /* 0x10: data        */
    .quad 0x00cf9a000000ffff        /* 0x18: 32-bit code */
boot_gdt_ptr:
    .word boot_gdt_ptr - boot_gdt - 1
    .quad boot_gdt

    .section .boot_bss, "aw", @nobits
    .align 4096
    .globl boot_pml4
boot_pml4:
    .skip 4096
boot_pdpt_low:
    .skip 4096
boot_pdpt_high:
    .skip 4096
boot_pd:
    .skip 4 * 4096
    .skip 16
boot_call_stack:

    .section .bss, "aw", @nobits
    .align 16
    .globl boot_stack
boot_stack:
    .skip 16384
boot_stack_top:

    .section .note.GNU-stack, "", @progbits
