// SPDX-License-Identifier: MIT
/*
 * benchpages.c - places a benchmark's memory, and finds out where it lies.
 *
 * THEORY      On Homeroom the kernel places memory: on first touch, or at random after madvise(MADV_ACCESS_MANY).
 *             meminfo(2) then returns the lgroup of each page.  The result is printed in the form of the MPO white
 *             paper's Table 3-4.
 *             Linux has neither call.  There touch_random() touches each page of a random array under a memory policy
 *             that prefers a random node, and linuxpages.c finds the nodes of pages.
 * SEE ALSO    user/include/bench.h, docs/memory.md
 */
#include <sys/mman.h>
#include <sys/lgrp_user.h>
#include <sys/processor.h>
#include <sys/syscall.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "homeroom.h"

#define BATCH           MAX_MEMINFO_CNT
#define HUGE_2M         (21 << 26) /* mmap's encoding of 2 MiB pages */
#define P_ALARM         1e-6       /* chi-square: a probability below this is an error */
#define NODES           64         /* Linux: the most nodes */
#define SEED            1          /* Linux: of the generator that chooses nodes */
#define MPOL_DEFAULT_   0          /* <linux/mempolicy.h>, which musl does not have */
#define MPOL_PREFERRED_ 1

const char *const bench_placement_name[BENCH_PLACEMENTS] = {"first", "random", "any"};

void bench_parse_placement(const char *text, bool chosen[BENCH_PLACEMENTS])
{
    chosen[BENCH_FIRST] = strcmp(text, "first") == 0 || strcmp(text, "both") == 0;
    chosen[BENCH_RANDOM] = strcmp(text, "random") == 0 || strcmp(text, "both") == 0;
    chosen[BENCH_ANY] = strcmp(text, "any") == 0;
    if (!chosen[BENCH_FIRST] && !chosen[BENCH_RANDOM] && !chosen[BENCH_ANY])
        bench_die("placement %s: write first, random, both or any", text);
}

/* The node of the caller's CPU; on Homeroom a node is a board. */
static int node_now(void)
{
    unsigned cpu = 0, node = 0;

    return syscall(SYS_getcpu, &cpu, &node, NULL) == 0 ? (int)node : -1;
}

int bench_home_self(void)
{
    lgrpid_t home = gethomelgroup();

    return home != (lgrpid_t)-1 ? home : node_now();
}

int bench_lgroup_now(void)
{
    static signed char lgroup_of[HR_MAXCPU];
    static bool known;
    lgrp_cookie_t cookie;
    int cpu = getcpuid();

    if (cpu < 0)
        return node_now();
    if (!known) { /* several workers may do this at once: all write the same values */
        if ((cookie = lgrp_init(LGRP_VIEW_OS)) == LGRP_COOKIE_NONE)
            return -1;
        for (int lgrp = 0; lgrp < lgrp_nlgrps(cookie); lgrp++) {
            processorid_t cpus[HR_MAXCPU];
            int n = lgrp_cpus(cookie, lgrp, cpus, HR_MAXCPU, LGRP_CONTENT_DIRECT);

            for (int i = 0; i < n; i++)
                lgroup_of[cpus[i]] = (signed char)lgrp;
        }
        lgrp_fini(cookie);
        known = true;
    }
    return lgroup_of[cpu];
}

/* Linux: touches each page under a policy that prefers a random one of the nodes with memory. */
static void touch_random(char *p, size_t bytes, size_t page_size)
{
    static uint64_t state; /* is kept from one array to the next */
    int nodes[NODES], n = 0;

    if (state == 0)
        state = bench_seed(SEED, 0);
    for (int node = 0; node < NODES; node++) {
        unsigned long mask = 1ul << node;

        if (syscall(SYS_set_mempolicy, MPOL_PREFERRED_, &mask, NODES + 1) == 0)
            nodes[n++] = node;
    }
    if (n == 0)
        bench_die("random placement: madvise(MADV_ACCESS_MANY) and set_mempolicy(2) fail: %s",
                  strerror(errno));
    for (size_t at = 0; at < bytes; at += page_size) {
        unsigned long mask = 1ul << nodes[(bench_random(&state) >> 32) % (unsigned)n];

        syscall(SYS_set_mempolicy, MPOL_PREFERRED_, &mask, NODES + 1);
        *(volatile char *)(p + at) = 0;
    }
    syscall(SYS_set_mempolicy, MPOL_DEFAULT_, NULL, 0);
}

