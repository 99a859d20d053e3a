// SPDX-License-Identifier: MIT
/*
 * pci.h - finding devices on the PCI bus, their configuration registers and their windows (BARs).
 *
 * THEORY      Every function of a PCI device has configuration registers in a format that the standard
 *             defines, so that the kernel can find out which devices exist.
 *             They also contain the addresses of the windows (BARs) with the device's own registers.  The
 *             kernel accesses configuration registers through two ports (PCI Local Bus Specification 3.0,
 *             3.2.2.3.2: mechanism 1): the address goes to 0xcf8, the data through 0xcfc.  The firmware has
 *             numbered the buses and placed the windows; the kernel only reads these values.
 * LOCKING     None: only the boot thread uses these functions.  Later writes to entries of an MSI-X table are
 *             done while intr_lock is held.
 * SEE ALSO    drivers/fireplane.c
 */
#ifndef DRIVERS_PCI_H
#define DRIVERS_PCI_H

#include "lib/types.h"

struct pci_fn { /* one function of a device */
    uint8_t bus, dev, fn;
};

enum {                     /* registers, byte offsets; the types follow the specification, 6.1 */
       PCI_ID = 0x00,      /* vendor, device << 16              */
       PCI_COMMAND = 0x04, /* PCI_CMD_*, status << 16           */
       PCI_CLASS = 0x08,   /* revision, interface, sub-class, class << 24 */
       PCI_HEADER = 0x0c,  /* header type << 16                 */
       PCI_BAR0 = 0x10,
       PCI_CAPS = 0x34, /* offset of the first capability    */
       PCI_IRQ = 0x3c,  /* line, pin << 8                    */
};
enum { PCI_CMD_IO = 1, PCI_CMD_MEMORY = 2, PCI_CMD_MASTER = 4 };
enum { PCI_CAPS_MAX = 48 }; /* most capabilities that fit; the list of a broken device may loop */

struct pci_bar {
    uint64_t base, len; /* address and length in bytes; if `io`, the address is a port number */
    bool io;
};

/* pci_read, pci_write - read or write a register of 32 bits; `reg` is its byte offset, a multiple of 4. */
uint32_t pci_read(struct pci_fn f, unsigned reg);
void pci_write(struct pci_fn f, unsigned reg, uint32_t value);
/*
 * pci_find - find the first function with this vendor and device id; it can be behind bridges.
 * false: there is none.
 */
bool pci_find(uint16_t vendor, uint16_t device, struct pci_fn *out);
/*
 * pci_each - call fn(f, vendor | device << 16, arg) for every function until fn returns true.
 * Returns false if fn never returned true.
 */
bool pci_each(bool (*fn)(struct pci_fn f, uint32_t id, void *arg), void *arg);
/*
 * pci_cap - offset of the first capability `id` after the one at offset `after` (0: from
 * the first).  0: none.
 */
unsigned pci_cap(struct pci_fn f, unsigned id, unsigned after);
/* pci_bar - get address and size of window `n`, 0 .. 5.  -ENOENT: the window does not exist, or has no address. */
int pci_bar(struct pci_fn f, unsigned n, struct pci_bar *out);
/* pci_enable - set PCI_CMD_* bits, so that the device responds at its windows, or can access memory. */
void pci_enable(struct pci_fn f, unsigned bits);

/*
 * The message-signalled interrupts of a function (PCI 3.0, 6.8.2).  Each entry of the table is one interrupt.
 */
struct pci_msix {
    struct pci_fn f;
    unsigned cap;             /* offset of the capability             */
    unsigned count;           /* entries                              */
    volatile uint32_t *table; /* four words each                      */
};
/*
 * pci_msix_open - map the table and mask all entries.  0, -ENODEV: the function has no MSI-X table.
 * Boot only.
 */
int pci_msix_open(struct pci_fn f, struct pci_msix *out);
/*
 * pci_msix_handle - make interrupt `i` call fn(arg) on CPU `cpu` or near it from now on.  The interrupt can
 *                   move to another CPU later, so `m` and `name` must stay valid.  0, or -EBUSY: no vector is
 *                   left.
 * pci_msix_enable - make the function send messages instead of using its interrupt line.
 */
int pci_msix_handle(struct pci_msix *m, unsigned i, unsigned cpu, void (*fn)(void *), void *arg,
                    const char *name);
void pci_msix_enable(struct pci_msix *m);

#endif
