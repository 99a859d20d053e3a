// SPDX-License-Identifier: MIT
/*
 * test_as.c - address spaces compared with a simple model, on a simulated machine of four boards.
 *
 * THEORY      The test makes random calls (map, unmap, protect, move, fork, exit, advise, truncate) and random
 *             accesses.  The model defines for each page of each space the result of an access: a fault, or a value.
 *             An access goes through a translation buffer that forgets only what the kernel invalidates.  So a missing
 *             flush shows as a wrong value or as an access right that was already withdrawn.  In between, all counts of
 *             the frames are checked against the page tables and trees.
 */
#include "tests/host/check.h"
#include "tests/host/machine.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "disp/pset.h"
#include "disp/thread.h"
#include "include/uapi/homeroom.h"
#include "lgrp/lgrpstat.h"
#include "lib/cpu.h"
#include "lib/errno.h"
#include "mem/kmem.h"
#include "stat/cpustat.h"
#include "stat/panic.h"
#include "stat/trace.h"
#include "vm/migrate.h"
#include "vm/observe.h"
#include "vm/pt.h"
#include "pages/reserve.h"
#include "vm/rmap.h"
#include "x86/ipi.h"

/* ---- the machine ----------------------------------------------------------------------------- */

enum { NODES = 4, NODE_FRAMES = 8192, FRAMES = NODES * NODE_FRAMES };

static struct cpu_counted cpu0;
struct cpupart cpupart_default;
static struct lgrp_proc thread_proc = {.bitmap = (1u << NODES) - 1};
static struct thread thread0 = {.part = &cpupart_default, .lg.proc = &thread_proc};
static uint64_t nfree[NODES];
static unsigned fail_every; /* every fail_every'th allocation fails; 0: none */
/* allocations until a failure, and the number of failures in a row that then follow */
static unsigned fail_after, fail_times;
static int64_t live; /* objects of kmem in use */

struct cpu *cpus[CPU_MAX];
unsigned ncpu = 1, nnodes = NODES;
uint32_t trace_enable;
struct mem_node mem_nodes[NODE_MAX];
struct lgrp_counters lgrp_counters[LGRP_MAX];
paddr_t kernel_pml4;

static bool room; /* whether the thread may follow its pages; its home changes only in the tests */

bool thread_follow_pages(struct thread *t, unsigned lgrp, bool move)
{
    (void)t, (void)lgrp, (void)move;
    return room;
}

void trace_put(enum trace_type type, uint32_t tid, unsigned info, uint64_t a, uint64_t b)
{
    panic("the trace is off");
}

void trace_self(enum trace_type type, unsigned info, uint64_t a, uint64_t b)
{
    panic("the trace is off");
}

uint64_t trace_name(const char *s)
{
    panic("the trace is off");
}

void panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    abort();
}

/* There is no swap, and no pageout daemon. */
bool pageout_low_file_memory(void)
{
    return false;
}

void pageout_quiesce(void)
{
}

static uint64_t unpageable;

uint64_t mem_total_pages(void)
{
    return FRAMES;
}

uint64_t mem_unpageable(void)
{
    return unpageable;
}

uint64_t pageout_promisable(void)
{
    return FRAMES;
}
void swap_boot(void)
{
}
bool pageout_spare(uint64_t n)
{
    return n == 0;
}
uint64_t pageout_spare_pages(void)
{
    return 0;
}
uint32_t disk_seek_blocks(struct disk *d, uint32_t sectors)
{
    return d == NULL && sectors != 0;
}
uint64_t freemem(void)
{
    return 0;
}

void swap_total(uint64_t *pages, uint64_t *free)
{
    *pages = *free = 0;
}
int swap_in(struct vm_object *o, struct page *pg, const struct placement *pl,
            struct page_run *around, bool wait)
{
    (void)o, (void)pg, (void)pl, (void)around, (void)wait;
    panic("nothing is on swap");
}
int swap_in_around(struct vm_object *o, struct page *pg, const struct placement *pl,
                   struct page_run within, struct around *a, unsigned advice)
{
    return swap_in(o, pg, pl, &within, a != NULL && advice != 0);
}
struct page *swap_find(struct vm_object *o, uint64_t *index, uint64_t last)
{
    (void)o, (void)index, (void)last;
    return NULL;
}
void cold_mark(struct seg *s, uint64_t start, uint64_t end)
{
    (void)s, (void)start, (void)end;
}
void cold_out(struct seg *s, uint64_t start, uint64_t end)
{
    (void)s, (void)start, (void)end;
}
void swap_forget(struct page *pg)
{
    (void)pg;
}

/* Sleeps of the kernel while it waits for memory. */
static unsigned naps;

void thread_sleep_ns(uint64_t ns)
{
    CHECK(ns != 0);
    naps++;
}

static bool ending;

bool proc_is_ending(void)
{
    return ending;
}

static bool fails(void)
{
    if (fail_times != 0 && (fail_after == 0 || --fail_after == 0)) {
        fail_times--;
        return true;
    }
    return fail_every != 0 && check_below(fail_every) == 0;
}

