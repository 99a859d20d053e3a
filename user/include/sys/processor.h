// SPDX-License-Identifier: MIT
/*
 * sys/processor.h - CPUs: states, information, binding (Solaris p_online(2), processor_info(2),
 *                   processor_bind(2), getcpuid(3C), gethomelgroup(3C)).
 *
 * SEE ALSO  docs/userland.md, include/uapi/homeroom.h for the values of P_* and PBIND_*
 */
#ifndef HR_SYS_PROCESSOR_H
#define HR_SYS_PROCESSOR_H

#include <sys/types.h>
#include <sys/procset.h>
#include <uapi/homeroom.h>

#define PI_TYPELEN  16
#define PI_FPUTYPE  32
#define PS_OFFLINE  "off-line"
#define PS_ONLINE   "on-line"
#define PS_NOINTR   "no-intr"
#define PS_POWEROFF "powered-off"

typedef struct hr_processor_info processor_info_t;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * p_online - sets or returns the state of a CPU.
 *
 * @flag  P_ONLINE, P_OFFLINE, P_NOINTR (superuser), P_OFFLINE | P_FORCED unbinds LWPs first; P_STATUS only returns
 *
 * Returns the previous state; -1 with EINVAL (no such CPU, bad flag), EPERM, EBUSY (last on-line CPU of the machine or
 * its set, fewer than two CPUs left for interrupts, LWPs bound to it).
 */
int p_online(processorid_t cpu, int flag);

/* processor_info - fills in *info.  Returns 0; -1 with EINVAL (no such CPU) or EFAULT. */
int processor_info(processorid_t cpu, processor_info_t *info);

/*
 * processor_bind - binds LWPs to a CPU.
 *
 * @idtype  P_PID (every LWP of process id) or P_LWPID (one LWP of the caller's process)
 * @id      a process or LWP id, or P_MYID
 * @cpu     a CPU, PBIND_NONE to unbind, PBIND_QUERY to change nothing
 * @obind   if not NULL, gets the old binding of one of the LWPs, or PBIND_NONE
 *
 * Binding an LWP to a CPU of another lgroup makes that lgroup its home.  Returns 0; -1 with EINVAL (CPU absent or
 * off-line, idtype), EPERM (another user's process; LWPs that may be changed are changed), ESRCH, EFAULT.
 */
int processor_bind(idtype_t idtype, id_t id, processorid_t cpu, processorid_t *obind);

/*
 * getcpuid - the CPU on which the caller runs.  Unless the caller is bound, it may have moved by the time this
 * returns.  No errors.
 */
processorid_t getcpuid(void);

/* gethomelgroup - the home lgroup of the calling thread.  No errors. */
lgrpid_t gethomelgroup(void);

/* gethomegroup - the same; the MPO white paper's spelling. */
lgrpid_t gethomegroup(void);

#ifdef __cplusplus
}
#endif

#endif
