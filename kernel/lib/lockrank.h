// SPDX-License-Identifier: MIT
/*
 * lockrank.h - the order in which spin locks are taken, in one table.
 *
 * A CPU may take a lock only while every lock it holds has a lower rank; test builds check it at each
 * spin_lock() and panic naming both.  Two locks of the same rank are held together only through
 * spin_lock_pair().  Sleeping locks (mutex, rwlock) come before all of these, in the order
 *     vnode (directory -> child) -> as->lock
 * and are never taken with a spin lock held.
 */
#ifndef LIB_LOCKRANK_H
#define LIB_LOCKRANK_H

enum lockrank {
    RANK_NONE       = 0,
    RANK_KSTAT      = 4,  /* the list of kstats; their snapshot functions run under it */
    RANK_PROC_TABLE = 10, /* pid hash, parent/child links, process groups and sessions */
    RANK_SIGHAND    = 14, /* signal handlers and pending sets of one process           */
    RANK_FD         = 18, /* one descriptor table                                      */
    RANK_VNODE      = 22, /* one vnode's fields, one directory's hash                  */
    RANK_TTY        = 26,
    RANK_PIPE       = 28,
    RANK_FUTEX      = 30, /* one hash bucket                                           */
    RANK_NET        = 32, /* lwIP and all sockets                                      */
    RANK_VM_FAMILY  = 34, /* the anonymous objects of one fork family                  */
    RANK_VM_OBJ     = 36, /* one object's page index                                   */
    RANK_VM_DIRTY   = 38, /* lists of objects with dirty pages                          */
    RANK_VM_CACHE   = 39, /* one node's cache list                                      */
    RANK_VM_TLB     = 40, /* busy pages                                                */
    RANK_BUF        = 41, /* the cache of metadata blocks, and the journal's lists       */
    RANK_BLK        = 42, /* one disk's queue                                            */
    RANK_DRIVER     = 43, /* one queue or channel of a device                            */
    RANK_POLL       = 44, /* lists of pollers                                          */
    RANK_EPOLL      = 45, /* one epoll's ready list                                    */
    RANK_POLLER     = 46, /* one thread in poll                                        */
    RANK_TIMER      = 48, /* one CPU's timer heap                                      */
    RANK_CV         = 52, /* one condition variable's, mutex's, rwlock's sleepers      */
    RANK_THREAD     = 56, /* one thread's state                                        */
    RANK_PART       = 58, /* homes and loads of lgroups, of all processor sets         */
    RANK_RUNQ       = 60, /* one CPU's run queue                                       */
    RANK_INTR       = 62, /* where interrupts arrive                                   */
    RANK_SLAB       = 70,
    RANK_BUDDY      = 74, /* one memory node's free lists                              */
    RANK_LOG        = 80, /* kernel message buffer                                     */
    RANK_UART       = 84,
};

#endif
