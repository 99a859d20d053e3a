// SPDX-License-Identifier: MIT
/*
 * sandbox.c - main() of the test program that holds a student's code.
 *
 * THEORY      The process enters seccomp's strict mode first.  From then on the kernel of the host
 *             kills it if it makes another system call than read, write, exit and sigreturn,
 *             whatever the student's code tries.  It reads operations from its input, a line each (a
 *             name, then hexadecimal numbers), runs them, and writes a line of numbers for each.
 *             A crash, and the limit of CPU time, write a line that begins with "?": the signal, the
 *             number of the exception, the address that was accessed, and as places in the program
 *             the instruction and its callers.  A panic writes "!" and its callers.  cli and sti, which
 *             fault here, are skipped.
 * SEE ALSO    sandbox.h, tools/homeroom/course/sandbox.py (the other end)
 */
#include "labs/sandbox.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { NO_SANDBOX = 3, PAGE_FAULT = 14, CALLERS_MAX = 8, STACK_MAX = 8 << 20 };
enum { CLI = 0xfa, STI = 0xfb };
/* Places in gregs[], which the library names under _GNU_SOURCE only. */
enum { RBP = 10, RSP = 15, RIP = 16, TRAPNO = 20 };

extern const char __ehdr_start; /* the linker's: where the program begins */

static char in[1 << 18], out[1 << 18];
static size_t in_len, out_len;
static uint64_t arg[1 << 14];
static char crash_stack[1 << 14];
static uintptr_t stack_end; /* of main() */

/* exit(2), not exit_group(2), which strict mode does not allow */
static _Noreturn void end(long status)
{
    for (;;)
        syscall(SYS_exit, status);
}

static void flush(void)
{
    for (size_t done = 0; done < out_len;) {
        ssize_t n = write(1, out + done, out_len - done);

        if (n <= 0)
            end(1);
        done += (size_t)n;
    }
    out_len = 0;
}

static void put(char c)
{
    if (out_len == sizeof out)
        flush();
    out[out_len++] = c;
}

void sandbox_answer(uint64_t value)
{
    char digits[17];
    size_t n = 0;

    do {
        digits[n++] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value != 0);
    while (n > 0)
        put(digits[--n]);
    put(' ');
}

/* The next line, without its end; the process ends with its input. */
static char *next_line(void)
{
    static size_t used;

    memmove(in, in + used, in_len - used);
    in_len -= used;
    for (;;) {
        char *stop = memchr(in, '\n', in_len);

        if (stop != NULL) {
            *stop = 0;
            used = (size_t)(stop - in) + 1;
            return in;
        }
        ssize_t n = in_len < sizeof in ? read(0, in + in_len, sizeof in - in_len) : 0;

        if (n <= 0)
            end(0);
        in_len += (size_t)n;
    }
}

static unsigned digit_of(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

static void run(char *line)
{
    size_t length = strcspn(line, " "), n = 0;
    char *at = line + length;

    memset(arg, 0, sizeof arg);
    while (*at == ' ' && n < sizeof arg / sizeof *arg) {
        for (at++; *at != ' ' && *at != 0; at++)
            arg[n] = arg[n] << 4 | digit_of(*at);
        n++;
    }
    for (const struct sandbox_op *op = sandbox_ops; op->name != NULL; op++)
        if (strlen(op->name) == length && memcmp(op->name, line, length) == 0) {
            op->run(arg, n);
            put('\n');
            flush();
            return;
        }
    end(2);
}

/* Where the program has this address: not where the host has put the program. */
static void put_place(uintptr_t address)
{
    sandbox_answer(address - (uintptr_t)&__ehdr_start);
}

static bool in_stack(uintptr_t address, uintptr_t top)
{
    return address >= top && address < stack_end && stack_end - top < STACK_MAX && address % 8 == 0;
}

/* The return addresses from a frame pointer on, while it points into the stack of main(), above `top`. */
static void put_callers(uintptr_t frame, uintptr_t top)
{
    for (int n = 0; n < CALLERS_MAX && frame > top && in_stack(frame, top); n++) {
        /* the caller's frame pointer, and the return address */
        const uintptr_t *at = (const uintptr_t *)frame;

        put_place(at[1] - 1); /* in the call */
        top = frame;
        frame = at[0];
    }
}

/* In place of the C library's: a panic ends here, after its text went to the standard error. */
_Noreturn void abort(void)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

    out_len = 0;
    put('!');
    put_callers(frame, frame - 1);
    put('\n');
    flush();
    end(1);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    greg_t *reg = u->uc_mcontext.gregs;
    const uint8_t *ip = (const uint8_t *)reg[RIP];
    uintptr_t top = (uintptr_t)reg[RSP];

    if (sig == SIGSEGV && reg[TRAPNO] != PAGE_FAULT && (*ip == CLI || *ip == STI)) {
        reg[RIP]++;
        return;
    }
    out_len = 0;
    put('?');
    sandbox_answer((uint64_t)sig);
    sandbox_answer((uint64_t)reg[TRAPNO]);
    sandbox_answer((uintptr_t)info->si_addr);
    put_place((uintptr_t)ip);
    if (info->si_addr == (const void *)ip && in_stack(top, top)) /* a call of what is no function */
        put_place(*(const uintptr_t *)top - 1);
    put_callers((uintptr_t)reg[RBP], top);
    put('\n');
    flush();
    end(1);
}

static void catch_faults(void)
{
    static const int signals[] = {SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGXCPU};
    stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof crash_stack};
    struct sigaction sa = {.sa_sigaction = on_fault,
                           .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    stack_end = (uintptr_t)__builtin_frame_address(0);
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &sa, NULL);
}

int main(void)
{
    sandbox_prepare();
    catch_faults();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return NO_SANDBOX;
    memcpy(out, "ready\n", out_len = 6);
    flush();
    for (;;)
        run(next_line());
}
