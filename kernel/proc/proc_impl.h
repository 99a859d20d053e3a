// SPDX-License-Identifier: MIT
/*
 * proc_impl.h - declarations that only the files of this folder use.
 *
 * LOCKING     [P] the caller holds proc_lock  [S] the caller holds p->sig->lock
 */
#ifndef PROC_PROC_IMPL_H
#define PROC_PROC_IMPL_H

#include "mem/kmem.h"
#include "proc/proc.h"

enum {
    PID_MAX = 32768,
    PID_LOW = 300, /* after the highest id, the search for a free id restarts here */
};

enum {
    CLONE_VM = 0x100,
    CLONE_FS = 0x200,
    CLONE_FILES = 0x400,
    CLONE_SIGHAND = 0x800,
    CLONE_VFORK = 0x4000,
    CLONE_PARENT = 0x8000,
    CLONE_THREAD = 0x10000,
    CLONE_SETTLS = 0x80000,
    CLONE_PARENT_SETTID = 0x100000,
    CLONE_CHILD_CLEARTID = 0x200000,
    CLONE_CHILD_SETTID = 0x1000000,
    CLONE_PTRACE = 0x2000,
    CLONE_SYSVSEM = 0x40000,
    CLONE_DETACHED = 0x400000,
    CLONE_UNTRACED = 0x800000,
};
#define CLONE_IO 0x80000000u

/* Flags that a program is allowed to set: CF PF AF ZF SF TF DF OF RF AC. */
#define USER_FLAGS 0x50dd5ul
#define FLAG_FIXED 0x202ul /* the reserved bit 1, and IF */
#define FLAG_TF    0x100ul

/* The siginfo of one pending signal: an entry of a struct sigqueue. */
struct sigentry {
    struct list link;
    struct ucount *ucount; /* the user that is charged */
    struct siginfo info;
    struct sigqueue *queue; /* the last queue in which sig_send_entry() has put the entry */
    /*
     * NULL: the entry is freed when it leaves the queue.  Otherwise it belongs to its sender, for which taken() is
     * called: an LWP takes the signal, and gets `info`, which taken() may change; or, if info is NULL, the signal was
     * discarded [S].
     */
    void (*taken)(struct sigentry *e, struct siginfo *info);
};

/* ids.c: one space of numbers for processes, LWPs, groups and sessions; all [P]. */
void ids_init(void);
int id_alloc(void); /* a new id with one use; -EAGAIN: none */
void id_hold(int id);
void id_drop(int id);
/* id_next - lowest id in use that is >= id; 0: none. */
int id_next(int id);
void proc_hash_add(struct proc *p);
void lwp_hash_add(struct lwp *l);
void pgrp_hash_add(struct pgrp *pg);

/* proc.c: life of the structures. */
extern struct kmem_cache *proc_cache, *lwp_cache, *sighand_cache, *fsinfo_cache;
extern struct list proc_all;      /* [P] proc.all_link */
extern struct proc *proc_initial; /* [c] process 1 */
/*
 * lwp_new - make an LWP of `p` that is not started yet.  `creator`: the LWP that
 * creates it, NULL: the kernel.
 * Returns 0 and sets *out; -ENOMEM: nothing is left behind.
 */
int lwp_new(struct proc *p, struct lwp *creator, const char *name, void (*entry)(void *),
            struct lwp **out);
/*
 * lwp_free - free an LWP that has exited, or an LWP that never ran.  In the second case, the LWP
 * first leaves its home.  May sleep.
 */
void lwp_free(struct lwp *l);
/* lwp_free_list - the same for a list of LWPs, linked through proc_link. */
void lwp_free_list(struct list *dead);
struct proc *proc_new(void); /* empty, with one reference; NULL: no memory */
struct fsinfo *fsinfo_copy(struct fsinfo *fs);
void fsinfo_release(struct fsinfo *fs);
struct sighand *sighand_copy(const struct sighand *sh);
void sighand_release(struct sighand *sh);

