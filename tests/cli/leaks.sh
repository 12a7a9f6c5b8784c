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
# All answers have the form that is promised, and what cannot be answered is one line and 125.
/usr/bin/python3 "$ROOT/tests/leaks/schema.py" "$TMP"/*.json || fail 'the JSON has another form'
refused() {	# refused WHAT ARG...
	local what=$1; shift
	"$HINDSIGHT" leaks "$@" >"$TMP/out" 2>"$TMP/err"; local rc=$?
	[ $rc = 125 ] && [ "$(wc -l <"$TMP/err")" = 1 ] && [ ! -s "$TMP/out" ] || fail "$what: exit $rc, $(wc -l <"$TMP/err") lines"
}
mkdir "$TMP/none"
refused 'not a trace' "$TMP/none"
refused 'unknown allocator' --alloc=nobody "$TMP/t"
refused 'unknown function' --free=nobody "$TMP/t"
refused 'no such argument' --alloc=main:7 "$TMP/t"
refused 'unknown type' --refcount=nobody.refs "$TMP/t"
refused 'no such event' --at=999999 "$TMP/t"
refused 'no such process' -p 1 "$TMP/t"
echo 'int main(void) { return 0; }' >"$TMP/m.c"
if cc -static -s -o "$TMP/p" "$TMP/m.c" 2>/dev/null; then
	rm -rf "$TMP/tm"; "$REC" -o "$TMP/tm" "$TMP/p"
	refused 'static, without symbols' "$TMP/tm"
	grep -q -- --alloc "$TMP/err" || fail "it does not say what to do: $(cat "$TMP/err")"
fi
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
