#!/bin/bash
# test: timeout=120
# hindsight gc removes contents of the store that no trace has, wherever traces are, and what killed recorders left; nothing else.
. "$LIB"
export HINDSIGHT_TRACE_DIR=$PWD/traces
store=$HINDSIGHT_TRACE_DIR/store
number() { "$HINDSIGHT" gc "${@:2}" --json | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
contents() { find "$store" -type f -name '????????????????????????????????' | wc -l; }
exits 0 rec "$REC" -o elsewhere sh -c 'echo one'
exits 0 rec "$REC" sh -c 'echo two'
cp /bin/sleep only-here; exits 0 rec "$REC" ./only-here 0
n=$(contents)
[ "$n" -gt 2 ] || fail 'the store is empty'
[ "$(number contents_removed --dry-run)" = 0 ] || fail 'all contents are in use'
rm -r "$HINDSIGHT_TRACE_DIR"/only-here-0
"$HINDSIGHT" ls | tail -1 | grep -q 'hindsight gc' || fail "ls: $("$HINDSIGHT" ls | tail -1)"
[ "$(number contents_removed --dry-run)" = 1 ] || fail "to be removed: $("$HINDSIGHT" gc -n)"
[ "$(contents)" = "$n" ] || fail 'a dry run has removed something'
[ "$(number contents_removed)" = 1 ] || fail 'the unused content stays'
[ "$(contents)" = $((n - 1)) ] || fail "$(contents) contents, not $((n - 1))"
exits 0 'replay' "$REPLAY" -a "$(ls -d "$HINDSIGHT_TRACE_DIR"/sh-0)"
exits 0 'replay of a trace elsewhere' "$REPLAY" -a elsewhere
# What a killed recorder leaves: a large file being copied.
tr '\0' x < /dev/zero | head -c 500M > big
cat > map.py <<'EOF2'
import mmap, os, sys
f = os.open(sys.argv[1], os.O_RDWR)
m = mmap.mmap(f, 0)
print("mapped", flush=True)
EOF2
"$REC" -o killed /usr/bin/python3 -S map.py big > /dev/null 2>&1 & p=$!
for i in $(seq 200); do t=$(find "$store" -maxdepth 1 -name '.tmp-*' -size +10M 2>/dev/null | head -1); [ -n "$t" ] && break; sleep 0.02; done
[ -n "$t" ] || { kill -9 $p; skip 'nothing was copied'; }
r=${t##*/.tmp-} r=${r%%-*}	# the recorder, which need not be the process that we started
# While it lives it is left alone, however old it looks.
kill -STOP "$r"
for i in $(seq 200); do grep -q '^State:.T' "/proc/$r/status" && break; sleep 0.05; done	# a busy machine stops it later
[ -e "$t" ] || { kill -9 "$r"; skip 'it was copied too quickly'; }
old=$(find "$store" -maxdepth 1 -name '.tmp-*' | wc -l)
sleep 12		# nobody can set a ctime back
[ "$(number temporary_removed)" = 0 ] || fail "gc takes a live recorder's file"
[ "$(find "$store" -maxdepth 1 -name '.tmp-*' | wc -l)" = "$old" ] || fail 'it is gone'
kill -9 "$r"; wait $p 2>/dev/null
[ "$(number temporary_removed --dry-run)" -ge 1 ] || fail 'it is not seen'
exits 0 'the next rec' "$REC" true
[ -z "$(find "$store" -maxdepth 1 -name '.tmp-*')" ] || fail 'the next recording does not remove it'
# Recordings while gc runs, again and again.
(while [ ! -e stop ]; do "$HINDSIGHT" gc > /dev/null || touch gc-failed; done) & g=$!
for i in $(seq 15); do
	rm -rf v; cp /bin/echo new-$i
	exits 0 "rec $i while gc runs" "$REC" -o v ./new-$i hello
	exits 0 "replay $i while gc runs" "$REPLAY" -a v
	grep -qx hello "$TMP/out" || fail "replay $i while gc runs: $(head -1 "$TMP/out")"
done
touch stop; wait $g
[ ! -e gc-failed ] || fail 'gc failed'
fails 'two directories' "$HINDSIGHT" gc a b
fails 'no such directory' "$HINDSIGHT" gc /nonexistent
