// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fakeqemu.c - takes the place of QEMU: loads the plugin, gives it blocks of code, runs them, and prints what was
 * counted.
 *
 * Built by tests/test_fireplane_plugin.py.  It exports what a QEMU exports:
 *     -DNEW=3         the interface of QEMU 9.1: insn_data copies, and two functions that older ones lack
 *     -DNEW=7         that of 11.1: callbacks get a pointer and no id, and the size of an access is elsewhere
 *     -DWITHOUT_EXIT  without cpu_exit
 *     -DICOUNT        with -icount, without any of its functions
 * Usage: fakeqemu PLUGIN CPUS ARGUMENT...      exit status 1: the plugin refused
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEAK /* this file defines the functions */
#include "qemu_api.h"
#include "uapi/fireplane.h"

#define KERNEL 0xffffffff80000000 /* addresses from here on belong to the kernel */

struct qemu_plugin_insn {
    const char *code;
    size_t size;
    qemu_mem_cb access;
    qemu_vcpu_cb exec;
    void *access_data, *exec_data;
};

struct qemu_plugin_tb {
    uint64_t vaddr;
    size_t n;
    struct qemu_plugin_insn insn[4];
    qemu_vcpu_cb exec;
    void *exec_data;
};

#ifndef NEW
#define NEW 1
#endif
#define SIZE_AT (NEW < 7 ? 4 : 5)

#ifdef ICOUNT
int use_icount_of_qemu = 1;
#endif

static qemu_any_cb translate;
static unsigned resets;

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_any_cb cb, void *data)
{
    translate = cb;
}

static void call_translate(struct qemu_plugin_tb *tb)
{
    if (NEW < 7)
        ((void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *))translate)(0, tb);
    else
        ((void (*)(struct qemu_plugin_tb *, void *))translate)(tb, NULL);
}

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_vcpu_cb cb, int flags,
                                          void *data)
{
    tb->exec = cb;
    tb->exec_data = data;
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_vcpu_cb cb,
                                            int flags, void *data)
{
    insn->exec = cb;
    insn->exec_data = data;
}

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_mem_cb cb, int flags,
                                      int rw, void *data)
{
    insn->access = cb;
    insn->access_data = data;
}

void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, qemu_any_cb cb, void *data)
{
}

void qemu_plugin_reset(qemu_plugin_id_t id, qemu_any_cb cb, void *data)
{
    translate = NULL;
    resets++;
    cb();
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
    return tb->n;
}

uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb)
{
    return tb->vaddr;
}

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i)
{
    return (struct qemu_plugin_insn *)&tb->insn[i];
}

size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
    return insn->size;
}

uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t length)
{
#if NEW > 1
    if (length > insn->size)
        length = insn->size;
    memcpy(to, insn->code, length);
    return length;
#else
    return (uintptr_t)insn->code;
#endif
}

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
    return info >> 17 & 1;
}

unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info)
{
    return info >> SIZE_AT & 7;
}

struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr)
{
    return (struct qemu_plugin_hwaddr *)vaddr;
}

bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *hwaddr)
{
    return false;
}

uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hwaddr)
{
    return (uintptr_t)hwaddr;
}

__thread struct CPUState *current_cpu = (struct CPUState *)0x1000;

struct CPUState *qemu_get_cpu(int index)
{
    return (struct CPUState *)(uintptr_t)(0x1000 + index);
}

#ifndef WITHOUT_EXIT
void cpu_exit(struct CPUState *cpu)
{
}
#endif

#if NEW > 1
void qemu_plugin_read_register(void)
{
}

void qemu_plugin_request_time_control(void)
{
}
#endif

#if NEW == 7
struct qemu_version *qmp_query_version(void *error)
{
    static struct qemu_triple triple = {11, 1, 0};
    static struct qemu_version version = {&triple};

    return &version;
}
#endif

/*
 * Runs a block; an access at address 0 is not made.  Then an interrupt arrives: QEMU 7.2 then calls what an instruction
 * has left behind.
 */
