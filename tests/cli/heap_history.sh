#!/bin/bash
# test: timeout=100
# hindsight heap --history of fields that are written all the time: the values that the program says itself, and gdb's watchpoint; most stores are no stop.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gcc
gcc -g -O2 -pthread -o t "$ROOT/tests/cli/heap_history.c" || fail 'cannot compile'
"$REC" -o "$TMP/t1" ./t 3000 >said || fail 'rec failed'
h() { HINDSIGHT_DEBUG=1 "$HINDSIGHT" heap -q "$TMP/t1" --history="$1" >out 2>err || fail "history of $1: $(cat err)"; awk 'NR > 2 { print $3 }' out >values; }
h 'w->n'
cmp -s values said || fail "values of n: $(diff values said | head)"
for f in set add swap raise_to copy half pushed string; do grep -q "  $f at heap_history.c:" out || fail "nobody called $f wrote: $(tail -3 out)"; done
grep -q 'main at heap_history.c:[0-9]* (read)$' out || fail 'the system call is missing'
while read -r field list; do
	h "$field"; eval "$list" | cmp -s values - || fail "values of $field: $(head -5 out)"
	case $field in
	w*) ! grep -q 'stores are logged' err && fail "$field: each store is a stop"
	esac
done <<'E'
w->small seq 0 3000
w->beside seq 0 3000
w->byte seq 0 3000 | awk '{ v = int($1 / 3) % 256; if (NR == 1 || v != was) print v; was = v }'
w->d seq 0 3000 | awk '{ print $1 / 2 }'
many seq 0 3000
E
command -v gdb >/dev/null || exit 0
cat >script <<'E'
set pagination off
set confirm off
break set
run 400 >/dev/null
delete
set $n = 0
watch -location w->n
commands
silent
printf "value %ld\n", w->n
continue
end
continue
E
timeout 60 gdb -batch -nx -x script ./t >gdb 2>&1 || exit 0
rm -rf "$TMP/t1"; "$REC" -o "$TMP/t1" ./t 400 >said || fail 'rec failed'
h 'w->n'
# set() has not stored yet; gdb stops for what a system call wrote with the next store, if any
sed -n 's/^value //p' gdb >watched
[ -s watched ] || exit 0
n=$(wc -l <watched)
sed 1d values | head -n "$n" | cmp -s - watched || fail "gdb's watchpoint: $(sed 1d values | head -n "$n" | diff - watched | head)"
exit 0
