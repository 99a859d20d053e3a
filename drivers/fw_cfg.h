// SPDX-License-Identifier: MIT
/*
 * fw_cfg.h - files that QEMU passes to the guest: the launcher's options, the firmware's tables.
 *
 * LOCKING  Every function can be called in any context once this_cpu() works.  None sleeps or allocates memory.
 * SEE ALSO docs/devices.md, drivers/fw_cfg.c
 */
#ifndef DRIVERS_FW_CFG_H
#define DRIVERS_FW_CFG_H

#include "lib/types.h"

#define FW_CFG_NAME_MAX 56 /* the NUL included */

struct fw_cfg_file { /* the device's layout, but with the CPU's byte order */
    uint32_t size;   /* bytes */
    uint16_t sel;    /* selector, for fw_cfg_read() */
    uint16_t reserved;
    char name[FW_CFG_NAME_MAX];
};

/*
 * fw_cfg_find - find a file by its full name.  0: *size (bytes) and *sel are set;  -ENOENT:
 * there is no such file, or no fw_cfg device.
 */
int fw_cfg_find(const char *name, uint32_t *size, uint16_t *sel);

/*
 * fw_cfg_read - copy the first `size` bytes of item `sel` to buf.
 * @buf  lies in the kernel image or the direct map, where contiguous virtual memory is also
 *       contiguous physical memory, as DMA needs; or on a kernel stack, and then the item is read
 * byte by byte Returns 0, -ENODEV (no fw_cfg) or -EIO (the device has reported an error).  Bytes
 * beyond the end of the item read as zero.
 */
int fw_cfg_read(uint16_t sel, void *buf, size_t size);

/* fw_cfg_read_at - like fw_cfg_read(), starting at byte `off` of the item. */
int fw_cfg_read_at(uint16_t sel, uint32_t off, void *buf, size_t size);

/* fw_cfg_file_at - file number `i` of the directory; NULL after the last.  At most 96 files are known. */
const struct fw_cfg_file *fw_cfg_file_at(unsigned i);

#endif