/* The linker sends malloc() of the kernel's files here (host.mk): the nodes of an index fail, too. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
    return size == sizeof(struct radix_node) && fail_times != 0 && fails() ? NULL
                                                                           : __real_malloc(size);
}

static bool usable(unsigned first, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (vmemmap[first + i].flags != PG_FREE)
            return false;
    return true;
}

static struct page *take(unsigned node, unsigned order)
{
    static unsigned at[NODES];
    unsigned n = 1u << order;

    if (nfree[node] < n)
        return NULL;
    for (unsigned k = 0; k < NODE_FRAMES / n; k++) {
        unsigned first = node * NODE_FRAMES + (at[node] = (at[node] + n) % NODE_FRAMES / n * n);

        if (!usable(first, n))
            continue;
        for (unsigned i = 0; i < n; i++) {
            memset(&vmemmap[first + i], 0, sizeof(struct page));
            vmemmap[first + i].node = (uint8_t)node;
        }
        vmemmap[first].refs = 1;
        vmemmap[first].order = (uint8_t)order;
        vmemmap[first].flags = order > 0 ? PG_HEAD : 0;
        list_init(&vmemmap[first].link);
        nfree[node] -= n;
        memset(page_to_virt(&vmemmap[first]), 0xa5, PAGE_SIZE << order);
        return &vmemmap[first];
    }
    return NULL;
}

struct page *page_alloc(unsigned node, unsigned order, unsigned flags)
{
    bool fail = fails();
    struct page *pg = fail ? NULL : take(node, order);

    for (unsigned i = 0; pg == NULL && !fail && i < NODES && (flags & ALLOC_STRICT) == 0; i++)
        pg = take((node + i) % NODES, order);
    if (pg != NULL && (flags & ALLOC_ZERO) != 0)
        page_zero(pg, order);
    return pg;
}

uint32_t page_colors = 1;

struct page *page_alloc_colored(unsigned node, unsigned color, unsigned flags)
{
    return page_alloc(node, 0, flags);
}

void page_free(struct page *pg)
{
    unsigned n = 1u << pg->order;

    if (pg->refs > 1 || pg->mapcount != 0 || (pg->flags & PG_FREE) != 0)
        panic("frame %ld freed with refs %u, mapcount %u", (long)(pg - vmemmap), pg->refs,
              pg->mapcount);
    memset(page_to_virt(pg), 0x5a, PAGE_SIZE << pg->order);
    nfree[pg->node] += n;
    for (unsigned i = 0; i < n; i++)
        pg[i].flags = PG_FREE;
}

void page_zero(struct page *pg, unsigned order)
{
    memset(page_to_virt(pg), 0, PAGE_SIZE << order);
}

void page_copy(struct page *dst, struct page *src, unsigned order)
{
    memcpy(page_to_virt(dst), page_to_virt(src), PAGE_SIZE << order);
}

struct kmem_cache {
    size_t size;
};
struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align)
{
    struct kmem_cache *c = malloc(sizeof *c);

    (void)name, (void)align;
    c->size = size;
    return c;
}
void *kmem_alloc(size_t size)
{
    if (fails())
        return NULL;
    live++;
    return malloc(size);
}
void *kmem_zalloc(size_t size)
{
    void *p = kmem_alloc(size);

    return p != NULL ? memset(p, 0, size) : NULL;
}
void *kmem_alloc_node(size_t size, unsigned node)
{
    (void)node;
    return kmem_alloc(size);
}
void *kmem_cache_alloc(struct kmem_cache *c)
{
    return kmem_alloc(c->size);
}
void kmem_free(void *p)
{
    live -= p != NULL;
    free(p);
}
void *kmem_cache_alloc_wait(struct kmem_cache *c)
{
    return kmem_cache_alloc(c);
}

void kmem_cache_free(struct kmem_cache *c, void *p)
{
    (void)c;
    kmem_free(p);
}

/* There is one thread: locks that sleep are only checked for balance. */
void mutex_init(struct mutex *m, enum sleeprank rank)
{
    m->l.rank = rank;
}
void mutex_enter(struct mutex *m)
{
    (void)m;
}
void mutex_exit(struct mutex *m)
{
    (void)m;
}
void rw_init(struct rwlock *rw, enum sleeprank rank)
{
    rw->l.word = 0;
    rw->l.rank = rank;
}
bool rw_tryenter_read(struct rwlock *rw)
{
    rw_enter_read(rw);
    return true;
}
bool rw_tryenter_write(struct rwlock *rw)
{
    rw_enter_write(rw);
    return true;
}

void rw_enter_read(struct rwlock *rw)
{
    if ((intptr_t)rw->l.word < 0 || cpu0.cpu.nlock != 0)
        panic("rwlock %s taken for reading", "sleeping lock");
    rw->l.word++;
}
void rw_enter_write(struct rwlock *rw)
{
    if (rw->l.word != 0 || cpu0.cpu.nlock != 0)
        panic("rwlock %s taken for writing", "sleeping lock");
    rw->l.word = (uintptr_t)-1;
}
void rw_exit_read(struct rwlock *rw)
{
    rw->l.word--;
}
void rw_exit_write(struct rwlock *rw)
{
    rw->l.word = 0;
}
void cv_init(struct cv *cv)
{
    (void)cv;
}
void cv_wait_spin(struct cv *cv, struct spinlock *l, const char *what)
{
    (void)cv, (void)l;
    panic("a single thread waits for %s", what);
}

void cv_wait_disk(struct cv *cv, struct spinlock *l, const char *what)
{
    cv_wait_spin(cv, l, what);
}
unsigned cv_broadcast(struct cv *cv)
{
    (void)cv;
    return 0;
}
void x86_send_ipi_mask(const struct cpumask *m, unsigned vector)
{
    (void)m;
    panic("vector %u sent to other processors", vector);
}

/* ---- the translation buffer ------------------------------------------------------------------ */

enum { TLB_SLOTS = 256 };
static struct tlb_entry {
    uint64_t vpn, pte; /* pte 0: empty */
} tlb[TLB_SLOTS];

static void on_invlpg(uint64_t addr)
{
    uint64_t vpn = addr >> PAGE_SHIFT;

    for (unsigned i = 0; i < TLB_SLOTS; i++)
        if (tlb[i].vpn == vpn || ((tlb[i].pte & PTE_PS) != 0 && tlb[i].vpn >> 9 == vpn >> 9))
            tlb[i].pte = 0;
}

static void on_cr3(uint64_t value)
{
    (void)value;
    memset(tlb, 0, sizeof tlb);
}

static void run(struct as *as)
{
    struct vm_cpu *v = cpu0.cpu.vm;

    if (v->loaded == as)
        return;
    if (v->loaded != NULL)
        cpumask_clear_atomic(&v->loaded->cpus, 0);
    v->loaded = as;
    v->gen = as->tlb_gen;
    cpumask_set_atomic(&as->cpus, 0);
    on_cr3(as->cr3);
    thread0.as = as;
}

static bool allows(uint64_t pte, enum fault_access access)
{
    return (pte & PTE_P) != 0 && (access != FAULT_WRITE || (pte & PTE_W) != 0) &&
           (access != FAULT_EXEC || (pte & PTE_NX) == 0);
}

/* One access to a word by the space that runs.  Returns the result of as_fault(). */
static int access_word(struct as *as, uint64_t addr, enum fault_access access, uint64_t *word)
{
    struct tlb_entry *e = &tlb[(addr >> PAGE_SHIFT) % TLB_SLOTS];
    int r, code;

    run(as);
    if (e->vpn != addr >> PAGE_SHIFT)
        e->pte = 0;
    for (unsigned tries = 0; !allows(e->pte, access); tries++) {
        bool huge;
        uint64_t pte = pt_find(as, addr, &huge);

        *e = (struct tlb_entry){addr >> PAGE_SHIFT, pte};
        if (allows(pte, access))
            break;
        e->pte = 0;
        r = as_fault(as, addr, access, &code);
        if (r != 0)
            return r;
        CHECK(tries < 3);
    }
    {
        uint64_t size = (e->pte & PTE_PS) != 0 ? HUGE_SIZE : PAGE_SIZE;
        uint64_t *p = phys_to_virt((e->pte & PTE_ADDR) + addr % size);

        if (access == FAULT_WRITE)
            *p = *word;
        else
            *word = *p;
    }
    return 0;
}

/* ---- the model ------------------------------------------------------------------------------- */

enum { SPACES = 5, WINDOW = 160, FILE_PAGES = 40, NSHARED = 3 };
#define BASE 0x7f0000100000ul

enum kind { NONE, PRIVATE, PRIVATE_FILE, SHARED_FILE, SHARED_ANON };

struct mpage {
    enum kind kind;
    int prot;
    bool own;        /* PRIVATE_FILE: has a private copy */
    uint64_t value;  /* of a private page */
    unsigned object; /* of a shared one */
    unsigned index;
};

static struct space {
    struct as *as;
    struct mpage page[WINDOW];
} space[SPACES];

