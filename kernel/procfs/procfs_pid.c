// SPDX-License-Identifier: MIT
/*
 * procfs_pid.c - /proc/N/{stat,status,comm,cmdline,environ,io,limits}: the files that ps and top read.
 *
 * THEORY      The fields that proc_lock guards are copied into a struct view under the lock; the text is made
 *             from that copy.  A view shows a whole process or one thread.  Times are in ticks of 1/100 s,
 *             sizes in bytes or pages as in proc(5).
 * LOCKING     The reader holds proc_lock, with [s] inside it, while it fills the view.  Afterwards it holds no lock.
 * SEE ALSO    procfs.c, proc(5)
 */
#include "lgrp/lgrp.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "proc/ptrace.h"
#include "procfs/procfs.h"
#include "tty/tty.h"

/* The fields of a process, or of one thread, for the text of a file. */
struct view {
    int pid, ppid, pgid, sid, tty_nr, tpgid, tid;
    char state;
    unsigned nthreads;
    char name[16];
    struct cred cred;
    uint64_t utime, stime, minflt, majflt, nvcsw, nivcsw; /* ticks; counts */
    struct rusage_kernel waited;
    int cpu, nice, policy, rt_priority, home;
    int lwpid, pri, on_cpu; /* on_cpu: the CPU on which the thread runs; -1: it does not run */
    uint64_t start_ns;
    sigset_t pending, shared_pending, blocked, ignored, caught;
    struct cpumask allowed;
    int exit_signal, exit_status;
    uint64_t arg_start, arg_end, env_start, env_end, auxv_start, auxv_end;
    uint64_t rss_limit;
    int tracer; /* pid; 0: none */
};

static char state_letter(const struct proc *p, const struct lwp *l)
{
    if (p->state != PROC_LIVE || l == NULL)
        return 'Z';
    if (l->pt != NULL && (l->pt->state == PT_STOPPED || l->pt->state == PT_LISTENING))
        return 't';
    if (p->stopped)
        return 'T';
    switch (l->t.state) {
    case TS_RUNNABLE:
    case TS_ONPROC:
        return 'R';
    case TS_ZOMBIE:
        return 'Z';
    default:
        return l->t.sleep_sig ? 'S' : 'D';
    }
}

/* The device number in Linux's format, as in stat(2). */
static int device_number(uint64_t rdev)
{
    return (int)rdev;
}

static void view_signals(struct proc *p, struct lwp *l, struct view *v)
{
    struct sighand *sh = p->sig;

    if (sh == NULL)
        return;
    spin_lock(&sh->lock);
    v->pending = l->pending.set;
    v->shared_pending = p->pending.set;
    v->blocked = l->sigmask;
    for (int i = 0; i < NSIG; i++) {
        if (sh->act[i].handler == SIG_IGN)
            v->ignored |= SIGBIT(i + 1);
        else if (sh->act[i].handler != SIG_DFL)
            v->caught |= SIGBIT(i + 1);
    }
    spin_unlock(&sh->lock);
}

static void view_lwp(struct proc *p, struct lwp *l, struct view *v)
{
    v->tid = l->t.tid;
    v->tracer = lwp_is_traced(l) ? l->pt->tracer->pid : 0;
    v->cred = *l->cred;
    v->cpu = l->t.cpu != NULL ? (int)l->t.cpu->id : 0;
    v->nice = p->nice;
    v->policy = l->sched_policy;
    v->rt_priority = l->sched_prio;
    v->home = l->t.lg.home != LGRP_NONE ? l->t.lg.home : -1;
    v->lwpid = l->lwpid;
    v->pri = l->t.pri;
    v->on_cpu = l->t.state == TS_ONPROC ? v->cpu : -1;
    memcpy(v->name, l->t.name, sizeof v->name);
    v->name[sizeof v->name - 1] = '\0';
    thread_get_affinity(&l->t, &v->allowed);
    view_signals(p, l, v);
}

static void view_session(const struct proc *p, struct view *v)
{
    const struct session *s = p->pgrp->session;

    v->pgid = p->pgrp->pgid;
    v->sid = s->sid;
    v->tpgid = s->tty != NULL ? s->tty->fg_pgid : -1;
    v->tty_nr = s->tty != NULL ? device_number(s->tty->rdev) : 0;
}

