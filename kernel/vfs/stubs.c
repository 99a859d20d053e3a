// SPDX-License-Identifier: MIT
/*
 * stubs.c - the functions of proc/ that vfs/ calls, for host tests without proc/: the only caller is root and has
 * no limits.
 *
 * The functions are weak symbols, so that a test can define its own.
 */
#include "stat/iocount.h"
#include "vfs/file.h"

__attribute__((weak)) const struct cred *proc_cred(void)
{
    static const struct cred root = {.refs = 1};

    return &root;
}

__attribute__((weak)) int proc_self_pid(void)
{
    return 1;
}

__attribute__((weak)) uint64_t proc_fsize_limit(void)
{
    return UINT64_MAX;
}

__attribute__((weak)) void proc_signal_self(int sig)
{
    (void)sig;
}

__attribute__((weak)) void io_count_disk(uint64_t read, uint64_t write, uint64_t cancelled)
{
    (void)read, (void)write, (void)cancelled;
}

__attribute__((weak)) bool proc_is_ending(void)
{
    return false;
}
