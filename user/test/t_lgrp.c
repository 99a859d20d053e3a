// SPDX-License-Identifier: MIT
/*
 * t_lgrp.c - homes, placement and migration, through the calls that a program has.
 *
 * Runs on any number of boards; on one board the tests that need two are skipped.  Needs root.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/lgrp_user.h>
#include <sys/mman.h>
#include <sys/processor.h>
#include <sys/pset.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "homeroom.h"

#define PAGE    4096
#define HUGE    (2u << 20)
#define RW      (PROT_READ | PROT_WRITE)
#define ANON    (MAP_PRIVATE | MAP_ANONYMOUS)
#define NOWHERE (-1) /* the lgroup of a page that is not in memory */

static char *map(size_t bytes, int flags)
{
    char *p = mmap(NULL, bytes, RW, flags, -1, 0);

    EXPECT(p != MAP_FAILED);
    return p;
}

static int nlgrps(void)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    int n = lgrp_nlgrps(cookie);

    lgrp_fini(cookie);
    return n;
}

static void need_boards(void)
{
    if (nlgrps() < 2)
        SKIP("needs two lgroups");
}

/* The i-th CPU of an lgroup; -1 if it has fewer. */
static int cpu_of(int lgrp, int i)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    processorid_t cpus[HR_MAXCPU];
    int n = lgrp_cpus(cookie, lgrp, cpus, HR_MAXCPU, LGRP_CONTENT_DIRECT);

    lgrp_fini(cookie);
    return i < n ? cpus[i] : -1;
}

static void bind_to(int cpu)
{
    EXPECT_EQ(processor_bind(P_LWPID, (id_t)P_MYID, cpu, NULL), 0);
}

/* Finds two lgroups that have CPUs and memory; skips the test if there are none. */
static void two_lgroups(int *first, int *second)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    int n = lgrp_nlgrps(cookie), found[2], nfound = 0;

    for (int id = 0; id < n && nfound < 2; id++)
        if (cpu_of(id, 0) >= 0 &&
            lgrp_mem_size(cookie, id, LGRP_MEM_SZ_FREE, LGRP_CONTENT_ALL) > 64 << 20)
            found[nfound++] = id;
    lgrp_fini(cookie);
    if (nfound < 2)
        SKIP("needs two lgroups with CPUs and memory");
    *first = found[0];
    *second = found[1];
}

/* One request about one address; *valid gets its validity word. */
static uint64_t ask(const void *p, uint_t request, uint_t *valid)
{
    uint64_t address = (uint64_t)p, answer = 0;

    EXPECT_EQ(meminfo(&address, 1, &request, 1, &answer, valid), 0);
    return answer;
}

static int lgroup_of(const void *p)
{
    uint_t valid;
    uint64_t lgrp = ask(p, MEMINFO_VLGRP, &valid);

    return valid == 3 ? (int)lgrp : NOWHERE;
}

static void touch(volatile char *p, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        p[at] = 1;
}

/* Every page must be in lgroup `lgrp`. */
static void expect_all_in(const char *p, size_t bytes, int lgrp)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        EXPECT_EQ(lgroup_of(p + at), lgrp);
}

/* The pages must be spread: no lgroup has more than three times its share. */
static void expect_spread(const char *p, size_t bytes)
{
    size_t in[HR_MAXLGRP] = {0}, most = 0;
    int n = nlgrps(), used = 0;

    for (size_t at = 0; at < bytes; at += PAGE) {
        int lgrp = lgroup_of(p + at);

        EXPECT(lgrp >= 0 && lgrp < n);
        in[lgrp]++;
    }
    for (int lgrp = 0; lgrp < n; lgrp++) {
        used += in[lgrp] > 0;
        most = in[lgrp] > most ? in[lgrp] : most;
    }
    EXPECT(used >= 2);
    EXPECT(most <= bytes / PAGE * 3 / (size_t)n + 8);
}

static void topology(void)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    int n = lgrp_nlgrps(cookie), ids[HR_MAXLGRP], cpus = 0;
    long long installed = 0;

    EXPECT(cookie != LGRP_COOKIE_NONE && n >= 1);
    EXPECT_EQ(lgrp_cookie_stale(cookie), 0);
    EXPECT_EQ(lgrp_children(cookie, lgrp_root(cookie), ids, HR_MAXLGRP), n == 1 ? 0 : n);
    for (int id = 0; id < n; id++) {
        cpus += lgrp_cpus(cookie, id, NULL, 0, LGRP_CONTENT_ALL);
        installed += lgrp_mem_size(cookie, id, LGRP_MEM_SZ_INSTALLED, LGRP_CONTENT_ALL);
        EXPECT(lgrp_mem_size(cookie, id, LGRP_MEM_SZ_FREE, LGRP_CONTENT_ALL) <=
               lgrp_mem_size(cookie, id, LGRP_MEM_SZ_INSTALLED, LGRP_CONTENT_ALL));
    }
    EXPECT_EQ(cpus, sysconf(_SC_NPROCESSORS_ONLN));
    EXPECT_EQ(lgrp_cpus(cookie, lgrp_root(cookie), NULL, 0, LGRP_CONTENT_ALL), cpus);
    EXPECT_EQ(lgrp_mem_size(cookie, lgrp_root(cookie), LGRP_MEM_SZ_INSTALLED, LGRP_CONTENT_ALL),
              installed);
    EXPECT_ERR(lgrp_children(cookie, 63, NULL, 0), ESRCH);
    EXPECT_EQ(lgrp_fini(cookie), 0);
    EXPECT_ERR(lgrp_nlgrps(0), EINVAL);
    EXPECT(lgrp_init((lgrp_view_t)9) == LGRP_COOKIE_NONE && errno == EINVAL);
    if (n > 1)
        EXPECT(lgrp_latency(0, 1) > lgrp_latency(0, 0));
}

