// SPDX-License-Identifier: MIT
/*
 * main.c - from the boot loader to the first process, in order.
 *
 * THEORY      At the start nothing works: no allocator, no locks, no threads.  The boot CPU builds these one
 *             by one.  It reads the description of the machine (boot loader, ACPI, the launcher's options)
 *             and builds the lgroups and the memory allocator from it.  Then it gives every CPU its data in
 *             its own board's memory, starts all CPUs at once, and starts process 1.  A step may use only
 *             what earlier steps have set up, so the order of calls in kmain() and boot_thread() is the
 *             dependency graph of the kernel.
 * INVARIANTS  I1  nothing sleeps before boot_thread() runs
 * SEE ALSO    docs/boot.md
 */
#include "acpi/acpi.h"
#include "blk/blk.h"
#include "disp/clock.h"
#include "disp/context.h"
#include "disp/disp.h"
#include "disp/sync.h"
#include "drivers/fireplane.h"
#include "drivers/fw_cfg.h"
#include "drivers/rtc.h"
#include "drivers/uart.h"
#include "fs/root.h"
#include "fs/tmpfs/tmpfs.h"
#include "ipc/ipc.h"
#include "fs/initramfs/initramfs.h"
#include "vfs/pseudo.h"
#include "fs/devfs/statdev.h"
#include "fs/sysfs/sysfs.h"
#include "fs/devfs/tracedev.h"
#include "intr/intr.h"
#include "lgrp/lgrp.h"
#include "lgrp/lgrpstat.h"
#include "lib/cpumask.h"
#include "lib/park.h"
#include "lib/printf.h"
#include "lib/string.h"
#include "mem/mem_init.h"
#include "mem/kmem.h"
#include "mem/kstack.h"
#include "net/net.h"
#include "fireplane/fpdev.h"
#include "ipc/ctimer.h"
#include "ipc/futex.h"
#include "proc/proc.h"
#include "procfs/procfs.h"
#include "proc/itimer.h"
#include "proc/sigio.h"
#include "proc/signalfd.h"
#include "tty/tty.h"
#include "proc/vdso.h"
#include "stat/cpustat.h"
#include "stat/log.h"
#include "stat/panic.h"
#include "stat/tunable.h"
#include "sys/selftest.h"
#include "sys/sys.h"
#include "pages/pageout.h"
#include "vm/vm.h"
#include "x86/apic.h"
#include "x86/arch.h"
#include "x86/asm.h"
#include "x86/features.h"
#include "x86/ipi.h"
#include "x86/mb2.h"
#include "x86/pio.h"
#include "x86/smp.h"
#include "x86/trap.h"

void kmain(uint32_t magic, uint64_t info);

extern char __kernel_start[], __kernel_end[], boot_pml4[], boot_stack[];

/*
 * These structs are static, because they are too large for the boot stack and there is no allocator
 * yet.
 */
static struct boot_info boot;
static struct acpi_tables tables;
static struct acpi_madt madt;
static struct acpi_srat srat;
static struct acpi_slit slit;
static struct acpi_hmat hmat;
static struct acpi_fadt fadt;
static struct cpu_counted boot_cpu;
static uint64_t boot_seed;

/* ---- what the launcher passes ---- */

/*
 * Reads fw_cfg file `name` into buf[max] and ends it with a NUL.  Needs no allocator.
 * Returns its length in bytes; 0: the file does not exist, is empty, is too long (with a warning),
 * or cannot be read.
 */
static size_t read_option_text(const char *name, char *buf, size_t max)
{
    uint32_t size;
    uint16_t sel;

    if (fw_cfg_find(name, &size, &sel) != 0)
        return 0;
    if (size >= max) {
        warn("%s is longer than %lu bytes: ignored", name, max - 1);
        return 0;
    }
    if (fw_cfg_read(sel, buf, size) != 0)
        return 0;
    buf[size] = '\0';
    return size;
}

