// SPDX-License-Identifier: MIT
/*
 * memory.c - attacks on memory: addresses outside of the user's half, races between own threads, and all memory.
 *
 * SEE ALSO    attack.h
 */
#include "attack.h"

#include <pthread.h>
#include <sched.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <ucontext.h>

#ifndef MAP_HUGETLB
#define MAP_HUGETLB 0x40000
#endif

static const uintptr_t top = 0x800000000000; /* the end of the user's half */
static const uintptr_t kernel = 0xffff800000000000, text = 0xffffffff80000000;

static void *at(uintptr_t address)
{
    return (void *)address; /* NOLINT: the attack is about addresses */
}

static long map_at(uintptr_t address, size_t bytes, int flags)
{
    void *p = mmap(at(address), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
                   -1, 0);

    return p == MAP_FAILED ? -1 : 0;
}

static bool huge_past_the_half(void)
{
    return allowed("last page", map_at(top - PAGE, PAGE, MAP_FIXED | MAP_HUGETLB)) |
           allowed("2 MiB too far", map_at(top - 2 * MIB, 2 * MIB + PAGE, MAP_FIXED | MAP_HUGETLB));
}

/* Runs on a stack of its own, because everything else above `hint` is unmapped. */
static int map_above_nothing(void *length)
{
    const uintptr_t hint = 0x600000000000;
    long p;

    syscall(SYS_munmap, 0x100000000000, top - PAGE - 0x100000000000);
    p = syscall(SYS_mmap, hint, (uintptr_t)length, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_HUGETLB, -1, 0);
    if (p == -1)
        syscall(SYS_exit_group, 0);
    syscall(SYS_munmap, p, 2 * MIB);
    syscall(SYS_exit_group, 1);
    return 0;
}

static bool huge_above_nothing(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    const uintptr_t length[] = {top - PAGE, top - 2 * MIB + PAGE, top};
    bool got = false;

    for (int i = 0; i < 3; i++) {
        int status = -1;
        pid_t pid = clone(map_above_nothing, stack + sizeof stack, SIGCHLD, at(length[i]));

        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return allowed("clone", -1);
        got |= !survived("all", status);
    }
    return got;
}

static bool huge_length_wraps(void)
{
    return allowed("-1", map_at(0, SIZE_MAX, MAP_HUGETLB)) |
           allowed("-2 MiB", map_at(0, -(size_t)2 * MIB + 1, MAP_HUGETLB)) |
           allowed("half", map_at(0, top - MIB, MAP_HUGETLB));
}

static bool fixed_in_the_kernel(void)
{
    return allowed("half", map_at(top, PAGE, MAP_FIXED)) |
           allowed("kernel", map_at(kernel, PAGE, MAP_FIXED)) |
           allowed("text", map_at(text, PAGE, MAP_FIXED)) |
           allowed("last", map_at(-(uintptr_t)PAGE, PAGE, MAP_FIXED));
}

