// SPDX-License-Identifier: MIT
/*
 * proc.h - processes and their LWPs.
 *
 * THEORY      A process owns what its threads share: address space, descriptors, directories, signal handlers,
 *             identity.
 *             Each of these is an object of its own with a reference count, because clone(2) shares them one by one.
 *             An LWP is one thread of a process: a struct thread plus what user mode needs.  It has two ids: a small
 *             one within the process (Solaris calls) and a machine-wide one (gettid), equal to the pid for the first.
 * INVARIANTS  I1  a process has at least one LWP until it is a zombie
 *             I2  p->parent is never NULL except for init; orphans go to the nearest sub-reaper: init
 *             I3  bit i of p->lgrp.bitmap is set iff an LWP of p has home i
 *             I4  an id is free iff no process, LWP, group or session bears it
 * LOCKING     [p] proc_lock (RANK_PROC_TABLE), one for the tree, groups and sessions  [s] p->sig->lock (RANK_SIGHAND)
 *             [a] atomic  [c] constant  [o] only the LWP itself  [m] p->mutex
 *             A pointer to a process found under proc_lock stays good after it only with proc_hold().
 * SEE ALSO    docs/processes.md; proc.c (tables), clone.c, exec.c, exit.c, wait.c, signal.c, sigframe.c
 */
#ifndef PROC_PROC_H
#define PROC_PROC_H

#include "disp/sync.h"
#include "disp/thread.h"
#include "disp/timer.h"
#include "vfs/file.h"
#include "lib/list.h"
#include "mem/usermem.h"
#include "vm/vm.h"
#include "x86/regs.h"

#define NSIG 64
typedef uint64_t sigset_t; /* bit n-1: signal n */
#define SIGBIT(n) (1ull << ((n) - 1))

enum {
    SIGHUP = 1,
    SIGINT,
    SIGQUIT,
    SIGILL,
    SIGTRAP,
    SIGABRT,
    SIGBUS,
    SIGFPE,
    SIGKILL,
    SIGUSR1,
    SIGSEGV,
    SIGUSR2,
    SIGPIPE,
    SIGALRM,
    SIGTERM,
    SIGSTKFLT,
    SIGCHLD,
    SIGCONT,
    SIGSTOP,
    SIGTSTP,
    SIGTTIN,
    SIGTTOU,
    SIGURG,
    SIGXCPU,
    SIGXFSZ,
    SIGVTALRM,
    SIGPROF,
    SIGWINCH,
    SIGIO,
    SIGPWR,
    SIGSYS,
};

/* Linux's siginfo, as far as it is filled: 128 bytes at the user side. */
struct siginfo {
    int32_t signo, err, code, pad;
    union {
        struct {
            int32_t pid;
            uint32_t uid;
            int32_t status;
            int32_t pad2;
            int64_t utime, stime;
        } child; /* SIGCHLD */
        struct {
            int32_t pid;
            uint32_t uid;
            uint64_t value;
        } rt; /* kill, tkill, sigqueue */
        struct {
            int32_t tid, overrun;
            uint64_t value;
        } timer;
        struct {
            uint64_t addr;
            int16_t lsb;
        } fault; /* SIGSEGV, SIGBUS, SIGILL, SIGFPE */
        uint8_t raw[112];
    };
};
enum { SI_USER = 0, SI_KERNEL = 0x80, SI_TKILL = -6, SI_TIMER = -2 };
enum { CLD_EXITED = 1, CLD_KILLED = 2, CLD_DUMPED = 3, CLD_STOPPED = 5, CLD_CONTINUED = 6 };

struct sigaction { /* kernel copy of Linux's struct kernel_sigaction */
    uint64_t handler, flags, restorer;
    sigset_t mask;
};

enum {
    SA_NOCLDSTOP = 1,
    SA_NOCLDWAIT = 2,
    SA_SIGINFO = 4,
    SA_RESTORER = 0x04000000,
    SA_ONSTACK = 0x08000000,
    SA_RESTART = 0x10000000,
    SA_NODEFER = 0x40000000
};
#define SA_RESETHAND 0x80000000u
#define SIG_DFL      0ul
#define SIG_IGN      1ul