/* The decimal or 0x hexadecimal number at the start of s; 0: there is none. */
static uint64_t parse_boot_number(const char *s)
{
    uint64_t v = 0;
    unsigned base = 10;

    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        base = 16;
        s += 2;
    }
    for (;; s++) {
        unsigned d = digit_value(*s);

        if (d >= base)
            return v;
        v = v * base + d;
    }
}

/*
 * Finds the archive of the root file system when it is not a multiboot2 module.  After QEMU's
 * -kernel the launcher passes the archive as a file of fw_cfg.  The file is read to the first page
 * after the kernel.
 */
static void initramfs_read(void)
{
    uint64_t at = round_up(kva_to_phys(__kernel_end), PAGE_SIZE);
    uint32_t len;
    uint16_t sel;

    if (boot.initrd != 0)
        return;
    if (fw_cfg_find("opt/homeroom/initramfs", &len, &sel) != 0) {
        warn("no initramfs: neither a multiboot2 module nor fw_cfg's opt/homeroom/initramfs");
        return;
    }
    for (unsigned i = 0; i < boot.nram; i++)
        if (boot.ram[i].base <= at && at + len <= boot.ram[i].base + boot.ram[i].len &&
            fw_cfg_read(sel, phys_to_virt(at), len) == 0) {
            boot.initrd = at;
            boot.initrd_len = len;
            return;
        }
    panic("opt/homeroom/initramfs (%u bytes) cannot be read to behind the kernel", len);
}

/*
 * Sets tunables from /etc/system in the initramfs, then from the launcher's lines.  Must run before any code
 * reads a tunable.
 */
static void apply_system_files(void)
{
    static char text[4096];
    struct cpio_entry e;
    const char *why;
    size_t pos = 0, n;

    while (boot.initrd != 0 &&
           cpio_next(phys_to_virt(boot.initrd), boot.initrd_len, &pos, &e, &why) == 1)
        if (e.nlen == 10 && memcmp(e.name, "etc/system", 10) == 0) {
            system_file_apply((const char *)e.data, e.size);
            break;
        }
    n = read_option_text("opt/homeroom/system", text, sizeof text);
    if (n > 0)
        system_file_apply(text, n);
}

/*
 * Seeds both generators of CPU `id`.  The kernel's generator (rng) starts from output of the programs'
 * (crng): so a program that infers the state of rng from its placement learns nothing about crng.
 */
static void seed_cpu(struct cpu *c, unsigned id)
{
    crng_seed(&c->crng, boot_seed, id);
    crng_take(&c->crng, &c->rng, sizeof c->rng);
}

/* Sets boot_seed, from the launcher's option, RDRAND or the time-stamp counter, and seeds the boot CPU. */
static void seed_generators(void)
{
    char text[32];

    if (read_option_text("opt/homeroom/seed", text, sizeof text) > 0)
        boot_seed = parse_boot_number(text);
    else if (!cpu_rdrand(&boot_seed))
        boot_seed = rdtsc();
    seed_cpu(&boot_cpu.cpu, 0);
}

/* ---- the machine ---- */

/* Maps ACPI tables for the parser; NULL: beyond the first 4 GiB, which are all that boot.S maps. */
static const void *map_low_memory(uint64_t phys, size_t len)
{
    return len <= 1ul << 32 && phys <= (1ul << 32) - len ? phys_to_virt(phys) : NULL;
}

/*
 * Reads the ACPI tables, after the launcher's tables (opt/homeroom/acpi) have replaced the firmware's of the
 * same name.  Panics if there is no usable MADT.
 */