void *bench_map(size_t bytes, size_t page_size, enum bench_placement placement)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *p;

    if (page_size != 4096)
        flags |= MAP_HUGETLB | HUGE_2M;
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED)
        bench_die("cannot map %zu bytes: %s", bytes, strerror(errno));
    if (placement == BENCH_RANDOM && madvise(p, bytes, MADV_ACCESS_MANY) != 0) {
        if (errno != EINVAL)
            bench_die("madvise(MADV_ACCESS_MANY): %s", strerror(errno));
        touch_random(p, bytes, page_size);
    }
    return p;
}

void *bench_shared(size_t bytes, bool large)
{
    int flags = MAP_SHARED | MAP_ANONYMOUS | (large ? MAP_HUGETLB | HUGE_2M : 0);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

    if (p == MAP_FAILED && large) {
        printf("no shared memory in large pages (%s): using small pages\n", strerror(errno));
        return bench_shared(bytes, false);
    }
    if (p == MAP_FAILED)
        bench_die("cannot map %zu bytes: %s", bytes, strerror(errno));
    return p;
}

/*
 * The lgroup (Linux: node) of n pages; -1 where it is unknown or the page has another size.  Returns 0; -1 if the
 * system does not return the places of pages.
 */
static int locate(void **where, int n, size_t page_size, int *lgroup)
{
    static const uint_t request[] = {MEMINFO_VLGRP, MEMINFO_VPAGESIZE};
    uint64_t answer[BATCH * 2];
    uint_t valid[BATCH];

    if (meminfo((uint64_t *)where, n, request, 2, answer, valid) != 0) {
        if (errno != ENOSYS)
            bench_die("meminfo: %s", strerror(errno));
        return bench_linux_nodes(where, n, lgroup);
    }
    for (int i = 0; i < n; i++)
        lgroup[i] = valid[i] == 7 && answer[2 * i + 1] == page_size ? (int)answer[2 * i] : -1;
    return 0;
}

bool bench_here(void *page)
{
    int lgroup;

    return locate(&page, 1, 4096, &lgroup) == 0 && lgroup >= 0 && lgroup == bench_lgroup_now();
}

void bench_census_add(struct bench_census *census, const void *array, int n, int workers,
                      size_t part_bytes, size_t page_size)
{
    size_t per_part = part_bytes / page_size, pages = per_part * (size_t)n;

    for (size_t first = 0; first < pages && !census->none; first += BATCH) {
        int count = (int)(pages - first < BATCH ? pages - first : BATCH), lgroup[BATCH];
        void *where[BATCH];

        for (int i = 0; i < count; i++)
            where[i] = (char *)array + (first + (size_t)i) * page_size;
        if (locate(where, count, page_size, lgroup) != 0) {
            census->none = true;
            return;
        }
        for (int i = 0; i < count; i++) {
            census->total++;
            if (lgroup[i] < 0 || lgroup[i] >= HR_MAXLGRP) {
                census->unknown++;
                continue;
            }
            census->in[lgroup[i]]++;
            census->local +=
                bench_home((int)((first + (size_t)i) / per_part) % workers) == lgroup[i];
        }
    }
}

/* Prints for each home lgroup the workers that have it. */
static void print_homes(int n)
{
    int lwps[BENCH_MAX];

    for (int lgrp = 0; lgrp < HR_MAXLGRP; lgrp++) {
        char list[4 * BENCH_MAX];
        int count = 0;

        for (int i = 0; i < n; i++)
            if (bench_home(i) == lgrp)
                lwps[count++] = i;
        if (count > 0)
            printf("home lgroup %02d: %d thread%s: %s\n", lgrp, count, count == 1 ? "" : "s",
                   hr_ranges(list, sizeof list, lwps, (size_t)count));
    }
}

