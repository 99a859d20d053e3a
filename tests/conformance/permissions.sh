# SPDX-License-Identifier: MIT
# Modes and owners, for an ordinary user (the test runs this script as uid 1000).
id -u; id -g
echo secret > mine; chmod 000 mine; cat mine 2>/dev/null || echo "cannot read"
chmod 644 mine; cat mine
mkdir d; touch d/f; chmod 555 d; rm d/f 2>/dev/null || echo "cannot remove"; touch d/g 2>/dev/null || echo "cannot create"; chmod 755 d
chmod 111 d; ls d 2>/dev/null || echo "cannot list"; cat d/f && echo "can pass"; chmod 644 d; cat d/f 2>/dev/null || echo "cannot pass"; chmod 755 d
umask 027; touch u; stat -c %a u; umask 0; touch v; stat -c %a v; mkdir w; stat -c %a w
touch /etc/forbidden 2>/dev/null || echo "not in /etc"
kill -9 1 2>/dev/null || echo "not init"
chown 0 mine 2>/dev/null || echo "cannot give away"
printf '#!/bin/sh\necho ran $1\n' > prog; ./prog 2>/dev/null || echo "not executable"; chmod u+x prog; ./prog arg
test -w /etc/passwd || echo "not writable"; test -r /etc/passwd && echo readable; test -x prog && echo executable
mknod dev c 1 3 2>/dev/null || echo "no devices"
mount -t tmpfs none d 2>/dev/null || echo "no mounts"
hostname other 2>/dev/null || echo "no name"