static void where_am_i(void)
{
    int home = gethomelgroup(), cpu = cpu_of(0, 0);

    EXPECT(home >= 0 && home < nlgrps());
    EXPECT_EQ(gethomegroup(), home);
    EXPECT_EQ(lgrp_home(P_LWPID, (id_t)P_MYID), home);
    EXPECT_EQ(lgrp_home(P_PID, (id_t)P_MYID), home);
    EXPECT_EQ(lgrp_home(P_PID, (id_t)getpid()), home);
    EXPECT_ERR(lgrp_home(P_PID, 999999), ESRCH);
    EXPECT_ERR(lgrp_home(P_PGID, 0), EINVAL);
    bind_to(cpu);
    EXPECT_EQ(getcpuid(), cpu);
}

static void meminfo_answers(void)
{
    char *p = map(4 * PAGE, ANON);
    uint_t request[] = {MEMINFO_VPHYSICAL, MEMINFO_VLGRP,     MEMINFO_VPAGESIZE,
                        MEMINFO_VREPLCNT,  MEMINFO_VREPL | 0, MEMINFO_VREPL_LGRP | 1,
                        0x990000};
    uint64_t in[3] = {(uint64_t)p + 5, (uint64_t)p + PAGE, 0x1000}, out[21];
    uint_t valid[3], v;

    touch(p, PAGE);
    EXPECT_EQ(meminfo(in, 3, request, 7, out, valid), 0);
    /* the address is mapped, and the first four requests were answered */
    EXPECT_EQ(valid[0], 0x1f);
    EXPECT_EQ(valid[1], 1); /* mapped, never touched */
    EXPECT_EQ(valid[2], 0); /* not mapped */
    EXPECT_EQ(out[0] % PAGE, 5);
    EXPECT_EQ(out[1], gethomelgroup());
    EXPECT_EQ(out[2], PAGE);
    EXPECT_EQ(out[3], 0);
    for (int i = 7; i < 21; i++)
        EXPECT_EQ(out[i], 0);
    EXPECT_EQ(ask((void *)out[0], MEMINFO_PLGRP, &v), out[1]);
    EXPECT_EQ(v, 3);
    ask((void *)(1ul << 51), MEMINFO_PLGRP, &v);
    EXPECT_EQ(v, 0);
    EXPECT_EQ(lgroup_of(p + PAGE), NOWHERE); /* the question has not touched it */
}

static void meminfo_errors(void)
{
    uint_t request[32] = {MEMINFO_VLGRP}, *valid = (uint_t *)map(300 * 4, ANON);
    volatile uintptr_t nowhere = 16;
    uint64_t *in = (uint64_t *)map(300 * 8, ANON), *out = (uint64_t *)map(300 * 8, ANON);

    EXPECT_ERR(meminfo(in, 0, request, 1, out, valid), EINVAL);
    EXPECT_ERR(meminfo(in, -1, request, 1, out, valid), EINVAL);
    EXPECT_ERR(meminfo(in, 1, request, 0, out, valid), EINVAL);
    EXPECT_ERR(meminfo(in, 1, request, 32, out, valid), EINVAL);
    EXPECT_ERR(meminfo((void *)nowhere, 1, request, 1, out, valid), EFAULT);
    EXPECT_ERR(meminfo(in, 1, (void *)nowhere, 1, out, valid), EFAULT);
    EXPECT_ERR(meminfo(in, 1, request, 1, (void *)nowhere, valid), EFAULT);
    EXPECT_ERR(meminfo(in, 1, request, 1, out, (void *)nowhere), EFAULT);
    for (int i = 0; i < 300; i++) {
        in[i] = (uint64_t)in;
        valid[i] = 99;
    }
    EXPECT_EQ(meminfo(in, 300, request, 1, out, valid), 0); /* silently cut to 256 */
    EXPECT_EQ(valid[255], 3);
    EXPECT_EQ(valid[256], 99);
}

static void first_touch(void)
{
    int n = nlgrps();

    for (int lgrp = 0; lgrp < n; lgrp++) {
        char *p = map(64 * PAGE, ANON);

        if (cpu_of(lgrp, 0) < 0)
            continue;
        bind_to(cpu_of(lgrp, 0));
        EXPECT_EQ(gethomelgroup(), lgrp);
        for (int i = 0; i < 64; i++) /* every second page by reading */
            if (i % 2)
                (void)*(volatile char *)(p + i * PAGE);
            else
                *(volatile char *)(p + i * PAGE) = 1;
        expect_all_in(p, 64 * PAGE, lgrp);
        touch(p, 64 * PAGE);
        expect_all_in(p, 64 * PAGE, lgrp);
    }
}

