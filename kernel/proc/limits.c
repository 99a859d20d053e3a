// SPDX-License-Identifier: MIT
/*
 * limits.c - resource limits, usage of each user, and times of processes.
 *
 * THEORY      The limit on LWPs (RLIMIT_NPROC) is for the sum over all processes with the same real user id.  So
 *             a fork bomb uses up only its own user's share.  The machine has a limit of max_nprocs LWPs, and
 *             the last RESERVED_LWPS of these are kept for the superuser.  A zombie counts until a parent has
 *             waited for it.  Kernel memory that a user's files need is counted by user, too (mem/usermem.h).
 *             CPU time is measured in two ways.  The dispatcher measures the exact time on CPU; the clock
 *             takes samples, which distinguish user mode from kernel mode.  The reported times are the exact
 *             sum, divided in the ratio of the samples.
 *             RLIMIT_CPU limits the exact sum over all LWPs of a process.  Each LWP of a process with
 *             this limit has an alarm (thread_set_alarm) on its own CPU time.  The alarm is set to the earliest
 *             moment at which the process could reach the limit if all other LWPs ran at the same time.
 *             After the alarm, the LWP checks the sum on its way to user mode and sets the next alarm.  A
 *             sleeping LWP causes no work.
 * LOCKING     proc_lock guards ucounts and totals, except for atomic fields.  A thread that changes p->rlim holds
 *             p->mutex.
 * TUNABLES    max_nprocs, maxuprc
 * SEE ALSO    user/test/forkbomb.c
 */
#include "proc/proc_impl.h"

#include "lib/math.h"
#include "lib/errno.h"
#include "mem/page.h"
#include "stat/panic.h"
#include "proc/itimer.h"
#include "stat/tunable.h"
#include "pages/reserve.h"

enum { RESERVED_LWPS = 16, PAGES_PER_LWP = 64, LWPS_MAX = 30000 };

uint32_t max_nprocs; /* 0: computed from the size of memory */
TUNABLE(max_nprocs, 64, LWPS_MAX,
        "default memory / 256 KiB, at most 30000; LWPs on the machine; read by clone");
uint32_t maxuprc;
TUNABLE_BOOT(maxuprc, 16, LWPS_MAX,
             "default max_nprocs / 2; LWPs of one user (initial RLIMIT_NPROC); read at boot");

static struct list uhash[64];
static struct ucount root_ucount = {.refs = 1, .fss.shares = FSS_SHARES};
static uint32_t total_lwps;
static struct kmem_cache *ucount_cache;

struct usermem *proc_usermem(void)
{
    return curthread != NULL && curthread->lwp != NULL ? &curlwp()->ucount->mem : &root_ucount.mem;
}

bool proc_is_superuser(void)
{
    return curthread == NULL || curthread->lwp == NULL || cred_superuser(curcred());
}

void limits_setup(void)
{
    uint64_t by_memory = mem_total_pages() / PAGES_PER_LWP;

    if (max_nprocs == 0)
        max_nprocs = (uint32_t)min_of(by_memory, (uint64_t)LWPS_MAX);
    if (maxuprc == 0)
        maxuprc = max_nprocs / 2;
    for (unsigned i = 0; i < array_size(uhash); i++)
        list_init(&uhash[i]);
    list_push_back(&uhash[0], &root_ucount.hash_link);
    ucount_cache = kmem_cache_create("ucount", sizeof(struct ucount), 0);
    if (ucount_cache == NULL)
        panic("no memory for the cache of ucount");
    usermem_init();
}

