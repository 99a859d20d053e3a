// SPDX-License-Identifier: MIT
/*
 * fpdev.h - /dev/fireplane.
 */
#ifndef FIREPLANE_FPDEV_H
#define FIREPLANE_FPDEV_H

/*
 * fpdev_init - register the device.  Called once, after fireplane_attach() and vm_init().  Without the interconnect
 * model the device exists, too, but opening it fails with -ENODEV.
 */
void fpdev_init(void);

#endif
