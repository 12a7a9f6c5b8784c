#!/bin/bash
# test: timeout=120
# Where rec or replay cannot look at processes (no /proc, that of another PID namespace, a filter) they say so at once.  A recording that
# is given up in its middle is not complete.
. "$LIB"
need unshare
unshare -m true 2>/dev/null || skip 'no namespaces'
"$REC" -o t true || fail rec
says() {	# says WHAT TEXT COMMAND...: exit 125 and one line with TEXT
	local what=$1 text=$2 rc; shift 2
	command timeout -k1 30 "$@" >out 2>err </dev/null; rc=$?
	[ $rc = 125 ] || fail "$what: exit $rc, $(cat err)"
	[ "$(wc -l <err)" = 1 ] && grep -q "$text" err || fail "$what: $(cat err)"
	[ ! -e none ] || fail "$what: a trace was left behind"
}
gone='umount -l /proc && exec "$@"'
says 'rec without /proc' 'proc is not mounted' unshare -m sh -c "$gone" x "$REC" -o none true
says 'replay without /proc' 'proc is not mounted' unshare -m sh -c "$gone" x "$REPLAY" -a t
says 'leaks without /proc' 'proc is not mounted' unshare -m sh -c "$gone" x "$HINDSIGHT" leaks t
says 'rec in a PID namespace' 'another PID namespace' unshare -p -f "$REC" -o none true
says 'replay in a PID namespace' 'another PID namespace' unshare -p -f "$REPLAY" -a t
says 'leaks in a PID namespace' 'another PID namespace' unshare -p -f "$HINDSIGHT" leaks t
unshare -p -f --mount-proc "$REC" -o own true || fail 'rec with its own /proc'
unshare -p -f --mount-proc "$REPLAY" -a own || fail 'replay with its own /proc'
! command -v bwrap >/dev/null || says 'bwrap' 'proc is not mounted' bwrap --bind / / --dev /dev --tmpfs /proc "$REC" -o none true
of=$BUILD/tests/cli/outer_filter
if [ -x "$of" ]; then
	for nr in 310=50001 310=50026 311=50001; do	# process_vm_readv, process_vm_writev
		says "filter $nr: rec" 'process_vm_readv' "$of" $nr -- "$REC" -o none true
		says "filter $nr: replay" 'process_vm_readv' "$of" $nr -- "$REPLAY" -a t
	done
fi
# the program unmounts /proc
command timeout -k1 60 unshare -m "$REC" -o cut sh -c 'echo a; umount -l /proc; echo b; /bin/true; echo c' >out 2>err; rc=$?
[ $rc = 125 ] || fail "/proc is unmounted meanwhile: exit $rc, $(cat err)"
[ "$(wc -l <err)" = 1 ] && grep -q 'is /proc mounted' err || fail "/proc is unmounted meanwhile: $(cat err)"
"$HINDSIGHT" info cut 2>/dev/null | grep -q '^end .*complete' && fail 'a recording that was given up is said to be complete'
"$REPLAY" -a cut >again 2>err; rc=$?
[ $rc = 125 ] && [ "$(wc -l <err)" = 1 ] || fail "replay of what there is: exit $rc, $(cat err)"
cmp -s out again || fail 'replay of what there is: other output'
