// SPDX-License-Identifier: MIT
/*
 * ids.c - one space of small numbers for processes, LWPs, process groups and sessions.
 *
 * THEORY      A process group has the id of its first leader and can exist longer than that process.  The same
 *             holds for a session.  Therefore each id has a count of its uses (at most one of each kind) and is
 *             free when the count is 0.  New ids ascend.  After the highest id the search for a free id starts
 *             again at PID_LOW, as in other Unix systems.
 * INVARIANTS  I4  (proc.h) an id is free iff no process, LWP, group or session uses it
 *             I5  an LWP whose tid is its process's pid is not counted as a use: the process holds the id
 * LOCKING     The callers of all functions hold proc_lock.
 */
#include "proc/proc_impl.h"

#include "lib/errno.h"
#include "stat/panic.h"

enum { HASH_SIZE = 1024 };

static uint8_t id_uses[PID_MAX] __attribute__((aligned(8)));
static int id_last;

static struct list proc_hash[HASH_SIZE], lwp_hash[HASH_SIZE], pgrp_hash[64];

static struct list *bucket_of_id(struct list *table, unsigned size, int id)
{
    return &table[(unsigned)id % size];
}

void ids_init(void)
{
    for (unsigned i = 0; i < HASH_SIZE; i++) {
        list_init(&proc_hash[i]);
        list_init(&lwp_hash[i]);
    }
    for (unsigned i = 0; i < array_size(pgrp_hash); i++)
        list_init(&pgrp_hash[i]);
}

/* The first free id in `from` .. PID_MAX-1; 0: none [P]. */
static int find_free_id(int from)
{
    for (int i = from; i < PID_MAX; i++)
        if (id_uses[i] == 0)
            return i;
    return 0;
}

int id_alloc(void)
{
    int id = find_free_id(id_last + 1);

    if (id == 0)
        id = find_free_id(PID_LOW);
    if (id == 0)
        return -EAGAIN;
    id_uses[id] = 1;
    id_last = id;
    return id;
}

void id_hold(int id)
{
    id_uses[id]++;
}

void id_drop(int id)
{
    ASSERT(id_uses[id] > 0, "I4");
    id_uses[id]--;
}

int id_next(int id)
{
    for (int i = id; i < PID_MAX;) {
        if (i % 8 == 0 && *(const uint64_t *)&id_uses[i] == 0)
            i += 8;
        else if (id_uses[i] != 0)
            return i;
        else
            i++;
    }
    return 0;
}

void proc_hash_add(struct proc *p)
{
    list_push_front(bucket_of_id(proc_hash, HASH_SIZE, p->pid), &p->hash_link);
}

void lwp_hash_add(struct lwp *l)
{
    list_push_front(bucket_of_id(lwp_hash, HASH_SIZE, (int)l->t.tid), &l->hash_link);
}

void pgrp_hash_add(struct pgrp *pg)
{
    list_push_front(bucket_of_id(pgrp_hash, array_size(pgrp_hash), pg->pgid), &pg->hash_link);
}

struct proc *proc_find(int pid)
{
    struct proc *p;

    LIST_FOREACH (p, bucket_of_id(proc_hash, HASH_SIZE, pid), hash_link)
        if (p->pid == pid)
            return p;
    return NULL;
}

struct lwp *lwp_find(int tid)
{
    struct lwp *l;

    LIST_FOREACH (l, bucket_of_id(lwp_hash, HASH_SIZE, tid), hash_link)
        if ((int)l->t.tid == tid)
            return l;
    return NULL;
}

struct pgrp *pgrp_find(int pgid)
{
    struct pgrp *pg;

    LIST_FOREACH (pg, bucket_of_id(pgrp_hash, array_size(pgrp_hash), pgid), hash_link)
        if (pg->pgid == pgid)
            return pg;
    return NULL;
}

int proc_next(int pid)
{
    int found = 0;

    spin_lock(&proc_lock);
    for (int i = id_next(pid < 1 ? 1 : pid); i != 0 && found == 0;
         i = i + 1 < PID_MAX ? id_next(i + 1) : 0)
        if (proc_find(i) != NULL)
            found = i;
    spin_unlock(&proc_lock);
    return found;
}