/* As in Table 3-4: three lgroups in a line, only lgroups with pages. */
static void print_breakdown(const struct bench_census *census, int nlgrps)
{
    int column = 0;

    for (int lgrp = 0; lgrp < HR_MAXLGRP; lgrp++) {
        char text[48];

        if (census->in[lgrp] == 0)
            continue;
        snprintf(text, sizeof text, "lgroup %0*d: %lu pages", nlgrps > 10 ? 2 : 1, lgrp,
                 census->in[lgrp]);
        printf(column == 2 ? "%s\n" : "%-24s", text);
        column = (column + 1) % 3;
    }
    if (column != 0)
        printf("\n");
}

/* The probability that a chi-square variable with df degrees of freedom is above x: Q(df/2, x/2). */
static double chi_square_p(double x, int df)
{
    double s = df / 2.0, y = x / 2.0, term, sum;

    if (x <= 0.0)
        return 1.0;
    if (y < s + 1.0) { /* a series for the lower part */
        term = sum = 1.0 / s;
        for (int k = 1; k < 1000 && term > sum * 1e-12; k++)
            sum += term *= y / (s + k);
        return 1.0 - sum * exp(-y + s * log(y) - lgamma(s));
    }
    double low = 1e-300, bb = y + 1.0 - s, c = 1.0 / low, d = 1.0 / bb, h = d;

    for (int k = 1; k < 1000; k++) { /* a continued fraction for the upper part */
        double an = -k * (k - s), step;

        bb += 2.0;
        d = 1.0 / (an * d + bb);
        c = bb + an / c;
        step = d * c;
        h *= step;
        if (fabs(step - 1.0) < 1e-12)
            break;
    }
    return h * exp(-y + s * log(y) - lgamma(s));
}

/*
 * Tests whether the pages are evenly distributed over the lgroups that have memory, and prints the test.  Returns 0,
 * or 1 if they are not.
 */
static int check_spread(const struct bench_census *census, lgrp_cookie_t cookie, int nlgrps)
{
    int with_memory = 0;
    double chi = 0.0, expected, p;

    for (int lgrp = 0; lgrp < nlgrps; lgrp++)
        with_memory += lgrp_mem_size(cookie, lgrp, LGRP_MEM_SZ_INSTALLED, LGRP_CONTENT_ALL) > 0;
    if (with_memory < 2)
        return 0;
    expected = (double)census->total / with_memory;
    for (int lgrp = 0; lgrp < nlgrps; lgrp++)
        if (lgrp_mem_size(cookie, lgrp, LGRP_MEM_SZ_INSTALLED, LGRP_CONTENT_ALL) > 0)
            chi += ((double)census->in[lgrp] - expected) * ((double)census->in[lgrp] - expected) /
                   expected;
    p = chi_square_p(chi, with_memory - 1);
    printf("chi-square over %d lgroups: %.1f, p %.3g\n", with_memory, chi, p);
    return p > P_ALARM ? 0 : 1;
}

int bench_census_report(const struct bench_census *census, int n, enum bench_placement placement)
{
    lgrp_cookie_t cookie = lgrp_init(LGRP_VIEW_OS);
    int nlgrps = cookie == LGRP_COOKIE_NONE ? 1 : lgrp_nlgrps(cookie), bad = 0;

    if (census->none) {
        printf("pages: this system does not show where they are\n");
        return 0;
    }
    if (cookie == LGRP_COOKIE_NONE)
        printf(
            "pages: no lgroups here; what follows are nodes, and a thread's home is where it began\n");
    print_homes(n);
    print_breakdown(census, nlgrps);
    printf("pages on the home of the thread that initialised them: %lu of %lu\n", census->local,
           census->total);
    if (cookie == LGRP_COOKIE_NONE)
        return 0;
    if (census->unknown != 0) {
        printf("%lu pages are not mapped, or have another page size\n", census->unknown);
        bad = 1;
    }
    if (placement == BENCH_FIRST && census->local != census->total)
        bad = 1;
    if (placement == BENCH_RANDOM)
        bad |= check_spread(census, cookie, nlgrps);
    lgrp_fini(cookie);
    return bad;
}