static void stack_and_heap_at_home(void)
{
    int a, b;
    char *heap;

    two_lgroups(&a, &b);
    bind_to(cpu_of(b, 0));
    heap = (char *)syscall(SYS_brk, 0); /* musl's sbrk refuses */
    EXPECT_EQ(syscall(SYS_brk, heap + 64 * PAGE), heap + 64 * PAGE);
    heap = (char *)(((uintptr_t)heap + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    touch(heap, 60 * PAGE);
    expect_all_in(heap, 60 * PAGE, b);
}

static void binding(void)
{
    int a, b, old = 99, status;
    volatile uintptr_t nowhere = 16;
    pid_t pid;

    two_lgroups(&a, &b);
    EXPECT_EQ(processor_bind(P_LWPID, (id_t)P_MYID, PBIND_QUERY, &old), 0);
    EXPECT_EQ(old, PBIND_NONE);
    for (int round = 0; round < 4; round++) {
        int lgrp = round % 2 ? a : b;

        EXPECT_EQ(processor_bind(P_PID, (id_t)P_MYID, cpu_of(lgrp, 0), &old), 0);
        EXPECT_EQ(getcpuid(), cpu_of(lgrp, 0));
        EXPECT_EQ(gethomelgroup(), lgrp);
    }
    EXPECT_EQ(old, cpu_of(b, 0));
    if ((pid = fork()) == 0)
        _exit(processor_bind(P_PID, (id_t)P_MYID, PBIND_QUERY, &old) == 0 && old == cpu_of(a, 0) &&
                      gethomelgroup() == a
                  ? 0
                  : 1);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0); /* the binding is inherited */
    EXPECT_EQ(processor_bind(P_PID, (id_t)P_MYID, PBIND_NONE, &old), 0);
    EXPECT_EQ(gethomelgroup(), a); /* unbinding keeps the home */
    EXPECT_ERR(processor_bind(P_PID, (id_t)P_MYID, 254, NULL), EINVAL);
    EXPECT_ERR(processor_bind(P_PID, 999999, 0, NULL), ESRCH);
    EXPECT_ERR(processor_bind(P_PGID, 0, 0, NULL), EINVAL);
    EXPECT_ERR(processor_bind(P_PID, (id_t)P_MYID, PBIND_QUERY, (int *)nowhere), EFAULT);
}

static void migration_to_the_next_toucher(void)
{
    int a, b;
    char *p = map(100 * PAGE, ANON), name[32];
    long long to, from, marked;

    two_lgroups(&a, &b);
    bind_to(cpu_of(a, 0));
    memset(p, 7, 100 * PAGE);
    expect_all_in(p, 100 * PAGE, a);
    bind_to(cpu_of(b, 0));
    touch(p, 100 * PAGE);
    expect_all_in(p, 100 * PAGE, a); /* a touch alone moves nothing */
    snprintf(name, sizeof name, "lgrp%d", b);
    to = hr_kstat_value("lgrp", b, name, "pages migrated to", -1);
    snprintf(name, sizeof name, "lgrp%d", a);
    from = hr_kstat_value("lgrp", a, name, "pages migrated from", -1);
    marked = hr_kstat_value("lgrp", a, name, "pages marked for migration", -1);
    EXPECT(to >= 0 && from >= 0 && marked >= 0);
    EXPECT_EQ(madvise(p, 100 * PAGE, MADV_ACCESS_LWP), 0);
    EXPECT_EQ(hr_kstat_value("lgrp", a, name, "pages marked for migration", -1), marked + 100);
    /* the page moves with the touch, not before; meminfo() is no touch */
    EXPECT(lgroup_of(p) != b);
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(p[i * PAGE + 1], 7);
    expect_all_in(p, 100 * PAGE, b);
    EXPECT(hr_kstat_value("lgrp", a, name, "pages migrated from", -1) >= from + 100);
    snprintf(name, sizeof name, "lgrp%d", b);
    EXPECT(hr_kstat_value("lgrp", b, name, "pages migrated to", -1) >= to + 100);
    /* And back again: each MADV_ACCESS_LWP marks the pages anew. */
    bind_to(cpu_of(a, 0));
    EXPECT_EQ(madvise(p, 50 * PAGE, MADV_ACCESS_LWP), 0);
    touch(p, 100 * PAGE);
    expect_all_in(p, 50 * PAGE, a);
    expect_all_in(p + 50 * PAGE, 50 * PAGE, b);
}

/* Advice of another process does not move pages that this process has locked. */
static void locked_pages_stay(void)
{
    char *p = map(16 * PAGE, MAP_SHARED | MAP_ANONYMOUS);
    int a, b, status;

    two_lgroups(&a, &b);
    bind_to(cpu_of(a, 0));
    EXPECT_EQ(mlock(p, 8 * PAGE), 0);
    touch(p, 16 * PAGE);
    expect_all_in(p, 16 * PAGE, a);
    if (fork() == 0) {
        bind_to(cpu_of(b, 0));
        _exit(madvise(p, 16 * PAGE, MADV_ACCESS_LWP) != 0 || (touch(p, 16 * PAGE), 0));
    }
    EXPECT(wait(&status) > 0 && status == 0);
    expect_all_in(p, 8 * PAGE, a);
    expect_all_in(p + 8 * PAGE, 8 * PAGE, b);
}

static void random_by_advice(void)
{
    char *p = map(1024 * PAGE, ANON);

    need_boards();
    EXPECT_EQ(madvise(p, 1024 * PAGE, MADV_ACCESS_MANY), 0);
    touch(p, 1024 * PAGE);
    expect_spread(p, 1024 * PAGE);
    EXPECT_EQ(madvise(p, 1024 * PAGE, MADV_ACCESS_LWP), 0);
    touch(p, 1024 * PAGE);
    expect_all_in(p, 1024 * PAGE, gethomelgroup());
    EXPECT_EQ(madvise(p, 512 * PAGE, MADV_ACCESS_MANY), 0); /* splits the segment */
    touch(p, 1024 * PAGE);
    expect_spread(p, 512 * PAGE);
    expect_all_in(p + 512 * PAGE, 512 * PAGE, gethomelgroup());
}

static void advice_errors(void)
{
    char *p = map(3 * PAGE, ANON);

    EXPECT_EQ(madvise(p, 3 * PAGE, MADV_ACCESS_DEFAULT), 0);
    EXPECT_EQ(memcntl(p, 3 * PAGE, MC_ADVISE, (caddr_t)MADV_ACCESS_LWP, 0, 0), 0);
    EXPECT_ERR(madvise(p + 1, PAGE, MADV_ACCESS_LWP), EINVAL);
    EXPECT_ERR(madvise(p, PAGE, 0x10009), EINVAL);
    EXPECT_ERR(memcntl(p, 3 * PAGE, 99, (caddr_t)MADV_ACCESS_LWP, 0, 0), EINVAL);
    EXPECT_ERR(memcntl(p, 0, MC_ADVISE, (caddr_t)MADV_ACCESS_LWP, 0, 0), EINVAL);
    EXPECT_ERR(memcntl(p, 3 * PAGE, MC_ADVISE, (caddr_t)MADV_ACCESS_LWP, 1, 0), EINVAL);
    munmap(p + PAGE, PAGE);
    EXPECT_ERR(madvise(p, 3 * PAGE, MADV_ACCESS_LWP), ENOMEM);
}

/* Advice on memory that other processes see needs the right to write to it. */
static void advice_on_others_files(void)
{
    char name[] = "/tmp/t_lgrp.XXXXXX", *p, *q, *r;
    int fd, id;

    NEED_ROOT();
    fd = mkstemp(name);
    id = shmget(IPC_PRIVATE, PAGE, 0600);
    EXPECT(fd >= 0 && id >= 0 && fchmod(fd, 0644) == 0);
    EXPECT_EQ(ftruncate(fd, PAGE), 0);
    EXPECT((p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0)) != MAP_FAILED);
    EXPECT_EQ(madvise(p, PAGE, MADV_ACCESS_MANY), 0);
    fd = open(name, O_RDONLY);
    EXPECT((q = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0)) != MAP_FAILED);
    EXPECT_EQ(madvise(q, PAGE, MADV_ACCESS_MANY), 0);
    EXPECT((p = shmat(id, NULL, SHM_RDONLY)) != (void *)-1);
    shmctl(id, IPC_RMID, NULL);
    unlink(name);
    EXPECT_EQ(setresuid(1000, 1000, 1000), 0); /* the superuser may give it */
    EXPECT_ERR(madvise(q, PAGE, MADV_ACCESS_MANY), EACCES);
    EXPECT_ERR(madvise(q, PAGE, MADV_ACCESS_DEFAULT), EACCES);
    EXPECT_EQ(madvise(q, PAGE, MADV_WILLNEED), 0);
    EXPECT((r = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED);
    EXPECT_EQ(madvise(r, PAGE, MADV_ACCESS_MANY), 0);
    EXPECT_ERR(madvise(p, PAGE, MADV_ACCESS_LWP), EACCES);
}

