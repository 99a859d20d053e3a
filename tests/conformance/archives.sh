# SPDX-License-Identifier: MIT
# find, tar, gzip and cpio, and the attributes that they keep.
mkdir -p t/a/b/c t/d
echo one > t/a/one; echo two > t/a/b/two; seq 1000 > t/d/numbers; ln -s ../a/one t/d/link; chmod 750 t/a/b; chmod 600 t/a/one
find t | sort
find t -type f -name 'n*'
find t -type l -exec readlink {} \;
find t -type f -size +1 | sort
find t -perm 600
tar cf t.tar t; tar tf t.tar | sort
mkdir u; tar xf t.tar -C u; diff -r t u/t && echo identical
stat -c '%a %F' u/t/a/b u/t/a/one u/t/d/link
gzip -c t/d/numbers > n.gz; gunzip -c n.gz | cmp - t/d/numbers && echo gzip ok
bzip2 -c t/d/numbers | bunzip2 -c | md5sum
tar czf t.tgz t; tar xzOf t.tgz t/d/numbers | tail -1
find t | cpio -o -H newc 2>/dev/null > t.cpio; mkdir v; (cd v && cpio -i -d < ../t.cpio 2>/dev/null); ls -R v | head -20
cp -a t w; diff -r t w && echo copied; mv w x; ls x | tr '\n' ' '; echo; rm -rf x; ls x 2>/dev/null || echo gone
du -a t | wc -l; ln t/a/one hard; stat -c %h hard; touch -d '2001-02-03 04:05:06' hard; stat -c %Y hard; ls -l t/d | awk 'NR > 1 { print $1, $5 }'
dd if=t/d/numbers of=part bs=100 skip=1 count=2 2>/dev/null; cat part | wc -c
