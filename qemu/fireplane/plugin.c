// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plugin.c - the Fireplane model as a QEMU TCG plugin: the code between QEMU and the model.
 *
 * THEORY      Usage: qemu-system-x86_64 -plugin build/fireplane.so,config=FILE,page=FILE[,heat=N,heat_seed=SEED]
 *             QEMU translates guest code block by block and then runs the translation.  A plugin sees each block when
 *             it is translated, and can register callbacks that run with its instructions and memory accesses.
 *             While the model is disarmed, only doorbells have a callback, so all other code runs at full speed.
 *             While it is armed, each memory access of user code (lower half of the address space) has a callback.  If
 *             possible (decode.c), one of these also counts the block's instructions and their clock cycles (fpu.c);
 *             otherwise the block has a callback for this.  In all code, pause and hlt make the CPU inactive, and
 *             instructions that change the address space make the model forget its translations.
 *             Arming and disarming discard all translated code (qemu_plugin_reset).  This happens at the end of the
 *             block that contains the doorbell.
 * INVARIANTS  one host thread runs all CPUs (-accel tcg,thread=single), so nothing here has a lock
 *             nothing that the guest writes to the page or passes in a doorbell can crash QEMU
 * QEMU 7.2    The filter of register_vcpu_mem_cb is off by one, so the plugin requests RW and tests the store bit.
 *             After a reset a CPU can still have a pointer to a freed list of callbacks: forget_helpers() clears it.
 *             phys_addr is not the guest-physical address: see FP_OP_PROBE.
 * QEMU 10     The CPU number that a callback gets is that of the CPU for which the code was translated, not of the CPU
 *             that runs it, if one host thread runs all CPUs.  So the plugin reads current_cpu, on every version.
 *             A repeated string instruction at the end of a block can iterate inside the block, without leaving it.
 * QEMU 11     Callbacks get the plugin's own pointer instead of its id, and the size in meminfo is one bit higher.
 * SEE ALSO    model.h, docs/fireplane.md
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "decode.h"
#include "fpu.h"
#include "model.h"
#include "qemu_api.h"

/*
 * meminfo contains the store bit and, from bit `at` on, log2 of the size.  The plugin reads both itself, because a call
 * of QEMU's functions for each access would cost too much.
 */
#define STORE_BIT         (1u << 17)
#define SIZE(info, at)    (1u << ((info) >> (at) & 7))
#define LOAD_8(info, at)  (((info) & (STORE_BIT | 7u << (at))) == 3u << (at))
#define STORE_8(info, at) (((info) & (STORE_BIT | 7u << (at))) == (STORE_BIT | 3u << (at)))

#define PLACES     1024 /* a power of two, more than FP_MAX_CPUS */
#define MOST_INSNS 1024 /* instructions of a block; QEMU makes no block longer than 512 */

#define HEAT_MOST 1000000 /* the largest argument heat=, the same as in tools/homeroom/model.py */

#define EXPORT __attribute__((visibility("default")))

/* Read by QEMU after the constructor below. */
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

static struct fp_model *model;
static struct fp_cpu_state *cpus; /* model->cpu */
static qemu_plugin_id_t self;
static struct CPUState *qemu_cpu[FP_MAX_CPUS];
static char version[32] = "of an unknown version";
static bool copies_code;     /* qemu_plugin_insn_data copies into a buffer */
static pthread_t cpu_thread; /* the host thread that runs all CPUs */
/* that thread's current_cpu (QEMU's variable); NULL before the first doorbell */
static struct CPUState **current;
/* the result of the last find_running(); a hash table of all CPUs, by `qemu` */
static struct {
    struct CPUState *qemu;
    struct fp_cpu_state *cpu;
} running, place[PLACES];

