// SPDX-License-Identifier: MIT
/*
 * sys_solaris.c - calls that Linux does not have: processor states and bindings, classes, tunables.
 *
 * THEORY      Solaris's (idtype, id) names a whole process (P_PID) or one LWP (P_LWPID).  The LWP belongs to
 *             the caller's process, or to another process that is named separately; P_MYID is the caller.  A
 *             call that changes a process changes each LWP for which the change succeeds.  A call that queries a
 *             process returns the data of one LWP.  To change a process, the caller must be allowed to send it
 *             signals.
 * SEE ALSO    p_online(2), processor_info(2), processor_bind(2) of Solaris 9;
 *             include/uapi/homeroom.h; sys_lgrp.c (locality groups), user/test/t_lgrp.c
 */
#include "disp/timer.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "proc/proc.h"
#include "stat/tunable.h"
#include "sys/solaris.h"
#include "sys/sys.h"
#include "uapi/homeroom.h"

int ids_apply(const struct procset *who, lwp_fn fn, void *arg)
{
    struct proc *p = curproc();
    struct lwp *l, *self = NULL;
    bool any = false;
    int err = 0, one;

    spin_lock(&proc_lock);
    if (who->type == HR_P_PID && who->id != P_MYID && who->id != 0)
        p = proc_find(who->id);
    else if (who->type == HR_P_LWPID && who->pid != 0)
        p = proc_find(who->pid);
    if (p == NULL || p->state != PROC_LIVE)
        err = -ESRCH;
    else if (who->change && !sig_permitted(curcred(), p, 0))
        err = -EPERM;
    if (err == 0)
        LIST_FOREACH (l, &p->lwps, proc_link) {
            if (who->type == HR_P_LWPID &&
                (who->id == P_MYID ? l != curlwp() : l->lwpid != who->id))
                continue;
            any = true;
            if (who->change && l == curlwp()) {
                self = l;
                continue;
            }
            one = fn(l, arg);
            if (one != 0)
                err = one;
            if (!who->change)
                break;
        }
    spin_unlock(&proc_lock);
    if (err == 0 && !any)
        err = -ESRCH;
    /* fn runs without the lock, because it can move the caller to another CPU */
    if (self != NULL) {
        one = fn(self, arg);
        if (one != 0)
            err = one;
    }
    return err;
}

bool ids_valid(const struct procset *who)
{
    return (who->type == HR_P_PID || who->type == HR_P_LWPID) && who->id >= P_MYID && who->pid >= 0;
}

long sys_getcpuid(struct regs *r)
{
    return this_cpu()->id;
}

/* p_online(cpu, flag): sets the state of a CPU and returns the previous state; P_STATUS only queries. */
long sys_p_online(struct regs *r)
{
    int cpu = (int)r->arg[0], flag = (int)r->arg[1] & ~P_FORCED;

    if (cpu < 0 || disp_cpu_state((unsigned)cpu, NULL) < 0)
        return -EINVAL;
    if (flag == P_STATUS)
        return (int)r->arg[1] & P_FORCED ? -EINVAL : disp_cpu_state((unsigned)cpu, NULL);
    if (flag != P_ONLINE && flag != P_OFFLINE && flag != P_NOINTR && flag != P_POWEROFF)
        return -EINVAL;
    if (!cred_superuser(curcred()))
        return -EPERM;
    if (flag == P_POWEROFF)
        return -ENOTSUP;
    return disp_cpu_set_state((unsigned)cpu, flag, (r->arg[1] & P_FORCED) != 0);
}

long sys_processor_info(struct regs *r)
{
    struct hr_processor_info info = {.pi_processor_type = "x86-64",
                                     .pi_fputypes = "i387 compatible"};
    int cpu = (int)r->arg[0];

    if (cpu < 0)
        return -EINVAL;
    info.pi_state = disp_cpu_state((unsigned)cpu, &info.pi_since);
    if (info.pi_state < 0)
        return -EINVAL;
    /* cycles per microsecond, from nanoseconds per 2^32 cycles */
    info.pi_clock = (int)((1000ull << 32) / tsc_to_ns(1ull << 32));
    return copy_out(r->arg[1], &info, sizeof info);
}

struct binding {
    int cpu; /* CPU to bind to, PBIND_NONE or PBIND_QUERY */
    int old; /* binding of the first LWP, before the call */
    bool have_old;
};

static int bind_lwp_to_cpu(struct lwp *l, void *arg)
{
    struct binding *b = arg;

    if (!b->have_old) {
        b->old = l->t.bound_cpu >= 0 ? l->t.bound_cpu : PBIND_NONE;
        b->have_old = true;
    }
    return b->cpu == PBIND_QUERY ? 0 : thread_bind(&l->t, b->cpu);
}

/* processor_bind(idtype, id, cpu, *old) */
long sys_processor_bind(struct regs *r)
{
    struct binding b = {.cpu = (int)r->arg[2]};
    struct procset who = {
        .type = (int)r->arg[0], .id = (int)r->arg[1], .change = b.cpu != PBIND_QUERY};
    int state, err;

    if (!ids_valid(&who) || b.cpu < PBIND_QUERY)
        return -EINVAL;
    if (b.cpu >= 0) {
        state = disp_cpu_state((unsigned)b.cpu, NULL);
        if (state < 0 || state == P_OFFLINE)
            return -EINVAL;
    }
    err = ids_apply(&who, bind_lwp_to_cpu, &b);
    if (err == 0 && r->arg[3] != 0)
        err = copy_out(r->arg[3], &b.old, sizeof b.old);
    return err;
}

