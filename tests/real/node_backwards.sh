#!/bin/bash
# test: timeout=200
# Back and forward again in code of a JIT compiler: 30 places, or as many as take half a minute.
# Where debug registers do not work, a watchpoint on the stack of an interpreter takes minutes: there without (cli/gdb_positions and gdb_dense have them).
. "$LIB"
need node python3 gcc gdb
[ -z "$PLAIN" ] || exit 0
cat > "$TMP/t.js" <<'JS'
function hot(n) { let a = 0, o = { x: 1, y: 2.5 }; for (let i = 0; i < n; i++) { a = (a * 31 + (i ^ (i >> 3)) + o.x) | 0; o.y += a % 7; } return [a, o.y]; }
console.log(hot(300000));
const m = new Map(); for (let i = 0; i < 2000; i++) m.set('k' + i, { i, s: String(i).repeat(3) });
console.log([...m.values()].reduce((a, v) => a + v.s.length, 0));
JS
"$REC" -o "$TMP/trace" node "$TMP/t.js" >/dev/null || fail 'rec failed'
share=0
echo 'volatile int g; int main(void) { g = 1; g = 2; return g; }' >"$TMP/dr.c"
gcc -g -o "$TMP/dr" "$TMP/dr.c" && gdb -nx -batch -ex 'break main' -ex run -ex 'watch g' -ex continue "$TMP/dr" 2>&1 | grep -q 'New value' && share=0.4
for mode in steps stops; do
	timeout 100 python3 "$ROOT/bench/places.py" -n 30 -t 30 -w $share -s $RANDOM -m $mode "$REPLAY" "$TMP/trace" >"$TMP/out" 2>&1 ||
		fail "$mode: $(grep -E '^(DIFF|DIED|replay:)' "$TMP/out" | tail -2 | tr '\n' '|' | cut -c1-900)"
done