/* pgrp.c; all [P]. */
struct pgrp *pgrp_new(int pgid, struct session *s); /* NULL: no memory */
void pgrp_join(struct proc *p, struct pgrp *pg);    /* takes a reference to the group */
void pgrp_leave(struct proc *p);
/*
 * pgrp_check_orphans - called before p exits or changes its group: send SIGHUP and SIGCONT to stopped groups
 * that become orphaned by this.
 */
void pgrp_check_orphans(struct proc *p);
struct session *session_new(int sid);

/* limits.c */
extern uint32_t max_nprocs, maxuprc;
void limits_init(struct rlimit *rlim);
struct ucount *ucount_get(uint32_t uid); /* [P] NULL: no memory */
void ucount_put(struct ucount *uc);      /* [P] */
/*
 * lwp_charge - count a new LWP for its user [P].  -EAGAIN: over max_nprocs, or over `limit` LWPs of this user.
 * lwp_uncharge - undo lwp_charge() when the LWP has ended [P].
 */
int lwp_charge(struct lwp *l, struct ucount *uc, const struct cred *cr, uint64_t limit);
void lwp_uncharge(struct lwp *l);
/* ucount_charge, ucount_uncharge - count one LWP more, or less, for a user, without a check of limits [P]. */
void ucount_charge(struct ucount *uc);
void ucount_uncharge(struct ucount *uc);
void limits_setup(void);
/*
 * limit_cpu_inherit - arm the alarm of the new LWP l if its process has RLIMIT_CPU.  `first`: the process is new,
 * too [P].
 * limit_cpu_check - called by l when it has AST_ALARM: send SIGXCPU or SIGKILL if the CPU time of its process is
 * over a limit, and arm the next alarm.  Takes proc_lock, and p->mutex.
 */
void limit_cpu_inherit(struct lwp *l, bool first);
void limit_cpu_check(struct lwp *l);
/* times_add_dead - add the times of l, which leaves p, to p's totals [P]. */
void times_add_dead(struct proc *p, struct lwp *l);

/* oom_init - starts the thread that chooses processes to end: oom.c. */
void oom_init(void);

/* rss_note - record the peak resident size of the space `as`, which p leaves, in p's usage.  Takes as->lock. */
void rss_note(struct proc *p, struct as *as);

/* cred.c: cred_root - credentials with all ids 0; a reference passes to the caller. */
void cred_init(void);
struct cred *cred_root(void);

/* clone.c, exit.c */
/* vfork_release - wake the vfork parent of l, if there is one, because l no longer uses the parent's memory. */
void vfork_release(struct lwp *l);
/*
 * lwp_leave_memory - called by l before it leaves its user memory: release its robust futexes, clear its
 * CLONE_CHILD_CLEARTID word and wake the waiters there, and wake its vfork parent.
 */
void lwp_leave_memory(struct lwp *l);
/* lwps_take_dead - move the exited LWPs of p to `dead`, for lwp_free_list() [P]. */
void lwps_take_dead(struct proc *p, struct list *dead);
/*
 * notify_parent - p stopped, continued or ended (CLD_*): send a signal to the parent of p, and wake
 * the LWPs of the parent that wait [P].
 */
void notify_parent(struct proc *p, int code, int status);
/* lwps_interrupt - make every LWP of p except `except` enter sig_deliver() soon [P] [S]. */
void lwps_interrupt(struct proc *p, struct lwp *except);
/* proc_unlink - take a zombie out of all tables; the tables' reference passes to the caller [P]. */
void proc_unlink(struct proc *p);
/* proc_announce_zombie - inform the parent of the zombie p, or hand p to the reaper [P]. */
void proc_announce_zombie(struct proc *p);
/* wait_code - CLD_* for wait4()'s status of a process that has ended. */
static inline int wait_code(int status)
{
    if ((status & 0x7f) == 0)
        return CLD_EXITED;
    return status & 0x80 ? CLD_DUMPED : CLD_KILLED;
}
void reaper_start(void);

