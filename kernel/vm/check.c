// SPDX-License-Identifier: MIT
/*
 * check.c - walks all page tables and looks for forbidden rights.
 *
 * THEORY      The rights of a page depend on the entries of all levels: a page is writable, or accessible to
 *             users, if every entry on the way to it allows that; it is executable if no entry forbids it.
 *             In the kernel's half, no page must be both writable and executable, and none must be accessible
 *             to users.  A program can request memory that is both writable and executable; run-time compilers
 *             do this.  Such pages are allowed only in segments with both rights, and are counted.
 * INVARIANTS  I1  no kernel page is writable and executable
 *             I2  no kernel page is accessible to users
 *             I3  a user page has no right that its segment does not have
 * LOCKING     as->lock for reading
 * SEE ALSO    tests/test_protection.py, kernel/sys/selftest.c
 */
#include "stat/panic.h"
#include "vm/pt.h"

enum { KERNEL_FIRST = PT_ENTRIES / 2, TOP_LEVEL = 39, LAST_LEVEL = 12 };

struct walk {
    struct as *as;  /* NULL: the kernel's half                        */
    uint64_t pages; /* translations seen                              */
    uint64_t asked; /* user pages writable and executable, by request */
};

/* Checks I1 to I3 for one page, and counts it.  @rights  PTE_W and PTE_U if every level sets them */
static void check_entry_rights(struct walk *w, uint64_t addr, uint64_t rights, bool nx)
{
    bool wx = (rights & PTE_W) != 0 && !nx;

    w->pages++;
    if (w->as == NULL) {
        ASSERT(!wx, "check I1: kernel page writable and executable");
        ASSERT((rights & PTE_U) == 0, "check I2: kernel page open to users");
        return;
    }
    struct seg *s = seg_find(w->as, addr);

    ASSERT(s != NULL, "as I2: a translation outside all segments");
    ASSERT((rights & PTE_W) == 0 || (s->prot & PROT_WRITE) != 0, "check I3: writable");
    ASSERT(nx || (s->prot & PROT_EXEC) != 0, "check I3: executable");
    w->asked += wx;
}

/*
 * Checks the pages below entries first .. last - 1 of a table.
 * @level       each entry covers 1 << level bytes
 * @base        address that entry 0 covers
 * @rights, nx  what the levels above allow and forbid
 */
static void walk_table(struct walk *w, const uint64_t *table, unsigned first, unsigned last,
                       unsigned level, uint64_t base, uint64_t rights, bool nx)
{
    for (unsigned i = first; i < last; i++) {
        uint64_t e = table[i], addr = base + ((uint64_t)i << level);

        if ((e & PTE_P) == 0)
            continue;
        if (level == TOP_LEVEL && i >= KERNEL_FIRST)
            addr |= 0xffff000000000000ul;
        if (level == LAST_LEVEL || (e & PTE_PS) != 0)
            check_entry_rights(w, addr, rights & e, nx || (e & PTE_NX) != 0);
        else
            walk_table(w, pt_table_of(e), 0, PT_ENTRIES, level - 9, addr, rights & e,
                       nx || (e & PTE_NX) != 0);
    }
}

void vm_check(void)
{
    struct walk kernel = {.as = NULL}, user = {.as = NULL};
    unsigned spaces = 0;
    struct as *next;

    walk_table(&kernel, phys_to_virt(kernel_pml4), KERNEL_FIRST, PT_ENTRIES, TOP_LEVEL, 0,
               PTE_W | PTE_U, false);
    for (struct as *as = as_next(NULL); as != NULL; as = next) {
        user.as = as;
        rw_enter_read(&as->lock);
        if (!as_has_ended(as))
            walk_table(&user, as->pml4, 0, KERNEL_FIRST, TOP_LEVEL, 0, PTE_W | PTE_U, false);
        rw_exit_read(&as->lock);
        spaces++;
        next = as_next(as);
        as_unpin(as);
    }
    kprintf(
        "vm_check: %lu kernel translations, %lu of users in %u spaces, %lu writable and executable by request\n",
        kernel.pages, user.pages, spaces, user.asked);
}
