// SPDX-License-Identifier: MIT
/*
 * homeroom.h - the part of the system-call interface that Linux does not have.
 *
 * The kernel and user/lib share this file.  Call numbers from 1024 on are Homeroom's own; lower numbers are those
 * of Linux x86-64.  Constants that Solaris documents have Solaris's values.  The MADV_ACCESS_* constants are
 * the exception, because Linux uses their values for other advice.
 *
 * SEE ALSO  docs/syscalls.md; the Solaris 9 manual pages named beside each call.
 */
#ifndef UAPI_HOMEROOM_H
#define UAPI_HOMEROOM_H

#define SYS_meminfo         1024 /* (u64 *in, int naddr, u32 *req, int nreq, u64 *out, u32 *valid) */
#define SYS_gethomelgroup   1025 /* () -> home lgroup id of the caller                           */
#define SYS_getcpuid        1026 /* () -> CPU the caller runs on                                 */
#define SYS_p_online        1027 /* (int cpu, int flag) -> previous state                        */
#define SYS_processor_info  1028 /* (int cpu, struct processor_info *)                           */
#define SYS_processor_bind  1029 /* (int idtype, int id, int cpu, int *old)                      */
#define SYS_pset_create     1030 /* (int *new)                                                   */
#define SYS_pset_destroy    1031 /* (int set)                                                    */
#define SYS_pset_assign     1032 /* (int set, int cpu, int *old, int forced)                     */
/* (int set, int idtype, int id, int *old, int pid); pid != 0: `id` is an LWP of that process */
#define SYS_pset_bind       1033
#define SYS_pset_info       1034 /* (int set, int *type, unsigned *n, int *cpus)                 */
#define SYS_pset_list       1035 /* (int *sets, unsigned *n)                                     */
#define SYS_pset_setattr    1036 /* (int set, unsigned attr)                                     */
#define SYS_pset_getloadavg 1037 /* (int set, unsigned *avg, int n) -> number; 2048 = 1.00       */
#define SYS_pset_getattr    1038 /* (int set, unsigned *attr)                                    */
#define SYS_lgrp            1040 /* (int op, ...): LGRP_OP_* below                               */
#define SYS_memcntl         1041 /* (addr, len, cmd, arg, attr, mask): cmd MC_ADVISE only        */
#define SYS_tunable         1042 /* (int op, const char *name, struct hr_tunable *)              */
#define SYS_priocntl        1043 /* (int idtype, int id, int op, struct hr_pcinfo *)             */
#define SYS_truss           1044 /* (int fd): trace system calls to fd; -1: stop; see below      */
#define SYS_track           1045 /* (int fd): trace LWPs' counters to fd; ENODEV: no model       */

/* meminfo(2): request codes.  The low 16 bits of a request are its argument n. */
#define MEMINFO_VPHYSICAL  0x10000u
#define MEMINFO_VLGRP      0x20000u
#define MEMINFO_VPAGESIZE  0x30000u
#define MEMINFO_VREPLCNT   0x40000u
#define MEMINFO_VREPL      0x50000u
#define MEMINFO_VREPL_LGRP 0x60000u
#define MEMINFO_PLGRP      0x70000u
#define MEMINFO_MASK       0xff0000u
#define MAX_MEMINFO_CNT    256
#define MAX_MEMINFO_REQ    31

/* Advice of madvise(3C) of Solaris 9 12/02, with values that Linux does not use. */
#define HR_MADV_ACCESS_DEFAULT 0x10006
#define HR_MADV_ACCESS_LWP     0x10007
#define HR_MADV_ACCESS_MANY    0x10008
#define MC_ADVISE              4

/* p_online(2) */
#define P_OFFLINE  1
#define P_ONLINE   2
#define P_STATUS   3
#define P_POWEROFF 5
#define P_NOINTR   6
#define P_FORCED   0x10000000

/* processor_bind(2) */
#define PBIND_NONE  (-1)
#define PBIND_QUERY (-2)
#define P_MYID      (-1)
#define HR_P_PID    0 /* Solaris's idtype_t P_PID   */
#define HR_P_LWPID  8 /* Solaris's idtype_t P_LWPID */

/* pset_create(2) and the other calls for processor sets */
#define PS_NONE       (-1)
#define PS_QUERY      (-2)
#define PS_MYID       (-3)
#define PS_SYSTEM     1
#define PS_PRIVATE    2
#define PSET_NOESCAPE 0x1