/* signal.c */
void signal_init(void);
void sigqueue_init(struct sigqueue *q);
void sigqueue_flush(struct sigqueue *q, sigset_t set); /* [S] */
/* lwp_must_end - whether l must not continue in user mode: its process ends, or it must wait for a core file [S]. */
static inline bool lwp_must_end(const struct lwp *l)
{
    const struct proc *p = l->proc;

    return p->exiting || (p->execing != NULL && p->execing != l) ||
           (p->dumper != NULL && p->dumper != l);
}
sigset_t sig_pending_set(struct lwp *l); /* [S] pending in l or its process, not blocked by l */
void sig_recalc_locked(struct lwp *l);   /* [S] l is the caller */
bool sig_default_ignored(int sig);
bool sig_is_stop(int sig);
/* sig_take - dequeue the next signal in `set` for l.  Returns its number and fills *info, or 0 [S]. */
int sig_take(struct lwp *l, sigset_t set, struct siginfo *info);
/*
 * sig_wait - wait until the caller can take a signal in `set`, although it blocks the signal.  Returns the signal's
 * number and fills *info; -ETIMEDOUT: `deadline` has passed (0: do not wait); -EINTR: the caller must handle another
 * signal.  Takes p->sig->lock, and proc_lock.
 */
int sig_wait(sigset_t set, uint64_t deadline, struct siginfo *info);
/*
 * sig_send_entry - send the signal of *e, an entry with e->taken that is in no queue, to process p; or, if tid is not
 * 0, to LWP `tid` of p.  -ESRCH: there is no such LWP.  If the signal is ignored, e->taken(e, NULL) is called.  Takes
 * proc_lock.
 * sig_unsend_entry - take *e out of its queue, if it is in one, without a call of e->taken.  If no other entry has the
 * same signal, the signal is no longer pending; this is what Linux's exec does with the signals of timers [S].
 */
int sig_send_entry(struct proc *p, int tid, struct sigentry *e);
void sig_unsend_entry(struct sigentry *e);
/* sig_retarget - find pending signals that l can no longer take, and wake other LWPs of p that can [P] [S]. */
void sig_retarget(struct proc *p, struct lwp *l);
/*
 * sig_offer_blocked - offer pending signals that l now blocks to the other LWPs (S1).  Called after l's mask has
 * grown for a handler.  Takes proc_lock and p->sig->lock.
 */
void sig_offer_blocked(struct lwp *l);
/* sig_end_process - end p with `status` (as in wait4): interrupt every LWP except the caller [P] [S]. */
void sig_end_process(struct proc *p, int status);
/*
 * sig_requeue - make `sig`, which l has just taken, pending again in q, the queue of l or of its process [S].
 * RLIMIT_SIGPENDING may be exceeded by one signal for each LWP of the process, since each can have taken one.  Above
 * that, or if there is no memory, the siginfo is lost, or a real-time signal.
 */
void sig_requeue(struct lwp *l, struct sigqueue *q, int sig, const struct siginfo *info);
/* sig_flush_ignored - discard `sig`, which is now ignored, from all queues where it is pending [P] [S]. */
void sig_flush_ignored(struct proc *p, int sig);

/* sigframe.c */
#define SIGFRAME_MAX 1184 /* largest frame in bytes, with alignment: AT_MINSIGSTKSZ */
/* sigframe_push - push a frame and make r run the handler of `sig`.  -EFAULT: no space on the stack. */
int sigframe_push(struct lwp *l, struct regs *r, int sig, const struct siginfo *info,
                  const struct sigaction *act, sigset_t old_mask);
/* sig_on_altstack - whether stack pointer `sp` is in l's alternate stack. */
bool sig_on_altstack(const struct lwp *l, uint64_t sp);
enum { SS_ONSTACK = 1, SS_DISABLE = 2 };
/* sig_altstack_flags - ss_flags of sigaltstack(2) for stack pointer `sp`. */
int32_t sig_altstack_flags(const struct lwp *l, uint64_t sp);
/* sigframe_pop - rt_sigreturn(2): registers and mask from the frame at r->rsp.  -EFAULT: bad frame. */
int sigframe_pop(struct lwp *l, struct regs *r);

/* Linux's siginfo as user programs see it: 128 bytes. */
struct user_siginfo {
    int32_t signo, err, code, pad;
    uint8_t fields[112];
};
void siginfo_to_user(struct user_siginfo *u, const struct siginfo *k);

#endif
