// SPDX-License-Identifier: MIT
/* t_mem.c - address spaces as Linux defines them: mmap, munmap, mremap, mprotect, brk, fork. */
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define PAGE 4096
#define RW   (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static sigjmp_buf escape;
static volatile sig_atomic_t fault_signal, fault_code;
static void *volatile fault_address;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    fault_signal = signal;
    fault_code = info->si_code;
    fault_address = info->si_addr;
    siglongjmp(escape, 1);
}

/* The signal that a store (or a load) at p gives; 0 if it works. */
static int touch(volatile char *p, int write)
{
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    fault_signal = 0;
    if (sigsetjmp(escape, 1) == 0) {
        if (write)
            *p = 1;
        else
            (void)*p;
    }
    return fault_signal;
}

static char *map(size_t bytes)
{
    char *p = mmap(NULL, bytes, RW, ANON, -1, 0);

    EXPECT(p != MAP_FAILED);
    return p;
}

static int temporary(size_t bytes)
{
    char name[] = "/tmp/t_mem.XXXXXX";
    int fd = mkstemp(name);

    EXPECT(fd >= 0);
    unlink(name);
    EXPECT_EQ(ftruncate(fd, (off_t)bytes), 0);
    return fd;
}

static void anonymous_is_zero(void)
{
    char *p = map(64 * PAGE);

    for (int i = 0; i < 64 * PAGE; i++)
        EXPECT_EQ(p[i], 0);
    memset(p, 7, 64 * PAGE);
    EXPECT_EQ(munmap(p, 64 * PAGE), 0);
    EXPECT_EQ(touch(p, 0), SIGSEGV);
    EXPECT_EQ(fault_code, SEGV_MAPERR);
    EXPECT_EQ(fault_address, p);
}

static void unmap_middle(void)
{
    char *p = map(3 * PAGE);

    memset(p, 1, 3 * PAGE);
    EXPECT_EQ(munmap(p + PAGE, PAGE), 0);
    EXPECT_EQ(touch(p, 1), 0);
    EXPECT_EQ(touch(p + PAGE, 1), SIGSEGV);
    EXPECT_EQ(touch(p + 2 * PAGE, 1), 0);
    EXPECT_EQ(munmap(p, 3 * PAGE), 0); /* holes are not an error */
}

