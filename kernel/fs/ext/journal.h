// SPDX-License-Identifier: MIT
/*
 * journal.h - the internal types of the journal, for journal.c, commit.c and recover.c.
 */
#ifndef FS_EXT_JOURNAL_H
#define FS_EXT_JOURNAL_H

#include "fs/ext/ext.h"

/* A part of the list of blocks that a transaction has freed. */
struct freed {
    struct list link;
    unsigned n;
    struct extent e[60];
};

/* A transaction.  Lock key: [j] journal.lock  [b] only the thread that has set journal.busy */
struct txn {
    uint32_t tid; /* [j] number, in the order in which transactions begin */
    /* [b] number of the transaction in the log; unused if there is nothing to log */
    uint32_t seq;
    unsigned updates;    /* [j] open handles */
    unsigned reserved;   /* [j] buffers that open handles can still add to the transaction */
    unsigned nbufs;      /* [j] buffers that the transaction has changed */
    struct list bufs;    /* [j] while running: the buffers that the transaction has changed */
    struct list ordered; /* [j] inodes whose data must be written before the commit */
    struct list ckpts;   /* [j] after the commit: buffers not yet written to their own blocks */
    uint32_t *revoked;   /* [j] blocks for the revoke records */
    unsigned nrevoked, revoked_cap;
    unsigned may_revoke; /* [j] blocks that open handles can still add to `revoked` */
    struct list freed; /* [j] struct freed: blocks to release when the transaction is on the disk */
    uint32_t log_start; /* [b] first block of the transaction in the log */
    struct list link;   /* [j] in journal.done */
};

struct journal {
    struct ext_fs *fs;
    struct mutex lock;
    struct cv cv;           /* broadcast after a change of the fields below */
    struct txn *running;    /* [j] the transaction that new handles join, or NULL */
    struct txn *committing; /* [j] the transaction that is being written, or NULL */
    /* [j] transactions that are committed, but not yet checkpointed: oldest first */
    struct list done;
    /* [j] tid of the next transaction; tid of the last one on the disk */
    uint32_t next_tid, committed;
    bool busy;                 /* [j] a thread commits or checkpoints */
    bool locking;              /* [j] no handle can begin */
    bool aborted;              /* [j] */
    bool log;                  /* [c] there is a log; else transactions are written in place */
    unsigned max;              /* [c] most buffers of one transaction */
    _Atomic uint64_t overruns; /* buffers that handles added beyond their credits */

    /* the log */
    struct mutex super_lock; /* held during a change of `super` and the write of it */
    uint8_t *super;          /* under super_lock: the journal's superblock, one block */
    /* [c] how many blocks the journal has; the index of the block of the journal where the log begins */
    uint32_t maxlen, first;
    struct extent *map; /* [c] where the blocks of the journal lie on the disk */
    unsigned nmap;
    uint32_t head, tail; /* [b] log block to write next; oldest log block that is needed */
    uint32_t seq;        /* [b] number of the next transaction in the log */

    /* [b] working memory of a commit, enough for the largest transaction; jnl_open() allocates it */
    struct ioblock *ents; /* the buffers of the transaction */
    uint8_t **copies;    /* copies[k]: copy of buffer ents[k]; NULL: the buffer itself is written */
    struct ioblock *out; /* the blocks to write */
    uint8_t *spare;      /* blocks for descriptors, revoke records, checkpoints */
    unsigned nspare, max_revoked; /* blocks in `spare`; most revoked blocks of one transaction */
};

#define JNL_MIN_BLOCKS 1024
#define JNL_MAX_TXN    2048u
#define REVOKE_BLOCKS  8u
#define CKPT_BATCH     64u

/* jnl_log_block - the block of the disk that is block `i` of the journal. */
uint32_t jnl_log_block(const struct journal *j, uint32_t i);
/* jnl_log_need - most log blocks for a transaction of n buffers.  jnl_log_free - free blocks of the log. */
uint32_t jnl_log_need(const struct journal *j, unsigned n);
uint32_t jnl_log_free(const struct journal *j);
/*
 * The caller of these two functions must have set j->busy.  They return 0 or -EIO.
 * jnl_commit_running - commit the running transaction.  The caller holds j->lock, which is released meanwhile.
 * jnl_checkpoint - write committed buffers to their own blocks on the disk and free their part of
 *                  the log.  The caller does not hold j->lock.
 */
int jnl_commit_running(struct journal *j);
int jnl_checkpoint(struct journal *j);
/* txn_free - free a transaction that is on no list. */
void txn_free(struct txn *t);
/*
 * jnl_write_super - write the journal's superblock, between two flushes: the log begins at block `start` (0:
 *                   the log is empty) with transaction `seq`.  0 or -EIO.  Takes super_lock.
 */
int jnl_write_super(struct journal *j, uint32_t start, uint32_t seq);

#endif
