// SPDX-License-Identifier: MIT
/*
 * fw_cfg.h - the files that QEMU hands to the guest: the launcher's options, the firmware's tables.
 *
 * LOCKING  Every function may be called from any context once this_cpu() works; none sleeps or
 *          allocates.
 * SEE ALSO docs/devices.md, drivers/fw_cfg.c
 */
#ifndef DRIVERS_FW_CFG_H
#define DRIVERS_FW_CFG_H

#include "lib/types.h"

#define FW_CFG_NAME_MAX 56 /* the NUL included */

struct fw_cfg_file { /* as the device has it, save for the byte order */
    uint32_t size;   /* bytes */
    uint16_t sel;    /* selector, for fw_cfg_read() */
    uint16_t reserved;
    char name[FW_CFG_NAME_MAX];
};

/* fw_cfg_find - look a file up by its full name.  0 and *size (bytes), *sel; -ENOENT: none, or
 * no fw_cfg. */
int fw_cfg_find(const char *name, uint32_t *size, uint16_t *sel);

/*
 * fw_cfg_read - copy the first `size` bytes of item `sel` to buf.
 * @buf  memory that is contiguous in physical memory: of the kernel image or of the direct map
 * Returns 0, -ENODEV (no fw_cfg) or -EIO (the device refused).  Bytes beyond the item's end
 * read as zero.
 */
int fw_cfg_read(uint16_t sel, void *buf, size_t size);

/* fw_cfg_read_at - as above, beginning `off` bytes into the item. */
int fw_cfg_read_at(uint16_t sel, uint32_t off, void *buf, size_t size);

/* fw_cfg_file_at - file number `i` of the directory, NULL past the last: for listings. */
const struct fw_cfg_file *fw_cfg_file_at(unsigned i);

#endif
