// SPDX-License-Identifier: MIT
/*
 * t_numa.c - Linux's calls about memory nodes: mbind, move_pages, migrate_pages, get_mempolicy, /proc/PID/numa_maps.
 *
 * THEORY      A page's node is read with move_pages() without nodes, and with get_mempolicy().  Most tests need two
 *             nodes; they use the first and the last.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#define PAGE    4096ul
#define HUGE    (2ul << 20)
#define RW      (PROT_READ | PROT_WRITE)
#define ANON    (MAP_PRIVATE | MAP_ANONYMOUS)
#define SHARED  (MAP_SHARED | MAP_ANONYMOUS)
#define NOWHERE ((void *)0x7000)
#define BITS    1025 /* `maxnode` of a mask of 1024 bits */
#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif

enum { DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, MANY, STATIC = 1 << 15, RELATIVE = 1 << 14 };
enum { BALANCING = 1 << 13 };
enum { STRICT = 1, MOVE = 2, MOVE_ALL = 4 };
enum { NODE = 1, ADDR = 2, ALLOWED = 4 };

static int nodes, far; /* number of nodes with memory, and the last of them */

/* Sets `nodes` and `far`.  Skips the test if the calls are absent, or there are fewer than `least` nodes. */
static void need_nodes(int least)
{
    unsigned long mask[16] = {0};

    if (syscall(SYS_mbind, NULL, 0, DEFAULT, NULL, 0, 0) != 0)
        SKIP("this kernel has no mbind");
    EXPECT_EQ(syscall(SYS_get_mempolicy, NULL, mask, BITS, NULL, ALLOWED), 0);
    for (nodes = 0; (mask[0] >> nodes & 1) != 0; nodes++)
        ;
    far = nodes - 1;
    if (nodes < least)
        SKIP("needs more nodes");
}

static char *map(size_t bytes, int flags)
{
    char *p = mmap(NULL, bytes, RW, flags, -1, 0);

    EXPECT(p != MAP_FAILED);
    return p;
}

static long bind_to(void *p, size_t bytes, int mode, unsigned long set, unsigned flags)
{
    unsigned long mask[16] = {set};

    return syscall(SYS_mbind, p, bytes, mode, set != 0 ? mask : NULL, set != 0 ? BITS : 0, flags);
}

/* Node of a page, or a negative error. */
static int node_of(void *p)
{
    int status = -99;

    EXPECT_EQ(syscall(SYS_move_pages, 0, 1ul, &p, NULL, &status, 0), 0);
    return status;
}

/* Linux before 6.7 has EFAULT for private memory that was not touched. */
static bool is_absent(int status)
{
    return status == -ENOENT || (status == -EFAULT && !on_homeroom());
}

static void touch(char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE)
        p[i] = (char)(i / PAGE + 1);
}

static void expect_nodes(char *p, size_t bytes, int node)
{
    for (size_t i = 0; i < bytes; i += PAGE)
        EXPECT_EQ(node_of(p + i), node);
}

static void expect_contents(const char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE)
        EXPECT_EQ(p[i], (char)(i / PAGE + 1));
}

/* Moves a page of this process; returns its status. */
static int move_to(void *p, int node, int flags)
{
    int status = -99;
    long r = syscall(SYS_move_pages, 0, 1ul, &p, &node, &status, flags);

    EXPECT_EQ(r, status == -EBUSY || status == -ENOMEM ? 1 : 0);
    return status;
}

/* The policy of an address: mode and flags; the first 64 nodes in *set. */
static int policy_at(void *p, unsigned long *set)
{
    unsigned long mask[16];
    int mode = -1;

    EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, mask, BITS, p, ADDR), 0);
    *set = mask[0];
    return mode;
}

static void expect_policy(void *p, int mode, unsigned long set)
{
    unsigned long got;

    EXPECT_EQ(policy_at(p, &got), mode);
    EXPECT_EQ(got, set);
}

/* The line of /proc/self/numa_maps that begins at an address, in `line`; "": there is none. */
static void numa_line(const void *start, char *line, int size)
{
    FILE *f = fopen("/proc/self/numa_maps", "r");

    EXPECT(f != NULL);
    while (fgets(line, size, f) != NULL)
        if (strtoul(line, NULL, 16) == (unsigned long)start) {
            fclose(f);
            return;
        }
    fclose(f);
    line[0] = '\0';
}

static bool begins_line(const void *start)
{
    char line[8192];

    numa_line(start, line, sizeof line);
    return line[0] != '\0';
}

static void mbind_arguments(void)
{
    unsigned long one[16] = {1}, none[16] = {0}, high[16] = {[15] = 1ul << 63};
    char *p = map(4 * PAGE, ANON);

    need_nodes(1);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, 77, one, BITS, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, -1, one, BITS, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, BIND | STATIC | RELATIVE, one, BITS, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, INTERLEAVE | BALANCING, one, BITS, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, DEFAULT, one, BITS, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, LOCAL, one, BITS, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, BIND, none, BITS, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, BIND, NULL, 0, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, BIND, high, BITS, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, BIND, one, 8 * PAGE + 2, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, BIND, NOWHERE, BITS, 0), EFAULT);
    EXPECT_ERR(syscall(SYS_mbind, p, PAGE, BIND, one, BITS, 8), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p + 1, PAGE, BIND, one, BITS, 0), EINVAL);
    EXPECT_ERR(syscall(SYS_mbind, p, -PAGE, BIND, one, BITS, 0), EINVAL);
    EXPECT_EQ(syscall(SYS_mbind, p, -1ul, BIND, one, BITS, 0), 0); /* Linux rounds that up to 0 */
    EXPECT_ERR(syscall(SYS_mbind, NOWHERE - 0x7000 + PAGE, PAGE, BIND, one, BITS, 0), EFAULT);
    EXPECT_ERR(syscall(SYS_mbind, -PAGE * 2, PAGE, BIND, one, BITS, 0), EFAULT);
    EXPECT_EQ(syscall(SYS_mbind, p, 0ul, BIND, none, BITS, 0), 0);
    EXPECT_ERR(syscall(SYS_mbind, p + 1, 0ul, BIND, one, BITS, 0), EINVAL);
    EXPECT_EQ(munmap(p + PAGE, PAGE), 0);
    EXPECT_ERR(syscall(SYS_mbind, p, 3 * PAGE, BIND, one, BITS, 0), EFAULT);
    EXPECT_ERR(syscall(SYS_mbind, p, 2 * PAGE, BIND, one, BITS, 0), EFAULT);
    EXPECT_ERR(syscall(SYS_mbind, p + PAGE, 2 * PAGE, BIND, one, BITS, 0), EFAULT);
    expect_policy(p, DEFAULT, 0); /* none of these calls has changed anything */
    EXPECT_EQ(syscall(SYS_mbind, p, 1ul, BIND, one, BITS, 0), 0); /* rounded up to a page */
    expect_policy(p, BIND, 1);
    EXPECT_EQ(syscall(SYS_mbind, p, PAGE, DEFAULT, none, BITS, STRICT | MOVE), 0);
    expect_policy(p, DEFAULT, 0);
    if (geteuid() == 0) {
        EXPECT_EQ(bind_to(p, PAGE, BIND, 1, MOVE_ALL), 0);
        EXPECT_EQ(setuid(1234), 0);
        EXPECT_ERR(bind_to(p, PAGE, BIND, 1, MOVE_ALL), EPERM);
        EXPECT_EQ(bind_to(p, PAGE, BIND, 1, MOVE | STRICT), 0);
    }
}

