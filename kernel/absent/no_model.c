// SPDX-License-Identifier: MIT
/*
 * no_model.c - a kernel that does not use the model of the interconnect: there is no /dev/fireplane, and the
 * kernel uses the machine's clock.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "drivers/fireplane.h"
#include "fireplane/fpdev.h"
#include "lib/errno.h"
#include "procfs/procfs.h"

void fireplane_find(void)
{
}

void fireplane_attach(const struct lgrp_topo *topo)
{
    (void)topo;
}

void fpdev_init(void)
{
}

PROCFS_SHOW(procfs_show_heat)
{
    (void)n, (void)arg, (void)out;
    return -ENODEV;
}
