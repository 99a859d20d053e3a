// SPDX-License-Identifier: MIT
/*
 * sysv.h - what the kinds of System V IPC objects share: identifiers, keys and permissions.
 *
 * THEORY      A shared memory segment or a semaphore set exists until a program removes it, also when no process uses
 *             it.  Programs find it by a key that they agree on, and then use its identifier.  An identifier consists
 *             of a place in a table and a count of how often the place was used.  So the identifier of a removed
 *             object is not used again soon.
 *             Each kind has a table of its own.  Its objects begin with a struct sysv_perm.
 * LOCKING     The kind's lock guards its table; the functions are called with it.
 * SEE ALSO    sys_shm.c, sys_sem.c; Linux's manual page sysvipc(7)
 */
#ifndef SYS_SYSV_H
#define SYS_SYSV_H

#include "lib/types.h"

enum { IPC_PRIVATE = 0, IPC_CREAT = 01000, IPC_EXCL = 02000, IPC_NOWAIT = 04000 };
enum { IPC_RMID = 0, IPC_SET = 1, IPC_STAT = 2, IPC_INFO = 3 };
enum { SYSV_WRITE = 2, SYSV_READ = 4 }; /* bits of the access that a caller needs */
/* places in a table; the last SYSV_ROOT of them are only for root */
enum { SYSV_PLACES = 1024, SYSV_ROOT = 64 };

/* Linux's struct ipc64_perm on x86-64. */
struct sysv_perm {
    int32_t key;
    uint32_t uid, gid, cuid, cgid, mode;
    uint16_t seq, pad;
    uint64_t unused[2];
};
_Static_assert(sizeof(struct sysv_perm) == 48, "struct ipc64_perm");

struct sysv_table {
    struct sysv_perm *place[SYSV_PLACES];
    uint16_t used
        [SYSV_PLACES]; /* how often each place was used; the low 15 bits are part of the identifier */
};

/* sysv_now - the time of day in seconds. */
int64_t sysv_now(void);
/* sysv_find - the object with this identifier; NULL: none. */
struct sysv_perm *sysv_find(struct sysv_table *t, int id);
/* sysv_at - the object at place `index`, and its identifier in *id; NULL: none. */
struct sysv_perm *sysv_at(struct sysv_table *t, int index, int *id);
/* sysv_top - the highest place in use; 0 if there is none. */
int sysv_top(const struct sysv_table *t);
/*
 * sysv_lookup - the first part of shmget(2) and similar calls: find the object with `key`.
 * @flags  IPC_CREAT, IPC_EXCL
 * Returns 0 with *p and *id set; 0 with *p == NULL: the caller must create an object; -EEXIST, -ENOENT.
 */
int sysv_lookup(struct sysv_table *t, int key, int flags, struct sysv_perm **p, int *id);
/*
 * sysv_add - put a new object with the key and the mode bits of `flags` into the table; the caller of the system call
 * becomes its owner.  Returns its identifier; -ENOSPC: the table is full.
 */
int sysv_add(struct sysv_table *t, struct sysv_perm *p, int key, int flags);
/* sysv_remove - take the object with this identifier out of the table. */
void sysv_remove(struct sysv_table *t, int id);
/*
 * sysv_check - 0: the caller has all permissions in `want` (SYSV_*); or -EACCES.  The creator counts as owner.
 * sysv_wanted - the permissions that the mode bits of a get call's flags demand of an object that exists.
 * sysv_check_owner - 0: the caller may change and remove the object; or -EPERM.
 */
int sysv_check(const struct sysv_perm *p, unsigned want);
unsigned sysv_wanted(int flags);
int sysv_check_owner(const struct sysv_perm *p);
/* sysv_set - IPC_SET: take owner, group and mode from `from`. */
void sysv_set(struct sysv_perm *p, const struct sysv_perm *from);

#endif
