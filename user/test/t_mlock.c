// SPDX-License-Identifier: MIT
/*
 * t_mlock.c - locked memory: mlock, mlockall, MAP_LOCKED, SHM_LOCK, and a user's limit.  `paging locked` tests that
 * locked pages stay when memory is short.
 */
#include "check.h"

#include <grp.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

enum { PAGE = 4096, USER = 1000 };

static char *map(size_t pages, int flags)
{
    char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* VmLck of this process, in pages. */
static long locked_pages(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[128];
    long kib = -4;

    EXPECT(f != NULL);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "VmLck: %ld", &kib) == 1)
            break;
    fclose(f);
    return kib / 4;
}

static unsigned present(char *p, unsigned pages)
{
    unsigned char vec[64];
    unsigned n = 0;

    EXPECT_EQ(mincore(p, pages * PAGE, vec), 0);
    for (unsigned i = 0; i < pages; i++)
        n += vec[i] & 1;
    return n;
}

/* Continues as a user who may lock `pages` pages: user 1000, or the present user if that is not root. */
static void become_user(rlim_t pages)
{
    struct rlimit rl = {pages * PAGE, pages * PAGE}, now;

    EXPECT_EQ(getrlimit(RLIMIT_MEMLOCK, &now), 0);
    if (geteuid() != 0 && now.rlim_max < rl.rlim_max)
        SKIP("this user may lock too little");
    EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &rl), 0);
    if (geteuid() != 0)
        return;
    EXPECT_EQ(setgroups(0, NULL), 0);
    EXPECT_EQ(setresgid(USER, USER, USER), 0);
    EXPECT_EQ(setresuid(USER, USER, USER), 0);
}

static void ranges(void)
{
    char *p;
    long locked;

    become_user(16);
    EXPECT((p = map(20, 0)) != NULL);
    EXPECT_EQ(locked_pages(), 0);
    EXPECT_EQ(mlock(p + PAGE + 1, 2 * PAGE), 0); /* three pages have some of these bytes */
    EXPECT_EQ(locked_pages(), 3);
    EXPECT_EQ(present(p, 20), 3);
    EXPECT_EQ(mlock(p + PAGE, 3 * PAGE), 0); /* exactly up to the limit */
    EXPECT_EQ(locked_pages(), 3);
    p[3 * PAGE] = 6;
    EXPECT_EQ(munlock(p + 2 * PAGE, PAGE), 0);
    EXPECT_EQ(locked_pages(), 2);
    EXPECT_EQ(munmap(p + PAGE, PAGE), 0);
    EXPECT_EQ(locked_pages(), 1);
    EXPECT_ERR(mlock(p, 3 * PAGE), ENOMEM); /* a hole; Linux has locked the part before it */
    /* locked pages are not dropped */
    EXPECT_ERR(madvise(p + 2 * PAGE, 2 * PAGE, MADV_DONTNEED), EINVAL);
    EXPECT_ERR(madvise(p + 2 * PAGE, 2 * PAGE, MADV_FREE), EINVAL);
    EXPECT_EQ(p[3 * PAGE], 6);
    locked = locked_pages();
    if (madvise(p + 2 * PAGE, 2 * PAGE, MADV_DONTNEED_LOCKED) == 0 || on_homeroom()) {
        EXPECT_EQ(present(p + 2 * PAGE, 18),
                  0); /* but with this advice, which Linux has since 5.18 */
        EXPECT_EQ(p[3 * PAGE], 0);
        EXPECT_EQ(locked_pages(), locked);
    }
    EXPECT_EQ(munlock(p, PAGE), 0);
    EXPECT_EQ(munlock(p + 2 * PAGE, 18 * PAGE), 0);
    EXPECT_EQ(madvise(p + 2 * PAGE, 2 * PAGE, MADV_DONTNEED), 0);
    EXPECT_EQ(p[3 * PAGE], 0);
    EXPECT_EQ(locked_pages(), 0);
    EXPECT_ERR(mlock(p + 2 * PAGE, 17 * PAGE), ENOMEM);
    EXPECT_EQ(locked_pages(), 0);
    EXPECT_EQ(mlock(p + 2 * PAGE, 16 * PAGE), 0);
    EXPECT_ERR(mlock(p + 18 * PAGE, 1), ENOMEM);
}

