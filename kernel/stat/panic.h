// SPDX-License-Identifier: MIT
/*
 * panic.h - kernel messages, assertions, and the end of the machine.
 */
#ifndef STAT_PANIC_H
#define STAT_PANIC_H

#include "lib/types.h"

/* kprintf - write a line to the console and to the message buffer that dmesg reads.  Can be called in any context. */
void kprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* warn - kprintf() with the prefix "WARNING: ", as on Solaris. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * klog_read - copy the last `size` bytes of the message buffer to buf.  Returns the number of bytes copied.
 * @all    include messages that were cleared
 * @clear  clear all messages: later calls without @all do not return them
 */
size_t klog_read(char *buf, size_t size, bool all, bool clear);

/*
 * panic - print the reason, a backtrace with names, and the last traced events of each CPU; end the machine.
 */
noreturn void panic(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * ASSERT - panic if the invariant `cond` does not hold.  `which` is the name of the invariant in
 * the file's head comment, such as "I2".  The condition is checked in every build, so that a broken
 * invariant stops the kernel before it can destroy data.
 */
#define ASSERT(cond, which)                                                                        \
    do {                                                                                           \
        if (unlikely(!(cond)))                                                                     \
            panic("%s:%d: invariant %s broken: %s", __FILE__, __LINE__, which, #cond);             \
    } while (0)

/* machine_exit - end QEMU through isa-debug-exit with `code` (EXIT_*), or power off by ACPI. */
enum { EXIT_CLEAN = 0x10, EXIT_PANIC = 0x11, EXIT_WATCHDOG = 0x12 };
noreturn void machine_exit(unsigned code);
/* machine_reset - restart the machine (reboot(2)). */
noreturn void machine_reset(void);

/* ksym_lookup - name of the function that contains `addr`, and the offset in bytes in *off; NULL: none. */
const char *ksym_lookup(uint64_t addr, uint64_t *off);

/* backtrace_from - print the frame of `rip`, then its callers, starting at frame pointer `rbp`. */
void backtrace_from(uint64_t rip, uint64_t rbp);

/* verdict - write one line `@...` to the verdict port, which the launcher and the tests read. */
void verdict(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
