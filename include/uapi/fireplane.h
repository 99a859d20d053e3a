// SPDX-License-Identifier: MIT
/*
 * fireplane.h - the memory that the interconnect model shares with the guest, and the calls to the model.
 *
 * THEORY      QEMU gives all memory the same latency, so a program on it cannot tell local memory from remote
 *             memory.  The model is a QEMU plugin (qemu/fireplane) that computes how long the accesses of
 *             user programs would take on the real machine.  It keeps a modelled clock and counters for each
 *             CPU, and publishes them in shared memory ("the page").  The guest sees this memory as BAR 2 of an
 *             ivshmem-plain device, PCI id 1af4:1110.  The guest calls the model by a doorbell: a no-op
 *             instruction that contains a number (FP_DOORBELL).  The model finds the doorbell when QEMU translates
 *             the code, and carries out the call before the next instruction runs.  Arguments and results are in
 *             the page, in the slot of the CPU that executes the doorbell.  Without the model the no-op does
 *             nothing.
 *             All numbers are little-endian.  Every 64-bit word is written by one access, so a reader never
 *             sees a word that is written only in part.
 * INVARIANTS  I1  the model does not trust the page: it reads only fp_cpu.arg from the page, and checks each value
 *             I2  all counters only grow while QEMU runs
 * SEE ALSO    docs/fireplane.md, tools/homeroom/fireplane.py (the same layout in Python)
 */
#ifndef UAPI_FIREPLANE_H
#define UAPI_FIREPLANE_H

#include <stdint.h>

#define FP_PCI_VENDOR 0x1af4
#define FP_PCI_DEVICE 0x1110
#define FP_PCI_BAR    2

#define FP_MAGIC        0x454e414c50455246ull /* "FREPLANE" in memory */
#define FP_VERSION      4
#define FP_SHARED_BYTES (1u << 20) /* size of the page; that of a PCI BAR is a power of two */
#define FP_PUBLIC_BYTES                                                                            \
    (1u << 19) /* the part of the page that programs can map; the rest is the kernel's */
#define FP_MAX_CPUS   256
#define FP_MAX_BOARDS 64

/* The kinds of resource for which a transfer can wait; the index of fp_counts.queue_ps. */
enum fp_resource {
    FP_RES_PORT,     /* a CPU's own data port                                            */
    FP_RES_MEMORY,   /* the memory of a board                                            */
    FP_RES_BUS,      /* the address bus of a snoop domain                                */
    FP_RES_REQUEST,  /* a board's link to or from the address crossbar (high-end server) */
    FP_RES_RESPONSE, /* a board's link to or from the response crossbar                  */
    FP_RES_CROSSBAR, /* a board's port on the data crossbar, and the queue behind it     */
    FP_RES_COUNT
};

/* At offset 0. */
struct fp_header {
    uint64_t magic;        /* FP_MAGIC after the model has started              */
    uint32_t version;      /* FP_VERSION                                        */
    uint32_t ncpus;        /* CPUs of the machine                               */
    uint32_t nboards;      /* boards (proximity domains)                        */
    uint32_t armed;        /* 1 while user programs are watched                 */
    uint64_t clock_ps;     /* length of a CPU clock cycle                       */
    uint64_t ecache_bytes; /* external cache of each CPU, after scaling         */
    uint64_t accesses;     /* loads and stores watched, all CPUs                */
    uint64_t skew_ps;      /* most that a CPU can be ahead of the slowest CPU   */
    uint32_t boards_known; /* boards whose memory was probed (FP_OP_PROBE)      */
    uint32_t ecache_ways;  /* ways of the external cache                        */
    uint32_t tested;       /* enum fp_tested: result of the self-test           */
    uint32_t disarmed;     /* counts FP_OP_DISARM, which makes a measurement incomplete */
    char params[2048];     /* the model's parameters, "key = value" lines, NUL-terminated */
    uint64_t heat_every;   /* page heat counts one of so many misses; 0: it counts none */
};

enum fp_tested { FP_UNTESTED, FP_PROVEN, FP_BROKEN };

/* The counters of a CPU. */
struct fp_counts {
    uint64_t time_ps;                /* modelled clock                                       */
    uint64_t instr;                  /* user instructions                                    */
    uint64_t loads, stores;          /* accesses to memory, cached or not                    */
    uint64_t ec_ref;                 /* references to the external cache (L1 misses)         */
    uint64_t ec_hit;                 /* references that found the line in the external cache */
    uint64_t miss_local;             /* misses of lines whose memory is on the CPU's board   */
    uint64_t miss_remote;            /* misses of lines whose memory is on another board     */
    uint64_t load_miss_local;        /* the part of miss_local that loads caused             */
    uint64_t load_miss_remote;       /* the part of miss_remote that loads caused            */
    uint64_t writeback;              /* lines written to memory                              */
    uint64_t stall_ps;               /* time the CPU waited for memory                       */
    uint64_t fp_stall_ps;            /* time it waited for floating-point results            */
    uint64_t queue_ps[FP_RES_COUNT]; /* time its transfers waited for busy resources, by kind */
};

