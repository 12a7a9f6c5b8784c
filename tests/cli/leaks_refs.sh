#!/bin/bash
# test: timeout=90
# hindsight leaks --refs, --refcount, --holders; a CPython extension with one Py_INCREF too many.
. "$LIB"
need cc
src=$ROOT/tests/leaks/refcount.c
cc -g -O0 -w -o "$TMP/p" "$src" || fail 'does not compile'
"$REC" -o "$TMP/t" "$TMP/p" || fail 'rec failed'
"$HINDSIGHT" leaks --refs=get,put "$TMP/t" >"$TMP/out" || fail '--refs failed'
grep -q 'NOT RETURNED use at refcount.c:18' "$TMP/out" || fail "--refs: $(grep -A9 references "$TMP/out")"
[ "$(grep -c 'NOT ' "$TMP/out")" = 1 ] || fail '--refs: more than one is left over'
"$HINDSIGHT" leaks --refcount='struct obj.refs' "$TMP/t" >"$TMP/out" || fail '--refcount failed'
grep -q 'NOT RETURNED get at refcount.c:10' "$TMP/out" || fail "--refcount: $(grep -A9 references "$TMP/out")"
fails 'an unknown function' "$HINDSIGHT" leaks --refs=nobody,put "$TMP/t"
fails 'an unknown member' "$HINDSIGHT" leaks --refcount=obj.nothing "$TMP/t"
cc -g -O0 -w -o "$TMP/p" "$ROOT/tests/leaks/held_one.c" || fail 'does not compile'
rm -rf "$TMP/t"; "$REC" -o "$TMP/t" "$TMP/p" || fail 'rec failed'
"$HINDSIGHT" leaks --holders=last_request "$TMP/t" >"$TMP/out" || fail '--holders failed'
grep -q 'stored by main at held_one.c:11' "$TMP/out" || fail "--holders: $(cat "$TMP/out")"
# CPython
[ -x /usr/bin/python3-config ] || { echo 'python3-dev is not installed'; exit 77; }
# shellcheck disable=SC2046
cc -g -O0 -shared -fPIC $(/usr/bin/python3-config --includes) -o "$TMP/leaky.so" "$ROOT/tests/leaks/python/leaky.c" 2>/dev/null ||
	{ echo 'no header files of Python'; exit 77; }
rm -rf "$TMP/t"
(cd "$TMP" && PYTHONMALLOC=malloc "$REC" -o "$TMP/t" /usr/bin/python3 -c 'import leaky
for i in range(20):
    x = leaky.make(i)
x = None') || fail 'rec python failed'
"$HINDSIGHT" leaks --refcount=PyObject.ob_refcnt "$TMP/t" >"$TMP/out" || fail 'leaks of python failed'
line=$(grep -n UNPAIRED "$ROOT/tests/leaks/python/leaky.c" | cut -d: -f1)
grep -A3 'NOT RETURNED' "$TMP/out" | grep -q "leaky.c:$line" || fail "the INCREF was not named: $(grep -A4 'NOT RETURNED' "$TMP/out" | head -5)"
