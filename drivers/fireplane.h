// SPDX-License-Identifier: MIT
/*
 * fireplane.h - the page that the interconnect model shares with us: finding it, and telling the model where memory is.
 *
 * THEORY      The page is the memory window of an ivshmem device (include/uapi/fireplane.h).  It is the host's memory,
 *             so it is mapped like RAM and has frame descriptors: programs can map it as they map a file.
 *             The model sees raw addresses of the emulator and learns which board's memory they are by a load from
 *             each memory range, announced by a doorbell.
 * LOCKING     none: boot CPU
 * SEE ALSO    stat/modelled.h, kernel/proc/fpdev.c, docs/fireplane.md
 */
#ifndef DRIVERS_FIREPLANE_H
#define DRIVERS_FIREPLANE_H

#include "lgrp/lgrp.h"
#include "lib/types.h"

/* fireplane_find - look for the device; call before mem_init(), which maps its page.  Needs no memory. */
void fireplane_find(void);
/*
 * fireplane_attach - after mem_init(): if the page is a model's that fits this kernel, use it (modelled_page) and show
 * it the memory ranges of `topo`, one load each.  Prints one line when there is a device.
 */
void fireplane_attach(const struct lgrp_topo *topo);

#endif
