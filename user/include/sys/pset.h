// SPDX-License-Identifier: MIT
/*
 * sys/pset.h - processor sets: CPUs that run only what is bound to them (Solaris pset_create(2) and its kin).
 *
 * THEORY    Every call that changes something is the superuser's, but that anybody may unbind his own processes
 *           from a set without PSET_NOESCAPE.  A set may be named by its number or by PS_MYID, the caller's own;
 *           PS_NONE is the default set, to which whatever was never bound belongs.  Answers that are not wanted are
 *           NULL.  All return 0; -1 with errno: EFAULT, EPERM, and what stands beside each.
 * SEE ALSO  docs/psets.md; include/uapi/homeroom.h for the values of PS_* and PSET_*
 */
#ifndef HR_SYS_PSET_H
#define HR_SYS_PSET_H

#include <sys/processor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* pset_create - make an empty set; *new is its number, the lowest that is free.  ENOMEM: twice as many as CPUs. */
int pset_create(psetid_t *new_set);

/* pset_destroy - unbind its LWPs and give its CPUs to the default set.  EINVAL; EBUSY: an LWP is bound to a CPU too. */
int pset_destroy(psetid_t set);

/*
 * pset_assign - move a CPU to a set; PS_NONE takes it out of its set, PS_QUERY only asks.  *old: the set it was in.
 * EINVAL: no such set or CPU, or the CPU is off-line; EBUSY: LWPs are bound to it, or it is the last of a set with
 * LWPs.
 * pset_assign_forced - the same, and unbinds the LWPs that are bound to the CPU.
 */
int pset_assign(psetid_t set, processorid_t cpu, psetid_t *old);
int pset_assign_forced(psetid_t set, processorid_t cpu, psetid_t *old);

/*
 * pset_bind - bind LWPs to a set: P_PID all of a process, P_LWPID one of the caller's; id P_MYID is the caller.
 * PS_NONE unbinds, PS_QUERY only asks.  *old: the set that one of them was in.  Children and new LWPs inherit it.
 * EINVAL: no such set, or it is empty; EBUSY: an LWP is bound to a CPU outside; ESRCH.
 * pset_bind_lwp - one LWP of process `pid`.
 */
int pset_bind(psetid_t set, idtype_t idtype, id_t id, psetid_t *old);
int pset_bind_lwp(psetid_t set, id_t lwp, pid_t pid, psetid_t *old);

/*
 * pset_info - *type becomes PS_PRIVATE (PS_NONE for the default set); list gets its on-line CPUs, at most *ncpus, and
 * *ncpus the number there are.  EINVAL.  pset_list - the same for the numbers of all sets.
 */
int pset_info(psetid_t set, int *type, uint_t *ncpus, processorid_t *list);
int pset_list(psetid_t *list, uint_t *nsets);

/* pset_setattr, pset_getattr - PSET_NOESCAPE, or 0.  EINVAL: no such set; to set: another bit, or the default set. */
int pset_setattr(psetid_t set, uint_t attr);
int pset_getattr(psetid_t set, uint_t *attr);

/* pset_getloadavg - threads that run or wait, averaged over 1, 5 and 15 minutes.  Returns how many of n; -1, EINVAL. */
int pset_getloadavg(psetid_t set, double avg[], int n);

#ifdef __cplusplus
}
#endif

#endif
