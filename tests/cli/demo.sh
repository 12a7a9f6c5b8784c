#!/bin/bash
# test: timeout=120
# `make demo` finds the cause, in well under a minute of processor time, and README.md shows what it prints, word for word but for addresses.
. "$LIB"
need gdb gcc
same() { sed -E 's/0x[0-9a-f]+/0xN/g; s/[ \t]+$//'; }
CC=gcc BUILD=$(dirname "$BIN") "$ROOT/scripts/demo.sh" >"$TMP/demo" 2>"$TMP/err" || fail "demo: $(tail -2 "$TMP/err")"
took=$(python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); from spent import spent; print(int(spent()))' "$ROOT/tests")
[ "$took" -lt 60 ] || fail "it took $took s"
sed -n '/^A session, as `make demo` prints it:$/,/^[^ ]*`last /p' "$ROOT/README.md" | sed -n 's/^    //p' | same >readme
same <"$TMP/demo" >demo
[ "$(wc -l <demo)" -gt 25 ] || fail "only $(wc -l <demo) lines"
diff readme demo >"$TMP/diff" || fail "README.md differs: $(head -4 "$TMP/diff" | tr '\n' '|')"