static void acpi_read(void)
{
    static uint8_t replaced[65536];
    uint32_t size;
    uint16_t sel;
    const char *why = NULL;

    if (boot.rsdp == NULL ||
        acpi_tables_find(&tables, boot.rsdp, boot.rsdp_len, map_low_memory, &why) != 0)
        panic("no usable ACPI tables: %s", why != NULL ? why : "the boot loader found none");
    if (fw_cfg_find("opt/homeroom/acpi", &size, &sel) == 0) {
        if (size > sizeof replaced)
            warn("opt/homeroom/acpi is longer than %lu bytes: ignored", sizeof replaced);
        else if (fw_cfg_read(sel, replaced, size) == 0 &&
                 acpi_tables_replace(&tables, replaced, size, &why) != 0)
            warn("opt/homeroom/acpi: %s", why);
    }
    if (acpi_find(&tables, ACPI_SIG('A', 'P', 'I', 'C')) == NULL ||
        acpi_parse_madt(&madt, acpi_find(&tables, ACPI_SIG('A', 'P', 'I', 'C')), &why) != 0)
        panic("no usable MADT: %s", why != NULL ? why : "there is none");
    if (acpi_find(&tables, ACPI_SIG('F', 'A', 'C', 'P')) != NULL &&
        acpi_parse_fadt(&fadt, acpi_find(&tables, ACPI_SIG('F', 'A', 'C', 'P')), &why) != 0)
        warn("FADT: %s", why);
    if (acpi_find(&tables, ACPI_SIG('D', 'S', 'D', 'T')) != NULL)
        (void)acpi_parse_s5(&fadt, acpi_find(&tables, ACPI_SIG('D', 'S', 'D', 'T')), &why);
}

/*
 * Sets ids[CPU id] = APIC id: the boot CPU is CPU 0, the others follow in the order of the MADT.
 * Returns the number of CPUs.
 */
static unsigned number_cpus(uint32_t *ids)
{
    uint32_t self, r[4];
    unsigned n = 1, left_out = madt.ndropped;

    cpuid(1, 0, r);
    self = r[1] >> 24;
    ids[0] = self;
    for (unsigned i = 0; i < madt.ncpus; i++) {
        if (!madt.cpu[i].enabled || madt.cpu[i].apic_id == self)
            continue;
        if (madt.cpu[i].apic_id < 255 && n < CPU_MAX)
            ids[n++] = madt.cpu[i].apic_id;
        else
            left_out++;
    }
    if (left_out > 0)
        warn("%u CPUs beyond the limit are not used", left_out);
    return n;
}

/* Builds the lgroups from the SRAT, SLIT and HMAT, for n CPUs with the APIC ids in ids[] and for the RAM. */
static void topology_read(const uint32_t *ids, unsigned n)
{
    static struct lgrp_range ram[MB2_RAM_MAX];
    struct lgrp_input in = {.ncpus = n, .apic_id = ids, .nmem = boot.nram, .mem = ram};
    const struct acpi_header *h;

    for (unsigned i = 0; i < boot.nram; i++)
        ram[i] = (struct lgrp_range){boot.ram[i].base, boot.ram[i].len};
    h = acpi_find(&tables, ACPI_SIG('S', 'R', 'A', 'T'));
    if (h != NULL && acpi_parse_srat(&srat, h, &in.srat_why) == 0)
        in.srat = &srat;
    h = acpi_find(&tables, ACPI_SIG('S', 'L', 'I', 'T'));
    if (h != NULL && acpi_parse_slit(&slit, h, &in.slit_why) == 0)
        in.slit = &slit;
    h = acpi_find(&tables, ACPI_SIG('H', 'M', 'A', 'T'));
    if (h != NULL) {
        const char *why;

        if (acpi_parse_hmat(&hmat, h, &why) == 0)
            in.hmat = &hmat;
        else
            warn("HMAT: %s", why);
    }
    lgrp_topo_build(&lgrp_topo, &in);
    for (unsigned i = 0; i < lgrp_topo.nnotes; i++)
        kprintf("lgrp: %s", lgrp_topo.note[i]);
    nlgrps = lgrp_topo.nlgrps;
}

/*
 * The overlay is a second cpio archive, unpacked over the root file system.  It may be larger than the
 * largest block of the page allocator.  So the end of the largest memory range is reserved for it before the
 * allocator starts, and given back when the archive has been unpacked.
 */
static struct {
    paddr_t at;   /* 0: there is no overlay */
    uint32_t len; /* bytes */
    uint16_t sel; /* fw_cfg's selector */
} overlay;

