// SPDX-License-Identifier: MIT
/*
 * oom.c - chooses the process that is killed when there is no memory for a page.
 *
 * THEORY      Some memory is promised to a program when the program maps it (pages/reserve.c).  This memory is
 *             always available.  Other memory is not promised: the kernel allocates it while frames are free.
 *             When no frames are left, a process must be killed.  The kernel kills the process that has most
 *             memory beyond its promise; then the other processes try again.
 *             Memory beyond the promise is memory mapped without a promise, page tables that promised memory
 *             does not need, files, and shared memory.  The search also sums it by user, because many small
 *             processes fill memory in the same way as one large process.
 *             If no process has much beyond its promise and the superuser needs memory, the largest process
 *             of an ordinary user is killed, because the last part of memory is kept for the superuser.
 *             A process that was killed more than VICTIM_TICKS ago and still exists is skipped, because it
 *             is perhaps waiting for another process.
 *             If a fault fails although there is free memory, it needed memory of one board (MPOL_BIND), several
 *             contiguous frames, or a page table that cannot be promised.  Then only the faulting
 *             process itself is killed.
 *             There are two callers.  A thread that has waited for a frame for some turns of the
 *             pageout hands calls oom_frees(), so that a small write does not fail while a process is
 *             being killed.  A page fault that still finds no frame calls oom_page_fault().  If nothing else
 *             helps, this function kills its own process.
 *             A system call can hold locks that the search takes, or that the end of an address space needs.
 *             Therefore a separate thread does the search for it.
 * INVARIANTS  I1  process 1 is never killed
 * LOCKING     The search takes proc_lock.  oom_lock (RANK_POLL) guards requests to the thread.
 * SEE ALSO    docs/pageout.md, tests/attack/memory.c
 */
#include "proc/proc_impl.h"

#include "stat/panic.h"
#include "pages/pageout.h"
#include "x86/trap.h"
#include "mem/usermem.h"

enum {
    RETRY_NS = 20000000,   /* 20 ms: one wait for memory or for a search */
    TRIES = 2,             /* waits before a faulting process kills itself */
    USERS = 8,             /* users that one search compares */
    HOG = 1024,            /* pages; programs and their libraries have fewer pages than this */
    USERS_PART = 16,       /* 1/16 of all memory is the most that a user may have beyond promises */
    VICTIM_TICKS = 2 * HZ, /* 2 s: a victim that exists longer is skipped */
    SEARCH_NAPS = 50,      /* most waits of RETRY_NS: the search can need a lock of the waiter */
};

static struct spinlock oom_lock = SPINLOCK_INIT(RANK_POLL);
static struct cv oom_cv;
static bool oom_wanted, oom_for_root; /* under oom_lock */
static uint64_t oom_begun;            /* searches that the thread has begun; under oom_lock */
static _Atomic uint64_t oom_ended, oom_kills;

/* The pages that a user's processes have beyond their promises. */
struct taker {
    uint32_t uid;
    int64_t own;        /* private memory of all processes of the user */
    int64_t most;       /* all memory beyond its promise of the process that has most of it */
    struct proc *worst; /* the process of `most`, with a reference; NULL: this entry is free */
};

/* The state of a search for a process to kill. */
struct search {
    struct taker taker[USERS];
    int64_t largest;    /* pages of the largest process of an ordinary user */
    struct proc *large; /* the process of `largest`, with a reference */
};

/* The entry of user `uid`.  A new one replaces the entry with the least private memory. */
static struct taker *find_or_make_taker(struct taker *takers, uint32_t uid)
{
    struct taker *least = takers;

    for (struct taker *t = takers; t < takers + USERS; t++) {
        if (t->worst != NULL && t->uid == uid)
            return t;
        if (t->own < least->own)
            least = t;
    }
    if (least->worst != NULL)
        proc_release(least->worst);
    *least = (struct taker){.uid = uid};
    return least;
}

/* If p has more than *most pages, make p the new *best, with a reference, and set *most. */
static void keep_larger_process(struct proc **best, int64_t *most, struct proc *p, int64_t pages)
{
    if (pages <= *most)
        return;
    if (*best != NULL)
        proc_release(*best);
    proc_hold(p);
    *best = p;
    *most = pages;
}

/* Add p to the search.  The caller has a reference to p.  roots: count processes of uid 0, too.  Sleeps. */
static void evaluate_process(struct search *s, struct proc *p, uint32_t uid, bool roots)
{
    struct as *as = proc_as_hold(p);
    struct taker *t;
    uint64_t rss;
    int64_t own, n;

    if (as == NULL)
        return;
    n = as_unpromised(as, &own, &rss);
    as_release(as);
    if (uid != 0)
        keep_larger_process(&s->large, &s->largest, p, (int64_t)rss);
    if (n <= 0 || (uid == 0 && !roots))
        return;
    t = find_or_make_taker(s->taker, uid);
    t->own += own;
    keep_larger_process(&t->worst, &t->most, p, n);
}

/*
 * Search for the process to kill.  Returns the process, with a reference; NULL: no process and no user has
 * much beyond the promise.
 * 1. If a user's private memory beyond the promise is more than 1/USERS_PART of all memory: that user's
 * process with most memory beyond the promise.
 * 2. Else the process with most beyond the promise, if that is more than HOG pages.
 * 3. Else, with for_root, the largest process of an ordinary user, however small.
 * @roots  processes of the superuser can be killed, too
 * Sleeps.
 */
