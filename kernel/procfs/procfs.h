// SPDX-License-Identifier: MIT
/*
 * procfs.h - declarations that the files of procfs share.
 *
 * SEE ALSO    procfs.c
 */
#ifndef PROCFS_PROCFS_H
#define PROCFS_PROCFS_H

#include "vfs/pseudo.h"
#include "proc/proc.h"

/* procfs_init - register the file system type "proc"; together with fs_init(). */
void procfs_init(void);

/* The tables of the tree; arg.a is the process id, arg.b a thread id or a descriptor. */
extern const struct pseudo_node procfs_pid_files[];    /* /proc/N                   */
extern const struct pseudo_node procfs_system_files[]; /* /proc, without processes  */
/* procfs_hold - the process `pid` with a reference; NULL: no such process.  Takes proc_lock. */
struct proc *procfs_hold(uint64_t pid);
/*
 * procfs_as - the address space of process `pid` with a reference.  NULL: there is no such process
 * (*gone is true), or the process has no address space.
 */
struct as *procfs_as(uint64_t pid, bool *gone);
/* procfs_check_inspect - 0: the caller is allowed to see memory, descriptors and program of `pid`; -EACCES, -ESRCH. */
int procfs_check_inspect(uint64_t pid);
/*
 * proc_may_inspect - whether the caller is allowed to see these of process p.  The caller holds
 * proc_lock.
 */
bool proc_may_inspect(struct proc *p);
/* procfs_path - write the path of vn from the real root to buf[size], without a NUL.  Length or error. */
int procfs_path(struct vnode *vn, char *buf, size_t size);

/* Show functions of files: append the text of the file to `out`.  0 or an error, mostly -ESRCH. */
#define PROCFS_SHOW(name)                                                                          \
    int name(const struct pseudo_node *n, struct pseudo_arg arg, struct text *out)
PROCFS_SHOW(procfs_show_stat);
PROCFS_SHOW(procfs_show_status);
PROCFS_SHOW(procfs_show_statm);
PROCFS_SHOW(procfs_show_comm);
PROCFS_SHOW(procfs_show_maps);
PROCFS_SHOW(procfs_show_lgrpmap);
PROCFS_SHOW(procfs_show_heat);
PROCFS_SHOW(procfs_show_numa_maps);
PROCFS_SHOW(procfs_show_strings);
PROCFS_SHOW(procfs_show_mounts);
PROCFS_SHOW(procfs_show_mountinfo);
PROCFS_SHOW(procfs_show_io);
PROCFS_SHOW(procfs_show_interrupts);
PROCFS_SHOW(procfs_show_partitions);
PROCFS_SHOW(procfs_show_diskstats);
PROCFS_SHOW(procfs_show_limits);
/* Tags of the files about System V objects. */
enum { SHOW_LIST, SHOW_SHMMAX, SHOW_SHMALL, SHOW_SHMMNI, SHOW_SEM_LIMITS };
/* procfs_irq_next - pseudo_node.next of /proc/irq. */
int procfs_irq_next(const struct pseudo_node *dir, struct pseudo_arg arg, uint64_t from,
                    struct pseudo_entry *e);
int procfs_self_link(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t size);
/* procfs_open_mem - pseudo_node.open_file of /proc/N/mem.  0; -ENOMEM -ESRCH -EACCES, as for ptrace(2). */
int procfs_open_mem(const struct pseudo_node *n, struct pseudo_arg arg, struct file *f);
int procfs_store_comm(const struct pseudo_node *n, struct pseudo_arg arg, char *buf, size_t len);

/* procfs_exists - pseudo_node.exists: whether the process is there; with TAG_THREAD, the thread.  Takes proc_lock. */
bool procfs_exists(const struct pseudo_node *dir, struct pseudo_arg arg);

/* Tags of nodes that share functions. */
enum { TAG_WHOLE, TAG_THREAD };              /* stat, status, comm           */
enum { TAG_CMDLINE, TAG_ENVIRON, TAG_AUXV }; /* procfs_show_strings  */
enum { TAG_EXE, TAG_CWD, TAG_ROOT };         /* links                        */

/* ---- implemented by sys/ ---- */
/* procfs_show_shm, procfs_show_sem - /proc/sysvipc/shm and sem, and the limits in /proc/sys/kernel. */
PROCFS_SHOW(procfs_show_shm);
PROCFS_SHOW(procfs_show_sem);

#endif
