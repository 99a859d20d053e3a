// SPDX-License-Identifier: MIT
/*
 * sys/lgrp_user.h - liblgrp: the lgroup topology, homes and affinities, for programs.
 *
 * THEORY      lgrp_init() takes a snapshot.  Every call with a cookie answers from that snapshot.
 *             Homeroom's topology is that of Solaris 9: flat, with ids 0 .. n-1 and one lgroup for each board.
 *             lgrp_nlgrps() returns n.  Programs that use liblgrp walk down from a root, so with n > 1 the library
 *             makes one up: lgrp_root() returns the id n, the parent of every lgroup, with the CPUs and memory of the
 *             whole machine.  It is never the home of a thread and has no affinity, and meminfo(2) never returns it.
 *             With one lgroup the root is lgroup 0.
 * SEE ALSO    lgrpinfo, plgrp; Solaris liblgrp(3LIB)
 */
#ifndef HR_SYS_LGRP_USER_H
#define HR_SYS_LGRP_USER_H

#include <sys/types.h>
#include <sys/procset.h>
#include <sys/processor.h>
#include <uapi/homeroom.h>

#define LGRP_VER_NONE    0
#define LGRP_VER_CURRENT 2

#define LGRP_NONE        (-1)
#define LGRP_COOKIE_NONE ((lgrp_cookie_t)0)

typedef uintptr_t lgrp_cookie_t;
typedef int lgrp_id_t;
typedef int lgrp_affinity_t;       /* LGRP_AFF_NONE, LGRP_AFF_WEAK, LGRP_AFF_STRONG */
typedef long long lgrp_mem_size_t; /* bytes */

typedef enum { LGRP_VIEW_CALLER, LGRP_VIEW_OS } lgrp_view_t;
typedef enum {
    LGRP_CONTENT_ALL,
    LGRP_CONTENT_HIERARCHY = LGRP_CONTENT_ALL,
    LGRP_CONTENT_DIRECT
} lgrp_content_t;
typedef enum { LGRP_MEM_SZ_FREE, LGRP_MEM_SZ_INSTALLED } lgrp_mem_size_flag_t;
typedef enum { LGRP_LAT_CPU_TO_MEM } lgrp_lat_between_t;
typedef enum { LGRP_RSRC_CPU, LGRP_RSRC_MEM } lgrp_rsrc_t;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * lgrp_version - returns `version` if this library supports it, and LGRP_VER_NONE if not; for 0 the newest version.
 */
int lgrp_version(int version);

/*
 * lgrp_init - takes a snapshot.
 *
 * @view  LGRP_VIEW_OS: the machine; LGRP_VIEW_CALLER: without the lgroups that have neither on-line CPUs nor memory
 *
 * Returns a cookie; LGRP_COOKIE_NONE with EINVAL (view) or ENOMEM.
 */
lgrp_cookie_t lgrp_init(lgrp_view_t view);

/* lgrp_fini - frees a snapshot.  Returns 0; -1 with EINVAL.  All calls return EINVAL for a bad cookie. */
int lgrp_fini(lgrp_cookie_t cookie);

/* lgrp_cookie_stale - 1 if CPUs or memory have changed since lgrp_init(), else 0. */
int lgrp_cookie_stale(lgrp_cookie_t cookie);

/* lgrp_view - the view with which lgrp_init() was called. */
lgrp_view_t lgrp_view(lgrp_cookie_t cookie);

/* lgrp_nlgrps - the number of lgroups, without the root that the library makes up. */
int lgrp_nlgrps(lgrp_cookie_t cookie);

/* lgrp_root - the id of the root (THEORY). */
lgrp_id_t lgrp_root(lgrp_cookie_t cookie);

/*
 * lgrp_children, lgrp_parents - the ids one level below and one level above `id`.  Both fill ids[] up to `count` (ids
 * may be NULL when count is 0) and return the number of such lgroups; -1 with ESRCH for an unknown lgroup.
 */
int lgrp_children(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_id_t *ids, uint_t count);
int lgrp_parents(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_id_t *ids, uint_t count);

/*
 * lgrp_cpus - the on-line CPUs of `id`; for the root there are none with LGRP_CONTENT_DIRECT.  Otherwise as
 * lgrp_children().
 */
int lgrp_cpus(lgrp_cookie_t cookie, lgrp_id_t id, processorid_t *cpus, uint_t count,
              lgrp_content_t content);

/* lgrp_mem_size - bytes of memory that `id` has, or that are free in it; -1 with EINVAL or ESRCH. */
lgrp_mem_size_t lgrp_mem_size(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_mem_size_flag_t type,
                              lgrp_content_t content);

/* lgrp_resources - the lgroups that hold the CPUs, or the memory, of `id`. */
int lgrp_resources(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_id_t *ids, uint_t count,
                   lgrp_rsrc_t type);

/*
 * lgrp_latency_cookie - the relative time from CPUs of `from` to memory of `to` (10 on the same board); for the root,
 * the greatest such time.  -1 with EINVAL, or ESRCH (no such lgroup, no CPU in `from`, no memory in `to`).
 * lgrp_latency - the same with a new snapshot.
 */
int lgrp_latency_cookie(lgrp_cookie_t cookie, lgrp_id_t from, lgrp_id_t to,
                        lgrp_lat_between_t between);
int lgrp_latency(lgrp_id_t from, lgrp_id_t to);

/*
 * lgrp_home - the home of a process's first LWP (P_PID) or of an LWP of the caller's process (P_LWPID); `id` may be
 * P_MYID.  -1 with EINVAL, EPERM or ESRCH.
 */
lgrp_id_t lgrp_home(idtype_t idtype, id_t id);

/* lgrp_affinity_get - the affinity of one LWP for an lgroup; -1 with EINVAL, EPERM or ESRCH. */
lgrp_affinity_t lgrp_affinity_get(idtype_t idtype, id_t id, lgrp_id_t lgrp);

/*
 * lgrp_affinity_set - sets it; with P_PID for all LWPs of a process.  This may change homes.  Returns 0; -1 as above.
 */
int lgrp_affinity_set(idtype_t idtype, id_t id, lgrp_id_t lgrp, lgrp_affinity_t affinity);

/* lgrp_load - the load average in the snapshot; 32767: every CPU is busy (Homeroom's addition). */
int lgrp_load(lgrp_cookie_t cookie, lgrp_id_t id);

/*
 * lgrp_phys_range - the lowest physical address of the memory of `id`, and the first address above it (Homeroom's
 * addition).  Returns 0; -1 with EINVAL or ESRCH.
 */
int lgrp_phys_range(lgrp_cookie_t cookie, lgrp_id_t id, uint64_t *base, uint64_t *bound);

#ifdef __cplusplus
}
#endif

#endif
