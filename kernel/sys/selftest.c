// SPDX-License-Identifier: MIT
/*
 * selftest.c - /dev/selftest of test builds: breaks rules on purpose, and reports memory in use.
 *
 * THEORY      The kernel has checks that detect its own errors.  To test a check, a program writes a word to
 *             the device, and the kernel makes the error of that name.  Each error must end in a panic whose
 *             message names the error.  `vmcheck` is no error: it checks all page tables.  Reading the device
 *             returns the numbers of allocated kernel objects and of free frames, so that a test can find memory
 *             leaks.
 * LOCKING     none
 * SEE ALSO    tests/test_protection.py
 */
#ifdef HR_TEST

#include "sys/selftest.h"

#include "vfs/file.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/spinlock.h"
#include "lib/string.h"
#include "mem/kmem.h"
#include "mem/kstack.h"
#include "mem/page.h"
#include "mem/percpu.h"
#include "proc/proc.h"
#include "stat/panic.h"
#include "x86/asm.h"
#include "x86/features.h"

enum { RET = 0xc3 };

/* The page of the program's stack pointer, which is mapped because the program has used it. */
static uint64_t user_address(void)
{
    return curlwp()->t.uregs->rsp & PAGE_MASK;
}

static void call_address(uint64_t address)
{
    ((void (*)(void))address)();
}

static void panic_on_request(void)
{
    panic("asked for by /dev/selftest");
}

static void execute_user_page(void)
{
    uint64_t rip = curlwp()->t.uregs->rip; /* a page that the program executes */

    call_address(rip);
}

static void read_user_page(void)
{
    (void)*(volatile uint64_t *)user_address();
}

static void execute_heap_page(void)
{
    uint8_t *page = kmem_alloc(64);

    page[0] = RET;
    call_address((uint64_t)page);
}

static void write_rodata(void)
{
    *(volatile char *)(uint64_t)"constant" = 0;
}

static void write_kernel_text(void)
{
    *(volatile uint8_t *)(uint64_t)panic_on_request = RET;
}

static void read_null_page(void)
{
    volatile uint64_t address = 8;

    (void)*(volatile uint64_t *)address;
}

static void break_lock_order(void)
{
    static struct spinlock a = SPINLOCK_INIT(RANK_RUNQ), b = SPINLOCK_INIT(RANK_FD);

    spin_lock(&a);
    spin_lock(&b);
}

static void break_sleep_order(void)
{
    struct mutex a, b;

    mutex_init(&a, SLEEP_PIPE);
    mutex_init(&b, SLEEP_FIFO);
    mutex_enter(&a);
    mutex_enter(&b);
}

static void keep_mutex_locked(void)
{
    static struct mutex m;

    mutex_init(&m, SLEEP_PIPE);
    mutex_enter(&m);
}

static void sleep_with_spinlock(void)
{
    static struct spinlock l = SPINLOCK_INIT(RANK_FD);
    struct mutex m;

    mutex_init(&m, SLEEP_PIPE);
    spin_lock(&l);
    mutex_enter(&m); /* m is free: the check must not depend on whether the thread has to wait */
}

/*
 * Writes to a freed object, then frees other objects until the first one leaves the quarantine and
 * is checked.
 */
static void write_freed_object(void)
{
    uint64_t *freed = kmem_alloc(64);

    kmem_free(freed);
    freed[1] = 1;
    for (unsigned i = 0; i < QUARANTINE; i++)
        kmem_free(kmem_alloc(64));
}

static void fail_assertion(void)
{
    ASSERT(curthread == NULL, "I0");
}

static uint64_t recurse_deeper(uint64_t n)
{
    volatile uint64_t space[64];

    for (unsigned i = 0; i < 64; i++)
        space[i] = n;
    return n == 0 ? 0 : recurse_deeper(n - 1) + space[n % 64];
}

/* Overflows the kernel stack, then sleeps long enough (1 s) to cause a thread switch. */
static void overflow_kernel_stack(void)
{
    (void)recurse_deeper(KSTACK_SIZE / 512);
    thread_sleep_ns(1000000000);
}

static const struct {
    const char *word;
    void (*fn)(void);
} words[] = {
    {"panic", panic_on_request},    {"smep", execute_user_page},       {"smap", read_user_page},
    {"nx", execute_heap_page},      {"rodata", write_rodata},          {"text", write_kernel_text},
    {"null", read_null_page},       {"lockorder", break_lock_order},   {"assert", fail_assertion},
    {"sleep", sleep_with_spinlock}, {"sleeporder", break_sleep_order}, {"keep", keep_mutex_locked},
    {"freed", write_freed_object},  {"stack", overflow_kernel_stack},  {"vmcheck", vm_check}};

static long selftest_write(struct file *f, struct uio *uio, loff_t off)
{
    char word[16] = "";
    size_t n = uio->resid;

    if (n >= sizeof word)
        return -EINVAL;
    if (uio_move(word, n, uio) != 0)
        return -EFAULT;
    if (n > 0 && word[n - 1] == '\n')
        word[n - 1] = '\0';
    for (unsigned i = 0; i < array_size(words); i++)
        if (strcmp(word, words[i].word) == 0) {
            words[i].fn();
            return (long)n;
        }
    return -EINVAL;
}

static long selftest_read(struct file *f, struct uio *uio, loff_t off)
{
    char text[96];
    uint64_t frames;
    int n;

    if (off > 0)
        return 0;
    kstack_reap();
    frames = vm_cached_tables() + kstack_tables;
    for (unsigned i = 0; i < nnodes; i++)
        frames += mem_free_pages(i);
    n = snprintf(text, sizeof text, "objects %lu\nfree_frames %lu\n", kmem_live_objects(), frames);
    return uio_move(text, (size_t)n, uio) != 0 ? -EFAULT : n;
}

static const struct fileops selftest_ops = {
    .read = selftest_read, .write = selftest_write, .seek = file_text_seek};

static int selftest_open(struct vnode *vn, int oflags, struct file *f)
{
    f->ops = &selftest_ops;
    f->seekable = true;
    return 0;
}

void selftest_init(void)
{
    static struct cdev device = {
        .name = "selftest", .rdev = makedev(10, 241), .mode = 0600, .open = selftest_open};

    cdev_register(&device);
}

#endif