static struct proc *select_oom_victim(bool for_root, bool roots)
{
    struct search s = {0};
    struct taker *t, *user = s.taker, *process = s.taker;
    struct proc *p, *out = NULL;

    for (int pid = 0; (pid = proc_next(pid + 1)) > 0;) {
        uint32_t uid = 0;

        spin_lock(&proc_lock);
        p = proc_find(pid);
        if (p != NULL &&
            (p == proc_initial || (p->memory_kill != 0 && lbolt - p->memory_kill > VICTIM_TICKS)))
            p = NULL;
        if (p != NULL) {
            proc_hold(p);
            uid = proc_uid(p);
        }
        spin_unlock(&proc_lock);
        if (p == NULL)
            continue;
        evaluate_process(&s, p, uid, roots);
        proc_release(p);
    }
    for (t = s.taker; t < s.taker + USERS; t++) {
        user = t->own > user->own ? t : user;
        process = t->most > process->most ? t : process;
    }
    if (user->own > (int64_t)mem_total_pages() / USERS_PART)
        out = user->worst;
    else if (process->most > HOG)
        out = process->worst;
    else if (for_root)
        out = s.large;
    if (out != NULL)
        proc_hold(out);
    for (t = s.taker; t < s.taker + USERS; t++)
        if (t->worst != NULL)
            proc_release(t->worst);
    if (s.large != NULL)
        proc_release(s.large);
    return out;
}

/* Kill p.  The caller has a reference to p.  The first time, prints a warning and stores the time in p->memory_kill. */
static void kill_for_memory(struct proc *p)
{
    const struct lwp *l;

    spin_lock(&proc_lock);
    l = list_empty(&p->lwps) ? NULL : list_first(&p->lwps, struct lwp, proc_link);
    if (!p->exiting && p->memory_kill == 0 && l != NULL)
        warn("out of memory: killed process %d (%s)", p->pid, l->t.name);
    if (p->memory_kill == 0) /* several threads can have chosen p at the same time */
        p->memory_kill = lbolt | 1;
    spin_unlock(&proc_lock);
    sig_send_proc(p, SIGKILL, NULL);
}

/* Search for a process and kill it.  Returns whether a process was found.  Sleeps. */
static bool try_oom_kill(bool for_root)
{
    struct proc *worst = select_oom_victim(for_root, for_root);

    if (worst == NULL && !for_root) /* processes of the superuser are killed last */
        worst = select_oom_victim(false, true);
    if (worst == NULL)
        return false;
    kill_for_memory(worst);
    proc_release(worst);
    oom_kills++;
    return true;
}

static void oom_main(void *arg)
{
    bool for_root;

    (void)arg;
    for (;;) {
        spin_lock(&oom_lock);
        while (!oom_wanted)
            cv_wait_spin(&oom_cv, &oom_lock, "out of memory");
        oom_wanted = false;
        for_root = oom_for_root;
        oom_for_root = false;
        oom_begun++;
        spin_unlock(&oom_lock);
        try_oom_kill(for_root);
        oom_ended = oom_begun;
    }
}

/*
 * Request a search from the oom thread, and wait for the end of the search, at most SEARCH_NAPS *
 * RETRY_NS.  Returns whether a process was chosen meanwhile.
 */
static bool request_oom_search(bool for_root)
{
    uint64_t kills = oom_kills, begun;

    spin_lock(&oom_lock);
    oom_wanted = true;
    oom_for_root |= for_root;
    begun = oom_begun;
    cv_signal(&oom_cv);
    spin_unlock(&oom_lock);
    for (unsigned i = 0; i == 0 || (i < SEARCH_NAPS && oom_ended <= begun); i++)
        thread_sleep_ns(RETRY_NS);
    return oom_kills != kills;
}

bool oom_frees(void)
{
    if (curthread->lwp == NULL || curproc()->exiting || !pageout_is_short())
        return false;
    return request_oom_search(cred_superuser(curcred())) || as_memory_returns();
}

/*
 * Handles a page fault that found no memory.  If no process has much memory beyond its promise,
 * perhaps such a process is just ending and its memory is being freed.  So the caller tries again
 * while pages of any address space are being freed.  Then it tries TRIES times more, because an
 * address space ends only with its last reference.  After that, it kills its own process.  Each try
 * waits for memory.  Process 1 tries without limit.
 * @user  a fault of user code: the thread holds no lock
 * Returns true: try the access again; false: the process ends.
 */
bool oom_page_fault(bool user)
{
    struct proc *p = curproc();
    bool root = cred_superuser(curcred()), ends, found = false;

    if (pageout_is_short())
        found = user ? try_oom_kill(root) : request_oom_search(root);
    if (!found && p != proc_initial && !as_memory_returns() && ++curthread->lwp->starved > TRIES)
        kill_for_memory(p);
    spin_lock(&proc_lock);
    ends = p->exiting;
    spin_unlock(&proc_lock);
    if (!ends)
        thread_sleep_ns(RETRY_NS);
    return !ends;
}

void oom_init(void)
{
    cv_init(&oom_cv);
    if (kthread_create("oom", PRI_SYS, oom_main, NULL) == NULL)
        panic("no memory for the thread that ends processes");
}
