# SPDX-License-Identifier: MIT
# sed, awk, sort, cut, tr, grep and similar programs.
cat > table <<EOF
ann 34 paris
bob 27 rome
cleo 41 cairo
dan 27 oslo
eve 34 lima
EOF
sort -k2,2n -k1,1r table
awk '{ a[$2] = a[$2] " " $1; n++ } END { for (k in a) print k ":" a[k]; print n }' table | sort
awk -F' ' 'NR > 1 && $2 > 30 { printf "%-6s|%5.2f\n", $1, $2 / 3 }' table
awk 'BEGIN { print substr("hello", 2, 3), length("abc"), toupper("x"), index("banana", "nan"); print sprintf("%x %o %e", 255, 8, 12345.678) }'
sed -n '2,4p;s/o/0/gp' table
sed -e '/bob/d' -e 's/\([a-z]*\) \([0-9]*\)/\2 \1/' table
sed '$!N;s/\n/ + /' table
sed 'y/abc/xyz/' table | head -2
grep -c 27 table; grep -v a table; grep -n '^[be]' table; grep -E 'ann|eve' table; grep -o '[0-9]*' table | sort -u
cut -d' ' -f1,3 table; cut -c1-3 table
tr a-z A-Z < table | tr -d ' ' ; tr -s o < table
paste table table | head -2 | cat -A 2>/dev/null | head -1
join table table 2>/dev/null | head -1
head -2 table; tail -2 table; tail -n +4 table; nl table; rev table | head -1
printf '%05d|%-5s|%5s|%x|%c\n' 42 ab cd 255 z
expr 7 \* 6; expr length abcde; expr abc : 'a\(.\)c'
echo "3 + 4 * 2" | bc
echo '10k 2 v p' | dc
od -An -tx1 table | head -1; hexdump -C table | head -1; xxd table 2>/dev/null | head -1
fold -w 10 table | head -3; diff table table && echo same
printf 'a\nb\nc\n' > x; printf 'a\nB\nc\n' > y; diff x y; cmp x y
md5sum table; sha256sum table; base64 table | head -1
