#!/bin/bash
# test: timeout=120
# hindsight gc removes indexes of symbols whose file no trace has, also of a file of more than 64 MB, and those of another version; others stay.
. "$LIB"
need gcc
export HINDSIGHT_TRACE_DIR=$PWD/traces
symbols=$HINDSIGHT_TRACE_DIR/symbols
number() { "$HINDSIGHT" gc "${@:2}" --json | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
cat >small.c <<'X'
#include <stdlib.h>
char *volatile p;
int main(void) { p = malloc(10); p = malloc(20); return 0; }
X
cp small.c large.c; echo 'char big[70 << 20] = { 1 };' >>large.c
gcc -g -o small small.c && gcc -g -o large large.c || skip 'gcc fails'
for p in small large; do
	"$REC" -o $p-trace ./$p && "$HINDSIGHT" leaks -q $p-trace >/dev/null || fail "$p"
done
[ "$(stat -c %s large)" -gt $((64 << 20)) ] || fail 'large is small'
all=$(ls "$symbols" | wc -l)
[ "$all" -ge 4 ] || fail "indexes: $(ls -l "$symbols")"
number symbol_indexes_removed >/dev/null		# what is of no file: the vdso
kept=$(ls "$symbols" | wc -l)
[ "$(number symbol_indexes_kept)" = "$kept" ] || fail "kept: $("$HINDSIGHT" gc --json)"
[ $((all - kept)) -le 1 ] || fail "$all indexes, $kept stay"
rm -r large-trace
n=$(number symbol_indexes_removed --dry-run)
[ "$n" = 2 ] || [ "$n" = 1 ] || fail "a dry run would remove $n"
[ "$(ls "$symbols" | wc -l)" = "$kept" ] || fail 'a dry run removes'
[ "$(number symbol_indexes_removed)" = "$n" ] || fail 'removed'
[ "$(ls "$symbols" | wc -l)" = $((kept - n)) ] || fail "left: $(ls "$symbols")"
# those of the other trace are used as they are
before=$(cd "$symbols" && stat -c '%n %Y %i' -- *.names)
"$HINDSIGHT" leaks -q small-trace >out || fail 'leaks'
grep -q 'main at small.c:3' out || fail "names: $(cat out)"
[ "$before" = "$(cd "$symbols" && stat -c '%n %Y %i' -- *.names)" ] || fail 'indexes were made again'
# another version; files of other programs stay
f=$(ls "$symbols"/*.names | head -1); printf '\001' | dd of="$f" bs=1 seek=8 conv=notrunc 2>/dev/null
: >"$symbols/notes.names"
[ "$(number symbol_indexes_removed)" = 1 ] && [ ! -e "$f" ] || fail 'another version stays'
[ -e "$symbols/notes.names" ] || fail 'somebody else'\''s file is gone'
