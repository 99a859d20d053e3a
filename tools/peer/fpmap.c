// SPDX-License-Identifier: MIT
/*
 * fpmap.c - on Linux, tells the interconnect model which guest-physical memory is on which board.
 *
 * THEORY      The model sees the place of an access in QEMU's memory, not its guest-physical address.  It learns the
 *             relation of the two from a load of a known address in each range of memory.  Homeroom's kernel makes
 *             these loads itself.  On Linux process 1 runs this program before anything else.  The ranges and their
 *             boards are in ACPI's SRAT, which Linux exports.  To get a page in a range, the program binds memory to
 *             the board's node and touches it; /proc/self/pagemap gives its physical address.  Linux allocates from the
 *             highest zone of a node first.  So in a node that the PCI hole splits, the program takes memory until a
 *             page lies in the wanted range.
 * INVARIANTS  I1  doorbell and load are one asm statement, so nothing comes between them
 *             I2  no program on Linux can get memory below 1 MiB, so a range that ends there needs no probe
 * USAGE       fpmap       probe all ranges; without a model, do nothing.  -l prints the ranges and an address in each
 * EXIT        0; 1 when a range could not be probed: then one line on standard error names it
 * SEE ALSO    docs/peer.md, include/uapi/fireplane.h (FP_OP_PROBE), drivers/ (the same on Homeroom)
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "uapi/fireplane.h"

#define PAGE         4096ul
#define CHUNK        (4ul << 20)   /* bytes of memory taken at a time in the search for a page */
#define LEAVE_FREE   (24ull << 20) /* of a node; with less, Linux would kill this process */
#define LOW_MEMORY   (1ull << 20)  /* I2 */
#define MAX_RANGES   (2 * FP_MAX_BOARDS)
#define SRAT         "/sys/firmware/acpi/tables/SRAT"
#define SRAT_FIRST   48 /* bytes before the first entry; ACPI 6.4, table 5.67 */
#define SRAT_MEMORY  1  /* type of a memory affinity structure, table 5.70 */
#define SRAT_ENABLED 1u
#define PAGEMAP_PFN  ((1ull << 55) - 1)
#define MPOL_BIND    2 /* <linux/mempolicy.h> */
#define UNANSWERED   2 /* the model does not give this answer */

struct range {
    uint64_t base, length; /* bytes */
    uint32_t board;        /* proximity domain; on these machines also Linux's node */
};

static struct range ranges[MAX_RANGES];
static int nranges;