/* A page or two in an address range that is nearly the whole address space. */
static void map_of_a_sparse_segment(void)
{
    const size_t huge = (size_t)1 << 46, at[] = {0, huge / 2, huge / 2 + PAGE, huge - PAGE};
    char *p = mmap(NULL, huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    char line[256];
    unsigned long start, end, n;
    int seen = 0;
    FILE *f;

    EXPECT(p != MAP_FAILED);
    p[huge / 2] = 1;
    p[huge - PAGE] = 1;
    EXPECT((f = fopen("/proc/self/lgrpmap", "r")) != NULL);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "%lx-%lx %*s %*s %lu", &start, &end, &n) == 3 &&
            start >= (unsigned long)p && end <= (unsigned long)p + huge) {
            EXPECT(seen < 4);
            EXPECT_EQ(start, (unsigned long)p + at[seen]);
            EXPECT_EQ(n, seen % 2);
            seen++;
        }
    EXPECT_EQ(seen, 4);
    fclose(f);
}

static void shared_by_size(void)
{
    size_t small = 4 << 20, large = 9 << 20;
    char *p = map(small, MAP_SHARED | MAP_ANONYMOUS), *q = map(large, MAP_SHARED | MAP_ANONYMOUS);

    need_boards();
    touch(p, small);
    expect_all_in(p, small, gethomelgroup());
    touch(q, large); /* above lgrp_shm_random_thresh, 8 MB */
    expect_spread(q, large);
}

static void large_pages(void)
{
    int a, b;
    char *p = map(4 * HUGE, ANON | MAP_HUGETLB | 21 << 26);
    uint_t valid;

    two_lgroups(&a, &b);
    bind_to(cpu_of(b, 0));
    EXPECT_EQ((uintptr_t)p % HUGE, 0);
    for (int i = 0; i < 4; i++) {
        p[i * HUGE + 12345] = 1;
        EXPECT_EQ(ask(p + i * HUGE, MEMINFO_VPAGESIZE, &valid), HUGE);
        EXPECT_EQ(lgroup_of(p + i * HUGE + HUGE - 1), b);
    }
    bind_to(cpu_of(a, 0));
    EXPECT_EQ(madvise(p, 4 * HUGE, MADV_ACCESS_LWP), 0);
    EXPECT_EQ(p[12345], 1);
    EXPECT_EQ(lgroup_of(p), a); /* moved as a whole */
    EXPECT_EQ(ask(p, MEMINFO_VPAGESIZE, &valid), HUGE);
    EXPECT_EQ(p[HUGE + 12345], 1);
    EXPECT_EQ(lgroup_of(p + HUGE), a);
}