static void without_a_limit(void)
{
    char *p;

    become_user(0);
    EXPECT((p = map(1, 0)) != NULL);
    EXPECT_ERR(mlock(p, PAGE), EPERM);
    EXPECT_ERR(mlockall(MCL_CURRENT), EPERM);
    EXPECT(map(1, MAP_LOCKED) == NULL);
    EXPECT_EQ(munlock(p, PAGE), 0);
    EXPECT_EQ(munlockall(), 0);
}

static void everything(void)
{
    struct sysinfo si;
    char *p, *q;
    int status;

    NEED_ROOT();
    EXPECT_ERR(mlockall(0), EINVAL);
    EXPECT_ERR(mlockall(64), EINVAL);
    EXPECT_ERR(mlockall(4 /* MCL_ONFAULT */), EINVAL);
    EXPECT((p = map(8, 0)) != NULL);
    EXPECT_EQ(mlockall(MCL_CURRENT), 0);
    EXPECT_EQ(present(p, 8), 8);
    EXPECT(locked_pages() > 8);
    if (fork() == 0) /* a child has no locked memory */
        _exit(locked_pages() != 0);
    EXPECT(wait(&status) > 0);
    EXPECT_EQ(status, 0);
    EXPECT((q = map(8, 0)) != NULL);
    EXPECT_EQ(present(q, 8), 0);
    EXPECT_EQ(mlockall(MCL_FUTURE), 0);
    EXPECT((q = map(8, 0)) != NULL);
    EXPECT_EQ(present(q, 8), 8);
    if (on_homeroom()) { /* on Homeroom the machine has a limit for root, too */
        EXPECT_EQ(sysinfo(&si), 0);
        EXPECT_ERR(map(si.totalram / PAGE, 0) == NULL ? -1 : 0, EAGAIN);
        EXPECT(sbrk((intptr_t)si.totalram) == (void *)-1);
    }
    EXPECT_EQ(munlockall(), 0);
    EXPECT_EQ(locked_pages(), 0);
    EXPECT((q = map(8, 0)) != NULL);
    EXPECT_EQ(present(q, 8), 0);
    EXPECT((q = map(8, MAP_LOCKED)) != NULL);
    EXPECT_EQ(present(q, 8), 8);
    EXPECT_EQ(locked_pages(), 8);
    become_user(8);
    EXPECT_ERR(mlockall(MCL_CURRENT), ENOMEM);
    EXPECT_ERR(map(1, MAP_LOCKED) == NULL ? -1 : 0, EAGAIN);
}

/* MCL_ONFAULT: pages are locked when they are touched, in old and new mappings, in the heap, and after mremap(). */
static void on_fault(void)
{
    enum { ONFAULT = 4 };
    char *p, *q, *heap;

    NEED_ROOT();
    EXPECT((p = map(8, 0)) != NULL);
    EXPECT_EQ(mlockall(MCL_CURRENT | MCL_FUTURE | ONFAULT), 0);
    EXPECT_EQ(present(p, 8), 0);
    EXPECT(locked_pages() > 8);
    EXPECT((q = map(8, 0)) != NULL);
    EXPECT_EQ(present(q, 8), 0);
    q[PAGE] = 1;
    EXPECT_EQ(present(q, 8), 1);
    EXPECT((q = mremap(q, 8 * PAGE, 16 * PAGE, MREMAP_MAYMOVE)) != MAP_FAILED);
    EXPECT_EQ(present(q, 16), 1);
    heap = (char *)(((uintptr_t)syscall(SYS_brk, 0) + PAGE - 1) & -(uintptr_t)PAGE);
    EXPECT_EQ(syscall(SYS_brk, heap + 8 * PAGE), (long)(heap + 8 * PAGE));
    EXPECT_EQ(present(heap, 8), 0);
    EXPECT_EQ(mlock(p, 8 * PAGE), 0); /* locks at once what was locked on fault */
    EXPECT_EQ(present(p, 8), 8);
    EXPECT_EQ(mlockall(MCL_FUTURE), 0);
    EXPECT((q = map(8, 0)) != NULL);
    EXPECT_EQ(present(q, 8), 8);
}

