// SPDX-License-Identifier: MIT
/*
 * vdso.c - the kernel's side of the vDSO: its pages, its data, its mapping.
 *
 * THEORY      One shared object holds the data page and after it the image.  Every process maps it read-only
 *             and executable, so all programs share the page frames, and fork copies nothing.  The kernel
 *             writes the data page through its own mapping of all memory.  The clock's scale is constant, so
 *             the page changes only when the time of day is set.
 * INVARIANTS  I1  seq is odd while vdso_update() changes the data, otherwise even
 * LOCKING     update_lock (RANK_LOG) serialises writers
 * SEE ALSO    vdso.h, vdso/vdso_user.c, kernel/disp/timer.c
 */
#include "proc/vdso.h"

#include "disp/timer.h"
#include "lib/spinlock.h"
#include "lib/string.h"
#include "mem/page.h"
#include "stat/panic.h"
#include "pages/object.h"
#include "vm/vm.h"

extern const char vdso_image_start[], vdso_image_end[];

static struct vm_object *vdso_object;
static uint64_t vdso_pages; /* number of pages, including the data page */
static struct vdso_data *data;
static struct spinlock update_lock = SPINLOCK_INIT(RANK_LOG);

void vdso_update(void)
{
    if (data == NULL)
        return;
    spin_lock(&update_lock);
    __atomic_store_n(&data->seq, data->seq + 1, __ATOMIC_RELEASE);
    atomic_thread_fence(memory_order_seq_cst);
    data->base_tsc = clock_params.base_tsc;
    data->base_ns = clock_params.base_ns;
    data->mult = tsc_to_ns(1ull << 32);
    data->real_offset_ns = clock_params.real_offset_ns;
    __atomic_store_n(&data->seq, data->seq + 1, __ATOMIC_RELEASE); /* even again (I1) */
    spin_unlock(&update_lock);
}

void vdso_init(void)
{
    uint64_t size = (uint64_t)(vdso_image_end - vdso_image_start);
    struct page *pg;

    vdso_pages = 1 + ((size + PAGE_SIZE - 1) >> PAGE_SHIFT);
    vdso_object = object_create_anon(vdso_pages, false);
    if (vdso_object == NULL)
        panic("no memory for the vDSO");
    for (uint64_t i = 0; i < vdso_pages; i++) {
        /* The reference is never dropped, so the frames are never freed. */
        if (object_page_get(vdso_object, i, &pg) != 0)
            panic("no memory for the vDSO");
        if (i == 0) {
            data = page_to_virt(pg);
        } else {
            uint64_t off = (i - 1) << PAGE_SHIFT;

            memcpy(page_to_virt(pg), vdso_image_start + off, min_of(size - off, PAGE_SIZE));
        }
    }
    vdso_update();
}

uint64_t vdso_map(struct as *as)
{
    uint64_t addr = 0;

    if (as_map(as, &addr, vdso_pages << PAGE_SHIFT, PROT_READ | PROT_EXEC, MAP_SHARED, vdso_object,
               0, NULL, PROT_WRITE) != 0)
        return 0;
    return addr + PAGE_SIZE;
}
