// SPDX-License-Identifier: MIT
/*
 * fsup.c - the upcalls of kernel/fs to processes: credentials, the file size limit,
 * signals, the end of a process.
 *
 * LOCKING     sig_send_lwp() takes the lock of the handlers; kernel/fs calls these functions
 *             with no spin lock held
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
                                  : RLIM_INFINITY; /* kernel threads have no limit */
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