static struct vm_object file;
static uint64_t file_value[FILE_PAGES];
static unsigned file_size = FILE_PAGES;
static struct vm_object *shm[NSHARED]; /* each has FILE_PAGES pages */
static uint64_t shm_value[NSHARED][FILE_PAGES];

static uint64_t addr_of(unsigned page)
{
    return BASE + (uint64_t)page * PAGE_SIZE;
}

/* A random space, empty or in use as `empty` says.  It is mostly the same one, so that the translation buffer fills. */
static struct space *some_space(bool empty)
{
    static unsigned at;

    if (check_below(40) == 0)
        at = (unsigned)check_below(SPACES);

    for (unsigned i = 0; i < SPACES; i++) {
        struct space *s = &space[(at + i) % SPACES];

        if ((s->as == NULL) == empty)
            return s;
    }
    return NULL;
}

static void some_range(unsigned *first, unsigned *n)
{
    *n = 1 + (unsigned)check_below(check_below(4) == 0 ? 40 : 8);
    *first = (unsigned)check_below(WINDOW - *n);
}

static int some_prot(void)
{
    static const int prots[] = {0, 1, 3, 3, 3, 5};

    return prots[check_below(6)];
}

static void op_map(struct space *s)
{
    unsigned first, n, object = (unsigned)check_below(NSHARED), index = 0;
    int prot = some_prot(), flags = MAP_FIXED, err;
    enum kind kind = PRIVATE + check_below(4);
    struct vm_object *obj = NULL;
    uint64_t addr;

    some_range(&first, &n);
    n = min_of(n, (unsigned)FILE_PAGES);
    if (kind != PRIVATE) {
        index = (unsigned)check_below(FILE_PAGES - n + 1);
        obj = kind == SHARED_ANON ? shm[object] : &file;
    }
    flags |= kind == SHARED_ANON || kind == SHARED_FILE ? MAP_SHARED : MAP_PRIVATE;
    flags |= kind == PRIVATE ? MAP_ANONYMOUS : 0;
    addr = addr_of(first);
    err = as_map(s->as, &addr, n * PAGE_SIZE, prot, flags, obj, index * PAGE_SIZE, NULL, 0);
    if (err != 0) {
        CHECK(err == -ENOMEM && fail_every != 0);
        return; /* the old mapping may be gone: removes it on both sides */
    }
    for (unsigned i = 0; i < n; i++)
        s->page[first + i] = (struct mpage){kind, prot, false, 0, object, index + i};
}

static void op_unmap(struct space *s)
{
    unsigned first, n;

    some_range(&first, &n);
    if (as_unmap(s->as, addr_of(first), n * PAGE_SIZE) == 0)
        memset(&s->page[first], 0, n * sizeof s->page[0]);
    else
        CHECK(fail_every != 0);
}

static void op_protect(struct space *s)
{
    unsigned first, n;
    int prot = some_prot(), err;
    bool hole = false;

    some_range(&first, &n);
    for (unsigned i = 0; i < n; i++)
        hole |= s->page[first + i].kind == NONE;
    err = as_protect(s->as, addr_of(first), n * PAGE_SIZE, prot);
    if (err != 0) {
        CHECK(err == -ENOMEM && (hole || fail_every != 0));
        return;
    }
    CHECK(!hole);
    for (unsigned i = 0; i < n; i++)
        s->page[first + i].prot = prot;
}

static void op_drop(struct space *s)
{
    unsigned first, n;

    some_range(&first, &n);
    as_advise(s->as, addr_of(first), n * PAGE_SIZE, 4);
    for (unsigned i = 0; i < n; i++)
        if (s->page[first + i].kind == PRIVATE || s->page[first + i].kind == PRIVATE_FILE) {
            s->page[first + i].value = 0;
            s->page[first + i].own = false;
        }
}

static void op_advise(struct space *s)
{
    unsigned first, n;

    some_range(&first, &n);
    as_advise(s->as, addr_of(first), n * PAGE_SIZE, HR_MADV_ACCESS_DEFAULT + (int)check_below(3));
}

/* Samples pages, as if the process had run for two seconds since the last call. */
static void op_observe(struct space *s)
{
    static uint64_t cpu_ns;

    cpu_ns += 2000000000;
    room = check_below(2) == 0;
    observe_as(s->as, cpu_ns, thread_proc.bitmap);
}

static void op_move(struct space *s)
{
    unsigned from, to, n;
    uint64_t addr;
    int err;

    some_range(&from, &n);
    to = (unsigned)check_below(WINDOW - n);
    if (to + n > from && from + n > to)
        return;
    addr = addr_of(to);
    err = as_remap(s->as, addr_of(from), n * PAGE_SIZE, n * PAGE_SIZE, 3, &addr);
    if (err == 0) {
        memcpy(&s->page[to], &s->page[from], n * sizeof s->page[0]);
        memset(&s->page[from], 0, n * sizeof s->page[0]);
    } else {
        CHECK(err == -EFAULT || (err == -ENOMEM && fail_every != 0));
    }
}

static void op_fork(struct space *s)
{
    struct space *child = some_space(true);

    if (child == NULL)
        return;
    run(s->as);
    child->as = as_fork(s->as);
    if (child->as == NULL)
        CHECK(fail_every != 0);
    else
        memcpy(child->page, s->page, sizeof s->page);
}

static void op_exit(struct space *s)
{
    as_release(s->as);
    s->as = NULL;
    memset(s->page, 0, sizeof s->page);
}

static void op_create(struct space *s)
{
    s->as = as_create();
    CHECK(s->as != NULL || fail_every != 0);
}

static void op_truncate(void)
{
    unsigned size = FILE_PAGES / 2 + (unsigned)check_below(FILE_PAGES / 2 + 1);

    file.size_pages = size;
    if (size < file_size)
        object_truncate(&file, size);
    for (unsigned i = size; i < FILE_PAGES; i++)
        file_value[i] = 0;
    file_size = size;
}

/* The contents of a shared page, or NULL. */
static uint64_t *shared_value(const struct mpage *m)
{
    if (m->kind == SHARED_ANON)
        return &shm_value[m->object][m->index];
    return m->kind == SHARED_FILE ? &file_value[m->index] : NULL;
}

static void op_access(struct space *s)
{
    unsigned i = (unsigned)check_below(WINDOW);
    struct mpage *m = &s->page[i];
    enum fault_access access = check_below(2) == 0 ? FAULT_READ : FAULT_WRITE;
    bool allowed = m->kind != NONE && (m->prot & (access == FAULT_READ ? 7 : PROT_WRITE)) != 0;
    bool of_file = m->kind == SHARED_FILE || (m->kind == PRIVATE_FILE && !m->own);
    bool beyond = of_file && m->index >= file_size;
    uint64_t word = check_random(), *shared = shared_value(m);
    int r = access_word(s->as, addr_of(i) + 8 * (unsigned)check_below(1), access, &word);

    if (r == -ENOMEM) {
        CHECK(fail_every != 0);
        return;
    }
    CHECK_EQ(r, !allowed ? 11 : beyond ? 7 : 0);
    if (r != 0)
        return;
    if (access == FAULT_WRITE) {
        if (shared != NULL)
            *shared = word;
        else
            m->value = word;
        m->own = true;
    } else {
        uint64_t expect = shared != NULL                       ? *shared
                          : m->kind == PRIVATE_FILE && !m->own ? file_value[m->index]
                                                               : m->value;

        CHECK_EQ(word, expect);
    }
}