static const struct {
    const char *name;
    void *function;
} needed[] = {
#define NEEDED(f) {#f, (void *)f}
    NEEDED(qemu_plugin_register_vcpu_tb_trans_cb),
    NEEDED(qemu_plugin_register_vcpu_tb_exec_cb),
    NEEDED(qemu_plugin_register_vcpu_insn_exec_cb),
    NEEDED(qemu_plugin_register_vcpu_mem_cb),
    NEEDED(qemu_plugin_register_flush_cb),
    NEEDED(qemu_plugin_reset),
    NEEDED(qemu_plugin_tb_n_insns),
    NEEDED(qemu_plugin_tb_vaddr),
    NEEDED(qemu_plugin_tb_get_insn),
    NEEDED(qemu_plugin_insn_size),
    NEEDED(qemu_plugin_insn_data),
    NEEDED(qemu_plugin_mem_is_store),
    NEEDED(qemu_plugin_mem_size_shift),
    NEEDED(qemu_plugin_get_hwaddr),
    NEEDED(qemu_plugin_hwaddr_is_io),
    NEEDED(qemu_plugin_hwaddr_phys_addr),
    NEEDED(qemu_get_cpu),
    NEEDED(cpu_exit),
};

/* QEMU reads qemu_plugin_version when it has loaded the plugin, and each QEMU accepts only some versions. */
static __attribute__((constructor)) void choose_version(void)
{
    struct qemu_version *v = qmp_query_version ? qmp_query_version(NULL) : NULL;

    if (v != NULL)
        snprintf(version, sizeof version, "%d.%d.%d", (int)v->qemu->major, (int)v->qemu->minor,
                 (int)v->qemu->micro);
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

/* Prints a message.  Returns -1. */
static __attribute__((format(printf, 1, 2))) int say(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fputs("fireplane: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return -1;
}

/* ---- which CPU ----------------------------------------------------------------------------- */

static unsigned place_of(const struct CPUState *qemu)
{
    return (unsigned)((uintptr_t)qemu * 0x9e3779b97f4a7c15 >> 54) % PLACES;
}

static __attribute__((noinline)) struct fp_cpu_state *find_running(struct CPUState *qemu)
{
    unsigned i = place_of(qemu);

    while (place[i].qemu != qemu) {
        if (place[i].qemu == NULL) {
            say("QEMU runs a CPU that the machine file does not have");
            _exit(1);
        }
        i = (i + 1) % PLACES;
    }
    running = place[i];
    return running.cpu;
}

/* The running CPU.  A callback's argument `vcpu` can be another CPU (QEMU 10). */
static inline struct fp_cpu_state *running_cpu(void)
{
    return __builtin_expect(*current == running.qemu, 1) ? running.cpu : find_running(*current);
}

/* Fills the table of CPUs.  Called at the first doorbell, by the thread that runs all CPUs. */
static void meet_cpus(void)
{
    cpu_thread = pthread_self();
    current = dlsym(RTLD_DEFAULT, "current_cpu");
    for (unsigned n = 0; n < model->p.ncpus; n++) {
        unsigned i = place_of(qemu_cpu[n] = qemu_get_cpu((int)n));

        while (place[i].qemu != NULL)
            i = (i + 1) % PLACES;
        place[i].qemu = qemu_cpu[n];
        place[i].cpu = &cpus[n];
    }
}

/* ---- callbacks of running code ------------------------------------------------------------- */

/*
 * UltraSPARC has no accesses of 16 bytes, so such an access counts as two of 8 bytes.  QEMU 7.2 splits them itself;
 * later versions do not.
 */
static void other_access(struct fp_cpu_state *c, qemu_plugin_meminfo_t info, uint64_t vaddr,
                         unsigned size)
{
    unsigned part = size > 8 ? 8 : size;

    for (unsigned done = 0; done < size; done += part) {
        if (info & STORE_BIT)
            fp_store(c, vaddr + done, part, info);
        else
            fp_load(c, vaddr + done, part, info);
    }
}

/* Most accesses are of 8 bytes.  For them the size is a constant, which saves a third of the host's instructions. */
static inline void access_of(struct fp_cpu_state *c, qemu_plugin_meminfo_t info, uint64_t vaddr,
                             unsigned at)
{
    if (LOAD_8(info, at))
        fp_load(c, vaddr, 8, info);
    else if (STORE_8(info, at))
        fp_store(c, vaddr, 8, info);
    else
        other_access(c, info, vaddr, SIZE(info, at));
}

/*
 * Packs a callback's userdata: n instructions, the time of `clocks` clock cycles, and FLOATING if the access loads a
 * floating-point register (else 0).
 */
#define FLOATING 0x8000u
static void *pack(size_t n, uint64_t clocks, unsigned floating)
{
    return (void *)((uintptr_t)clocks * model->p.clock_ps << 16 | floating | n);
}

/* Counts packed instructions and their time.  Returns whether fp_slice() must be called. */
static inline bool ran(struct fp_cpu_state *c, void *packed)
{
    return fp_ran(c, (uintptr_t)packed & (FLOATING - 1), (uintptr_t)packed >> 16);
}

static inline uint32_t floating_of(void *packed)
{
    return ((uint32_t)(uintptr_t)packed & FLOATING) * (FP_FLOATING / FLOATING);
}

/* Not inlined, so that the callbacks need not save registers for this rare case. */
static __attribute__((noinline)) void
slice_and_access(struct fp_cpu_state *c, qemu_plugin_meminfo_t info, uint64_t vaddr, unsigned at)
{
    fp_slice(c);
    access_of(c, info, vaddr, at);
}

/*
 * Whether an access is the kernel's, and must be ignored.  In QEMU 7.2 an instruction that calls helpers leaves its
 * list of callbacks active if it ends a block of code (like most RETs) or raises an exception.  Then accesses that
 * helpers make for the kernel (FXSAVE, interrupt frames) cause callbacks as well, even after a thread switch.
 */
static inline bool kernels(uint64_t vaddr)
{
    return __builtin_expect(vaddr >> 63 != 0, 0);
}

/* An access whose callback counts no instructions. */
static inline void plain(qemu_plugin_meminfo_t info, uint64_t vaddr, void *packed, unsigned at)
{
    if (!kernels(vaddr))
        access_of(running_cpu(), info | floating_of(packed), vaddr, at);
}

/* An access whose callback also counts the instructions in `packed`. */
static inline void counted(qemu_plugin_meminfo_t info, uint64_t vaddr, void *packed, unsigned at)
{
    struct fp_cpu_state *c;

    if (kernels(vaddr))
        return;
    c = running_cpu();
    info |= floating_of(packed);
    if (__builtin_expect(ran(c, packed), 0))
        slice_and_access(c, info, vaddr, at);
    else
        access_of(c, info, vaddr, at);
}

/* An access of a string instruction that makes two accesses per iteration: only one of them counts the iteration. */
static inline void one_of_two(bool counts, qemu_plugin_meminfo_t info, uint64_t vaddr, void *packed,
                              unsigned at)
{
    if (counts)
        counted(info, vaddr, packed, at);
    else
        plain(info, vaddr, NULL, at);
}

/* True for every second call on a CPU: the second load of an iteration. */
static inline bool is_second(void)
{
    static bool second[FP_MAX_CPUS];

    return second[running_cpu()->id] ^= true;
}

/* The callbacks for accesses, with the size in meminfo at bit `at`. */
#define ACCESS_CALLBACKS(at)                                                                       \
    static void on_access_##at(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,          \
                               void *packed)                                                       \
    {                                                                                              \
        plain(info, vaddr, packed, at);                                                            \
    }                                                                                              \
    static void on_counted_access_##at(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,  \
                                       void *packed)                                               \
    {                                                                                              \
        counted(info, vaddr, packed, at);                                                          \
    }                                                                                              \
    static void on_rep_store_##at(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,       \
                                  void *packed)                                                    \
    {                                                                                              \
        one_of_two((info & STORE_BIT) != 0, info, vaddr, packed, at);                              \
    }                                                                                              \
    static void on_rep_loads_##at(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,       \
                                  void *packed)                                                    \
    {                                                                                              \
        one_of_two(is_second(), info, vaddr, packed, at);                                          \
    }
