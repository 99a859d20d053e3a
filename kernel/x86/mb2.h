// SPDX-License-Identifier: MIT
/*
 * mb2.h - the information from the boot loader, as plain data.
 */
#ifndef X86_MB2_H
#define X86_MB2_H

#include "lib/types.h"

enum { MB2_RAM_MAX = 64 };

struct boot_info {
    const void *rsdp;  /* ACPI's root pointer: GRUB's copy, or the firmware's; NULL: none */
    uint64_t rsdp_len; /* bytes                                                           */
    uint64_t initrd,
        initrd_len;          /* physical address, bytes; 0: none                                */
    uint64_t info, info_len; /* physical address and bytes of the loader's own structure        */
    unsigned nram;
    struct {
        uint64_t base, len; /* a range of usable RAM: physical address, bytes; whole pages */
    } ram[MB2_RAM_MAX];
};

/*
 * mb2_parse - read multiboot2 information, or Xen's hvm_start_info, at physical address `info` (below 4 GiB).
 * `magic` shows which of the two it is.  Returns 0, or -EINVAL: `magic` belongs to neither, the memory map has
 * no usable RAM, or hvm_start_info contains an address beyond 4 GiB.
 */
int mb2_parse(uint32_t magic, uint64_t info, struct boot_info *out);

#endif