static void policies_are_read_back(void)
{
    char *p;
    int mode;

    need_nodes(2);
    p = map(8 * PAGE, ANON);
    EXPECT_EQ(bind_to(p, PAGE, BIND | STATIC, 1ul << far | 1ul << 63, 0), 0);
    expect_policy(p, BIND | STATIC, 1ul << far | 1ul << 63);
    EXPECT_EQ(bind_to(p + PAGE, PAGE, INTERLEAVE | RELATIVE, 1ul << nodes, 0), 0);
    expect_policy(p + PAGE, INTERLEAVE | RELATIVE, 1ul << nodes);
    EXPECT_EQ(bind_to(p + 2 * PAGE, PAGE, BIND, 1ul << far | 1ul << 63, 0), 0);
    expect_policy(p + 2 * PAGE, BIND, 1ul << far);
    EXPECT_EQ(bind_to(p + 3 * PAGE, PAGE, PREFERRED, 0, 0), 0);
    expect_policy(p + 3 * PAGE, LOCAL, 0);
    EXPECT_EQ(bind_to(p + 4 * PAGE, PAGE, MANY, 3, 0), 0);
    expect_policy(p + 4 * PAGE, MANY, 3);
    expect_policy(p + 5 * PAGE, DEFAULT, 0);
    EXPECT_ERR(bind_to(p, PAGE, BIND, 1ul << 63, 0), EINVAL);
    EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, NULL, 0, p + PAGE, NODE | ADDR), 0);
    EXPECT_EQ(mode, 0); /* bit `nodes` relative to nodes 0 .. far */
    EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0), 0);
    EXPECT_EQ(mode, DEFAULT); /* the thread has none */
    EXPECT_EQ(munmap(p, PAGE), 0);
    EXPECT_ERR(syscall(SYS_get_mempolicy, &mode, NULL, 0, p, ADDR), EFAULT);
    EXPECT_ERR(syscall(SYS_get_mempolicy, &mode, NULL, 0, p, NODE | ADDR), EFAULT);
}

static void new_pages_follow_the_policy(int flags)
{
    const size_t n = 24 * PAGE;
    char *p;
    int count[64] = {0}, other = far - 1;
    unsigned long mask[16];

    need_nodes(2);
    other = far - 1;
    p = map(4 * n, flags);
    EXPECT_EQ(bind_to(p, n, BIND, 1ul << far, 0), 0);
    EXPECT_EQ(bind_to(p + n, n, PREFERRED, 1ul << other, 0), 0);
    EXPECT_EQ(bind_to(p + 2 * n, n, INTERLEAVE, 1ul << far | 1ul << other, 0), 0);
    mask[0] = 1ul << other;
    EXPECT_EQ(syscall(SYS_set_mempolicy, BIND, mask, 65), 0);
    touch(p, 4 * n);
    expect_nodes(p, n, far);
    expect_nodes(p + n, n, other);
    for (size_t i = 0; i < n; i += PAGE) {
        count[node_of(p + 2 * n + i)]++;
        EXPECT(node_of(p + 2 * n + i) != node_of(p + 2 * n + (i ^ PAGE)));
    }
    EXPECT_EQ(count[far], n / PAGE / 2);
    EXPECT_EQ(count[other], n / PAGE / 2);
    expect_nodes(p + 3 * n, n, other); /* no policy: that of the thread */
    EXPECT_EQ(madvise(p, n, MADV_DONTNEED), 0);
    EXPECT_EQ(bind_to(p, n, DEFAULT, 0, 0), 0);
    if (flags == ANON) {
        touch(p, n);
        expect_nodes(p, n, other);
    }
}

static void private_pages(void)
{
    new_pages_follow_the_policy(ANON);
}

static void shared_pages(void)
{
    new_pages_follow_the_policy(SHARED);
}

