#!/bin/bash
# test: timeout=120
# hindsight memprof of odd programs that say what they allocate: event by event, with address, sizes and line.
. "$LIB"
need python3
need cc
cp "$ROOT"/tests/cli/memprof_odd/* "$TMP" && cd "$TMP" || exit 1
bad=0
look() {	# look WHAT 'MEMPROF OPTIONS' 'COMPARE ARGUMENTS' COMMAND...
	local what=$1 options=$2 how=$3; shift 3
	rm -rf t truth
	timeout 60 "$REC" -o t "$@" >out 2>&1 || { echo "$what: rec: $(tail -2 out)"; bad=1; return; }
	# shellcheck disable=SC2086
	"$HINDSIGHT" memprof -q --list $options t >list 2>err || { echo "$what: $(cat err)"; bad=1; return; }
	# shellcheck disable=SC2086
	python3 compare.py truth list $how 2>err || { echo "$what: $(tail -1 err)"; bad=1; }
}
build() { cc -g -O1 -w -o "$1" "$1.c" -lpthread -ldl || fail "cannot build $1"; }
for p in basic maps threads jumps pool fork unload handover; do build $p; done
cc -g -O1 -w -shared -fPIC -o a.so library.c && cc -g -O1 -w -DB -shared -fPIC -o b.so library.c || fail 'no libraries'
look basic '' 'basic.c places' ./basic truth
look maps '' maps.c ./maps truth
look threads '' 'threads.c set' ./threads truth
look jumps '' jumps.c ./jumps truth
look handover '' 'handover.c set' ./handover truth
look pool '--alloc=pool_alloc:2 --free=pool_free:2' pool.c ./pool truth
look fork '' 'fork.c places' ./fork truth other
mv truth.child truth; child=$("$HINDSIGHT" ps t | awk '/forked/ { print $1; exit }')
"$HINDSIGHT" memprof -q --list -p "$child" t >list 2>err && python3 compare.py truth list fork.c || { echo "fork's child: $(tail -1 err)"; bad=1; }
mv other truth; child=$("$HINDSIGHT" ps t | awk '/fork other x/ { print $1; exit }')
"$HINDSIGHT" memprof -q --list -p "$child" t >list 2>err && python3 compare.py truth list fork.c || { echo "exec: $(tail -1 err)"; bad=1; }
look unload '' unload.c ./unload truth
# What came from a pool in a library that is closed.
build unload_pool && cc -g -O1 -w -shared -fPIC -o pool.so library_pool.c && rm -rf t && "$REC" -o t ./unload_pool || fail 'unload_pool'
"$HINDSIGHT" memprof -q --json --alloc=pool_alloc t >json && python3 - <<'X' || { echo 'a closed library: its pool'; bad=1; }
import json
s = [x for x in json.load(open("json"))["sites"] if x["file"] and x["file"].endswith("unload_pool.c") and x["line"] == 10]	# others: dlopen()'s own
assert [(x["allocs"], x["alloc_bytes"], x["live_blocks"]) for x in s] == [(30, 3000, 0)], s
X
# Blocks that are parts of others, also where so many were that the dead are forgotten.
build wrapped && rm -rf t && "$REC" -o t ./wrapped || fail 'wrapped'
"$HINDSIGHT" memprof -q --json --alloc=my_alloc --free=my_free t >json && python3 - <<'X' || { echo 'blocks in blocks'; bad=1; }
import json
n = json.load(open("json"))["total"]
assert (n["allocs"], n["frees"], n["live_blocks"]) == (600000, 599000, 1000), n
X
c++ -g -O1 -w -std=c++17 -o pmr pmr.cc 2>/dev/null && look pmr '' pmr.cc ./pmr truth
# Programs that have their allocator built in.
for p in basic maps jumps; do
	cc -g -O1 -w -static -o $p.static $p.c && look "static $p" '' $p.c ./$p.static truth
	command -v musl-gcc >/dev/null && musl-gcc -g -O1 -w -o $p.musl $p.c 2>/dev/null && look "musl $p" '' $p.c ./$p.musl truth
done
for l in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0; do
	lib=/usr/lib/x86_64-linux-gnu/$l
	[ -e $lib ] || continue
	look "$l basic" '' 'basic.c places' env LD_PRELOAD=$lib ./basic truth x
	look "$l threads" '' 'threads.c set' env LD_PRELOAD=$lib ./threads truth
	[ ! -e pmr ] || look "$l pmr" '' pmr.cc env LD_PRELOAD=$lib ./pmr truth
done
[ $bad = 0 ] || fail 'some answers are wrong'
exit 0
