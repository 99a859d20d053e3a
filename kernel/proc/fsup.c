// SPDX-License-Identifier: MIT
/*
 * fsup.c - what the file room asks of processes: who is running, its file size limit, the signals of writing.
 *
 * LOCKING  sig_send_lwp() takes the handlers' lock; fs calls with none held but sleeping ones.
 */
#include "proc/proc_impl.h"

#include "vfs/file.h"

static const struct cred *running_cred(void)
{
    static const struct cred kernel = {.refs = 1}; /* uid 0 */

    return curthread->lwp != NULL ? curcred() : &kernel;
}

static uint64_t fsize_limit(void)
{
    return curthread->lwp != NULL ? limit(RLIMIT_FSIZE)
                                  : RLIM_INFINITY; /* the kernel itself has none */
}

static void signal_self(int sig)
{
    sig_send_lwp(curlwp(), sig, NULL);
}

static bool process_is_ending(void)
{
    return curthread->lwp != NULL &&
           atomic_load_explicit(&curproc()->exiting, memory_order_relaxed);
}

void fsup_init(void)
{
    fs_upcalls = (struct fs_upcalls){running_cred, fsize_limit, signal_self, process_is_ending};
}