static bool mremap_into_the_kernel(void)
{
    void *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool got = false;

    got |= allowed(
        "to",
        mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at(kernel)) == MAP_FAILED ? -1 : 0);
    got |=
        allowed("grown", mremap(p, PAGE, SIZE_MAX - PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    got |=
        allowed("from", mremap(at(kernel), PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    return got;
}

static bool wrapping_ranges(void)
{
    unsigned char vec[1];
    char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t wraps = -(uintptr_t)p + PAGE;

    return allowed("munmap", munmap(p, wraps)) |
           allowed("mprotect", mprotect(p, wraps, PROT_READ)) |
           allowed("madvise", madvise(p, wraps, MADV_DONTNEED)) |
           allowed("mincore", mincore(p, wraps, vec)) | allowed("msync", msync(p, wraps, MS_SYNC)) |
           allowed("mlock", mlock(p, wraps));
}

static bool protect_the_kernel(void)
{
    return allowed("mprotect", mprotect(at(kernel), PAGE, PROT_READ | PROT_WRITE)) |
           allowed("munmap", munmap(at(text), PAGE)) |
           allowed("madvise", madvise(at(kernel), PAGE, MADV_DONTNEED)) |
           allowed("across", mprotect(at(top - PAGE), 2 * PAGE, PROT_READ));
}

static bool kernel_addresses_to_calls(void)
{
    struct iovec bad = {at(kernel), PAGE};
    int zero = open("/dev/zero", O_RDONLY), p[2];
    bool got = false;

    if (pipe(p) != 0)
        return false;
    got |= allowed("read", read(zero, at(kernel), PAGE)) |
           allowed("write", write(p[1], at(text), PAGE));
    got |= allowed("readv", readv(zero, &bad, 1)) | allowed("stat", syscall(SYS_stat, "/", kernel));
    got |= allowed("across", read(zero, at(top - 8), 16)) |
           allowed("last", read(zero, at(-(uintptr_t)8), 16));
    return got | allowed("times", syscall(SYS_clock_gettime, 0, at(text)));
}

static bool kernel_by_proc_mem(void)
{
    char b[8];
    int fd = open("/proc/self/mem", O_RDWR);

    if (fd < 0)
        return allowed("open", -1);
    return allowed("pread", syscall(SYS_pread64, fd, b, 8, kernel)) |
           allowed("pwrite", syscall(SYS_pwrite64, fd, b, 8, text));
}

/* Loads bad selectors with far returns.  Each must end the process with a signal; it must not fault for ever. */
static uint16_t bad_cs, bad_ss;

static void far_return(void)
{
    alarm(10);
    __asm__ volatile("movq %%rsp, %%rcx\n"
                     "pushq %0\n"
                     "pushq %%rcx\n"
                     "pushfq\n"
                     "pushq %1\n"
                     "leaq 1f(%%rip), %%rax\n"
                     "pushq %%rax\n"
                     "iretq\n"
                     "1:" ::"r"((uint64_t)bad_ss),
                     "r"((uint64_t)bad_cs)
                     : "rax", "rcx", "memory");
}

static bool bad_selectors(void)
{
    static const uint16_t cs[] = {0xfff8, 0x08, 0x10, 0x00, 0x33, 0x33},
                          ss[] = {0x2b, 0x2b, 0x2b, 0x2b, 0xfff8, 0x18};
    char name[16];
    bool got = false;
    int status;

    shared->ends = true;
    for (int i = 0; i < 6; i++) {
        bad_cs = cs[i];
        bad_ss = ss[i];
        snprintf(name, sizeof name, "%x:%x", cs[i], ss[i]);
        status = in_child(far_return);
        got |= (survived(name, status) && i < 4) ||
               (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    }
    return got;
}

/* A program can write its signal frame: each field that the kernel must not trust. */
static int which_field;

static void on_signal(int sig, siginfo_t *info, void *frame)
{
    ucontext_t *u = frame;
    greg_t *r = u->uc_mcontext.gregs;

    (void)sig;
    (void)info;
    switch (which_field) {
    case 0:
        r[REG_RIP] = (greg_t)text;
        break;
    case 1:
        r[REG_RIP] = (greg_t)0x8000deadbeef0000;
        break;
    case 2:
        r[REG_CSGSFS] = 0x2b000000000008; /* the kernel's code segment, the user's stack segment */
        break;
    case 3:
        r[REG_EFL] |= 0x3000 | 0x4000 | 0x20000; /* IOPL 3, NT, VM */
        break;
    case 4:
        r[REG_RSP] = (greg_t)kernel;
        break;
    case 5:
        if (u->uc_mcontext.fpregs != NULL)
            u->uc_mcontext.fpregs->mxcsr = 0xffffffff;
        break;
    case 6:
        u->uc_mcontext.fpregs = at(kernel);
        break;
    default:
        u->uc_mcontext.fpregs = at((uintptr_t)u->uc_mcontext.fpregs + 1);
        break;
    }
}

static void forge_frame(void)
{
    struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

    sigaction(SIGUSR1, &sa, NULL);
    raise(SIGUSR1);
    if (which_field == 3) {
        uint64_t flags;

        __asm__ volatile("pushfq\npopq %0" : "=r"(flags));
        _exit(flags & 0x23000 ? 0 : 7); /* 7: the kernel ignored the forged flags */
    }
    if (which_field == 2)
        _exit(7);
}

static bool forged_signal_frames(void)
{
    static const char *const names[] = {"rip kernel", "rip noncanonical", "cs",     "flags", "rsp",
                                        "mxcsr",      "fpu kernel",       "fpu odd"};
    bool got = false;

    for (which_field = 0; which_field < 8; which_field++)
        got |= survived(names[which_field], in_child(forge_frame)) && which_field < 4;
    return got;
}

static bool bases(void)
{
    enum { SET_GS = 0x1001, SET_FS = 0x1002 };
    bool got = allowed("fs kernel", syscall(SYS_arch_prctl, SET_FS, kernel)) |
               allowed("gs noncanonical", syscall(SYS_arch_prctl, SET_GS, 0x8000deadbeef0000));

    return got;
}

static void clear_in_kernel(void)
{
    syscall(SYS_set_tid_address, text);
    syscall(SYS_set_robust_list, kernel, 24);
}

static bool exit_writes(void)
{
    /* the kernel writes to that address when a thread ends */
    answer("status %#x", (unsigned)in_child(clear_in_kernel));
    return false;
}

/* One thread writes to a private mapping of root's file through /proc/self/mem, another drops the mapping's pages. */
static char *stolen;

static void *throw_away(void *arg)
{
    for (int i = 0; i < 20000; i++)
        madvise(stolen, PAGE, MADV_DONTNEED);
    return arg;
}

static bool written_read_only(void)
{
    int file = open(canary, O_RDONLY), mem = open("/proc/self/mem", O_RDWR);
    long wrote = 0;
    pthread_t t;

    stolen = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
    if (stolen == MAP_FAILED || mem < 0 || pthread_create(&t, NULL, throw_away, NULL) != 0)
        return allowed("open", -1);
    for (int i = 0; i < 20000; i++)
        wrote += pwrite(mem, "dead", 4, (off_t)(uintptr_t)stolen) == 4;
    pthread_join(t, NULL);
    answer("%s", wrote > 0 ? "written to a copy" : "not written");
    return allowed("shared",
                   mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED ? -1 : 0);
}

/* Threads map, protect, fork and drop the same range. */
static char *range;
enum { RANGE = 64 };

static void *stir(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg * 7919 + 1;

    for (int i = 0; i < 1500; i++) {
        char *p = range + (size_t)(rand_r(&seed) % RANGE) * PAGE;
        size_t n = (size_t)(1 + rand_r(&seed) % 8) * PAGE;
        char c = 1;

        if (p + n > range + RANGE * PAGE)
            n = PAGE;
        switch (rand_r(&seed) % 6) {
        case 0:
            mmap(p, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            break;
        case 1:
            mprotect(p, n, rand_r(&seed) % 2 ? PROT_READ : PROT_READ | PROT_WRITE);
            break;
        case 2:
            madvise(p, n, MADV_DONTNEED);
            break;
        case 3:
            if (i % 50 == 0 && fork() == 0)
                _exit(0);
            break;
        default: /* through calls, which fail where a store would give a signal */
            syscall(SYS_getrandom, p, 1, 0);
            syscall(SYS_rt_sigprocmask, 0, p, NULL, 8);
            c = 0;
            break;
        }
        if (c)
            waitpid(-1, NULL, WNOHANG);
    }
    return NULL;
}

static bool races_of_ranges(void)
{
    pthread_t t[4];

    range = mmap(NULL, RANGE * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < 4; i++)
        if (pthread_create(&t[i], NULL, stir, at((uintptr_t)i)) != 0)
            return allowed("thread", -1);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    answer("done");
    return false;
}

/* Touches pages until there are none; then the process that has most is ended. */
static void touch_all(void)
{
    for (long n = 0;; n++) {
        char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED)
            _exit(1);
        memset(p, 1, MIB);
    }
}

static bool all_memory(void)
{
    survived("touch", in_child(touch_all));
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            touch_all();
        }
    sleep(1);
    return false;
}

/* The same with many processes, none of which has much. */
static bool many_small(void)
{
    for (int i = 0; i < 128; i++)
        if (fork() == 0) {
            char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

            memset(p, 1, 4 * MIB - 128 * (size_t)1024);
            pause();
        }
    answer("goes on");
    pause();
    return false;
}

/* Reserves as much memory as there is, and touches it if `touch`. */
static void promise_all(bool touch)
{
    for (size_t size = (size_t)1 << 36; size >= 16 * PAGE;) {
        char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
            size /= 2;
        for (size_t i = 0; touch && p != MAP_FAILED && i < size; i += PAGE)
            p[i] = 1;
    }
}

/*
 * One process reserves all memory and uses it.  Others use memory without a reservation: each too little to be ended
 * for it, and all together nearly a sixteenth of memory, which is more than root's part.
 */
static bool promised_and_more(void)
{
    size_t size = 7 * (size_t)MIB / 2, all = (size_t)sysconf(_SC_PHYS_PAGES) * PAGE;

    for (size_t i = 0; i < all / 16 / size; i++)
        if (fork() == 0) {
            char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

            sleep(2);
            memset(p, 1, size);
            pause();
        }
    answer("goes on");
    promise_all(true);
    sleep(3);
    return false;
}

/* The same with page tables: a page in every 2 MiB. */
static bool promised_and_tables(void)
{
    char *p =
        mmap(NULL, (size_t)64 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    promise_all(false);
    for (size_t i = 0; p != MAP_FAILED && i < 8000; i++)
        (void)*(volatile char *)(p + i * 2 * MIB);
    answer("goes on");
    return false;
}

/* Memory that belongs to no process, so no process can be ended to free it. */
static bool shared_without_promise(void)
{
    enum { NORESERVE = 010000 };
    int id, n = 0;

    for (; n < 64 && (id = shmget(IPC_PRIVATE, 16 * (size_t)MIB, 0600 | NORESERVE)) >= 0; n++) {
        char *p = shmat(id, NULL, 0);

        if (p == (char *)-1)
            break;
        memset(p, 1, 16 * (size_t)MIB);
        shmdt(p);
    }
    answer("%s at last", error_name(errno));
    return false;
}

static bool all_promised(void)
{
    long n = 0;

    while (mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
               MAP_FAILED &&
           n < 1 << 20)
        n++;
    answer("%s at last", n < 1 << 20 ? error_name(errno) : "a TiB");
    return false;
}

static bool all_locked(void)
{
    size_t n = 0;
    bool got;

    for (char *p; (p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                            0)) != MAP_FAILED;
         n++)
        if (mlock(p, MIB) != 0)
            break;
    answer("%s at last", error_name(errno));
    got = n > 64;
    mlockall(MCL_CURRENT | MCL_FUTURE);
    return got;
}

/* Each process stays within its limit. */
static bool locked_from_now_on(void)
{
    for (int i = 0; i < 64; i++)
        if (fork() == 0) {
            char *p;
            size_t n = MIB;

            mlockall(MCL_FUTURE);
            do
                p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            while (p != MAP_FAILED);
            if (i == 0)
                answer("%s at last", error_name(errno));
            pause();
        }
    sleep(2);
    return false;
}

static bool locked_segments(void)
{
    size_t n = 0;

    int id[128];

    while (n < 128 && (id[n] = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600)) >= 0 &&
           shmat(id[n], NULL, 0) != (void *)-1 && shmctl(id[n], SHM_LOCK, NULL) == 0)
        n++;
    answer("%s at last", error_name(errno));
    for (size_t i = 0; i < 128 && i <= n && id[i] >= 0; i++)
        shmctl(id[i], IPC_RMID, NULL);
    return n > 64;
}

/* Locked segments that are removed while they are attached. */
static bool removed_segments(void)
{
    char *p[128];
    size_t n = 0;

    for (int id; n < 128 && (id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600)) >= 0; n++) {
        p[n] = shmat(id, NULL, 0);
        shmctl(id, SHM_LOCK, NULL);
        shmctl(id, IPC_RMID, NULL);
        if (p[n] == (void *)-1)
            break;
        memset(p[n], 1, MIB);
    }
    answer("%s", n < 128 ? error_name(errno) : "all");
    return false;
}

/* KiB of free memory. */
static long free_kib(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long n = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        sscanf(line, "MemFree: %ld", &n);
    if (f != NULL)
        fclose(f);
    return n;
}

static void touch_huge(void)
{
    for (int i = 0; i < 16; i++)
        *(volatile char *)mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0) =
            1;
}

