// SPDX-License-Identifier: MIT
/*
 * proc.h - processes and their LWPs.
 *
 * THEORY      A process is a running program: it owns everything that its threads share, such as the address
 *             space, the open files, the signal handlers and the identity.
 *             Each of these parts is an object of its own with a reference count, because clone(2) can
 *             share them one by one.
 *             An LWP ("light-weight process") is one thread of a process: a struct thread plus the state that
 *             user mode needs.  It has two ids: a small one within the process (for Solaris calls) and a
 *             machine-wide one (gettid).  The machine-wide id of the first LWP equals the pid.
 * INVARIANTS  I1  a process has at least one LWP until it is a zombie
 *             I2  p->parent is never NULL except for process 1 (init); orphans become children of process 1
 *             I3  bit i of p->lgrp.bitmap is set iff an LWP of p has home i
 *             I4  an id is free iff no process, LWP, group or session uses it
 * LOCKING     [p] proc_lock (RANK_PROC_TABLE), one for the tree, groups and sessions
 *             [s] p->sig->lock (RANK_SIGHAND)  [m] p->mutex  [a] atomic  [c] constant  [o] used
 *             only by the LWP itself
 *             A thread that finds a process under proc_lock must call proc_hold() if it uses the process after
 *             it has released proc_lock.
 * SEE ALSO    docs/processes.md; proc.c (tables), clone.c, exec.c, exit.c, wait.c, signal.c, sigframe.c
 */
#ifndef PROC_PROC_H
#define PROC_PROC_H

#include "disp/sync.h"
#include "disp/thread.h"
#include "disp/timer.h"
#include "vfs/file.h"
#include "lib/itree.h"
#include "lib/list.h"
#include "lib/signo.h"
#include "mem/usermem.h"
#include "stat/iocount.h"
#include "vm/vm.h"
#include "x86/regs.h"

#define NSIG 64
typedef uint64_t sigset_t; /* bit n-1: signal n */
#define SIGBIT(n) (1ull << ((n) - 1))

/* Linux's siginfo, with the members that this kernel fills in; 128 bytes in user memory. */
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
enum {
    CLD_EXITED = 1,
    CLD_KILLED = 2,
    CLD_DUMPED = 3,
    CLD_TRAPPED = 4,
    CLD_STOPPED = 5,
    CLD_CONTINUED = 6
};

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
    _Atomic uint32_t refs; /* processes that use these handlers */
    /* RANK_SIGHAND; also guards the pending sets of the processes that use these handlers */
    struct spinlock lock;
    struct sigaction act[NSIG];
};

