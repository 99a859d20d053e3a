#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fresh.sh - the README's two commands as a newcomer types them, in a bare Debian: fresh.sh [USER:STEP,STEP...]...
#
#   USER    root, or student: an ordinary user without sudo, for whom root types what the first message asks for
#   STEP    run: make qemu-sf15k with a command in it     test: a short make test     suite: make test
#
# THEORY      debootstrap makes a root file system with make and git and nothing else; a tar of it is kept in the user's
#             cache for a month.  For each argument it is unpacked, this checkout's last commit is cloned into it, and
#             the steps are typed in a login shell, in namespaces of their own, so that nothing stays behind.  Everything
#             else (packages, Python environments, sources) must come by the project's own scripts.
#             The host lends the network only: its name servers, its proxy and its certificates.
# VARIABLES   DEBIAN=13  one release, with the whole suite as well: 12, 13 or sid; otherwise 12 and 13
#             MIRROR=http://deb.debian.org/debian   where Debian's packages come from
# EXIT        0: all steps did what they should.  1: one did not; its log is in build/fresh.
#             Where no root file system can be made (not root, no mount namespaces) it says so in one line: status 0, but
#             1 with CI=true, or if a step did not do what it should before.
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
trap 'rm -rf --one-file-system "$folder"; chown -R --reference=. build' EXIT # with sudo, build stays the user's
mkdir -p "$LOGS" "$CACHE"
printf '[safe]\n\tdirectory = *\n' >"$folder/gitconfig" # the checkout may be another user's

# bare DEBIAN: the tar of that release's bare root file system, made if there is none.
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

# inside FOLDER USER COMMAND: type a command in a login shell of USER in the root file system.  Status: the command's.
inside() {
    # The devices are those of a container; /proc is that of the new process namespace.
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

# lend ROOT: the network as this host reaches it.  The certificates get a place that no package writes to.
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
# try NAME ROOT USER COMMAND: one step; its minutes and the lines that a person sees.
try() {
    local began=$SECONDS status=0
    inside "$2" "$3" "$4" >"$LOGS/$1.log" 2>&1 || status=$?
    say "$1: status $status, $(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s," \
        "$(wc -l <"$LOGS/$1.log") lines"
    return "$status"
}
wrong() {
    say "$1: $2; the log's end ($LOGS/$1.log):"
    tail -n 25 "$LOGS/$1.log"
    failed=1
}

scenario() { # DEBIAN USER STEPS
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
            try "$name-asked" "$root" root "$asked" || { wrong "$name-asked" "root typed it, and it failed" && return; }
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

[ -z "$(GIT_CONFIG_GLOBAL=$folder/gitconfig git status --porcelain)" ] || say "what is not committed is not tried"
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
