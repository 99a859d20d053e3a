// SPDX-License-Identifier: MIT
/*
 * fireplane.c - see user/include/fireplane.h.
 *
 * THEORY      The page is mapped once: on Homeroom from /dev/fireplane, on Linux from the device's window in sysfs.
 *             There only root may open the window, and it answers only when the device is enabled.
 *             A doorbell does nothing without a model, so the library rings it without a check.
 *             The first process that arms the model runs the model's self-test (user/bench/fptest.c).
 *             A thread may move between the call that returns its CPU and the doorbell.  What it reads belongs to that
 *             CPU only if the thread is on the same CPU before and after, so fp_now_ps() asks twice.
 * SEE ALSO    include/uapi/fireplane.h
 */
#include "fireplane.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A CPU may publish its counts while they are read.  With a skew of a few clock cycles it publishes all the time. */
enum { TRIES = 8 };

static void *page; /* NULL: there is no model */
/* the self-test does not fit the parameters; it does not run again, because it disturbs threads */
static bool unfit;
static bool asked, armed_by_us;  /* fp_arm() was called; it armed the model */
static uint32_t disarmed_before; /* the header's count of disarmings at the last fp_arm() */

/* A number from a file of a PCI device in sysfs; 0 if there is none. */
static unsigned long sysfs_number(int dir, const char *name)
{
    char text[32] = "";
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof text - 1) < 0)
        text[0] = '\0';
    close(fd);
    return strtoul(text, NULL, 0);
}

/* Opens the window of the device in folder `dir` if it is the model's.  Returns a descriptor; -1 with errno. */
static int open_window(int dir)
{
    char name[16];
    int fd;

    if (sysfs_number(dir, "vendor") != FP_PCI_VENDOR ||
        sysfs_number(dir, "device") != FP_PCI_DEVICE) {
        errno = ENODEV;
        return -1;
    }
    if (sysfs_number(dir, "enable") == 0 &&
        (fd = openat(dir, "enable", O_WRONLY | O_CLOEXEC)) >= 0) {
        ssize_t done = write(fd, "1", 1);

        (void)done; /* whether the device is enabled shows when the window is mapped */
        close(fd);
    }
    snprintf(name, sizeof name, "resource%d", FP_PCI_BAR);
    return openat(dir, name, O_RDONLY | O_CLOEXEC);
}

/* Opens the window of the first PCI device that is the model's.  Returns a descriptor; -1 with errno. */
static int open_linux(void)
{
    DIR *devices = opendir("/sys/bus/pci/devices");
    struct dirent *entry;
    int fd = -1, error = ENODEV;

    while (devices != NULL && fd < 0 && (entry = readdir(devices)) != NULL) {
        int dir = openat(dirfd(devices), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (dir < 0)
            continue;
        fd = open_window(dir);
        if (fd < 0 && errno != ENODEV)
            error = errno;
        close(dir);
    }
    if (devices != NULL)
        closedir(devices);
    errno = error;
    return fd;
}

int fp_open(void)
{
    const struct fp_header *header;
    int fd;

    if (page != NULL)
        return 0;
    fd = open("/dev/fireplane", O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        fd = open_linux();
    if (fd < 0)
        return -1;
    header = mmap(NULL, FP_PUBLIC_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (header == MAP_FAILED)
        return -1;
    if (header->magic != FP_MAGIC || header->version != FP_VERSION || header->ncpus > FP_MAX_CPUS) {
        munmap((void *)header, FP_PUBLIC_BYTES);
        errno = ENODEV;
        return -1;
    }
    page = (void *)header;
    return 0;
}

/*
 * Runs the self-test: does the model count correctly on this QEMU?  If it does not, the test ends the machine.
 * Returns 0; -1 after a message if the test did not run.
 */
static int test_model(void)
{
    char *const argv[] = {"fptest", NULL}, *const envp[] = {"PATH=/usr/bin:/bin:/sbin:/usr/sbin",
                                                            NULL};
    int error, status = 0;
    pid_t pid;

    error = posix_spawn(&pid, "/usr/bin/fptest", NULL, NULL, argv, envp);
    if (error == 0 && waitpid(pid, &status, 0) < 0)
        error = errno;
    unfit = error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == FPTEST_UNFIT;
    if ((error == 0 && status == 0) || unfit)
        return 0;
    fprintf(stderr,
            "fireplane: the model is not armed, because it could not be tested: fptest: %s\n",
            error != 0            ? strerror(error)
            : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                  : "see above");
    return -1;
}

int fp_arm(void)
{
    if (fp_open() == 0 && !unfit && fp_header()->tested == FP_UNTESTED && test_model() != 0)
        return -1;
    if (page != NULL) {
        asked = true;
        disarmed_before = __atomic_load_n(&fp_header()->disarmed, __ATOMIC_RELAXED);
        armed_by_us = armed_by_us || !__atomic_load_n(&fp_header()->armed, __ATOMIC_RELAXED);
    }
    FP_DOORBELL(FP_OP_ARM);
    return 0;
}

int fp_disarm(void)
{
    bool whole =
        !asked || __atomic_load_n(&fp_header()->disarmed, __ATOMIC_RELAXED) == disarmed_before;

    if (armed_by_us)
        FP_DOORBELL(FP_OP_DISARM);
    asked = armed_by_us = false;
    if (!whole)
        fprintf(
            stderr,
            "fireplane: another program disarmed the model meanwhile, so what was counted is not whole\n");
    return whole ? 0 : -1;
}

uint64_t fp_now_ps(void)
{
    uint64_t now;
    int cpu, after;

    if (page == NULL)
        return 0;
    do {
        cpu = sched_getcpu();
        if (cpu < 0 || cpu >= FP_MAX_CPUS)
            return 0;
        FP_DOORBELL(FP_OP_SYNC);
        now = __atomic_load_n(&FP_CPU(page, cpu)->counts.time_ps, __ATOMIC_RELAXED);
        after = sched_getcpu();
    } while (after != cpu);
    return now;
}

void fp_read(struct fp_counts *sum)
{
    struct fp_counts one;
    uint64_t latest = 0;

    memset(sum, 0, sizeof *sum);
    if (page == NULL)
        return;
    for (int cpu = 0; fp_read_cpu(cpu, &one) == 0; cpu++) {
        for (unsigned i = 0; i < sizeof one / sizeof(uint64_t); i++)
            ((uint64_t *)sum)[i] += ((uint64_t *)&one)[i];
        if (one.time_ps > latest)
            latest = one.time_ps;
    }
    sum->time_ps = latest;
}

int fp_read_cpu(int cpu, struct fp_counts *counts)
{
    const struct fp_counts *at;
    uint64_t time;

    if (page == NULL || cpu < 0 || (uint32_t)cpu >= fp_header()->ncpus) {
        memset(counts, 0, sizeof *counts);
        return -1;
    }
    /* publishes the counts of this CPU; those of the others are at most a quantum old */
    FP_DOORBELL(FP_OP_SYNC);
    at = &FP_CPU(page, cpu)->counts;
    for (int tries = 0; tries < TRIES; tries++) {
        time = __atomic_load_n(&at->time_ps, __ATOMIC_RELAXED);
        for (unsigned i = 0; i < sizeof *counts / sizeof(uint64_t); i++)
            ((uint64_t *)counts)[i] = __atomic_load_n((const uint64_t *)at + i, __ATOMIC_RELAXED);
        if (__atomic_load_n(&at->time_ps, __ATOMIC_RELAXED) == time)
            break;
    }
    return 0;
}

const struct fp_header *fp_header(void)
{
    return page;
}