struct sigqueue { /* pending signals of a process or of an LWP */
    sigset_t set;
    struct list infos; /* siginfo of the pending signals (sigentry.link), oldest first */
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
 * What one user has in use, over all processes: for RLIMIT_NPROC, RLIMIT_SIGPENDING and kernel
 * memory.  The struct also holds the user's share of the CPU.
 */
struct ucount {
    uint32_t uid;
    uint32_t refs;             /* [p] LWPs that are charged to this user */
    uint32_t nlwps;            /* [p] */
    _Atomic uint32_t nsignals; /* [a] queued sigentries */
    struct usermem mem;        /* [a] kernel memory of files, pipes, sockets, locks */
    struct fss fss;            /* CPU shares and recent CPU time in class FSS */
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
    struct proc *leader; /* [p] leader of the session; NULL: the leader has exited */
};

/* The user and system time that were last reported.  Neither value ever decreases.  [p] guards both. */
struct cputime {
    uint64_t user_us, sys_us;
};

struct ptrace;

/* Linux's policies, as sched_setscheduler(2) takes them. */
enum { SCHED_OTHER = 0, SCHED_FIFO = 1, SCHED_RR = 2, SCHED_BATCH = 3, SCHED_IDLE = 5 };

struct lwp {
    /* must be the first member: a pointer to the LWP is a pointer to its thread */
    struct thread t;
    struct proc *proc;     /* [c] */
    int lwpid;             /* [c] id within the process, from 1 */
    struct list proc_link; /* [p] p->lwps */
    struct list hash_link; /* [p] tid hash */
    sigset_t sigmask;      /* [o] blocked signals (changed under [s]) */
    /* [o] signal mask to restore after sigsuspend, ppoll, pselect */
    sigset_t saved_mask;
    bool restore_mask;                   /* [o] */
    struct sigqueue pending;             /* [s] */
    uint64_t altstack_sp, altstack_size; /* [o] */
    uint32_t altstack_flags;
    uint64_t clear_tid;   /* [o] CLONE_CHILD_CLEARTID user address */
    uint64_t robust_list; /* [o] */
    /* [s] signals that sigtimedwait() waits for: taken although they are blocked */
    sigset_t sigwait;
    int fault_sig;             /* [o] a synchronous fault to deliver first, or 0 */
    struct siginfo fault_info; /* [o] */
    /* [o] credentials, with a reference; only this LWP changes the pointer */
    struct cred *cred;
    struct ucount *ucount;  /* [o] account of the LWP's real uid; changed under [p] */
    uint64_t set_child_tid; /* [o] CLONE_CHILD_SETTID: written when the LWP first runs */
    struct {                /* [o] restart_syscall: nanosleep, futex, poll */
        long (*fn)(struct lwp *);
        uint64_t arg[5];
    } restart;
    struct lwp *vfork_parent; /* [p] parent that waits for this LWP's exec or exit, or NULL */
    bool
        keep_caps; /* [o] PR_SET_KEEPCAPS; without effect, because there are no capabilities to keep */
    bool vfork_wait;     /* [p] this LWP waits for its vfork child */
    struct cputime told; /* [p] */
    unsigned starved;    /* [o] out-of-memory faults in succession (oom.c) */
    /* record of the tracer (ptrace.h); set once, under [p]; NULL: the LWP was never traced */
    struct ptrace *pt;
    uint16_t ioprio;                  /* [p] set by ioprio_set(2), 0: never set; kept by exec */
    struct io_counts io;              /* [o] */
    uint8_t sched_policy, sched_prio; /* [p] SCHED_*, 0..99; changed by priocntl(2) too */
};

struct proc {
    int pid;               /* [c] */
    _Atomic uint32_t refs; /* references: one from the tables, one from each proc_hold() */
    uint8_t state;         /* [p] PROC_* */
    struct proc *parent;   /* [p] */
    _Atomic int ppid;      /* [a] the parent's pid, 0 for process 1 */
    struct list children;  /* [p] proc.sibling */
    struct list sibling;
    struct list hash_link;   /* [p] pid hash */
    struct list all_link;    /* [p] proc_all, or the list of the reaper (exit.c) */
    struct list lwps;        /* [p] */
    struct list dead;        /* [p] exited LWPs that are not freed yet (lwp.proc_link) */
    unsigned nlwps;          /* [p] live LWPs */
    int next_lwpid;          /* [p] */
    struct as *as;           /* [m] */
    struct fdtable *files;   /* [m] */
    struct fsinfo *fs;       /* [m] */
    struct sighand *sig;     /* [c] after clone; exec may unshare it */
    struct sigqueue pending; /* [s] */
    /* [m] whether `files` has been shared with another process (CLONE_FILES) */
    bool files_shared;
    /* [p] this process has called exec, so its parent can no longer change its process group */
    bool has_execed;
    struct pgrp *pgrp; /* [p] */
    struct list pgrp_link;
    struct rlimit rlim[RLIM_NLIMITS]; /* [m] */
    struct cpu_timer *cpu_timer[2];   /* [m] ITIMER_VIRTUAL, ITIMER_PROF; NULL: never set */
    uint64_t xcpu_next_s;             /* [p] CPU time, in seconds, at which SIGXCPU is sent next */
    struct mutex mutex;
    struct lgrp_proc lgrp; /* homes of the LWPs (I3); under cpupart_lock */
    _Atomic bool exiting;  /* [a] all LWPs of the process are ending; set under [p] and [s] */
    uint64_t memory_kill;  /* [p] clock tick at which oom.c killed the process; 0: not killed */
    /* [p] and [s] the LWP that is in exec and ends the other LWPs; NULL: none */
    struct lwp *execing;
    bool stopped; /* [s] job control */
    /* [s] an LWP handles a stop signal; SIGCONT and SIGKILL clear this flag */
    bool stop_taken;
    struct cv stop_cv;   /* LWPs of a stopped process, and stopped tracees, sleep here; with [s] */
    struct list tracees; /* [p] ptrace.link: what this process traces */
    /* [p] record of the first LWP, which was traced, if it has ended before others; or NULL */
    struct ptrace *leader_pt;
    bool withheld;      /* [p] a zombie that the parent does not see yet (ptrace.h T3) */
    struct lwp *dumper; /* [p] and [s] the LWP that writes a core file; NULL: none */
    unsigned nparked;   /* [p] LWPs that wait for it */
    /* [p] wait4() has reported the stop; wait4() must report a continuation */
    bool stop_reported, cont_pending;
    int stop_sig;
    int exit_status; /* [p] as wait4 gives it */
    /* signal that the parent gets when the process ends; 0: none */
    int exit_signal;
    /* threads that wait for children sleep here; used with proc_lock */
    struct cv child_cv;
    struct vnode *exe; /* [m] /proc/PID/exe */
    /* [m] user addresses of arguments and environment, for /proc/PID/cmdline */
    uint64_t arg_start, arg_end, env_start, env_end;
    uint64_t auxv_start, auxv_end; /* [m] user addresses of the auxiliary vector */
    /* [m] number of the program that runs, for /proc/PID/mem; 0: none yet */
    _Atomic uint64_t image;
    uint64_t start_ns;
    /* [p] usage of children that were waited for, and of their children */
    struct rusage_kernel waited;
    /* [p] totals of the LWPs that have exited */
    uint64_t utime_dead, stime_dead, minflt_dead, majflt_dead;
    uint64_t nvcsw_dead, nivcsw_dead;
    /* [p] of the LWPs that have exited, and of children that were waited for */
    struct io_counts io_dead;
    /* [o] largest resident size of the address spaces that the process has left, KiB */
    uint64_t maxrss_kb;
    uint64_t runtime_dead_ns;
    struct cputime told;      /* [p] */
    struct timer itimer_real; /* [s] setitimer(ITIMER_REAL) */
    uint64_t itimer_interval_ns;
    struct itree ptimers; /* [m] timers of timer_create(2), by id (ptimer.c) */
    int next_ptimer;      /* [m] where the search for a free id begins */
    int nice;
    struct file *truss;        /* [m] file for the trace of system calls, or NULL */
    bool track;                /* [m] trace the LWPs' counters, not the calls (SYS_track) */
    struct sem_undo *sem_undo; /* [m] what the semaphores get back at the end; NULL: nothing */
    bool dumpable;
    bool no_new_privs; /* exec always ignores set-id bits (PR_SET_NO_NEW_PRIVS) */
    uint8_t death_sig; /* [p] the signal when the parent ends, or 0 (PR_SET_PDEATHSIG) */
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

/* proc_init - set up the tables.  proc_start_init - start process 1 from /sbin/init, /init or /bin/sh. */
void proc_init(void);
void proc_start_init(void);
/* observer_start - start balancing by observation (observer.c), if lgrp_balance asks for it. */
void observer_start(void);

/* proc_find, lwp_find, pgrp_find - look up by pid, tid or pgid; NULL: none.  The caller holds proc_lock. */
struct proc *proc_find(int pid);
struct lwp *lwp_find(int tid);
struct pgrp *pgrp_find(int pgid);
/*
 * proc_hold - take a reference to a process that was found under proc_lock, which keeps it after the lock is released.
 * proc_release - drop that reference.  If this was the last reference, free the process; may sleep.
 */
void proc_hold(struct proc *p);
void proc_release(struct proc *p);
/*
 * proc_as_hold - the address space of p, with a reference; NULL: p has none.  The caller has a reference to p.
 * May sleep.
 */
struct as *proc_as_hold(struct proc *p);
/*
 * proc_may_change_sched - whether credentials `cr` may change how p is scheduled (setpriority(2),
 * sched_setparam(2)).  They may if their effective uid is the real or effective uid of p, if they
 * are those of the superuser, or if p is the calling process.
 * proc_may_change_limits - whether credentials `cr` may change p's limits (prlimit(2)).  They may
 * if their real uid and gid equal all three uids and gids of p, if they are those of the superuser,
 * or if p is the calling process.  The caller of either function holds proc_lock.
 */
bool proc_may_change_sched(const struct cred *cr, struct proc *p);
bool proc_may_change_limits(const struct cred *cr, struct proc *p);
/*
 * proc_uid - effective uid of p: it owns the /proc files of p, and decides permissions.  The caller
 * holds proc_lock.
 */
uint32_t proc_uid(struct proc *p);
/*
 * rusage_collect - usage of p without its children; maxrss covers only the spaces that p has left.
 * rusage_lwp - usage of one LWP, without maxrss.
 * The caller of either function holds proc_lock.
 */
void rusage_collect(struct proc *p, struct rusage_kernel *ru);
void rusage_lwp(struct lwp *l, struct rusage_kernel *ru);
/*
 * io_collect - what p has read and written, with the children that it has waited for.  The caller holds proc_lock.
 * io_counts_add - add all counts of *add to *to.
 */
void io_collect(struct proc *p, struct io_counts *out);
void io_counts_add(struct io_counts *to, const struct io_counts *add);
/*
 * lwp_ioprio - the priority of the disk requests of l, an IOPRIO() of blk.h.  The result is the
 * priority that was set; if no priority was set, best effort at the level that follows from nice.
 * The caller holds proc_lock, or l is the calling LWP.
 */
uint16_t lwp_ioprio(const struct lwp *l);
/* proc_next - lowest pid >= `pid` of a live or zombie process; 0: none.  For /proc.  Takes proc_lock. */
int proc_next(int pid);

struct clone_args {
    uint64_t flags, stack, parent_tid, child_tid,
        tls; /* Linux's CLONE_* flags without the signal */
    int exit_signal;
};
/*
 * proc_clone - fork, vfork, clone: make a new process or, with CLONE_THREAD, a new LWP. The new LWP starts
 * with the registers `r` and 0 as the result of the call.
 * Returns the new id; -EAGAIN (RLIMIT_NPROC, no free id), -ENOMEM, -EINVAL (invalid combination of flags),
 * -EPERM (tls is no user address), -ERESTARTNOINTR (a signal is pending: repeat the call).
 */
long proc_clone(const struct clone_args *ca, struct regs *r);
/*
 * proc_exec - replace the program of the calling process.  Path and strings are kernel copies.  Scripts
 * (`#!`) can name other scripts, to a depth of 4.  On success *r holds the user registers of the new program.
 * Returns 0; -ENOENT -EACCES -ENOEXEC -E2BIG -ENOMEM -ETXTBSY -ELOOP -ELIBBAD, or another error of the path
 * look-up or of reading the file; -EINTR: this LWP must end.  After an error the old program continues.
 */
struct exec_args {
    struct vnode *program; /* the caller has a reference; NULL: look `path` up */
    char *strings;         /* argv then envp, each ended by a NUL */
    size_t len;
    unsigned nargs, nenvs;
};
int proc_exec(const char *path, struct exec_args *ea, struct regs *r);
/* lwp_exit - end the calling LWP; the last one ends the process with `status` (wait4's encoding). */
noreturn void lwp_exit(int status);
/* proc_exit_group - end the calling process with `status` (wait4's encoding), with all its LWPs. */
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
 * proc_wait - wait4(2), waitid(2).  `pid` as in wait4: -1 any child, 0 children in the caller's group,
 * < -1 children in group -pid.  `options`: WNOHANG, WNOWAIT, and the events WEXITED (wait4 implies
 * it), WSTOPPED, WCONTINUED.
 * Returns a pid and fills *res; 0 (WNOHANG: no child has changed state), -ECHILD,
 * -ERESTARTSYS. Takes proc_lock.
 */
long proc_wait(int pid, unsigned options, struct wait_result *res);
/*
 * proc_set_death_signal - the caller's process gets the signal `sig` (0: none) when its parent process ends.  A
 * child of fork has none.  exec of a set-id program and a change of the effective ids end it.  Takes proc_lock.
 */
void proc_set_death_signal(int sig);
/* proc_setsid, proc_setpgid - setsid(2), setpgid(2), with their errors.  Take proc_lock. */
long proc_setsid(void);
int proc_setpgid(int pid, int pgid);

/* Signals (signal.c, sigframe.c). */
/*
 * sig_send_proc, sig_send_lwp - send a signal to a process or to one LWP.  If `info` is NULL, no siginfo is queued,
 * and the receiver gets the code SI_KERNEL.  The target must exist until the return: the target is
 * the caller's own, the caller holds proc_lock, or something else keeps the target (such as an
 * armed timer).  Can be called in any context.  The functions take proc_lock unless the caller
 * holds it, then [s].  Return 0, or -EAGAIN: the queue limit of real-time signals is reached.
 */
int sig_send_proc(struct proc *p, int sig, const struct siginfo *info);
int sig_send_lwp(struct lwp *l, int sig, const struct siginfo *info);
/* sig_send_pgrp - send a signal to each member.  The caller holds proc_lock.  Returns the number of processes. */
int sig_send_pgrp(struct pgrp *pg, int sig, const struct siginfo *info);
/* sig_permitted - whether `cr` is allowed to send `sig` to p (kill(2)'s rule).  The caller holds proc_lock. */
bool sig_permitted(const struct cred *cr, struct proc *p, int sig);
/*
 * sig_mask_set - block exactly the signals in `set` in the calling LWP.
 * sig_mask_push - the same for the duration of one call (ppoll, sigsuspend).  sig_mask_pop() restores the old
 * mask.  If a handler interrupts the call, the return from the handler restores the mask.
 */
void sig_mask_set(sigset_t set);
void sig_mask_push(sigset_t set);
void sig_mask_pop(void);
/* sig_recalc - set or clear AST_SIGNAL of the calling LWP, according to its pending signals.  Takes [s]. */
void sig_recalc(void);
/* pgrp_orphaned - whether no member has a parent in another group of the same session.  The caller holds proc_lock. */
bool pgrp_orphaned(struct pgrp *pg);

/* Credentials: copy on change. */
struct cred *cred_dup(const struct cred *c); /* NULL: no memory */
void cred_release(struct cred *c);
/* cred_install - make n, with its reference, the credentials of the caller.  -ENOMEM: nothing changed. */
int cred_install(struct cred *n);
static inline struct cred *curcred(void)
{
    return curlwp()->cred;
}
/* cred_superuser - whether the effective uid is 0, which has every privilege. */
static inline bool cred_superuser(const struct cred *c)
{
    return c->euid == 0;
}

/* limit - soft limit RLIMIT_* of the calling process. */
static inline uint64_t limit(unsigned which)
{
    return curproc()->rlim[which].cur;
}
/*
 * limit_cpu_changed - must be called after p->rlim[RLIMIT_CPU] has changed.  The caller has a reference to p.
 * Takes proc_lock.
 */
void limit_cpu_changed(struct proc *p);
/*
 * fs_context - the caller's root, cwd and credentials, for name look-ups.  fs_context_done() drops the references to
 * root and cwd.
 */
void fs_context(struct fs_ctx *ctx);
void fs_context_done(struct fs_ctx *ctx);

/*
 * Futexes (futex.c): for futex(2) and the exit of a thread.
 * futex_wake - wake up to n waiters on the word at the user address uaddr whose bitset overlaps
 * `bitset`. private_hint: only the calling process uses the word.  Returns the number woken; -EINVAL:
 * misaligned; -EFAULT: not mapped.
 */
long futex_wake(uint64_t uaddr, unsigned n, bool private_hint, uint32_t bitset);

/* ---- implemented by tty/ ---- */
/*
 * tty_leader_exit - the leader of session s exits: hang up its terminal, and send SIGHUP and SIGCONT to the
 *                   foreground group.  The caller holds no lock; sleeps.
 */
void tty_leader_exit(struct session *s);

/* ---- implemented by sys/ ---- */
/* truss_lwp - report that the running LWP of a process with p->truss set begins, ends, or ends as the last.  Sleeps. */
void truss_lwp(struct lwp *l, enum lwp_event what);
/*
 * sem_undo_share - let the new process `to` share the SEM_UNDO adjustments of `from`, the calling process.  -ENOMEM.
 * sem_undo_release - p ends: the last process that shares its adjustments carries them out.  Called by the last LWP of
 * p, or for a process that never ran.  Sleeps.
 */
int sem_undo_share(struct proc *from, struct proc *to);
void sem_undo_release(struct proc *p);

#endif
