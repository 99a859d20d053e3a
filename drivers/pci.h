// SPDX-License-Identifier: MIT
/*
 * pci.h - finding devices on the PCI bus, their configuration registers and their windows (BARs).
 *
 * THEORY      Configuration space is read and written through two ports (PCI Local Bus Specification 3.0, 3.2.2.3.2:
 *             mechanism 1): the address goes to 0xcf8, the data through 0xcfc.  The firmware has numbered the buses
 *             and placed the windows; here they are only looked up.
 * LOCKING     none: one CPU at a time, while the machine boots; an entry of a table is written under intr_lock
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

struct pci_bar {
    uint64_t base, len; /* bytes; ports if `io` */
    bool io;
};

/* pci_read, pci_write - a register of 32 bits; `reg` is its byte offset, a multiple of 4. */
uint32_t pci_read(struct pci_fn f, unsigned reg);
void pci_write(struct pci_fn f, unsigned reg, uint32_t value);
/* pci_find - the first function with this vendor and device id, behind bridges too.  Returns whether there is one. */
bool pci_find(uint16_t vendor, uint16_t device, struct pci_fn *out);
/* pci_each - call fn(f, vendor | device << 16, arg) for every function, until it returns true.  Whether one did. */
bool pci_each(bool (*fn)(struct pci_fn f, uint32_t id, void *arg), void *arg);
/* pci_cap - offset of the first capability `id` behind the one at `after` (0: of all).  0: there is none. */
unsigned pci_cap(struct pci_fn f, unsigned id, unsigned after);
/* pci_bar - place and size of window `n`, 0 .. 5.  0, or -ENOENT: no such window, or the firmware gave it no place. */
int pci_bar(struct pci_fn f, unsigned n, struct pci_bar *out);
/* pci_enable - let the device answer on its windows, or use memory: set PCI_CMD_* bits. */
void pci_enable(struct pci_fn f, unsigned bits);

/* Message-signalled interrupts of a function (PCI 3.0, 6.8.2). */
struct pci_msix {
    struct pci_fn f;
    unsigned cap;             /* offset of the capability             */
    unsigned count;           /* entries                              */
    volatile uint32_t *table; /* four words each                      */
};
/* pci_msix_open - map the table and mask all.  0, -ENODEV: the function has none.  Boot only. */
int pci_msix_open(struct pci_fn f, struct pci_msix *out);
/*
 * pci_msix_handle - entry `i` calls fn(arg) from now on, on CPU `cpu` or near it, and may move while it is in use;
 * `m` stays.  -EBUSY: no vector is left.  pci_msix_enable - messages instead of the interrupt line.
 */
int pci_msix_handle(struct pci_msix *m, unsigned i, unsigned cpu, void (*fn)(void *), void *arg,
                    const char *name);
void pci_msix_enable(struct pci_msix *m);

#endif
