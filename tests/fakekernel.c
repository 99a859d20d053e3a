// SPDX-License-Identifier: MIT
/*
 * fakekernel.c - takes the place of the kernel's private calls, so that the commands' output can be tested on the host
 * in milliseconds.
 *
 * THEORY      It is linked before libhomeroom.a, so its hr_call and hr_path replace the library's.  It simulates a
 *             machine of $FAKE_LGRPS boards (2) with four CPUs and 256 MiB each: CPU 5 is off-line, CPU 6 no-intr, CPU
 *             7 cannot change.  CPUs 0 to 2 are in processor set 1, CPU 3 in set 2; set 3 is empty.  Process 77 is
 *             bound to set 1.  Files are below $FAKE_ROOT.  The state lasts as long as the process.
 * SEE ALSO    tests/test_commands.py
 */
#include "homeroom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_PER_BOARD 4
#define BOARD_BYTES    (256ull << 20)
#define STATE_CHANGED  1166552115L /* 12/19/2006 18:15:15 UTC */

static struct {
    const char *name;
    unsigned size;
    uint64_t value;
    uint64_t greatest;
    bool read_only;
} variable[] = {
    {"nlgrps", 4, 2, UINT32_MAX, true},
    {"lgrp_mem_default_policy", 4, 1, 6, false},
    {"lgrp_shm_random_thresh", 8, 0x123456789abcdef0, UINT64_MAX, false},
    {"lgrp_loadavg_tolerance", 4, 0x10000, 1 << 24, false},
    {"minus", 4, 0xfffffffe, UINT32_MAX, false},
};

static int home = 1, affinity[HR_MAXLGRP], binding = PBIND_NONE;

enum { NSETS = 5 }; /* numbers 1 to 4 can be used */
static bool set_used[NSETS] = {false, true, true, true, false};
static int set_of[HR_MAXCPU] = {1, 1, 1, 2, PS_NONE, PS_NONE, PS_NONE, PS_NONE};
static int bound_set = 1; /* of process 77 */

static int nlgrps(void)
{
    const char *text = getenv("FAKE_LGRPS");

    return text != NULL ? atoi(text) : 2;
}

static long fail(int error)
{
    errno = error;
    return -1;
}

static int state_of(int cpu)
{
    return cpu == 5 ? P_OFFLINE : cpu == 6 ? P_NOINTR : P_ONLINE;
}

static long lgrp_info(int id, struct hr_lgrp_info *info)
{
    if (id >= nlgrps())
        return fail(ESRCH);
    memset(info, 0, sizeof *info);
    info->id = id;
    for (int cpu = id * CPUS_PER_BOARD; cpu < (id + 1) * CPUS_PER_BOARD; cpu++) {
        if (state_of(cpu) != P_OFFLINE) {
            info->ncpus++;
            info->cpus[cpu / 64] |= 1ul << cpu % 64;
        }
    }
    info->mem_installed = BOARD_BYTES;
    info->mem_free = BOARD_BYTES / 4 * 3;
    info->mem_base = (unsigned long long)id * BOARD_BYTES;
    info->mem_bound = info->mem_base + BOARD_BYTES;
    info->load = 8191;
    for (int to = 0; to < nlgrps(); to++)
        info->latency[to] = to == id ? 10 : 12;
    return 0;
}

static long lgrp_call(long op, long a1, long a2, long a3, long a4)
{
    switch (op) {
    case LGRP_OP_COUNT:
        return nlgrps();
    case LGRP_OP_GEN:
        return 7;
    case LGRP_OP_INFO:
        return lgrp_info((int)a1, (struct hr_lgrp_info *)a2);
    case LGRP_OP_LWP_HOME:
        return a2 == 1 || a2 == 3 ? home : fail(ESRCH);
    case LGRP_OP_LWP_GET:
        return affinity[a3];
    case LGRP_OP_LWP_SET:
        affinity[a3] = (int)a4;
        if (a4 == LGRP_AFF_STRONG)
            home = (int)a3;
        return 0;
    default:
        return fail(EINVAL);
    }
}

static long tunable(long op, const char *name, struct hr_tunable *var)
{
    for (size_t i = 0; i < sizeof variable / sizeof variable[0]; i++) {
        if (strcmp(variable[i].name, name) != 0)
            continue;
        if (op == TUNABLE_SET && variable[i].read_only)
            return fail(EPERM);
        if (op == TUNABLE_SET && var->value > variable[i].greatest)
            return fail(ERANGE);
        if (op == TUNABLE_SET)
            variable[i].value = var->value;
        *var = (struct hr_tunable){.size = variable[i].size,
                                   .writable = !variable[i].read_only,
                                   .value = variable[i].value,
                                   .greatest = variable[i].greatest};
        return 0;
    }
    return fail(ENOENT);
}

