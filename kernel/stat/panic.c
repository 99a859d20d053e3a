// SPDX-License-Identifier: MIT
/*
 * panic.c - how the machine ends: after a broken invariant, on request, or by the watchdog.
 *
 * THEORY      panic() prints the reason, a backtrace, and, if the trace was on, the last events of each CPU.
 *             Function names come from the table that the second link puts into .ksyms.  Then it reports the
 *             panic through the verdict port and ends QEMU through the isa-debug-exit device.  The other CPUs
 *             are not stopped before that.  A second panic in the meantime only ends the machine.
 * SEE ALSO    tools/ksyms.py; QEMU's isa-debug-exit: exit status is (code << 1) | 1
 */
#include "stat/panic.h"

#include "lib/cpu.h"
#include "lib/printf.h"
#include "stat/log.h"
#include "stat/trace.h"

extern char __kernel_start[], __text_start[], __text_end[];
extern const uint32_t ksyms_count;
extern const uint32_t ksyms_addr[], ksyms_name[];
extern const char ksyms_text[];

static _Atomic int panics;

const char *ksym_lookup(uint64_t addr, uint64_t *off)
{
    uint32_t lo = 0, hi = ksyms_count, rel;

    if (addr < (uint64_t)__text_start || addr >= (uint64_t)__text_end || hi == 0)
        return NULL;
    rel = (uint32_t)(addr - (uint64_t)__kernel_start);
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;

        if (ksyms_addr[mid] <= rel)
            lo = mid;
        else
            hi = mid;
    }
    *off = rel - ksyms_addr[lo];
    return ksyms_text + ksyms_name[lo];
}

/*
 * Prints one line of a backtrace.  For a return address, looks up the function that contains the
 * call before that address.  The reason: if the called function does not return, the call can be
 * the last instruction of its function.
 */
static void print_stack_frame(uint64_t rip, bool is_return)
{
    uint64_t off = 0;
    const char *name = ksym_lookup(rip - is_return, &off);

    kprintf("  [%016lx] %s+%#lx", rip, name != NULL ? name : "?", off + is_return);
}

#define FAR 16384 /* bytes (KSTACK_SIZE): two frames of one stack are less far apart */

/* Prints the callers of a function, starting at its frame pointer. */
static void print_callers(uint64_t rbp)
{
    for (int depth = 0; depth < 24 && rbp >= 0xffff800000000000ul && (rbp & 7) == 0; depth++) {
        const uint64_t *frame = (const uint64_t *)rbp;

        if (frame[1] < (uint64_t)__text_start || frame[1] >= (uint64_t)__text_end)
            break;
        print_stack_frame(frame[1], true);
        if (frame[0] <= rbp ||
            frame[0] - rbp >= FAR) /* in the last frame, frame[0] is a value of the program */
            break;
        rbp = frame[0];
    }
}

void backtrace_from(uint64_t rip, uint64_t rbp)
{
    print_stack_frame(rip, false);
    print_callers(rbp);
}

void panic(const char *fmt, ...)
{
    char reason[256];
    va_list ap;

    irq_disable();
    if (atomic_fetch_add(&panics, 1) > 0)
        machine_exit(EXIT_PANIC);
    log_enter_panic();
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    kprintf("panic: %s", reason);
    print_callers((uint64_t)__builtin_frame_address(0));
    trace_panic();
    verdict("@panic %s", reason);
    machine_exit(EXIT_PANIC);
}

void machine_exit(unsigned code)
{
    irq_disable();
    serial_flush();
    __asm__ volatile("outl %0, %w1" ::"a"(code), "Nd"((uint16_t)0xf4));
    power_off();
    for (;;)
        __asm__ volatile("cli; hlt");
}

void machine_reset(void)
{
    irq_disable();
    serial_flush();
    reset_machine();
    for (;;)
        __asm__ volatile("cli; hlt");
}
