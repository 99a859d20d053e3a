// SPDX-License-Identifier: MIT
/*
 * cred.c - credentials: the user and group ids with which a thread acts.
 *
 * THEORY      A struct cred never changes after a second thread can see it.  A set*id call makes a copy,
 *             changes the copy and installs it.  Each LWP holds its own reference, as in Linux.  To change the
 *             ids of a whole process, the C library makes the call in every thread.
 * LOCKING     Only an LWP itself changes its l->cred, under proc_lock.  So other threads can read it under
 *             proc_lock.
 */
#include "proc/proc_impl.h"

#include "lib/errno.h"
#include "stat/panic.h"

static struct kmem_cache *cred_cache;
static struct cred root_cred = {.refs = 1};

void cred_init(void)
{
    cred_cache = kmem_cache_create("cred", sizeof(struct cred), 0);
    if (cred_cache == NULL)
        panic("no memory for the cache of cred");
}

struct cred *cred_root(void)
{
    atomic_fetch_add_explicit(&root_cred.refs, 1, memory_order_relaxed);
    return &root_cred;
}

struct cred *cred_dup(const struct cred *c)
{
    struct cred *n = kmem_cache_alloc(cred_cache);

    if (n == NULL)
        return NULL;
    *n = *c;
    n->refs = 1;
    return n;
}

void cred_release(struct cred *c)
{
    if (c != NULL && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        kmem_cache_free(cred_cache, c);
}

int cred_install(struct cred *n)
{
    struct lwp *l = curlwp();
    struct cred *old;
    struct ucount *uc;

    spin_lock(&proc_lock);
    if (n->uid != l->cred->uid) {
        uc = ucount_get(n->uid);
        if (uc == NULL) {
            spin_unlock(&proc_lock);
            return -ENOMEM;
        }
        thread_set_fss(&l->t, &uc->fss);
        l->ucount->nlwps--;
        uc->nlwps++;
        ucount_put(l->ucount);
        l->ucount = uc;
    }
    old = l->cred;
    l->cred = n;
    spin_unlock(&proc_lock);
    cred_release(old);
    return 0;
}

int proc_self_pid(void)
{
    return curthread->lwp != NULL ? curproc()->pid : 0;
}

const struct cred *proc_cred(void)
{
    static const struct cred kernel = {.refs = 1}; /* uid 0 */

    return curthread->lwp != NULL ? curcred() : &kernel;
}
