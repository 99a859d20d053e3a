// SPDX-License-Identifier: MIT
/*
 * mmu.h - the kernel's own page tables.
 *
 * THEORY      The upper half is the same in every address space: all RAM at DIRECT_BASE, the frame descriptors at
 *             VMEMMAP_BASE, the kernel image at KERNEL_BASE with the rights of its sections, devices at MMIO_BASE.
 *             Its top-level entries are complete after mmu_init() and never change, so a new address space copies them.
 * INVARIANTS  I1  no page is writable and executable
 *             I2  no page of the upper half is open to user mode
 */
#ifndef X86_MMU_H
#define X86_MMU_H

#include "lib/types.h"
#include "x86/layout.h"

#define PTE_P    (1ul << 0)
#define PTE_W    (1ul << 1)
#define PTE_U    (1ul << 2)
#define PTE_PWT  (1ul << 3)
#define PTE_PCD  (1ul << 4)
#define PTE_A    (1ul << 5)
#define PTE_D    (1ul << 6)
#define PTE_PS   (1ul << 7)
#define PTE_G    (1ul << 8)
#define PTE_SOFT (7ul << 9) /* free for software */
#define PTE_NX   (1ul << 63)
#define PTE_ADDR 0x000ffffffffff000ul

#define MMIO_BASE 0xffffc90000000000ul
#define KSTACK_BASE                                                                                \
    0xffffc94000000000ul /* kernel stacks (mem/kstack.c); below the same top-level entry as MMIO_BASE */

extern paddr_t kernel_pml4; /* [c] top-level table with only the kernel half */

struct mem_range {
    paddr_t base, len; /* bytes, page multiples */
    unsigned node;
};

/*
 * mmu_init - build the kernel's tables over the memory in `r[n]` and load them on the boot CPU.
 * @alloc  gives `len` bytes of memory (4 KiB or 2 MiB, aligned alike): for a 4 KiB table below 4 GiB of any node,
 *         for the 2 MiB of frame descriptors of node `node` anywhere on that node.  Panics itself when it cannot.
 */
typedef paddr_t (*mmu_alloc_fn)(unsigned node, size_t len);
void mmu_init(const struct mem_range *r, unsigned n, mmu_alloc_fn alloc);
/* mmu_load - use the kernel's tables on the running CPU. */
void mmu_load(void);
/* mmu_map_device - map a device's registers, uncached; returns their address.  Boot only. */
void *mmu_map_device(paddr_t pa, size_t len);
/*
 * mmu_window_entry - the page-table entry of an address in the window of kernel stacks.  Tables stay once made.
 * @fresh  a frame full of zeroes, to become a table above it that is missing; then *fresh is 0.  NULL: none is missing
 * NULL: one is missing, and *fresh was 0.
 */
uint64_t *mmu_window_entry(uint64_t va, paddr_t *fresh);
/* mmu_on_stack - does a kernel address lie in that window, where frames in a row are no neighbours? */
static inline bool mmu_on_stack(const void *va)
{
    return (uint64_t)va - KSTACK_BASE < 1ul << 38;
}
/* kva_to_phys - physical address of a kernel address (direct map or image). */
paddr_t kva_to_phys(const void *va);

#endif
