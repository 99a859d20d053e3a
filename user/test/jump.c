// SPDX-License-Identifier: MIT
/*
 * jump.c - jumps to each address, in hexadecimal, that it reads from standard input; the kernel must refuse each.
 *
 * Prints how many were refused.
 * SEE ALSO    tests/test_protection.py
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf back;

static void refused(int sig)
{
    siglongjmp(back, sig);
}

int main(void)
{
    static char stack[65536];
    static volatile int n;
    static unsigned long address;
    const struct sigaction act = {.sa_handler = refused, .sa_flags = SA_ONSTACK};
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};

    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &act, NULL);
    while (scanf("%lx", &address) == 1)
        if (sigsetjmp(back, 1) == 0)
            __asm__ volatile("jmp *%0" ::"r"(address));
        else
            n++;
    printf("%d refused\n", n);
    return 0;
}
