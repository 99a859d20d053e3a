#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fresh.sh - run the README's two commands as a new user does, in a minimal Debian: fresh.sh [USER:STEP,STEP...]...
#
#   USER    root, or student: an ordinary user without sudo; root then types the command that the first message shows
#   STEP    run: make qemu-sf15k with a command     test: make test with some files     suite: make test
#
# THEORY      A developer's machine has most packages, so a package that tools/deps.txt lacks would not be noticed there.
#             debootstrap makes a root file system with only make and git; the script keeps it as a tar file in the
#             user's cache for a month.  Each argument is one scenario: the tar file is unpacked, the last commit of
#             this checkout is cloned into it, and a login shell there executes the steps.  The shell has its own
#             mount and process namespaces, so nothing of it remains.  The project's scripts must install everything
#             else (packages, Python environments, sources).  From the host come only the settings for the network:
#             name servers, proxy, certificates.
# VARIABLES   DEBIAN=13  one release (12, 13 or sid), with the whole test suite; without it, 12 and 13
#             MIRROR=http://deb.debian.org/debian   the source of Debian's packages
# EXIT        0: all steps passed.  1: a step failed; its log is in build/fresh.
#             If no root file system can be made here (not root, no mount namespaces), one line says so.  The status is
#             then 0; it is 1 with CI=true, or if a step has failed before.
set -euo pipefail
cd "$(dirname "$0")/.."

MIRROR=${MIRROR:-http://deb.debian.org/debian}
CACHE=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/homeroom
LOGS=$PWD/build/fresh
RUN="make qemu-sf15k RUN='memcopy -t 72 -p both'"
SHORT="make test PYTEST='tests/test_launcher.py tests/test_boot.py tests/test_docs.py tests/test_grade.py"
SHORT="$SHORT tests/test_paper.py tests/test_programs.py'"

say() { echo "fresh: $*"; }
cannot() {
    say "not tried: $*"
    [ "${CI:-}" != true ] || exit 1
    exit "${failed:-0}"
}

case ${DEBIAN:-12} in 12 | 13 | sid) ;; *) say "DEBIAN=$DEBIAN: write 12, 13 or sid" >&2 && exit 2 ;; esac
[ "$(id -u)" = 0 ] || cannot "a root file system can only be made by root; type: sudo make fresh"
unshare --mount --pid --fork true 2>/dev/null || cannot "no mount and process namespaces can be made here"

folder=$(mktemp -d "${TMPDIR:-/tmp}/homeroom-fresh.XXXXXX")
# With sudo, files in build/ would belong to root: give them to the owner of the checkout.
trap 'rm -rf --one-file-system "$folder"; chown -R --reference=. build' EXIT
mkdir -p "$LOGS" "$CACHE"
printf '[safe]\n\tdirectory = *\n' >"$folder/gitconfig" # the checkout may belong to another user

# bare DEBIAN: make the tar file of a minimal root file system of that release, unless there is one of the last month.
bare() {
    local suite=$1 kept=$CACHE/debian-$1-bare.tar
    case $1 in 12) suite=bookworm ;; 13) suite=trixie ;; esac
    [ -z "$(find "$kept" -mtime -30 2>/dev/null)" ] || return 0
    tools/deps.sh fresh
    say "making a bare Debian $1 ($kept keeps it for a month)"
    debootstrap --variant=minbase --include=make,git "$suite" "$folder/base" "$MIRROR" >"$LOGS/debootstrap.log" 2>&1 ||
        cannot "debootstrap failed ($LOGS/debootstrap.log): $(tail -n 1 "$LOGS/debootstrap.log")"
    tar -C "$folder/base" -cf "$kept.$$" .
    mv "$kept.$$" "$kept"
    rm -rf "$folder/base"
}

# inside FOLDER USER COMMAND: run a command in a login shell of USER, with the root file system FOLDER.  Status: the command's.
inside() {
    # /dev has only the devices that containers have; /proc shows the new process namespace.
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --pid --fork --kill-child bash -c '
        set -e
        cd "$1"
        mount -t proc proc proc
        mount -t tmpfs -o mode=755 dev dev
        for node in null zero full random urandom tty; do touch dev/$node; mount --bind /dev/$node dev/$node; done
        ln -s /proc/self/fd dev/fd
        mkdir dev/shm dev/pts
        mount -t tmpfs -o mode=1777 shm dev/shm
        mount -t devpts -o newinstance,ptmxmode=666 pts dev/pts
        ln -s pts/ptmx dev/ptmx
        exec chroot . su - "$2" -c "$3"' - "$@" </dev/null
}