struct sighand {           /* handlers, shared with CLONE_SIGHAND */
    _Atomic uint32_t refs; /* processes that use it */
    struct spinlock
        lock; /* RANK_SIGHAND; also guards the pending sets of the processes that use it */
    struct sigaction act[NSIG];
};

struct sigqueue { /* pending signals of a process or of an LWP */
    sigset_t set;
    struct list infos; /* sigentry.link: what is known about them, oldest first */
};

struct fsinfo { /* shared with CLONE_FS */
    _Atomic uint32_t refs;
    struct mutex lock;
    struct vnode *root, *cwd;
    uint32_t umask;
};

enum {
    RLIMIT_CPU,
    RLIMIT_FSIZE,
    RLIMIT_DATA,
    RLIMIT_STACK,
    RLIMIT_CORE,
    RLIMIT_RSS,
    RLIMIT_NPROC,
    RLIMIT_NOFILE,
    RLIMIT_MEMLOCK,
    RLIMIT_AS,
    RLIMIT_LOCKS,
    RLIMIT_SIGPENDING,
    RLIMIT_MSGQUEUE,
    RLIMIT_NICE,
    RLIMIT_RTPRIO,
    RLIMIT_RTTIME,
    RLIM_NLIMITS,
};
#define RLIM_INFINITY UINT64_MAX
struct rlimit {
    uint64_t cur, max;
};

struct rusage_kernel {
    uint64_t utime_us, stime_us, minflt, majflt, maxrss_kb, nvcsw, nivcsw;
};

/*
 * What one user has in use, whatever process it is in: RLIMIT_NPROC, RLIMIT_SIGPENDING and kernel memory; and what it
 * may use of the CPU.
 */
struct ucount {
    uint32_t uid;
    uint32_t refs;             /* [p] LWPs that count here */
    uint32_t nlwps;            /* [p] */
    _Atomic uint32_t nsignals; /* [a] queued sigentries */
    struct usermem mem;        /* [a] files, pipes, sockets, locks */
    struct fss fss; /* shares of the CPU in class FSS, and their use; a record with shares stays */
    struct list hash_link;
};

struct session;
struct pgrp { /* process group */
    int pgid;
    _Atomic uint32_t refs;
    struct session *session;
    struct list members; /* [p] proc.pgrp_link */
    struct list hash_link;
};
struct tty;
struct session {
    int sid;
    _Atomic uint32_t refs;
    struct tty *tty;     /* [p] controlling terminal or NULL */
    struct proc *leader; /* [p] or NULL when it has exited */
};

/* What was last told of a time that is divided into user and system time: neither goes back.  Under [p]. */
struct cputime {
    uint64_t user_us, sys_us;
};

/* Linux's policies, as sched_setscheduler(2) takes them. */
enum { SCHED_OTHER = 0, SCHED_FIFO = 1, SCHED_RR = 2, SCHED_BATCH = 3, SCHED_IDLE = 5 };

struct lwp {
    struct thread t;                     /* first member: lwp == thread */
    struct proc *proc;                   /* [c] */
    int lwpid;                           /* [c] 1 .. within the process */
    struct list proc_link;               /* [p] p->lwps */
    struct list hash_link;               /* [p] tid hash */
    sigset_t sigmask;                    /* [o] blocked signals (changed under [s]) */
    sigset_t saved_mask;                 /* [o] to restore after sigsuspend, ppoll, pselect */
    bool restore_mask;                   /* [o] */
    struct sigqueue pending;             /* [s] */
    uint64_t altstack_sp, altstack_size; /* [o] */
    uint32_t altstack_flags;
    uint64_t clear_tid;        /* [o] CLONE_CHILD_CLEARTID user address */
    uint64_t robust_list;      /* [o] */
    sigset_t sigwait;          /* [s] what sigtimedwait waits for: delivered although blocked */
    int fault_sig;             /* [o] a synchronous fault to deliver first, or 0 */
    struct siginfo fault_info; /* [o] */
    struct cred *cred;         /* [o] its own reference; changed only by itself */
    struct ucount *ucount;     /* [o] of its real uid; changed under [p] */
    uint64_t set_child_tid;    /* [o] CLONE_CHILD_SETTID: written when it first runs */
    struct {                   /* [o] restart_syscall: nanosleep, futex, poll */
        long (*fn)(struct lwp *);
        uint64_t arg[5];
    } restart;
    struct lwp *vfork_parent; /* [p] who waits until this one execs or exits; NULL otherwise */
    bool vfork_wait;          /* [p] this one waits so for its child */
    struct cputime told;      /* [p] */
    unsigned starved; /* [o] faults in succession: no memory, none on its way, nobody greedy */
    uint16_t ioprio;  /* [p] as ioprio_set(2) gave it, 0: never; kept by exec */
    uint8_t sched_policy, sched_prio; /* [p] SCHED_*, 0..99; changed by priocntl(2) too */
};