ACCESS_CALLBACKS(4)
ACCESS_CALLBACKS(5)

static const struct callbacks {
    unsigned size_at;
    qemu_mem_cb access, counted, rep_store, rep_loads;
} layouts[] = {
    {4, on_access_4, on_counted_access_4, on_rep_store_4, on_rep_loads_4}, /* until QEMU 10 */
    {5, on_access_5, on_counted_access_5, on_rep_store_5, on_rep_loads_5}, /* from QEMU 11 on */
};
static const struct callbacks *on;

static void on_block(unsigned vcpu, void *packed)
{
    struct fp_cpu_state *c = running_cpu();

    if (ran(c, packed))
        fp_slice(c);
}

static void on_pause(unsigned vcpu, void *unused)
{
    fp_pause(model, running_cpu()->id);
}

static void on_mmu(unsigned vcpu, void *unused)
{
    fp_flush_tlb(model, running_cpu()->id);
}

static void watch(void);

static void on_doorbell(unsigned vcpu, void *op)
{
    if (current == NULL) {
        meet_cpus();
    } else if (!pthread_equal(cpu_thread, pthread_self())) {
        say("CPUs run in several host threads: start QEMU with -accel tcg,thread=single");
        _exit(1);
    }
    switch (fp_doorbell(model, running_cpu()->id, (unsigned)(uintptr_t)op)) {
    case FP_REWATCH:
        qemu_plugin_reset(self, watch, NULL);
        break;
    case FP_GIVE_UP:
        say("the model counts wrong on this QEMU (%s): the console says what; use another QEMU, or no MODEL= "
            "(with MODEL_SET=, try once without: the self-test may not fit the parameters)",
            version);
        _exit(1);
    default:
        break;
    }
}

