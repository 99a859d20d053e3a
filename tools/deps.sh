#!/bin/sh
# SPDX-License-Identifier: MIT
#
# deps.sh - install the packages and files that a command needs: deps.sh [-n] GROUP...
#
# make calls this script before a goal runs; it can also be called by hand.  -n only lists what is missing.
#
#   run          build the image and run machines  (Debian packages, and the sources of lwIP in build/lwip)
#   dynamic      Debian's programs for images      (packages)
#   test         run the tests                     (packages, and .venv with requirements.txt)
#   experiments  make experiments, make watch      (.venv-experiments with requirements-experiments.txt)
#   grade        grade labs, and boot for them      (packages, and the sources of lwIP)
#   lint         check style                       (packages, and .venv)
#   gdb          debug the kernel                  (packages)
#   refdisk      the reference disk                (packages)
#   docs         build the book                    (.venv-docs with requirements-docs.txt)
#   similar      compare submissions               (.venv-similar with requirements-similar.txt)
#   peer         run Linux on the same machines    (build/peer/vmlinux and modules.cpio, from a package that is not installed)
#   browser      test the report in Chromium       (a large package)
#   traces       ask Perfetto about traces in tests (.venv-traces with requirements-traces.txt; needs browser, too)
#   fresh        make fresh                        (package)
#   all          all of these but similar, browser, traces, peer and fresh
#
# THEORY      tools/deps.txt lists the programs and packages of each group.  If nothing is missing, the script takes some
#             milliseconds and prints nothing.  In one checkout only one deps.sh installs at a time: the others wait
#             for build/deps.lock and then find nothing missing.  The script also waits for the lock of apt.
#             A user who may not install gets a command for root.  That command installs the packages of all usual
#             groups, not only of this one, so the user has to ask an administrator only once.
# EXIT        0: nothing is missing (any more).  1: with -n, something is missing; otherwise, an installation failed,
#             and the last lines show the command to type.  2: no such group.
set -eu
cd "$(dirname "$0")/.."

GROUPS_ALL="run dynamic test experiments grade lint gdb refdisk docs"
GROUPS_OTHER="similar peer browser traces fresh"
APT="apt-get update && apt-get install -y --no-install-recommends"
LOG=build/deps.log

# On a host that is not x86-64, some packages must come from Debian's amd64 architecture.
HOST=x86_64 FOREIGN=
if [ "$(uname -m)" != x86_64 ]; then
    HOST=other FOREIGN="--add-architecture amd64"
    APT="dpkg $FOREIGN && $APT"
fi

say() { echo "deps.sh: $*"; }

# Programs for administrators (mke2fs) are often not in the PATH of an ordinary user.
PATH=$PATH:/usr/sbin:/sbin

has_word() { # WORD LIST: status 0 if the list, separated by blanks, contains the word
    case " $2 " in *" $1 "*) return 0 ;; esac
    return 1
}

