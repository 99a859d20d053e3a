// SPDX-License-Identifier: MIT
/*
 * lockrank.h - the order in which locks are taken, in two tables: locks that sleep first, then spin locks.
 *
 * THEORY      A deadlock is a circle: thread A holds lock 1 and waits for lock 2, thread B holds lock 2 and
 *             waits for lock 1.  If all threads take locks in one order, there is no circle.  So each lock has
 *             a rank, and a lock must be taken only while all locks already held have a lower rank.  Test
 *             builds check this each time a lock is taken, even if no thread waits.  The panic message names
 *             both locks.
 *             Spin locks: the rule is about the locks that the CPU holds.  Only spin_lock_pair() takes two
 *             locks of one rank.
 *             Sleeping locks: the rule is about the locks that the thread holds, and it must hold no spin
 *             lock.  Unrelated locks never share a rank.  A thread can hold the locks of several vnodes: a
 *             directory before its child, two directories in the order of their addresses.
 *             A handle of a journal is not a lock, but a commit waits for all handles.  So a handle has a rank,
 *             too.
 */
#ifndef LIB_LOCKRANK_H
#define LIB_LOCKRANK_H

/*
 * X(rank, name, what the lock guards).  Tools and the trace show `name` for a thread that waits for
 * the lock.
 */
#define SLEEPING_LOCKS(X)                                                                          \
    X(SLEEP_DISK_OPEN, "disk open", "opening and closing a disk")                                  \
    X(SLEEP_FILE, "file", "one open file's offset")                                                \
    X(SLEEP_PSEUDO, "pseudo file", "the text of an open file of /proc or /sys")                    \
    X(SLEEP_MOUNT, "mount", "mounting and unmounting")                                             \
    X(SLEEP_EXT_MOUNTS, "mounts", "the list of mounted ext file systems")                          \
    X(SLEEP_RENAME, "rename", "renaming in one file system")                                       \
    X(SLEEP_VNODE, "vnode", "one file's data and size, one directory's names")                     \
    X(SLEEP_PROC, "proc", "one process's name, limits and program")                                \
    X(SLEEP_FSINFO, "fsinfo", "working directory and umask")                                       \
    X(SLEEP_LOCKS, "locks", "record locks of some files")                                          \
    X(SLEEP_LOCK_WAITS, "lock waits", "who waits for record locks")                                \
    X(SLEEP_FIFO, "fifo", "opening named pipes")                                                   \
    X(SLEEP_PIPE, "pipe", "one pipe")                                                              \
    X(SLEEP_EVENT, "event", "one eventfd or timerfd")                                              \
    X(SLEEP_CLOCK_WATCH, "clock watch", "the timers that depend on the time of day")               \
    X(SLEEP_SOCKET_READ, "socket read", "one socket's readers")                                    \
    X(SLEEP_SOCKET_WRITE, "socket write", "one socket's writers")                                  \
    X(SLEEP_SIGIO, "sigio", "which files send SIGIO")                                              \
    X(SLEEP_EPOLL_FILES, "epoll files", "which epolls watch a file")                               \
    X(SLEEP_EPOLL, "epoll", "one epoll's table")                                                   \
    X(SLEEP_STATDEV, "statdev", "one reader of statistics")                                        \
    X(SLEEP_TRACE, "trace", "the trace rings")                                                     \
    X(SLEEP_SHM, "shm", "System V shared memory")                                                  \
    X(SLEEP_SEM_TABLE, "semaphore sets", "the table of System V semaphore sets")                   \
    X(SLEEP_SEM, "semaphores", "one set of System V semaphores")                                   \
    X(SLEEP_SEM_UNDO, "semaphore undo", "one process's list of adjustments")                       \
    X(SLEEP_SWAP, "swap", "swap areas, while one is added or removed")                             \
    X(SLEEP_SYNC, "sync", "the list of objects with a disk")                                       \
    X(SLEEP_AS, "as", "one address space's segments")                                              \
    X(SLEEP_SYSV, "sysv objects", "objects of System V segments, for swapoff")                     \
    X(SLEEP_HANDLE, "handle", "a handle of a journal")                                             \
    X(SLEEP_EXT_ICACHE, "inode cache", "a part of the inodes in memory")                           \
    X(SLEEP_EXT_MAP, "file map", "one file's block map")                                           \
    X(SLEEP_EXT_GROUP, "block group", "one group's bitmaps")                                       \
    X(SLEEP_EXT_ORPHANS, "orphans", "the list of unlinked open files")                             \
    X(SLEEP_EXT_READ, "metadata read", "reading a metadata block")                                 \
    X(SLEEP_JOURNAL, "journal", "one journal's transactions")                                      \
    X(SLEEP_JOURNAL_SUPER, "journal superblock", "writing it")                                     \
    X(SLEEP_CPU_STATE, "cpu state", "CPUs on-line and off-line, processor sets")

enum sleeprank {
#define X(rank, name, guards) rank,
    SLEEPING_LOCKS(X)
#undef X
};

enum lockrank {
    RANK_NONE = 0,
    RANK_KSTAT = 4,       /* the list of kstats; held while snapshot functions of kstats run */
    RANK_PROC_TABLE = 10, /* pid hash, parent/child links, process groups and sessions */
    RANK_SIGHAND = 14,    /* signal handlers and pending sets of one process */
    RANK_FD = 18,         /* one descriptor table */
    RANK_VNODE = 22,      /* one vnode's fields, one directory's hash */
    RANK_TTY = 26,
    RANK_EVENT = 28,     /* one timerfd; threads that sleep until a time of day */
    RANK_FUTEX = 30,     /* one hash bucket */
    RANK_NET = 32,       /* lwIP and all sockets */
    RANK_VM_FAMILY = 34, /* the anonymous objects of one fork family */
    RANK_VM_OBJ = 36,    /* one object's page index */
    RANK_VM_DIRTY = 38,  /* lists of objects with dirty pages */
    RANK_VM_CACHE = 39,  /* one node's cache list */
    RANK_VM_TLB = 40,    /* busy pages; the list of address spaces */
    RANK_BUF = 41,       /* the cache of metadata blocks, and the journal's lists */
    RANK_BLK = 42,       /* one disk's queue */
    RANK_DRIVER = 43,    /* one queue or channel of a device */
    RANK_POLL = 44,      /* lists of pollers */
    RANK_EPOLL = 45,     /* one epoll's ready list */
    RANK_POLLER = 46,    /* one thread in poll */
    RANK_TIMER = 48,     /* one CPU's timer heap */
    RANK_CV = 52,        /* one condition variable's, mutex's, rwlock's sleepers */
    RANK_THREAD = 56,    /* one thread's state */
    RANK_PART = 58,      /* homes and loads of lgroups, of all processor sets */
    RANK_RUNQ = 60,      /* one CPU's run queue */
    RANK_INTR = 62,      /* the sources of interrupts, and their target CPUs */
    RANK_SLAB = 70,
    RANK_BUDDY = 74, /* one memory node's free lists */
    RANK_LOG = 80,   /* kernel message buffer */
    RANK_UART = 84,
};

#endif