static void protection(void)
{
    char *p = map(3 * PAGE);

    memset(p, 5, 3 * PAGE);
    EXPECT_EQ(mprotect(p + PAGE, PAGE, PROT_READ), 0);
    EXPECT_EQ(touch(p + PAGE, 0), 0);
    EXPECT_EQ(touch(p + PAGE, 1), SIGSEGV);
    EXPECT_EQ(fault_code, SEGV_ACCERR);
    EXPECT_EQ(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
    EXPECT_EQ(touch(p + PAGE, 0), SIGSEGV);
    EXPECT_EQ(mprotect(p, 3 * PAGE, RW), 0);
    EXPECT_EQ(touch(p + PAGE, 1), 0);
    EXPECT_EQ(p[PAGE + 1], 5);
    munmap(p + PAGE, PAGE);
    EXPECT_ERR(mprotect(p, 3 * PAGE, PROT_READ), ENOMEM);
    /* musl's function rounds the address */
    EXPECT_ERR(syscall(SYS_mprotect, p + 1, PAGE, PROT_READ), EINVAL);
}

static void no_execute(void)
{
    unsigned char *p = (unsigned char *)map(PAGE);
    void (*function)(void) = (void (*)(void))(uintptr_t)p;

    p[0] = 0xc3; /* the instruction ret */
    touch((volatile char *)p, 0);
    if (sigsetjmp(escape, 1) == 0)
        function();
    EXPECT_EQ(fault_signal, SIGSEGV);
    fault_signal = 0;
    EXPECT_EQ(mprotect(p, PAGE, PROT_READ | PROT_EXEC), 0);
    if (sigsetjmp(escape, 1) == 0)
        function();
    EXPECT_EQ(fault_signal, 0);
}

static void fixed_replaces(void)
{
    char *p = map(4 * PAGE);

    memset(p, 3, 4 * PAGE);
    EXPECT(mmap(p + PAGE, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == p + PAGE);
    EXPECT_EQ(p[0], 3);
    EXPECT_EQ(p[PAGE], 0);
    EXPECT_EQ(p[3 * PAGE], 3);
}

static void bad_arguments(void)
{
    EXPECT(mmap(NULL, 0, RW, ANON, -1, 0) == MAP_FAILED && errno == EINVAL);
    EXPECT(mmap((void *)1, PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EINVAL);
    EXPECT(mmap(NULL, PAGE, RW, MAP_PRIVATE, 99, 0) == MAP_FAILED && errno == EBADF);
    EXPECT(mmap(NULL, (size_t)1 << 62, RW, ANON, -1, 0) == MAP_FAILED && errno == ENOMEM);
    EXPECT_ERR(munmap((void *)1, PAGE), EINVAL);
    EXPECT_ERR(munmap(map(PAGE), 0), EINVAL);
}

static void remap_grows(void)
{
    char *p = map(2 * PAGE), *q;

    strcpy(p, "first");
    strcpy(p + PAGE, "second");
    q = mremap(p, 2 * PAGE, 600 * PAGE, MREMAP_MAYMOVE);
    EXPECT(q != MAP_FAILED);
    EXPECT(strcmp(q, "first") == 0 && strcmp(q + PAGE, "second") == 0);
    EXPECT_EQ(q[599 * PAGE], 0);
    q[599 * PAGE] = 1;
    EXPECT(mremap(q, 600 * PAGE, PAGE, 0) == q);
    EXPECT_EQ(touch(q + PAGE, 0), SIGSEGV);
    EXPECT(strcmp(q, "first") == 0);
}

static void break_moves(void)
{
    char *start = sbrk(0);

    EXPECT_EQ(syscall(SYS_brk, start + 10 * PAGE), start + 10 * PAGE);
    for (int i = 0; i < 10 * PAGE; i++)
        EXPECT_EQ(start[i], 0);
    memset(start, 1, 10 * PAGE);
    EXPECT_EQ(syscall(SYS_brk, start + PAGE), start + PAGE);
    EXPECT_EQ(syscall(SYS_brk, start + 2 * PAGE), start + 2 * PAGE);
    EXPECT_EQ(start[PAGE + PAGE / 2], 0);
}

static void copy_on_write(void)
{
    char *p = map(32 * PAGE);
    int status;
    pid_t pid;

    memset(p, 1, 32 * PAGE);
    if ((pid = fork()) == 0) {
        for (int i = 0; i < 32; i++)
            if (p[i * PAGE] != 1)
                _exit(1);
        memset(p, 2, 32 * PAGE);
        _exit(p[31 * PAGE] == 2 ? 0 : 2);
    }
    p[0] = 9;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(p[0], 9);
    for (int i = 1; i < 32; i++)
        EXPECT_EQ(p[i * PAGE], 1);
}

static void shared_is_shared(void)
{
    volatile int *p = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    pid_t pid;

    EXPECT(p != MAP_FAILED);
    if ((pid = fork()) == 0) {
        p[0] = 42;
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(p[0], 42);
}

static void file_shared(void)
{
    int fd = temporary(2 * PAGE);
    char *p = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0), buf[8];

    EXPECT(p != MAP_FAILED);
    strcpy(p + 100, "stored");
    EXPECT_EQ(pread(fd, buf, 7, 100), 7);
    EXPECT(strcmp(buf, "stored") == 0);
    EXPECT_EQ(pwrite(fd, "written", 8, PAGE), 8);
    EXPECT(strcmp(p + PAGE, "written") == 0);
    EXPECT_EQ(msync(p, 2 * PAGE, MS_SYNC), 0);
}

static void file_private(void)
{
    int fd = temporary(2 * PAGE);
    char *p, buf[8];

    EXPECT_EQ(pwrite(fd, "original", 8, 0), 8);
    p = mmap(NULL, 2 * PAGE, RW, MAP_PRIVATE, fd, 0);
    EXPECT(p != MAP_FAILED);
    EXPECT(memcmp(p, "original", 8) == 0);
    memcpy(p, "changed!", 8);
    EXPECT_EQ(pread(fd, buf, 8, 0), 8);
    EXPECT(memcmp(buf, "original", 8) == 0);
}

static int run(char *name)
{
    char *argv[] = {name, NULL};

    return execv(name, argv) == 0 ? 0 : errno;
}

/* As long as a part of a mapping that may write to a file is left, the file counts as open for writing. */
static void file_mapped_is_busy(void)
{
    char name[] = "/tmp/t_mem.XXXXXX", *p, *moved;
    int fd = mkstemp(name), status;
    pid_t pid;

    EXPECT(fd >= 0 && fchmod(fd, 0700) == 0 && ftruncate(fd, 4 * PAGE) == 0);
    p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0); /* mprotect() may make it writable */
    EXPECT(p != MAP_FAILED);
    close(fd);
    EXPECT_EQ(run(name), ETXTBSY);
    EXPECT_EQ(mprotect(p + PAGE, PAGE, RW), 0);
    EXPECT_EQ(munmap(p + 2 * PAGE, PAGE), 0);
    moved = mremap(p + 3 * PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
    EXPECT(moved != MAP_FAILED);
    EXPECT_EQ(munmap(p, 2 * PAGE), 0);
    EXPECT_EQ(run(name), ETXTBSY);
    pid = fork();
    if (pid == 0)
        _exit(run(name)); /* the child's copy counts, too */
    EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), ETXTBSY);
    EXPECT_EQ(munmap(moved, 2 * PAGE), 0);
    EXPECT_EQ(run(name), ENOEXEC);
    unlink(name);
}

static void file_end(void)
{
    int fd = temporary(100);
    char *p = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0);

    EXPECT(p != MAP_FAILED);
    EXPECT_EQ(p[100], 0);                  /* the rest of the last page is zero */
    EXPECT_EQ(touch(p + PAGE, 0), SIGBUS); /* a page beyond the end gives SIGBUS */
    EXPECT_EQ(ftruncate(fd, 2 * PAGE), 0);
    EXPECT_EQ(touch(p + PAGE, 0), 0);
    EXPECT_EQ(ftruncate(fd, 10), 0); /* truncation removes mapped pages */
    EXPECT_EQ(touch(p + PAGE, 0), SIGBUS);
}

