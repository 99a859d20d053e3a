// SPDX-License-Identifier: MIT
/*
 * no_model.c - a kernel that does not use the model of the interconnect: there is no /dev/fireplane, and the
 * kernel uses the machine's clock.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "drivers/fireplane.h"
#include "fireplane/fpdev.h"

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