static void affinities(void)
{
    int a, b, home;

    two_lgroups(&a, &b);
    home = gethomelgroup();
    EXPECT_EQ(lgrp_affinity_get(P_LWPID, (id_t)P_MYID, home), LGRP_AFF_NONE);
    for (int round = 0; round < 4; round++) {
        int lgrp = round % 2 ? a : b, other = round % 2 ? b : a;

        EXPECT_EQ(lgrp_affinity_set(P_LWPID, (id_t)P_MYID, other, LGRP_AFF_WEAK), 0);
        EXPECT_EQ(lgrp_affinity_set(P_LWPID, (id_t)P_MYID, lgrp, LGRP_AFF_STRONG), 0);
        EXPECT_EQ(gethomelgroup(), lgrp);
        EXPECT_EQ(lgrp_affinity_get(P_LWPID, (id_t)P_MYID, lgrp), LGRP_AFF_STRONG);
    }
    EXPECT_ERR(lgrp_affinity_set(P_LWPID, (id_t)P_MYID, a, 0x33), EINVAL);
    EXPECT_EQ(lgrp_affinity_set(P_LWPID, (id_t)P_MYID, 63, LGRP_AFF_WEAK), -1);
    EXPECT_ERR(lgrp_affinity_set(P_PID, 999999, a, LGRP_AFF_WEAK), ESRCH);
}

static void board_off_line(void)
{
    int a, b, cpus[64], n = 0;

    NEED_ROOT();
    two_lgroups(&a, &b);
    EXPECT_EQ(lgrp_affinity_set(P_LWPID, (id_t)P_MYID, b, LGRP_AFF_STRONG), 0);
    EXPECT_EQ(lgrp_affinity_set(P_LWPID, (id_t)P_MYID, b, LGRP_AFF_NONE), 0);
    bind_to(cpu_of(b, 0));
    EXPECT_EQ(processor_bind(P_LWPID, (id_t)P_MYID, PBIND_NONE, NULL), 0);
    EXPECT_EQ(gethomelgroup(), b);
    while (n < 64 && (cpus[n] = cpu_of(b, n)) >= 0)
        n++;
    for (int i = 0; i < n; i++)
        EXPECT_EQ(p_online(cpus[i], P_OFFLINE), P_ONLINE);
    EXPECT(gethomelgroup() != b);
    EXPECT_EQ(p_online(cpus[0], P_STATUS), P_OFFLINE);
    EXPECT_ERR(processor_bind(P_LWPID, (id_t)P_MYID, cpus[0], NULL), EINVAL);
    for (int i = 0; i < n; i++)
        EXPECT_EQ(p_online(cpus[i], P_ONLINE), P_OFFLINE);
    EXPECT(gethomelgroup() != b); /* no thread is moved back */
    bind_to(cpus[n - 1]);
    EXPECT_EQ(getcpuid(), cpus[n - 1]);
}

/*
 * An affinity keeps CPUs that were off-line when it was set, also in a child.  sched_getaffinity() returns what was
 * requested.
 */
static void affinity_outlasts_off_line(void)
{
    processorid_t last = (processorid_t)sysconf(_SC_NPROCESSORS_CONF) - 1;
    cpu_set_t others, now, one;
    psetid_t set;
    int status;
    pid_t child;

    NEED_ROOT();
    CPU_ZERO(&others);
    for (int i = 0; i < last; i++)
        CPU_SET(i, &others);
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    EXPECT_EQ(p_online(last, P_OFFLINE), P_ONLINE);
    EXPECT_ERR(sched_setaffinity(0, sizeof one, &one), EINVAL);
    EXPECT_EQ(sched_setaffinity(0, sizeof others, &others), 0);
    EXPECT_EQ(p_online(last, P_ONLINE), P_OFFLINE);
    if ((child = fork()) == 0) {
        EXPECT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
        EXPECT(CPU_EQUAL(&now, &others));
        _exit(CHECK_PASS);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);

    EXPECT_EQ(pset_create(&set), 0); /* it has no CPU of the set, so it does not count there */
    EXPECT_EQ(pset_assign(set, last, NULL), 0);
    EXPECT_EQ(pset_bind(set, P_PID, P_MYID, NULL), 0);
    EXPECT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT(CPU_EQUAL(&now, &one));
    EXPECT_EQ(sched_getcpu(), last);
    EXPECT_EQ(pset_destroy(set), 0);
    EXPECT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT(CPU_EQUAL(&now, &others));

    CPU_SET(0, &one); /* off-line CPUs are left out, and appear again later */
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(p_online(last, P_OFFLINE), P_ONLINE);
    EXPECT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT(CPU_COUNT(&now) == 1 && CPU_ISSET(0, &now));
    EXPECT_EQ(p_online(last, P_ONLINE), P_OFFLINE);
    EXPECT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT(CPU_EQUAL(&now, &one));
}

/* A computing thread whose only CPU goes off-line continues elsewhere and returns with the CPU. */
static void computing_follows_its_cpu(void)
{
    processorid_t last = (processorid_t)sysconf(_SC_NPROCESSORS_CONF) - 1;
    volatile int *cpu = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cpu_set_t one;
    pid_t child;

    NEED_ROOT();
    EXPECT(cpu != MAP_FAILED);
    *cpu = -1;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    if ((child = fork()) == 0) {
        EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        for (;;)
            *cpu = sched_getcpu();
    }
    while (*cpu != last)
        usleep(1000);
    EXPECT_EQ(p_online(last, P_OFFLINE), P_ONLINE);
    while (*cpu == last)
        usleep(1000);
    EXPECT_EQ(p_online(last, P_ONLINE), P_OFFLINE);
    while (*cpu != last)
        usleep(1000);
    EXPECT_EQ(kill(child, SIGKILL), 0);
}

