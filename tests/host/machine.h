// SPDX-License-Identifier: MIT
/*
 * machine.h - as much of a processor as the memory code needs to run in a program: machine.c.
 */
#ifndef TESTS_HOST_MACHINE_H
#define TESTS_HOST_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* The effects of privileged instructions; defined by the test. */
struct machine_ops {
    void (*invlpg)(uint64_t addr);
    void (*set_cr3)(uint64_t value);
};

/* machine_start - sets the GS base to `gs`. cli and sti do nothing; invlpg and writes of cr3 call `ops`. */
void machine_start(const void *gs, const struct machine_ops *ops);
/* machine_map - maps zeroed memory at a fixed address. */
void machine_map(uint64_t addr, size_t len);

#endif
