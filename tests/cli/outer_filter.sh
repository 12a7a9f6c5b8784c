#!/bin/bash
# test: timeout=200
# Recorded inside somebody else's filter, which refuses, traps, kills, says TRACE or minds what the recorder does itself: the program
# sees what it sees without the recorder.
. "$LIB"
of=$BUILD/tests/cli/outer_filter
[ -x "$of" ] || skip "$(cat "$of.skip" 2>/dev/null || echo not built)"
try() {	# try NAME NR=ACTION...
	local name=$1 rc rc0 i; shift
	"$of" "$@" -- "$of" calls $ring >"$TMP/plain.out" 2>"$TMP/plain.err" </dev/null; rc0=$?
	for i in 1 2 3; do
		rm -rf t; "$of" "$@" -- "$REC" $more --checksum -o t -- "$of" calls $ring >"$TMP/rec.out" 2>"$TMP/rec.err" </dev/null; rc=$?
		[ $rc = $rc0 ] || fail "$name: rec exited $rc, plain $rc0: $(tail -1 "$TMP/rec.err")"
		same "$name" "$TMP/plain.out" "$TMP/rec.out"
		"$REPLAY" -a t >"$TMP/rep.out" 2>"$TMP/rep.err" </dev/null; rc=$?
		[ $rc = $rc0 ] || fail "$name: replay exited $rc: $(tail -1 "$TMP/rep.err")"
		same "$name: replay" "$TMP/rec.out" "$TMP/rep.out"
	done
}
# io_uring_setup 425, getppid 110, getpgid 121, getsid 124, sched_setaffinity 203, getuid 102, times 100, poll 7, fcntl 72
# 5xxxx errno, 3xxxx trap, 7ff00000 trace, 7ffc0000 log, 80000000 kill.  None of what the recorder itself needs can be trapped or killed.
ring=
for more in '' --no-syscallbuf --chaos; do
	try errno 110=50005 121=50001 203=50002
	ring=ring try trap 110=30005 121=30001 425=30007 100=30008
	ring=ring try refuse 425=50001
	try trace 110=7ff00001 121=7ff00002
	try log 110=7ffc0000 124=7ffc0000
	try kill 121=80000000
	try number -1=80000000 110=50003
	try number_trap -1=30001 121=30003
	try own 7=50001 127=30001
	try own_kill 127=80000000 110=30003
	HINDSIGHT_NO_DISPATCH=1 try no_dispatch 110=30005 121=50001
done
