// SPDX-License-Identifier: MIT
/*
 * placed.c - writes to memory whose pages were placed in a given way, and shows in which lgroups they are.
 *
 *     placed PAGES shared       shared memory
 *     placed PAGES advised      shared memory that gets the advice MADV_ACCESS_MANY, but for the half in its middle
 *     placed PAGES MODE NODES   private memory, after set_mempolicy(2): MPOL_* and the set of nodes, as numbers
 *
 * SEE ALSO    labs/placement/tests.py, where QEMU counts the accesses
 */
#include <sys/mman.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PASSES = 32, LGROUPS = 64 };

static void show_lgroups(char *p, size_t pages)
{
    static const uint_t request[] = {MEMINFO_VLGRP};
    size_t count[LGROUPS] = {0};

    for (size_t i = 0; i < pages; i++) {
        uint64_t at = (uint64_t)(p + i * PAGE), lgroup;
        uint_t valid;

        if (meminfo(&at, 1, request, 1, &lgroup, &valid) == 0 && valid == 3 && lgroup < LGROUPS)
            count[lgroup]++;
    }
    for (int i = 0; i < LGROUPS; i++)
        if (count[i] != 0)
            printf("lgroup %d: %zu pages\n", i, count[i]);
}

int main(int argc, char **argv)
{
    size_t pages = argc < 3 ? 0 : strtoul(argv[1], NULL, 0), bytes = pages * PAGE;
    bool shared = pages != 0 && (strcmp(argv[2], "shared") == 0 || strcmp(argv[2], "advised") == 0);
    unsigned long nodes = argc < 4 ? 0 : strtoul(argv[3], NULL, 0);
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED ||
        (!shared && syscall(SYS_set_mempolicy, atoi(argv[2]), &nodes, 65) != 0) ||
        (strcmp(argv[2], "advised") == 0 &&
         (madvise(p, bytes, MADV_ACCESS_MANY) != 0 ||
          madvise(p + pages / 4 * PAGE, pages / 2 * PAGE, MADV_ACCESS_DEFAULT) != 0))) {
        perror("placed");
        return 1;
    }
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < bytes / sizeof(long); i++)
            ((volatile long *)p)[i] = pass;
    show_lgroups(p, pages);
    return 0;
}