/* A policy of shared memory holds for each mapping, and for pages that write(2) makes. */
static void policy_of_an_object(void)
{
    char name[] = "/tmp/t_numa.XXXXXX", *p, *q, buf[PAGE];
    int fd, id, status;
    pid_t child;

    need_nodes(2);
    memset(buf, 5, sizeof buf);
    fd = mkstemp(name);
    EXPECT(fd >= 0);
    unlink(name);
    EXPECT_EQ(ftruncate(fd, 32 * PAGE), 0);
    p = mmap(NULL, 32 * PAGE, RW, MAP_SHARED, fd, 0);
    q = mmap(NULL, 16 * PAGE, RW, MAP_SHARED, fd, 16 * PAGE);
    EXPECT_EQ(bind_to(p + 20 * PAGE, 4 * PAGE, BIND, 1ul << far, 0), 0);
    EXPECT_EQ(bind_to(p + 24 * PAGE, 4 * PAGE, BIND, 1, 0), 0);
    expect_policy(q + 4 * PAGE, BIND, 1ul << far);
    expect_policy(q + 3 * PAGE, DEFAULT, 0);
    child = fork();
    if (child == 0) {
        touch(q + 4 * PAGE, 2 * PAGE);
        expect_nodes(q + 4 * PAGE, 2 * PAGE, far);
        _exit(0);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(pwrite(fd, buf, PAGE, 22 * PAGE), PAGE);
    EXPECT_EQ(pwrite(fd, buf, PAGE, 24 * PAGE), PAGE);
    EXPECT_EQ(q[6 * PAGE] + q[8 * PAGE], 10);
    EXPECT_EQ(node_of(q + 6 * PAGE), far);
    EXPECT_EQ(node_of(q + 8 * PAGE), 0);
    EXPECT_EQ(ftruncate(fd, 0), 0); /* the policies go with the contents */
    EXPECT_EQ(ftruncate(fd, 32 * PAGE), 0);
    EXPECT_EQ(bind_to(p, 32 * PAGE, BIND, 1ul << far, 0), 0);
    touch(q, 16 * PAGE);
    expect_nodes(p + 16 * PAGE, 16 * PAGE, -ENOENT); /* this mapping has not touched them */
    touch(p + 16 * PAGE, 16 * PAGE);
    expect_nodes(p + 16 * PAGE, 16 * PAGE, far);

    id = shmget(IPC_PRIVATE, 8 * PAGE, IPC_CREAT | 0600);
    p = shmat(id, NULL, 0);
    EXPECT_EQ(bind_to(p, 8 * PAGE, BIND, 1ul << far, 0), 0);
    EXPECT_EQ(shmdt(p), 0);
    p = shmat(id, NULL, 0);
    EXPECT_EQ(shmctl(id, IPC_RMID, NULL), 0);
    expect_policy(p, BIND, 1ul << far);
    touch(p, 8 * PAGE);
    expect_nodes(p, 8 * PAGE, far);
}

/* Another's file can be mapped for reading, but its nodes cannot be chosen. */
static void a_reader_binds_nothing(void)
{
    char name[] = "/tmp/t_numa.XXXXXX", *p;
    int fd;

    need_nodes(2);
    NEED_ROOT();
    fd = mkstemp(name);
    EXPECT(fd >= 0);
    unlink(name);
    EXPECT_EQ(ftruncate(fd, PAGE), 0);
    p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    EXPECT(p != MAP_FAILED);
    EXPECT_EQ(bind_to(p, PAGE, BIND, 1ul << far, 0), 0);
    EXPECT_EQ(close(fd), 0);
    snprintf(name, sizeof name, "/proc/self/exe");
    fd = open(name, 0);
    EXPECT_EQ(setuid(1234), 0);
    p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    EXPECT(p != MAP_FAILED);
    if (on_homeroom())
        EXPECT_ERR(bind_to(p, PAGE, BIND, 1ul << far, 0), EACCES);
}

static void ranges_split_and_join(void)
{
    char *p, *q;

    need_nodes(2);
    p = mmap((void *)0x30000000, 64 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
    for (size_t i = 16; i < 48; i += 2)
        EXPECT_EQ(bind_to(p + i * PAGE, PAGE, BIND, 1ul << far, 0), 0);
    EXPECT(begins_line(p + 18 * PAGE) && begins_line(p + 19 * PAGE));
    for (size_t i = 17; i < 48; i += 2)
        EXPECT_EQ(bind_to(p + i * PAGE, PAGE, BIND, 1ul << far, 0), 0);
    /* equal neighbours are one range again */
    EXPECT(begins_line(p) && begins_line(p + 16 * PAGE) && begins_line(p + 48 * PAGE));
    EXPECT(!begins_line(p + 18 * PAGE) && !begins_line(p + 19 * PAGE));
    EXPECT_EQ(bind_to(p + 47 * PAGE, 2 * PAGE, BIND, 1, 0), 0);
    expect_policy(p + 46 * PAGE, BIND, 1ul << far);
    expect_policy(p + 48 * PAGE, BIND, 1);
    EXPECT_EQ(mprotect(p + 20 * PAGE, PAGE, PROT_READ), 0);
    EXPECT_EQ(munmap(p + 24 * PAGE, PAGE), 0);
    expect_policy(p + 20 * PAGE, BIND, 1ul << far);
    expect_policy(p + 23 * PAGE, BIND, 1ul << far);
    expect_policy(p + 25 * PAGE, BIND, 1ul << far);
    EXPECT_EQ(mprotect(p + 20 * PAGE, PAGE, RW), 0);
    EXPECT(!begins_line(p + 20 * PAGE));
    EXPECT(mmap(p + 24 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0) == p + 24 * PAGE);
    expect_policy(p + 24 * PAGE, DEFAULT, 0); /* a new mapping has no policy */
    touch(p + 25 * PAGE, 8 * PAGE);
    q = mremap(p + 25 * PAGE, 8 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
    EXPECT(q != MAP_FAILED && q != p + 25 * PAGE);
    expect_policy(q + 15 * PAGE, BIND, 1ul << far);
    touch(q, 16 * PAGE);
    expect_nodes(q, 16 * PAGE, far);
    EXPECT_EQ(bind_to(p + 40 * PAGE, 8 * PAGE, DEFAULT, 0, 0), 0);
    EXPECT_EQ(bind_to(p + 48 * PAGE, 16 * PAGE, DEFAULT, 0, 0), 0);
    EXPECT(!begins_line(p + 48 * PAGE));
}

static void heap_and_stack(void)
{
    char *heap = (char *)syscall(SYS_brk, 0), *here = (char *)((uintptr_t)&heap & -PAGE);

    need_nodes(2);
    heap = (char *)(((uintptr_t)heap + PAGE - 1) & -PAGE);
    EXPECT(syscall(SYS_brk, heap + 2 * PAGE) == (long)heap + 2 * (long)PAGE);
    EXPECT_EQ(bind_to(heap, 2 * PAGE, BIND, 1ul << far, 0), 0);
    EXPECT(syscall(SYS_brk, heap + 8 * PAGE) == (long)heap + 8 * (long)PAGE);
    expect_policy(heap + PAGE, BIND, 1ul << far);
    expect_policy(heap + 2 * PAGE, DEFAULT,
                  0); /* as on Linux, what is added to the heap has no policy */
    EXPECT_EQ(bind_to(here, PAGE, BIND, 1ul << far, MOVE), 0);
    EXPECT_EQ(node_of(here), far);
}

static void fork_keeps_policies(void)
{
    char *p, line[8192];
    int status, fd[2];
    pid_t child;
    ssize_t n;

    need_nodes(2);
    p = map(8 * PAGE, ANON);
    EXPECT_EQ(bind_to(p, 8 * PAGE, BIND, 1ul << far, 0), 0);
    child = fork();
    if (child == 0) {
        expect_policy(p, BIND, 1ul << far);
        touch(p, 8 * PAGE);
        expect_nodes(p, 8 * PAGE, far);
        EXPECT_EQ(bind_to(p, PAGE, DEFAULT, 0, 0), 0); /* of the child only */
        _exit(0);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    expect_policy(p, BIND, 1ul << far);
    EXPECT_EQ(pipe(fd), 0);
    child = fork();
    if (child == 0) {
        dup2(fd[1], 1);
        execlp("cat", "cat", "/proc/self/numa_maps", NULL);
        _exit(1);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child); /* the text fits into the pipe */
    EXPECT_EQ(status, 0);
    n = read(fd[0], line, sizeof line - 1);
    EXPECT(n > 100);
    line[n] = '\0';
    EXPECT(strstr(line, " default") != NULL && strstr(line, "bind") == NULL);
}

static void strict_and_move(void)
{
    char *p;

    need_nodes(2);
    p = map(16 * PAGE, ANON);
    EXPECT_EQ(bind_to(p, 16 * PAGE, BIND, 1, 0), 0);
    touch(p, 8 * PAGE);
    EXPECT_ERR(bind_to(p, 16 * PAGE, BIND, 1ul << far, STRICT), EIO);
    expect_policy(p, BIND, 1); /* unchanged */
    EXPECT_EQ(bind_to(p, 16 * PAGE, BIND, 1 | 1ul << far, STRICT), 0);
    EXPECT_EQ(bind_to(p, 16 * PAGE, BIND, 1ul << far, 0), 0);
    expect_nodes(p, 8 * PAGE, 0); /* nothing moves */
    EXPECT_EQ(bind_to(p, 16 * PAGE, BIND, 1ul << far, MOVE | STRICT), 0);
    expect_nodes(p, 8 * PAGE, far);
    EXPECT(is_absent(node_of(p + 8 * PAGE)));
    expect_contents(p, 8 * PAGE);
    EXPECT_EQ(bind_to(p, 16 * PAGE, PREFERRED, 1, MOVE | STRICT), 0);
    expect_nodes(p, 8 * PAGE, 0);
    EXPECT_EQ(bind_to(p, 16 * PAGE, INTERLEAVE, 1ul << far, MOVE | STRICT), 0);
    expect_nodes(p, 8 * PAGE, far);
    expect_contents(p, 8 * PAGE);
}

/* A relative of fork() also uses the pages: only the superuser can move them, and they move for both. */
static void pages_in_use_by_others(void)
{
    int fd[2], status;
    char *p, c;
    pid_t child;

    need_nodes(2);
    NEED_ROOT();
    p = map(8 * PAGE, ANON);
    EXPECT_EQ(bind_to(p, 8 * PAGE, BIND, 1, 0), 0);
    touch(p, 8 * PAGE);
    EXPECT_EQ(pipe(fd), 0);
    child = fork();
    if (child == 0) {
        EXPECT_EQ(read(fd[0], &c, 1), 1);
        expect_contents(p, 8 * PAGE);
        expect_nodes(p, 8 * PAGE, far);
        _exit(0);
    }
    EXPECT_EQ(move_to(p, far, MOVE), -EACCES);
    EXPECT_EQ(move_to(p, 0, MOVE), 0); /* it is there */
    if (on_homeroom())                 /* Linux says 0, against its manual */
        EXPECT_ERR(bind_to(p, 8 * PAGE, BIND, 1ul << far, MOVE | STRICT), EIO);
    else
        EXPECT_EQ(bind_to(p, 8 * PAGE, BIND, 1ul << far, MOVE), 0);
    expect_policy(p, BIND, 1ul << far); /* pages that do not move leave the policy */
    expect_nodes(p, 8 * PAGE, 0);
    EXPECT_EQ(move_to(p, far, MOVE_ALL), far);
    EXPECT_EQ(bind_to(p, 8 * PAGE, BIND, 1ul << far, MOVE_ALL | STRICT), 0);
    expect_nodes(p, 8 * PAGE, far);
    expect_contents(p, 8 * PAGE);
    EXPECT_EQ(write(fd[1], "x", 1), 1);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(move_to(p, 0, MOVE), 0); /* the only user again */
}

static void move_pages_arguments(void)
{
    char *p = map(4 * PAGE, ANON);
    void *list[4] = {p, p + PAGE + 5, p + 2 * PAGE, NOWHERE};
    int to[4] = {0, 0, 0, 0}, status[4] = {-99, -99, -99, -99};
    siginfo_t info;
    pid_t child;

    need_nodes(1);
    touch(p, 2 * PAGE);
    EXPECT_EQ(syscall(SYS_move_pages, 0, 4ul, list, NULL, status, MOVE), 0);
    EXPECT(status[0] >= 0 && status[0] < nodes && status[1] >= 0 && status[1] < nodes);
    EXPECT(is_absent(status[2]));
    EXPECT_EQ(status[3], -EFAULT);
    EXPECT_EQ(syscall(SYS_move_pages, 0, 4ul, list, to, status, MOVE), 0);
    EXPECT(status[0] == 0 && status[1] == 0 && is_absent(status[2]) && status[3] == -EFAULT);
    EXPECT_EQ(syscall(SYS_move_pages, getpid(), 0ul, NOWHERE, NOWHERE, NOWHERE, 0), 0);
    EXPECT_ERR(syscall(SYS_move_pages, 0, 1ul, list, to, status, STRICT), EINVAL);
    EXPECT_ERR(syscall(SYS_move_pages, 0, 1ul, list, to, status, 8), EINVAL);
    EXPECT_ERR(syscall(SYS_move_pages, 999999, 1ul, list, to, status, 0), ESRCH);
    EXPECT_ERR(syscall(SYS_move_pages, -5, 1ul, list, to, status, 0), ESRCH);
    EXPECT_ERR(syscall(SYS_move_pages, 0, 1ul, NOWHERE, to, status, 0), EFAULT);
    EXPECT_ERR(syscall(SYS_move_pages, 0, 1ul, list, NOWHERE, status, 0), EFAULT);
    EXPECT_ERR(syscall(SYS_move_pages, 0, 1ul, list, to, NULL, 0), EFAULT);
    EXPECT_ERR(syscall(SYS_move_pages, 0, 1ul, list, NULL, NOWHERE, 0), EFAULT);
    for (int i = 0; i < 3; i++) {
        int bad[2] = {0, (int[]){-1, nodes, 1 << 30}[i]};

        status[0] = -99;
        EXPECT_ERR(syscall(SYS_move_pages, 0, 2ul, list, bad, status, 0), ENODEV);
        EXPECT_EQ(status[0], 0); /* the pages before it have moved */
    }
    child = fork();
    if (child == 0)
        _exit(0);
    EXPECT_EQ(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    EXPECT_ERR(syscall(SYS_move_pages, child, 1ul, list, to, status, 0), EINVAL); /* a zombie */
}

static void pages_move(void)
{
    char name[] = "/tmp/t_numa.XXXXXX", *p, *q, *s;
    int fd, status;

    need_nodes(2);
    p = map(4 * PAGE, ANON);
    touch(p, 4 * PAGE);
    s = map(4 * PAGE, SHARED);
    touch(s, 4 * PAGE);
    fd = mkstemp(name);
    unlink(name);
    EXPECT_EQ(ftruncate(fd, 4 * PAGE), 0);
    q = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, fd, 0);
    touch(q, 4 * PAGE);
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < 4 * PAGE; i += PAGE) {
            int to = (round + (int)(i / PAGE)) % nodes;

            EXPECT_EQ(move_to(p + i, to, MOVE), to);
            EXPECT_EQ(node_of(p + i), to);
            EXPECT_EQ(move_to(s + i, to, MOVE), to);
            EXPECT_EQ(node_of(s + i), to);
            EXPECT_EQ(move_to(q + i, to, MOVE), to);
            EXPECT_EQ(node_of(q + i), to); /* still mapped */
            EXPECT_EQ(syscall(SYS_get_mempolicy, &status, NULL, 0, p + i, NODE | ADDR), 0);
            EXPECT_EQ(status, to);
            expect_contents(p, 4 * PAGE);
            expect_contents(s, 4 * PAGE);
            expect_contents(q, 4 * PAGE);
        }
    if (!on_homeroom())
        return; /* Linux before 6.7 does not move memory without rights */
    EXPECT_EQ(mprotect(p, PAGE, PROT_NONE), 0);
    EXPECT_EQ(move_to(p, far, MOVE), far);
    EXPECT_EQ(move_to(p, 0, MOVE), 0);
    EXPECT_EQ(mprotect(p, PAGE, RW), 0);
    expect_contents(p, 4 * PAGE);
}

/* Pages that are locked in memory stay on their node, and the calls say so. */
static void locked_pages_stay(void)
{
    char *p;

    need_nodes(2);
    if (!on_homeroom())
        SKIP("Linux moves them");
    p = map(4 * PAGE, ANON);
    EXPECT_EQ(bind_to(p, 4 * PAGE, BIND, 1, 0), 0);
    EXPECT_EQ(mlock(p, 4 * PAGE), 0);
    touch(p, 4 * PAGE);
    EXPECT_EQ(move_to(p, far, MOVE), -EBUSY);
    EXPECT_ERR(bind_to(p, 4 * PAGE, BIND, 1ul << far, MOVE | STRICT), EIO);
    expect_nodes(p, 4 * PAGE, 0);
    expect_contents(p, 4 * PAGE);
    EXPECT_EQ(munlock(p, 4 * PAGE), 0);
    EXPECT_EQ(move_to(p, far, MOVE), far);
}

/* Whether this user may move the pages of a process, with the address `p`. */
static void expect_moves(pid_t pid, char *p, bool may)
{
    unsigned long from[16] = {1}, to[16] = {1};
    void *list[1] = {p};
    int node = far, status = -99;

    if (may) {
        EXPECT_EQ(syscall(SYS_move_pages, pid, 1ul, list, &node, &status, MOVE), 0);
        EXPECT_EQ(status, far);
        EXPECT_EQ(syscall(SYS_migrate_pages, pid, BITS, from, to), 0);
    } else {
        EXPECT_ERR(syscall(SYS_move_pages, pid, 1ul, list, &node, &status, MOVE), EPERM);
        EXPECT_ERR(syscall(SYS_move_pages, pid, 1ul, list, NULL, &status, MOVE), EPERM);
        EXPECT_ERR(syscall(SYS_migrate_pages, pid, BITS, from, to), EPERM);
    }
}

static void other_processes(void)
{
    pid_t child[2];
    char *p;
    int fd[2], status;

    need_nodes(2);
    NEED_ROOT();
    p = map(PAGE, ANON);
    EXPECT_EQ(pipe(fd), 0);
    for (uid_t k = 0; k < 2; k++) {
        child[k] = fork();
        if (child[k] == 0) {
            EXPECT_EQ(setgid(1234 + k), 0);
            EXPECT_EQ(setuid(1234 + k), 0);
            p[0] = (char)(k + 7);
            EXPECT_EQ(write(fd[1], "x", 1), 1);
            for (;;)
                pause();
        }
        EXPECT_EQ(read(fd[0], &status, 1), 1);
    }
    expect_moves(child[0], p, true);
    switch (fork()) {
    case 0: {
        EXPECT_EQ(setgid(1235), 0);
        EXPECT_EQ(setuid(1235), 0);
        expect_moves(child[0], p, false);
        expect_moves(getppid(), p, false);
        expect_moves(1, p, false);
        _exit(0);
    }
    default:
        EXPECT(wait(&status) > 0);
        EXPECT_EQ(status, 0);
    }
    for (int k = 0; k < 2; k++)
        EXPECT_EQ(kill(child[k], SIGKILL), 0);
}

static void migrate_all_pages(void)
{
    unsigned long from[16] = {0}, to[16] = {0}, high[16] = {[15] = 1ul << 63};
    const size_t n = 64 * PAGE;
    char *p, *q;

    need_nodes(2);
    NEED_ROOT();
    p = map(n, ANON);
    q = map(n, SHARED);
    EXPECT_EQ(bind_to(p, n, INTERLEAVE, (2ul << far) - 1, 0), 0);
    touch(p, n);
    touch(q, n);
    from[0] = (2ul << far) - 1;
    to[0] = 1ul << far;
    EXPECT_ERR(syscall(SYS_migrate_pages, 0, 8 * PAGE + 2, from, to), EINVAL);
    if (on_homeroom()) /* no node has such a number */
        EXPECT_ERR(syscall(SYS_migrate_pages, 0, BITS, high, to), EINVAL);
    EXPECT_ERR(syscall(SYS_migrate_pages, 0, BITS, NOWHERE, to), EFAULT);
    EXPECT_ERR(syscall(SYS_migrate_pages, 0, BITS, from, NOWHERE), EFAULT);
    EXPECT_ERR(syscall(SYS_migrate_pages, 0, BITS, from, NULL), EINVAL);
    EXPECT_ERR(syscall(SYS_migrate_pages, 999999, BITS, from, to), ESRCH);
    EXPECT_EQ(syscall(SYS_migrate_pages, 0, 0ul, from, to), -1);
    EXPECT_EQ(errno, EINVAL); /* no bits: `to` is empty */
    EXPECT(syscall(SYS_migrate_pages, 0, BITS, from, to) >= 0);
    expect_nodes(p, n, far);
    expect_nodes(q, n, far);
    expect_contents(p, n);
    expect_contents(q, n);
    /* sets of one size: each node of `from` has its own counterpart, here the same pair swapped */
    for (size_t i = 0; i < n; i += 2 * PAGE)
        EXPECT_EQ(move_to(p + i, 0, MOVE), 0);
    from[0] = 1 | 1ul << far;
    to[0] = 1 | 1ul << far;
    EXPECT(syscall(SYS_migrate_pages, getpid(), BITS, from, to) >= 0);
    for (size_t i = 0; i < n; i += PAGE)
        EXPECT_EQ(node_of(p + i), i / PAGE % 2 == 0 ? 0 : far);
    from[0] = 1ul << far;
    to[0] = 1;
    EXPECT(syscall(SYS_migrate_pages, getpid(), BITS, from, to) >= 0);
    expect_nodes(p, n, 0);
    EXPECT_EQ(setuid(1234), 0);
    to[0] = 1ul << 63;
    EXPECT_ERR(syscall(SYS_migrate_pages, 0, BITS, from, to), EPERM);
    expect_contents(p, n);
}

static void numa_maps(void)
{
    char line[8192], want[100], *p, *s;

    need_nodes(2);
    p = mmap((void *)0x30000000, 16 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
    s = mmap((void *)0x31000000, 16 * PAGE, RW, SHARED | MAP_FIXED, -1, 0);
    EXPECT_EQ(bind_to(p, 16 * PAGE, BIND | STATIC, 1ul << far, 0), 0);
    touch(p, 5 * PAGE);
    numa_line(p, line, sizeof line);
    snprintf(want, sizeof want, "30000000 bind=static:%d anon=5 dirty=5 ", far);
    EXPECT_EQ(strncmp(line, want, strlen(want)), 0);
    snprintf(want, sizeof want, " N%d=5 kernelpagesize_kB=4\n", far);
    EXPECT(strstr(line, want) != NULL);
    EXPECT_EQ(bind_to(s, 16 * PAGE, INTERLEAVE, (2ul << far) - 1, 0), 0);
    numa_line(s, line, sizeof line);
    snprintf(want, sizeof want, "31000000 interleave:0-%d", far);
    EXPECT_EQ(strncmp(line, want, strlen(want)), 0);
    touch(s, (size_t)nodes * PAGE);
    numa_line(s, line, sizeof line);
    for (int i = 0; i < nodes; i++) {
        snprintf(want, sizeof want, " N%d=1 ", i);
        EXPECT(strstr(line, want) != NULL);
    }
    EXPECT_EQ(bind_to(p, 16 * PAGE, PREFERRED, 1, 0), 0);
    numa_line(p, line, sizeof line);
    EXPECT_EQ(strncmp(line, "30000000 prefer:0 anon=5", 24), 0);
    EXPECT_EQ(bind_to(p, 16 * PAGE, LOCAL, 0, 0), 0);
    numa_line(p, line, sizeof line);
    EXPECT_EQ(strncmp(line, "30000000 local anon=5", 21), 0);
    EXPECT_EQ(bind_to(p, 16 * PAGE, DEFAULT, 0, 0), 0);
    numa_line(p, line, sizeof line);
    EXPECT_EQ(strncmp(line, "30000000 default anon=5", 23), 0);
}

/* Blanks, newlines and equals signs in the name of a file are written in octal. */
static void names_in_numa_maps(void)
{
    char line[8192];
    int fd = open("numa x=1\n2", O_RDWR | O_CREAT, 0600);

    need_nodes(1);
    EXPECT(fd >= 0);
    EXPECT_EQ(ftruncate(fd, PAGE), 0);
    numa_line(mmap((void *)0x32000000, PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 0), line, sizeof line);
    EXPECT_EQ(strncmp(line, "32000000 default file=/", 23), 0);
    EXPECT(strstr(line, "/numa\\040x\\0751\\0122\n") != NULL);
    close(fd);
    EXPECT_EQ(unlink("numa x=1\n2"), 0);
}

static void huge_pages(void)
{
    char *p;

    need_nodes(2);
    p = mmap(NULL, 2 * HUGE, RW, ANON | MAP_HUGETLB, -1, 0);
    if (p == MAP_FAILED)
        SKIP("no huge pages");
    EXPECT_ERR(bind_to(p, PAGE, BIND, 1, 0), EINVAL);
    EXPECT_EQ(bind_to(p, HUGE, BIND, 1ul << far, 0), 0);
    EXPECT_EQ(bind_to(p + HUGE, HUGE, BIND, 1, 0), 0);
    touch(p, 2 * HUGE);
    EXPECT_EQ(node_of(p), far);
    EXPECT_EQ(node_of(p + HUGE + 5 * PAGE), 0);
    EXPECT_EQ(move_to(p + HUGE + 5 * PAGE, far, MOVE), far);
    EXPECT_EQ(bind_to(p, 2 * HUGE, BIND, 1, MOVE | STRICT), 0);
    EXPECT_EQ(node_of(p + 9 * PAGE), 0);
    EXPECT_EQ(node_of(p + HUGE), 0);
    expect_contents(p, 2 * HUGE);
}

static void home_node(void)
{
    char *p;

    need_nodes(2);
    p = map(8 * PAGE, ANON);
    if (syscall(SYS_set_mempolicy_home_node, p, 0ul, 0ul, 0ul) != 0)
        SKIP("no set_mempolicy_home_node");
    EXPECT_ERR(syscall(SYS_set_mempolicy_home_node, p, PAGE, 0ul, 0ul), ENOENT);
    EXPECT_EQ(bind_to(p, 4 * PAGE, MANY, (2ul << far) - 1, 0), 0);
    EXPECT_ERR(syscall(SYS_set_mempolicy_home_node, p, PAGE, 0ul, 1ul), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy_home_node, p + 1, PAGE, 0ul, 0ul), EINVAL);
    EXPECT_ERR(syscall(SYS_set_mempolicy_home_node, p, PAGE, 999ul, 0ul), EINVAL);
    EXPECT_EQ(syscall(SYS_set_mempolicy_home_node, p, 2 * PAGE, (unsigned long)far, 0ul), 0);
    EXPECT_EQ(syscall(SYS_set_mempolicy_home_node, p + 2 * PAGE, 6 * PAGE, 0ul, 0ul), 0);
    touch(p, 4 * PAGE);
    expect_nodes(p, 2 * PAGE, far);
    expect_nodes(p + 2 * PAGE, 2 * PAGE, 0);
    EXPECT_EQ(bind_to(p, PAGE, INTERLEAVE, 1, 0), 0);
    EXPECT_ERR(syscall(SYS_set_mempolicy_home_node, p, PAGE, 0ul, 0ul), EOPNOTSUPP);
}

/* Each page of shared memory has another policy, until there are too many; private memory has no such limit. */
static void many_policies(void)
{
    const size_t n = 300;
    char *p, *s;
    size_t i;

    need_nodes(2);
    if (!on_homeroom())
        SKIP("Linux has no limit");
    p = map(n * PAGE, ANON);
    s = map(n * PAGE, SHARED);
    for (i = 0; i < n; i++)
        EXPECT_EQ(bind_to(p + i * PAGE, PAGE, BIND | STATIC, 1 | (i + 1) << nodes, 0), 0);
    for (i = 0; i < n; i++)
        expect_policy(p + i * PAGE, BIND | STATIC, 1 | (i + 1) << nodes);
    for (i = 0; i < n; i++)
        if (bind_to(s + i * PAGE, PAGE, BIND | STATIC, 1 | (i + 1) << nodes, 0) != 0)
            break;
    EXPECT_EQ(i, 256);
    EXPECT_EQ(errno, ENOMEM);
    expect_policy(s + 255 * PAGE, BIND | STATIC, 1 | 256ul << nodes);
    EXPECT_EQ(bind_to(s, n * PAGE, DEFAULT, 0, 0), 0); /* there are no ranges now */
    EXPECT_ERR(bind_to(s, PAGE, BIND | STATIC, 1 | 257ul << nodes, 0), ENOMEM);
    EXPECT_EQ(bind_to(s, n * PAGE, BIND | STATIC, 1 | 1ul << nodes, 0), 0); /* a known one */
    touch(s, n * PAGE);
    expect_nodes(s, n * PAGE, 0);
}

/* ---- races ------------------------------------------------------------------------------------- */

#define THREADS 5
#define PAGES   24

static char *arena[2]; /* private and shared */
static _Atomic int stop, ready;
static _Atomic long added[2];

static _Atomic long *counter(int which, unsigned page)
{
    return (_Atomic long *)(arena[which] + page * PAGE);
}

static void *adding(void *arg)
{
    unsigned n = (unsigned)(uintptr_t)arg;
    long mine = 0;

    ready++;
    while (!stop)
        for (unsigned i = 0; i < PAGES; i++, mine++)
            for (int which = 0; which < 2; which++)
                atomic_fetch_add(counter(which, (i + n) % PAGES), 1);
    added[0] += mine;
    added[1] += mine;
    return NULL;
}

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % below;
}

/* Binds and moves parts of the arenas, and calls that must not disturb them, until `stop`. */
static void *binding(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    ready++;
    while (!stop) {
        unsigned first = draw(&seed, PAGES), n = draw(&seed, PAGES - first) + 1;
        char *p = arena[draw(&seed, 2)] + first * PAGE;
        static const int modes[] = {BIND, PREFERRED, INTERLEAVE, DEFAULT, BIND | STATIC};
        int mode = modes[draw(&seed, 5)], to[PAGES], status[PAGES];
        void *list[PAGES];

        switch (draw(&seed, 6)) {
        case 0:
        case 1:
            bind_to(p, n * PAGE, mode, mode != DEFAULT ? 1ul << draw(&seed, (unsigned)nodes) : 0,
                    draw(&seed, 2) ? MOVE : MOVE | STRICT);
            break;
        case 2:
        case 3:
            for (unsigned i = 0; i < n; i++) {
                list[i] = p + i * PAGE;
                to[i] = (int)draw(&seed, (unsigned)nodes);
            }
            EXPECT(syscall(SYS_move_pages, 0, (unsigned long)n, list, to, status,
                           geteuid() == 0 ? MOVE_ALL : MOVE) >= 0);
            break;
        case 4: {
            unsigned long from = 1ul << draw(&seed, (unsigned)nodes),
                          where = 1ul << draw(&seed, (unsigned)nodes);

            EXPECT(syscall(SYS_migrate_pages, 0, 64ul, &from, &where) >= 0);
            break;
        }
        default:
            madvise(p, n * PAGE, MADV_DONTDUMP);
            mprotect(p, n * PAGE, RW);
            munmap(map(4 * PAGE, ANON), 4 * PAGE);
        }
    }
    return NULL;
}

/* Maps, binds, touches and unmaps memory of its own, which others migrate meanwhile. */
static void *mapping(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    ready++;
    while (!stop) {
        char *p = map(16 * PAGE, ANON);

        bind_to(p, 8 * PAGE, BIND, 1ul << draw(&seed, (unsigned)nodes), 0);
        touch(p, 16 * PAGE);
        munmap(p + 4 * PAGE, PAGE);
        munmap(p + 5 * PAGE, 11 * PAGE);
        p = mremap(p, 4 * PAGE, 32 * PAGE, MREMAP_MAYMOVE);
        EXPECT(p != MAP_FAILED);
        expect_contents(p, 4 * PAGE);
        munmap(p, 32 * PAGE);
    }
    return NULL;
}

static void race_round(unsigned seed)
{
    pthread_t t[THREADS];

    stop = ready = 0;
    added[0] = added[1] = 0;
    arena[0] = map(PAGES * PAGE, ANON);
    arena[1] = map(PAGES * PAGE, SHARED);
    for (unsigned i = 0; i < THREADS; i++) {
        void *(*work)(void *) = i < 2 ? adding : i < 4 ? binding : mapping;

        EXPECT_EQ(pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(seed * 10 + i)), 0);
    }
    while (ready < THREADS)
        sched_yield();
    for (int round = 0; round < 12; round++) {
        pid_t child = fork();
        int status;

        EXPECT(child >= 0);
        if (child == 0) { /* private memory is that of the moment of fork() */
            long before[PAGES];

            for (unsigned i = 0; i < PAGES; i++)
                before[i] = *counter(0, i);
            bind_to(arena[0], PAGES * PAGE, BIND, 1ul << (unsigned)(round % nodes), MOVE);
            for (unsigned i = 0; i < PAGES; i++)
                if (*counter(0, i) != before[i])
                    _exit(1);
            bind_to(arena[0], PAGES * PAGE, BIND, 1, geteuid() == 0 ? MOVE_ALL : MOVE);
            for (unsigned i = 0; i < PAGES; i++)
                if (atomic_fetch_add(counter(0, i), 1) != before[i])
                    _exit(2);
            _exit(0);
        }
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    stop = 1;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int which = 0; which < 2; which++) {
        long sum = 0;

        for (unsigned i = 0; i < PAGES; i++)
            sum += *counter(which, i);
        EXPECT_EQ(sum, added[which]);
        munmap(arena[which], PAGES * PAGE);
    }
}

static void races(void)
{
    need_nodes(1);
    for (unsigned seed = 1; seed <= 4; seed++) {
        printf("  seed %u\n", seed);
        race_round(seed);
    }
}

/* A process is killed while others move its pages. */
static void death_while_pages_move(void)
{
    unsigned long all = 0, to;

    need_nodes(1);
    all = (2ul << far) - 1;
    for (int round = 0; round < 10; round++) {
        char *p = map(64 * PAGE, ANON);
        pid_t child = fork();
        int status, moved = 0;

        if (child == 0) {
            for (;;)
                touch(p, 64 * PAGE);
        }
        for (int i = 0; i < 20; i++) {
            to = 1ul << (unsigned)(i % nodes);
            if (i == 10)
                EXPECT_EQ(kill(child, SIGKILL), 0);
            if (syscall(SYS_migrate_pages, child, 65ul, &all, &to) >= 0)
                moved++;
            else
                EXPECT_ERR(syscall(SYS_migrate_pages, child, 65ul, &all, &to),
                           EINVAL); /* it has ended */
        }
        EXPECT(moved >= 10);
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT(WIFSIGNALED(status));
        munmap(p, 64 * PAGE);
    }
}

static const struct check list[] = {
    {"mbind_arguments", mbind_arguments},
    {"policies_are_read_back", policies_are_read_back},
    {"private_pages", private_pages},
    {"shared_pages", shared_pages},
    {"policy_of_an_object", policy_of_an_object},
    {"a_reader_binds_nothing", a_reader_binds_nothing},
    {"ranges_split_and_join", ranges_split_and_join},
    {"heap_and_stack", heap_and_stack},
    {"fork_keeps_policies", fork_keeps_policies},
    {"strict_and_move", strict_and_move},
    {"pages_in_use_by_others", pages_in_use_by_others},
    {"move_pages_arguments", move_pages_arguments},
    {"pages_move", pages_move},
    {"locked_pages_stay", locked_pages_stay},
    {"other_processes", other_processes},
    {"migrate_all_pages", migrate_all_pages},
    {"numa_maps", numa_maps},
    {"names_in_numa_maps", names_in_numa_maps},
    {"huge_pages", huge_pages},
    {"home_node", home_node},
    {"many_policies", many_policies},
    {"races", races},
    {"death_while_pages_move", death_while_pages_move},
};
CHECK_MAIN(list)