struct hr_processor_info {
    int pi_state;
    char pi_processor_type[16];
    char pi_fputypes[32];
    int pi_clock;  /* MHz */
    long pi_since; /* time of the last state change, seconds since 1970 (not in Solaris) */
};

/* SYS_lgrp operations; ids are dense, 0 .. nlgrps-1, as in Solaris 9. */
#define LGRP_OP_COUNT 0 /* () -> nlgrps                                                  */
#define LGRP_OP_INFO  1 /* (id, struct hr_lgrp_info *)                                   */
#define LGRP_OP_HOME                                                                               \
    2 /* (idtype, id) -> home.  P_MYID is the caller; LWP ids are of the caller's process */
#define LGRP_OP_AFF_GET  3 /* (idtype, id, lgrp) -> affinity                                */
#define LGRP_OP_AFF_SET  4 /* (idtype, id, lgrp, affinity)                                  */
#define LGRP_OP_GEN      5 /* () -> generation number                                       */
#define LGRP_OP_LWP_HOME 6 /* (pid, lwpid) -> home of one LWP of another process            */
#define LGRP_OP_LWP_SET  7 /* (pid, lwpid, lgrp, affinity)                                  */
#define LGRP_OP_LWP_GET  8 /* (pid, lwpid, lgrp) -> affinity of one LWP of another process  */

#define LGRP_AFF_NONE   0x0
#define LGRP_AFF_WEAK   0x10
#define LGRP_AFF_STRONG 0x100

#define HR_MAXCPU  256
#define HR_MAXLGRP 64

struct hr_lgrp_info {
    int id;
    int ncpus;                          /* on-line CPUs                          */
    unsigned long cpus[HR_MAXCPU / 64]; /* mask of on-line CPU ids               */
    unsigned long long mem_installed;   /* bytes                                 */
    unsigned long long mem_free;        /* bytes                                 */
    unsigned long long mem_base;        /* lowest physical address, 0 if none    */
    unsigned long long mem_bound;       /* first physical address above the last */
    unsigned load;                      /* load average, 32767 = every CPU busy  */
    unsigned char latency[HR_MAXLGRP];  /* SLIT distance to each lgroup's memory */
};

/* SYS_tunable operations. */
#define TUNABLE_GET 0
#define TUNABLE_SET 1 /* only the superuser */

struct hr_tunable {
    unsigned size;     /* of the variable, bytes: 1, 2, 4 or 8 */
    unsigned writable; /* 1: TUNABLE_SET works; 0, 2: it fails with EPERM; 2: /etc/system works */
    unsigned long long value;
    unsigned long long least, greatest; /* TUNABLE_SET fails with ERANGE for other values */
};

/* SYS_priocntl: scheduling class and user priority of an LWP (Solaris's classes). */
#define PC_GET 0
#define PC_SET 1
enum { HR_CLASS_TS, HR_CLASS_IA, HR_CLASS_FX, HR_CLASS_FSS, HR_CLASS_RT, HR_CLASS_SYS };
struct hr_pcinfo {
    int cls;     /* HR_CLASS_*                                                        */
    int upri;    /* TS/IA/FSS: -60..60; FX: 0..60; RT: 0..59                           */
    int globpri; /* PC_GET: the current global priority                                */
    int shares;  /* FSS: shares of the process's user; PC_SET: superuser only, 0: no change */
};

/*
 * SYS_truss traces the system calls of the calling process, of its later children, and of the programs that
 * they exec.  The kernel writes one line to the open file fd when a call returns (exit, exit_group: at entry):
 *
 *     pid lwp number a0 a1 a2 a3 a4 a5 result ns ["path"]
 *
 * pid, lwp and number are decimal; a0 to a5 are hexadecimal without 0x.  result is signed decimal (-errno for
 * an error), or `-` if the call does not return.  ns is the time from entry to return.
 * A call with a path argument has it at the end, in quotes: up to 128 bytes, as they were at entry.  Bytes
 * outside 0x20..0x7e and the characters " and \ are written as \xHH.
 * If a write to fd fails because its reader has ended, the tracing of that process ends without a signal.
 */
#define TRUSS_PATH_MAX 128

/*
 * SYS_track traces like SYS_truss, but writes a line when an LWP of the process or of a child begins
 * ("lwp_create"), ends ("lwp_exit"; after the last LWP also "exit") or has replaced the program ("exec"):
 *
 *     event pid lwp ppid ns counter ... name
 *
 * All but event and name are decimal.  ns is CLOCK_MONOTONIC.  The counters are the members of struct
 * fp_counts in their order (include/uapi/fireplane.h), for the time since the LWP began.  name is its name.
 */

#endif
