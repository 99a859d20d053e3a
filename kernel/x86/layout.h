// SPDX-License-Identifier: MIT
/*
 * layout.h - where things lie in the kernel's half of an address space.
 *
 * SEE ALSO  docs/boot.md (Address space), x86/mmu.h
 */
#ifndef X86_LAYOUT_H
#define X86_LAYOUT_H

#include "lib/types.h"

#ifndef DIRECT_BASE                       /* host tests put them elsewhere */
#define DIRECT_BASE  0xffff888000000000ul /* all RAM, 2 MiB or 1 GiB pages, no-execute */
#define VMEMMAP_BASE 0xffffea0000000000ul /* struct page array                         */
#endif
#define KERNEL_BASE 0xffffffff80000000ul /* text, data, bss                           */

#define PAGE_DESC_SIZE 64 /* bytes of a frame descriptor at VMEMMAP_BASE */

typedef uint64_t paddr_t;

static inline void *phys_to_virt(paddr_t pa)
{
    return (void *)(DIRECT_BASE + pa);
}

static inline paddr_t virt_to_phys(const void *va) /* direct-map addresses only */
{
    return (paddr_t)va - DIRECT_BASE;
}

#endif