struct proc {
    int pid;               /* [c] */
    _Atomic uint32_t refs; /* one for its place in the tables, one for each proc_hold() */
    uint8_t state;         /* [p] PROC_* */
    struct proc *parent;   /* [p] */
    _Atomic int ppid;      /* [a] its pid, 0 for process 1 */
    struct list children;  /* [p] proc.sibling */
    struct list sibling;
    struct list hash_link;   /* [p] pid hash */
    struct list all_link;    /* [p] all processes, in pid order for /proc */
    struct list lwps;        /* [p] */
    struct list dead;        /* [p] LWPs that have exited and wait to be freed (lwp.proc_link) */
    unsigned nlwps;          /* [p] live LWPs */
    int next_lwpid;          /* [p] */
    struct as *as;           /* [m] */
    struct fdtable *files;   /* [m] */
    struct fsinfo *fs;       /* [m] */
    struct sighand *sig;     /* [c] after clone; exec may unshare it */
    struct sigqueue pending; /* [s] */
    bool as_shared, files_shared; /* [m] with another process (CLONE_VM, CLONE_FILES) */
    bool has_execed;              /* [p] its parent may no longer move it to another group */
    struct pgrp *pgrp;            /* [p] */
    struct list pgrp_link;
    struct rlimit rlim[RLIM_NLIMITS]; /* [m] */
    struct cpu_timer
        *cpu_timer[2];    /* [m] ITIMER_VIRTUAL, ITIMER_PROF; NULL: not set since it began */
    uint64_t xcpu_next_s; /* [p] RLIMIT_CPU: seconds of CPU time at which SIGXCPU is sent next */
    struct mutex mutex;
    struct lgrp_proc lgrp; /* homes of its LWPs: I3; under the partition's lock */
    _Atomic bool exiting;  /* [a] set under [p] and [s]: all its LWPs are ending */
    uint64_t memory_kill;  /* [p] the tick at which it was killed for memory; 0: it was not */
    struct lwp *
        execing; /* [p] and [s] the LWP that replaces the program: the others are ending; or NULL */
    bool stopped;      /* [s] job control */
    bool stop_taken;   /* [s] a stop signal is being acted on; SIGCONT and SIGKILL undo it */
    struct cv stop_cv; /* LWPs of a stopped process sleep here; with [s] */
    bool stop_reported, cont_pending; /* [p] for wait4 */
    int stop_sig;
    int exit_status;                                 /* [p] as wait4 gives it */
    int exit_signal;                                 /* [c] what the parent gets: SIGCHLD, or 0 */
    struct cv child_cv;                              /* waits for children; with proc_lock */
    struct vnode *exe;                               /* [m] /proc/PID/exe */
    uint64_t arg_start, arg_end, env_start, env_end; /* [m] for /proc/PID/cmdline */
    uint64_t start_ns;
    struct rusage_kernel waited; /* [p] children that were waited for, and theirs */
    uint64_t utime_dead, stime_dead, minflt_dead, majflt_dead; /* [p] LWPs that have exited */
    uint64_t nvcsw_dead, nivcsw_dead;
    uint64_t maxrss_kb; /* [o] largest resident size of address spaces it has left */
    uint64_t runtime_dead_ns;
    struct cputime told;      /* [p] */
    struct timer itimer_real; /* [s] setitimer(ITIMER_REAL) */
    uint64_t itimer_interval_ns;
    int nice;
    struct file *truss; /* [m] where system calls are written, or NULL */
    bool track;         /* [m] not calls but what LWPs have counted (SYS_track) */
    bool dumpable;
    bool no_new_privs; /* exec takes no notice of set-id bits, for ever (PR_SET_NO_NEW_PRIVS) */
};
enum { PROC_LIVE, PROC_ZOMBIE, PROC_REAPED };

