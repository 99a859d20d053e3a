// SPDX-License-Identifier: MIT
/*
 * sysv.c - identifiers, keys and permissions of System V IPC objects; see sysv.h.
 */
#include "sys/sysv.h"

#include "disp/timer.h"
#include "lib/errno.h"
#include "proc/proc.h"

int64_t sysv_now(void)
{
    return (int64_t)(clock_real_ns() / 1000000000);
}

static int sysv_id_of_place(const struct sysv_table *t, unsigned place)
{
    return (int)((t->used[place] & 0x7fffu) * SYSV_PLACES + place);
}

struct sysv_perm *sysv_find(struct sysv_table *t, int id)
{
    unsigned place = (unsigned)id % SYSV_PLACES;

    return id >= 0 && sysv_id_of_place(t, place) == id ? t->place[place] : NULL;
}

struct sysv_perm *sysv_at(struct sysv_table *t, int index, int *id)
{
    if (index < 0 || index >= SYSV_PLACES || t->place[index] == NULL)
        return NULL;
    *id = sysv_id_of_place(t, (unsigned)index);
    return t->place[index];
}

int sysv_top(const struct sysv_table *t)
{
    for (int i = SYSV_PLACES - 1; i > 0; i--)
        if (t->place[i] != NULL)
            return i;
    return 0;
}

int sysv_lookup(struct sysv_table *t, int key, int flags, struct sysv_perm **p, int *id)
{
    *p = NULL;
    if (key == IPC_PRIVATE)
        return 0;
    for (unsigned i = 0; i < SYSV_PLACES; i++)
        if (t->place[i] != NULL && t->place[i]->key == key) {
            if ((flags & (IPC_CREAT | IPC_EXCL)) == (IPC_CREAT | IPC_EXCL))
                return -EEXIST;
            *id = sysv_id_of_place(t, i);
            *p = t->place[i];
            return 0;
        }
    return flags & IPC_CREAT ? 0 : -ENOENT;
}

int sysv_add(struct sysv_table *t, struct sysv_perm *p, int key, int flags)
{
    const struct cred *cr = curcred();
    unsigned place = 0, end = cred_superuser(cr) ? SYSV_PLACES : SYSV_PLACES - SYSV_ROOT;

    while (place < end && t->place[place] != NULL)
        place++;
    if (place == end)
        return -ENOSPC;
    t->used[place]++;
    *p = (struct sysv_perm){.key = key,
                            .uid = cr->euid,
                            .gid = cr->egid,
                            .cuid = cr->euid,
                            .cgid = cr->egid,
                            .mode = (uint32_t)flags & 0777,
                            .seq = t->used[place]};
    t->place[place] = p;
    return sysv_id_of_place(t, place);
}

void sysv_remove(struct sysv_table *t, int id)
{
    t->place[(unsigned)id % SYSV_PLACES] = NULL;
}

static bool is_in_egroups(const struct cred *cr, uint32_t gid)
{
    bool in = cr->egid == gid;

    for (unsigned i = 0; i < cr->ngroups; i++)
        in |= cr->groups[i] == gid;
    return in;
}

int sysv_check(const struct sysv_perm *p, unsigned want)
{
    const struct cred *cr = curcred();
    unsigned mode = p->mode;

    if (cr->euid == p->uid || cr->euid == p->cuid)
        mode >>= 6;
    else if (is_in_egroups(cr, p->gid) || is_in_egroups(cr, p->cgid))
        mode >>= 3;
    return (mode & want) == want || cred_superuser(cr) ? 0 : -EACCES;
}

unsigned sysv_wanted(int flags)
{
    return (unsigned)(flags | flags >> 3 | flags >> 6) & (SYSV_READ | SYSV_WRITE);
}

int sysv_check_owner(const struct sysv_perm *p)
{
    const struct cred *cr = curcred();

    return cr->euid == p->uid || cr->euid == p->cuid || cred_superuser(cr) ? 0 : -EPERM;
}

void sysv_set(struct sysv_perm *p, const struct sysv_perm *from)
{
    p->uid = from->uid;
    p->gid = from->gid;
    p->mode = from->mode & 0777;
}
