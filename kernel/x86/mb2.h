// SPDX-License-Identifier: MIT
/*
 * mb2.h - what the boot loader hands over, as plain data.
 */
#ifndef X86_MB2_H
#define X86_MB2_H

#include "lib/types.h"

enum { MB2_RAM_MAX = 64 };

struct boot_info {
    const void *rsdp;            /* GRUB's copy, or the firmware's; NULL: none */
    uint64_t rsdp_len;           /* bytes                            */
    uint64_t initrd, initrd_len; /* physical; 0: none         */
    uint64_t info, info_len;     /* the loader's own structure */
    unsigned nram;
    struct {
        uint64_t base, len; /* usable RAM, bytes               */
    } ram[MB2_RAM_MAX];
};

/*
 * mb2_parse - read multiboot2 information, or Xen's hvm_start_info, at physical address `info` (below 4 GiB).
 * -EINVAL when `magic` is of neither, there is no memory map, or what it leads to is not below 4 GiB.
 */
int mb2_parse(uint32_t magic, uint64_t info, struct boot_info *out);

#endif