static inline struct lwp *curlwp(void)
{
    return container_of(curthread, struct lwp, t);
}
static inline struct proc *curproc(void)
{
    return curlwp()->proc;
}

extern struct spinlock proc_lock;

enum lwp_event { LWP_BEGINS, LWP_ENDS, LWP_PROC_ENDS };

/* What the end of a process asks of the other parts of this room; any member may be NULL.  No lock held; may sleep. */
struct proc_ops {
    void (*session_end)(
        struct session *s); /* the leader exits: hang up s->tty, signal its foreground group */
    void (*exit)(struct proc *p); /* the last LWP exits: timers of p are cancelled */
    /* Of a process with p->truss set: the running LWP begins or ends, or its end is the process's. */
    void (*lwp)(struct lwp *l, enum lwp_event what);
};
extern struct proc_ops proc_ops;

/* proc_init - tables; proc_start_init - process 1 from /sbin/init (or /init). */
void proc_init(void);
void proc_start_init(void);

/* proc_find, lwp_find - by pid or tid; caller holds proc_lock.  NULL if there is none. */
struct proc *proc_find(int pid);
struct lwp *lwp_find(int tid);
struct pgrp *pgrp_find(int pgid);
/* proc_hold, proc_release - keep a process found under proc_lock beyond it.  The last release frees it; may sleep. */
void proc_hold(struct proc *p);
void proc_release(struct proc *p);
/* proc_as_hold - the address space of p with a reference; NULL: it has none (any more).  p is held; may sleep. */
struct as *proc_as_hold(struct proc *p);
/*
 * proc_owned - may `cr` change how p is scheduled (setpriority(2), sched_setparam(2))?  Its effective uid must be p's
 * real or effective one, or it is the superuser.
 * proc_same_user - may `cr` change p's limits (prlimit(2))?  Its real uid and gid must be all three of p's, or it is
 * the superuser.  The caller holds proc_lock.
 */
bool proc_owned(const struct cred *cr, struct proc *p);
bool proc_same_user(const struct cred *cr, struct proc *p);
/* proc_uid - effective uid of p, for owners of /proc files and permissions; caller holds proc_lock. */
uint32_t proc_uid(struct proc *p);
/*
 * rusage_collect - of p without its children (maxrss: of memory it has left); rusage_lwp - of one LWP (no maxrss).
 * The caller holds proc_lock.
 */
void rusage_collect(struct proc *p, struct rusage_kernel *ru);
void rusage_lwp(struct lwp *l, struct rusage_kernel *ru);
/*
 * lwp_ioprio - the priority of l's disk requests, IOPRIO() of blk.h: as it was set, or else best effort at the level
 * that nice gives.  The caller holds proc_lock, or l is its own.
 */
uint16_t lwp_ioprio(const struct lwp *l);
/* proc_next - lowest pid >= pid of a live or zombie process; 0: none.  For /proc; takes proc_lock. */
int proc_next(int pid);

struct clone_args {
    uint64_t flags, stack, parent_tid, child_tid,
        tls; /* Linux's CLONE_* flags without the signal */
    int exit_signal;
};
/*
 * proc_clone - fork, vfork, clone: a new process or, with CLONE_THREAD, a new LWP that returns 0 from the same call.
 * Returns its id; -EAGAIN (RLIMIT_NPROC, no ids), -ENOMEM, -EINVAL (flags that exclude each other).
 */
long proc_clone(const struct clone_args *ca, struct regs *r);
/*
 * proc_exec - replace the program of the calling process.  path and vectors are kernel copies: argv and envp are
 * packed, NUL-separated, `nargs`/`nenvs` strings.  Handles `#!` to a depth of 4.  On success user registers are the
 * new program's.
 * -ENOENT -EACCES -ENOEXEC -E2BIG -ENOMEM -ETXTBSY -ELOOP; after the point of no return failures kill the process.
 */