static long cpu_info(int cpu, struct hr_processor_info *info)
{
    *info = (struct hr_processor_info){state_of(cpu), "x86-64", "sse2", 1050, STATE_CHANGED};
    return 0;
}

static bool is_set(long set)
{
    return set > 0 && set < NSETS && set_used[set];
}

static long pset_assign(long set, long cpu, int *old)
{
    if (cpu < 0 || cpu >= nlgrps() * CPUS_PER_BOARD || (set >= 0 && !is_set(set)))
        return fail(EINVAL);
    if (set != PS_QUERY && cpu == 7)
        return fail(EBUSY);
    *old = set_of[cpu];
    if (set != PS_QUERY)
        set_of[cpu] = (int)set;
    return 0;
}

static long pset_bind(long set, long id, int *old)
{
    if (set >= 0 && (!is_set(set) || set == 3))
        return fail(EINVAL);
    if (id != 77 && id != P_MYID)
        return fail(ESRCH);
    if (old != NULL)
        *old = bound_set;
    if (set != PS_QUERY)
        bound_set = (int)set;
    return 0;
}

static long pset_info(long set, int *type, unsigned *n, int *list)
{
    unsigned room = n != NULL ? *n : 0, have = 0;

    if (!is_set(set))
        return fail(EINVAL);
    if (type != NULL)
        *type = PS_PRIVATE;
    for (int cpu = 0; cpu < nlgrps() * CPUS_PER_BOARD; cpu++)
        if (set_of[cpu] == set && have++ < room)
            list[have - 1] = cpu;
    if (n != NULL)
        *n = have;
    return 0;
}

static long pset_call(long number, long a0, long a1, long a2, long a3, long a4)
{
    switch (number) {
    case SYS_pset_create:
        for (int i = 1; i < NSETS; i++)
            if (!set_used[i]) {
                set_used[i] = true;
                *(int *)a0 = i;
                return 0;
            }
        return fail(ENOMEM);
    case SYS_pset_destroy:
        if (!is_set(a0))
            return fail(EINVAL);
        if (a0 == 2)
            return fail(EBUSY);
        set_used[a0] = false;
        return 0;
    case SYS_pset_assign:
        return pset_assign(a0, a1, (int *)a2);
    case SYS_pset_bind:
        return pset_bind(a0, a4 != 0 ? a4 : a2, (int *)a3); /* a4: the process of an LWP */
    case SYS_pset_info:
        return pset_info(a0, (int *)a1, (unsigned *)a2, (int *)a3);
    default: { /* SYS_pset_list */
        unsigned n = 0;

        for (int i = 1; i < NSETS; i++)
            if (set_used[i])
                ((int *)a0)[n++] = i;
        *(unsigned *)a1 = n;
        return 0;
    }
    }
}

long hr_call(long number, long a0, long a1, long a2, long a3, long a4, long a5)
{
    bool is_cpu = a0 >= 0 && a0 < nlgrps() * CPUS_PER_BOARD;

    static char number_text[16];

    (void)a5;
    switch (number) {
    case SYS_lgrp:
        return lgrp_call(a0, a1, a2, a3, a4);
    case SYS_tunable:
        return tunable(a0, (const char *)a1, (struct hr_tunable *)a2);
    case SYS_p_online:
        if (!is_cpu)
            return fail(EINVAL);
        return a0 == 7 && a1 != P_STATUS ? fail(EBUSY) : state_of((int)a0);
    case SYS_processor_info:
        return is_cpu ? cpu_info((int)a0, (struct hr_processor_info *)a1) : fail(EINVAL);
    case SYS_processor_bind:
        if (a1 == 999)
            return fail(ESRCH);
        *(int *)a3 = binding;
        if (a2 != PBIND_QUERY)
            binding = (int)a2;
        return 0;
    case SYS_pset_create:
    case SYS_pset_destroy:
    case SYS_pset_assign:
    case SYS_pset_bind:
    case SYS_pset_info:
    case SYS_pset_list:
        return pset_call(number, a0, a1, a2, a3, a4);
    case SYS_truss:
        if (a0 < 0)
            return 0;
        fcntl((int)a0, F_SETFD, 0); /* the traced script writes the trace itself */
        snprintf(number_text, sizeof number_text, "%ld", a0);
        setenv("FAKE_TRUSS_FD", number_text, 1);
        return 0;
    default:
        return fail(ENOSYS);
    }
}

const char *hr_path(const char *format, ...)
{
    static char path[512];
    const char *root = getenv("FAKE_ROOT");
    int n = snprintf(path, sizeof path, "%s", root != NULL ? root : "");
    va_list ap;

    va_start(ap, format);
    vsnprintf(path + n, sizeof path - (size_t)n, format, ap);
    va_end(ap);
    return path;
}