void limits_init(struct rlimit *rlim)
{
    for (unsigned i = 0; i < RLIM_NLIMITS; i++)
        rlim[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    rlim[RLIMIT_STACK].cur = 8ul << 20;
    rlim[RLIMIT_CORE].cur = 0;
    rlim[RLIMIT_NPROC] = (struct rlimit){maxuprc, maxuprc};
    rlim[RLIMIT_NOFILE] = (struct rlimit){1024, 4096};
    rlim[RLIMIT_MEMLOCK] = (struct rlimit){8ul << 20, 8ul << 20};
    rlim[RLIMIT_SIGPENDING] = (struct rlimit){maxuprc, maxuprc};
    rlim[RLIMIT_MSGQUEUE] = (struct rlimit){819200, 819200};
    rlim[RLIMIT_NICE] = (struct rlimit){0, 0};
    rlim[RLIMIT_RTPRIO] = (struct rlimit){0, 0};
}

struct ucount *ucount_get(uint32_t uid)
{
    struct list *head = &uhash[uid % array_size(uhash)];
    struct ucount *uc;

    LIST_FOREACH (uc, head, hash_link)
        if (uc->uid == uid) {
            uc->refs++;
            return uc;
        }
    uc = kmem_cache_alloc(ucount_cache);
    if (uc == NULL)
        return NULL;
    *uc = (struct ucount){.uid = uid, .refs = 1, .fss.shares = FSS_SHARES};
    list_push_front(head, &uc->hash_link);
    return uc;
}

/*
 * Drops an LWP's reference to its user's record.  Queued signals and open files can exist longer than the LWP that
 * was charged.  Then the record stays in the table for the user's next LWP, and a later ucount_put() can free it.  A
 * record with shares that the superuser has set is never freed.
 */
void ucount_put(struct ucount *uc)
{
    if (--uc->refs == 0 && atomic_load(&uc->nsignals) == 0 && atomic_load(&uc->mem.bytes) == 0 &&
        uc->fss.shares == FSS_SHARES) {
        list_remove(&uc->hash_link);
        kmem_cache_free(ucount_cache, uc);
    }
}

void ucount_charge(struct ucount *uc)
{
    uc->nlwps++;
    uc->refs++;
    total_lwps++;
}

void ucount_uncharge(struct ucount *uc)
{
    uc->nlwps--;
    total_lwps--;
    ucount_put(uc);
}

int lwp_charge(struct lwp *l, struct ucount *uc, const struct cred *cr, uint64_t limit)
{
    bool root = cred_superuser(cr);

    if (total_lwps + (root ? 0 : RESERVED_LWPS) >= max_nprocs)
        return -EAGAIN;
    if (uc->nlwps >= limit && !root)
        return -EAGAIN;
    ucount_charge(uc);
    l->ucount = uc;
    thread_set_fss(&l->t, &uc->fss);
    return 0;
}

void lwp_uncharge(struct lwp *l)
{
    thread_set_fss(&l->t, NULL); /* because l can still run for a moment */
    ucount_uncharge(l->ucount);
    l->ucount = NULL;
}

/* ---- CPU time ---- */

enum { CPU_LOOK_MS = 10 }; /* shortest CPU time between two checks of an LWP, ms */

void limit_cpu_inherit(struct lwp *l, bool first)
{
    if (first)
        l->proc->xcpu_next_s = l->proc->rlim[RLIMIT_CPU].cur;
    if (unlikely(l->proc->rlim[RLIMIT_CPU].cur != RLIM_INFINITY))
        thread_set_alarm(&l->t, 0);
}

void limit_cpu_changed(struct proc *p)
{
    struct lwp *l;

    spin_lock(&proc_lock);
    p->xcpu_next_s = p->rlim[RLIMIT_CPU].cur;
    if (p->state == PROC_LIVE)
        LIST_FOREACH (l, &p->lwps, proc_link)
            thread_set_alarm(&l->t, p->xcpu_next_s != RLIM_INFINITY ? 0 : ALARM_NEVER);
    spin_unlock(&proc_lock);
}

void limit_cpu_check(struct lwp *l)
{
    struct proc *p = l->proc;
    uint64_t ms, s, next;

    atomic_fetch_and(&l->t.ast, ~(uint32_t)AST_ALARM);
    spin_lock(&proc_lock);
    ms = proc_cpu_ns(p) / 1000000;
    s = ms / 1000;
    if (s >= p->rlim[RLIMIT_CPU].max) {
        sig_send_proc(p, SIGKILL, NULL);
    } else if (s >= p->xcpu_next_s) {
        sig_send_proc(p, SIGXCPU, NULL);
        p->xcpu_next_s = s + 1;
    }
    next = max_of(min_of(p->xcpu_next_s, p->rlim[RLIMIT_CPU].max), s + 1);
    next = min_of(next - s, (uint64_t)ALARM_MAX_MS / 1000) * 1000 - ms % 1000;
    thread_set_alarm(&l->t, max_of(next / min_of(p->nlwps, ncpu), (uint64_t)CPU_LOOK_MS));
    spin_unlock(&proc_lock);
    itimer_cpu_runs(p);
}

void rss_note(struct proc *p, struct as *as)
{
    struct as_usage u;

    as_usage(as, &u);
    p->maxrss_kb = max_of(p->maxrss_kb, u.peak_rss_pages * (PAGE_SIZE / 1024));
}

/*
 * Split the CPU time `ns` in the ratio of the samples u (user) and s (kernel).  If there is no sample yet, all of it
 * is user time.  The ratio can change in both directions.  So that neither part decreases, each is at least the value
 * reported before (*told), as in Linux's cputime_adjust().
 */
static void split_cpu_time(uint64_t ns, uint64_t u, uint64_t s, struct cputime *told,
                           struct rusage_kernel *ru)
{
    uint64_t us = ns / 1000;

    if (us > told->user_us + told->sys_us) {
        uint64_t user = u + s == 0 ? us : mul_div(us, u, u + s);

        user = max_of(user, told->user_us);
        user = min_of(user, us - told->sys_us);
        *told = (struct cputime){user, us - user};
    }
    ru->utime_us = told->user_us;
    ru->stime_us = told->sys_us;
}

void times_add_dead(struct proc *p, struct lwp *l)
{
    p->utime_dead += l->t.uticks;
    p->stime_dead += l->t.sticks;
    p->minflt_dead += l->t.minflt;
    p->majflt_dead += l->t.majflt;
    p->nvcsw_dead += l->t.nvcsw;
    p->nivcsw_dead += l->t.nivcsw;
    p->runtime_dead_ns += thread_runtime_ns(&l->t);
    io_counts_add(&p->io_dead, &l->io);
}

void io_counts_add(struct io_counts *to, const struct io_counts *add)
{
#define X(name) to->name += add->name;
    IO_COUNTS(X)
#undef X
}

void io_collect(struct proc *p, struct io_counts *out)
{
    struct lwp *l;

    *out = p->io_dead;
    if (p->state == PROC_LIVE)
        LIST_FOREACH (l, &p->lwps, proc_link)
            io_counts_add(out, &l->io);
}

void io_count_disk(uint64_t read, uint64_t write, uint64_t cancelled)
{
    struct lwp *l = curthread->lwp;

    if (l == NULL)
        return;
    l->io.read_bytes += read;
    l->io.write_bytes += write;
    l->io.cancelled_write_bytes += cancelled;
}

void rusage_collect(struct proc *p, struct rusage_kernel *ru)
{
    uint64_t u = p->utime_dead, s = p->stime_dead, ns = p->runtime_dead_ns;
    struct lwp *l;

    *ru = (struct rusage_kernel){.minflt = p->minflt_dead,
                                 .majflt = p->majflt_dead,
                                 .nvcsw = p->nvcsw_dead,
                                 .nivcsw = p->nivcsw_dead,
                                 .maxrss_kb = p->maxrss_kb};
    if (p->state == PROC_LIVE)
        LIST_FOREACH (l, &p->lwps, proc_link) {
            u += l->t.uticks;
            s += l->t.sticks;
            ns += thread_runtime_ns(&l->t);
            ru->minflt += l->t.minflt;
            ru->majflt += l->t.majflt;
            ru->nvcsw += l->t.nvcsw;
            ru->nivcsw += l->t.nivcsw;
        }
    split_cpu_time(ns, u, s, &p->told, ru);
}

void rusage_lwp(struct lwp *l, struct rusage_kernel *ru)
{
    *ru = (struct rusage_kernel){
        .minflt = l->t.minflt, .majflt = l->t.majflt, .nvcsw = l->t.nvcsw, .nivcsw = l->t.nivcsw};
    split_cpu_time(thread_runtime_ns(&l->t), l->t.uticks, l->t.sticks, &l->told, ru);
}

uint64_t proc_fsize_limit(void)
{
    return curthread->lwp != NULL ? limit(RLIMIT_FSIZE) : RLIM_INFINITY;
}