/* A file that becomes smaller takes private copies of its pages away, too; the copy of the new last page stays. */
static void file_shrinks(void)
{
    int fd = temporary(4 * PAGE), to[2], from[2], status;
    char *p = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE, fd, 0), byte;
    char *q = mmap(NULL, PAGE, RW, MAP_PRIVATE, fd, 2 * PAGE);
    pid_t child;

    EXPECT(p != MAP_FAILED && q != MAP_FAILED && pipe(to) == 0 && pipe(from) == 0);
    memset(p, 'p', 4 * PAGE);
    q[0] = 'q';
    child = fork();
    if (child == 0) { /* has copies that it shares with the parent, and one of its own */
        p[3 * PAGE] = 'c';
        EXPECT(write(from[1], "r", 1) == 1 && read(to[0], &byte, 1) == 1);
        EXPECT_EQ(p[PAGE + 200], 'p');
        EXPECT_EQ(p[2 * PAGE] + p[3 * PAGE] + q[0], 0);
        _exit(0);
    }
    EXPECT(child > 0 && read(from[0], &byte, 1) == 1);
    EXPECT_EQ(ftruncate(fd, PAGE + 100), 0);
    EXPECT_EQ(p[0], 'p');
    EXPECT_EQ(p[PAGE + 200], 'p');
    for (int write = 0; write < 2; write++) {
        EXPECT_EQ(touch(p + 2 * PAGE, write), SIGBUS);
        EXPECT_EQ(touch(p + 3 * PAGE, write), SIGBUS);
        EXPECT_EQ(touch(q, write), SIGBUS);
    }
    EXPECT_EQ(ftruncate(fd, 4 * PAGE), 0);
    EXPECT_EQ(p[2 * PAGE] + p[3 * PAGE] + q[0], 0);
    EXPECT(write(to[1], "g", 1) == 1 && waitpid(child, &status, 0) == child);
    EXPECT_EQ(status, 0);
    p[3 * PAGE] = 'x'; /* a copy again */
    EXPECT_EQ(ftruncate(fd, 0), 0);
    EXPECT_EQ(touch(p, 0), SIGBUS);
    EXPECT_EQ(touch(p + 3 * PAGE, 0), SIGBUS);
}