/*
 * The first LWP of p if tid is 0, else the LWP with id `tid`; NULL: no such LWP.  The caller holds
 * proc_lock.
 */
static struct lwp *pick_lwp(struct proc *p, uint64_t tid)
{
    struct lwp *first = list_empty(&p->lwps) ? NULL : list_first(&p->lwps, struct lwp, proc_link);
    struct lwp *l;

    /* The LWP of a zombie is not found by its id any more. */
    if (tid == 0 || (first != NULL && (uint64_t)first->t.tid == tid))
        return first;
    l = lwp_find((int)tid);
    return l != NULL && l->proc == p ? l : NULL;
}

bool procfs_exists(const struct pseudo_node *dir, struct pseudo_arg arg)
{
    struct proc *p;
    bool yes;

    spin_lock(&proc_lock);
    p = proc_find((int)arg.a);
    yes = p != NULL && (dir->tag != TAG_THREAD || pick_lwp(p, arg.b) != NULL);
    spin_unlock(&proc_lock);
    return yes;
}

static void view_usage(struct proc *p, struct lwp *only, struct view *v)
{
    struct rusage_kernel ru;

    if (only != NULL)
        rusage_lwp(only, &ru);
    else
        rusage_collect(p, &ru);
    v->utime = ru.utime_us / (1000000 / HZ);
    v->stime = ru.stime_us / (1000000 / HZ);
    v->minflt = ru.minflt, v->majflt = ru.majflt;
    v->nvcsw = ru.nvcsw, v->nivcsw = ru.nivcsw;
}

/*
 * Fill in *v for process arg.a or, with TAG_THREAD, for thread arg.b of this process.  0 or -ESRCH.
 */
static int take_process_view(const struct pseudo_node *n, struct pseudo_arg arg, struct view *v)
{
    bool thread = n->tag == TAG_THREAD;
    struct proc *p;
    struct lwp *l = NULL;

    memset(v, 0, sizeof *v);
    spin_lock(&proc_lock);
    p = proc_find((int)arg.a);
    if (p != NULL)
        l = pick_lwp(p, thread ? arg.b : 0);
    if (p == NULL || (thread && l == NULL)) {
        spin_unlock(&proc_lock);
        return -ESRCH;
    }
    v->pid = p->pid;
    v->tid = p->pid;
    v->ppid = p->parent != NULL ? p->parent->pid : 0;
    v->nthreads = p->nlwps;
    v->state = state_letter(p, l);
    v->start_ns = p->start_ns;
    v->waited = p->waited;
    v->exit_signal = p->exit_signal;
    v->exit_status = p->exit_status;
    v->arg_start = p->arg_start, v->arg_end = p->arg_end;
    v->env_start = p->env_start, v->env_end = p->env_end;
    v->auxv_start = p->auxv_start, v->auxv_end = p->auxv_end;
    v->rss_limit = p->rlim[RLIMIT_RSS].cur;
    v->home = v->on_cpu = -1;
    view_session(p, v);
    view_usage(p, thread ? l : NULL, v);
    if (l != NULL)
        view_lwp(p, l, v);
    if (!thread)
        v->tid = p->pid;
    spin_unlock(&proc_lock);
    return 0;
}

/* The sizes of the address space of process arg.a; zeros if the process has no address space. */
static void get_memory_usage(struct pseudo_arg arg, struct as_usage *u)
{
    bool gone;
    struct as *as = procfs_as(arg.a, &gone);

    memset(u, 0, sizeof *u);
    if (as == NULL)
        return;
    as_usage(as, u);
    as_release(as);
}

