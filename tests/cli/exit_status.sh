#!/bin/bash
# The program's exit status and signals come back from rec and replay -a; rec itself is silent.
. "$LIB"
for n in 0 1 2 42 124 125 126 127 128 200 255; do
	rm -rf t
	exits $n "rec, exit $n" "$REC" -o t sh -c "exit $n"
	exits $n "replay, exit $n" "$REPLAY" -a t
done
for s in 1 2 6 9 11 13 15 34; do
	rm -rf t
	exits $((128 + s)) "rec, signal $s" "$REC" -o t sh -c "kill -$s \$\$"
	exits $((128 + s)) "replay, signal $s" "$REPLAY" -a t
done
rm -rf t
"$REC" -o t sh -c 'echo out; echo err >&2; exit 4' > o 2> e; rc=$?
[ "$rc $(cat o) $(cat e)" = '4 out err' ] || fail "rec: $rc '$(cat o)' '$(cat e)'"
"$REPLAY" -a t > o2 2> e2; rc=$?
[ "$rc $(cat o2) $(cat e2)" = '4 out err' ] || fail "replay: $rc '$(cat o2)' '$(cat e2)'"
# Both streams into one pipe keep their order.
rm -rf t
want=$(sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done' 2>&1)
[ "$("$REC" -o t sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done' 2>&1)" = "$want" ] || fail 'rec: order of output'
[ "$("$REPLAY" -a t 2>&1)" = "$want" ] || fail 'replay: order of output'
# Standard streams may be closed, or full.
rm -rf t; "$REC" -o t sh -c 'exit 6' <&- >&- 2>&-; rc=$?
[ $rc = 6 ] || fail "rec with closed streams: exit $rc"
"$REPLAY" -a t <&- >&- 2>&-; rc=$?
[ $rc = 6 ] || fail "replay with closed streams: exit $rc"
rm -rf t; "$REC" -o t yes 2>/dev/null | head -3 > o; [ "$(cat o)" = "$(printf 'y\ny\ny')" ] || fail 'rec into head'
timeout 20 "$REPLAY" -a t 2>/dev/null | head -3 > o; [ "$(cat o)" = "$(printf 'y\ny\ny')" ] || fail 'replay into head'
# The environment, directory, limits, nice value and umask are the caller's own.
cat > show.sh <<'S'
env | sort | grep -v ^_=; pwd; ulimit -a; umask; nice; cat /proc/self/oom_score_adj; echo "$0" "$@"; ls -l /proc/self/fd | wc -l
S
env -i A=1 PATH="$PATH" sh -c 'umask 031; ulimit -n 333; sh show.sh x "y z"' > want
rm -rf t; env -i A=1 PATH="$PATH" HINDSIGHT_TRACE_DIR="$TMP/tr" sh -c "umask 031; ulimit -n 333; unset HINDSIGHT_TRACE_DIR; $REC -o t -- sh show.sh x 'y z'" > got
same 'what the program sees of its surroundings' want got