static int get_lwp_class(struct lwp *l, void *arg)
{
    struct hr_pcinfo *pc = arg;

    spin_lock(&l->t.lock);
    pc->cls = l->t.cls;
    pc->upri = l->t.cls == CLASS_RT ? class_rt_to_solaris(l->t.upri) : l->t.upri;
    pc->globpri = l->t.pri < PRI_RT ? l->t.pri : PRI_RT + class_rt_to_solaris(l->t.pri - PRI_RT);
    spin_unlock(&l->t.lock);
    pc->shares = l->ucount->fss.shares;
    return 0;
}

static int set_lwp_class(struct lwp *l, void *arg)
{
    const struct hr_pcinfo *pc = arg;
    bool rt = pc->cls == HR_CLASS_RT;
    int upri = rt ? class_rt_from_solaris(pc->upri) : pc->upri, err;
    bool more = rt || upri > min_of((int)l->t.upri, 0) ||
                (pc->cls == HR_CLASS_FSS) != (l->t.cls == CLASS_FSS) ||
                (pc->shares != 0 && pc->shares != l->ucount->fss.shares);

    if (more && !cred_superuser(curcred()))
        return -EPERM;
    err = thread_set_class(&l->t, (enum sched_class)pc->cls, upri,
                           rt && l->sched_policy == SCHED_FIFO);
    if (err != 0)
        return err;
    if (pc->shares != 0)
        l->ucount->fss.shares = (uint16_t)pc->shares;
    if (rt != (l->sched_policy == SCHED_FIFO || l->sched_policy == SCHED_RR))
        l->sched_policy = rt ? SCHED_RR : SCHED_OTHER;
    l->sched_prio = rt ? (uint8_t)(upri + 1) : 0;
    return 0;
}

/*
 * priocntl(idtype, id, op, info).  Only the superuser can select RT, enter or leave FSS, raise a priority or
 * change the shares.
 */
long sys_priocntl(struct regs *r)
{
    struct procset who = {.type = (int)r->arg[0], .id = (int)r->arg[1]};
    struct hr_pcinfo pc = {0};
    int err;

    _Static_assert((int)HR_CLASS_TS == (int)CLASS_TS && (int)HR_CLASS_RT == (int)CLASS_RT &&
                       (int)HR_CLASS_FSS == (int)CLASS_FSS,
                   "the ABI's class numbers are the dispatcher's");
    if (!ids_valid(&who))
        return -EINVAL;
    if (r->arg[2] == PC_GET) {
        err = ids_apply(&who, get_lwp_class, &pc);
        return err != 0 ? err : copy_out(r->arg[3], &pc, sizeof pc);
    }
    if (r->arg[2] != PC_SET)
        return -EINVAL;
    err = copy_in(&pc, r->arg[3], sizeof pc);
    if (err != 0)
        return err;
    if (pc.cls < HR_CLASS_TS || pc.cls > HR_CLASS_RT || pc.shares < 0 ||
        pc.shares > (int)UINT16_MAX)
        return -EINVAL;
    if (pc.cls == HR_CLASS_RT && (pc.upri < 0 || pc.upri > class_rt_to_solaris(RT_LEVELS - 1)))
        return -EINVAL;
    who.change = true;
    return ids_apply(&who, set_lwp_class, &pc);
}

/*
 * tunable(op, name, value): TUNABLE_GET fills in *value.  TUNABLE_SET reads two fields of *value: size (bytes; 0: the
 * variable's size) and value.
 */
long sys_tunable(struct regs *r)
{
    const struct tunable *t;
    struct hr_tunable v;
    char name[64];
    long n;
    int err;

    if (r->arg[0] != TUNABLE_GET && r->arg[0] != TUNABLE_SET)
        return -EINVAL;
    if (r->arg[0] == TUNABLE_SET && !cred_superuser(curcred()))
        return -EPERM;
    n = copy_in_str(name, r->arg[1], sizeof name);
    if (n < 0)
        return n == -ENAMETOOLONG ? -ENOENT : n;
    t = tunable_find(name);
    if (t == NULL)
        return -ENOENT;
    if (r->arg[0] == TUNABLE_GET) {
        v = (struct hr_tunable){.size = (unsigned)t->size,
                                .writable = (unsigned)t->writable,
                                .value = tunable_get(t),
                                .least = t->least,
                                .greatest = t->greatest};
        return copy_out(r->arg[2], &v, sizeof v);
    }
    err = copy_in(&v, r->arg[2], sizeof v);
    if (err != 0)
        return err;
    if (t->writable == TUNABLE_BY_SYSTEM)
        return -EPERM;
    if (v.size != t->size && v.size != 0) {
        /*
         * A write of fewer bytes keeps the other bytes.  A write of more bytes would change another variable.
         */
        uint64_t keep;

        if (v.size > t->size || (v.size != 1 && v.size != 2 && v.size != 4))
            return -EINVAL;
        keep = ~0ull << (8 * v.size);
        v.value = (tunable_get(t) & keep) | (v.value & ~keep);
    }
    return tunable_set(t, v.value);
}