static void file_permissions(void)
{
    char name[] = "/tmp/t_mem.XXXXXX";
    int fd = mkstemp(name), readonly = open(name, O_RDONLY);

    unlink(name);
    EXPECT(fd >= 0 && readonly >= 0);
    EXPECT_EQ(ftruncate(fd, PAGE), 0);
    EXPECT(mmap(NULL, PAGE, RW, MAP_SHARED, readonly, 0) == MAP_FAILED && errno == EACCES);
    EXPECT(mmap(NULL, PAGE, RW, MAP_PRIVATE, readonly, 0) != MAP_FAILED);
    EXPECT(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, readonly, 1) == MAP_FAILED && errno == EINVAL);
}

static void stack_grows(void)
{
    char deep[2 << 20]; /* of the 8 MiB that the limit allows */

    for (size_t i = sizeof deep; i >= PAGE; i -= PAGE)
        ((volatile char *)deep)[i - 1] = 1;
    EXPECT_EQ(deep[sizeof deep - 1], 1);
}

static void advice(void)
{
    char *p = map(4 * PAGE);

    memset(p, 1, 4 * PAGE);
    EXPECT_EQ(madvise(p, 4 * PAGE, MADV_DONTNEED), 0);
    for (int i = 0; i < 4 * PAGE; i++)
        EXPECT_EQ(p[i], 0);
    EXPECT_ERR(madvise(p + 1, PAGE, MADV_DONTNEED), EINVAL);
    EXPECT_ERR(madvise(p, PAGE, 12345), EINVAL);
    EXPECT_EQ(madvise(p, PAGE, MADV_DONTDUMP), 0);
    if (!on_homeroom()) /* a Linux kernel may be built with or without them */
        return;
    EXPECT_ERR(madvise(p, PAGE, MADV_HUGEPAGE), EINVAL);
    EXPECT_ERR(madvise(p, PAGE, MADV_MERGEABLE), EINVAL);
    EXPECT_EQ(madvise(p, PAGE, MADV_NOHUGEPAGE), 0);
}

/* A very large range, nearly all of it empty; holes; memory that stays. */
static void advice_of_large_ranges(void)
{
    static const int advices[] = {MADV_RANDOM,   MADV_NORMAL, MADV_SEQUENTIAL,
                                  MADV_WILLNEED, MADV_COLD,   MADV_PAGEOUT};
    size_t size = 1ul << 45;
    char *p = mmap(NULL, size, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
         *q = map(3 * PAGE);

    EXPECT(p != MAP_FAILED);
    for (size_t at = 0; at < size; at += size / 4)
        p[at] = 1;
    munmap(q + PAGE, PAGE);
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++) {
        EXPECT_EQ(madvise(p, size, advices[i]), 0);
        EXPECT_ERR(madvise(q, 3 * PAGE, advices[i]), ENOMEM);
    }
    for (size_t at = 0; at < size; at += size / 4)
        EXPECT_EQ(p[at], 1);
    EXPECT_EQ(mlock(q, PAGE), 0);
    EXPECT_ERR(madvise(q, PAGE, MADV_COLD), EINVAL);
    EXPECT_ERR(madvise(q, PAGE, MADV_PAGEOUT), EINVAL);
    munmap(p, size);
}

