// SPDX-License-Identifier: MIT
/*
 * package.c - see package.h.
 *
 * THEORY      CPUID leaf 0xB gives the widths of the APIC id's fields.  On a processor without it, leaf 1
 *             gives the number of ids in a package, and each id counts as a core.
 * SEE ALSO    package.h; kernel/fs/sysfs/sysfs_cpu.c and kernel/procfs/procfs_system.c show the result to
 *             programs
 */
#include "x86/package.h"
#include "lib/string.h"

enum { LEAF_TOPOLOGY = 0x0b, LEVEL_SMT = 1, LEVEL_CORE = 2, FEATURE_HTT = 1u << 28 };

struct regs4 {
    uint32_t a, b, c, d;
};

static struct regs4 read_cpuid_leaf(uint32_t leaf, uint32_t sub)
{
    struct regs4 r;

    __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(sub));
    return r;
}

/* The number of bits below the core field (*core) and below the package field (*package) of an APIC id. */
static void apic_field_shifts(unsigned *core, unsigned *package)
{
    struct regs4 r;
    unsigned ids;

    *core = *package = 0;
    if (read_cpuid_leaf(0, 0).a >= LEAF_TOPOLOGY) {
        for (uint32_t sub = 0; sub < 4; sub++) {
            r = read_cpuid_leaf(LEAF_TOPOLOGY, sub);
            if ((r.c >> 8 & 0xff) == LEVEL_SMT)
                *core = r.a & 31;
            else if ((r.c >> 8 & 0xff) == LEVEL_CORE)
                *package = r.a & 31;
        }
        if (*package != 0)
            return;
    }
    r = read_cpuid_leaf(1, 0);
    ids = r.d & FEATURE_HTT ? r.b >> 16 & 0xff : 1;
    while ((1u << *package) < ids)
        ++*package;
}

struct cpu_place cpu_place_of(uint32_t apic_id)
{
    unsigned core, package;

    apic_field_shifts(&core, &package);
    return (struct cpu_place){
        .package = apic_id >> package,
        .core = (apic_id & ((1u << package) - 1)) >> core,
        .thread = apic_id & ((1u << core) - 1),
    };
}

void cpu_model_get(struct cpu_model *m)
{
    struct regs4 r = read_cpuid_leaf(0, 0);

    memset(m, 0, sizeof *m);
    memcpy(m->vendor, &r.b, 4);
    memcpy(m->vendor + 4, &r.d, 4);
    memcpy(m->vendor + 8, &r.c, 4);
    if (r.a >= 7)
        m->leaf7_ebx = read_cpuid_leaf(7, 0).b;
    r = read_cpuid_leaf(1, 0);
    m->stepping = r.a & 15;
    m->model = (r.a >> 4 & 15) | (r.a >> 12 & 0xf0);
    m->family = (r.a >> 8 & 15) + ((r.a >> 8 & 15) == 15 ? r.a >> 20 & 0xff : 0);
    m->features_edx = r.d;
    m->features_ecx = r.c;
    r = read_cpuid_leaf(0x80000000, 0);
    if (r.a >= 0x80000004)
        for (uint32_t i = 0; i < 3; i++) {
            struct regs4 name = read_cpuid_leaf(0x80000002 + i, 0);

            memcpy(m->name + i * 16, &name, 16);
        }
    if (r.a >= 0x80000001) {
        m->ext_edx = read_cpuid_leaf(0x80000001, 0).d;
        m->ext_ecx = read_cpuid_leaf(0x80000001, 0).c;
    }
}
