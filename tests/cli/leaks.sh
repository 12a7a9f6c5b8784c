#!/bin/bash
# test: timeout=120
# hindsight leaks: the exact lines of allocation, loss and holders for tests/leaks/*.
. "$LIB"
need cc c++
bad=0 n=0
one() {	# one SOURCE
	local src=$1 name flags cc=cc
	name=$(basename "$src")
	flags=$(sed -n 's!^// cflags: !!p' "$src")
	case $src in *.cc) cc=c++ ;; esac
	# shellcheck disable=SC2086
	$cc -g ${flags:--O0} -w -o "$TMP/p" "$src" -lpthread || fail "$name does not compile"
	rm -rf "$TMP/t"
	"$REC" -o "$TMP/t" "$TMP/p" >/dev/null || fail "$name: rec failed"
	# shellcheck disable=SC2046
	"$HINDSIGHT" leaks $(sed -n 's!^// options: !!p' "$src") --json "$TMP/t" >"$TMP/$name.json" 2>"$TMP/err" || fail "$name: $(cat "$TMP/err")"
	/usr/bin/python3 "$ROOT/tests/leaks/check.py" "$src" "$TMP/$name.json" || bad=1
	n=$((n + 1))
}
/usr/bin/python3 "$ROOT/tests/leaks/hundred.py" >"$TMP/hundred.c"
for s in "$ROOT"/tests/leaks/*.c "$ROOT"/tests/leaks/*.cc "$TMP/hundred.c"; do one "$s"; done
[ $n -ge 18 ] || fail "only $n programs"
[ $bad = 0 ] || fail 'some answers are wrong'
# The text names file and line, and the command to go there.
"$HINDSIGHT" leaks "$TMP/t" >"$TMP/text" || fail 'no text'
grep -q 'replay -e [0-9]' "$TMP/text" || fail "no position in the text: $(head -3 "$TMP/text")"
"$HINDSIGHT" leaks --html="$TMP/page.html" "$TMP/t" || fail 'no page'
grep -q '<script' "$TMP/page.html" && ! grep -qE '(src|href)=' "$TMP/page.html" || fail 'the page is not self-contained'
# In gdb: go to the moment of loss.
command -v gdb >/dev/null || exit 0
cc -g -O0 -w -o "$TMP/p" "$ROOT/tests/leaks/list_head.c" && rm -rf "$TMP/t" && "$REC" -o "$TMP/t" "$TMP/p"
"$REPLAY" --batch --ex 'hindsight leaks' --ex 'hindsight leaks 1' "$TMP/t" >"$TMP/gdb" 2>&1
grep -q '1. lost: 16 bytes' "$TMP/gdb" || fail "gdb lists no leak: $(tail -3 "$TMP/gdb")"
grep -q 'head = NULL; /\* LOST' "$TMP/gdb" || fail "gdb does not go to the loss: $(tail -3 "$TMP/gdb")"
line=$("$HINDSIGHT" leaks "$TMP/t" | sed -n 's/^ *\(replay -e.*\)/\1/p' | head -1)
(cd "$BIN" && eval "./$line --batch") >"$TMP/gdb" 2>&1
grep -q 'head = NULL; /\* LOST' "$TMP/gdb" || fail "'$line' does not go to the loss: $(tail -3 "$TMP/gdb")"
