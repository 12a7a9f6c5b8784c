#!/bin/bash
# test: timeout=400 soak
# Chromium, headless, sandboxed as shipped (so as an ordinary user), renders a page: the same picture recorded as alone, replayed, and gdb goes
# back in a renderer.
. "$LIB"
need chromium setpriv python3
user=
if [ "$(id -u)" = 0 ]; then
	user='setpriv --reuid 65534 --regid 65534 --clear-groups'
	box=$(mktemp -d /tmp/chromium.XXXXXX); trap 'rm -rf "$box"' EXIT
	mkdir "$box/bin"; cp "$REC" "$REPLAY" "$HINDSIGHT" "$box/bin/"; chmod -R a+rX "$box"; chown 65534:65534 "$box"
	REC=$box/bin/rec REPLAY=$box/bin/replay HINDSIGHT=$box/bin/hindsight
else
	box=$TMP
fi
cd "$box" || exit 1
$user unshare -U true 2>/dev/null || skip 'no user namespaces: Chromium has no sandbox here'
export HOME=$box/home TMPDIR=$box HINDSIGHT_TRACE_DIR=$box/traces
$user mkdir -p "$HOME"
cat > "$box/page.html" <<'HTML'
<!doctype html><title>t</title><body style="background:#def"><h1 id=h>start</h1><canvas id=c width=200 height=100></canvas><script>
var s = 0; for (var i = 0; i < 200000; i++) s += Math.sqrt(i); document.getElementById('h').textContent = 'sum ' + s.toFixed(3);
var g = document.getElementById('c').getContext('2d'); g.fillStyle = 'red'; g.fillRect(10, 10, 80, 60);
</script>
HTML
shoot() {	# shoot PICTURE [rec...]
	local picture=$1; shift
	$user rm -rf "$box/data"
	timeout 100 $user "$@" chromium --headless --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update \
		--disable-sync --user-data-dir="$box/data" --screenshot="$picture" "file://$box/page.html" >"$TMP/out" 2>"$TMP/err" </dev/null
}
shoot "$box/plain.png"
[ -s "$box/plain.png" ] || skip "chromium takes no screenshot here: $(tail -1 "$TMP/err")"
[ -z "$PLAIN" ] || exit 0
for round in $(seq "${ROUNDS:-1}"); do
	$user rm -rf "$box/trace" "$box/traces" "$box/rec.png"
	shoot "$box/rec.png" "$REC" -o "$box/trace" -- || fail "round $round: rec exited $?: $(tail -1 "$TMP/err")"
	same "round $round: the picture" "$box/plain.png" "$box/rec.png"
	grep -v "^hindsight: " "$TMP/err" >"$TMP/rec.err"
	$user "$HINDSIGHT" dump "$box/trace" >"$TMP/dump"
	grep -q 'seccomp(SECCOMP_SET_MODE_FILTER.*) = 0' "$TMP/dump" || fail 'no process has a sandbox'
	for i in $(seq "$REAL_REPLAYS"); do
		timeout 150 $user "$REPLAY" -a "$box/trace" >"$TMP/replay.out" 2>"$TMP/replay.err" </dev/null ||
			fail "round $round: replay exited $?: $(tail -1 "$TMP/replay.err" | cut -c1-300)"
		same "round $round: replay $i: stderr" "$TMP/rec.err" "$TMP/replay.err"
	done
	# a process in the innermost sandbox: a renderer, say
	awk '/seccomp\(SECCOMP_SET_MODE_FILTER, 0x[0-9a-f]+, 0x[0-9a-f]+\) = 0/ { print $3 }' "$TMP/dump" >"$TMP/inside"
	pid=$($user "$HINDSIGHT" ps --json "$box/trace" | python3 -c '
import json, sys
inside = set(open(sys.argv[1]).read().split())
ps = [p for p in json.load(sys.stdin)["processes"] if str(p["pid"]) in inside and "--type=zygote" in p["argv"]]
print(max(ps, key=lambda p: p["end_event"] - p["start_event"])["pid"])' "$TMP/inside")
	command -v gdb >/dev/null || continue
	timeout 200 $user "$REPLAY" -p "$pid" --batch --ex 'break recvmsg' --ex continue --ex continue --ex 'info registers rip' \
		--ex reverse-continue --ex 'info registers rip' --ex reverse-continue --ex continue --ex 'echo \nDONE\n' "$box/trace" >"$TMP/gdb" 2>&1 </dev/null ||
		fail "round $round: gdb: $(tail -2 "$TMP/gdb" | tr '\n' '|')"
	[ "$(grep -c 'hit Breakpoint 1' "$TMP/gdb")" -ge 4 ] && grep -q DONE "$TMP/gdb" || fail "round $round: gdb: $(tail -5 "$TMP/gdb" | tr '\n' '|' | cut -c1-600)"
done