/* The slot of a CPU in the page. */
#define FP_CPU_OFFSET 4096
#define FP_CPU_STRIDE 512
struct fp_cpu {
    struct fp_counts counts; /* as last published: at a doorbell, a pause, the end of a slice */
    uint32_t board;          /* the CPU's board                                               */
    uint32_t active;         /* 1 while other CPUs must not run too far ahead of this CPU     */
    uint64_t ret[2];         /* results of the last doorbell                                  */
    uint64_t arg[4];         /* arguments, which the guest writes before a doorbell           */
};
#define FP_CPU(base, i) ((struct fp_cpu *)((char *)(base) + FP_CPU_OFFSET + (i) * FP_CPU_STRIDE))

/* The traffic table, uint64_t [from][to]: bytes of lines moved from board to board, or within one board. */
#define FP_TRAFFIC_OFFSET (FP_CPU_OFFSET + FP_MAX_CPUS * FP_CPU_STRIDE)
#define FP_TRAFFIC(base)  ((uint64_t(*)[FP_MAX_BOARDS])((char *)(base) + FP_TRAFFIC_OFFSET))

/* The result of FP_OP_HEAT on a CPU: a count for each accessing board.  In the kernel's part of the page. */
#define FP_HEAT(base, cpu) ((uint32_t *)((char *)(base) + FP_PUBLIC_BYTES) + (cpu) * FP_MAX_BOARDS)

/*
 * The file of page heat, if it is on: this header, and from FP_HEAT_OFFSET on a row for each page of guest-physical
 * memory.  A row has a count, uint32_t, for each board: counted misses of this board's CPUs on the page, since the
 * model was armed and the page's frame was allocated.  One of `every` misses is counted.  A count ends at UINT32_MAX.
 */
#define FP_HEAT_MAGIC   0x5441454845474150ull /* "PAGEHEAT" in memory */
#define FP_HEAT_VERSION 1
#define FP_HEAT_OFFSET  4096
struct fp_heat {
    uint64_t magic;   /* FP_HEAT_MAGIC */
    uint32_t version; /* FP_HEAT_VERSION */
    uint32_t nboards; /* counts in a row */
    uint64_t pages;   /* rows */
    uint64_t every;
    uint64_t seed; /* of the choice of misses (qemu/fireplane/heat.c) */
};

/*
 * ioctl(2) on Homeroom's /dev/fireplane: the counters of one LWP, over all CPUs on which it ran.
 * ESRCH: there is no such process, or no LWP with this or a higher id; EACCES: the process is another user's.
 */
#define FPIOC_LWP 0x4601
struct fp_lwp {
    int32_t pid;           /* 0: the calling process                                     */
    int32_t lwpid;         /* in: the lowest id wanted; out: the lowest id from there on */
    uint64_t time_ps;      /* out: its modelled clock                                    */
    struct fp_counts used; /* out; its time_ps: a clock cycle per instruction, plus both stalls */
};

/*
 * The doorbell: `nopl tag(%rax,%rax,1)`, bytes 0f 1f 84 00 and the tag as a 32-bit number.
 * User mode can execute it, too, but the last two do nothing there.  Where a call has arguments, its comment names
 * them.
 */
#define FP_TAG 0x46500000u
enum fp_op {
    /* Publish this CPU's counters now. */
    FP_OP_SYNC = 1,
    /* Watch user programs from now on.  All clocks are set to the latest one. */
    FP_OP_ARM = 2,
    /* Stop watching, and publish the counters of all CPUs. */
    FP_OP_DISARM = 3,
    /*
     * Switch threads: wait for the transfers in flight and publish the counters, so that counts.time_ps and
     * ret[0] are the old thread's time.  arg[0] is the new thread's time.  If it is later than the clock, the
     * clock is set to it.
     */
    FP_OP_SWITCH = 4,
    /*
     * The next instruction is a load from guest-physical address arg[0].  This address lies in a range of board
     * arg[3].  The range starts at address arg[1] and is arg[2] bytes long.  ret[0]: 0; 1: refused.
     */
    FP_OP_PROBE = 5,
    /* The self-test (user/bench/fptest.c) has found the counters correct.  Only the first result counts. */
    FP_OP_PROVEN = 6,
    /* The self-test has found the counters wrong: QEMU ends. */
    FP_OP_BROKEN = 7,
    /* The frames of the arg[1] bytes from guest-physical address arg[0] on are allocated anew: forget their heat. */
    FP_OP_NEW_FRAMES = 8,
    /*
     * Copy the heat of the page at guest-physical address arg[0] to FP_HEAT.  ret[0]: heat_every; 0: heat is off,
     * or there is no such page.
     */
    FP_OP_HEAT = 9,
};
#define FP_DOORBELL(op)                                                                            \
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c0" : : "i"(FP_TAG | (op)) : "memory")

#endif
