#!/bin/bash
# test: timeout=180
# The recorder's own memory stays below 64 MB and does not grow with the length of a run.
. "$LIB"
grep -qa __asan_init "$REC" && skip 'a sanitizer needs memory of its own'

# watch COMMAND... - record it; peak KB of the recorder in $peak, of its first third of samples in $early
watch() {
	local p now rc samples=()
	rm -rf t; "$REC" "${options[@]}" -o t -- "$@" > out 2> err & p=$!
	while now=$(sed -n 's/^VmHWM:[ \t]*\([0-9]*\) kB/\1/p' /proc/$p/status 2>/dev/null) && [ -n "$now" ]; do
		samples+=("$now"); sleep 0.1
	done
	wait $p; rc=$?
	[ $rc = 0 ] || fail "rec $1: exit $rc: $(head -1 err)"
	[ ${#samples[@]} -ge 3 ] || fail "$1: over too soon to be watched"
	peak=${samples[-1]} early=${samples[${#samples[@]} / 3]}
	[ "$peak" -le 65536 ] || fail "$1: the recorder took $peak KB"
	[ $((peak - early)) -le 4096 ] || fail "$1: the recorder grew from $early to $peak KB"
}
options=(--no-syscallbuf)
watch dd if=/dev/zero of=/dev/null bs=64 count=200000 status=none
events=$("$HINDSIGHT" info --json t | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"])')
[ "$events" -ge 400000 ] || fail "only $events events"
options=()
watch dd if=/dev/zero of=/dev/null bs=64 count=4000000 status=none
watch sh -c 'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done'
# buffers of the program's, however large, pass through
watch dd if=/dev/zero of=/dev/null bs=32M count=40 status=none