/* When the home board goes off-line, the thread moves to the lgroup of its next affinity, whatever the loads are. */
static void affinity_outlasts_a_board(void)
{
    int cpus[64], n = 0;

    NEED_ROOT();
    if (lgrp_nlgrps(lgrp_init(LGRP_VIEW_OS)) < 3)
        SKIP("fewer than three boards");
    while (n < 64 && (cpus[n] = cpu_of(1, n)) >= 0)
        n++;
    for (int next = 0; next <= 2; next += 2) {
        EXPECT_EQ(lgrp_affinity_set(P_LWPID, (id_t)P_MYID, 1, LGRP_AFF_STRONG), 0);
        EXPECT_EQ(lgrp_affinity_set(P_LWPID, (id_t)P_MYID, next, LGRP_AFF_WEAK), 0);
        EXPECT_EQ(gethomelgroup(), 1);
        for (int i = 0; i < n; i++)
            EXPECT_EQ(p_online(cpus[i], P_OFFLINE), P_ONLINE);
        EXPECT_EQ(gethomelgroup(), next);
        EXPECT_EQ(hr_kstat_value("lgrp", 1, "lgrp1", "cpus", -1), 0);
        for (int i = 0; i < n; i++)
            EXPECT_EQ(p_online(cpus[i], P_ONLINE), P_OFFLINE);
        EXPECT_EQ(hr_kstat_value("lgrp", 1, "lgrp1", "cpus", -1), n);
        EXPECT_EQ(lgrp_affinity_set(P_LWPID, (id_t)P_MYID, next, LGRP_AFF_NONE), 0);
    }
    bind_to(cpu_of(0, 0)); /* also when a binding ends */
    EXPECT_EQ(gethomelgroup(), 0);
    EXPECT_EQ(processor_bind(P_LWPID, (id_t)P_MYID, PBIND_NONE, NULL), 0);
    EXPECT_EQ(gethomelgroup(), 1);
}

static void processor_errors(void)
{
    processor_info_t info;
    int cpu = cpu_of(0, 0);
    volatile uintptr_t nowhere = 16;

    NEED_ROOT();
    EXPECT_ERR(p_online(254, P_STATUS), EINVAL);
    EXPECT_ERR(p_online(-1, P_STATUS), EINVAL);
    EXPECT_ERR(p_online(cpu, 77), EINVAL);
    EXPECT_EQ(p_online(cpu, P_ONLINE), P_ONLINE);
    EXPECT_EQ(processor_info(cpu, &info), 0);
    EXPECT_EQ(info.pi_state, P_ONLINE);
    EXPECT_ERR(processor_info(254, &info), EINVAL);
    EXPECT_ERR(processor_info(cpu, (processor_info_t *)nowhere), EFAULT);
    bind_to(cpu);
    EXPECT_ERR(p_online(cpu, P_OFFLINE), EBUSY); /* an LWP is bound to it */
    EXPECT_EQ(setresuid(1000, 1000, 1000), 0);
    EXPECT_ERR(p_online(cpu, P_OFFLINE), EPERM);
    EXPECT_EQ(p_online(cpu, P_STATUS), P_ONLINE);
}

static void last_cpu_stays(void)
{
    int cpus[HR_MAXCPU], n = 0, error = 0, offline = 0;

    NEED_ROOT();
    for (int cpu = 0; cpu < HR_MAXCPU; cpu++)
        if (p_online(cpu, P_STATUS) == P_ONLINE)
            cpus[n++] = cpu;
    for (int i = 0; i < n; i++) {
        if (p_online(cpus[i], P_OFFLINE) == P_ONLINE)
            offline++;
        else
            error = errno;
    }
    for (int i = 0; i < n; i++)
        p_online(cpus[i], P_ONLINE);
    EXPECT_EQ(error, EBUSY);
    EXPECT(offline < n);
}

static void variables(void)
{
    struct hr_tunable var, old;

    NEED_ROOT();
    EXPECT_EQ(hr_tunable_get("nlgrps", &var), 0);
    EXPECT_EQ(var.value, nlgrps());
    EXPECT_ERR(hr_tunable_get("no_such_variable", &var), ENOENT);
    EXPECT_EQ(hr_tunable_get("lgrp_loadavg_tolerance", &old), 0);
    var = old;
    var.value = 0x1000;
    EXPECT_EQ(hr_tunable_set("lgrp_loadavg_tolerance", &var), 0);
    EXPECT_EQ(hr_tunable_get("lgrp_loadavg_tolerance", &var), 0);
    EXPECT_EQ(var.value, 0x1000);
    EXPECT_EQ(hr_tunable_set("lgrp_loadavg_tolerance", &old), 0);
    EXPECT_EQ(setresuid(1000, 1000, 1000), 0);
    EXPECT_ERR(hr_tunable_set("lgrp_loadavg_tolerance", &old), EPERM);
    EXPECT_EQ(hr_tunable_get("lgrp_loadavg_tolerance", &var), 0);
}

static void statistics(void)
{
    static const char *const expected[] = {
        "lwp migrations",
        "alloc fail",
        "pages migrated from",
        "pages migrated to",
        "default policy",
        "next-touch policy",
        "random policy",
        "round robin policy",
        "cpus",
        "pages free",
        "pages avail",
        "pages installed",
        "load average",
        "threads waiting",
        "threads running",
        "threads at home",
        "dispatches at home",
        "dispatches remote",
        "pages failed to migrate to",
        "pages marked for migration",
    };
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (hr_kstat_value("lgrp", 0, "lgrp0", expected[i], -1) < 0) {
            printf("  no statistic lgrp:0:lgrp0:%s\n", expected[i]);
            _exit(CHECK_FAIL);
        }
    EXPECT_EQ(hr_kstat_value("lgrp", 0, "lgrp0", "cpus", -1),
              lgrp_cpus(cookie, 0, NULL, 0, LGRP_CONTENT_ALL));
    EXPECT_EQ(hr_kstat_value("lgrp", 0, "lgrp0", "pages installed", -1) * PAGE,
              lgrp_mem_size(cookie, 0, LGRP_MEM_SZ_INSTALLED, LGRP_CONTENT_ALL));
    EXPECT(hr_kstat_value("lgrp", 0, "lgrp0", "pages avail", -1) <
           /* the kernel's image takes some of it */
           hr_kstat_value("lgrp", 0, "lgrp0", "pages installed", -1));
    EXPECT(hr_kstat_value("lgrp", 0, "lgrp0", "pages avail", -1) >
           hr_kstat_value("lgrp", 0, "lgrp0", "pages free", -1));
}

