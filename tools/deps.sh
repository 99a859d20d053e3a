#!/bin/sh
# SPDX-License-Identifier: MIT
#
# deps.sh - install what a command lacks: deps.sh [-n] GROUP...     (make calls it; so may you)
#
#   run    build the image and run machines        (Debian packages)
#   test   run the tests                           (packages, and .venv with requirements.txt)
#   lint   check style                             (packages, and .venv)
#   gdb    debug the kernel                        (packages)
#   peer   run Linux on the same machines          (build/peer/vmlinux, of a package that is not installed)
#
# With everything in place it takes some milliseconds and prints nothing.  -n prints what is missing and
# installs nothing; the exit status is then 1.  Where installing is not allowed it prints the exact command to
# type and stops with status 1.
set -eu
cd "$(dirname "$0")/.."

dry=
[ "${1:-}" = -n ] && { dry=1; shift; }

# need TOOL PACKAGE...: remember the packages if the tool is not there.
missing=
need() {
    tool=$1; shift
    command -v "$tool" >/dev/null 2>&1 || missing="$missing $*"
}
need_file() {
    file=$1; shift
    [ -e "$file" ] || missing="$missing $*"
}

venv=
peer=
for group in "$@"; do
    case $group in
    run)
        need "${CC:-gcc}" gcc libc6-dev
        need ld binutils
        need python3 python3
        need musl-gcc musl-tools
        need busybox busybox-static
        need qemu-system-x86_64 qemu-system-x86
        need grub-mkrescue grub-common
        need_file /usr/lib/grub/i386-pc/multiboot2.mod grub-pc-bin
        need xorriso xorriso
        need mformat mtools
        ;;
    test)
        need cpio cpio
        need gdb gdb
        venv=1
        ;;
    lint)
        need shellcheck shellcheck
        venv=1
        ;;
    gdb) need gdb gdb ;;
    peer) [ -s build/peer/vmlinux ] || peer=1 ;;
    *) echo "deps.sh: no group '$group'; there are run, test, lint, gdb, peer" >&2; exit 2 ;;
    esac
done

# The environment for Python tools is made anew when requirements.txt has changed.
if [ -n "$venv" ] && ! cmp -s requirements.txt .venv/requirements.txt 2>/dev/null; then
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
else
    venv=
fi

[ -n "$missing$venv$peer" ] || exit 0
if [ -n "$dry" ]; then
    [ -z "$missing" ] || echo "missing:$missing"
    [ -z "$venv" ] || echo "missing: .venv with the packages of requirements.txt"
    [ -z "$peer" ] || echo "missing: build/peer/vmlinux, Debian's Linux kernel"
    exit 1
fi

if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "deps.sh: install these by hand (no apt-get here):$missing" >&2
        exit 1
    fi
    root=
    [ "$(id -u)" = 0 ] || root=sudo
    if [ -n "$root" ] && ! { command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        echo "deps.sh: some tools are missing; type this as root:" >&2
        echo "    apt-get update && apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
    echo "deps.sh: installing$missing"
    # shellcheck disable=SC2086 # the package names are words of their own
    if ! { $root apt-get update -q && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
        --no-install-recommends $missing; }; then
        echo "deps.sh: that failed; type this as root:" >&2
        echo "    apt-get update && apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
fi

if [ -n "$venv" ]; then
    echo "deps.sh: making .venv with the packages of requirements.txt"
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/pip install -q --disable-pip-version-check -r requirements.txt
    cp requirements.txt .venv/requirements.txt
fi

[ -z "$peer" ] || tools/peer/kernel.py build/peer/vmlinux
