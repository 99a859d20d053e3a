# SPDX-License-Identifier: MIT
# Pipelines of several processes, their exit status, and large data through them.
seq 1 1000 | grep 7 | sort -rn | head -5
seq 1 20000 | awk '{ s += $1 } END { print s }'
yes | head -1000 | wc -l
false | true; echo "status $?"
true | false; echo "status $?"
! true; echo "not $?"
echo one two three | tr ' ' '\n' | sort | uniq -c | sed 's/^ *//'
dd if=/dev/zero bs=1024 count=300 2>/dev/null | md5sum
(echo a; echo b >&2) 2>&1 | sort
{ echo x; echo y; } | while read -r line; do echo "got $line"; done
seq 5 | xargs echo
seq 5 | xargs -n 2 echo pair
echo $(seq 3 | tac)
mkfifo pipe; (echo through the fifo > pipe) & cat pipe; wait
