// SPDX-License-Identifier: MIT
/*
 * pci.c - see pci.h.
 */
#include "drivers/pci.h"

#include "intr/intr.h"
#include "lib/errno.h"
#include "x86/mmu.h"
#include "x86/pio.h"

enum {
    PORT_ADDRESS = 0xcf8,
    PORT_DATA = 0xcfc,
    NO_DEVICE = 0xffff,
    MULTI_FUNCTION = 0x80,
    BRIDGE = 1,
    NBARS = 6
};
enum {
    CAP_MSIX = 0x11,
    MSIX_ENABLE = 1 << 15,
    MSIX_MASK_ALL = 1 << 14,
    HAS_CAPS = 1 << 4,
    VECTOR_MASKED = 1
};
enum { BAR_IO = 1, BAR_64 = 4, BRIDGE_BUSES = 0x18 };

static void select_config_reg(struct pci_fn f, unsigned reg)
{
    outl(PORT_ADDRESS,
         1u << 31 | (uint32_t)f.bus << 16 | (uint32_t)f.dev << 11 | (uint32_t)f.fn << 8 | reg);
}

uint32_t pci_read(struct pci_fn f, unsigned reg)
{
    select_config_reg(f, reg);
    return inl(PORT_DATA);
}

void pci_write(struct pci_fn f, unsigned reg, uint32_t value)
{
    select_config_reg(f, reg);
    outl(PORT_DATA, value);
}

bool pci_each(bool (*fn)(struct pci_fn f, uint32_t id, void *arg), void *arg)
{
    /* highest bus number known so far; a bridge has a register with the highest number below it */
    unsigned last = 0;

    for (unsigned bus = 0; bus <= last; bus++)
        for (unsigned i = 0; i < 32 * 8; i++) {
            struct pci_fn f = {(uint8_t)bus, (uint8_t)(i / 8), i % 8};
            uint32_t id = pci_read(f, PCI_ID), header;

            if ((id & 0xffff) == NO_DEVICE) {
                if (f.fn == 0)
                    i += 7;
                continue;
            }
            if (fn(f, id, arg))
                return true;
            header = pci_read(f, PCI_HEADER) >> 16 & 0xff;
            if ((header & ~MULTI_FUNCTION) == BRIDGE)
                last = max_of(last, pci_read(f, BRIDGE_BUSES) >> 16 & 0xff);
            if (f.fn == 0 && !(header & MULTI_FUNCTION))
                i += 7;
        }
    return false;
}

struct wanted {
    uint32_t id;
    struct pci_fn f;
};

static bool match_device_id(struct pci_fn f, uint32_t id, void *arg)
{
    struct wanted *w = arg;

    w->f = f;
    return id == w->id;
}

bool pci_find(uint16_t vendor, uint16_t device, struct pci_fn *out)
{
    struct wanted w = {.id = vendor | (uint32_t)device << 16};

    if (!pci_each(match_device_id, &w))
        return false;
    *out = w.f;
    return true;
}

unsigned pci_cap(struct pci_fn f, unsigned id, unsigned after)
{
    unsigned at, seen = 0;

    if (!(pci_read(f, PCI_COMMAND) >> 16 & HAS_CAPS))
        return 0;
    at = after == 0 ? pci_read(f, PCI_CAPS) & 0xfc : pci_read(f, after) >> 8 & 0xfc;
    while (at >= 0x40 && seen++ < PCI_CAPS_MAX) {
        uint32_t head = pci_read(f, at);

        if ((head & 0xff) == id)
            return at;
        at = head >> 8 & 0xfc;
    }
    return 0;
}

/* The bits of a window's register that can be written, which give the size.  The register keeps its value. */
static uint32_t probe_bar_mask(struct pci_fn f, unsigned reg)
{
    uint32_t old = pci_read(f, reg), bits;

    pci_write(f, reg, ~0u);
    bits = pci_read(f, reg);
    pci_write(f, reg, old);
    return bits;
}

