#!/bin/bash
# test: timeout=400 soak
# Firefox, headless, with its sandbox as shipped, renders a page: the same picture recorded as alone, replayed, and gdb goes back
# in a content process.
. "$LIB"
need firefox-esr python3
export HOME=$TMP/home MOZ_CRASHREPORTER_DISABLE=1
mkdir -p "$HOME" "$TMP/profile"
cat > "$TMP/page.html" <<'HTML'
<!doctype html><title>t</title><body style="background:#def"><h1 id=h>start</h1><canvas id=c width=200 height=100></canvas><script>
var s = 0; for (var i = 0; i < 200000; i++) s += Math.sqrt(i); document.getElementById('h').textContent = 'sum ' + s.toFixed(3);
var g = document.getElementById('c').getContext('2d'); g.fillStyle = 'red'; g.fillRect(10, 10, 80, 60);
</script>
HTML
for p in browser.shell.checkDefaultBrowser datareporting.policy.dataSubmissionEnabled app.update.enabled extensions.update.enabled \
	network.captive-portal-service.enabled browser.safebrowsing.malware.enabled; do
	echo "user_pref(\"$p\", false);"
done > "$TMP/profile/user.js"
shoot() {	# shoot PICTURE [rec...]
	local picture=$1; shift
	timeout 100 "$@" firefox-esr --headless --no-remote --profile "$TMP/profile" --screenshot "$picture" "file://$TMP/page.html" >"$TMP/out" 2>"$TMP/err" </dev/null
}
shoot "$TMP/first.png"; shoot "$TMP/plain.png"
[ -s "$TMP/plain.png" ] || skip "firefox-esr takes no screenshot here: $(tail -1 "$TMP/err")"
[ -z "$PLAIN" ] || exit 0
export HINDSIGHT_TRACE_DIR=$TMP/traces
for round in $(seq "${ROUNDS:-1}"); do
	rm -rf "$TMP/trace" "$TMP/traces" "$TMP/rec.png"
	shoot "$TMP/rec.png" "$REC" -o "$TMP/trace" -- || fail "round $round: rec exited $?: $(tail -1 "$TMP/err")"
	same "round $round: the picture" "$TMP/plain.png" "$TMP/rec.png"
	mv "$TMP/out" "$TMP/rec.out"; mv "$TMP/err" "$TMP/rec.err"; echo 0 >"$TMP/rec.rc"
	"$HINDSIGHT" dump "$TMP/trace" >"$TMP/dump"
	grep -q 'seccomp(SECCOMP_SET_MODE_FILTER.*) = 0' "$TMP/dump" || fail 'no process has a sandbox'
	replays
	# a process in the sandbox
	awk '/seccomp\(SECCOMP_SET_MODE_FILTER, 0x[0-9a-f]+, 0x[0-9a-f]+\) = 0/ { print $3 }' "$TMP/dump" >"$TMP/inside"
	pid=$("$HINDSIGHT" ps --json "$TMP/trace" | python3 -c '
import json, sys
inside = set(open(sys.argv[1]).read().split())
ps = [p for p in json.load(sys.stdin)["processes"] if str(p["pid"]) in inside and not p["execed"]]
print(max(ps, key=lambda p: p["end_event"] - p["start_event"])["pid"])' "$TMP/inside")
	command -v gdb >/dev/null || continue
	timeout 200 "$REPLAY" -p "$pid" --batch --ex 'break sendmsg' --ex continue --ex continue --ex 'info registers rip' \
		--ex reverse-continue --ex 'info registers rip' --ex reverse-continue --ex continue --ex 'echo \nDONE\n' "$TMP/trace" >"$TMP/gdb" 2>&1 </dev/null ||
		fail "round $round: gdb: $(tail -2 "$TMP/gdb" | tr '\n' '|')"
	[ "$(grep -c 'hit Breakpoint 1' "$TMP/gdb")" -ge 4 ] && grep -q DONE "$TMP/gdb" || fail "round $round: gdb: $(tail -5 "$TMP/gdb" | tr '\n' '|' | cut -c1-600)"
done
