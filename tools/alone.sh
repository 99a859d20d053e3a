#!/bin/sh
# SPDX-License-Identifier: MIT
#
# alone.sh COMMAND... - run a command while no other one of this checkout runs so: two makes that build would write
# the same files.  What it starts knows by HR_ALONE that it need not ask again.
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
