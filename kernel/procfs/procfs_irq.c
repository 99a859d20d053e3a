// SPDX-License-Identifier: MIT
/*
 * procfs_irq.c - /proc/interrupts and /proc/irq: counts of interrupts on each CPU, and the CPUs
 * where they can arrive.
 *
 * THEORY      Names and formats are Linux's, except for `counts`.  /proc/irq/N/smp_affinity_list is the set of
 *             CPUs where an interrupt can arrive.  If root writes a set that does not contain the
 *             present CPU, the interrupt moves immediately.  A set of one CPU binds the interrupt:
 *             it stays on that CPU, which cannot be fenced or taken off-line.
 *             effective_affinity_list is the CPU where the interrupt arrives now.
 *             `counts` is Homeroom's own file, for intrstat.  It has a line with number, moves and name, and
 *             then a line "cpu count microseconds" for each CPU on which the interrupt has arrived.
 * LOCKING     this file has no lock of its own
 * SEE ALSO    intr/intr.h, user/cmd/intrstat.c, docs/psets.md
 */
#include "disp/timer.h"
#include "intr/intr.h"
#include "lib/cpu.h"
#include "lib/errno.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "procfs/procfs.h"

enum { TAG_ALLOWED, TAG_ALLOWED_LIST, TAG_EFFECTIVE, TAG_EFFECTIVE_LIST };

/* Append a row with one count per CPU.  off: offset of the counter in struct intr_cpu. */
static void add_counter_row(struct text *out, const char *label, size_t off, const char *what)
{
    text_add(out, "%s:", label);
    for (unsigned c = 0; c < ncpu; c++)
        text_add(out, " %12lu", *(const uint64_t *)((const char *)cpus[c]->intr + off));
    text_add(out, "   %s\n", what);
}

PROCFS_SHOW(procfs_show_interrupts)
{
    struct intr_info info;

    text_str(out, "    ");
    for (unsigned c = 0; c < ncpu; c++)
        text_add(out, " %9s%-3u", "CPU", c);
    text_str(out, "\n");
    for (unsigned irq = 0; intr_next(irq, &info); irq = info.irq + 1) {
        text_add(out, "%3u:", info.irq);
        for (unsigned c = 0; c < ncpu; c++)
            text_add(out, " %12lu", cpus[c]->intr->dev[info.irq].count);
        text_add(out, "   %s %3u-edge   %s\n", info.irq < INTR_NISA ? "IO-APIC" : "PCI-MSI",
                 info.vector, info.name);
    }
    add_counter_row(out, "LOC", offsetof(struct intr_cpu, timer), "Local timer interrupts");
    add_counter_row(out, "RES", offsetof(struct intr_cpu, poke), "Rescheduling interrupts");
    add_counter_row(out, "TLB", offsetof(struct intr_cpu, tlb), "TLB shootdowns");
    add_counter_row(out, "SET", offsetof(struct intr_cpu, settle), "Interrupts to settle others");
    add_counter_row(out, "SPU", offsetof(struct intr_cpu, spurious), "Spurious interrupts");
    return 0;
}

/* Find the interrupt of a directory of /proc/irq.  0, -ENOENT. */
static int find_interrupt(struct pseudo_arg arg, struct intr_info *info)
{
    return intr_next((unsigned)arg.a, info) && info->irq == arg.a ? 0 : -ENOENT;
}

static PROCFS_SHOW(show_affinity)
{
    struct intr_info info;
    struct cpumask m = {{0}};
    int err = find_interrupt(arg, &info);

    if (err != 0)
        return err;
    if (n->tag == TAG_EFFECTIVE || n->tag == TAG_EFFECTIVE_LIST)
        cpumask_set(&m, info.cpu);
    else
        m = info.allowed;
    if (n->tag == TAG_ALLOWED || n->tag == TAG_EFFECTIVE)
        text_mask(out, m.w, ncpu);
    else
        text_list(out, m.w, ncpu);
    text_str(out, "\n");
    return 0;
}

/* Parse a decimal CPU number and move *s past it.  -1: there is no number, or it is >= CPU_MAX. */
static long parse_cpu_number(const char **s)
{
    long v = 0;

    if (**s < '0' || **s > '9')
        return -1;
    for (; **s >= '0' && **s <= '9'; ++*s) {
        v = v * 10 + (**s - '0');
        if (v >= CPU_MAX)
            return -1;
    }
    return v;
}

/* Parse a list such as "0-3,8" into *m, which the caller has emptied.  0, -EINVAL. */
static int parse_cpu_list(const char *s, struct cpumask *m)
{
    for (;; s++) {
        long first = parse_cpu_number(&s), last = first;

        if (first >= 0 && *s == '-') {
            s++;
            last = parse_cpu_number(&s);
        }
        if (first < 0 || last < first || last >= (long)ncpu)
            return -EINVAL;
        for (; first <= last; first++)
            cpumask_set(m, (unsigned)first);
        if (*s != ',')
            return *s == '\0' || (*s == '\n' && s[1] == '\0') ? 0 : -EINVAL;
    }
}

static int store_affinity(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t len)
{
    struct cpumask m = {{0}};
    int err = parse_cpu_list(buf, &m);

    return err != 0 ? err : intr_allow((unsigned)arg.a, &m);
}

static PROCFS_SHOW(show_counts)
{
    struct intr_info info;
    int err = find_interrupt(arg, &info);

    if (err != 0)
        return err;
    text_add(out, "%u %lu %s\n", info.irq, info.moves, info.name);
    for (unsigned c = 0; c < ncpu; c++)
        if (cpus[c]->intr->dev[info.irq].count != 0)
            text_add(out, "%u %lu %lu\n", c, cpus[c]->intr->dev[info.irq].count,
                     tsc_to_ns(cpus[c]->intr->dev[info.irq].tsc) / 1000);
    return 0;
}

static const struct pseudo_node irq_files[] = {
    {.name = "smp_affinity", .type = VREG, .mode = 0444, .tag = TAG_ALLOWED, .show = show_affinity},
    {.name = "smp_affinity_list",
     .type = VREG,
     .mode = 0644,
     .tag = TAG_ALLOWED_LIST,
     .show = show_affinity,
     .store = store_affinity},
    {.name = "effective_affinity",
     .type = VREG,
     .mode = 0444,
     .tag = TAG_EFFECTIVE,
     .show = show_affinity},
    {.name = "effective_affinity_list",
     .type = VREG,
     .mode = 0444,
     .tag = TAG_EFFECTIVE_LIST,
     .show = show_affinity},
    {.name = "counts", .type = VREG, .mode = 0444, .show = show_counts},
    {.name = NULL},
};

static const struct pseudo_node irq_dir = {.type = VDIR, .mode = 0555, .children = irq_files};

int procfs_irq_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                    struct pseudo_entry *e)
{
    struct intr_info info;

    if (from >= INTR_MAX || !intr_next((unsigned)from, &info))
        return -ENOENT;
    *e = (struct pseudo_entry){.key = info.irq, .node = &irq_dir, .arg = {info.irq, 0}};
    snprintf(e->name, sizeof e->name, "%u", info.irq);
    return 0;
}
