// SPDX-License-Identifier: MIT
/*
 * ptrace.h - a process traces LWPs of another process: the state of ptrace(2).
 *
 * THEORY      A tracer, such as a debugger, learns of what its tracee does, and can change the tracee's memory and
 *             registers.  The tracee does this work itself.  Before it acts on a signal, and at system calls and
 *             other events if the tracer has asked for them, it copies its state into its struct ptrace, tells the
 *             tracer, and sleeps.  The tracer reads and changes only this copy.  When the tracer lets the tracee
 *             run, the tracee takes the state from there.
 *             Tracees are LWPs, as on Linux.  The tracer is a process: any of its LWPs can make requests.
 *             A struct ptrace outlives its LWP until the tracer has waited for the end of the LWP.
 * INVARIANTS  T1  pt->tracer is not NULL exactly while pt is on the list tracer->tracees
 *             T2  the tracer changes the copy of the state only while pt->state is PT_STOPPED
 *             T3  if the zombie of a process is `withheld`, a tracer that is not its parent has a record in
 *                 state PT_DEAD for the process, and has not waited for it
 *             T4  pt->proc of a record without LWP is not NULL exactly if the record is proc->leader_pt, or has the
 *                 `withheld` zombie of T3: so no record leads to a process that has been freed
 * LOCKING     [p] proc_lock  [s] the tracee's p->sig->lock  [ps] both to change, one to read  [o] the tracee itself
 * SEE ALSO    ptrace.c, sys/sys_ptrace.c; docs/processes.md, user/test/t_ptrace.c; ptrace(2)
 */
#ifndef PROC_PTRACE_H
#define PROC_PTRACE_H

#include "proc/proc_impl.h"
#include "x86/trap.h"

/* Linux's events: PTRACE_EVENT_*.  Event n is enabled by option 1 << n, except PT_STOP. */
enum {
    PT_FORK = 1,
    PT_VFORK = 2,
    PT_CLONE = 3,
    PT_EXEC = 4,
    PT_VFORK_DONE = 5,
    PT_EXIT = 6,
    PT_STOP = 128,
};
/* Linux's PTRACE_O_* that are not events. */
enum { PT_O_SYSGOOD = 1, PT_O_EXITKILL = 1 << 20 };
#define PT_O_ALL (PT_O_SYSGOOD | 0x7eu | PT_O_EXITKILL)

/* The state in which a tracee stops, which the tracer can change. */
struct ptrace_state {
    struct regs regs;
    uint64_t fsbase, gsbase;
    sigset_t sigmask;
    struct siginfo info;
    bool has_info;
    struct fpu_area fpu;
};

struct ptrace {
    _Atomic uint32_t refs; /* one of the LWP, one of the list of the tracer */
    int tid, pgid;         /* [p] pgid: of a dead tracee */
    struct proc *tracer;   /* [ps] NULL: not traced (T1) */
    struct list link;      /* [p] tracer->tracees */
    /* [p] process of the tracee; NULL: the tracee is dead, and not a whole process */
    struct proc *proc;
    struct lwp *lwp; /* [p] NULL: the LWP has ended */
    /* [p] user that is charged for a dead tracee, as for an LWP; NULL: none */
    struct ucount *payer;
    enum { PT_RUNNING, PT_STOPPED, PT_LISTENING, PT_DEAD } state; /* [ps] */
    bool reported; /* [p] wait4() has reported this stop */
    /* [p] the superuser has begun the tracing, so set-id programs get their rights */
    bool privileged;
    bool seized;            /* [ps] PTRACE_SEIZE */
    bool trap;              /* [s] stop at the next opportunity: group stop, SIGCONT */
    bool interrupt;         /* [s] the same for PTRACE_INTERRUPT, which any stop satisfies */
    bool call_stops;        /* [s] stop at system calls: PTRACE_SYSCALL */
    bool step;              /* [s] stop after one instruction: PTRACE_SINGLESTEP */
    bool forced_tf;         /* [o] the kernel, not the program, has set TF in the registers */
    uint32_t options;       /* [ps] PTRACE_O_* */
    int code;               /* [p] why it stopped: signal | event << 8; PT_DEAD: wait4()'s status */
    int resume_sig;         /* [s] signal with which the tracee continues */
    uint64_t message;       /* [s] PTRACE_GETEVENTMSG */
    struct ptrace_state at; /* [s] in a stop (T2) */
};

