// SPDX-License-Identifier: MIT
/*
 * observe.h - balancing by observation: decides from sampled touches which pages and threads move.
 *
 * THEORY      First touch places a page before the kernel can know which threads will use it.  With lgrp_balance=1
 *             the kernel observes: it hides the translations of some pages (vm/observe.c), and the next touch of
 *             such a page faults.  Such a fault, a *sample*, shows which lgroup uses the page.  The functions here
 *             decide what follows from samples.  They do arithmetic only.
 *             1. A page moves to another lgroup if threads of this lgroup touched the page in two samples in
 *                succession.  One sample is not enough, because a page that many threads use is touched by each of
 *                them now and then.  (Linux's NUMA balancing has the same rule.)
 *             2. If the user of a page changes from one sample to the next, the page is *mixed*.  The more often
 *                this happens, the more samples in succession must agree before the page moves: 2, 3, 5, 7.  A user
 *                that was seen at least twice before it changed does not count as a change, because then a
 *                program has entered another phase.
 *             3. A page with two such changes is *shared*.  For shared pages no lgroup is best.  But if one lgroup
 *                holds most of the shared pages that a process touches, the memory of this board is a bottleneck.
 *                Such a board is *hot*, and each shared page on it moves once, to a random one of the lgroups that
 *                are homes of threads of the process.
 *             4. A thread gets another lgroup as home if 3/4 of its samples are on pages of that lgroup that only
 *                this thread uses.  A page with this prospect stays where it is until the thread has enough samples.
 *             5. The rate of samples begins at its maximum, halves while few pages are on the wrong lgroup, and doubles
 *                while many are.
 * INVARIANTS  I1  OBSERVE_RATE_MIN <= rate <= OBSERVE_RATE_MAX
 * SEE ALSO    vm/observe.c, proc/observer.c, docs/lgroups.md, tests/host/test_observe.c
 */
#ifndef LGRP_OBSERVE_H
#define LGRP_OBSERVE_H

#include "lib/types.h"

/*
 * Rates, in pages for each second of CPU time of the process.  A sample costs about 1,000 instructions
 * (docs/results/balance.md).  With one instruction each clock at 900 MHz, the greatest rate takes 0.25 % of the time.
 */
enum { OBSERVE_RATE_MIN = 64, OBSERVE_RATE_MAX = 2048 };
enum {
    OBSERVE_ENOUGH = 64,        /* samples of a process after which its rate is chosen again */
    OBSERVE_THREAD_ENOUGH = 32, /* samples of a thread after which its home is chosen again */
};

/* A sample: a thread has touched a page. */
struct observe_sample {
    uint8_t user;    /* home of the thread */
    uint8_t at;      /* lgroup of the page */
    uint32_t thread; /* id of the thread; its lowest bits are remembered */
};

enum observe_verdict {
    OBSERVE_STAY,   /* the page is in the right place, or it is not known yet */
    OBSERVE_WAIT,   /* another lgroup uses the page, but one sample is not enough */
    OBSERVE_MOVE,   /* the page should move to the user's lgroup */
    OBSERVE_SHARED, /* several lgroups use the page */
};

/* What the samples of a page say. */
struct observe_result {
    enum observe_verdict verdict;
    bool known; /* the page was sampled before */
    bool own;   /* known, and the same thread as in the sample before */
};

/*
 * observe_page - record a sample of a page.
 * @seen  the page's record, 16 bits; 0 for a page that was never sampled
 */
struct observe_result observe_page(uint16_t *seen, const struct observe_sample *s);
/*
 * observe_page_spread - record that the page was spread, so that it is not spread again.  Returns whether it was spread
 * before.
 */
bool observe_page_spread(uint16_t *seen);

/* The record of a thread: its samples of pages that were sampled before, since its home was last considered. */
struct observe_thread {
    uint16_t samples;
    uint16_t
        own[LGRP_MAX]; /* of these, on pages that only this thread uses, by lgroup of the page */
};

/* observe_thread_add - record a sample.  @own, @at  of this sample: observe_result.own, observe_sample.at */
void observe_thread_add(struct observe_thread *t, bool own, unsigned at);
/* observe_thread_leans - whether, so far, 3/4 of the thread's samples are on pages of its own in lgroup `at`. */
bool observe_thread_leans(const struct observe_thread *t, unsigned at);
/*
 * observe_thread_choose - if the thread has enough samples, begin to count anew, and return the lgroup to which it
 * leans.  LGRP_NONE: it leans to none, or has not enough samples.
 */
unsigned observe_thread_choose(struct observe_thread *t);
/*
 * observe_has_room - whether a thread may move its home to an lgroup.  It may if the load there is then not above the
 * load of its home, or not above the load up to which the threads of a process stay together (home.h).  A
 * quarter of a thread more does not count, because commands and kernel threads run now and then.
 * @there, @home  loads in units of LGRP_LOAD_FULL, as of lpl_load(); `there` without the thread
 * @ncpus         on-line CPUs of the lgroup; 0: never
 * @thresh        lgrp_expand_proc_thresh
 */
bool observe_has_room(uint32_t there, unsigned ncpus, uint32_t home, uint32_t thresh);

/*
 * observe_rate - the next rate of a process that had `samples` samples, of which `wrong` were on pages that are likely
 * to move.
 */
uint32_t observe_rate(uint32_t rate, uint32_t samples, uint32_t wrong);

/*
 * observe_hot - the hot lgroup of a process; LGRP_NONE: there is none.
 * @shared  samples of shared pages, by lgroup of the page
 * @users   set of lgroups that are homes of threads of the process
 * @hot     the lgroup that was hot up to now; it stays hot until its part is near an equal share
 */
unsigned observe_hot(const uint32_t shared[LGRP_MAX], uint64_t users, unsigned hot);

#endif
