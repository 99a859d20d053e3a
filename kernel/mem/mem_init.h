// SPDX-License-Identifier: MIT
/*
 * mem_init.h - initialising memory, in the order in which main.c calls it.
 */
#ifndef MEM_MEM_INIT_H
#define MEM_MEM_INIT_H

#include "lib/cpu.h"
#include "x86/mmu.h"

/*
 * mem_reserve - exclude [base, base + len) from the allocator (kernel image, modules, boot information).
 * mem_device - declare that [base, base + len) is memory of a device, in whole pages and outside the ranges of
 * mem_init().  mem_init() maps this memory and makes descriptors for it like those of RAM, but it is never
 * allocated.  Called at most once, before mem_init().
 * mem_init - take over the n memory ranges r[] (sorted by address, page multiples, node numbers set): make
 * kernel page tables, frame descriptors and free lists.
 * mem_set_near - set the nodes to which allocations of `node` fall back: near[], nearest first.
 * mem_unreserve - give a reserved range to the allocator when the range is no longer needed (the initramfs).
 */
void mem_reserve(paddr_t base, uint64_t len);
void mem_device(paddr_t base, uint64_t len);
void mem_init(const struct mem_range *r, unsigned n);
void mem_set_near(unsigned node, const uint8_t *near, unsigned nnear);
void mem_unreserve(paddr_t base, uint64_t len);

/* mem_cpu_init - make the magazines of a CPU, in memory of its node.  Called before the CPU runs. */
void mem_cpu_init(struct cpu *c);
/* mem_boot_cpu - the magazines of the boot CPU, which are static (magazine.c). */
extern struct mem_cpu mem_boot_cpu;
void kmem_init(void);

#endif