static void fail(const char *what)
{
    fprintf(stderr, "fpmap: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t number(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    memcpy(&value, at, (size_t)bytes); /* little-endian, as on the host */
    return value;
}

/* Fills in ranges[] from the SRAT.  Returns 0; -1 if the machine has none: then all memory is on one board. */
static int read_srat(void)
{
    static uint8_t table[65536];
    int fd = open(SRAT, O_RDONLY);
    ssize_t size;

    if (fd < 0)
        return -1;
    if ((size = read(fd, table, sizeof table)) < SRAT_FIRST)
        fail(SRAT);
    close(fd);
    for (ssize_t at = SRAT_FIRST;
         at + 2 <= size && table[at + 1] >= 2 && at + table[at + 1] <= size; at += table[at + 1]) {
        const uint8_t *entry = &table[at];
        struct range range = {number(entry + 8, 8), number(entry + 16, 8),
                              (uint32_t)number(entry + 2, 4)};

        if (entry[0] != SRAT_MEMORY || entry[1] < 40 ||
            (number(entry + 28, 4) & SRAT_ENABLED) == 0 || range.base + range.length <= LOW_MEMORY)
            continue; /* I2 */
        if (nranges == MAX_RANGES) {
            errno = E2BIG;
            fail(SRAT);
        }
        ranges[nranges++] = range;
    }
    return 0;
}

/* The shared page; NULL if no model is attached. */
static void *map_page(void)
{
    glob_t found;
    void *page = NULL;

    if (glob("/sys/bus/pci/devices/*", 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc && page == NULL; i++) {
        char path[256], text[16] = "";
        unsigned ids[2] = {0, 0};
        int fd;

        for (int k = 0; k < 2; k++) {
            snprintf(path, sizeof path, "%s/%s", found.gl_pathv[i], k == 0 ? "vendor" : "device");
            if ((fd = open(path, O_RDONLY)) < 0 || read(fd, text, sizeof text - 1) <= 0)
                fail(path);
            close(fd);
            ids[k] = (unsigned)strtoul(text, NULL, 16);
        }
        if (ids[0] != FP_PCI_VENDOR || ids[1] != FP_PCI_DEVICE)
            continue;
        snprintf(path, sizeof path, "%s/enable", found.gl_pathv[i]);
        if ((fd = open(path, O_WRONLY)) < 0 || write(fd, "1", 1) != 1)
            fail(path);
        close(fd);
        snprintf(path, sizeof path, "%s/resource%d", found.gl_pathv[i], FP_PCI_BAR);
        if ((fd = open(path, O_RDWR)) < 0)
            fail(path);
        page = mmap(NULL, FP_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (page == MAP_FAILED)
            fail(path);
        close(fd);
    }
    globfree(&found);
    return page;
}

/* Free bytes in a node. */
static uint64_t node_free(uint32_t node)
{
    char path[64], line[128];
    unsigned long long kib = 0;
    FILE *file;

    snprintf(path, sizeof path, "/sys/devices/system/node/node%u/meminfo", node);
    if ((file = fopen(path, "r")) == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Node %*u MemFree: %llu", &kib) == 1)
            break;
    fclose(file);
    return kib * 1024;
}

/* The physical address of a present page. */
static uint64_t physical(const volatile void *address)
{
    static int fd = -1;
    uint64_t entry = 0;

    if (fd < 0 && (fd = open("/proc/self/pagemap", O_RDONLY)) < 0)
        fail("/proc/self/pagemap");
    if (pread(fd, &entry, sizeof entry, (off_t)((uintptr_t)address / PAGE * sizeof entry)) !=
        sizeof entry)
        fail("/proc/self/pagemap");
    return (entry & PAGEMAP_PFN) * PAGE;
}

/* A page inside the range, present in memory; NULL if the node has none left. */
static volatile uint8_t *page_in(const struct range *range)
{
    unsigned long mask[FP_MAX_BOARDS / 64 + 1] = {0};
    void *taken[(64ul << 30) / CHUNK];
    volatile uint8_t *page = NULL;
    size_t n = 0;

    mask[range->board / 64] = 1ul << range->board % 64;
    while (page == NULL && n < sizeof taken / sizeof taken[0] &&
           node_free(range->board) > LEAVE_FREE + CHUNK) {
        uint8_t *chunk =
            mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (chunk == MAP_FAILED)
            break;
        if (syscall(SYS_mbind, chunk, CHUNK, MPOL_BIND, mask, sizeof mask * 8, 0) != 0)
            fail("mbind");
        taken[n++] = chunk;
        for (size_t at = 0; at < CHUNK && page == NULL; at += PAGE) {
            uint64_t where;

            *(volatile uint8_t *)(chunk + at) = 1;
            where = physical(chunk + at);
            if (where >= range->base && where - range->base < range->length)
                page = chunk + at;
        }
    }
    /* All chunks except the one with the page go back to Linux. */
    for (size_t i = 0; i < n; i++)
        if (page == NULL || i + 1 < n)
            munmap(taken[i], CHUNK);
    return page;
}

/* Probes one range.  Returns 0 or the model's error. */
static uint64_t probe(void *shared, const struct range *range, const volatile uint8_t *page)
{
    volatile struct fp_cpu *slot = FP_CPU(shared, 0);
    uint8_t loaded;

    slot->ret[0] = UNANSWERED;
    slot->arg[0] = physical(page);
    slot->arg[1] = range->base;
    slot->arg[2] = range->length;
    slot->arg[3] = range->board;
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c1\n\tmovb (%2), %0" /* I1 */
                     : "=q"(loaded)
                     : "i"(FP_TAG | FP_OP_PROBE), "r"(page)
                     : "memory");
    return slot->ret[0];
}

int main(int argc, char **argv)
{
    bool list = argc == 2 && strcmp(argv[1], "-l") == 0;
    cpu_set_t first;
    void *shared = map_page();
    int bad = 0;

    if (argc > 1 && !list) {
        fprintf(stderr, "usage: fpmap [-l]\n");
        return 2;
    }
    if (shared == NULL && !list)
        return 0;
    CPU_ZERO(&first);
    CPU_SET(0, &first); /* the CPU whose slot is slot 0 */
    if (sched_setaffinity(0, sizeof first, &first) != 0)
        fail("sched_setaffinity");
    if (read_srat() != 0)
        fail(SRAT);
    for (int i = 0; i < nranges; i++) {
        const struct range *r = &ranges[i];
        const volatile uint8_t *page = page_in(r);
        uint64_t answer;

        if (list) {
            printf("board %u: %#llx-%#llx, a page at %#llx\n", r->board,
                   (unsigned long long)r->base, (unsigned long long)(r->base + r->length),
                   page ? (unsigned long long)physical(page) : 0ull);
            continue;
        }
        if (page != NULL && (answer = probe(shared, r, page)) == 0)
            continue;
        fprintf(stderr, "fpmap: board %u, memory %#llx-%#llx: %s\n", r->board,
                (unsigned long long)r->base, (unsigned long long)(r->base + r->length),
                page == NULL           ? "Linux gives no page of it"
                : answer == UNANSWERED ? "the model does not answer"
                                       : "the model refuses it");
        bad = 1;
    }
    return bad;
}
