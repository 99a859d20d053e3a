// SPDX-License-Identifier: MIT
/*
 * mmu.h - the kernel's own page tables.
 *
 * THEORY      The upper half is the same in every address space: all RAM at DIRECT_BASE, the frame descriptors at
 *             VMEMMAP_BASE, the kernel image at KERNEL_BASE with the rights of its sections, devices at
 *             MMIO_BASE, kernel stacks at KSTACK_BASE.  Its top-level entries are complete after mmu_init()
 *             and never change, so a new address space copies them.
 * INVARIANTS  I1  no page of the upper half is both writable and executable
 *             I2  user mode cannot access any page of the upper half
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
#define PTE_SOFT (7ul << 9) /* bits that the processor ignores */
#define PTE_NX   (1ul << 63)
#define PTE_ADDR 0x000ffffffffff000ul

#define PT_ENTRIES 512u /* entries of a page table of any level */

#define MMIO_BASE   0xffffc90000000000ul
/* The window of kernel stacks (mem/kstack.c), under the same top-level entry as MMIO_BASE. */
#define KSTACK_BASE 0xffffc94000000000ul

extern paddr_t kernel_pml4; /* [c] top-level table with only the kernel half */

struct mem_range {
    paddr_t base, len; /* bytes, page multiples */
    unsigned node;
};

/*
 * mmu_init - build the kernel's page tables for the memory in r[n], and load them on the boot CPU.
 * @alloc  returns `len` bytes of memory, aligned to `len`, and panics if there is none.  A call for
 *         4 KiB is for a page table, and must return memory below 4 GiB, on any node.  A call for 2
 *         MiB is for frame descriptors of node `node`, and must return memory of that node.
 */
typedef paddr_t (*mmu_alloc_fn)(unsigned node, size_t len);
void mmu_init(const struct mem_range *r, unsigned n, mmu_alloc_fn alloc);
/* mmu_load - load the kernel's page tables on the running CPU. */
void mmu_load(void);
/* mmu_map_device - map `len` bytes of device registers, uncached; returns their address.  Boot only. */
void *mmu_map_device(paddr_t pa, size_t len);
/*
 * mmu_window_entry - the page-table entry (4 KiB) of an address in the window of kernel stacks.
 * @fresh  *fresh is a zeroed frame, or 0.  If a table is missing, the frame becomes that table, and *fresh
 *         becomes 0.  `fresh` can be NULL if the caller knows that all tables exist.  Tables are never freed.
 * Returns NULL if a table is missing and *fresh is 0: call again with a frame.
 */
uint64_t *mmu_window_entry(uint64_t va, paddr_t *fresh);
/*
 * mmu_on_stack - whether a kernel address lies in the window of kernel stacks.  Pages that are adjacent there
 * need not be adjacent in physical memory.
 */
static inline bool mmu_on_stack(const void *va)
{
    return (uint64_t)va - KSTACK_BASE < 1ul << 38;
}
/* kva_to_phys - the physical address of an address in the direct map or in the kernel image. */
paddr_t kva_to_phys(const void *va);

#endif