PROCFS_SHOW(procfs_show_stat)
{
    struct view v;
    struct as_usage u;
    int err = take_process_view(n, arg, &v);
    uint64_t ms10 = 10000000;

    if (err != 0)
        return err;
    if (procfs_check_inspect(arg.a) != 0) /* hide addresses and status from other users */
        v.arg_start = v.arg_end = v.env_start = v.env_end = 0, v.exit_status = 0;
    get_memory_usage(arg, &u);
    text_add(out, "%d (%s) %c %d %d %d %d %d 0 ", v.tid, v.name, v.state, v.ppid, v.pgid, v.sid,
             v.tty_nr, v.tpgid);
    text_add(out, "%lu %lu %lu %lu ", v.minflt, v.waited.minflt, v.majflt, v.waited.majflt);
    text_add(out, "%lu %lu %lu %lu ", v.utime, v.stime, v.waited.utime_us / 10000,
             v.waited.stime_us / 10000);
    text_add(out, "%d %d %u 0 %lu ", v.rt_priority > 0 ? -1 - v.rt_priority : 20 + v.nice, v.nice,
             v.nthreads, v.start_ns / ms10);
    text_add(out, "%lu %lu %lu 0 0 0 0 0 ", u.virt_pages * PAGE_SIZE, u.rss_pages, v.rss_limit);
    text_add(out, "%lu %lu %lu %lu 0 0 0 %d %d %d %d ", v.pending & 0x7fffffff,
             v.blocked & 0x7fffffff, v.ignored & 0x7fffffff, v.caught & 0x7fffffff, v.exit_signal,
             v.cpu, v.rt_priority, v.policy);
    text_add(out, "0 0 0 0 0 0 %lu %lu %lu %lu %d\n", v.arg_start, v.arg_end, v.env_start,
             v.env_end, v.exit_status);
    return 0;
}

PROCFS_SHOW(procfs_show_statm)
{
    struct as_usage u;
    struct proc *p = procfs_hold(arg.a);

    if (p == NULL)
        return -ESRCH;
    proc_release(p);
    get_memory_usage(arg, &u);
    text_add(out, "%lu %lu 0 %lu 0 %lu 0\n", u.virt_pages, u.rss_pages, u.text_pages,
             u.data_pages + u.stack_pages);
    return 0;
}

static const char *process_state_name(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "sleeping";
    case 'D':
        return "disk sleep";
    case 'T':
        return "stopped";
    case 't':
        return "tracing stop";
    default:
        return "zombie";
    }
}

static void show_status_memory(struct text *out, const struct as_usage *u)
{
    const struct {
        const char *name;
        uint64_t pages;
    } row[] = {
        {"VmPeak", u->virt_pages},    {"VmSize", u->virt_pages}, {"VmLck", u->locked_pages},
        {"VmHWM", u->peak_rss_pages}, {"VmRSS", u->rss_pages},   {"VmData", u->data_pages},
        {"VmStk", u->stack_pages},    {"VmExe", u->text_pages},
    };

    for (unsigned i = 0; i < array_size(row); i++)
        text_add(out, "%s:\t%8lu kB\n", row[i].name, row[i].pages * (PAGE_SIZE / 1024));
}

static void show_status_masks(struct text *out, const struct view *v)
{
    uint64_t mems = (nnodes < 64 ? 1ull << nnodes : 0) - 1;

    text_str(out, "Cpus_allowed:\t");
    text_mask(out, v->allowed.w, ncpu);
    text_str(out, "\nCpus_allowed_list:\t");
    text_list(out, v->allowed.w, ncpu);
    text_str(out, "\nMems_allowed:\t");
    text_mask(out, &mems, nnodes);
    text_str(out, "\nMems_allowed_list:\t");
    text_list(out, &mems, nnodes);
    text_str(out, "\n");
}

/* Like Linux, so that a name cannot add lines to the file: "\n" for a newline, two backslashes for one. */
static void show_status_name(struct text *out, const char *name)
{
    text_str(out, "Name:\t");
    for (; *name != '\0'; name++) {
        if (*name == '\n' || *name == '\\')
            text_str(out, "\\");
        text_bytes(out, *name == '\n' ? "n" : name, 1);
    }
}

/*
 * The share of CPU that process arg.a or, with TAG_THREAD, thread arg.b has used lately, as thread_recent_share().
 * 0 if it has ended.
 */
static uint64_t get_recent_share(const struct pseudo_node *n, struct pseudo_arg arg)
{
    uint64_t share = 0;
    struct proc *p;
    struct lwp *l = NULL;

    spin_lock(&proc_lock);
    p = proc_find((int)arg.a);
    if (p != NULL && n->tag == TAG_THREAD)
        l = pick_lwp(p, arg.b);
    if (l != NULL)
        share = thread_recent_share(&l->t);
    else if (p != NULL && p->state == PROC_LIVE && n->tag == TAG_WHOLE)
        LIST_FOREACH (l, &p->lwps, proc_link)
            share += thread_recent_share(&l->t);
    spin_unlock(&proc_lock);
    return share;
}

