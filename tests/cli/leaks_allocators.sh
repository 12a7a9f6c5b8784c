#!/bin/bash
# test: timeout=90
# hindsight leaks with other allocators: static glibc, musl (static and not), jemalloc and tcmalloc where they are installed.
. "$LIB"
need cc
bad=0
look() {	# look WHAT SOURCE [COMMAND...]: the recording in $TMP/t
	"$HINDSIGHT" leaks --json "$TMP/t" >"$TMP/json" 2>"$TMP/err" || fail "$1, $2: $(cat "$TMP/err")"
	/usr/bin/python3 "$ROOT/tests/leaks/check.py" "$ROOT/tests/leaks/$2" "$TMP/json" >"$TMP/said" ||
		{ sed "s/^/$1: /" "$TMP/said"; bad=1; }
}
for s in list_head.c owner_freed.c realloc.c returned.c; do
	rm -rf "$TMP/t"; cc -g -O0 -w -static -o "$TMP/p" "$ROOT/tests/leaks/$s" && "$REC" -o "$TMP/t" "$TMP/p" && look 'static glibc' $s
	if command -v musl-gcc >/dev/null; then
		rm -rf "$TMP/t"; musl-gcc -g -O0 -w -static -o "$TMP/p" "$ROOT/tests/leaks/$s" && "$REC" -o "$TMP/t" "$TMP/p" && look 'static musl' $s
		rm -rf "$TMP/t"; musl-gcc -g -O0 -w -o "$TMP/p" "$ROOT/tests/leaks/$s" && "$REC" -o "$TMP/t" "$TMP/p" && look 'musl' $s
	fi
	cc -g -O0 -w -o "$TMP/p" "$ROOT/tests/leaks/$s"
	for l in /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4; do
		[ -e "$l" ] || continue
		rm -rf "$TMP/t"; LD_PRELOAD=$l "$REC" -o "$TMP/t" "$TMP/p" && look "$(basename "$l")" $s
	done
done
[ $bad = 0 ] || fail 'some answers are wrong'
