// SPDX-License-Identifier: MIT
/*
 * sys/lgrp_user.h - liblgrp: the lgroup topology, homes and affinities, for programs.
 *
 * THEORY    lgrp_init() takes a snapshot; every call with a cookie answers from the snapshot.
 *           Homeroom's topology is Solaris 9's: flat, ids 0 .. n-1, one lgroup a board, and
 *           lgrp_nlgrps() is n.  liblgrp's programs walk down from a root, so with n > 1 the
 *           library makes one up: lgrp_root() returns the id n, the parent of every lgroup,
 *           whose CPUs and memory are those of the machine.  It is nobody's home, has no
 *           affinity, and meminfo(2) never answers it.  With one lgroup the root is lgroup 0.
 * SEE ALSO  lgrpinfo, plgrp; Solaris liblgrp(3LIB)
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

/* lgrp_version - `version` if this library speaks it, LGRP_VER_NONE if not; 0 asks for the
 * newest. */
int lgrp_version(int version);

/*
 * lgrp_init - take a snapshot.
 * @view  LGRP_VIEW_OS: the machine; LGRP_VIEW_CALLER: without the lgroups that have neither
 *        on-line CPUs nor memory
 * Returns a cookie; LGRP_COOKIE_NONE with EINVAL (view) or ENOMEM.
 */
lgrp_cookie_t lgrp_init(lgrp_view_t view);

/* lgrp_fini - drop a snapshot.  0; -1 with EINVAL.  Every cookie call gives EINVAL for a bad
 * cookie. */
int lgrp_fini(lgrp_cookie_t cookie);

/* lgrp_cookie_stale - 1 if CPUs or memory have changed since lgrp_init, else 0. */
int lgrp_cookie_stale(lgrp_cookie_t cookie);

/* lgrp_view - the view that lgrp_init was given. */
lgrp_view_t lgrp_view(lgrp_cookie_t cookie);

/* lgrp_nlgrps - how many lgroups there are, without the made-up root. */
int lgrp_nlgrps(lgrp_cookie_t cookie);

/* lgrp_root - the id of the root (THEORY). */
lgrp_id_t lgrp_root(lgrp_cookie_t cookie);

/*
 * lgrp_children, lgrp_parents - ids one level below, above `id`.
 * Both fill ids[] up to `count` (ids may be NULL when count is 0) and return the number there
 * are; -1 with ESRCH for an unknown lgroup.
 */
int lgrp_children(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_id_t *ids, uint_t count);
int lgrp_parents(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_id_t *ids, uint_t count);

/* lgrp_cpus - on-line CPUs of `id`; the root has none DIRECT.  Like lgrp_children otherwise. */
int lgrp_cpus(lgrp_cookie_t cookie, lgrp_id_t id, processorid_t *cpus, uint_t count,
              lgrp_content_t content);

/* lgrp_mem_size - bytes installed in, or free in, `id`; -1 with EINVAL or ESRCH. */
lgrp_mem_size_t lgrp_mem_size(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_mem_size_flag_t type,
                              lgrp_content_t content);

/* lgrp_resources - the lgroups that hold the CPUs, or the memory, of `id`. */
int lgrp_resources(lgrp_cookie_t cookie, lgrp_id_t id, lgrp_id_t *ids, uint_t count,
                   lgrp_rsrc_t type);

/*
 * lgrp_latency_cookie - relative time from CPUs of `from` to memory of `to` (10 = on the
 * board). Of the root, the greatest.  -1 with EINVAL, or ESRCH (no such lgroup, no CPU in
 * `from`, no memory in `to`).  lgrp_latency is the same on a fresh snapshot.
 */
int lgrp_latency_cookie(lgrp_cookie_t cookie, lgrp_id_t from, lgrp_id_t to,
                        lgrp_lat_between_t between);
int lgrp_latency(lgrp_id_t from, lgrp_id_t to);

/* lgrp_home - home of a process's first LWP (P_PID) or of an LWP of ours (P_LWPID); P_MYID.
 * -1 with EINVAL, EPERM or ESRCH. */
lgrp_id_t lgrp_home(idtype_t idtype, id_t id);

/* lgrp_affinity_get - the affinity of one LWP for an lgroup; -1 with EINVAL, EPERM or ESRCH. */
lgrp_affinity_t lgrp_affinity_get(idtype_t idtype, id_t id, lgrp_id_t lgrp);

/* lgrp_affinity_set - set it, for all LWPs with P_PID, which may change homes.  0; -1 as above.
 */
int lgrp_affinity_set(idtype_t idtype, id_t id, lgrp_id_t lgrp, lgrp_affinity_t affinity);

/* lgrp_load - load average in the snapshot, 32767 = every CPU busy (Homeroom's addition). */
int lgrp_load(lgrp_cookie_t cookie, lgrp_id_t id);

/* lgrp_phys_range - lowest physical address of the memory of `id`, and the first above it
 * (Homeroom's addition).  0; -1 with EINVAL or ESRCH. */
int lgrp_phys_range(lgrp_cookie_t cookie, lgrp_id_t id, uint64_t *base, uint64_t *bound);

#ifdef __cplusplus
}
#endif

#endif
