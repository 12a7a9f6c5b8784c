#!/bin/bash
# test: timeout=120
# hindsight memprof: Python over a malloc() that writes down each call; every event, in order, with address, sizes and line.
. "$LIB"
need python3
[ "$(/usr/bin/python3 -c 'import sys; print(sys.version_info[:2])' 2>&1)" = '(3, 11)' ] || skip 'no Python 3.11'
cp "$ROOT"/tests/cli/memprof_truth/* "$TMP" && cd "$TMP" || exit 1
gcc -O1 -g -w -shared -fPIC -o log.so malloc.c || fail 'no library'
see() {	# see NAME OPTION...
	PYTHONMALLOC=malloc PYTHONHASHSEED=0 "$REC" -o "$1" env LD_PRELOAD="$PWD/log.so" MALLOC_LOG="$PWD/truth" \
		MALLOC_FILE=program.py /usr/bin/python3 -S "${@:2}" >out 2>&1 || fail "rec: $(tail -3 out)"
	"$HINDSIGHT" memprof -q --list "$1" >list || fail memprof
	python3 compare.py truth list program.py >out 2>err || fail "$1: $(cat out err)"
	n=$(cut -d' ' -f1 out); [ "$n" -gt 10000 ] || fail "only $n events"
}
see t1 program.py 20
exit 0