/*
 * The lines that Linux does not have, for prstat: the home of the thread, and how it runs.  Cpu_time is in ms.
 * Cpu_recent is in hundredths of a percent of a CPU; for a process, the sum of its threads.
 */
static void show_status_dispatch(struct text *out, const struct view *v, uint64_t recent)
{
    text_add(out, "Home_lgrp:\t%d\nLwpid:\t%d\nOn_cpu:\t%d\nPriority:\t%d\nNice:\t%d\n", v->home,
             v->lwpid, v->on_cpu, v->pri, v->nice);
    text_add(out, "Cpu_time:\t%lu\nCpu_recent:\t%lu\n", (v->utime + v->stime) * (1000 / HZ),
             recent);
}

PROCFS_SHOW(procfs_show_status)
{
    struct view v;
    struct as_usage u;
    int err = take_process_view(n, arg, &v);

    if (err != 0)
        return err;
    get_memory_usage(arg, &u);
    show_status_name(out, v.name);
    text_add(out, "\nState:\t%c (%s)\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nTracerPid:\t%d\n", v.state,
             process_state_name(v.state), v.pid, v.tid, v.ppid, v.tracer);
    text_add(out, "Uid:\t%u\t%u\t%u\t%u\n", v.cred.uid, v.cred.euid, v.cred.suid, v.cred.fsuid);
    text_add(out, "Gid:\t%u\t%u\t%u\t%u\nGroups:\t", v.cred.gid, v.cred.egid, v.cred.sgid,
             v.cred.fsgid);
    for (unsigned i = 0; i < v.cred.ngroups; i++)
        text_add(out, "%u ", v.cred.groups[i]);
    text_str(out, "\n");
    if (v.state != 'Z')
        show_status_memory(out, &u);
    text_add(out, "Threads:\t%u\nSigPnd:\t%016lx\nShdPnd:\t%016lx\n", v.nthreads, v.pending,
             v.shared_pending);
    text_add(out, "SigBlk:\t%016lx\nSigIgn:\t%016lx\nSigCgt:\t%016lx\n", v.blocked, v.ignored,
             v.caught);
    show_status_masks(out, &v);
    text_add(out, "voluntary_ctxt_switches:\t%lu\nnonvoluntary_ctxt_switches:\t%lu\n", v.nvcsw,
             v.nivcsw);
    show_status_dispatch(out, &v, get_recent_share(n, arg));
    return 0;
}

PROCFS_SHOW(procfs_show_comm)
{
    struct view v;
    int err = take_process_view(n, arg, &v);

    if (err == 0)
        text_add(out, "%s\n", v.name);
    return err;
}

/* Only threads of the process can change the name, as on Linux.  Other threads get -EINVAL. */
int procfs_store_comm(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t len)
{
    struct proc *p;
    struct lwp *l = NULL;
    int err = -ESRCH;

    if (len > 0 && buf[len - 1] == '\n')
        buf[len - 1] = '\0';
    spin_lock(&proc_lock);
    p = proc_find((int)arg.a);
    if (p != NULL)
        l = pick_lwp(p, n->tag == TAG_THREAD ? arg.b : 0);
    if (l != NULL) {
        err = p == curproc() ? 0 : -EINVAL;
        if (err == 0)
            str_copy(l->t.name, buf, sizeof l->t.name);
    }
    spin_unlock(&proc_lock);
    return err;
}

/*
 * The end of cmdline.  A program that gives itself a longer name (setproctitle) overwrites the NUL after the arguments
 * and continues in the environment; as on Linux the name then ends with its first NUL, after at most a page.
 */
static uint64_t cmdline_end(struct as *as, const struct view *v)
{
    uint64_t at, end = min_of(v->env_end, v->arg_start + PAGE_SIZE);
    char c = 0;

    if (v->arg_end == v->arg_start || v->env_start != v->arg_end ||
        as_access_remote(as, v->arg_end - 1, &c, 1, ACCESS_READ) != 1 || c == 0)
        return v->arg_end;
    for (at = v->arg_start; at < end; at++)
        if (as_access_remote(as, at, &c, 1, ACCESS_READ) != 1 || c == 0)
            return at + 1;
    return at;
}