# lend ROOT: copy the host's network settings into a root file system: name servers, proxy, certificates.  Certificates get
# names that no package uses.
lend() {
    local name
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    for name in http_proxy https_proxy no_proxy PIP_INDEX_URL PIP_CERT SSL_CERT_FILE; do
        [ -n "${!name:-}" ] || continue
        if [ -f "${!name}" ]; then
            cp -L "${!name}" "$1/etc/lent-$name"
            echo "$name=/etc/lent-$name"
        else
            echo "$name=${!name}"
        fi
    done >>"$1/etc/environment" # su - reads it
}

failed=0
# try NAME ROOT USER COMMAND: run one step with its output in build/fresh/NAME.log; print its status, its time, and its lines.
try() {
    local began=$SECONDS status=0
    inside "$2" "$3" "$4" >"$LOGS/$1.log" 2>&1 || status=$?
    say "$1: status $status, $(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s," \
        "$(wc -l <"$LOGS/$1.log") lines"
    return "$status"
}
wrong() { # NAME TEXT: report that a step failed, with the end of its log
    say "$1: $2; the log's end ($LOGS/$1.log):"
    tail -n 25 "$LOGS/$1.log"
    failed=1
}

# scenario DEBIAN USER STEPS: run the steps in a new root file system.  For an ordinary user the first step must fail and print
# one command for root; after root has run it, the steps must pass and ask for nothing more.
scenario() {
    local debian=$1 user=$2 steps=$3 root=$folder/$1-$2 first=1 step command name asked
    bare "$debian"
    mkdir "$root"
    tar -C "$root" -xf "$CACHE/debian-$debian-bare.tar"
    lend "$root"
    [ "$user" = root ] || chroot "$root" useradd -m -s /bin/bash "$user"
    local home=$root/root
    [ "$user" = root ] || home=$root/home/$user
    GIT_CONFIG_GLOBAL=$folder/gitconfig git clone -q --no-hardlinks . "$home/homeroom"
    chroot "$root" chown -R "$user:" "${home#"$root"}/homeroom"
    for step in ${steps//,/ }; do
        case $step in run) command=$RUN ;; test) command=$SHORT ;; suite) command="make test" ;; *) say "no step '$step'" && exit 2 ;; esac
        command="cd homeroom && $command"
        name=$debian-$user-$steps-$step
        name=${name//,/-}
        if [ "$first" = 1 ] && [ "$user" != root ]; then
            if try "$name-refused" "$root" "$user" "$command"; then
                wrong "$name-refused" "nothing was missing in a bare Debian"
                return
            fi
            asked=$(sed -n '/type this as root/,$ s/^    //p' "$LOGS/$name-refused.log")
            if [ -z "$asked" ] || [ "$(wc -l <<<"$asked")" != 1 ]; then
                wrong "$name-refused" "it does not print one command for root"
                return
            fi
            try "$name-asked" "$root" root "$asked" || { wrong "$name-asked" "root executed it, and it failed" && return; }
        fi
        first=0
        try "$name" "$root" "$user" "$command" || { wrong "$name" "it failed" && return; }
        if [ "$step" = run ] && ! grep -q '^ok$' "$LOGS/$name.log"; then
            wrong "$name" "the benchmark did not say ok" && return
        fi
        if [ "$step" != run ] && ! grep -Eq '^=+ [0-9]+ passed' "$LOGS/$name.log"; then
            wrong "$name" "it does not say that tests passed" && return
        fi
        if [ "$user" != root ] && grep -q 'type this as root' "$LOGS/$name.log"; then
            wrong "$name" "it asks for packages again" && return
        fi
    done
    rm -rf --one-file-system "$root"
}

[ -z "$(GIT_CONFIG_GLOBAL=$folder/gitconfig git status --porcelain)" ] || say "changes that are not committed are not tested"
for one in "$@"; do
    [ -z "${one##root:*}" ] || [ -z "${one##student:*}" ] || { say "'$one': write root:run,test or student:test,run" && exit 2; }
done
if [ -n "${DEBIAN:-}" ]; then
    [ $# -gt 0 ] || set -- root:run,test student:suite,run
else
    [ $# -gt 0 ] || set -- root:run,test student:test,run
fi
for debian in ${DEBIAN:-12 13}; do
    for one in "$@"; do
        scenario "$debian" "${one%%:*}" "${one#*:}"
    done
done
exit "$failed"