# packages_missing GROUP...: print the packages that these groups need and that are not installed.
packages_missing() {
    list=
    while read -r groups host tool _ _ packages; do
        case $groups in '' | '#'*) continue ;; esac
        case $host in - | "$HOST") ;; *) continue ;; esac
        for group in "$@"; do
            case ",$groups," in *",$group,"*) ;; *) continue ;; esac
            [ "$tool" != gcc ] || [ -z "${CC:-}" ] || continue 2 # see the check of CC below
            case $tool in
            /*) [ -e "${tool%|*}" ] || [ -e "${tool#*|}" ] || list="$list $packages" ;;
            *) command -v "$tool" >/dev/null 2>&1 || list="$list $packages" ;;
            esac
            break
        done
    done <tools/deps.txt
    if [ -n "$(venvs_missing "$@")" ] && ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        list="$list python3-venv"
    fi
    for package in $list; do
        echo "$package"
    done | sort -u | tr '\n' ' '
}

# venvs_missing GROUP...: print the Python environments to make, as FOLDER:REQUIREMENTS.  An environment is also made anew if
# its list of packages has changed.
venvs_missing() {
    for group in "$@"; do
        case $group in
        test | lint) echo .venv:requirements.txt ;;
        experiments) echo .venv-experiments:requirements-experiments.txt ;;
        docs) echo .venv-docs:requirements-docs.txt ;;
        similar) echo .venv-similar:requirements-similar.txt ;;
        traces) echo .venv-traces:requirements-traces.txt ;;
        esac
    done | sort -u | while IFS=: read -r folder list; do
        cmp -s "$list" "$folder/requirements.txt" 2>/dev/null || echo "$folder:$list"
    done
}

# files_missing GROUP...: print the files to download.
files_missing() {
    for group in "$@"; do
        case $group in
        run | grade) [ -s build/lwip/lwip.tar.xz ] || echo build/lwip/lwip.tar.xz ;;
        peer) [ -s build/peer/vmlinux ] && [ -s build/peer/modules.cpio ] || echo build/peer/vmlinux ;;
        esac
    done | sort -u
}

# type_as_root GROUPS: print one command that installs all missing packages, those of GROUPS included; exit 1.
type_as_root() {
    # shellcheck disable=SC2086,SC2048 # groups are words of their own
    packages=$(packages_missing $GROUPS_ALL $*)
    # An installation that was interrupted must be completed first.
    [ -z "$(dpkg --audit 2>/dev/null)" ] || APT="dpkg --configure -a && $APT"
    say "type this as root, then repeat your command:" >&2
    echo "    $APT $packages" | sed 's/ $//' >&2
    exit 1
}

install_packages() { # PACKAGES GROUPS: install as root or with sudo; exits 1 with a message if that is not possible
    if ! command -v apt-get >/dev/null 2>&1; then
        # shellcheck disable=SC2086
        say "there is no apt-get here; install what these packages of Debian hold:" \
            "$(packages_missing $GROUPS_ALL $2)" >&2
        exit 1
    fi
    root=
    if [ "$(id -u)" != 0 ]; then
        root=sudo
        # sudo reads the password from the terminal, even if standard input is a file or a pipe.
        if ! command -v sudo >/dev/null 2>&1 || ! { sudo -n true || (: </dev/tty); } 2>/dev/null; then
            say "some tools are missing, and only root may install them." >&2
            type_as_root "$2"
        fi
    fi
    say "installing $1(some minutes; the output goes to $LOG)"
    options="-q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3"
    # shellcheck disable=SC2086 # options and packages are words of their own
    if ! { $root dpkg --configure -a && { [ -z "$FOREIGN" ] || $root dpkg $FOREIGN; } &&
        $root apt-get $options update &&
        $root env DEBIAN_FRONTEND=noninteractive apt-get $options install -y --no-install-recommends $1; } >"$LOG" 2>&1; then
        grep -a '^[EW]: \|^sudo:\|not allowed' "$LOG" | tail -n 5 >&2 || true
        say "apt-get failed ($LOG has its output)." >&2
        type_as_root "$2"
    fi
}

make_venv() { # FOLDER REQUIREMENTS: make a Python environment anew; exits 1 with a message if pip fails
    say "making $1 with the packages of $2"
    log=${LOG%.log}$1.log
    rm -rf "$1"
    if ! { python3 -m venv "$1" && "$1/bin/pip" install -q --no-compile --disable-pip-version-check -r "$2"; } >"$log" 2>&1; then
        tail -n 3 "$log" >&2
        say "$1 could not be made ($log has the output of pip): is the Python package index reached from here?" >&2
        exit 1
    fi
    cp "$2" "$1/requirements.txt"
}

dry=
if [ "${1:-}" = -n ]; then
    dry=1
    shift
fi
wanted=
for group in "$@"; do
    if [ "$group" = all ]; then
        wanted="$wanted $GROUPS_ALL"
    elif has_word "$group" "$GROUPS_ALL $GROUPS_OTHER"; then
        wanted="$wanted $group"
    else
        say "no group '$group'; there are all, $(echo "$GROUPS_ALL $GROUPS_OTHER" | sed 's/ /, /g')" >&2
        exit 2
    fi
done

if [ -n "${CC:-}" ] && ! command -v "${CC%% *}" >/dev/null 2>&1; then
    say "CC=$CC: there is no program ${CC%% *} here; install it, or leave CC= out" >&2
    exit 1
fi

# Groups are words of their own from here on.
# shellcheck disable=SC2086
set -- $wanted
if ! mkdir -p build 2>/dev/null || ! [ -w build ]; then
    say "$(pwd)/build cannot be written; make a checkout of your own" >&2
    exit 1
fi
if [ -z "$dry" ] && command -v flock >/dev/null 2>&1; then
    exec 9>build/deps.lock
    if ! flock -n 9; then
        [ -z "$(packages_missing "$@")$(venvs_missing "$@")$(files_missing "$@")" ] || say "waiting for another deps.sh"
        flock 9
    fi
fi

packages=$(packages_missing "$@")
venvs=$(venvs_missing "$@")
files=$(files_missing "$@")
[ -n "$packages$venvs$files" ] || exit 0
if [ -n "$dry" ]; then
    [ -z "$packages" ] || echo "missing: $packages"
    for pair in $venvs; do
        echo "missing: ${pair%:*} with the packages of ${pair#*:}"
    done
    for file in $files; do
        echo "missing: $file"
    done
    exit 1
fi

[ -z "$packages" ] || install_packages "$packages" "$*" 9>&-
made=
for pair in $venvs; do # at the same time: downloads take most of the time
    make_venv "${pair%:*}" "${pair#*:}" 9>&- &
    made="$made $!"
done
for job in $made; do
    wait "$job" || exit 1
done
for file in $files; do
    case $file in
    */lwip.tar.xz) tools/net/lwip.sh "$file" 9>&- ;;
    */vmlinux) tools/peer/kernel.py "$file" 9>&- ;;
    esac
done