/* ---- counts ---------------------------------------------------------------------------------- */

static uint32_t maps[FRAMES], names[FRAMES];

static void count_table(const uint64_t *table, unsigned first, unsigned last, unsigned level)
{
    unsigned used = 0;

    for (unsigned i = first; i < last; i++) {
        used += table[i] != 0;
        if (table[i] == 0)
            continue;
        if (level == 12 || (table[i] & PTE_PS) != 0)
            maps[pte_page(table[i]) - vmemmap]++;
        else
            count_table(pt_table_of(table[i]), 0, 512, level - 9);
    }
    CHECK_EQ(pt_page(table)->pt_live, used);
}

static void count_tree(struct vm_object *o)
{
    uint64_t index = 0, pages = 0;
    struct page *pg;

    for (; (pg = radix_next(&o->tree, &index)) != NULL; index++) {
        names[pg - vmemmap]++;
        CHECK_EQ(pg->index, index);
        CHECK((pg->flags & (PG_FREE | PG_LOCKED)) == 0);
        CHECK(o->family != NULL ? pg->family == o->family : pg->obj == o);
        pages += 1ul << pg->order;
    }
    CHECK_EQ(o->npages, pages);
}

static void verify(void)
{
    memset(maps, 0, sizeof maps);
    memset(names, 0, sizeof names);
    for (unsigned i = 0; i < SPACES; i++)
        if (space[i].as != NULL) {
            count_table(space[i].as->pml4, 0, 256, 39);
            count_tree(&space[i].as->anon);
            CHECK(space[i].as->resv.need_pages <= space[i].as->resv.pages);
            CHECK_EQ(space[i].as->resv.need_pages,
                     space[i].as->data_pages + space[i].as->stack_pages);
        }
    count_tree(&file);
    for (unsigned i = 0; i < NSHARED; i++)
        count_tree(shm[i]);
    for (unsigned i = 0; i < FRAMES; i++) {
        if ((vmemmap[i].flags & PG_FREE) != 0)
            CHECK(maps[i] == 0 && names[i] == 0);
        else if (names[i] != 0) {
            CHECK_EQ(vmemmap[i].mapcount, maps[i]);
            CHECK_EQ(vmemmap[i].refs, names[i]);
            if (vmemmap[i].obj != &file && (vmemmap[i].flags & PG_ANON) != 0 &&
                vmemmap[i].nsharers != 0)
                CHECK_EQ(vmemmap[i].nsharers, names[i]);
        }
    }
    CHECK_EQ(cpu0.cpu.nlock, 0);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static uint64_t free_frames(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < NODES; i++)
        n += nfree[i];
    return n;
}

static void boot(void)
{
    static const struct machine_ops ops = {on_invlpg, on_cr3};
    static bool done;

    fail_every = 0;
    if (done)
        return;
    done = true;
    machine_map(DIRECT_BASE, (size_t)FRAMES * PAGE_SIZE);
    machine_map(VMEMMAP_BASE, FRAMES * sizeof(struct page));
    for (unsigned i = 0; i < FRAMES; i++)
        vmemmap[i].flags = PG_FREE;
    for (unsigned i = 0; i < NODES; i++)
        nfree[i] = NODE_FRAMES;
    cpu0.cpu.self = &cpu0.cpu;
    cpu0.cpu.thread = &thread0;
    cpu0.cpu.stat = &cpu0.stat;
    cpus[0] = &cpu0.cpu;
    machine_start(&cpu0, &ops);
    lgrp_topo.nnodes = lgrp_topo.nmem = lgrp_topo.nlgrps = nlgrps = NODES;
    for (unsigned i = 0; i < NODES; i++) {
        lgrp_topo.node_lgrp[i] = lgrp_topo.sole_node[i] = (uint8_t)i;
        lgrp_topo.lgrp_nodes[i] = 1ul << i;
        lgrp_topo.node_bytes[i] = NODE_FRAMES * PAGE_SIZE;
        lgrp_topo.mem_lgrps |= 1ul << i;
    }
    kernel_pml4 = page_to_phys(page_alloc(0, 0, ALLOC_ZERO));
    vm_cpu_init(&cpu0.cpu);
    vm_init();
}

static void start(void)
{
    boot();
    memset(space, 0, sizeof space);
    object_init_vnode(&file, NULL, NULL);
    file.size_pages = file_size = FILE_PAGES;
    memset(file_value, 0, sizeof file_value);
    memset(shm_value, 0, sizeof shm_value);
    for (unsigned i = 0; i < NSHARED; i++)
        shm[i] = object_create_anon(FILE_PAGES, false);
}

/* Ends all spaces and checks that nothing is left. */
static void finish(uint64_t frames, int64_t objects)
{
    uint64_t promised, limit;

    fail_every = 0;
    for (unsigned i = 0; i < SPACES; i++)
        if (space[i].as != NULL)
            op_exit(&space[i]);
    object_truncate(&file, 0);
    for (unsigned i = 0; i < NSHARED; i++)
        object_release(shm[i]);
    kmem_free(thread0.observed);
    thread0.observed = NULL;
    CHECK_EQ(free_frames() + vm_cached_tables(), frames);
    CHECK_EQ(live, objects);
    reserve_state(&promised, &limit);
    CHECK_EQ(promised, 0);
}

static void random_calls(unsigned steps)
{
    for (unsigned i = 0; i < steps; i++) {
        struct space *s = some_space(false);

        if (s == NULL) {
            op_create(&space[0]);
            continue;
        }
        thread0.lg.home = thread0.lg.touch = (uint8_t)check_below(NODES);
        switch (check_below(48)) {
        case 0:
        case 1:
        case 2:
            op_map(s);
            break;
        case 3:
            op_unmap(s);
            break;
        case 4:
        case 5:
            op_protect(s);
            break;
        case 6:
            op_drop(s);
            break;
        case 7:
            op_move(s);
            break;
        case 8:
            op_fork(s);
            break;
        case 9:
            if (check_below(3) == 0)
                op_exit(s);
            break;
        case 10:
            op_advise(s);
            break;
        case 11:
            if (check_below(8) == 0)
                op_truncate();
            break;
        case 12:
            op_observe(s);
            break;
        default:
            op_access(s);
            break;
        }
        if (i % 100 == 0)
            verify();
    }
}

TEST(random_calls)
{
    uint64_t frames;
    int64_t objects;

    boot();
    frames = free_frames() + vm_cached_tables();
    objects = live;
    start();
    random_calls(60000);
    finish(frames, objects);
}

