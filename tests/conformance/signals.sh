# SPDX-License-Identifier: MIT
# Traps, kill, wait, and the status of children.
trap 'echo trapped USR1' USR1; kill -USR1 $$; echo after
trap 'echo exiting' EXIT
trap '' TERM; kill -TERM $$; echo "still here"; trap - TERM
# The shell prints "Terminated" only if it notices the death before it waits, so this message is not compared.
sleep 20 & p=$!; kill $p; wait $p 2>/dev/null; echo "status $?"
sleep 20 & p=$!; kill -9 $p; wait $p 2>/dev/null; echo "status $?"
(trap 'echo child got INT; exit 7' INT; kill -INT $(sh -c 'echo $PPID'); sleep 5) ; echo "child $?"
sh -c 'kill -SEGV $$' 2>/dev/null; echo "segv $?"
(until [ -e said ]; do sleep 0.1; done; echo later) & echo now; : > said; wait; echo done
sh -c 'trap "echo term; exit 0" TERM; : > ready; while :; do sleep 0.05; done' & p=$!
until [ -e ready ]; do sleep 0.1; done; kill $p; wait $p; echo "loop $?"
kill -0 $$ && echo alive; kill -0 999999 2>/dev/null || echo none
for s in HUP INT QUIT TERM USR2; do (trap "echo $s" $s; kill -$s $(sh -c 'echo $PPID')); done
kill -l 9; kill -l TERM
sleep 0.1 & sleep 0.1 & sleep 0.1 & wait; echo all
nohup sh -c 'echo hup-proof' 2>/dev/null | cat
