// SPDX-License-Identifier: MIT
/*
 * exthost.h - what is below kernel/fs/ext when it runs as a host program: included before everything else.
 *
 * A disk is a file or memory.  It can record all writes and flushes, so that a test can cut the power afterwards.
 */
#ifndef TESTS_HOST_EXTHOST_H
#define TESTS_HOST_EXTHOST_H

#include "tests/host/floor.h"

#include "mem/page.h"

#define page_to_virt(p) ((void *)(p))
#define virt_to_page(v) ((struct page *)((uintptr_t)(v) & PAGE_MASK))

struct ext_fs;
struct ext_inode;
struct disk;

/* One write, or a flush (n == 0), in the order of arrival. */
struct host_write {
    uint64_t sector;
    uint32_t n; /* sectors */
    uint8_t *data;
};

struct disk {
    uint8_t *mem; /* the whole disk: a private or shared mapping of a file, or memory of malloc() */
    uint64_t sectors;
    bool readonly, mapped;
    bool record;
    struct host_write *log;
    size_t nlog;
    long fail_after;     /* reads and writes that still succeed; -1: all */
    unsigned fail_flush; /* the flush that fails: 1 is the next one; 0: none */
    uint64_t bad,
        nbad; /* the first of the sectors that cannot be read or written, and their number */
    uint64_t reads, writes, flushes;
};

/*
 * host_disk_open - opens the file as a disk; with `shared`, writes reach the file.  host_disk_mem - makes a disk from a
 * copy of memory.
 */
struct disk *host_disk_open(const char *path, bool shared);
struct disk *host_disk_mem(const void *data, size_t bytes);
void host_disk_close(struct disk *d);

/* host_all_zero - whether all bytes are zero.  Copies of a disk leave out such chunks. */
enum { HOST_CHUNK = 4096 };
bool host_all_zero(const void *p, size_t bytes);

/*
 * host_privileged - whether the thread in a handle may use the reserved blocks, asked when only these are left; NULL:
 * it may.
 */
extern bool (*host_privileged)(void);

/* The range of a file that a commit last asked to have written, and how often a commit asked. */
extern uint64_t host_ordered_from, host_ordered_to;
extern unsigned host_ordered;

/* Called when a file's pages beyond `size` are dropped; NULL: nothing is called. */
extern void (*host_dropping)(struct ext_inode *i, uint64_t size);

/* The number of waits for memory. */
extern unsigned host_waits;

/* host_mount - mounts the disk.  Returns 0 and sets *out, or the error; host_reason is the reason of a refusal. */
extern char host_reason[256];
int host_mount(struct disk *d, bool rdonly, struct ext_fs **out);
/* host_unmount - returns 0; -EBUSY if an inode is still in use; or the error. */
int host_unmount(struct ext_fs *fs);
/* host_path - the inode of an absolute path, held. */
int host_path(struct ext_fs *fs, const char *path, struct ext_inode **out);
/* host_parent - the directory of the last component, held, and the component's name. */
int host_parent(struct ext_fs *fs, const char *path, struct ext_inode **dir, const char **name);
/* These read and write data without a cache.  They return the number of bytes, or an error. */
long host_read(struct ext_inode *i, void *buf, size_t n, uint64_t off);
long host_write(struct ext_inode *i, const void *buf, size_t n, uint64_t off);
int host_truncate(struct ext_inode *i, uint64_t size);

#endif
