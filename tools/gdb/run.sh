#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh - `make gdb`: start a machine that waits for GDB, and connect GDB to it; it stops in kmain.
#
#   tools/gdb/run.sh MACHINE ISO KERNEL
#
# The machine's console is written to build/gdb.PID.console and takes no input.  RUN= and the other variables of
# make qemu-<machine> work.  The machine ends with GDB.  If it ends before GDB is connected, this script prints the
# console and exits with the machine's status (1 for status 0).
set -eu

machine=$1 iso=$2 kernel=$3
console=build/gdb.$$.console
mkdir -p build

listens() { # PORT: status 0 if a program of this host listens on the port
    grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$1") [0-9A-F:]* 0A " /proc/net/tcp
}

port=$((20000 + $(id -u) % 10000 + $$ % 1000))
while listens "$port"; do
    port=$((port + 1))
done
GDB=$port setsid "${PYTHON:-python3}" qemu/launch.py "$machine" --make --iso "$iso" </dev/null >"$console" 2>&1 &
launcher=$!
trap 'kill "$launcher" 2>/dev/null || true; rm -f "$console"' EXIT
trap 'exit 129' HUP # exit runs the trap above
trap 'exit 143' TERM
trap : INT # GDB handles Ctrl-C

until listens "$port"; do
    if ! grep -q '^State:.[^Z]' "/proc/$launcher/status" 2>/dev/null; then
        status=0
        wait "$launcher" || status=$?
        cat "$console" >&2
        [ "$status" != 0 ] || status=1
        exit "$status"
    fi
    sleep 0.1
done

echo "console: tail -f $console"
status=0
# shellcheck disable=SC2086 # GDB_ARGS may be several words
gdb -q -ex 'set pagination off' -ex 'set confirm off' -ex 'set tcp connect-timeout 20' \
    -ex "target remote 127.0.0.1:$port" -x tools/gdb/homeroom.py -ex 'hbreak kmain' -ex continue \
    ${GDB_ARGS:-} "$kernel" || status=$?
[ "$status" = 0 ] || cat "$console"
exit "$status"
