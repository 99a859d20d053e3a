// SPDX-License-Identifier: MIT
/*
 * linuxpages.c - on Linux, the nodes of pages of the caller's memory.
 *
 * THEORY      Root reads the frame of a page from /proc/self/pagemap, and sysfs lists the memory blocks of each node.
 *             The calls that are made for this question do not serve: move_pages(2) fails for pages that NUMA
 *             balancing has unmapped for a moment to see which thread touches them next, and get_mempolicy(2) touches
 *             the pages.
 * SEE ALSO    user/lib/benchpages.c
 */
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

#define PAGE_BYTES      4096
#define BLOCKS          8192 /* of memory; with blocks of 128 MiB: 1 TiB */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_PFN     ((1ull << 55) - 1)

static unsigned char node_of_block[BLOCKS]; /* node + 1; 0: there is no memory */
static uint64_t block_bytes;
static int pagemap = -1;

/* Reads what does not change: the memory blocks.  Returns 0; -1 if the system does not show it. */
static int learn(void)
{
    char text[32] = "";
    glob_t found;
    int fd = open("/sys/devices/system/memory/block_size_bytes", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    if (read(fd, text, sizeof text - 1) > 0)
        block_bytes = strtoull(text, NULL, 16);
    close(fd);
    if (block_bytes == 0 ||
        glob("/sys/devices/system/node/node*/memory[0-9]*", 0, NULL, &found) != 0)
        return -1;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        unsigned node, block;

        if (sscanf(found.gl_pathv[i], "/sys/devices/system/node/node%u/memory%u", &node, &block) ==
                2 &&
            block < BLOCKS && node < HR_MAXLGRP)
            node_of_block[block] = (unsigned char)(node + 1);
    }
    globfree(&found);
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    return pagemap < 0 ? -1 : 0;
}

int bench_linux_nodes(void *const where[], int n, int node[])
{
    if (pagemap < 0 && learn() != 0)
        return -1;
    for (int i = 0; i < n; i++) {
        uint64_t entry = 0, block;
        off_t at = (off_t)((uintptr_t)where[i] / PAGE_BYTES * sizeof entry);

        node[i] = -1;
        if (pread(pagemap, &entry, sizeof entry, at) != sizeof entry)
            return -1;
        block = (entry & PAGEMAP_PFN) * PAGE_BYTES / block_bytes;
        if ((entry & PAGEMAP_PRESENT) != 0 && (entry & PAGEMAP_PFN) != 0 && block < BLOCKS)
            node[i] = node_of_block[block] - 1;
    }
    return 0;
}
