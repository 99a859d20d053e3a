# SPDX-License-Identifier: MIT
# Job control without a terminal: stopping, continuing, waiting, process groups.
sleep 0.3 & wait $!; echo waited
# A process stops when it runs next, and the shell of a background job may not have begun: both are waited for.
state() { ps -o pid,stat 2>/dev/null | awk -v p=$1 '$1 == p { print substr($2, 1, 1) }'; }
sleep 20 & p=$!; kill -STOP $p; i=0
until [ "$(state $p)" = T ] || [ $i = 100 ]; do i=$((i + 1)); sleep 0.1; done; state $p
kill -CONT $p; kill $p; wait $p 2>/dev/null; echo "status $?"
setsid sh -c "sleep 20 & sleep 20 & : > ready; wait" & p=$!
until [ -e ready ]; do sleep 0.1; done; kill -TERM -$p; wait $p 2>/dev/null; echo "group $?"
(sleep 0.1; exit 5) & wait $!; echo $?
(exit 3) & a=$!; (exit 4) & b=$!; wait $b; echo $?; wait $a; echo $?
wait 999999 2>/dev/null; echo $?
