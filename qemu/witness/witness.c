// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * witness.c - a QEMU plugin that counts what a guest does, in a file that the guest cannot reach.
 *
 * THEORY      The grader boots kernels that contain a student's code.  Such a kernel can write whatever it likes to its
 *             console, its statistics and the page of the interconnect model.  It cannot reach this plugin.  The plugin
 *             counts the instructions of all CPUs, and the accesses of user programs by CPU and by part of the memory.
 *             A user program is code in the lower half of the address space; an access is counted if its address is
 *             there, too.  Counting begins when the kernel does, because the firmware is code of the lower half.
 *             The memory is described in grains of 1 MiB by their raw addresses, as QEMU gives them to plugins.
 *             Code of the upper half must be the kernel's: each instruction that QEMU translates is compared with the
 *             kernel's image.  So code that was patched, or that lies elsewhere, is seen when it is to run.
 * USAGE       -plugin build/witness.so,counts=FILE,text=FILE.  The grader has written ncpus, text_base and part[] to
 *             the file of counts before.  The other file has the bytes of the kernel's text.
 * INVARIANTS  one host thread runs all CPUs (-accel tcg,thread=single), so nothing here has a lock
 * QEMU 10     A callback's number of the CPU can be wrong, so the plugin reads current_cpu (qemu/fireplane/plugin.c).
 * SEE ALSO    tools/homeroom/course/witness.py
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qemu_api.h"

#define EXPORT __attribute__((visibility("default")))

#define CPUS_MAX    256
#define PARTS_MAX   64
#define GRAINS      65536 /* of 1 MiB: 64 GiB */
#define GRAIN_SHIFT 20

struct witness {
    uint64_t instructions; /* of all CPUs, kernel and user */
    uint64_t elsewhere;    /* accesses to memory of no part */
    uint64_t foreign;      /* address of the first instruction that is not the kernel's; 0: none */
    uint64_t text_base;    /* address of the kernel's text */
    uint64_t ncpus;
    uint64_t access[CPUS_MAX][PARTS_MAX]; /* of user programs, by CPU and part of the memory */
    uint8_t part[GRAINS];                 /* of each grain; PARTS_MAX or more: none */
};

/* Read by QEMU after the constructor below. */
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

static struct witness *counts;
static const uint8_t *text; /* of the kernel, text_bytes */
static uint64_t text_bytes;
static bool copies_code, started;
static struct CPUState **current; /* QEMU's current_cpu of the thread that runs all CPUs */
static struct CPUState *last;     /* the CPU of the last access, and its counters        */
static uint64_t *last_access;

/* QEMU reads qemu_plugin_version when it has loaded the plugin, and each QEMU accepts only some versions. */
static __attribute__((constructor)) void choose_version(void)
{
    struct qemu_version *v = qmp_query_version ? qmp_query_version(NULL) : NULL;

    if (v != NULL && v->qemu->major * 100 + v->qemu->minor >= 1101)
        qemu_plugin_version = 7;
    else if (qemu_plugin_set_pc)
        qemu_plugin_version = 6;
    else if (qemu_plugin_request_time_control)
        qemu_plugin_version = 3;
    else if (qemu_plugin_read_register)
        qemu_plugin_version = 2;
    copies_code = qemu_plugin_version >= 3;
}

/* The counters of the running CPU. */
static uint64_t *running_access(void)
{
    if (current == NULL)
        current = dlsym(RTLD_DEFAULT, "current_cpu");
    if (*current != last) {
        last = *current;
        for (unsigned i = 0; i < counts->ncpus; i++)
            if (qemu_get_cpu((int)i) == last)
                last_access = counts->access[i];
    }
    return last_access;
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *unused)
{
    struct qemu_plugin_hwaddr *hw;
    uint64_t grain;

    if (vaddr >> 63 != 0)
        return;
    hw = qemu_plugin_get_hwaddr(info, vaddr);
    if (hw == NULL || qemu_plugin_hwaddr_is_io(hw))
        return;
    grain = qemu_plugin_hwaddr_phys_addr(hw) >> GRAIN_SHIFT;
    if (grain < GRAINS && counts->part[grain] < PARTS_MAX)
        running_access()[counts->part[grain]]++;
    else
        counts->elsewhere++;
}

static void on_block(unsigned vcpu, void *instructions)
{
    counts->instructions += (uintptr_t)instructions;
}

/* Compares the instructions of a block of the upper half with the kernel's image. */
static void compare_block(const struct qemu_plugin_tb *tb, size_t n)
{
    uint64_t at = qemu_plugin_tb_vaddr(tb) - counts->text_base;

    for (size_t i = 0; i < n && counts->foreign == 0; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        size_t size = qemu_plugin_insn_size(insn);
        uint8_t buffer[16];
        uintptr_t data = qemu_plugin_insn_data(insn, buffer, sizeof buffer);
        const void *code = copies_code ? buffer : (const void *)data;

        if (at > text_bytes || size > text_bytes - at || memcmp(text + at, code, size) != 0)
            counts->foreign = counts->text_base + at;
        at += size;
    }
}

static void on_translate(struct qemu_plugin_tb *tb)
{
    size_t n = qemu_plugin_tb_n_insns(tb);
    bool kernel = qemu_plugin_tb_vaddr(tb) >> 63 != 0;

    started |= kernel;
    if (!started)
        return;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, (void *)n);
    if (kernel) {
        compare_block(tb, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
}

static void on_translate_6(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    on_translate(tb);
}

static void on_translate_7(struct qemu_plugin_tb *tb, void *unused)
{
    on_translate(tb);
}

/* Maps a file, whose size becomes *bytes; NULL: not possible. */
static void *map_file(const char *path, bool writes, uint64_t *bytes)
{
    int fd = open(path, writes ? O_RDWR : O_RDONLY);
    struct stat st;
    void *p = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        *bytes = (uint64_t)st.st_size;
        p = mmap(NULL, *bytes, PROT_READ | (writes ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    return p == MAP_FAILED ? NULL : p;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    uint64_t bytes = 0;

    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "counts=", 7) == 0)
            counts = map_file(argv[i] + 7, true, &bytes);
        else if (strncmp(argv[i], "text=", 5) == 0)
            text = map_file(argv[i] + 5, false, &text_bytes);
    }
    if (counts == NULL || text == NULL || bytes != sizeof *counts) {
        fprintf(stderr, "witness: give counts=FILE, a file of %zu bytes, and text=FILE\n",
                sizeof *counts);
        return -1;
    }
    if (!qemu_get_cpu || !dlsym(RTLD_DEFAULT, "current_cpu") ||
        (int)counts->ncpus != info->system.smp_vcpus) {
        fprintf(stderr,
                "witness: this QEMU does not name its CPUs, or has another number of them\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(
        id, qemu_plugin_version < 7 ? (qemu_any_cb)on_translate_6 : (qemu_any_cb)on_translate_7,
        NULL);
    return 0;
}
