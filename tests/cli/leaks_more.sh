#!/bin/bash
# test: timeout=180
# hindsight leaks: exact lines for tests/leaks/more/*: exceptions, longjmp, threads, containers, the ways a program ends, optimised code.
. "$LIB"
need cc c++
bad=0 n=0
for src in "$ROOT"/tests/leaks/more/*.c "$ROOT"/tests/leaks/more/*.cc; do
	name=$(basename "$src")
	flags=$(sed -n 's!^// cflags: !!p' "$src")
	cc=cc; case $src in *.cc) cc=c++ ;; esac
	# shellcheck disable=SC2086
	$cc -g ${flags:--O0} -w -o "$TMP/p" "$src" -lpthread || fail "$name does not compile"
	rm -rf "$TMP/t"
	"$REC" -o "$TMP/t" "$TMP/p" >/dev/null 2>&1
	pid=
	# blocks of before the fork are the child's, too
	! grep -q '^// process: forked' "$src" || pid="-p $("$HINDSIGHT" ps "$TMP/t" | awk '/\[forked\]/ { print $1; exit }')"
	# shellcheck disable=SC2086
	"$HINDSIGHT" leaks $pid --json "$TMP/t" >"$TMP/json" 2>"$TMP/err" || fail "$name: $(cat "$TMP/err")"
	/usr/bin/python3 "$ROOT/tests/leaks/check.py" "$src" "$TMP/json" || bad=1
	n=$((n + 1))
done
[ $n -ge 20 ] || fail "only $n programs"
[ $bad = 0 ] || fail 'some answers are wrong'
