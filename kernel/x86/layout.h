// SPDX-License-Identifier: MIT
/*
 * layout.h - the fixed addresses in the kernel's half of every address space.
 *
 * SEE ALSO  docs/boot.md (Address space), x86/mmu.h
 */
#ifndef X86_LAYOUT_H
#define X86_LAYOUT_H

#include "lib/types.h"

#ifndef DIRECT_BASE                       /* host tests define other addresses */
#define DIRECT_BASE  0xffff888000000000ul /* the direct map of all RAM, no-execute */
#define VMEMMAP_BASE 0xffffea0000000000ul /* struct page array */
#endif
#define KERNEL_BASE 0xffffffff80000000ul /* the kernel image: text, data, bss */

#define PAGE_DESC_SIZE 64 /* bytes of a frame descriptor at VMEMMAP_BASE */

typedef uint64_t paddr_t;

/*
 * phys_to_virt, virt_to_phys - convert a physical address to the address of the same byte in the
 * direct map, and the reverse.
 */
static inline void *phys_to_virt(paddr_t pa)
{
    return (void *)(DIRECT_BASE + pa);
}

static inline paddr_t virt_to_phys(const void *va) /* kva_to_phys() takes image addresses too */
{
    return (paddr_t)va - DIRECT_BASE;
}

#endif
