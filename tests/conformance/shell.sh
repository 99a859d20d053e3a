# SPDX-License-Identifier: MIT
# The shell language itself.
f() { echo "f: $# $*"; local x=in; echo $x; return 3; }
x=out; f a 'b c'; echo $? $x
i=0; while [ $i -lt 5 ]; do i=$((i + 1)); [ $i = 2 ] && continue; [ $i = 4 ] && break; echo $i; done
until [ $i -le 0 ]; do i=$((i - 2)); done; echo $i
for a in 1 2 3; do for b in x y; do printf '%s%s ' $a $b; done; done; echo
echo $((0x1f + 010 + 5 % 3 << 2)) $((3 > 2 ? 10 : 20)) $((~5 & 0xff))
[ -d / -a ! -f / ] && echo directory; test abc \< abd 2>/dev/null; [ 5 -ge 5 ] && echo ge
set -e; (false; echo unreached) || echo "caught $?"; set +e
(exit 42); echo $?
eval 'y=5; echo $((y * y))'
set -- a b c; shift; echo "$@" $#; set -- "$@" d; echo "$*"
readonly r=1; (r=2) 2>/dev/null || echo readonly
export E1=v1; sh -c 'echo $E1'; E2=v2 sh -c 'echo $E2'; unset E1; sh -c 'echo ${E1:-none}'
a=$(printf 'x\n\n\n'); echo "[$a]"
alias hi='echo hello'; hi 2>/dev/null || true
type cd | head -1; command -v sh >/dev/null && echo found
getopt_test() { OPTIND=1; while getopts ab:c o; do echo "$o ${OPTARG:-}"; done; }; getopt_test -a -b val -c
printf '%s\n' "$0" | wc -l; echo $- | grep -c . ; echo ${PWD:+pwd}
time_out=$(timeout 1 sleep 5; echo $?); echo "timeout $time_out"
if false; then :; elif true; then echo elif; else echo else; fi
n=0; for w in $(seq 50); do n=$((n + w)); done; echo $n
recursive() { [ $1 -le 1 ] && echo 1 || echo $(($1 * $(recursive $(($1 - 1))))); }; recursive 6