int pci_bar(struct pci_fn f, unsigned n, struct pci_bar *out)
{
    unsigned reg = PCI_BAR0 + n * 4;
    uint32_t low = pci_read(f, reg), command = pci_read(f, PCI_COMMAND) & 0xffff;
    uint64_t base, bits;
    bool wide = (low & (BAR_IO | BAR_64)) == BAR_64;

    if (n >= NBARS || (wide && n == NBARS - 1))
        return -ENOENT;
    /* Disable the window, because writing to its register changes its address. */
    pci_write(f, PCI_COMMAND, command & ~(uint32_t)(PCI_CMD_IO | PCI_CMD_MEMORY));
    bits = probe_bar_mask(f, reg);
    if (wide)
        bits |= (uint64_t)probe_bar_mask(f, reg + 4) << 32;
    else if (bits != 0)
        bits |= ~0ull << 32;
    pci_write(f, PCI_COMMAND, command);
    base = low | (wide ? (uint64_t)pci_read(f, reg + 4) << 32 : 0);
    out->io = (low & BAR_IO) != 0;
    bits &= out->io ? ~3ull : ~15ull;
    out->base = base & bits;
    out->len = out->io ? (~bits + 1) & 0xffff : ~bits + 1;
    return bits == 0 || out->base == 0 ? -ENOENT : 0;
}

void pci_enable(struct pci_fn f, unsigned bits)
{
    pci_write(f, PCI_COMMAND, (pci_read(f, PCI_COMMAND) & 0xffff) | bits);
}

int pci_msix_open(struct pci_fn f, struct pci_msix *out)
{
    unsigned cap = pci_cap(f, CAP_MSIX, 0);
    struct pci_bar bar;
    uint32_t where;

    if (cap == 0)
        return -ENODEV;
    where = pci_read(f, cap + 4);
    *out = (struct pci_msix){.f = f, .cap = cap, .count = (pci_read(f, cap) >> 16 & 0x7ff) + 1};
    if (pci_bar(f, where & 7, &bar) != 0 || bar.io || (where & ~7u) + out->count * 16ul > bar.len)
        return -ENODEV;
    pci_enable(f, PCI_CMD_MEMORY);
    out->table = mmu_map_device(bar.base + (where & ~7u), out->count * 16ul);
    for (unsigned i = 0; i < out->count; i++)
        out->table[i * 4 + 3] = VECTOR_MASKED;
    return 0;
}

/*
 * intr_msi.set: directs entry `i` to another vector or CPU.  No interrupt is lost: if one occurs while the
 * entry is masked, the PCI function keeps it pending and sends it afterwards (6.8.3.5).
 */
static void write_msix_entry(void *msix, unsigned i, uint64_t addr, uint32_t data)
{
    volatile uint32_t *e = ((struct pci_msix *)msix)->table + i * 4;

    e[3] = VECTOR_MASKED;
    /* the read waits for the write, so that no message is sent from a half-written entry */
    (void)e[3];
    e[0] = (uint32_t)addr;
    e[1] = (uint32_t)(addr >> 32);
    e[2] = data;
    e[3] = 0;
    (void)e[3];
}

int pci_msix_handle(struct pci_msix *m, unsigned i, unsigned cpu, void (*fn)(void *), void *arg,
                    const char *name)
{
    const struct intr_msi msi = {.set = write_msix_entry, .dev = m, .entry = i};

    return intr_register_msi(cpu, fn, arg, name, &msi);
}

void pci_msix_enable(struct pci_msix *m)
{
    uint32_t head = pci_read(m->f, m->cap);

    pci_write(m->f, m->cap,
              (head & ~((uint32_t)MSIX_MASK_ALL << 16)) | (uint32_t)MSIX_ENABLE << 16);
    pci_enable(m->f, PCI_CMD_MASTER);
}