/* Gives every second page back, so that memory is free only in single frames. */
static bool fragments(void)
{
    const size_t most = (size_t)1 << 30;
    char *p = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    size_t n = 0;

    shared->ends = true;
    if (p == MAP_FAILED)
        return allowed("mmap", -1);
    while (n + MIB <= most && free_kib() > 6144)
        for (size_t end = n + MIB; n < end; n += PAGE)
            p[n] = 1;
    for (size_t k = 0; k < n; k += 2 * PAGE)
        madvise(p + k, PAGE, MADV_DONTNEED);
    survived("2 MiB pages", in_child(touch_huge));
    return false;
}

/* Makes every second page a range of its own with `change`, until the system refuses. */
static bool split(int (*change)(void *page))
{
    enum { PAGES = 300000 };
    char *p = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    long n = 0;

    if (p == MAP_FAILED)
        return allowed("mmap", -1);
    while (n < PAGES / 2 && change(p + (size_t)n * 2 * PAGE) == 0)
        n++;
    answer("%s", n < PAGES / 2 ? error_name(errno) : "all");
    return false;
}

static int advise(void *page)
{
    return madvise(page, PAGE, MADV_RANDOM);
}

static bool split_by_advice(void)
{
    return split(advise);
}

static int set_policy(void *page)
{
    unsigned long node = 1;

    return (int)syscall(SYS_mbind, page, PAGE, 2 /* MPOL_BIND */, &node, 64, 0);
}