static void run(struct qemu_plugin_tb tb, const uint64_t *address)
{
    call_translate(&tb);
    if (tb.exec)
        tb.exec(0, tb.exec_data);
    for (size_t i = 0; i < tb.n; i++) {
        bool is_store = tb.insn[i].code[1] == (char)0x89;
        /* 16 bytes: one access since 8.2 */
        bool is_movups = tb.insn[i].code[0] == 0x0f && tb.insn[i].code[1] == 0x10;

        if (tb.insn[i].exec)
            tb.insn[i].exec(0, tb.insn[i].exec_data);
        if (address[i] && tb.insn[i].access && is_movups && NEW > 1) {
            tb.insn[i].access(0, 4 << SIZE_AT, address[i], tb.insn[i].access_data);
        } else if (address[i] && tb.insn[i].access && tb.insn[i].code[0] == (char)0xf3) {
            /* rep: repeats the accesses */
            for (unsigned round = 0; round < 3; round++)
                tb.insn[i].access(0, 3 << SIZE_AT | 1 << 17, address[i] + 8 * round,
                                  tb.insn[i].access_data);
        } else if (address[i] && tb.insn[i].access) {
            tb.insn[i].access(0, 3 << SIZE_AT | is_store << 17, address[i], tb.insn[i].access_data);
            if (is_movups)
                tb.insn[i].access(0, 3 << SIZE_AT, address[i] + 8, tb.insn[i].access_data);
        }
    }
    for (size_t i = 0; i < tb.n; i++)
        if (tb.insn[i].access)
            tb.insn[i].access(0, 3 << SIZE_AT | 1 << 17, KERNEL + 0x5000, tb.insn[i].access_data);
}

static struct qemu_plugin_tb doorbell(char op)
{
    static char code[8] = "\x0f\x1f\x84\x00\x00\x00\x50\x46";

    code[4] = op;
    return (struct qemu_plugin_tb){.vaddr = 0x1000, .n = 1, .insn = {{.code = code, .size = 8}}};
}

int main(int argc, char **argv)
{
    static const uint64_t none[4], two[4] = {0x5000, 0, 0x6000, 0}, movs[4] = {0, 0x7000},
                                   stos[4] = {0, 0x8000};
    struct qemu_plugin_tb block = {.vaddr = 0x1000,
                                   .n = 3,
                                   .insn = {{.code = "\x48\x8b\x07", .size = 3},
                                            {.code = "\x48\x01\xc8", .size = 3},
                                            {.code = "\x48\x89\x06", .size = 3}}};
    struct qemu_plugin_tb vague = {
        .vaddr = 0x2000,
        .n = 2,
        .insn = {{.code = "\x48\x01\xc8", .size = 3}, {.code = "\x0f\x10\x07", .size = 3}}};
    struct qemu_plugin_tb fill = {
        .vaddr = 0x4000,
        .n = 2,
        .insn = {{.code = "\x48\x01\xc8", .size = 3}, {.code = "\xf3\x48\xab", .size = 3}}};
    struct qemu_plugin_tb sums = {
        .vaddr = 0x3000,
        .n = 2,
        .insn = {{.code = "\xf2\x0f\x58\xc1", .size = 4}, {.code = "\xf2\x0f\x58\xc1", .size = 4}}};
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*install)(qemu_plugin_id_t, const qemu_info_t *, int, char **);
    qemu_info_t info = {.target_name = "x86_64",
                        .system_emulation = true,
                        .system = {atoi(argv[2]), atoi(argv[2])}};

    if (plugin == NULL) {
        fprintf(stderr, "fakeqemu: %s\n", dlerror());
        return 2;
    }
    printf("version %d\n", *(int *)dlsym(plugin, "qemu_plugin_version"));
    *(void **)&install = dlsym(plugin, "qemu_plugin_install");
    if (install(7, &info, argc - 3, argv + 3) != 0)
        return 1;
    run(block, two); /* disarmed: nothing is counted */
    run(doorbell(FP_OP_ARM), none);
    run(block, two);
    run(block, two);
    run(vague, movs);
    run(fill, stos);
    run(sums, none); /* addsd %xmm1,%xmm0, twice */
    block.vaddr = vague.vaddr = KERNEL;
    run(block, two);
    run(doorbell(FP_OP_SYNC), none);
    run(doorbell(FP_OP_DISARM), none);
    printf("resets %u\n", resets);
    return 0;
}
