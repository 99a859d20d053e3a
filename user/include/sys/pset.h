// SPDX-License-Identifier: MIT
/*
 * sys/pset.h - processor sets: CPUs that run only the LWPs that are bound to them (Solaris pset_create(2) and related
 * calls).
 *
 * THEORY      Only the superuser may make a call that changes something, with one exception: any user may unbind his
 *             own processes from a set without PSET_NOESCAPE.
 *             A set is named by its number, or by PS_MYID, the caller's own set.  PS_NONE is the default set; LWPs
 *             that are bound to no set belong to it.  Results that the caller does not want are NULL.
 *             All calls return 0; -1 with errno: EFAULT, EPERM, and those named with each call.
 * SEE ALSO    docs/psets.md; include/uapi/homeroom.h for the values of PS_* and PSET_*
 */
#ifndef HR_SYS_PSET_H
#define HR_SYS_PSET_H

#include <sys/processor.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * pset_create - makes an empty set; *new_set is its number, the lowest free one.  ENOMEM: there are twice as many sets
 * as CPUs.
 */
int pset_create(psetid_t *new_set);

/*
 * pset_destroy - unbinds the set's LWPs and moves its CPUs to the default set.  EINVAL; EBUSY: an LWP of the set is
 * bound to a CPU, too.
 */
int pset_destroy(psetid_t set);

/*
 * pset_assign - moves a CPU to a set.  PS_NONE takes it out of its set; PS_QUERY changes nothing.  *old: the set in
 * which it was.  EINVAL: no such set or CPU, or the CPU is off-line; EBUSY: LWPs are bound to it, or it is the last
 * CPU of a set with LWPs.  pset_assign_forced - the same, but first unbinds the LWPs that are bound to the CPU.
 */
int pset_assign(psetid_t set, processorid_t cpu, psetid_t *old);
int pset_assign_forced(psetid_t set, processorid_t cpu, psetid_t *old);

/*
 * pset_bind - binds LWPs to a set: with P_PID all of a process, with P_LWPID one of the caller's process; id P_MYID is
 * the caller.  PS_NONE unbinds; PS_QUERY changes nothing.  *old: the set in which one of the LWPs was.  Children and
 * new LWPs inherit the binding.  EINVAL: no such set, or it is empty; EBUSY: an LWP is bound to a CPU outside the set;
 * ESRCH.  pset_bind_lwp - binds one LWP of process `pid`.
 */
int pset_bind(psetid_t set, idtype_t idtype, id_t id, psetid_t *old);
int pset_bind_lwp(psetid_t set, id_t lwp, pid_t pid, psetid_t *old);

/*
 * pset_info - sets *type to PS_PRIVATE (PS_NONE for the default set), list to the on-line CPUs of the set, at most
 * *ncpus, and *ncpus to their number.  EINVAL.  pset_list - the same for the numbers of all sets.
 */
int pset_info(psetid_t set, int *type, uint_t *ncpus, processorid_t *list);
int pset_list(psetid_t *list, uint_t *nsets);

/*
 * pset_setattr, pset_getattr - set and return PSET_NOESCAPE, or 0.  EINVAL: no such set; for pset_setattr also another
 * bit, or the default set.
 */
int pset_setattr(psetid_t set, uint_t attr);
int pset_getattr(psetid_t set, uint_t *attr);

/*
 * pset_getloadavg - the number of threads that run or wait, averaged over 1, 5 and 15 minutes.  Returns how many of
 * the n it stored; -1 with EINVAL.
 */
int pset_getloadavg(psetid_t set, double avg[], int n);

#ifdef __cplusplus
}
#endif

#endif