/* cmdline, environ and auxv: bytes of the process's own memory, between two addresses that exec has recorded. */
PROCFS_SHOW(procfs_show_strings)
{
    struct view v;
    char buf[256];
    bool gone;
    struct as *as = procfs_as(arg.a, &gone);
    /* after procfs_as(), so that it is right for this memory */
    int err = n->tag != TAG_CMDLINE ? procfs_check_inspect(arg.a) : 0;
    uint64_t at, end;
    static const struct pseudo_node whole = {.tag = TAG_WHOLE};

    if (err == 0)
        err = take_process_view(&whole, arg, &v);
    if (as == NULL)
        return err == 0 && gone ? -ESRCH : err;
    if (err != 0) {
        as_release(as);
        return err;
    }
    at = v.arg_start, end = 0;
    if (n->tag == TAG_CMDLINE)
        end = cmdline_end(as, &v);
    else if (n->tag == TAG_ENVIRON)
        at = v.env_start, end = v.env_end;
    else if (n->tag == TAG_AUXV)
        at = v.auxv_start, end = v.auxv_end;
    while (at < end) {
        long got = as_access_remote(as, at, buf, min_of(end - at, sizeof buf), ACCESS_READ);

        if (got <= 0)
            break;
        text_bytes(out, buf, (size_t)got);
        at += (uint64_t)got;
    }
    as_release(as);
    return 0;
}

PROCFS_SHOW(procfs_show_io)
{
    int err = procfs_check_inspect(arg.a);
    struct io_counts io = {0};
    struct proc *p;
    struct lwp *l = NULL;

    if (err != 0)
        return err;
    spin_lock(&proc_lock);
    p = proc_find((int)arg.a);
    if (p != NULL && n->tag == TAG_THREAD)
        l = pick_lwp(p, arg.b);
    if (l != NULL)
        io = l->io;
    else if (p != NULL && n->tag == TAG_WHOLE)
        io_collect(p, &io);
    else
        err = -ESRCH;
    spin_unlock(&proc_lock);
#define X(name) text_add(out, #name ": %lu\n", io.name);
    if (err == 0) {
        IO_COUNTS(X)
    }
#undef X
    return err;
}

PROCFS_SHOW(procfs_show_limits)
{
    static const struct {
        const char *name, *unit;
    } row[RLIM_NLIMITS] = {
        [RLIMIT_CPU] = {"Max cpu time", "seconds"},
        [RLIMIT_FSIZE] = {"Max file size", "bytes"},
        [RLIMIT_DATA] = {"Max data size", "bytes"},
        [RLIMIT_STACK] = {"Max stack size", "bytes"},
        [RLIMIT_CORE] = {"Max core file size", "bytes"},
        [RLIMIT_RSS] = {"Max resident set", "bytes"},
        [RLIMIT_NPROC] = {"Max processes", "processes"},
        [RLIMIT_NOFILE] = {"Max open files", "files"},
        [RLIMIT_MEMLOCK] = {"Max locked memory", "bytes"},
        [RLIMIT_AS] = {"Max address space", "bytes"},
        [RLIMIT_LOCKS] = {"Max file locks", "locks"},
        [RLIMIT_SIGPENDING] = {"Max pending signals", "signals"},
        [RLIMIT_MSGQUEUE] = {"Max msgqueue size", "bytes"},
        [RLIMIT_NICE] = {"Max nice priority", ""},
        [RLIMIT_RTPRIO] = {"Max realtime priority", ""},
        [RLIMIT_RTTIME] = {"Max realtime timeout", "us"},
    };
    struct rlimit lim[RLIM_NLIMITS];
    struct proc *p = procfs_hold(arg.a);

    if (p == NULL)
        return -ESRCH;
    mutex_enter(&p->mutex);
    memcpy(lim, p->rlim, sizeof lim);
    mutex_exit(&p->mutex);
    proc_release(p);
    text_add(out, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
    for (unsigned i = 0; i < RLIM_NLIMITS; i++) {
        uint64_t value[2] = {lim[i].cur, lim[i].max};

        text_add(out, "%-25s ", row[i].name);
        for (unsigned k = 0; k < 2; k++) {
            if (value[k] == RLIM_INFINITY)
                text_add(out, "%-20s ", "unlimited");
            else
                text_add(out, "%-20lu ", value[k]);
        }
        text_add(out, "%-10s\n", row[i].unit);
    }
    return 0;
}
