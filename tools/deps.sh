#!/bin/sh
# SPDX-License-Identifier: MIT
#
# deps.sh - install what a command lacks: deps.sh [-n] GROUP...     (make calls it; so may you)
#
#   run          build the image and run machines  (Debian packages, and the sources of lwIP in build/lwip)
#   dynamic      Debian's programs for images      (packages)
#   test         run the tests                     (packages, and .venv with requirements.txt)
#   experiments  make experiments, make watch      (.venv-experiments with requirements-experiments.txt)
#   browser      test the report in Chromium       (package; only when asked for: it is large)
#   lint         check style                       (packages, and .venv)
#   gdb          debug the kernel                  (packages)
#   refdisk      the reference disk                (packages)
#   peer         run Linux on the same machines    (build/peer/vmlinux, of a package that is not installed)
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

peer=
lwip=
# need_venv FOLDER REQUIREMENTS: an environment for Python tools, made anew when its list has changed.
venvs=
need_venv() {
    cmp -s "$2" "$1/requirements.txt" 2>/dev/null || venvs="$venvs $1:$2"
}

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
        need_file /usr/sbin/mke2fs e2fsprogs
        need fakeroot fakeroot
        need xz xz-utils
        [ -s build/lwip/lwip.tar.xz ] || lwip=1
        ;;
    test)
        need nbdkit nbdkit
        need_file /usr/include/nbdkit-plugin.h nbdkit-plugin-dev
        need cpio cpio
        need gdb gdb
        need_venv .venv requirements.txt
        ;;
    dynamic)
        need ldd libc-bin
        need iperf iperf
        need iperf3 iperf3
        need sqlite3 sqlite3
        need lua5.4 lua5.4
        need numactl numactl
        need lstopo-no-graphics hwloc-nox
        need_file /lib/terminfo/v/vt100 ncurses-base
        ;;
    experiments) need_venv .venv-experiments requirements-experiments.txt ;;
    browser) need chromium chromium ;;
    lint)
        need shellcheck shellcheck
        need_venv .venv requirements.txt
        ;;
    gdb) need gdb gdb ;;
    refdisk)
        need nbdkit nbdkit
        need_file /usr/include/nbdkit-plugin.h nbdkit-plugin-dev
        ;;
    peer) [ -s build/peer/vmlinux ] || peer=1 ;;
    *) echo "deps.sh: no group '$group'; there are run, dynamic, test, experiments, browser, lint, gdb, refdisk, peer" >&2; exit 2 ;;
    esac
done

if [ -n "$venvs" ] && ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    missing="$missing python3-venv"
fi
[ -n "$missing$venvs$peer$lwip" ] || exit 0
if [ -n "$dry" ]; then
    [ -z "$missing" ] || echo "missing:$missing"
    for pair in $venvs; do
        echo "missing: ${pair%:*} with the packages of ${pair#*:}"
    done
    [ -z "$peer" ] || echo "missing: build/peer/vmlinux, Debian's Linux kernel"
    [ -z "$lwip" ] || echo "missing: build/lwip/lwip.tar.xz, the sources of lwIP"
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

for pair in $venvs; do
    folder=${pair%:*} list=${pair#*:}
    echo "deps.sh: making $folder with the packages of $list"
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install -q --disable-pip-version-check -r "$list"
    cp "$list" "$folder/requirements.txt"
done

[ -z "$lwip" ] || tools/net/lwip.sh build/lwip/lwip.tar.xz
[ -z "$peer" ] || tools/peer/kernel.py build/peer/vmlinux