struct exec_args {
    struct vnode *program; /* held by the caller; NULL: path is looked up */
    char *strings;         /* argv then envp, each ended by a NUL */
    size_t len;
    unsigned nargs, nenvs;
};
int proc_exec(const char *path, struct exec_args *ea, struct regs *r);
/* lwp_exit - end the calling LWP; the last one ends the process with `status` (wait4's encoding). */
noreturn void lwp_exit(int status);
/* proc_exit_group - end all LWPs of the calling process, then itself. */
noreturn void proc_exit_group(int status);
enum {
    WNOHANG = 1,
    WSTOPPED = 2,
    WEXITED = 4,
    WCONTINUED = 8,
    WNOWAIT = 0x01000000,
    W_NOTHREAD = 0x20000000,
    W_ALL = 0x40000000
};
#define W_CLONE 0x80000000u
struct wait_result {
    int status; /* wait4's encoding */
    int code;   /* CLD_* */
    uint32_t uid;
    struct rusage_kernel ru;
};
/*
 * proc_wait - wait4(2), waitid(2).  pid as in wait4 (-1 any, 0 own group, < -1 that group); options with WEXITED.
 * Returns a pid and fills *res; 0 (WNOHANG), -ECHILD, -ERESTARTSYS.  Takes proc_lock.
 */
long proc_wait(int pid, unsigned options, struct wait_result *res);
/* proc_setsid, proc_setpgid - setsid(2), setpgid(2) with their errors.  Take proc_lock. */
long proc_setsid(void);
int proc_setpgid(int pid, int pgid);

/* Signals (signal.c, sigframe.c). */
/*
 * sig_send_proc, sig_send_lwp - queue a signal; info NULL: SI_KERNEL.  The target is the caller's own, or the caller
 * holds proc_lock or otherwise keeps it from going away (an armed timer does).  Take proc_lock unless it is held,
 * then [s].
 * Any context.  0, or -EAGAIN: the queue limit of real-time signals.
 */
int sig_send_proc(struct proc *p, int sig, const struct siginfo *info);
int sig_send_lwp(struct lwp *l, int sig, const struct siginfo *info);
/* sig_send_pgrp - to each member; caller holds proc_lock.  Returns how many. */
int sig_send_pgrp(struct pgrp *pg, int sig, const struct siginfo *info);
/* sig_fault - a synchronous fault of the current LWP: forces delivery even when blocked or ignored. */
void sig_fault(int sig, int code, uint64_t addr);
/* sig_permitted - may cr send sig to p (kill(2)'s rule)? */
bool sig_permitted(const struct cred *cr, struct proc *p, int sig);
/*
 * sig_mask_set - block exactly `set` in the calling LWP.  sig_mask_push - the same for one call (ppoll, sigsuspend):
 * the old mask comes back with sig_mask_pop(), or when the handler that interrupted the call returns.
 */
void sig_mask_set(sigset_t set);
void sig_mask_push(sigset_t set);
void sig_mask_pop(void);
/* sig_recalc - set or clear AST_SIGNAL of the calling LWP to what is pending.  Takes [s]. */
void sig_recalc(void);
/* sig_deliver - ast hook: act on pending signals, build frames.  r are the user registers. */
void sig_deliver(struct regs *r);
/* sig_orphaned_pgrp - whether the group has no member with a parent in another group of its session; proc_lock held. */
bool pgrp_orphaned(struct pgrp *pg);

/* Credentials: copy on change. */
struct cred *cred_dup(const struct cred *c); /* NULL: no memory */
void cred_release(struct cred *c);
/* cred_install - the calling LWP acts for `n` (whose reference passes) from now on.  -ENOMEM: nothing changed. */
int cred_install(struct cred *n);
static inline struct cred *curcred(void)
{
    return curlwp()->cred;
}
/* cred_superuser - effective uid 0: every privilege. */
static inline bool cred_superuser(const struct cred *c)
{
    return c->euid == 0;
}

/* limit - soft limit of the current process. */
static inline uint64_t limit(unsigned which)
{
    return curproc()->rlim[which].cur;
}
/* limit_cpu_changed - p->rlim[RLIMIT_CPU] is another; p is held.  Takes proc_lock. */
void limit_cpu_changed(struct proc *p);
/* fs_context - root, cwd (held until fs_context_done) and credentials of the caller for name look-ups. */
void fs_context(struct fs_ctx *ctx);
void fs_context_done(struct fs_ctx *ctx);

/* Futexes (futex.c): kernel side of futex(2) and of thread exit. */
long futex_wake(uint64_t uaddr, unsigned n, bool private_hint, uint32_t bitset);

#endif