/*
 * Reserves memory for the overlay, if there is one, in the largest of n ranges.  Warns if the
 * overlay does not fit.
 */
static void overlay_reserve(const struct mem_range *r, unsigned n)
{
    const struct mem_range *most = r;

    if (fw_cfg_find("opt/homeroom/overlay", &overlay.len, &overlay.sel) != 0 || overlay.len == 0)
        return;
    for (unsigned i = 1; i < n; i++)
        if (r[i].len > most->len)
            most = &r[i];
    if (overlay.len > most->len / 2) {
        warn("opt/homeroom/overlay (%u bytes) is more than half of a memory range: ignored",
             overlay.len);
        return;
    }
    overlay.at = round_down(most->base + most->len - overlay.len, PAGE_SIZE);
    if (overlay.at < boot.initrd + boot.initrd_len && boot.initrd < most->base + most->len) {
        warn("opt/homeroom/overlay (%u bytes) finds no room behind the initramfs: ignored",
             overlay.len);
        overlay.at = 0;
        return;
    }
    mem_reserve(overlay.at, overlay.len);
}

/*
 * Reads the overlay into its reserved memory; NULL: there is no overlay, or it cannot be read (with
 * a warning).
 */
static void *overlay_read(void)
{
    if (overlay.at == 0)
        return NULL;
    if (fw_cfg_read(overlay.sel, phys_to_virt(overlay.at), overlay.len) == 0)
        return phys_to_virt(overlay.at);
    warn("opt/homeroom/overlay (%u bytes) cannot be read: ignored", overlay.len);
    return NULL;
}

/* Reserves the memory that the boot loader filled, and starts the page allocator on the rest. */
static void memory_start(void)
{
    static struct mem_range r[LGRP_RANGE_MAX];
    uint8_t near[NODE_MAX];

    for (unsigned i = 0; i < lgrp_topo.nranges; i++)
        r[i] = (struct mem_range){lgrp_topo.range[i].base, lgrp_topo.range[i].len,
                                  lgrp_topo.range_node[i]};
    mem_reserve(0x100000, kva_to_phys(__kernel_end) - 0x100000);
    mem_reserve(boot.info, boot.info_len);
    if (boot.initrd != 0)
        mem_reserve(boot.initrd, boot.initrd_len);
    overlay_reserve(r, lgrp_topo.nranges);
    mem_init(r, lgrp_topo.nranges);
    for (unsigned node = 0; node < lgrp_topo.nnodes; node++) {
        unsigned n = lgrp_node_order(&lgrp_topo, lgrp_topo.node_lgrp[node], node, near);

        mem_set_near(node, near, n);
    }
}

/* Allocates and initialises the data of CPU `id` in its board's memory.  Panics if there is no memory. */
static void cpu_make(unsigned id, uint32_t apic)
{
    unsigned node = lgrp_topo.cpu_node[id];
    struct cpu *c = id == 0 ? &boot_cpu.cpu : kmem_alloc_node(sizeof(struct cpu_counted), node);

    if (c == NULL)
        panic("no memory for CPU %u", id);
    if (id != 0) {
        memset(c, 0, sizeof *c);
        c->self = c;
        seed_cpu(c, id);
    }
    c->arch = kmem_alloc_node(sizeof *c->arch, node);
    if (c->arch == NULL)
        panic("no memory for CPU %u", id);
    memset(c->arch, 0, sizeof *c->arch);
    c->stat = &((struct cpu_counted *)c)->stat;
    memset(c->stat, 0, sizeof *c->stat);
    c->id = id;
    c->apic_id = apic;
    c->node = node;
    c->lgrp = lgrp_topo.cpu_lgrp[id];
    if (id != 0)
        mem_cpu_init(c);
    intr_cpu_init(c);
    disp_cpu_init(c);
    vm_cpu_init(c);
    cpus[id] = c;
}

