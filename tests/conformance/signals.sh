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
(sleep 0.2; echo later) & echo now; wait; echo done
sh -c 'trap "echo term; exit 0" TERM; while :; do sleep 0.05; done' & p=$!; sleep 0.5; kill $p; wait $p; echo "loop $?"
kill -0 $$ && echo alive; kill -0 999999 2>/dev/null || echo none
for s in HUP INT QUIT TERM USR2; do (trap "echo $s" $s; kill -$s $(sh -c 'echo $PPID')); done
kill -l 9; kill -l TERM
sleep 0.1 & sleep 0.1 & sleep 0.1 & wait; echo all
nohup sh -c 'echo hup-proof' 2>/dev/null | cat
