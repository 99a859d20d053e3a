// SPDX-License-Identifier: MIT
/*
 * fireplane.h - the page that the kernel shares with the model of the interconnect.
 *
 * THEORY      The emulator gives every board the same memory latency.  A model in the emulator (a QEMU
 *             plugin) computes what the interconnect of the real machine would cost.  Kernel and model
 *             exchange data in a shared page.
 *             The page is the memory window of an ivshmem device (include/uapi/fireplane.h).  This window is
 *             memory of the host, so it is mapped like RAM and has frame descriptors; programs can map it like
 *             a file.  The model sees only addresses of the emulator, and does not know to which boards they
 *             belong.  So the kernel does one load from each memory range, and announces each range to the
 *             model by a doorbell.
 * LOCKING     None: only the boot CPU calls these functions.
 * SEE ALSO    stat/modelled.h, kernel/fireplane/fpdev.c, docs/fireplane.md
 */
#ifndef DRIVERS_FIREPLANE_H
#define DRIVERS_FIREPLANE_H

#include "lgrp/lgrp.h"
#include "lib/types.h"

/*
 * fireplane_find - look for the device.  Called before mem_init(), which maps the page.  Allocates no memory.
 */
void fireplane_find(void);
/*
 * fireplane_attach - if the page belongs to a model that fits this kernel, use the page (modelled_page), and
 * announce the memory ranges of `topo` to the model.  Called after mem_init().  Prints one line or more if
 * there is a device.
 */
void fireplane_attach(const struct lgrp_topo *topo);

#endif
