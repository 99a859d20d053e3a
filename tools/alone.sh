#!/bin/sh
# SPDX-License-Identifier: MIT
#
# alone.sh COMMAND... - run a command with the lock build/.lock: in one checkout only one such command runs at a time.
#
# make builds with this lock, because two makes would write the same files.  HR_ALONE in the environment tells a make
# below this command that the lock is already held.  Without flock(1) the command runs without the lock.
set -eu

export HR_ALONE=1
command -v flock >/dev/null 2>&1 || exec "$@"
mkdir -p build
exec 9>build/.lock
if ! flock -w 2 9; then
    echo "make: another make builds here: waiting for it" >&2
    flock 9
fi
exec "$@"
