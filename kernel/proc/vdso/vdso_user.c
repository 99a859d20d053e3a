// SPDX-License-Identifier: MIT
/*
 * vdso.c - system calls that do not enter the kernel: the user code of the vDSO.
 *
 * THEORY      The time is the value of the time-stamp counter, scaled with the parameters in the data page,
 *             which lies before the code.  The numbers of the CPU and its node are in TSC_AUX.  The kernel sets
 *             this register on each CPU to node << 12 | cpu, and any program can read it with RDTSCP.  Other
 *             clocks (CPU time) need the real system call.  This file is compiled as position-independent user
 *             code, linked with vdso.lds, and embedded by vdso_image.S.
 * SEE ALSO    kernel/proc/vdso.c (kernel side), user/test/t_time.c, user/test/t_sys.c
 */
#define HR_VDSO 1
#include "proc/vdso.h"

extern const struct vdso_data vdso_page __attribute__((visibility("hidden")));

struct timespec {
    int64_t sec, nsec;
};
struct timeval {
    int64_t sec, usec;
};

enum { SYS_clock_gettime = 228, CLOCK_REALTIME = 0, CLOCK_MONOTONIC = 1 };
#define NSEC_PER_SEC 1000000000ul
/* Sets of clock ids: the time of day and the time since boot, with their coarse and other variants. */
#define CLOCKS_REAL  (1u << CLOCK_REALTIME | 1u << 5)
#define CLOCKS_MONO  (1u << CLOCK_MONOTONIC | 1u << 4 | 1u << 6 | 1u << 7)

int __vdso_clock_gettime(int clock, struct timespec *ts);
int __vdso_gettimeofday(struct timeval *tv, void *tz);
int64_t __vdso_time(int64_t *t);
int __vdso_getcpu(unsigned *cpu, unsigned *node, void *cache);

/* Nanoseconds since boot, or since 1970 if `real`. */
static inline uint64_t now_ns(bool real)
{
    const volatile struct vdso_data *d = &vdso_page;
    uint32_t seq;
    uint64_t ns;

    do {
        uint32_t lo, hi;

        seq = d->seq;
        __asm__ volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi)::"memory");
        ns = ((uint64_t)hi << 32 | lo) - d->base_tsc;
        ns = (uint64_t)((unsigned __int128)ns * d->mult >> 32) + d->base_ns;
        if (real)
            ns += d->real_offset_ns;
        __asm__ volatile("" ::: "memory");
    } while (__builtin_expect((seq & 1) || seq != d->seq, 0));
    return ns;
}

int __vdso_clock_gettime(int clock, struct timespec *ts)
{
    uint64_t ns;
    long ret;

    if (__builtin_expect((unsigned)clock < 8 && ((CLOCKS_REAL | CLOCKS_MONO) >> clock & 1), 1)) {
        ns = now_ns((CLOCKS_REAL >> clock) & 1);
        ts->sec = (int64_t)(ns / NSEC_PER_SEC);
        ts->nsec = (int64_t)(ns % NSEC_PER_SEC);
        return 0;
    }
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(SYS_clock_gettime), "D"(clock), "S"(ts)
                     : "rcx", "r11", "memory");
    return (int)ret;
}

int __vdso_gettimeofday(struct timeval *tv, void *tz)
{
    uint64_t ns;

    if (tv != 0) {
        ns = now_ns(true);
        tv->sec = (int64_t)(ns / NSEC_PER_SEC);
        tv->usec = (int64_t)(ns % NSEC_PER_SEC / 1000);
    }
    if (tz != 0)
        *(uint64_t *)tz = 0; /* struct timezone: two ints; UTC */
    return 0;
}

int64_t __vdso_time(int64_t *t)
{
    int64_t sec = (int64_t)(now_ns(true) / NSEC_PER_SEC);

    if (t != 0)
        *t = sec;
    return sec;
}

int __vdso_getcpu(unsigned *cpu, unsigned *node, void *cache)
{
    uint32_t aux;

    (void)cache;
    __asm__ volatile("rdtscp" : "=c"(aux)::"rax", "rdx");
    if (cpu != 0)
        *cpu = aux & 0xfff;
    if (node != 0)
        *node = aux >> 12;
    return 0;
}

/* The names without the prefix. */
#define ALIAS(name)                                                                                \
    extern __typeof__(__vdso_##name) name __attribute__((weak, alias("__vdso_" #name)))
ALIAS(clock_gettime);
ALIAS(gettimeofday);
ALIAS(time);
ALIAS(getcpu);
