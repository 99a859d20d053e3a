// SPDX-License-Identifier: MIT
/* fshost.h - what is below the files of kernel/fs when they run as a host program: included before everything else. */
#ifndef TESTS_HOST_FSHOST_H
#define TESTS_HOST_FSHOST_H

#include "tests/host/floor.h"

#include "mem/page.h"

struct host_page {
    struct page pg;
    uint8_t *data;
};
#define page_to_virt(p) ((void *)((struct host_page *)(p))->data)

/* Pages in use, and how many more may be allocated (-1: no limit). */
extern long host_pages, host_page_limit;
/* The number of pages that reserve_spares() can reserve. */
extern uint64_t host_spare_pages;
/* Bytes after which uio_move() faults; -1: never. */
extern long host_fault_after;
/* Signals that the code under test has sent. */
extern int host_signals;

#endif
