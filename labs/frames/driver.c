// SPDX-License-Identifier: MIT
/*
 * driver.c - the lab "frames": a machine whose frames the grader gives to nodes, takes and frees.
 *
 * THEORY      There are descriptors for FRAMES frames, and no memory behind them: allocations have
 *             ALLOC_WHOLE, so that the kernel does not write to the frames.  A block is the number of its
 *             first frame; NONE is no block.
 */
#include "labs/frames/floor.h"
#include "labs/sandbox.h"
#include "tests/host/machine.h"

#include "lib/cpu.h"
#include "mem/buddy.h"
#include "mem/magazine.h"
#include "stat/cpustat.h"

#define NONE (~0ull)
enum { FRAMES = 32 << MAX_ORDER, CPUS = 16, COLORS = 32 };

static struct cpu_counted running; /* the CPU that runs: a copy of one of cpu[] */
static struct cpu cpu[CPUS];
static struct mem_cpu magazines[CPUS];
static struct list bins[NODE_MAX][COLORS];

static void answer_frame(const struct page *pg)
{
    sandbox_answer(pg != NULL ? (uint64_t)(pg - vmemmap) : NONE);
}

/* A number of the grader, which stays within an array. */
static struct page *frame_at(uint64_t pfn)
{
    return vmemmap + pfn % FRAMES;
}

static struct mem_node *node_at(uint64_t node)
{
    return &mem_nodes[node % NODE_MAX];
}

/* ---- the machine ---- */

/* cpus: the node of each CPU.  The first one runs. */
static void set_cpus(const uint64_t *arg, size_t n)
{
    ncpu = (unsigned)min_of(n, (size_t)CPUS);
    for (unsigned i = 0; i < ncpu; i++) {
        cpu[i] =
            (struct cpu){.self = &cpu[i], .id = i, .node = (uint32_t)arg[i], .mem = &magazines[i]};
        cpus[i] = &cpu[i];
    }
}

/* run: the test continues on this CPU. */
static void run_on(const uint64_t *arg, size_t n)
{
    running.cpu = cpu[arg[0] % CPUS];
    running.cpu.self = &running.cpu;
}

/* near: a node, then the nodes to which it falls back. */
static void set_near(const uint64_t *arg, size_t n)
{
    struct mem_node *node = node_at(arg[0]);

    nnodes = max_of(nnodes, (unsigned)arg[0] + 1);
    node->nnear = 0;
    for (size_t i = 1; i < n; i++)
        node->near[node->nnear++] = (uint8_t)arg[i];
}

/* low: a node, and how many free frames are few. */
static void set_low(const uint64_t *arg, size_t n)
{
    node_at(arg[0])->low_pages = arg[1];
}

static void give_locked(struct mem_node *node, struct page *pg, unsigned order)
{
    spin_lock(&node->lock);
    block_give(node, pg, order);
    spin_unlock(&node->lock);
}

/* add: a node, then blocks that it gets at boot: order, frame. */
static void add(const uint64_t *arg, size_t n)
{
    for (size_t i = 1; i + 1 < n; i += 2) {
        unsigned order = (unsigned)arg[i];

        for (unsigned k = 0; k < 1u << order; k++)
            clear_descriptor(frame_at(arg[i + 1]) + k);
        give_locked(node_at(arg[0]), frame_at(arg[i + 1]), order);
    }
}

/*
 * add_fresh: a node, a block of MAX_ORDER as page_boot.c gives it, then orders.  The descriptors behind the
 * head contain these orders in turn, as if they were heads of free blocks.
 */
static void add_fresh(const uint64_t *arg, size_t n)
{
    struct page *head = frame_at(arg[1]);

    for (unsigned i = 1; i < 1u << MAX_ORDER; i++) {
        head[i] = (struct page){.flags = PG_FREE,
                                .node = (uint8_t)arg[0],
                                .order = (uint8_t)arg[2 + i % (n - 2)],
                                .no_code = true};
        list_init(&head[i].link);
    }
    clear_descriptor(head);
    give_locked(node_at(arg[0]), head, MAX_ORDER);
    head->flags |= PG_HEAD_ONLY;
}

/* colors: from now on each node has bins. */
static void set_colors(const uint64_t *arg, size_t n)
{
    page_colors = COLORS;
    for (unsigned node = 0; node < nnodes; node++) {
        mem_nodes[node].bin = bins[node];
        for (unsigned i = 0; i < COLORS; i++)
            list_init(&bins[node][i]);
    }
}

/* ---- the student's code ---- */

/* take: node, order, how many.  Answers for each: the block, and the flags of its head. */
static void take(const uint64_t *arg, size_t n)
{
    struct mem_node *node = node_at(arg[0]);

    for (uint64_t i = 0; i < arg[2]; i++) {
        struct page *pg;

        spin_lock(&node->lock);
        pg = block_take(node, (unsigned)arg[1]);
        spin_unlock(&node->lock);
        answer_frame(pg);
        sandbox_answer(pg != NULL ? pg->flags : 0);
    }
}

/* give: a node, then order and frame of each block. */
static void give(const uint64_t *arg, size_t n)
{
    for (size_t i = 1; i + 1 < n; i += 2)
        give_locked(node_at(arg[0]), frame_at(arg[i + 1]), (unsigned)arg[i]);
}

/* fill: a CPU.  Answers what magazine_fill() returns. */
static void fill(const uint64_t *arg, size_t n)
{
    bool filled;

    floor_forget();
    irq_push();
    filled = magazine_fill(&magazines[arg[0] % CPUS], cpu[arg[0] % CPUS].node);
    irq_pop();
    sandbox_answer(filled);
}

