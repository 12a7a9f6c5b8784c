#!/bin/bash
# test: timeout=120
# Where /proc cannot be written to: rec and replay go on as usual.
. "$LIB"
need unshare
unshare -m mount -t proc -o ro proc /proc 2>/dev/null || skip '/proc cannot be mounted'
ro() { unshare -m sh -c 'mount -t proc -o ro proc /proc && exec "$@"' x "$@"; }
ro sh -c 'echo 0 >/proc/self/oom_score_adj' 2>/dev/null && fail '/proc can be written to'
loop='i=0; while [ $i -lt 300 ]; do i=$((i + 1)); read -r x </dev/null; done; /bin/echo $i; exit 3'
ro "$REC" --checksum -o t sh -c "$loop" >out; rc=$?
[ $rc = 3 ] || fail "rec: exit $rc"
ro "$REPLAY" -a t >again; rc=$?
[ $rc = 3 ] || fail "replay: exit $rc"
same replay out again
"$HINDSIGHT" stats t >stats || fail stats
grep -q '^syscall sites: [1-9]' stats || fail "no call was patched: $(grep sites stats)"
! command -v gdb >/dev/null || ro "$REPLAY" --batch --ex 'break write' --ex continue --ex 'info registers rip' t >gdb.out 2>&1 </dev/null || fail "gdb: $(tail -3 gdb.out)"
if command -v bwrap >/dev/null; then
	bwrap --ro-bind / / --dev /dev --bind "$PWD" "$PWD" "$REC" -o b true || fail bwrap
	bwrap --ro-bind / / --dev /dev "$REPLAY" -a b || fail 'replay in bwrap'
fi
