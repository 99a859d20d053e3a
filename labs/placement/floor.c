// SPDX-License-Identifier: MIT
/*
 * floor.c - the lab "placement": the parts of the kernel on which the student's code stands.
 *
 * THEORY      The sandbox allows no system call that gets memory, so blocks come from an array.  New and freed blocks
 *             are filled with a pattern, so that code that relies on old contents is found.  cli and sti fault in a
 *             program; the handler skips them.
 */
#include "labs/placement/floor.h"

#include <asm/prctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lgrp/lgrpstat.h"
#include "mem/kmem.h"
#include "mem/usermem.h"
#include "pages/placement.h"
#include "stat/cpustat.h"
#include "stat/panic.h"

enum { BLOCKS = 1024, BLOCK_BYTES = 256, PATTERN = 0xa5 };

static union block {
    uint8_t byte[BLOCK_BYTES];
    max_align_t align;
} block[BLOCKS];
static size_t block_bytes[BLOCKS]; /* 0: the block is free */
static struct usermem account[2];  /* of user 0 and user 1 */
static struct cpu_counted cpu;

struct floor floor_state = {.charge_max = UINT64_MAX};
struct vm_object floor_object;
struct lgrp_counters lgrp_counters[LGRP_MAX];
uint32_t page_colors = 1, trace_enable;

/* abort() is that of labs/sandbox.c */
noreturn void panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    abort();
}

/* ---- memory ---- */

static void floor_check_unlocked(void)
{
    floor_state.misuses += floor_object.lock.owner != floor_object.lock.next;
}

void *kmem_alloc(size_t size)
{
    bool fails = (floor_state.fails & 1) != 0;

    floor_check_unlocked();
    floor_state.fails >>= 1;
    if (size == 0 || size > BLOCK_BYTES)
        panic("kmem_alloc of %zu bytes: this test has blocks of at most %u", size,
              (unsigned)BLOCK_BYTES);
    for (unsigned i = 0; i < BLOCKS && !fails; i++)
        if (block_bytes[i] == 0) {
            block_bytes[i] = size;
            floor_state.nblocks++;
            floor_state.bytes += size;
            return memset(block[i].byte, PATTERN, BLOCK_BYTES);
        }
    return NULL;
}

void *kmem_zalloc(size_t size)
{
    void *p = kmem_alloc(size);

    return p == NULL ? NULL : memset(p, 0, size);
}

void kmem_free(void *p)
{
    size_t offset = (size_t)((uintptr_t)p - (uintptr_t)block), i = offset / sizeof *block;

    floor_check_unlocked();
    if (p == NULL)
        return;
    if (offset >= sizeof block || offset % sizeof *block != 0 || block_bytes[i] == 0)
        panic("kmem_free of what is not allocated: freed twice?");
    floor_state.nblocks--;
    floor_state.bytes -= block_bytes[i];
    block_bytes[i] = 0;
    memset(p, PATTERN, BLOCK_BYTES);
}

struct usermem *usermem_charge(size_t bytes)
{
    struct usermem *payer = &account[floor_state.user];

    floor_check_unlocked();
    if (payer->bytes + bytes > floor_state.charge_max)
        return NULL;
    payer->bytes += bytes;
    return payer;
}

uint64_t floor_charged(unsigned user)
{
    return account[user].bytes;
}

/* ---- functions that other code of segplace.c calls, which no test runs ---- */

struct page *page_alloc(unsigned node, unsigned order, unsigned flags)
{
    (void)node, (void)order, (void)flags;
    panic("page_alloc: not in this test");
}

struct page *place_page_colored(const struct placement *pl, unsigned order, unsigned flags,
                                uint64_t index, unsigned start)
{
    (void)pl, (void)order, (void)flags, (void)index, (void)start;
    panic("place_page_colored: not in this test");
}

/* ---- the CPU, and the kernel's checks of spin locks (HR_TEST) ---- */

void spin_check_acquire(struct spinlock *l, enum spin_how how)
{
    if (l->cpu != 0)
        panic("a CPU takes a spin lock that it holds, and waits for ever");
}

void spin_check_release(struct spinlock *l)
{
    if (l->cpu == 0)
        panic("a spin lock is released that is not held");
}

void floor_prepare(void)
{
    cpu.cpu = (struct cpu){.self = &cpu.cpu, .stat = &cpu.stat};
    if (syscall(SYS_arch_prctl, ARCH_SET_GS, &cpu) != 0) {
        perror("floor_prepare");
        exit(2);
    }
    spin_init(&floor_object.lock, RANK_VM_OBJ);
    list_init(&floor_object.advised);
}