static inline bool lwp_is_traced(const struct lwp *l)
{
    return l->pt != NULL && l->pt->tracer != NULL;
}

/* ---- for the tracee ---- */
/*
 * ptrace_call_begins, ptrace_call_ends - called by an LWP with l->pt before and after a system call with registers *r:
 * stop if the tracer has requested it.  ptrace_call_begins() returns whether the call must be carried out.  Sleep.
 */
bool ptrace_call_begins(struct regs *r);
void ptrace_call_ends(struct regs *r);
/*
 * ptrace_signal - the calling LWP is about to act on `sig`: stop.  Returns the signal on which to act, and changes
 * *info accordingly; 0: none.  Sleeps.
 */
int ptrace_signal(struct regs *r, int sig, struct siginfo *info);
static inline bool lwp_has_trap(const struct lwp *l)
{
    return l->pt != NULL && (l->pt->trap || l->pt->interrupt);
}
/* ptrace_trap_unlock - carry out the trap of the caller, which holds [s]; releases it.  Sleeps. */
void ptrace_trap_unlock(struct lwp *l, struct regs *r);
/*
 * ptrace_handler_begins - called before a frame for a handler is pushed: remove the kernel's TF from *r.  Returns
 * whether the LWP must stop at the first instruction of the handler: then the caller calls ptrace_handler_stop().
 */
bool ptrace_handler_begins(struct lwp *l, struct regs *r);
void ptrace_handler_stop(struct regs *r);
/* ptrace_event - stop the calling LWP for event PT_* if its tracer has enabled the event.  Sleeps. */
void ptrace_event(unsigned event, uint64_t message);
/* ptrace_exec - the calling LWP has executed a new program; its tid was `old_tid`.  Sleeps. */
void ptrace_exec(int old_tid);
/*
 * ptrace_clone_event - the event PT_* of which the tracer of `me` will be told if `me` makes a process or LWP with
 * these flags and this exit signal; 0: none.
 */
unsigned ptrace_clone_event(const struct lwp *me, uint64_t flags, int exit_signal);
/* ptrace_adopt - the new LWP l, with an unused l->pt, gets the tracer of `me`, if there is one [P]. */
void ptrace_adopt(struct lwp *l, struct lwp *me);
/* ptrace_new - a record for one LWP, with one reference; NULL: no memory.  ptrace_release - drop a reference. */
struct ptrace *ptrace_new(void);
void ptrace_release(struct ptrace *pt);

/* ---- for the rest of this folder ---- */
/* ptrace_want_trap - l, which has l->pt, must stop if it is traced, and seized if `seized`: sets pt->trap [P] [S]. */
void ptrace_want_trap(struct lwp *l, bool seized);
/* ptrace_wake - l, whose trap was set, must see it, even in PTRACE_LISTEN [P] [S]. */
void ptrace_wake(struct lwp *l);
/* ptrace_blocks_setid - whether exec must ignore set-id bits, because the tracer of l is an ordinary user [P]. */
bool ptrace_blocks_setid(const struct lwp *l);
/*
 * ptrace_new_tid - l has called exec and got the pid as its tid, and l or the LWP that had this tid is traced.  The
 * record of that LWP ends.  Its tracer gets no event, as on Linux, but a wait for it returns [P].
 */
void ptrace_new_tid(struct lwp *l);
/* ptrace_lwp_ended - l has ended with `status`.  `last`: so has its process, which becomes a zombie now [P]. */
void ptrace_lwp_ended(struct lwp *l, int status, bool last);
/* ptrace_tracer_ended - p, which becomes a zombie now, traces nothing any more [P]. */
void ptrace_tracer_ended(struct proc *p);
/*
 * ptrace_take_news - find an event of a tracee of `me`, as proc_wait() does for children [P].  Returns the tid and
 * fills *res; 0: none.  Sets *any if `pid` includes a tracee.
 */
