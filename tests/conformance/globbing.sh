# SPDX-License-Identifier: MIT
# File name patterns, quoting, and word splitting.
mkdir g; cd g
touch a.c b.c c.h .hidden 'with space' z1 z2 z10
echo *
echo *.c
echo z?
echo [ab]*
echo [!ab]*
echo .h*
echo nothing*
echo "*.c" '*'.c \*.c
for f in *; do printf '<%s>' "$f"; done; echo
set -- *; echo $#
v='a  b   c'; echo $v; echo "$v"
IFS=:; p=/bin:/usr/bin:/sbin; for d in $p; do echo "$d"; done; unset IFS
echo ~root | head -c 1; echo
case foo.tar.gz in *.tar.*) echo tar;; *) echo other;; esac
x=path/to/file.txt; echo ${x##*/} ${x%.*} ${x#*/} ${#x} ${unset:-default} ${x:+set}
cd ..; ls -1 g | sort