/* model->translate: the raw address (fp_range) of an access; ~0 for a device.  False: QEMU does not know it. */
static bool raw_address(qemu_plugin_meminfo_t info, uint64_t vaddr, uint64_t *raw)
{
    struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);

    if (hw == NULL)
        return false;
    *raw = qemu_plugin_hwaddr_is_io(hw) ? ~0ull : qemu_plugin_hwaddr_phys_addr(hw);
    return true;
}

static void on_probe(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *unused)
{
    uint64_t raw;

    if (raw_address(info, vaddr, &raw))
        fp_probe(model, running_cpu()->id, raw);
}

static void end_slice(unsigned vcpu)
{
    cpu_exit(qemu_cpu[vcpu]);
}

/* ---- translation --------------------------------------------------------------------------- */

/* The code of an instruction, in the buffer or in QEMU's memory. */
static const uint8_t *code_of(struct qemu_plugin_insn *insn, uint8_t buffer[16])
{
    uintptr_t data = qemu_plugin_insn_data(insn, buffer, 16);

    return copies_code ? buffer : (const uint8_t *)data;
}

/*
 * The clock cycles that a block takes: one for each instruction, plus the waits for floating-point results.
 * floating[i] becomes FLOATING if instruction i uses a floating-point register, else 0.
 */
static uint64_t clocks_of(struct qemu_plugin_tb *tb, size_t n, unsigned *floating)
{
    struct fpu_insn insn[MOST_INSNS];
    size_t bytes = 0;
    bool loops = false;

    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *q = qemu_plugin_tb_get_insn(tb, i);
        uint8_t buffer[16];
        const uint8_t *code = code_of(q, buffer);
        size_t size = qemu_plugin_insn_size(q);

        insn[i] = fpu_decode(code, size);
        floating[i] = insn[i].kind != FPU_OTHER ? FLOATING : 0;
        bytes += size;
        loops = fpu_loops(code, size, bytes);
    }
    return n + fpu_stalls(&model->p, insn, n, loops);
}

/* The callback for a repeated string instruction, which counts each iteration; NULL: it is another instruction. */
static qemu_mem_cb round_callback(enum fp_insn kind)
{
    return kind == FP_INSN_REP_STORE   ? on->rep_store
           : kind == FP_INSN_REP_LOADS ? on->rep_loads
           : kind == FP_INSN_REP_LOAD  ? on->counted
                                       : NULL;
}

/*
 * Registers the callbacks of a block of user code, for its accesses, instructions and clock cycles.  Repeated string
 * instructions are counted separately, because QEMU can repeat the whole block or only the instruction in it.
 */
static void watch_block(struct qemu_plugin_tb *tb, const enum fp_insn *kind, size_t n)
{
    /* number of instructions counted together; the instruction whose access counts them, n: none */
    size_t once = n, counts = n;
    unsigned floating[MOST_INSNS + 1] = {0};
    uint64_t clocks = clocks_of(tb, n, floating) - n;
    void *packed;

    for (size_t i = 0; i < n; i++) {
        once -= round_callback(kind[i]) != NULL;
        if (counts == n && (kind[i] == FP_INSN_ONE_LOAD || kind[i] == FP_INSN_ONE_STORE))
            counts = i;
    }
    packed = pack(once, clocks + once, floating[counts]);
    if (counts == n && once != 0)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, packed);
    for (size_t i = 0; i < n; i++) {
        qemu_mem_cb round = round_callback(kind[i]), cb = i == counts ? on->counted
                                                          : round     ? round
                                                                      : on->access;

        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), cb, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW,
                                         i == counts ? packed
                                         : round     ? pack(1, 1, 0)
                                                     : pack(0, 0, floating[i]));
    }
}