/* Memory may run out at any point: calls may fail, but counts stay right and nothing is lost. */
TEST(out_of_memory)
{
    uint64_t frames;
    int64_t objects;

    boot();
    frames = free_frames() + vm_cached_tables();
    objects = live;
    start();
    for (unsigned round = 0; round < 40; round++) {
        fail_every = 30;
        for (unsigned i = 0; i < 300; i++) {
            struct space *s = some_space(false);

            if (s == NULL) {
                op_create(&space[0]);
                continue;
            }
            switch (check_below(12)) {
            case 0:
                op_map(s);
                break;
            case 1:
                op_unmap(s);
                break;
            case 2:
                op_protect(s);
                break;
            case 3:
                op_fork(s);
                break;
            case 4:
                op_advise(s);
                break;
            default: { /* values are not compared, because a failed call may leave either state */
                uint64_t word = 1;

                access_word(s->as, addr_of((unsigned)check_below(WINDOW)),
                            check_below(2) ? FAULT_READ : FAULT_WRITE, &word);
            }
            }
        }
        fail_every = 0;
        verify();
        while (some_space(false) != NULL && check_below(2) == 0)
            op_exit(some_space(false));
        /* the model does not know the result, so all spaces start again */
        for (unsigned i = 0; i < SPACES; i++)
            if (space[i].as != NULL) {
                CHECK_EQ(as_unmap(space[i].as, BASE, WINDOW * PAGE_SIZE), 0);
                memset(space[i].page, 0, sizeof space[i].page);
            }
    }
    finish(frames, objects);
}

enum { MOVED = 200 };

/* A space whose pages from `shared` on are shared with *child, and have the values i + 1.  Returns their address. */
static uint64_t space_to_move(struct as **as, struct as **child, uint64_t shared)
{
    uint64_t addr = BASE, word;

    *as = as_create();
    CHECK_EQ(as_map(*as, &addr, MOVED * PAGE_SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, NULL,
                    0, NULL, 0),
             0);
    for (uint64_t i = 0; i < MOVED; i++) {
        word = i + 1;
        CHECK_EQ(access_word(*as, addr + i * PAGE_SIZE, FAULT_WRITE, &word), 0);
    }
    *child = as_fork(*as);
    for (uint64_t i = 0; i < shared; i++) {
        word = i + 1;
        CHECK_EQ(access_word(*as, addr + i * PAGE_SIZE, FAULT_WRITE, &word), 0);
    }
    return addr;
}

static void check_moved_values(struct as *as, uint64_t addr)
{
    for (uint64_t i = 0; i < MOVED; i++) {
        uint64_t word = 0;

        CHECK_EQ(access_word(as, addr + i * PAGE_SIZE, FAULT_READ, &word), 0);
        CHECK_EQ(word, i + 1);
    }
}

/* mremap() runs out of memory at each of its allocations, for 1 to 4 in a row: the mapping moves, or stays whole. */
TEST(a_mapping_that_cannot_move_stays_whole)
{
    uint64_t frames;
    unsigned failed = 0;

    boot();
    frames = free_frames() + vm_cached_tables();
    for (unsigned times = 1; times <= 4; times++) {
        for (unsigned after = 1;; after++) {
            struct as *as, *child;
            uint64_t addr = space_to_move(&as, &child, 150), to = addr + MOVED * PAGE_SIZE;
            int err;

            fail_after = after;
            fail_times = times;
            err = as_remap(as, addr, MOVED * PAGE_SIZE, MOVED * PAGE_SIZE, 3, &to);
            CHECK(err == 0 || err == -ENOMEM);
            if (err != 0)
                to = addr;
            failed += err != 0;
            fail_after = 0;
            err = fail_times == times;
            fail_times = 0;
            check_moved_values(as, to);
            check_moved_values(child, addr);
            CHECK_EQ(as->segs.count, 1);
            CHECK_EQ(as->anon.npages, MOVED);
            as_release(child);
            as_release(as);
            if (err != 0) /* no allocation has failed: that was the last one */
                break;
        }
    }
    CHECK(failed > 100);
    CHECK(naps != 0);
    CHECK_EQ(free_frames() + vm_cached_tables(), frames);
}

/* The process is killed while its pages cannot move back: it ends, and nothing is left behind. */
TEST(a_process_that_ends_drops_the_pages_that_cannot_move_back)
{
    struct as *as, *child;
    uint64_t frames, addr, to;

    boot();
    frames = free_frames() + vm_cached_tables();
    addr = space_to_move(&as, &child, 150);
    to = addr + MOVED * PAGE_SIZE;
    ending = true;
    fail_after = 10;
    fail_times = 1000;
    CHECK_EQ(as_remap(as, addr, MOVED * PAGE_SIZE, MOVED * PAGE_SIZE, 3, &to), -ENOMEM);
    fail_after = fail_times = 0;
    ending = false;
    as_release(child);
    as_release(as);
    CHECK_EQ(free_frames() + vm_cached_tables(), frames);
}

/* The new segment lies next to the old one, in a space that may have no more segments. */
TEST(a_mapping_moves_in_a_space_full_of_segments)
{
    uint32_t most = max_map_count;
    struct as *as, *child;
    uint64_t addr, to;

    boot();
    addr = space_to_move(&as, &child, MOVED);
    to = addr + MOVED * PAGE_SIZE;
    max_map_count = 1;
    CHECK_EQ(as_remap(as, addr, MOVED * PAGE_SIZE, MOVED * PAGE_SIZE, 3, &to), 0);
    max_map_count = most;
    check_moved_values(as, to);
    CHECK_EQ(as->segs.count, 1);
    as_release(child);
    as_release(as);
}

static unsigned lgrp_at(struct as *as, uint64_t addr)
{
    struct as_page_info info;

    as_query(as, &addr, 1, &info);
    CHECK(info.present);
    return info.lgrp;
}

TEST(first_touch_is_home)
{
    uint64_t addr = 0, word;
    struct as *as;

    boot();
    as = as_create();
    CHECK_EQ(as_map(as, &addr, 8 * PAGE_SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 0, NULL, 0), 0);
    for (unsigned i = 0; i < 8; i++) { /* a read places the page, too */
        thread0.lg.home = thread0.lg.touch = (uint8_t)(i % NODES);
        CHECK_EQ(access_word(as, addr + i * PAGE_SIZE, i < 4 ? FAULT_READ : FAULT_WRITE, &word), 0);
    }
    for (unsigned i = 0; i < 8; i++)
        CHECK_EQ(lgrp_at(as, addr + i * PAGE_SIZE), i % NODES);
    as_release(as);
}

