// SPDX-License-Identifier: MIT
/*
 * pci.c - see pci.h.
 */
#include "drivers/pci.h"

#include "lib/errno.h"
#include "x86/pio.h"

enum { PORT_ADDRESS = 0xcf8, PORT_DATA = 0xcfc, NO_DEVICE = 0xffff, MULTI_FUNCTION = 0x80, BRIDGE = 1, NBARS = 6 };
enum { BAR_IO = 1, BAR_64 = 4, BRIDGE_BUSES = 0x18 };

static void select_reg(struct pci_fn f, unsigned reg)
{
    outl(PORT_ADDRESS, 1u << 31 | (uint32_t)f.bus << 16 | (uint32_t)f.dev << 11 | (uint32_t)f.fn << 8 | reg);
}

uint32_t pci_read(struct pci_fn f, unsigned reg)
{
    select_reg(f, reg);
    return inl(PORT_DATA);
}

void pci_write(struct pci_fn f, unsigned reg, uint32_t value)
{
    select_reg(f, reg);
    outl(PORT_DATA, value);
}

bool pci_find(uint16_t vendor, uint16_t device, struct pci_fn *out)
{
    unsigned last = 0; /* highest bus known: bridges tell of the buses below them */

    for (unsigned bus = 0; bus <= last; bus++)
        for (unsigned i = 0; i < 32 * 8; i++) {
            struct pci_fn f = {(uint8_t)bus, (uint8_t)(i / 8), i % 8};
            uint32_t      id = pci_read(f, PCI_ID), header;

            if ((id & 0xffff) == NO_DEVICE) {
                if (f.fn == 0)
                    i += 7;
                continue;
            }
            if (id == (vendor | (uint32_t)device << 16)) {
                *out = f;
                return true;
            }
            header = pci_read(f, PCI_HEADER) >> 16 & 0xff;
            if ((header & ~MULTI_FUNCTION) == BRIDGE)
                last = max_of(last, pci_read(f, BRIDGE_BUSES) >> 16 & 0xff);
            if (f.fn == 0 && !(header & MULTI_FUNCTION))
                i += 7;
        }
    return false;
}

/* The bits of a window's register that can be written: they tell its size.  The register keeps its value. */
static uint32_t writable_bits(struct pci_fn f, unsigned reg)
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
    bool     wide = (low & (BAR_IO | BAR_64)) == BAR_64;

    if (n >= NBARS || (wide && n == NBARS - 1))
        return -ENOENT;
    pci_write(f, PCI_COMMAND, command & ~(uint32_t)(PCI_CMD_IO | PCI_CMD_MEMORY)); /* it moves while it is sized */
    bits = writable_bits(f, reg);
    if (wide)
        bits |= (uint64_t)writable_bits(f, reg + 4) << 32;
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
