// SPDX-License-Identifier: MIT
/*
 * panic.h - kernel messages, broken invariants, and the way out.
 */
#ifndef STAT_PANIC_H
#define STAT_PANIC_H

#include "lib/types.h"

/* kprintf - write a line to the console and to the message buffer that dmesg reads.  Any context. */
void kprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* warn - kprintf with Solaris's "WARNING: " in front. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * klog_read - copy the message buffer's last `size` bytes to buf.  Returns the bytes copied.
 * @all    also what was cleared;  @clear  clear what there is now
 */
size_t klog_read(char *buf, size_t size, bool all, bool clear);

/* panic - print reason, registers, symbolised backtrace, each CPU's last events; end the machine. */
noreturn void panic(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * ASSERT - an invariant that must hold; `which` names it, as "I2", from the file's theory comment.
 * On in every build: a broken invariant stops the kernel before it loses anything.
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

/* ksym_lookup - name of the function that holds `addr`, with the offset in *off; NULL if none. */
const char *ksym_lookup(uint64_t addr, uint64_t *off);

/* backtrace_from - print a symbolised backtrace starting at frame pointer `rbp`, `rip` first. */
void backtrace_from(uint64_t rip, uint64_t rbp);

/* verdict - write one line `@...` to the verdict port. */
void verdict(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
