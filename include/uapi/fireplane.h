// SPDX-License-Identifier: MIT
/*
 * fireplane.h - the page that the interconnect model shares with the guest, and the doorbell between them.
 *
 * THEORY      The model is a QEMU plugin (qemu/fireplane).  It watches the memory accesses of user programs and
 *             keeps a modelled clock and counters for each CPU.  It publishes them in a shared page, which the
 *             guest sees as the memory BAR (BAR 2) of an ivshmem-plain device, PCI id 1af4:1110.  The guest calls
 *             the model by executing a no-op with a number in it (FP_DOORBELL); the model sees it when the code
 *             is translated and does what is asked before the next instruction.  Arguments and answers are in the
 *             slot of the CPU that rings.  Without the model the no-op does nothing.
 *             Everything is little-endian; every 64-bit word is written whole.
 * INVARIANTS  I1  the model never believes the page: it reads from it only fp_cpu.arg, and checks what it reads
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
#define FP_SHARED_BYTES (1u << 20) /* of the whole page; a PCI BAR is a power of two */
#define FP_MAX_CPUS     256
#define FP_MAX_BOARDS   64

/* The kinds of resource that a transfer may wait for, in the order of fp_cpu.queue_ps. */
enum fp_resource {
    FP_RES_PORT,     /* the CPU's own data port                                          */
    FP_RES_MEMORY,   /* the memory of the home board                                     */
    FP_RES_BUS,      /* the address bus of a snoop domain                                */
    FP_RES_REQUEST,  /* a board's way to or from a high-end server's address crossbar    */
    FP_RES_RESPONSE, /* the same of its response crossbar                                */
    FP_RES_CROSSBAR, /* a board's port on the data crossbar above it, and the queue there */
    FP_RES_COUNT
};

/* At offset 0. */
struct fp_header {
    uint64_t magic;        /* FP_MAGIC once the model has started               */
    uint32_t version;      /* FP_VERSION                                        */
    uint32_t ncpus;        /* CPUs of the machine                               */
    uint32_t nboards;      /* boards (proximity domains)                        */
    uint32_t armed;        /* 1 while user programs are watched                 */
    uint64_t clock_ps;     /* length of a CPU clock                             */
    uint64_t ecache_bytes; /* external cache of each CPU, after scaling         */
    uint64_t accesses;     /* loads and stores watched, all CPUs                */
    uint64_t skew_ps;      /* the furthest a CPU may be ahead of the slowest    */
    uint32_t boards_known; /* boards whose memory was probed                    */
    uint32_t ecache_ways;  /* ways of the external cache                        */
    uint32_t tested;   /* enum fp_tested: has the model counted known work right on this QEMU?  */
    uint32_t disarmed; /* times that it was disarmed: what was measured across one is not whole */
    char params[2048]; /* the model's parameters, "key = value" lines, zero-terminated */
};

enum fp_tested { FP_UNTESTED, FP_PROVEN, FP_BROKEN };

/* What the model counts for a CPU. */
struct fp_counts {
    uint64_t time_ps;                /* modelled clock                                       */
    uint64_t instr;                  /* user instructions                                    */
    uint64_t loads, stores;          /* accesses to memory, cached or not                    */
    uint64_t ec_ref;                 /* references to the external cache (L1 misses)         */
    uint64_t ec_hit;                 /* of those, found there                                */
    uint64_t miss_local;             /* not found; the line's memory is on the CPU's board   */
    uint64_t miss_remote;            /* not found; its memory is on another board            */
    uint64_t load_miss_local;        /* of miss_local, those of loads                        */
    uint64_t load_miss_remote;       /* of miss_remote, those of loads                       */
    uint64_t writeback;              /* lines written to memory                              */
    uint64_t stall_ps;               /* time the CPU waited for memory                       */
    uint64_t fp_stall_ps;            /* time it waited for results of floating-point operations */
    uint64_t queue_ps[FP_RES_COUNT]; /* time transfers waited, by resource              */
};

/* One for each CPU, 512 bytes apart, from FP_CPU_OFFSET. */
#define FP_CPU_OFFSET 4096
#define FP_CPU_STRIDE 512
struct fp_cpu {
    struct fp_counts counts; /* published at doorbells, and at least once per quantum while armed */
    uint32_t board;          /* the CPU's board                                               */
    uint32_t active;         /* 1 while the CPU holds the others' clocks back                  */
    uint64_t ret[2];         /* the model's answer to the last doorbell                        */
    uint64_t arg[4];         /* written by the guest before it rings                           */
};
#define FP_CPU(base, i) ((struct fp_cpu *)((char *)(base) + FP_CPU_OFFSET + (i) * FP_CPU_STRIDE))

/* Bytes moved from board i's memory or caches to board j's CPUs, and back: uint64_t [from][to], FP_MAX_BOARDS a row. */
#define FP_TRAFFIC_OFFSET (FP_CPU_OFFSET + FP_MAX_CPUS * FP_CPU_STRIDE)
#define FP_TRAFFIC(base)  ((uint64_t(*)[FP_MAX_BOARDS])((char *)(base) + FP_TRAFFIC_OFFSET))

/*
 * ioctl(2) on Homeroom's /dev/fireplane: what one LWP has counted, wherever it ran.  ESRCH: no such process, or no
 * LWP of that id or above; EACCES: another user's.
 */
#define FPIOC_LWP 0x4601
struct fp_lwp {
    int32_t pid;           /* 0: the calling process                             */
    int32_t lwpid;         /* the LWP, or the next one above; set to the one found */
    uint64_t time_ps;      /* out: its modelled clock                            */
    struct fp_counts used; /* out; time_ps: a clock for each instruction, and both stalls */
};

/*
 * The doorbell: `nopl tag(%rax,%rax,1)`, bytes 0f 1f 84 00 and the tag as a 32-bit number.
 * It may be rung from user mode as well (only FP_OP_SWITCH and FP_OP_PROBE have arguments).
 */
#define FP_TAG 0x46500000u
enum fp_op {
    FP_OP_SYNC =
        1, /* publish this CPU's counters now                                                   */
    FP_OP_ARM =
        2, /* watch user programs from now on; all clocks are set to the latest                 */
    FP_OP_DISARM =
        3, /* stop watching, publish every CPU                                                  */
    FP_OP_SWITCH =
        4, /* a thread leaves, another comes.  Misses in flight are waited for and the counters
                         published: counts.time_ps and ret[0] are the leaving thread's time.  Then the
                         clock becomes the latest of itself and arg[0], the coming thread's time.           */
    FP_OP_PROBE =
        5, /* the load that is the next instruction reads guest-physical address arg[0], which is
                         in the range arg[1], arg[2] bytes long, of board arg[3]; ret[0] is 0, or 1 if refused */
    FP_OP_PROVEN =
        6, /* the self-test (user/bench/fptest.c) found the counters right ...                   */
    FP_OP_BROKEN =
        7, /* ... or wrong: QEMU ends.  Only the first of the two counts.                      */
};
#define FP_DOORBELL(op)                                                                            \
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c0" : : "i"(FP_TAG | (op)) : "memory")

#endif