/*
 * Called when code of the upper half is translated.  The first call means that the kernel starts.  Then the function
 * takes over QEMU's clock.  No block runs during a translation, so the clock can be read.
 */
static void on_kernel(void)
{
    static bool before;

    if (!before && fp_clock_take(model) != 0) {
        say("this QEMU (%s) counts instructions in a way unknown here: leave -icount away",
            version);
        _exit(1);
    }
    before = true;
}

/*
 * Whether a doorbell is ignored in user code, because it is about memory of all users.  QEMU runs a translation only at
 * the privilege level for which it was made, and user mode cannot run code of the upper half.
 */
static bool only_for_kernel(unsigned op)
{
    return op == FP_OP_NEW_FRAMES || op == FP_OP_HEAT;
}

static void on_translate(struct qemu_plugin_tb *tb)
{
    enum fp_insn kind[MOST_INSNS];
    size_t n = qemu_plugin_tb_n_insns(tb);
    bool user = qemu_plugin_tb_vaddr(tb) >> 63 == 0, probe = false;

    if (n > MOST_INSNS)
        n = MOST_INSNS;
    if (!user)
        on_kernel();
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint8_t buffer[16];
        unsigned op = 0;
        qemu_vcpu_cb cb = NULL;

        kind[i] = fp_decode(code_of(insn, buffer), qemu_plugin_insn_size(insn), &op);
        if (probe)
            qemu_plugin_register_vcpu_mem_cb(insn, on_probe, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_RW, NULL);
        probe = kind[i] == FP_INSN_DOORBELL && op == FP_OP_PROBE;
        if (kind[i] == FP_INSN_DOORBELL)
            cb = user && only_for_kernel(op) ? NULL : on_doorbell;
        else if (model->armed && (kind[i] == FP_INSN_PAUSE || kind[i] == FP_INSN_HALT))
            cb = on_pause;
        else if (model->armed && kind[i] == FP_INSN_MMU)
            cb = on_mmu;
        if (cb)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS,
                                                   (void *)(uintptr_t)op);
    }
    if (user && model->armed)
        watch_block(tb, kind, n);
}

static void on_translate_6(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    on_translate(tb);
}

static void on_translate_7(struct qemu_plugin_tb *tb, void *unused)
{
    on_translate(tb);
}

/* Clears each CPU's pointer to callbacks for helpers, which can have been freed (QEMU 7.2, see above). */
static void forget_helpers(void)
{
    if (qemu_plugin_disable_mem_helpers == NULL)
        return;
    for (unsigned i = 0; i < model->p.ncpus; i++) {
        struct CPUState *cpu = qemu_get_cpu((int)i);

        if (cpu)
            qemu_plugin_disable_mem_helpers(cpu);
    }
}

/* Registers the plugin's callbacks.  Called at the start, and after the model was armed or disarmed; no CPU runs. */
static void watch(void)
{
    fp_clock_follow(model->armed);
    forget_helpers();
    qemu_plugin_register_vcpu_tb_trans_cb(
        self, qemu_plugin_version < 7 ? (qemu_any_cb)on_translate_6 : (qemu_any_cb)on_translate_7,
        NULL);
    qemu_plugin_register_flush_cb(self, forget_helpers, NULL);
}

/* ---- start --------------------------------------------------------------------------------- */

/* Finds the place of the size in meminfo.  The accessors use only their argument, so this works before any access. */
static const struct callbacks *meminfo_layout(void)
{
    if (qemu_plugin_mem_is_store(~STORE_BIT) || !qemu_plugin_mem_is_store(STORE_BIT))
        return NULL;
    for (size_t l = 0; l < sizeof layouts / sizeof layouts[0]; l++) {
        unsigned at = layouts[l].size_at, same = 0;

        for (unsigned i = 0; i < 8; i++)
            same += qemu_plugin_mem_size_shift(i << at | 1u << (at - 1)) == i;
        if (same == 8)
            return &layouts[l];
    }
    return NULL;
}

/* The first 16383 bytes of a file, NUL-terminated; the caller must free them.  NULL: cannot be opened, or no memory. */
static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 16384);

    if (f == NULL || text == NULL) {
        free(text);
        return NULL;
    }
    text[fread(text, 1, 16383, f)] = 0;
    fclose(f);
    return text;
}