/* Ranges that wrap around the end of the address space, and unknown flags. */
static void ranges_that_wrap(void)
{
    unsigned char vec[1];
    char *p = map(PAGE);
    FILE *f = tmpfile();

    EXPECT_ERR(madvise(p, (size_t)-PAGE, MADV_DONTNEED), EINVAL);
    EXPECT_ERR(madvise(p, SIZE_MAX, MADV_DONTNEED), EINVAL);
    EXPECT_ERR(syscall(SYS_msync, p, (size_t)-PAGE, MS_SYNC), ENOMEM);
    EXPECT_ERR(syscall(SYS_mincore, p, (size_t)-PAGE, vec), ENOMEM);
    EXPECT_ERR(syscall(SYS_mincore, p, SIZE_MAX, vec), ENOMEM);
    EXPECT(f != NULL);
    EXPECT_EQ(ftruncate(fileno(f), PAGE), 0);
    EXPECT_ERR(syscall(SYS_mmap, NULL, PAGE, PROT_READ, 0x3 | 1u << 24, fileno(f), 0), EOPNOTSUPP);
    EXPECT(syscall(SYS_mmap, NULL, PAGE, PROT_READ, 0x3, fileno(f), 0) > 0);
    /* for old programs this flag is ignored */
    EXPECT(syscall(SYS_mmap, NULL, PAGE, PROT_READ, 0x1 | 1u << 24, fileno(f), 0) > 0);
}

static void kernel_addresses_refused(void)
{
    char *kernel = (char *)0xffffffff80000000ul;

    EXPECT_EQ(touch(kernel, 0), SIGSEGV);
    EXPECT_ERR(write(1, kernel, 16), EFAULT);
    EXPECT_ERR(pipe((int *)kernel), EFAULT);
}

static unsigned long attached(int id)
{
    struct shmid_ds ds;

    EXPECT_EQ(shmctl(id, IPC_STAT, &ds), 0);
    return ds.shm_nattch;
}

/* System V shared memory: one segment in two processes, and its removal. */
static void shared_segments(void)
{
    int id = shmget(IPC_PRIVATE, 3 * PAGE - 100, IPC_CREAT | 0600), status;
    volatile char *p = shmat(id, NULL, 0), *q = shmat(id, NULL, SHM_RDONLY);
    struct shmid_ds ds;

    EXPECT(id >= 0 && p != (void *)-1 && q != (void *)-1 && p != q);
    EXPECT_EQ(p[0] + p[3 * PAGE - 1], 0);
    p[PAGE] = 5;
    EXPECT_EQ(q[PAGE], 5);
    EXPECT_EQ(touch(q, 1), SIGSEGV);
    EXPECT_ERR(mprotect((void *)q, PAGE, RW), EACCES);
    EXPECT_EQ(shmctl(id, IPC_STAT, &ds), 0);
    EXPECT(ds.shm_segsz == 3 * PAGE - 100 && ds.shm_nattch == 2 && ds.shm_cpid == getpid());
    EXPECT_EQ(ds.shm_perm.mode & 0777, 0600);
    if (fork() == 0) {
        if (attached(id) != 4 || shmdt((void *)q) != 0 || attached(id) != 3)
            _exit(1);
        p[2 * PAGE] = 7;
        _exit(0);
    }
    EXPECT(wait(&status) > 0 && status == 0);
    EXPECT_EQ(q[2 * PAGE], 7);
    EXPECT_EQ(attached(id), 2);
    /* the mapping then has three pieces */
    EXPECT_EQ(mprotect((char *)p + PAGE, PAGE, PROT_READ), 0);
    EXPECT_ERR(shmdt((char *)p + PAGE), EINVAL);
    EXPECT_EQ(shmdt((void *)p), 0);
    EXPECT_EQ(touch(p, 0), SIGSEGV);
    EXPECT_EQ(touch(p + 2 * PAGE, 0), SIGSEGV);
    EXPECT_ERR(shmdt((void *)p), EINVAL);
    EXPECT_EQ(attached(id), 1);
    EXPECT_EQ(shmctl(id, IPC_RMID, NULL), 0);
    EXPECT_EQ(q[PAGE], 5); /* an attached segment stays */
    EXPECT_EQ(shmdt((void *)q), 0);
    EXPECT(shmat(id, NULL, 0) == (void *)-1 && (errno == EINVAL || errno == EIDRM));
}

