# SPDX-License-Identifier: MIT
# Job control without a terminal: stopping, continuing, waiting, process groups.
sleep 0.3 & wait $!; echo waited
sleep 20 & p=$!; kill -STOP $p; sleep 0.2
ps -o pid,stat 2>/dev/null | awk -v p=$p '$1 == p { print substr($2, 1, 1) }'
kill -CONT $p; kill $p; wait $p 2>/dev/null; echo "status $?"
setsid sh -c "sleep 20 & sleep 20 & wait" & p=$!; sleep 0.5; kill -TERM -$p; wait $p 2>/dev/null; echo "group $?"
(sleep 0.1; exit 5) & wait $!; echo $?
(exit 3) & a=$!; (exit 4) & b=$!; wait $b; echo $?; wait $a; echo $?
wait 999999 2>/dev/null; echo $?