/* Maps the shared page, a file of FP_SHARED_BYTES; NULL: not possible. */
static void *map_page(const char *path)
{
    int fd = open(path, O_RDWR);
    struct stat st;
    void *p = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size == FP_SHARED_BYTES)
        p = mmap(NULL, FP_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return p == MAP_FAILED ? NULL : p;
}

struct arguments {
    const char *config, *page;
    uint64_t heat, heat_seed; /* page heat counts one of `heat` misses; 0: it is off */
};

/* Reads a number from 0 to `most`.  Returns 0; -1: it is none. */
static int read_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 0);
    return *text < '0' || *text > '9' || *end != '\0' || errno != 0 || *number > most ? -1 : 0;
}

/* Reads the plugin's arguments.  Returns 0; -1 after a message. */
static int read_arguments(int argc, char **argv, struct arguments *a)
{
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "config=", 7) == 0)
            a->config = argv[i] + 7;
        else if (strncmp(argv[i], "page=", 5) == 0)
            a->page = argv[i] + 5;
        else if (strncmp(argv[i], "heat=", 5) == 0) {
            if (read_number(argv[i] + 5, HEAT_MOST, &a->heat) != 0)
                return say("%s: a number from 0 to %d", argv[i], HEAT_MOST);
        } else if (strncmp(argv[i], "heat_seed=", 10) == 0) {
            if (read_number(argv[i] + 10, UINT64_MAX, &a->heat_seed) != 0)
                return say("%s: a number", argv[i]);
        } else
            return say(
                "unknown argument %s; there are config=FILE, page=FILE, heat=N, heat_seed=SEED",
                argv[i]);
    }
    return a->config != NULL && a->page != NULL ? 0 : say("give config=FILE and page=FILE");
}

/*
 * Begins page heat if it is on.  The table is a file without a name, which other programs find among the files of this
 * process, as they find the memory of the boards.  Returns 0; -1 after a message.
 */
static int begin_heat(const struct arguments *a)
{
    uint64_t bytes = fp_heat_bytes(&model->p);
    void *table = MAP_FAILED;
    int fd;

    if (a->heat == 0)
        return 0;
    fd = memfd_create("homeroom-heat", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED || fp_heat_begin(model, table, a->heat, a->heat_seed) != 0)
        return say("no memory for page heat: %s", strerror(errno));
    return 0;
}

/* Finds what the plugin needs of this QEMU.  Returns 0; -1 after a message. */
static int check_qemu(const qemu_info_t *info)
{
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (needed[i].function == NULL)
            return say(
                "this QEMU does not export %s; the model needs one built with plugins and modules, "
                "as Debian's is",
                needed[i].name);
    if (dlsym(RTLD_DEFAULT, "current_cpu") == NULL)
        return say(
            "this QEMU does not export current_cpu; the model needs one built with plugins and modules");
    if (!info->system_emulation || strcmp(info->target_name, "x86_64") != 0)
        return say("the model is for qemu-system-x86_64");
    return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    struct arguments given = {0};
    struct fp_params params;
    char error[256], *text;
    void *page;

    if (check_qemu(info) != 0 || read_arguments(argc, argv, &given) != 0)
        return -1;
    if ((text = read_file(given.config)) == NULL)
        return say("%s: %s", given.config, strerror(errno));
    if (fp_params_parse(&params, text, error, sizeof error) != 0)
        return say("%s: %s", given.config, error);
    if ((int)params.ncpus != info->system.smp_vcpus)
        return say("%s describes %u CPUs, this machine has %d", given.config, params.ncpus,
                   info->system.smp_vcpus);
    if ((page = map_page(given.page)) == NULL)
        return say("%s: not a file of %u bytes that can be mapped", given.page, FP_SHARED_BYTES);
    if ((on = meminfo_layout()) == NULL)
        return say("this QEMU describes memory accesses in a way unknown here");
    if ((model = fp_create(&params, page, text)) == NULL)
        return say("no memory for the model");
    free(text);
    if (begin_heat(&given) != 0)
        return -1;
    model->translate = raw_address;
    model->yield = end_slice;
    cpus = model->cpu;
    self = id;
    watch();
    return 0;
}
