// SPDX-License-Identifier: MIT
/*
 * stubs.c - what vfs/ calls upwards, for host tests without proc/: one caller, who is root and has no limits.
 *
 * Weak, so that a test can have its own.
 */
#include "vfs/file.h"

__attribute__((weak)) const struct cred *proc_cred(void)
{
    static const struct cred root = {.refs = 1};

    return &root;
}

__attribute__((weak)) uint64_t proc_fsize_limit(void)
{
    return UINT64_MAX;
}

__attribute__((weak)) void proc_signal_self(int sig)
{
    (void)sig;
}

__attribute__((weak)) bool proc_is_ending(void)
{
    return false;
}