/* A forked child gets a new home: children spread by load instead of staying with their parent. */
static void children_spread(void)
{
    int fd[2], seen = 0, homes[HR_MAXLGRP] = {0};
    unsigned char home;

    need_boards();
    EXPECT_EQ(pipe(fd), 0);
    for (int i = 0; i < 32; i++) {
        if (fork() == 0) {
            home = (unsigned char)gethomelgroup();
            if (write(fd[1], &home, 1) != 1)
                _exit(1);
            pause();
        }
    }
    for (int i = 0; i < 32; i++) {
        EXPECT_EQ(read(fd[0], &home, 1), 1);
        seen += homes[home]++ == 0;
    }
    EXPECT(seen >= 2);
}

static void scheduling_class(void)
{
    struct hr_pcinfo info = {0}, fixed = {.cls = HR_CLASS_FX, .upri = 30};

    NEED_ROOT();
    EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_GET, &info), 0);
    EXPECT(info.cls == HR_CLASS_TS || info.cls == HR_CLASS_IA);
    EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fixed), 0);
    EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_GET, &info), 0);
    EXPECT(info.cls == HR_CLASS_FX && info.upri == 30);
    fixed.upri = 1000;
    EXPECT_ERR(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fixed), EINVAL);
    EXPECT_ERR(hr_priocntl(HR_P_PID, 999999, PC_GET, &info), ESRCH);
}

/* Solaris's 60 real-time priorities are returned as they were set, and Linux's calls return them, too. */
static void real_time_priorities(void)
{
    struct hr_pcinfo info, rt = {.cls = HR_CLASS_RT};
    struct sched_param p;
    int last = 0;

    NEED_ROOT();
    for (rt.upri = 0; rt.upri <= 59; rt.upri++) {
        EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &rt), 0);
        EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_GET, &info), 0);
        EXPECT(info.cls == HR_CLASS_RT && info.upri == rt.upri && info.globpri == 100 + rt.upri);
        EXPECT_EQ(syscall(SYS_sched_getscheduler, 0), SCHED_RR);
        EXPECT_EQ(syscall(SYS_sched_getparam, 0, &p), 0);
        EXPECT(p.sched_priority > last && p.sched_priority <= 99);
        last = p.sched_priority;
    }
    EXPECT_EQ(last, 99);
    EXPECT_ERR(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &rt), EINVAL);
    rt.upri = -1;
    EXPECT_ERR(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &rt), EINVAL);
}

/* Only the superuser takes a process out of the fair-share class, with any call. */
static void fair_share_is_not_left(void)
{
    struct hr_pcinfo info, fair = {.cls = HR_CLASS_FSS}, ts = {.cls = HR_CLASS_TS},
                           fx = {.cls = HR_CLASS_FX};
    struct sched_param p = {0};
    int status;
    pid_t child;

    NEED_ROOT();
    if ((child = fork()) == 0) {
        EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fair), 0);
        EXPECT_EQ(setuid(54321), 0);
        EXPECT_ERR(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &ts), EPERM);
        EXPECT_ERR(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fx), EPERM);
        EXPECT_ERR(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &p), EPERM);
        EXPECT_ERR(syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &p), EPERM);
        EXPECT_ERR(syscall(SYS_sched_setparam, 0, &p), EPERM);
        EXPECT_EQ(setpriority(PRIO_PROCESS, 0, 5), 0);
        fair.upri = -20;
        EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fair), 0);
        EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_GET, &info), 0);
        EXPECT_EQ(info.cls, HR_CLASS_FSS);
        _exit(CHECK_PASS);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

/*
 * Shares belong to a user: the superuser sets them, all processes of the user have them, and they outlast these
 * processes.
 */
static void shares_belong_to_a_user(void)
{
    enum { USER = 54321 };
    struct hr_pcinfo info = {0}, fair = {.cls = HR_CLASS_FSS}, own;
    int status;
    pid_t child;

    NEED_ROOT();
    EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_GET, &own), 0);
    if ((child = fork()) == 0) {
        EXPECT_EQ(setuid(USER), 0);
        fair.shares = 65535;
        EXPECT_ERR(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fair), EPERM);
        fair.cls = HR_CLASS_TS;
        EXPECT_ERR(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fair), EPERM);
        /* the shares that it has; but the class may be set by root only */
        fair = (struct hr_pcinfo){.cls = HR_CLASS_FSS, .shares = 1};
        EXPECT_ERR(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fair), EPERM);
        kill(getpid(), SIGSTOP);
        _exit(CHECK_PASS);
    }
    EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
    EXPECT(WIFSTOPPED(status));
    fair.shares = 7;
    EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)child, PC_SET, &fair), 0);
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_GET, &info), 0);
    EXPECT_EQ(info.shares, own.shares);
    if ((child = fork()) == 0) {
        EXPECT_EQ(setuid(USER), 0);
        EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_GET, &info), 0);
        EXPECT_EQ(info.shares, 7);
        fair.shares = 8;
        EXPECT_ERR(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fair), EPERM);
        _exit(CHECK_PASS);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    fair = (struct hr_pcinfo){.cls = HR_CLASS_TS};
    if ((child = fork()) == 0) { /* back to the old value */
        EXPECT_EQ(setresuid(USER, 0, 0), 0);
        fair.shares = 1;
        EXPECT_EQ(hr_priocntl(HR_P_PID, (id_t)getpid(), PC_SET, &fair), 0);
        _exit(CHECK_PASS);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

/* Two real-time threads that begin on one CPU soon have one CPU each, although all CPUs compute. */
static volatile int rt_go;
static _Atomic int rt_ready;

static void *real_time_spin(void *arg)
{
    struct sched_param p = {.sched_priority = 50};
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(1, &set);
    EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_RR, &p), 0);
    rt_ready++;
    while (!rt_go)
        usleep(1000);
    CPU_SET(0, &set);
    EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    for (;;)
        ;
    return arg;
}