TEST(next_touch_moves_pages)
{
    uint64_t addr = 0, word;
    uint64_t before[2] = {lgrp_counters[2].v[LGRP_STAT_MIGR_FROM],
                          lgrp_counters[3].v[LGRP_STAT_MIGR_TO]};
    uint64_t marked = lgrp_counters[2].v[LGRP_STAT_MARKED];
    struct as *as, *child;

    boot();
    as = as_create();
    CHECK_EQ(as_map(as, &addr, 6 * PAGE_SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 0, NULL, 0), 0);
    thread0.lg.home = thread0.lg.touch = 2;
    for (uint64_t i = 0; i < 6; i++) {
        word = i + 100;
        CHECK_EQ(access_word(as, addr + i * PAGE_SIZE, FAULT_WRITE, &word), 0);
    }
    child = as_fork(as); /* shared pages move for both spaces */
    CHECK_EQ(as_advise(as, addr, 4 * PAGE_SIZE, HR_MADV_ACCESS_LWP), 0);
    CHECK_EQ(lgrp_counters[2].v[LGRP_STAT_MARKED] - marked, 4);
    CHECK_EQ(as->segs.count, 2);
    thread0.lg.home = thread0.lg.touch = 3;
    for (uint64_t i = 0; i < 6; i++) {
        CHECK_EQ(access_word(child, addr + i * PAGE_SIZE, FAULT_READ, &word), 0);
        CHECK_EQ(word, i + 100);
        CHECK_EQ(access_word(as, addr + i * PAGE_SIZE, FAULT_READ, &word), 0);
        CHECK_EQ(word, i + 100);
        CHECK_EQ(lgrp_at(as, addr + i * PAGE_SIZE), i < 4 ? 3 : 2);
        CHECK_EQ(lgrp_at(child, addr + i * PAGE_SIZE), i < 4 ? 3 : 2);
    }
    CHECK_EQ(lgrp_counters[2].v[LGRP_STAT_MIGR_FROM] - before[0], 4);
    CHECK_EQ(lgrp_counters[3].v[LGRP_STAT_MIGR_TO] - before[1], 4);
    CHECK_EQ(as_advise(as, addr, 6 * PAGE_SIZE, HR_MADV_ACCESS_DEFAULT), 0);
    CHECK_EQ(as->segs.count, 1); /* equal neighbours are joined again */
    as_release(child);
    as_release(as);
}

static struct {
    struct anon_family *family;
    struct page *from, *to;
} move;

static void *mover(void *unused)
{
    page_replace_unlock((struct page_owner){NULL, move.family}, move.from, move.to,
                        PG_ANON | PG_PRIVATE | PG_UPTODATE);
    return unused;
}

/*
 * A page that parent and child share moves, or returns from swap.  When only the parent maps the new frame, the parent
 * must not count as the only sharer: it would store into the page that the child gets a moment later.
 */
static uint64_t users; /* lgroups of the threads of the process */

/* Samples all pages of the space; then a thread at home in `home` touches `n` pages at `addr`. */
static void sample_and_touch(struct as *as, unsigned home, uint64_t addr, unsigned n)
{
    static uint64_t cpu_ns;
    uint64_t word;

    cpu_ns += 20000000000;
    observe_as(as, cpu_ns, users);
    thread0.lg.home = thread0.lg.touch = (uint8_t)home;
    for (unsigned i = 0; i < n; i++) {
        CHECK_EQ(access_word(as, addr + i * PAGE_SIZE, FAULT_READ, &word), 0);
        CHECK_EQ(word, 100 + i);
    }
}

/* The number of pages of [addr, addr + n pages) in an lgroup. */
static unsigned pages_in(struct as *as, uint64_t addr, unsigned n, unsigned lgrp)
{
    unsigned in = 0;

    for (unsigned i = 0; i < n; i++)
        in += lgrp_at(as, addr + i * PAGE_SIZE) == lgrp;
    return in;
}

TEST(sampled_pages_move_to_their_user)
{
    enum { N = 100 };
    uint64_t addr = 0, advised, locked, frames;
    struct as *as;
    int64_t rss;

    boot();
    room = false;
    users = 1;
    frames = free_frames() + vm_cached_tables();
    as = as_create();
    CHECK_EQ(as_map(as, &addr, 3 * N * PAGE_SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 0, NULL, 0),
             0);
    advised = addr + N * PAGE_SIZE;
    locked = advised + N * PAGE_SIZE;
    CHECK_EQ(as_advise(as, advised, N * PAGE_SIZE, HR_MADV_ACCESS_MANY), 0);
    thread0.lg.home = thread0.lg.touch = 2;
    for (uint64_t i = 0; i < 3 * N; i++) {
        uint64_t word = 100 + i % N;

        CHECK_EQ(access_word(as, addr + i * PAGE_SIZE, FAULT_WRITE, &word), 0);
    }
    CHECK_EQ(as_mlock(as, locked, N * PAGE_SIZE, true, UINT64_MAX), 0);
    observe_as(as, 1, users);
    CHECK(as->observed == NULL); /* too little CPU time */
    sample_and_touch(as, 3, addr, N);
    CHECK(as->observed != NULL);
    rss = as->rss_pages;
    sample_and_touch(as, 3, addr, N);
    CHECK_EQ(pages_in(as, addr, N, 2), N); /* one sample is not enough */
    CHECK_EQ(as->rss_pages, rss);
    sample_and_touch(as, 3, addr, N);
    CHECK_EQ(pages_in(as, addr, N, 3), N);
    sample_and_touch(as, 0, addr, N);
    CHECK_EQ(pages_in(as, addr, N, 3), N);
    sample_and_touch(as, 0, addr, N); /* another phase of the program */
    CHECK_EQ(pages_in(as, addr, N, 0), N);
    for (unsigned turn = 0; turn < 6; turn++) {
        sample_and_touch(as, 1, advised, N);
        sample_and_touch(as, 1, locked, N);
        sample_and_touch(as, turn % 2, addr, N);
    }
    CHECK_EQ(pages_in(as, addr, N, 0), N); /* two users in turn: the pages stay */
    CHECK(pages_in(as, advised, N, 1) < N / 2);
    CHECK_EQ(pages_in(as, locked, N, 2), N);
    users = thread_proc.bitmap; /* now lgroup 0 is hot: its shared pages are spread, once */
    for (unsigned turn = 0; turn < 4; turn++)
        sample_and_touch(as, turn % 2, addr, N);
    for (unsigned g = 0; g < NODES; g++)
        CHECK(pages_in(as, addr, N, g) > N / NODES / 3);
    as_release(as);
    CHECK_EQ(free_frames() + vm_cached_tables(), frames);
}