static void segment_keys(void)
{
    key_t key = 0x486d0000 + getpid();
    int id = shmget(key, 8 * PAGE, IPC_CREAT | IPC_EXCL | 0640), other;
    char *p, *hole = mmap(NULL, 8 * PAGE, RW, ANON, -1, 0);
    struct shmid_ds ds;

    EXPECT(id >= 0 && hole != MAP_FAILED);
    EXPECT_EQ(shmget(key, PAGE, 0), id);
    EXPECT_EQ(shmget(key, 0, IPC_CREAT | 0600), id);
    EXPECT_ERR(shmget(key, PAGE, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
    EXPECT_ERR(shmget(key, 9 * PAGE, 0), EINVAL);
    EXPECT_ERR(shmget(key + 1, PAGE, 0600), ENOENT);
    EXPECT_ERR(shmget(IPC_PRIVATE, 0, IPC_CREAT | 0600), EINVAL);
    EXPECT(shmat(id, hole, 0) == (void *)-1 && errno == EINVAL); /* the place is not free */
    /* not the address of a page */
    EXPECT(shmat(id, hole + 100, 0) == (void *)-1 && errno == EINVAL);
    EXPECT(shmat(id, NULL, SHM_REMAP) == (void *)-1 && errno == EINVAL);
    EXPECT(shmat(id, hole + 100, SHM_RND | SHM_REMAP) == (void *)hole);
    EXPECT_ERR(shmctl(id, 77, &ds), EINVAL);
    EXPECT_ERR(shmctl(id, IPC_STAT, (void *)16), EFAULT);
    EXPECT_ERR(shmctl(-1, IPC_STAT, &ds), EINVAL);
    munmap(hole + PAGE, PAGE); /* a hole in it */
    EXPECT_EQ(shmdt(hole), 0);
    EXPECT_EQ(touch(hole + 7 * PAGE, 0), SIGSEGV);
    if (geteuid() == 0) {
        if (fork() == 0) { /* another user, whom the mode excludes */
            EXPECT(setgroups(0, NULL) == 0 && setgid(4242) == 0 && setuid(4242) == 0);
            EXPECT_ERR(shmget(key, PAGE, 0600), EACCES);
            EXPECT(shmat(id, NULL, SHM_RDONLY) == (void *)-1 && errno == EACCES);
            EXPECT_ERR(shmctl(id, IPC_STAT, &ds), EACCES);
            EXPECT_ERR(shmctl(id, IPC_RMID, NULL), EPERM);
            EXPECT_ERR(shmctl(id, IPC_SET, &ds), EPERM);
            _exit(0);
        }
        EXPECT(wait(&other) > 0 && other == 0);
    }
    EXPECT_EQ(shmctl(id, IPC_STAT, &ds), 0);
    ds.shm_perm.mode = 0400;
    EXPECT_EQ(shmctl(id, IPC_SET, &ds), 0);
    EXPECT(shmctl(id, IPC_STAT, &ds) == 0 && (ds.shm_perm.mode & 0777) == 0400);
    EXPECT_EQ(shmctl(id, IPC_RMID, NULL), 0);
    EXPECT((other = shmget(key, PAGE, IPC_CREAT | 0600)) >= 0 && other != id);
    p = shmat(other, NULL, 0);
    EXPECT(p != (void *)-1 && *p == 0);
    EXPECT_EQ(shmctl(other, IPC_RMID, NULL), 0);
}

/* Rounded up to 2 MiB these lengths would exceed the user part of the address space. */
static void huge_lengths(void)
{
    const size_t top = 0x7ffffffff000;
    const size_t lengths[] = {top, top - PAGE, top - (2 << 20) + PAGE, SIZE_MAX, SIZE_MAX - PAGE};

    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int fixed = 0; fixed < 2; fixed++) {
            errno = 0;
            EXPECT(mmap((void *)0x600000000000, lengths[i], PROT_READ,
                        ANON | MAP_NORESERVE | MAP_HUGETLB | (fixed ? MAP_FIXED : 0), -1,
                        0) == MAP_FAILED);
            EXPECT_EQ(errno, ENOMEM);
        }
}

static volatile bool watch_ends;
static double latest; /* seconds */

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Binds the calling thread to CPU 0. */
static void stay_on_cpu_0(void)
{
    unsigned long mask[16] = {1};

    EXPECT_EQ(syscall(SYS_sched_setaffinity, 0, sizeof mask, mask), 0);
}

/* Measures how late a real-time thread gets CPU 0. */
static void *watch_lateness(void *arg)
{
    struct sched_param p = {.sched_priority = 50};

    stay_on_cpu_0();
    EXPECT_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p), 0);
    while (!watch_ends) {
        double begin = seconds(), late;

        usleep(1000);
        late = seconds() - begin - 0.001;
        latest = late > latest ? late : latest;
    }
    return arg;
}

