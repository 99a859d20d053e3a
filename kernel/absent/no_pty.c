// SPDX-License-Identifier: MIT
/*
 * no_pty.c - a kernel without pseudo-terminals: there is no /dev/ptmx and no /dev/pts.
 *
 * SEE ALSO    kernel/profile.mk
 */
#include "tty/tty.h"

void pty_init(void)
{
}