static bool split_by_policy(void)
{
    return split(set_policy);
}

static int protect(void *page)
{
    return mprotect(page, PAGE, PROT_READ);
}

static bool split_by_protection(void)
{
    return split(protect);
}

static void touch_far_apart(void)
{
    size_t bytes = (size_t)64 << 30;
    char *p;

    while ((p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) == MAP_FAILED &&
           bytes > MIB)
        bytes /= 2;
    for (size_t i = 0; p != MAP_FAILED && i < bytes; i += 2 * MIB)
        p[i] = 1; /* a page, and a page of page tables */
}

static bool page_tables(void)
{
    survived("touch", in_child(touch_far_apart));
    return false;
}

static int deeper(int n)
{
    volatile char frame[8192];

    frame[0] = (char)n;
    return n > 0 ? deeper(n - 1) + frame[0] : 0;
}

static void recurse(void)
{
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

    setrlimit(RLIMIT_STACK, &all);
    _exit(deeper(1 << 20) & 1);
}

static bool endless_stack(void)
{
    survived("recursion", in_child(recurse));
    return false;
}

static const struct attack list[] = {
    {"huge_past_the_half", "mmap(MAP_HUGETLB) whose rounded length passes the user's half",
     huge_past_the_half, NULL, NULL},
    {"huge_above_nothing", "mmap(MAP_HUGETLB) of half the address space, when nothing lies above",
     huge_above_nothing, NULL, NULL},
    {"huge_length_wraps", "mmap(MAP_HUGETLB) of lengths that wrap when rounded", huge_length_wraps,
     NULL, NULL},
    {"fixed_in_the_kernel", "mmap(MAP_FIXED) in the kernel's half", fixed_in_the_kernel, NULL,
     NULL},
    {"mremap_into_the_kernel", "mremap to, from and up to the kernel", mremap_into_the_kernel, NULL,
     NULL},
    {"wrapping_ranges", "ranges that wrap", wrapping_ranges, NULL, NULL},
    {"protect_the_kernel", "mprotect and others of the kernel's half", protect_the_kernel, NULL,
     NULL},
    {"kernel_addresses_to_calls", "kernel addresses as arguments", kernel_addresses_to_calls, NULL,
     NULL},
    {"kernel_by_proc_mem", "kernel addresses through /proc/self/mem", kernel_by_proc_mem, NULL,
     NULL},
    {"bad_selectors", "iretq to selectors that are not the user's", bad_selectors, NULL, NULL},
    {"forged_signal_frames", "sigreturn from a changed frame", forged_signal_frames, NULL, NULL},
    {"bases", "FS and GS bases outside the user's half", bases, NULL, NULL},
    {"exit_writes", "what the end of a thread writes, into the kernel", exit_writes, NULL, NULL},
    {"written_read_only", "root's file through a private mapping and /proc/self/mem",
     written_read_only, NULL, NULL},
    {"races_of_ranges", "four threads map, protect, fork and drop one range", races_of_ranges, NULL,
     NULL},
    {"all_memory", "all memory, touched", all_memory, NULL, NULL},
    {"many_small", "all memory, touched by processes of 4 MiB", many_small, NULL, NULL},
    {"all_promised", "all memory, promised", all_promised, NULL, NULL},
    {"promised_and_more", "all memory, promised, and as much that is not", promised_and_more, NULL,
     NULL},
    {"promised_and_tables", "all memory, promised, and page tables besides", promised_and_tables,
     NULL, NULL},
    {"shared_without_promise", "all memory, in segments without a promise or a process",
     shared_without_promise, NULL, NULL},
    {"all_locked", "all memory, locked", all_locked, NULL, NULL},
    {"locked_from_now_on", "all memory, by processes whose memory is locked as they get it",
     locked_from_now_on, NULL, NULL},
    {"locked_segments", "all memory, in locked segments", locked_segments, NULL, NULL},
    {"removed_segments", "all memory, in locked segments that were removed", removed_segments, NULL,
     NULL},
    {"fragments", "every other frame", fragments, NULL, NULL},
    {"split_by_advice", "150,000 ranges by madvise", split_by_advice, NULL, NULL},
    {"split_by_policy", "150,000 ranges by mbind", split_by_policy, NULL, NULL},
    {"split_by_protection", "150,000 ranges by mprotect", split_by_protection, NULL, NULL},
    {"page_tables", "page tables for a page in every 2 MiB", page_tables, NULL, NULL},
    {"endless_stack", "a stack without a limit", endless_stack, NULL, NULL},
};
ATTACK_MAIN(list)