/* Cutting a file that is mapped very often takes long, but the CPU is not held for the whole time. */
static void cut_while_mapped_often(void)
{
    enum { PAGES = 64, TIMES = 60000, ROUNDS = 3 };
    char name[] = "/tmp/t_mem.XXXXXX";
    pthread_t watch;
    double took, least = 1;
    int fd;
    char *p;

    NEED_ROOT();
    if (!on_homeroom())
        SKIP("as fast as it is here");
    EXPECT((fd = mkstemp(name)) >= 0 && unlink(name) == 0);
    EXPECT_EQ(ftruncate(fd, PAGES * 4096), 0);
    for (int i = 0; i < TIMES; i++)
        EXPECT((p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) !=
               MAP_FAILED);
    stay_on_cpu_0();
    EXPECT_EQ(pthread_create(&watch, NULL, watch_lateness, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) { /* the host may be late, too, but not in each round */
        EXPECT_EQ(ftruncate(fd, PAGES * 4096), 0);
        memset(p, 1, PAGES * 4096);
        usleep(20000);
        latest = 0;
        took = seconds();
        EXPECT_EQ(ftruncate(fd, 0), 0);
        took = seconds() - took;
        usleep(5000);
        printf("  cut in %.3f s, %.3f s late\n", took, latest);
        least = latest / took < least ? latest / took : least;
    }
    watch_ends = true;
    pthread_join(watch, NULL);
    EXPECT(least < 1.0 / 3);
}

/* A range that takes minutes: the call ends when its process is killed. */
static void killed_while_asking(void)
{
    enum { PIECE = 1 << 24, PIECES = 256 };
    size_t range = (size_t)PIECE * PIECES * 4096;
    int id = shmget(IPC_PRIVATE, PIECE, 0600), status;
    char *vec, *p;
    time_t begin;
    pid_t pid;

    if (!on_homeroom())
        SKIP("it may take its time here");
    EXPECT(id >= 0);
    vec = mmap(NULL, (size_t)PIECE * PIECES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
               -1, 0);
    EXPECT(vec != MAP_FAILED);
    for (int i = 0; i < PIECES; i++)
        EXPECT(shmat(id, vec + (size_t)i * PIECE, SHM_REMAP) != (void *)-1);
    shmctl(id, IPC_RMID, NULL);
    p = mmap(NULL, range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT(p != MAP_FAILED);
    if ((pid = fork()) == 0)
        _exit(mincore(p, range, (unsigned char *)vec) == 0);
    usleep(200000);
    begin = time(NULL);
    kill(pid, SIGKILL);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT(WIFSIGNALED(status));
    EXPECT(time(NULL) - begin < 5);
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

static void populating(void)
{
    unsigned char there[8];
    char *p = map(8 * PAGE), *q;
    int fd = temporary(PAGE);

    EXPECT_EQ(madvise(p + PAGE, 4 * PAGE, MADV_POPULATE_WRITE), 0);
    EXPECT_EQ(mincore(p, 8 * PAGE, there), 0);
    for (int i = 0; i < 8; i++)
        EXPECT_EQ(there[i] & 1, i >= 1 && i < 5);
    EXPECT_EQ(munmap(p + 3 * PAGE, PAGE), 0);
    EXPECT_ERR(madvise(p, 8 * PAGE, MADV_POPULATE_READ), ENOMEM);
    EXPECT_EQ(mprotect(p, PAGE, PROT_READ), 0);
    EXPECT_ERR(madvise(p, PAGE, MADV_POPULATE_WRITE), EINVAL);
    EXPECT_EQ(madvise(p, PAGE, MADV_POPULATE_READ), 0);
    EXPECT_EQ(mprotect(p, PAGE, PROT_NONE), 0);
    EXPECT_ERR(madvise(p, PAGE, MADV_POPULATE_READ), EINVAL);
    EXPECT((q = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0)) != MAP_FAILED);
    EXPECT_ERR(madvise(q, 2 * PAGE, MADV_POPULATE_READ), EFAULT);
}

enum { FILE_BYTES = 1 << 20, COPIES = 1024 };

/* Maps a file of 1 MiB COPIES times, one copy behind the other. */
static char *map_copies(void)
{
    char *p = mmap(NULL, (size_t)FILE_BYTES * COPIES, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
    int fd = temporary(FILE_BYTES);

    EXPECT(p != MAP_FAILED);
    for (size_t i = 0; i < COPIES; i++)
        EXPECT(mmap(p + i * FILE_BYTES, FILE_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) !=
               MAP_FAILED);
    return p;
}

/* The most memory that process `pid` has had, in KiB; 0: it has ended, and has no memory any more. */
static long peak_kib(pid_t pid)
{
    char name[64], line[128];
    long kib = 0;
    FILE *f;

    snprintf(name, sizeof name, "/proc/%d/status", pid);
    EXPECT((f = fopen(name, "r")) != NULL);
    while (fgets(line, sizeof line, f) != NULL && sscanf(line, "VmHWM: %ld", &kib) != 1)
        ;
    fclose(f);
    return kib;
}

/*
 * A large range is being faulted in when SIGKILL arrives: the rest of the range is left out.  The final peak is
 * compared with the peak after the kill, because a busy host may let the process fault in much before the kill.
 */
static void killed_while_populating(void)
{
    enum { SOME_KIB = 16384 };
    struct rusage ru;
    long peak = 0;
    int status;
    pid_t pid;

    if ((pid = fork()) == 0) {
        char *p = map_copies();

        madvise(p, (size_t)FILE_BYTES * COPIES, MADV_POPULATE_READ);
        _exit(0);
    }
    while (peak < SOME_KIB && waitpid(pid, &status, WNOHANG) == 0)
        peak = peak_kib(pid);
    if (peak < SOME_KIB || kill(pid, SIGKILL) != 0)
        SKIP("the range was filled before the kill");
    peak = peak_kib(pid);
    EXPECT_EQ(wait4(pid, &status, 0, &ru), pid);
    if (WIFEXITED(status) || peak == 0)
        SKIP("the process ended before its memory was measured");
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    EXPECT(ru.ru_maxrss < peak + SOME_KIB);
}

static const struct check list[] = {
    {"cut_while_mapped_often", cut_while_mapped_often},
    {"killed_while_asking", killed_while_asking},
    {"huge_lengths", huge_lengths},
    {"shared_segments", shared_segments},
    {"segment_keys", segment_keys},
    {"anonymous_is_zero", anonymous_is_zero},
    {"unmap_middle", unmap_middle},
    {"protection", protection},
    {"no_execute", no_execute},
    {"fixed_replaces", fixed_replaces},
    {"bad_arguments", bad_arguments},
    {"remap_grows", remap_grows},
    {"break_moves", break_moves},
    {"copy_on_write", copy_on_write},
    {"shared_is_shared", shared_is_shared},
    {"file_shared", file_shared},
    {"file_private", file_private},
    {"file_mapped_is_busy", file_mapped_is_busy},
    {"file_end", file_end},
    {"file_shrinks", file_shrinks},
    {"file_permissions", file_permissions},
    {"stack_grows", stack_grows},
    {"advice", advice},
    {"advice_of_large_ranges", advice_of_large_ranges},
    {"ranges_that_wrap", ranges_that_wrap},
    {"populating", populating},
    {"killed_while_populating", killed_while_populating},
    {"kernel_addresses_refused", kernel_addresses_refused},
};
CHECK_MAIN(list)