/* The heap grows after a part of it is locked: the new part is not locked, and counts against no limit. */
static void heap_behind_a_locked_page(void)
{
    char *start = (char *)(((uintptr_t)syscall(SYS_brk, 0) + PAGE - 1) & -(uintptr_t)PAGE);

    become_user(8);
    EXPECT_EQ(syscall(SYS_brk, start + 4 * PAGE), (long)(start + 4 * PAGE));
    EXPECT_EQ(mlock(start, 4 * PAGE), 0);
    EXPECT_EQ(syscall(SYS_brk, start + 1024 * PAGE), (long)(start + 1024 * PAGE));
    memset(start, 1, 1024 * PAGE);
    EXPECT_EQ(locked_pages(), 4);
}

/* What a process has locked when it ends does not count against the limit of the machine any more. */
static void locks_end_with_their_process(void)
{
    size_t pages = (size_t)sysconf(_SC_PHYS_PAGES) / 8;
    struct rlimit rl = {2 * pages * PAGE, 2 * pages * PAGE};

    if (setrlimit(RLIMIT_MEMLOCK, &rl) != 0)
        SKIP("this user may lock too little");
    for (unsigned i = 0; i < 16; i++) {
        pid_t pid;
        int status;

        EXPECT((pid = fork()) >= 0);
        if (pid == 0) {
            EXPECT_EQ(mlockall(MCL_FUTURE | MCL_ONFAULT), 0);
            EXPECT(map(pages, MAP_NORESERVE) != NULL);
            _exit(0);
        }
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
    }
}

static void segments(void)
{
    struct shmid_ds ds;
    int id, roots;

    NEED_ROOT();
    EXPECT((roots = shmget(IPC_PRIVATE, 4 * PAGE, IPC_CREAT | 0666)) >= 0);
    become_user(16);
    EXPECT((id = shmget(IPC_PRIVATE, 16 * PAGE, IPC_CREAT | 0600)) >= 0);
    EXPECT_EQ(shmctl(id, SHM_LOCK, NULL), 0);
    EXPECT_EQ(shmctl(id, IPC_STAT, &ds), 0);
    EXPECT(ds.shm_perm.mode & 02000);
    EXPECT_EQ(shmctl(id, SHM_UNLOCK, NULL), 0);
    EXPECT_EQ(shmctl(id, IPC_STAT, &ds), 0);
    EXPECT(!(ds.shm_perm.mode & 02000));
    EXPECT_EQ(shmctl(id, IPC_RMID, NULL), 0);
    EXPECT((id = shmget(IPC_PRIVATE, 17 * PAGE, IPC_CREAT | 0600)) >= 0);
    EXPECT_ERR(shmctl(id, SHM_LOCK, NULL), ENOMEM);
    EXPECT_EQ(shmctl(id, IPC_RMID, NULL), 0);
    EXPECT_ERR(shmctl(roots, SHM_LOCK, NULL), EPERM);
}

static const struct check list[] = {
    {"ranges", ranges},
    {"without_a_limit", without_a_limit},
    {"everything", everything},
    {"on_fault", on_fault},
    {"heap_behind_a_locked_page", heap_behind_a_locked_page},
    {"locks_end_with_their_process", locks_end_with_their_process},
    {"segments", segments},
};
CHECK_MAIN(list)
