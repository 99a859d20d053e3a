# SPDX-License-Identifier: MIT
# Here-documents, redirection, and descriptors.
name=World
cat <<EOF
Hello $name $((6 * 7)) $(echo nested)
EOF
cat <<'EOF'
literal $name $((1+1))
EOF
cat <<-EOF
	tabs are
		stripped
	EOF
cat > out <<EOF
first
second
EOF
cat >> out <<EOF
third
EOF
wc -l < out
exec 3< out; read -r a <&3; read -r b <&3; exec 3<&-; echo "$b,$a"
exec 4> log; echo logged >&4; exec 4>&-; cat log
echo error >&2 2>/dev/null
ls /none 2>/dev/null || echo "ls failed"
(cd /; pwd); pwd | sed 's/.*\///' | wc -l
: > empty; test -s empty || echo empty
set -C; echo no > out 2>/dev/null || echo clobber refused; set +C
while read -r l; do set -- $l; echo "$# $1"; done <<EOF
one
two words
three little words
EOF
