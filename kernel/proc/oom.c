// SPDX-License-Identifier: MIT
/*
 * oom.c - chooses the process that is killed when there is no memory for a page.
 *
 * THEORY      Memory that was promised (pages/reserve.c) is there when it is touched.  So the process that has taken most
 *             beyond its promise is killed, and the others try again.  Beyond the promise count: memory that asked for
 *             no promise, page tables that promised memory does not need, files and shared memory.  The sums are by
 *             user, because many small processes fill memory as one large process does.
 *             If nobody has much beyond the promise and the superuser needs memory, the largest process of an ordinary
 *             user is killed: the last part of memory is the superuser's.
 *             A process that was killed some seconds ago and still exists is skipped: it may wait for another one.
 *             If there is free memory, the fault needed memory of one board (MPOL_BIND), several frames in a row or a
 *             page table that cannot be promised.  Then only the process itself is killed.
 *             A thread that waits for a frame and has none after some turns of the hands asks first (oom_frees()): so a
 *             small write does not fail while a process is being ended.  A page fault that finds no frame after that
 *             asks once more, and ends its own process at last.
 *             A system call may hold locks that the search takes, or that the end of an address space waits for.  Then
 *             a thread of its own searches.
 * INVARIANTS  I1  process 1 is never killed
 * LOCKING     proc_lock; oom_lock (RANK_POLL) for what is asked of the thread
 * SEE ALSO    docs/pageout.md, tests/attack/memory.c
 */
#include "proc/proc_impl.h"

#include "stat/panic.h"
#include "pages/pageout.h"
#include "x86/trap.h"

enum {
    RETRY_NS = 20000000,
    TRIES = 2,
    USERS = 8,       /* that are looked at together                                      */
    HOG = 1024,      /* pages: programs and their libraries have fewer                   */
    USERS_PART = 16, /* as the room that is left to the superuser elsewhere (net/memory.c) */
    VICTIM_TICKS = 2 * HZ,
    SEARCH_NAPS = 50, /* of RETRY_NS: the search may need a lock that the waiting thread holds */
};

static struct spinlock oom_lock = SPINLOCK_INIT(RANK_POLL);
static struct cv oom_cv;
static bool oom_wanted, oom_for_root; /* under oom_lock */
static uint64_t oom_begun;            /* searches of the thread; likewise */
static _Atomic uint64_t oom_ended, oom_kills;

/* What a user's processes have beyond what they were promised. */
struct taker {
    uint32_t uid;
    int64_t own;        /* of private memory, all together         */
    int64_t most;       /* of any memory, the process with most    */
    struct proc *worst; /* that process, held; NULL: a free entry  */
};

/* A process to end, as far as the search has come. */
struct search {
    struct taker taker[USERS];
    int64_t largest;    /* pages of the largest process of an ordinary user */
    struct proc *large; /* that process, held                               */
};

/* The entry of user `uid`; a new one replaces the one with the least private memory. */
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

/* `p`, held by the caller, is *best if it has more pages. */
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

/* Looks at a process, which is held.  Sleeps. */
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
 * The process to end for memory, held; NULL: no process and no user has much beyond the promise.  If a user's private
 * memory beyond the promise is a USERS_PART of all memory, it is that user's largest.  Else it is the largest of all,
 * if that is a HOG; for_root: or the largest of an ordinary user, however small.  Sleeps.
 * @roots  processes of the superuser may be ended, too
 */
static struct proc *select_oom_victim(bool for_root, bool roots)
{
    struct search s = {0};
    struct taker *t, *user = s.taker, *process = s.taker;
    struct proc *p, *out = NULL;

    for (int pid = 0; (pid = proc_next(pid + 1)) > 0;) {
        uint32_t uid = 0;

        spin_lock(&proc_lock);
        if ((p = proc_find(pid)) != NULL &&
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

static void kill_for_memory(struct proc *p)
{
    const struct lwp *l;

    spin_lock(&proc_lock);
    l = list_empty(&p->lwps) ? NULL : list_first(&p->lwps, struct lwp, proc_link);
    if (!p->exiting && p->memory_kill == 0 && l != NULL)
        warn("out of memory: killed process %d (%s)", p->pid, l->t.name);
    if (p->memory_kill == 0) /* several may have found it greedy at once */
        p->memory_kill = lbolt | 1;
    spin_unlock(&proc_lock);
    sig_send_proc(p, SIGKILL, NULL);
}

/* Returns whether somebody ends for it. */
static bool try_oom_kill(bool for_root)
{
    struct proc *worst = select_oom_victim(for_root, for_root);

    if (worst == NULL && !for_root) /* the superuser's processes go last */
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

/* Lets the thread search, and waits for the end of the search.  Returns whether a process was chosen meanwhile. */
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
 * trap_ops.out_of_memory.  If nobody has much, a process that had may be ending, and its memory be on its way back: so
 * the caller tries while pages of any address space are being freed, and TRIES times more, for one whose last reference
 * is still somewhere, before it ends itself; each try waits for memory.  Process 1 tries for ever.
 * @user  a fault of the program itself: no lock is held
 */
static bool out_of_memory(bool user)
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
    trap_ops.out_of_memory = out_of_memory;
}
