// SPDX-License-Identifier: MIT
/*
 * mem_init.h - bringing memory up, in the order in which main.c calls it.
 */
#ifndef MEM_MEM_INIT_H
#define MEM_MEM_INIT_H

#include "lib/cpu.h"
#include "x86/mmu.h"

/*
 * mem_reserve - keep [base, base + len) out of the allocator (kernel image, modules, boot information).
 * mem_init - take over `r[n]` (sorted by address, page multiples, node numbers set): kernel page tables, frame
 *            descriptors, free lists.  near[node] lists the nodes to fall back on, nearest first, nnear of them.
 * mem_device - [base, base + len) is memory of a device, page multiples outside `r`: mem_init() maps and describes it
 *              like RAM, and nobody is given it.  Once, before mem_init().
 * mem_unreserve - give a reserved range back once it is no longer needed (the initramfs).
 */
void mem_reserve(paddr_t base, uint64_t len);
void mem_device(paddr_t base, uint64_t len);
void mem_init(const struct mem_range *r, unsigned n);
void mem_set_near(unsigned node, const uint8_t *near, unsigned nnear);
void mem_unreserve(paddr_t base, uint64_t len);

/* mem_cpu_init - magazines of one CPU, in its node's memory; before the CPU runs. */
void mem_cpu_init(struct cpu *c);
/* mem_boot_cpu - the boot CPU's own, static. */
extern struct mem_cpu mem_boot_cpu;
void kmem_init(void);

#endif
