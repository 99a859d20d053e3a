// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * qemu_api.h - the functions of QEMU that the plugin uses, declared here because QEMU's header is not packaged.
 *
 * All are weak: a function that this QEMU does not have is NULL, and the plugin prints its name.  The last functions
 * are not part of the plugin interface.  A QEMU exports them if it was built with loadable modules, like Debian's.
 * Signatures: QEMU 7.2 to 10, docs/devel/tcg-plugins.rst and include/qemu/qemu-plugin.h.
 */
#ifndef FIREPLANE_QEMU_API_H
#define FIREPLANE_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

typedef struct {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus, max_vcpus;
    } system;
} qemu_info_t;

enum { QEMU_PLUGIN_CB_NO_REGS };
enum { QEMU_PLUGIN_MEM_RW = 3 };

typedef void (*qemu_any_cb)(void);
typedef void (*qemu_vcpu_cb)(unsigned vcpu, void *userdata);
typedef void (*qemu_mem_cb)(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
                            void *userdata);

#ifndef WEAK
#define WEAK __attribute__((weak))
#endif
/*
 * The next three functions have a parameter `userdata` since 11.1.  Since then the callback gets it as its last
 * argument, and no longer gets the id as its first.  Older versions ignore the additional argument.
 */
WEAK void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_any_cb cb,
                                                void *userdata);
WEAK void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, qemu_any_cb cb, void *userdata);
WEAK void qemu_plugin_reset(qemu_plugin_id_t id, qemu_any_cb cb, void *userdata);
WEAK void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_vcpu_cb cb,
                                               int flags, void *userdata);
WEAK void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_vcpu_cb cb,
                                                 int flags, void *userdata);
WEAK void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_mem_cb cb, int flags,
                                           int rw, void *userdata);
WEAK size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
WEAK uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
WEAK struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
WEAK size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
/* Until 9.0 this took no buffer and returned a pointer to the bytes.  Since 9.1 it returns the number copied. */
WEAK uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t length);
WEAK bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
WEAK unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
WEAK struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
WEAK bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *hwaddr);
WEAK uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hwaddr);
/* Never called.  Their presence shows the version of QEMU: 9.0, 9.1, 11.0. */
WEAK void qemu_plugin_read_register(void);
WEAK void qemu_plugin_request_time_control(void);
WEAK void qemu_plugin_set_pc(void);
/* The rest is not part of the plugin interface. */
struct qemu_version {
    struct qemu_triple {
        int64_t major, minor, micro;
    } *qemu;
};
WEAK struct qemu_version *qmp_query_version(void *error);
struct CPUState;
WEAK struct CPUState *qemu_get_cpu(int index);
WEAK void cpu_exit(struct CPUState *cpu);
extern WEAK int use_icount_of_qemu __asm__("use_icount"); /* not 0: -icount */
/* instructions of all CPUs in ns, plus the time skipped while they were idle */
WEAK int64_t icount_get(void);
WEAK int64_t icount_get_raw(void); /* the number of instructions of all CPUs */
WEAK int64_t icount_to_ns(int64_t icount);
WEAK bool qemu_in_vcpu_thread(void);
WEAK bool all_cpu_threads_idle(void);
WEAK void *object_class_by_name(const char *name);
WEAK void qemu_plugin_disable_mem_helpers(struct CPUState *cpu); /* only 7.x has it, and needs it */

#endif