TEST(a_frame_has_all_its_sharers_before_one_can_store_into_it)
{
    uint64_t addr = 0, word = 5;
    struct as *as, *child;
    struct spinlock *l;
    pthread_t thread;

    boot();
    as = as_create();
    CHECK_EQ(as_map(as, &addr, PAGE_SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 0, NULL, 0), 0);
    CHECK_EQ(access_word(as, addr, FAULT_WRITE, &word), 0);
    child = as_fork(as);
    CHECK_EQ(as_advise(as, addr, PAGE_SIZE, HR_MADV_ACCESS_LWP), 0); /* no translation is left */
    move.family = as->anon.family;
    move.from = radix_lookup(&as->anon.tree, addr >> PAGE_SHIFT);
    move.to = page_alloc(0, 0, 0);
    page_copy(move.to, move.from, 0);
    page_hold(move.to);
    atomic_fetch_or(&move.from->flags, PG_LOCKED);
    page_hold(move.from); /* the reference of the mover */
    page_hold(move.from);
    l = &child->anon.lock;
    /* another thread holds the child's lock, so the mover stops there */
    atomic_fetch_add(&l->next, 1);
    CHECK_EQ(pthread_create(&thread, NULL, mover, NULL), 0);
    while (atomic_load(&l->next) != (uint16_t)(l->owner + 2))
        ;
    CHECK(radix_lookup(&as->anon.tree, addr >> PAGE_SHIFT) == move.to);
    CHECK(radix_lookup(&child->anon.tree, addr >> PAGE_SHIFT) == move.from);
    CHECK_EQ(atomic_load(&move.to->nsharers), 2);
    atomic_fetch_add(&l->owner, 1);
    pthread_join(thread, NULL);
    CHECK(radix_lookup(&child->anon.tree, addr >> PAGE_SHIFT) == move.to);
    CHECK_EQ(atomic_load(&move.to->nsharers), 2);
    CHECK_EQ(atomic_load(&move.from->nsharers), 0);
    CHECK_EQ(atomic_load(&move.from->flags) & PG_LOCKED, 0);
    page_release(move.from);
    page_release(move.to);
    word = 6;
    CHECK_EQ(access_word(as, addr, FAULT_WRITE, &word), 0);
    CHECK_EQ(access_word(child, addr, FAULT_READ, &word), 0);
    CHECK_EQ(word, 5);
    as_release(child);
    as_release(as);
}

/* Each page of an object is mapped by another segment: only this one is looked at. */
TEST(a_page_leads_to_its_own_mappings)
{
    enum { MANY = 64 };
    struct vm_object *o;
    struct tlb_batch b;
    uint64_t word;
    struct as *as;

    boot();
    o = object_create_anon(MANY, false);
    as = as_create();
    for (uint64_t i = 0; i < MANY; i++) { /* not in order, so that no two are joined */
        uint64_t addr = 0x100000 + (MANY - i) * PAGE_SIZE;

        CHECK_EQ(as_map(as, &addr, PAGE_SIZE, 3, MAP_SHARED | MAP_FIXED, o, i * PAGE_SIZE, NULL, 0),
                 0);
        CHECK_EQ(access_word(as, addr, FAULT_READ, &word), 0);
    }
    CHECK_EQ(as->segs.count, MANY);
    tlb_batch_init(&b);
    for (uint64_t i = 0; i < MANY; i++) {
        struct page *pg = radix_lookup(&o->tree, i);

        CHECK_EQ(atomic_load(&pg->mapcount), 1);
        spin_lock(&o->lock);
        CHECK_EQ(rmap_unmap(page_owner_of(o), pg, &b), 1);
        spin_unlock(&o->lock);
        CHECK_EQ(atomic_load(&pg->mapcount), 0);
    }
    tlb_batch_flush(&b);
    as_release(as);
    object_release(o);
}

/* Pageout has put the space into a batch, and it ends before the flush: only the struct stays until then. */
TEST(the_last_user_gives_the_memory_back)
{
    enum { N = 32 };
    uint64_t addr = 0, word = 1, frames, promised, limit, before;
    struct tlb_batch b;
    struct page *pg;
    struct as *as;

    boot();
    start();
    frames = free_frames() + vm_cached_tables();
    reserve_state(&before, &limit);
    as = as_create();
    CHECK_EQ(as_map(as, &addr, N * PAGE_SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 0, NULL, 0), 0);
    for (uint64_t i = 0; i < N; i++)
        CHECK_EQ(access_word(as, addr + i * PAGE_SIZE, FAULT_WRITE, &word), 0);
    CHECK_EQ(as_mlock(as, addr + PAGE_SIZE, PAGE_SIZE, true, UINT64_MAX), 0);
    CHECK_EQ(locked_total, 1);
    tlb_batch_init(&b);
    pg = radix_lookup(&as->anon.tree, addr >> PAGE_SHIFT);
    spin_lock(&as->anon.family->lock);
    rmap_unmap((struct page_owner){.family = as->anon.family}, pg, &b);
    spin_unlock(&as->anon.family->lock);
    CHECK_EQ(b.n, 1);
    as_hold(as);
    as_release(as);
    CHECK_EQ(as_has_ended(as), false);
    as_release(as);
    CHECK_EQ(as_has_ended(as), true);
    CHECK_EQ(as->segs.count, 0);
    CHECK_EQ(free_frames() + vm_cached_tables(), frames);
    reserve_state(&promised, &limit);
    CHECK_EQ(promised, before);
    CHECK_EQ(locked_total, 0);
    CHECK(as_next(NULL) == as);
    CHECK(as_next(as) == NULL);
    as_unpin(as);
    tlb_batch_flush(&b);
    CHECK(as_next(NULL) == NULL);
    for (unsigned i = 0; i < NSHARED; i++)
        object_release(shm[i]);
}

/*
 * Pageout has emptied the entry of a file's page and has not flushed yet, so another CPU may still read this page.  A
 * thread that now makes a private copy must flush before it stores into the copy.
 */
TEST(a_private_copy_flushes_a_page_that_is_on_its_way_out)
{
    static struct cpu_counted other;
    uint64_t addr = 0, word = 1, flushes;
    struct tlb_batch b;
    struct page *pg;
    struct as *as;

    boot();
    start();
    as = as_create();
    CHECK_EQ(as_map(as, &addr, PAGE_SIZE, 3, MAP_PRIVATE, &file, 0, NULL, 0), 0);
    CHECK_EQ(access_word(as, addr, FAULT_READ, &word), 0);
    CHECK_EQ(word, 0);
    cpus[1] = &other.cpu;
    vm_cpu_init(cpus[1]); /* it is lazy, so it gets no interrupt */
    cpumask_set_atomic(&as->cpus, 1);
    tlb_batch_init(&b);
    pg = radix_lookup(&file.tree, 0);
    spin_lock(&file.lock);
    rmap_unmap(page_owner_of(&file), pg, &b);
    spin_unlock(&file.lock);
    flushes = as->tlb_gen;
    word = 2;
    CHECK_EQ(access_word(as, addr, FAULT_WRITE, &word), 0);
    CHECK_EQ(as->tlb_gen, flushes + 1);
    cpumask_clear_atomic(&as->cpus, 1);
    tlb_batch_flush(&b);
    kmem_free(cpus[1]->vm);
    cpus[1] = NULL;
    as_release(as);
    object_truncate(&file, 0);
    for (unsigned i = 0; i < NSHARED; i++)
        object_release(shm[i]);
}

