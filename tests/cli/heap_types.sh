#!/bin/bash
# test: timeout=120
# hindsight heap: bit fields of every version of DWARF, deleters with state, what functions and any hold, floats of all sizes, names in
# namespaces without one, names that libc's frames have as well; memprof names the program's lines, not those of headers.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need g++
cp "$ROOT/tests/cli/heap_types.cc" "$ROOT/tests/cli/heap_floats.c" .
has() { grep -qF -- "$1" out || fail "$how: no '$1' in: $(tr '\n' '|' <out | cut -c1-3000)"; }
events() { "$HINDSIGHT" dump "$1" | awk '/ write\(1/ { e = e ? e "," $1 : $1 } END { print e }'; }
for how in -gdwarf-2 -gdwarf-4 -gdwarf-5; do
	g++ -std=c++20 -g $how -O0 -o c heap_types.cc 2>err || skip 'no C++20'
	rm -rf "$TMP/t"
	"$REC" -o "$TMP/t" ./c >/dev/null || fail 'rec failed'
	E=$(events "$TMP/t")
	"$HINDSIGHT" heap -q "$TMP/t" --at="${E%,*}" bits bytes owned none odd 'owned->y' 'odd->x' hidden outer::deep '(anonymous namespace)::hidden' init result buf fd path 'trio[2]' >out 2>err || fail "$how: $(cat err)"
	has 'f1 = 5'; has 'f2 = 4097'; has ' a = 5'; has ' b = 4097'; has ' c = -3'; has ' d = -5'
	has '> none = nullptr'; has 'owned->y = 6'; has 'odd->x = 5'; [ "$(grep -c 'int x = 5' out)" -ge 2 ] || fail "$how: $(cat out)"
	has 'int hidden = 4'; has 'outer::deep = 5'; has '(anonymous namespace)::hidden = 4'
	has 'int init = 11'; has 'int result = 12'; has 'int buf = 13'; has 'int fd = 14'; has 'path = filesystem::path "/tmp/some"'; has 'trio[2] = 30'
	"$HINDSIGHT" heap -q "$TMP/t" --at="${E#*,}" --history=bits.f2 >out 2>err || fail "history: $(cat err)"
	has ' 4097  main at'; has ' 4098  main at'
	[ $how = -gdwarf-2 ] && continue	# lambdas have no types there
	"$HINDSIGHT" heap -q "$TMP/t" --at="${E%,*}" small large nothing number text dynamic fixed >out 2>err || fail "$how: $(cat err)"
	grep -A2 ' small = ' out | grep -q '__k = 7\| k = 7' || fail "$how: a lambda: $(cat out)"
	grep -A4 ' large = ' out | grep -q 'c = 3' || fail "$how: a lambda in a block: $(cat out)"
	grep -A1 ' nothing = ' out | grep -q 'target. = {}' || fail "$how: a lambda without captures: $(cat out)"
	has '[contained value] = 42'; has '[contained value] = "in any"'; has 'dynamic = std::span of length 3'; has 'fixed = std::span of length 4'; has '[3] = 4'
	"$HINDSIGHT" memprof -q "$TMP/t" >out 2>err || fail "memprof: $(cat err)"
	grep -q '^grow at heap_types.cc:' out || fail "places in headers: $(head -5 out)"
done
how=floats
gcc -g -o f heap_floats.c 2>err || skip 'no such floats'
"$REC" -o "$TMP/tf" ./f >/dev/null || fail 'rec failed'
"$HINDSIGHT" heap -q "$TMP/tf" --at="$(events "$TMP/tf")" half least quad wide money huge small most x87 >out 2>err || fail "floats: $(cat err)"
has 'half = 1.5'; has 'least = 5.9605e-08'; has 'quad = 1.25'; has 'wide = -2.5'; has 'money = 19.99'; has 'huge = 5e+20'; has 'small = -0.25'; has 'most = 123456789.5'; has 'x87 = 0.1'
exit 0
