// SPDX-License-Identifier: MIT
/*
 * sys_pset.c - processor sets: pset_create(2), pset_assign(2), pset_bind(2), pset_info(2) of Solaris 9.
 *
 * THEORY      A processor set is a group of CPUs that run only the threads bound to the set.
 *             Only root can create, fill and destroy sets and bind processes to them.  Every user can query
 *             sets.  A user can also remove its own processes from a set, unless the set has PSET_NOESCAPE.  The
 *             default set always has PSET_NOESCAPE.
 *             A call that returns a list copies as much as fits into the caller's buffer, and returns the
 *             full number of entries.  The list can be out of date when the program reads it.
 * SEE ALSO    disp/pset.h; user/include/sys/pset.h; docs/psets.md, tests/test_psets.py
 */
#include "disp/disp.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "proc/proc.h"
#include "sys/solaris.h"
#include "sys/sys.h"
#include "uapi/homeroom.h"

/* Translates PS_MYID to the caller's own set. */
static int resolve_set_id(int id)
{
    return id == PS_MYID ? curthread->part->id : id;
}

/* Stores `value` at user address `uaddr`; does nothing if `uaddr` is 0.  0 or -EFAULT. */
static int copy_out_int(uint64_t uaddr, int value)
{
    return uaddr == 0 ? 0 : copy_out(uaddr, &value, sizeof value);
}

long sys_pset_create(struct regs *r)
{
    int id, err;

    if (!cred_superuser(curcred()))
        return -EPERM;
    id = pset_create();
    if (id < 0)
        return id;
    err = copy_out(r->arg[0], &id, sizeof id);
    if (err != 0)
        (void)pset_destroy(id);
    return err;
}

long sys_pset_destroy(struct regs *r)
{
    if (!cred_superuser(curcred()))
        return -EPERM;
    return pset_destroy(resolve_set_id((int)r->arg[0]));
}

long sys_pset_assign(struct regs *r)
{
    int set = (int)r->arg[0], cpu = (int)r->arg[1], old, err;

    if (set != PS_QUERY && !cred_superuser(curcred()))
        return -EPERM;
    if (cpu < 0 || (unsigned)cpu >= ncpu)
        return -EINVAL;
    old = pset_of_cpu((unsigned)cpu);
    err = set == PS_QUERY ? 0 : pset_assign(resolve_set_id(set), (unsigned)cpu, r->arg[3] != 0);
    return err != 0 ? err : copy_out_int(r->arg[2], old);
}

struct binding {
    struct cpupart *to; /* set to bind to; NULL: only query */
    int old;            /* set of the first LWP, before the call */
    bool have_old;
};

static int bind_lwp_to_set(struct lwp *l, void *arg)
{
    struct binding *b = arg;
    struct cpupart *from = l->t.part;

    if (!b->have_old) {
        b->old = from->id;
        b->have_old = true;
    }
    if (b->to == NULL || b->to == from)
        return 0;
    if ((from->attr & PSET_NOESCAPE) && !cred_superuser(curcred()))
        return -EPERM;
    return pset_bind(&l->t, b->to);
}

long sys_pset_bind(struct regs *r)
{
    int set = resolve_set_id((int)r->arg[0]), err = 0;
    struct binding b = {.old = PS_NONE};
    struct procset who = {.type = (int)r->arg[1],
                          .id = (int)r->arg[2],
                          .pid = (int)r->arg[4],
                          .change = set != PS_QUERY};

    if (!ids_valid(&who))
        return -EINVAL;
    mutex_enter(&cpu_lock); /* the set and its CPUs must not change until all LWPs are bound */
    if (set != PS_QUERY) {
        b.to = pset_find(set);
        if (b.to == NULL || cpumask_empty(&b.to->cpus))
            err = -EINVAL;
        else if (set != PS_NONE && !cred_superuser(curcred()))
            err = -EPERM;
    }
    if (err == 0)
        err = ids_apply(&who, bind_lwp_to_set, &b);
    mutex_exit(&cpu_lock);
    return err != 0 ? err : copy_out_int(r->arg[3], b.old);
}

/*
 * Copies list[n] to user address `ulist`, as much as fits, and n to user address `un`.  On entry *un must be the
 * size of the program's array, in entries.  Each address can be 0.  0 or -EFAULT.
 */
static int copy_out_numbers(uint64_t un, uint64_t ulist, const int *list, unsigned n)
{
    unsigned room = 0;
    int err = 0;

    if (un == 0)
        return 0;
    if (ulist != 0)
        err = copy_in(&room, un, sizeof room);
    if (err == 0 && min_of(room, n) > 0)
        err = copy_out(ulist, list, min_of(room, n) * sizeof *list);
    return err != 0 ? err : copy_out(un, &n, sizeof n);
}

long sys_pset_info(struct regs *r)
{
    int set = resolve_set_id((int)r->arg[0]), list[CPU_MAX], err;
    const struct cpupart *p;
    struct cpumask m = {{0}};
    unsigned n = 0;

    mutex_enter(&cpu_lock);
    p = pset_find(set);
    if (p != NULL)
        m = p->cpus;
    mutex_exit(&cpu_lock);
    if (p == NULL)
        return -EINVAL;
    CPUMASK_FOREACH (cpu, &m)
        list[n++] = (int)cpu;
    err = copy_out_int(r->arg[1], set == PS_NONE ? PS_NONE : PS_PRIVATE);
    return err != 0 ? err : copy_out_numbers(r->arg[2], r->arg[3], list, n);
}

long sys_pset_list(struct regs *r)
{
    int list[2 * CPU_MAX];
    unsigned n = 0;

    mutex_enter(&cpu_lock);
    for (unsigned i = 1; i < cpupart_end; i++)
        if (cpuparts[i]->live)
            list[n++] = (int)i;
    mutex_exit(&cpu_lock);
    return copy_out_numbers(r->arg[1], r->arg[0], list, n);
}

long sys_pset_setattr(struct regs *r)
{
    if (!cred_superuser(curcred()))
        return -EPERM;
    if ((unsigned)r->arg[1] & ~PSET_NOESCAPE)
        return -EINVAL;
    return pset_set_attr(resolve_set_id((int)r->arg[0]), (unsigned)r->arg[1]);
}

long sys_pset_getattr(struct regs *r)
{
    int attr = pset_attr(resolve_set_id((int)r->arg[0]));

    return attr < 0 ? attr : copy_out(r->arg[1], &attr, sizeof attr);
}

long sys_pset_getloadavg(struct regs *r)
{
    int set = resolve_set_id((int)r->arg[0]), n = (int)r->arg[2], err;
    const struct cpupart *p;
    uint32_t avg[3] = {0};

    if (n < 0)
        return -EINVAL;
    n = min_of(n, (int)array_size(avg));
    mutex_enter(&cpu_lock);
    p = pset_find(set);
    if (p != NULL)
        for (int i = 0; i < n; i++)
            avg[i] = p->loadavg[i];
    mutex_exit(&cpu_lock);
    if (p == NULL)
        return -EINVAL;
    err = n == 0 ? 0 : copy_out(r->arg[1], avg, (size_t)n * sizeof avg[0]);
    return err != 0 ? err : n;
}