/* Waits until all CPUs run kernel code.  Panics after ten seconds, the time that Linux waits for a CPU. */
static void wait_for_cpus(void)
{
    uint64_t give_up = clock_mono_ns() + 10000000000ull;

    for (unsigned i = 1; i < ncpu; i++)
        while (!cpus[i]->arch->started) {
            if (clock_mono_ns() > give_up)
                panic("CPU %u (APIC id %u) does not start", i, cpus[i]->apic_id);
            cpu_pause();
        }
}

/* The start of each CPU but the boot CPU, from smp_start(): join the dispatcher and run threads. */
static void cpu_enter(void)
{
    disp_cpu_join(this_cpu());
    disp_idle_loop();
}

/* ---- serial ports ---- */

/* Writes n bytes; `panicking`: by polling the port. */
static void write_serial_line(enum uart_port port, const char *text, size_t n, bool panicking)
{
    if (!panicking) {
        uart_line(port, text, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        uart_putc_polled(port, text[i]);
}

void console_write(const char *text, size_t n, bool panicking)
{
    write_serial_line(UART_CONSOLE, text, n, panicking);
}

void verdict_write(const char *text, size_t n, bool panicking)
{
    write_serial_line(UART_VERDICT, text, n, panicking);
}

void serial_flush(void)
{
    uart_flush_polled(UART_CONSOLE);
    uart_flush_polled(UART_VERDICT);
}

/* Returns if the machine has no ACPI soft-off (S5). */
void power_off(void)
{
    if (fadt.has_s5 && fadt.pm1a_cnt_port != 0)
        outw(fadt.pm1a_cnt_port, (uint16_t)(fadt.s5_a << 10 | 1 << 13));
}

void reset_machine(void)
{
    if (fadt.has_reset)
        outb(fadt.reset_port, fadt.reset_value);
    outb(0x64, 0xfe); /* pulse the reset line of the keyboard controller */
}

/*
 * The launcher believes that the machine hangs and has sent an NMI to all CPUs.  Each CPU in turn prints what
 * it runs.  When all have done so, or after 10 seconds, the first CPU prints what the threads wait for and
 * ends QEMU.  Only the CPU that holds `busy` prints.  At the end the first CPU takes `busy` for good; if
 * another CPU does not release it within 2 seconds, the first CPU prints anyway.  The launcher allows 20
 * seconds for all this (guest.py).  Where CPUs park, an NMI may have been taken for a wakeup (lib/park.h,
 * I3).  So the first CPU sends the NMI again to all CPUs.
 */
void report_hang_on_nmi(struct regs *r)
{
    static _Atomic unsigned busy, told;
    static struct cpumask answered;
    struct cpu *c = this_cpu();
    uint64_t until = rdtsc() + 10000 * clock_tsc_per_ms();
    bool first;

    atomic_store(&park_nmi_is_all, true);
    log_enter_panic();
    while (atomic_exchange(&busy, 1) != 0)
        cpu_pause();
    first = told++ == 0;
    cpumask_set(&answered, c->id);
    if (first)
        kprintf("NMI: what CPUs run and threads wait for");
    for (unsigned i = 0; first && park_on && i < ncpu; i++)
        if (i != c->id)
            x86_send_nmi(i);
    if (!c->idle) {
        kprintf("CPU %u runs %s, %u locks, at", c->id, c->thread->name, c->nlock);
        backtrace_from(r->rip, r->rbp);
    }
    atomic_store(&busy, 0);
    while (!first || (told < ncpu && rdtsc() < until))
        cpu_pause();
    until = rdtsc() + 2000 * clock_tsc_per_ms();
    while (atomic_exchange(&busy, 1) != 0 && rdtsc() < until)
        cpu_pause();
    for (unsigned i = 0; i < ncpu; i++)
        if (!cpumask_test(&answered, i))
            kprintf("CPU %u does not answer", i);
    disp_report();
    disks_report();
    verdict("@hung told so by the launcher");
    machine_exit(EXIT_WATCHDOG);
}

/* ---- the boot thread: may sleep ---- */

/* The second half of the boot: the steps that may sleep.  The last step starts process 1. */
static void boot_thread(void *arg)
{
    static char addresses[512];
    void *over;

    fs_init();
    pipe_init();
    epoll_init();
    memfd_init();
    ctimer_init();
    signalfd_init();
    sigio_init();
    tty_init();
    pty_init();
    futex_init();
    statdev_init();
    tracedev_init();
    fpdev_init();
    selftest_init();
    proc_init();
    procfs_init();
    sysfs_init();
    disks_init();
    net_init(read_option_text("opt/homeroom/net", addresses, sizeof addresses) > 0 ? addresses
                                                                                   : NULL);
    over = overlay_read();
    if (fs_mount_root(boot.initrd != 0 ? phys_to_virt(boot.initrd) : NULL, boot.initrd_len, over,
                      over != NULL ? overlay.len : 0) != 0)
        panic("no root file system");
    if (overlay.at != 0)
        mem_unreserve(overlay.at, overlay.len);
    if (boot.initrd != 0)
        mem_unreserve(boot.initrd, boot.initrd_len);
    pageout_start();
    observer_start();
    verdict("@boot %lu", clock_mono_ns() / 1000000);
    /*
     * Let the new kernel threads run first.  A CPU with a waiting thread is not chosen for process
     * 1, which would then start far from its home.
     */
    thread_sleep_ns(1000000);
    proc_start_init();
}

void kmain(uint32_t magic, uint64_t info)
{
    static uint32_t ids[CPU_MAX];
    char text[16];

    /* The boot CPU's struct cpu comes first, because locks and counters use it. */
    boot_cpu.cpu.self = &boot_cpu.cpu;
    boot_cpu.cpu.stat = &boot_cpu.stat;
    boot_cpu.cpu.mem = &mem_boot_cpu;
    wrmsr(MSR_GSBASE, (uint64_t)&boot_cpu.cpu);
    boot_cpu.cpu.nlock = 1; /* interrupts stay off until the first thread */
    uart_early_init();
    trap_early_init();
    features_init();
    if (mb2_parse(magic, info, &boot) != 0)
        panic("not started by a loader that tells the memory map: multiboot2, or QEMU's -kernel");
    initramfs_read();
    seed_generators();
    apply_system_files();
    acpi_read();
    ncpu = number_cpus(ids);
    topology_read(ids, ncpu);
    fireplane_find();
    memory_start();
    fireplane_attach(&lgrp_topo);
    kmem_init();
    kstack_init();
    apic_init(&madt);
    intr_init();
    apic_init_cpu();
    clock_calibrate(fadt.pm_timer_port, fadt.pm_timer_bits);
    clock_set_real(rtc_read() * 1000000000ull);
    pset_init();
    disp_init();
    vm_init();
    for (unsigned i = 0; i < ncpu; i++)
        cpu_make(i, ids[i]);
    trap_init_cpu(&boot_cpu.cpu);
    lgrp_stats_init();
    disp_stats_init();
    intr_stats_init();
    pset_stats_init();
    syscall_init();
    vdso_init();
    if (read_option_text("opt/homeroom/watchdog", text, sizeof text) > 0)
        watchdog_s = (unsigned)parse_boot_number(text);
    park_on = read_option_text("opt/homeroom/threads", text, sizeof text) > 0 &&
              parse_boot_number(text) > 1;
    disp_cpu_join(&boot_cpu.cpu);
    smp_start(cpu_enter);
    wait_for_cpus();
    kprintf("Homeroom: %u CPUs, %lu MiB, %u lgroups, seed %#lx", ncpu, mem_total_pages() >> 8,
            nlgrps, boot_seed);
    if (kthread_create("boot", PRI_SYS, boot_thread, NULL) == NULL)
        panic("no memory for the first thread");
    clock_start();
    boot_cpu.cpu.nlock = 0;
    spin_threads_run = true;
    boot_cpu.cpu.kstack_top = (uint64_t)boot_cpu.cpu.disp->idle_thread->kstack + KSTACK_SIZE;
    x86_enter_stack(boot_cpu.cpu.kstack_top, disp_idle_loop);
}