TEST(huge_pages)
{
    uint64_t addr = 0, word = 77, frames;
    struct as *as, *child;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << 26;

    boot();
    frames = free_frames() + vm_cached_tables();
    as = as_create();
    CHECK_EQ(as_map(as, &addr, 3 * HUGE_SIZE, 3, flags, NULL, 0, NULL, 0), 0);
    CHECK_EQ(addr % HUGE_SIZE, 0);
    for (unsigned i = 0; i < 3; i++) {
        thread0.lg.home = thread0.lg.touch = (uint8_t)(i + 1);
        CHECK_EQ(access_word(as, addr + i * HUGE_SIZE + 0x5008, FAULT_WRITE, &word), 0);
        CHECK_EQ(lgrp_at(as, addr + i * HUGE_SIZE), i + 1);
    }
    CHECK_EQ(as->rss_pages, 3 * 512);
    child = as_fork(as);
    word = 78;
    CHECK_EQ(access_word(child, addr + 0x5008, FAULT_WRITE, &word), 0);
    CHECK_EQ(access_word(as, addr + 0x5008, FAULT_READ, &word), 0);
    CHECK_EQ(word, 77);
    CHECK_EQ(as_unmap(as, addr, PAGE_SIZE), -EINVAL);
    thread0.lg.home = thread0.lg.touch = 0;
    CHECK_EQ(as_advise(as, addr + HUGE_SIZE, HUGE_SIZE, HR_MADV_ACCESS_LWP), 0);
    CHECK_EQ(access_word(as, addr + HUGE_SIZE + 0x5008, FAULT_READ, &word), 0);
    CHECK_EQ(word, 77);
    CHECK_EQ(lgrp_at(as, addr + HUGE_SIZE), 0);
    CHECK_EQ(as_unmap(as, addr, HUGE_SIZE), 0);
    as_release(child);
    as_release(as);
    CHECK_EQ(free_frames() + vm_cached_tables(), frames);
}

TEST(huge_pages_shared)
{
    uint64_t addr = 0, word = 5, frames;
    int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB;
    struct as *as, *child;

    boot();
    frames = free_frames() + vm_cached_tables();
    as = as_create();
    CHECK_EQ(as_map(as, &addr, 2 * HUGE_SIZE, 3, flags, NULL, 0, NULL, 0), 0);
    child = as_fork(as);
    thread0.lg.home = thread0.lg.touch = 1;
    CHECK_EQ(access_word(child, addr + HUGE_SIZE + 0x7000, FAULT_WRITE, &word), 0);
    CHECK_EQ(access_word(as, addr + HUGE_SIZE + 0x7000, FAULT_READ, &word), 0);
    CHECK_EQ(word, 5);
    CHECK_EQ(lgrp_at(as, addr + HUGE_SIZE), 1);
    thread0.lg.home = thread0.lg.touch = 2;
    CHECK_EQ(as_advise(as, addr, 2 * HUGE_SIZE, HR_MADV_ACCESS_LWP), 0);
    CHECK_EQ(access_word(child, addr + HUGE_SIZE + 0x7000, FAULT_READ, &word), 0);
    CHECK_EQ(word, 5);
    CHECK_EQ(lgrp_at(child, addr + HUGE_SIZE), 2);
    as_release(as);
    CHECK_EQ(access_word(child, addr + HUGE_SIZE + 0x7000, FAULT_READ, &word), 0);
    CHECK_EQ(word, 5);
    as_release(child);
    CHECK_EQ(free_frames() + vm_cached_tables(), frames);
}

TEST(stack_grows_to_its_limit)
{
    uint64_t addr = 0x7ffffff00000, word = 1;
    struct as *as;
    struct as_limits lim = {UINT64_MAX, UINT64_MAX, 64 * PAGE_SIZE};
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED;

    boot();
    as = as_create();
    as_set_limits(as, &lim);
    CHECK_EQ(as_map(as, &addr, 4 * PAGE_SIZE, 3, flags, NULL, 0, NULL, 0), 0);
    CHECK_EQ(access_word(as, addr - 60 * PAGE_SIZE, FAULT_WRITE, &word), 0);
    CHECK_EQ(access_word(as, addr - 61 * PAGE_SIZE, FAULT_WRITE, &word), 11);
    CHECK_EQ(as->stack_pages, 64);
    as_release(as);
}

TEST(heap)
{
    uint64_t word = 9, frames;
    struct as *as;

    boot();
    frames = free_frames() + vm_cached_tables();
    as = as_create();
    as_brk_init(as, 0x500123);
    CHECK_EQ(as_brk(as, 0), 0x500123);
    CHECK_EQ(as_brk(as, 0x510000), 0x510000);
    CHECK_EQ(access_word(as, 0x50f000, FAULT_WRITE, &word), 0);
    CHECK_EQ(as_brk(as, 0x520010), 0x520010);
    CHECK_EQ(as->segs.count, 1);
    CHECK_EQ(as_brk(as, 0x500200), 0x500200);
    CHECK_EQ(access_word(as, 0x50f000, FAULT_WRITE, &word), 11);
    CHECK_EQ(as_brk(as, 0x400000), 0x500200);
    as_release(as);
    CHECK_EQ(free_frames() + vm_cached_tables(), frames);
}

/* MADV_DONTDUMP: kept by fork and mremap, not by the part by which the heap grows; undone by MADV_DODUMP. */
TEST(left_out_of_core_files)
{
    enum { DONTDUMP = 16, DODUMP = 17 };
    uint64_t addr = 0, to, huge = 0;
    struct seg_info part;
    struct as *as, *child;

    boot();
    as = as_create();
    CHECK_EQ(as_map(as, &addr, 6 * PAGE_SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 0, NULL, 0), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(as_advise(as, addr + PAGE_SIZE, 2 * PAGE_SIZE, DONTDUMP), 0);
        CHECK_EQ(as->segs.count, 3);
    }
    child = as_fork(as);
    CHECK_EQ(as_next_seg(child, addr + PAGE_SIZE, &part), 0);
    CHECK_EQ(part.start, addr + PAGE_SIZE);
    CHECK_EQ(part.end, addr + 3 * PAGE_SIZE);
    CHECK_EQ(part.nodump, true);
    CHECK_EQ(as_advise(child, addr, 6 * PAGE_SIZE, DODUMP), 0);
    CHECK_EQ(child->segs.count, 1);
    to = addr + 64 * PAGE_SIZE;
    CHECK_EQ(as_remap(as, addr + PAGE_SIZE, 2 * PAGE_SIZE, 2 * PAGE_SIZE, 3, &to), 0);
    CHECK_EQ(as_next_seg(as, to, &part), 0);
    CHECK_EQ(part.start, to);
    CHECK_EQ(part.nodump, true);

    as_brk_init(as, 0x500000);
    CHECK_EQ(as_brk(as, 0x510000), 0x510000);
    CHECK_EQ(as_advise(as, 0x500000, 0x10000, DONTDUMP), 0);
    CHECK_EQ(as_brk(as, 0x520000), 0x520000);
    CHECK_EQ(as_next_seg(as, 0x510000, &part), 0);
    CHECK_EQ(part.start, 0x510000);
    CHECK_EQ(part.nodump, false);

    CHECK_EQ(as_map(as, &huge, 2 * HUGE_SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, NULL, 0,
                    NULL, 0),
             0);
    CHECK_EQ(as_advise(as, huge, PAGE_SIZE, DONTDUMP), -EINVAL);
    CHECK_EQ(as_advise(as, huge + HUGE_SIZE, HUGE_SIZE, DONTDUMP), 0);
    CHECK_EQ(as_next_seg(as, huge, &part), 0);
    CHECK_EQ(part.nodump, false);
    as_release(child);
    as_release(as);
}