int ptrace_take_news(struct proc *me, int pid, unsigned options, struct wait_result *res,
                     bool *any);

/* ---- for the tracer ---- */
/*
 * ptrace_traceme - the parent of the caller becomes its tracer.  0, -ENOMEM; -EPERM: the caller is traced, or has the
 * superuser as one of its uids and the parent is an ordinary user.
 * ptrace_attach - the calling process becomes the tracer of LWP tid.  `seize`: PTRACE_SEIZE; else a SIGSTOP is sent.
 * 0, -ENOMEM -ESRCH; -EPERM: no permission, the LWP is traced, ends, or belongs to process 1 or to the caller.
 */
int ptrace_traceme(void);
int ptrace_attach(int tid, bool seize, uint32_t options);
/*
 * ptrace_lock - find the tracee `tid` of the calling process and lock proc_lock and [s].  0; -ESRCH: there is no such
 * tracee, or `stopped` is true and it is not stopped.  After an error nothing is locked.
 */
int ptrace_lock(int tid, bool stopped, struct ptrace **out);
void ptrace_unlock(struct ptrace *pt);
/*
 * ptrace_resume_unlock - let the stopped tracee continue with signal `sig` (0: none).
 * ptrace_detach_unlock - end the tracing; the tracee continues with `sig`.  Both are called after ptrace_lock().
 */
void ptrace_resume_unlock(struct ptrace *pt, bool call_stops, bool step, int sig);
void ptrace_detach_unlock(struct ptrace *pt, int sig);
/*
 * ptrace_access - copy n bytes of the memory of the stopped tracee tid from `addr` to buf or, with `write`, from buf to
 * addr.  0, -ESRCH; -EIO: not all bytes can be accessed.  Sleeps.
 */
int ptrace_access(int tid, uint64_t addr, void *buf, size_t n, bool write);

/*
 * ptrace_permitted - whether a process with credentials cr may access the memory and state of l.  The superuser may.
 * Of other users `uid` and `gid` (of ptrace(2): the real ones; of /proc/PID/mem: those for files) must be all uids
 * and gids of l, and the process must be dumpable [P].
 */
bool ptrace_permitted(const struct cred *cr, uint32_t uid, uint32_t gid, const struct lwp *l);

/* ---- registers as debuggers see them: ptrace_regs.c ---- */
/* Linux's struct user_regs_struct. */
struct user_regs {
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip,
        cs, rflags, rsp, ss, fsbase, gsbase, ds, es, fs, gs;
};
enum { USER_REGS = sizeof(struct user_regs) / sizeof(uint64_t) };
/* user_regs_get - the registers *r and the segment bases in Linux's form. */
void user_regs_get(struct user_regs *u, const struct regs *r, uint64_t fsbase, uint64_t gsbase);
/*
 * user_regs_set - set register `i` of struct user_regs in a stopped tracee's state.  Flags and selectors that a program
 * cannot set do not change.  0; -EIO: no such register, a base that is no user address, or a selector of the kernel.
 */
int user_regs_set(struct ptrace_state *at, unsigned i, uint64_t value);

/* ---- core dumps: coredump.c ---- */
/*
 * coredump_end_process - end the process of the caller because of `sig`, whose default action is to write a core file:
 * write it, if that is allowed and possible.  When the function returns, the process is exiting, or another LWP ends
 * it.  Sleeps.
 * coredump_park - the caller is another LWP of a process that writes a core file (p->dumper): sleep until the end.
 */
void coredump_end_process(int sig, const struct siginfo *info);
void coredump_park(struct lwp *l);
enum { CORE_PATTERN_MAX = 128 }; /* as on Linux */
/* core_pattern_get, core_pattern_set - /proc/sys/kernel/core_pattern.  -EINVAL: too long, or a pipe. */
void core_pattern_get(char *buf);
int core_pattern_set(const char *pattern, size_t len);

#endif
