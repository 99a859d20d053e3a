// SPDX-License-Identifier: MIT
/*
 * journal.h - transactions, for the files that make and write them (journal.c, commit.c, recover.c).
 */
#ifndef FS_EXT_JOURNAL_H
#define FS_EXT_JOURNAL_H

#include "fs/ext/ext.h"

/* Blocks that a transaction has freed: some of them. */
struct freed {
    struct list link;
    unsigned n;
    struct extent e[60];
};

/* Lock key: [j] journal.lock  [b] who has set `busy` */
struct txn {
    uint32_t tid;        /* [j] in the order they were begun                                */
    uint32_t seq;        /* [b] number in the log; only what is written has one             */
    unsigned updates;    /* [j] open handles                                                */
    unsigned reserved;   /* [j] buffers that they may still add                             */
    unsigned nbufs;      /* [j] length of bufs                                              */
    struct list bufs;    /* [j] running: buffers it has changed                             */
    struct list ordered; /* [j] inodes whose data goes first                                */
    struct list ckpts;   /* [j] committed: buffers not yet in their place                   */
    uint32_t *revoked;   /* [j] blocks                                                      */
    unsigned nrevoked, revoked_cap;
    unsigned
        may_revoke;     /* [j] that open handles may still add; with nrevoked at most max_revoked */
    struct list freed;  /* [j] struct freed: blocks to be used again when it is on the disk */
    uint32_t log_start; /* [b] first of its blocks in the log                              */
    struct list link;   /* [j] journal.done                                                */
};

struct journal {
    struct ext_fs *fs;
    struct mutex lock;
    struct cv cv;                 /* anything below has changed                               */
    struct txn *running;          /* [j] takes handles                                        */
    struct txn *committing;       /* [j] on its way to the disk                               */
    struct list done;             /* [j] committed, not yet checkpointed: oldest first        */
    uint32_t next_tid, committed; /* [j] last transaction on the disk                */
    bool busy;                    /* [j] somebody commits or checkpoints                      */
    bool locking;                 /* [j] no handle begins                                     */
    bool aborted;                 /* [j]                                                      */
    bool log;                     /* [c] there is one; else transactions are written in place */
    unsigned max;                 /* [c] buffers of one transaction                           */
    _Atomic uint64_t overruns;    /* handles that changed more than they had said             */

    /* the log */
    struct mutex super_lock; /* held over a change of super and its write                */
    uint8_t *super;          /* [under super_lock] its superblock, one block             */
    uint32_t maxlen, first;
    struct extent *map; /* [c] its blocks on the disk                               */
    unsigned nmap;
    uint32_t head, tail; /* [b] log blocks: next to write, oldest needed             */
    uint32_t seq;        /* [b] of the next transaction written                      */

    /* [b] for commits: room for the largest transaction, got at mount time */
    struct ioblock *ents;
    uint8_t **copies; /* beside ents: what goes to the log; NULL: the buffer itself */
    struct ioblock *out;
    uint8_t *spare; /* blocks for descriptors, revoke records, checkpoints      */
    unsigned nspare, max_revoked;
};

#define JNL_MIN_BLOCKS 1024
#define JNL_MAX_TXN    2048u
#define REVOKE_BLOCKS  8u
#define CKPT_BATCH     64u

/* jnl_log_block - where block `i` of the journal lies on the disk. */
uint32_t jnl_log_block(const struct journal *j, uint32_t i);
/* jnl_log_need - log blocks of a transaction of n buffers. */
uint32_t jnl_log_need(const struct journal *j, unsigned n);
uint32_t jnl_log_free(const struct journal *j);
/* jnl_write - commit the running transaction; jnl_checkpoint - write what is committed into its place.  Busy. */
int jnl_write(struct journal *j);
int jnl_checkpoint(struct journal *j);
/* txn_free - its memory; it is on no list. */
void txn_free(struct txn *t);
int jnl_write_super(struct journal *j, uint32_t start, uint32_t seq);

#endif
