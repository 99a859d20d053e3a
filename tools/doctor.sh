#!/bin/sh
# SPDX-License-Identifier: MIT
#
# doctor.sh - list what is installed and what is missing, and the command that installs it (`make doctor`).
#
# THEORY      The script needs only a POSIX shell, because even Python may be missing.  The programs and their oldest
#             versions are in tools/deps.txt.
# EXIT        0: the host can build and run machines.  1: something needed for that is missing or too old.
set -u
cd "$(dirname "$0")/.." || exit 1
PATH=$PATH:/usr/sbin:/sbin
HOST=other # see tools/deps.txt
[ "$(uname -m)" != x86_64 ] || HOST=x86_64

row() { printf '%-36s %-12s %s\n' "$1" "$2" "$3"; }

# at_least FOUND LEAST: status 0 if version FOUND is LEAST or newer; numbers are compared one by one.  - as LEAST: always 0.
at_least() {
    [ "$2" = - ] || [ "$(printf '%s\n%s\n' "$1" "$2" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

asked() { # PROGRAM ARGUMENT: run the program with an empty input, for at most 10 seconds
    if command -v timeout >/dev/null 2>&1; then timeout -k 1 10 "$@"; else "$@"; fi </dev/null
}

version_of() { # PROGRAM ARGUMENT: print the first version number in its output; ? if there is none; - if ARGUMENT is -
    [ "$2" != - ] || { echo -; return; }
    found=$(asked "$1" "$2" 2>&1 |
        LC_ALL=C awk '!n && match($0, /[0-9]+\.[0-9.]*[0-9]/) { print substr($0, RSTART, RLENGTH); n = 1 }')
    echo "${found:-?}"
}

# qemu_version: print QEMU's version, found as the launcher does (tools/homeroom/guest.py).  Prints nothing if QEMU is missing,
# ! if it cannot be run, ? if its output contains no version.
qemu_version() {
    command -v qemu-system-x86_64 >/dev/null 2>&1 || return 0
    said=$(asked "$(command -v qemu-system-x86_64)" --version 2>/dev/null) || { echo '!'; return; }
    found=$(printf '%s\n' "$said" | LC_ALL=C sed -n 's/.*version \([0-9][0-9]*\.[0-9][0-9.]*\).*/\1/p' | head -n 1)
    echo "${found:-?}"
}

bad=0
missing=
lack() { # GROUPS: record that something is missing that these groups need
    case $1 in browser | peer | fresh) ;; *) missing=1 ;; esac
    case ,$1, in *,run,*) bad=1 ;; esac
}

row "what" "version" "state"
while read -r groups host tool argument least packages; do
    case $groups in '' | '#'*) continue ;; esac
    case $host in - | "$HOST") ;; *) continue ;; esac
    if [ "$tool" = gcc ]; then
        tool=${CC:-gcc}
        tool=${tool%% *}
    fi
    found=-
    case $tool in
    qemu-system-x86_64) found=$(qemu_version) least=- ;; # an old version is a row of its own, below
    /*) [ -e "${tool%|*}" ] || [ -e "${tool#*|}" ] || found= ;;
    *) if command -v "$tool" >/dev/null 2>&1; then found=$(version_of "$tool" "$argument"); else found=; fi ;;
    esac
    if [ -z "$found" ]; then
        row "$tool" - "missing: package $packages (group $groups)"
        lack "$groups"
    elif [ "$found" = "!" ]; then
        row "$tool" "?" "$(command -v "$tool") is not a working QEMU (group $groups)"
        bad=1
    elif at_least "$found" "$least" || [ "$found" = "?" ]; then
        row "$tool" "$found" ok
    else
        row "$tool" "$found" "too old: $least is needed (group $groups)"
        case ,$groups, in *,run,*) bad=1 ;; esac
    fi
done <tools/deps.txt

version=$(qemu_version)
case $version in
'' | '!') ;;
*)
    if [ "$version" = "?" ] || ! at_least "$version" 7.2; then
        row "plugins of QEMU" - "this version was not tried: machines should run, but not with MODEL="
    elif ! asked qemu-system-x86_64 -help 2>/dev/null | grep -q -e -plugin; then
        row "plugins of QEMU" - "not in this QEMU: no MODEL=fireplane, no make experiments"
    else
        case $version in
        7.2 | 7.2.* | 10.0 | 10.0.* | 11.1 | 11.1.*) row "plugins of QEMU" - "ok; the model was tried on this version" ;;
        *) row "plugins of QEMU" - "ok; the model was not tried on this version: it tests itself first" ;;
        esac
    fi
    ;;
esac
if python3 -c 'import ensurepip, venv' 2>/dev/null; then
    row "python3-venv" - ok
else
    row "python3-venv" - "missing: package python3-venv (group test,experiments,lint,docs)"
    lack test
fi
for pair in .venv:requirements.txt:test .venv-experiments:requirements-experiments.txt:experiments .venv-docs:requirements-docs.txt:docs; do
    folder=${pair%%:*} maker=${pair##*:}
    list=${pair#*:}
    list=${list%:*}
    if cmp -s "$list" "$folder/requirements.txt"; then
        row "$folder" - ok
    else
        row "$folder" - "not made yet: make $maker makes it"
        lack "$maker"
    fi
done
for pair in build/lwip/lwip.tar.xz:run:"any make qemu-..." build/peer/vmlinux:peer:"PEER=linux"; do
    file=${pair%%:*} rest=${pair#*:}
    if [ -s "$file" ]; then
        row "$file" - ok
    else
        row "$file" - "not fetched yet: ${rest#*:} fetches it"
        lack "${rest%%:*}"
    fi
done
memory=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo 2>/dev/null)
row "free memory" "$((${memory:-0} / 1024)) MiB" "sf15k takes 4864"
space=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024) }')
row "free space here" "$space MiB" "build takes 600, the tests' files in ${TMPDIR:-/tmp} 2000"
row "CPUs" "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo '?')" ""
# Machines always run in QEMU's own translator (TCG), so that their counts do not depend on the host's processor.
row "KVM" - "$([ -e /dev/kvm ] && echo there || echo 'not there'), not used"
if [ -n "$missing" ]; then
    echo
    echo "each command installs what it needs; tools/deps.sh all installs now what all of them need" \
        "(but not: browser, peer, fresh)"
fi
exit "$bad"