/* drain: a CPU, and how many frames to keep. */
static void drain(const uint64_t *arg, size_t n)
{
    floor_forget();
    irq_push();
    magazine_drain(&magazines[arg[0] % CPUS], cpu[arg[0] % CPUS].node, (unsigned)arg[1]);
    irq_pop();
}

/* push: frames that the CPU that runs puts into its magazine. */
static void push(const uint64_t *arg, size_t n)
{
    irq_push();
    for (size_t i = 0; i < n; i++)
        magazine_push(running.cpu.mem, running.cpu.node, frame_at(arg[i]));
    irq_pop();
}

static void answer_block(const struct page *pg)
{
    answer_frame(pg);
    sandbox_answer(pg != NULL ? pg->node : NONE);
}

/* alloc: node, order, flags, how many.  Answers for each: the block, and the node in its descriptor. */
static void alloc(const uint64_t *arg, size_t n)
{
    floor_forget();
    for (uint64_t i = 0; i < arg[3]; i++)
        answer_block(
            page_alloc((unsigned)arg[0], (unsigned)arg[1], (unsigned)arg[2] | ALLOC_WHOLE));
}

/* colored: node, color.  Answers as alloc. */
static void alloc_colored(const uint64_t *arg, size_t n)
{
    answer_block(page_alloc_colored((unsigned)arg[0], (unsigned)arg[1] % COLORS,
                                    ALLOC_STRICT | ALLOC_WHOLE));
}

/* free: blocks that were allocated. */
static void free_blocks(const uint64_t *arg, size_t n)
{
    floor_forget();
    for (size_t i = 0; i < n; i++)
        page_free(frame_at(arg[i]));
}

/* ---- what is to be seen ---- */

/* lists: of a node.  Answers for each order: the number of blocks, then frame, flags, node, order of each. */
static void lists(const uint64_t *arg, size_t n)
{
    struct mem_node *node = node_at(arg[0]);

    for (unsigned o = 0; o <= MAX_ORDER; o++) {
        const struct page *pg;
        uint64_t count = 0, most;

        LIST_FOREACH (pg, &node->free[o], link)
            if (++count == FRAMES) /* a list without an end */
                break;
        sandbox_answer(most = count);
        count = 0;
        LIST_FOREACH (pg, &node->free[o], link) {
            if (count++ == most)
                break;
            answer_frame(pg);
            sandbox_answer(pg->flags);
            sandbox_answer(pg->node);
            sandbox_answer(pg->order);
        }
    }
}

/* dirty: order, block.  Answers the frames of the block whose descriptors are not as clear_descriptor() leaves them. */
static void dirty(const uint64_t *arg, size_t n)
{
    const struct page *pg = frame_at(arg[1]);

    for (unsigned i = 0; i < 1u << arg[0]; i++)
        if (pg[i].flags != 0 || pg[i].no_code)
            answer_frame(&pg[i]);
}

/* state: of a node.  Answers free_mask, nfree_pages, nbinned, then the counts local, fallback, foreign. */
static void state(const uint64_t *arg, size_t n)
{
    const struct mem_node *node = node_at(arg[0]);
    struct mem_counts c;

    mem_node_counts((unsigned)(node - mem_nodes), &c);
    sandbox_answer(node->free_mask);
    sandbox_answer(node->nfree_pages);
    sandbox_answer(node->nbinned);
    sandbox_answer(c.local);
    sandbox_answer(c.fallback);
    sandbox_answer(c.foreign);
}

/* magazine: of a CPU.  Answers its frames, the next one to be taken last. */
static void magazine(const uint64_t *arg, size_t n)
{
    const struct mem_cpu *m = &magazines[arg[0] % CPUS];

    for (unsigned i = 0; i < m->npages && i < PAGE_MAG; i++)
        answer_frame(m->page[i]);
}

/*
 * locks: of the last operation.  Answers irq_push() calls without irq_pop(), the most locks held at once, how many were
 * taken while interrupts were on, then for each node: how often its lock was taken; the changes under it: of
 * nfree_pages, of the counts.
 */
static void locks(const uint64_t *arg, size_t n)
{
    sandbox_answer(running.cpu.nlock);
    sandbox_answer(floor_record.held_most);
    sandbox_answer(floor_record.uncovered);
    for (unsigned i = 0; i < nnodes; i++) {
        sandbox_answer(floor_record.node[i].holds);
        sandbox_answer(floor_record.node[i].frames);
        sandbox_answer(floor_record.node[i].allocs);
    }
}

/* ---- the floor ---- */

void sandbox_prepare(void)
{
    static const struct machine_ops none;

    machine_start(&running, &none);
    machine_map(VMEMMAP_BASE, FRAMES * sizeof(struct page));
    running.cpu.self = &running.cpu;
    for (unsigned i = 0; i < NODE_MAX; i++)
        buddy_init(&mem_nodes[i]);
}

const struct sandbox_op sandbox_ops[] = {{"cpus", set_cpus},
                                         {"run", run_on},
                                         {"near", set_near},
                                         {"low", set_low},
                                         {"add", add},
                                         {"add_fresh", add_fresh},
                                         {"colors", set_colors},
                                         {"take", take},
                                         {"give", give},
                                         {"fill", fill},
                                         {"drain", drain},
                                         {"push", push},
                                         {"alloc", alloc},
                                         {"colored", alloc_colored},
                                         {"free", free_blocks},
                                         {"lists", lists},
                                         {"dirty", dirty},
                                         {"state", state},
                                         {"magazine", magazine},
                                         {"locks", locks},
                                         {NULL, NULL}};
