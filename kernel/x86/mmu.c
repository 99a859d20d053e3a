// SPDX-License-Identifier: MIT
/*
 * mmu.c - see mmu.h.
 *
 * LOCKING     mmu_init() and mmu_map_device() run on the boot CPU before the other CPUs start, and need no
 *             lock.  mmu_window_entry() runs on any CPU: compare-and-swap puts a missing table into its place.
 */
#include "x86/mmu.h"

#include "lib/string.h"
#include "stat/panic.h"
#include "x86/asm.h"
#include "x86/features.h"

extern char __kernel_start[], __text_start[], __text_end[], __rodata_start[], __rodata_end[],
    __data_start[], __kernel_end[];

paddr_t kernel_pml4;
static mmu_alloc_fn table_alloc;
static uint64_t mmio_next = MMIO_BASE;

static uint64_t *kernel_table_alloc(void)
{
    uint64_t *t = phys_to_virt(table_alloc(0, PAGE_SIZE));

    memset(t, 0, PAGE_SIZE);
    return t;
}

/* Returns the entry for `va` at `level` (1: 4 KiB, 2: 2 MiB, 3: 1 GiB).  Makes missing tables above it. */
static uint64_t *make_kernel_entry(uint64_t va, unsigned level)
{
    uint64_t *t = phys_to_virt(kernel_pml4);

    for (unsigned l = 4; l > level; l--) {
        uint64_t *e = &t[va >> (12 + 9 * (l - 1)) & 511];

        if (*e == 0)
            *e = virt_to_phys(kernel_table_alloc()) | PTE_P | PTE_W;
        t = phys_to_virt(*e & PTE_ADDR);
    }
    return &t[va >> (12 + 9 * (level - 1)) & 511];
}

/* Maps `len` bytes with the largest pages that alignment allows; adds PTE_P, PTE_G and PTE_PS to `flags`. */
static void map_kernel_range(uint64_t va, paddr_t pa, uint64_t len, uint64_t flags)
{
    while (len > 0) {
        unsigned level = 1;
        uint64_t size = PAGE_SIZE;

        if (cpu_has_gbpages && ((va | pa) & ((1ul << 30) - 1)) == 0 && len >= 1ul << 30) {
            level = 3;
            size = 1ul << 30;
        } else if (((va | pa) & (HUGE_SIZE - 1)) == 0 && len >= HUGE_SIZE) {
            level = 2;
            size = HUGE_SIZE;
        }
        *make_kernel_entry(va, level) = pa | flags | PTE_P | PTE_G | (level > 1 ? PTE_PS : 0);
        va += size;
        pa += size;
        len -= size;
    }
}

/* Maps [from, to) of the kernel image; `from` must be at the start of a page. */
static void map_section(const char *from, const char *to, uint64_t flags)
{
    map_kernel_range((uint64_t)from, (uint64_t)from - KERNEL_BASE,
                     round_up((uint64_t)(to - from), PAGE_SIZE), flags);
}

void mmu_init(const struct mem_range *r, unsigned n, mmu_alloc_fn alloc)
{
    table_alloc = alloc;
    kernel_pml4 = alloc(0, PAGE_SIZE);
    memset(phys_to_virt(kernel_pml4), 0, PAGE_SIZE);

    for (unsigned i = 0; i < n; i++) {
        uint64_t first = r[i].base >> PAGE_SHIFT, last = (r[i].base + r[i].len - 1) >> PAGE_SHIFT;
        uint64_t va = round_down(VMEMMAP_BASE + first * PAGE_DESC_SIZE, HUGE_SIZE);

        map_kernel_range(DIRECT_BASE + r[i].base, r[i].base, r[i].len, PTE_W | PTE_NX);
        for (; va < VMEMMAP_BASE + (last + 1) * PAGE_DESC_SIZE; va += HUGE_SIZE)
            if (*make_kernel_entry(va, 2) == 0)
                map_kernel_range(va, alloc(r[i].node, HUGE_SIZE), HUGE_SIZE, PTE_W | PTE_NX);
    }
    map_section(__text_start, __text_end, 0);
    map_section(__rodata_start, __rodata_end, PTE_NX);
    map_section(__data_start, __kernel_end, PTE_W | PTE_NX);
    /*
     * Make the table of the device window (2 MiB) now, because the top-level table must be complete
     * before address spaces copy it.
     */
    make_kernel_entry(MMIO_BASE, 1);
    table_alloc = NULL;
    mmu_load();
}

void mmu_load(void)
{
    write_cr3(kernel_pml4);
}

void *mmu_map_device(paddr_t pa, size_t len)
{
    paddr_t base = round_down(pa, PAGE_SIZE);
    uint64_t va = mmio_next;

    len = round_up(pa + len - base, PAGE_SIZE);
    ASSERT(mmio_next + len <= MMIO_BASE + HUGE_SIZE, "the device window is 2 MiB");
    mmio_next += len;
    map_kernel_range(va, base, len, PTE_W | PTE_NX | PTE_PCD | PTE_PWT);
    return (void *)(va + (pa - base));
}

uint64_t *mmu_window_entry(uint64_t va, paddr_t *fresh)
{
    uint64_t *t = phys_to_virt(kernel_pml4);

    for (unsigned l = 4; l > 1; l--) {
        uint64_t *e = &t[va >> (12 + 9 * (l - 1)) & 511],
                 seen = __atomic_load_n(e, __ATOMIC_ACQUIRE);

        if (unlikely(seen == 0)) {
            ASSERT(l < 4, "mmu.h: the top level is complete");
            if (*fresh == 0)
                return NULL;
            if (__atomic_compare_exchange_n(e, &seen, *fresh | PTE_P | PTE_W, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
                seen = *fresh | PTE_P | PTE_W;
                *fresh = 0;
            }
        }
        t = phys_to_virt(seen & PTE_ADDR);
    }
    return &t[va >> 12 & 511];
}

paddr_t kva_to_phys(const void *va)
{
    uint64_t a = (uint64_t)va;

    return a >= KERNEL_BASE ? a - KERNEL_BASE : virt_to_phys(va);
}
