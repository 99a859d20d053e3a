// SPDX-License-Identifier: MIT
/*
 * vmcoreinfo.c - where programs outside the machine find what they show of the kernel.
 *
 * THEORY      `make live` reads the memory of a running machine, and asks the kernel for nothing, so it changes nothing
 *             in the machine.  For this it must know where a field lies in its struct, and that depends on the
 *             compiler and on the version of the kernel.  The tables here contain this knowledge.  (Linux has the same
 *             under the same name, for programs that read dumps.)  The reader takes the tables and the addresses
 *             of variables from kernel.elf, after it has compared the code there with the code in the memory of the
 *             machine: so a kernel.elf of another build is noticed.
 * SEE ALSO    tools/homeroom/live/kernel.py (the reader), docs/live.md
 */
#include "disp/disp.h"
#include "lgrp/lgrpstat.h"
#include "mem/percpu.h"
#include "pages/object.h"
#include "pages/owner.h"
#include "proc/proc.h"
#include "stat/cpustat.h"
#include "stat/trace.h"
#include "stat/vmcoreinfo.h"

#define FIELD(type, field)   VMCOREINFO_FIELD(type, field)
#define STRUCT(type)         VMCOREINFO_STRUCT(type)
#define CPU_FIELD(name, doc) FIELD(cpu_stat, name),

const struct vmcoreinfo_field vmcoreinfo_fields[] = {
    /* CPUs */
    FIELD(cpu, thread),
    FIELD(cpu, id),
    FIELD(cpu, node),
    FIELD(cpu, lgrp),
    FIELD(cpu, in_user),
    FIELD(cpu, idle),
    FIELD(cpu, disp),
    FIELD(cpu, mem),
    FIELD(cpu, stat),
    FIELD(cpu, intr),
    FIELD(cpu, trace),
    FIELD(disp_cpu, part),
    FIELD(disp_cpu, state),
    FIELD(disp_queue, nrun),
    FIELD(cpupart, id),
    CPU_STATS(CPU_FIELD) STRUCT(intr_cpu),
    FIELD(intr_cpu, dev),
    FIELD(intr_cpu, timer),
    FIELD(intr_cpu, poke),
    FIELD(intr_cpu, tlb),
    /* threads and processes */
    FIELD(thread, tid),
    FIELD(thread, state),
    FIELD(thread, cpu),
    FIELD(thread, bound_cpu),
    FIELD(thread, part),
    FIELD(thread, lg),
    FIELD(thread, lwp),
    FIELD(thread, name),
    FIELD(thread, all_link),
    FIELD(thread, as),
    FIELD(lgrp_thread, home),
    FIELD(lwp, proc),
    FIELD(proc, pid),
    FIELD(proc, lgrp),
    FIELD(lgrp_proc, bitmap),
    /* memory */
    STRUCT(mem_node),
    FIELD(mem_node, nfree_pages),
    FIELD(mem_node, ninstalled_pages),
    FIELD(mem_cpu, npages),
    STRUCT(page),
    FIELD(page, flags),
    FIELD(page, order),
    FIELD(page, refs),
    FIELD(page, obj),
    FIELD(vm_object, family),
    /* the trace, lgroups */
    FIELD(trace_ring, head),
    FIELD(trace_ring, mask),
    FIELD(trace_ring, slot),
    {"lgrp_counters", "migr_to", offsetof(struct lgrp_counters, v[LGRP_STAT_MIGR_TO]), 8},
    STRUCT(lgrp_counters),
};