static void *spin_for_ever(void *arg)
{
    for (;;)
        ;
    return arg;
}

static double clock_seconds(clockid_t clock)
{
    struct timespec now;

    EXPECT_EQ(clock_gettime(clock, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void real_time_pair(void)
{
    struct sched_param p = {.sched_priority = 60};
    double began, ran[2], both = 0;
    clockid_t clock[2];
    cpu_set_t set;
    pthread_t t;

    NEED_ROOT();
    for (int cpu = 0; cpu < 2; cpu++) {
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
        /* this thread stays on that CPU */
        EXPECT_EQ(pthread_create(&t, NULL, spin_for_ever, NULL), 0);
    }
    CPU_SET(0, &set);
    CPU_SET(1, &set);
    EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    for (int i = 0; i < 2; i++) {
        EXPECT_EQ(pthread_create(&t, NULL, real_time_spin, NULL), 0);
        EXPECT_EQ(pthread_getcpuclockid(t, &clock[i]), 0);
    }
    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_RR, &p), 0);
    while (rt_ready < 2)
        usleep(10000);
    rt_go = 1;
    /* 2 if both have a CPU; on a single CPU they would have half of that */
    for (int tries = 0; both < 1.8; tries++) {
        EXPECT(tries < 40);
        began = clock_seconds(CLOCK_MONOTONIC);
        for (int i = 0; i < 2; i++)
            ran[i] = clock_seconds(clock[i]);
        usleep(500000);
        both = 0;
        for (int i = 0; i < 2; i++)
            both += clock_seconds(clock[i]) - ran[i];
        both /= clock_seconds(CLOCK_MONOTONIC) - began;
    }
}

/*
 * SCHED_FIFO: a thread of the same priority waits until the other sleeps, whatever preempts it meanwhile.  SCHED_RR:
 * they take turns.
 */
static volatile int turn_tid[2];
static volatile long turn_count[2];

static void *count_for_ever(void *arg)
{
    long i = (long)arg;

    turn_tid[i] = (int)syscall(SYS_gettid);
    while (!rt_go)
        usleep(1000);
    for (;;)
        turn_count[i]++;
    return NULL;
}

static void first_in_first_out(void)
{
    struct sched_param p = {.sched_priority = 60};
    cpu_set_t set;
    pthread_t t;

    NEED_ROOT();
    CPU_ZERO(&set);
    CPU_SET(1, &set);
    EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p), 0);
    p.sched_priority = 50;
    for (long i = 0; i < 2; i++) {
        EXPECT_EQ(pthread_create(&t, NULL, count_for_ever, (void *)i), 0);
        while (turn_tid[i] == 0)
            usleep(1000);
        EXPECT_EQ(syscall(SYS_sched_setscheduler, turn_tid[i], SCHED_FIFO, &p), 0);
    }
    rt_go = 1;
    for (int i = 0; i < 40; i++) /* the time of four slices */
        usleep(10000);
    EXPECT((turn_count[0] == 0) != (turn_count[1] == 0));
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(syscall(SYS_sched_setscheduler, turn_tid[i], SCHED_RR, &p), 0);
    for (int tries = 0; turn_count[0] == 0 || turn_count[1] == 0; tries++) {
        EXPECT(tries < 40);
        usleep(500000);
    }
}

static const struct check list[] = {
    {"topology", topology},
    {"where_am_i", where_am_i},
    {"meminfo_answers", meminfo_answers},
    {"meminfo_errors", meminfo_errors},
    {"first_touch", first_touch},
    {"stack_and_heap_at_home", stack_and_heap_at_home},
    {"binding", binding},
    {"migration_to_the_next_toucher", migration_to_the_next_toucher},
    {"locked_pages_stay", locked_pages_stay},
    {"random_by_advice", random_by_advice},
    {"advice_errors", advice_errors},
    {"advice_on_others_files", advice_on_others_files},
    {"map_of_a_sparse_segment", map_of_a_sparse_segment},
    {"shared_by_size", shared_by_size},
    {"large_pages", large_pages},
    {"affinities", affinities},
    {"board_off_line", board_off_line},
    {"affinity_outlasts_off_line", affinity_outlasts_off_line},
    {"computing_follows_its_cpu", computing_follows_its_cpu},
    {"affinity_outlasts_a_board", affinity_outlasts_a_board},
    {"processor_errors", processor_errors},
    {"last_cpu_stays", last_cpu_stays},
    {"variables", variables},
    {"statistics", statistics},
    {"children_spread", children_spread},
    {"scheduling_class", scheduling_class},
    {"real_time_priorities", real_time_priorities},
    {"fair_share_is_not_left", fair_share_is_not_left},
    {"shares_belong_to_a_user", shares_belong_to_a_user},
    {"real_time_pair", real_time_pair},
    {"first_in_first_out", first_in_first_out},
};
CHECK_MAIN(list)
