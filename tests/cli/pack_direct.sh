#!/bin/bash
# test: timeout=60
# A packed file can be named where a trace can: it is unpacked the first time, and found again after that.
. "$LIB"
export HINDSIGHT_TRACE_DIR=$PWD/traces
"$REC" -o t sh -c 'echo said; exit 3' >out || [ $? = 3 ] || fail rec
"$HINDSIGHT" pack -o bug.hst t >/dev/null || fail pack
rm -rf t
for round in 1 2; do
	"$REPLAY" -a bug.hst >got 2>err; [ $? = 3 ] || fail "replay of a packed file: $(tail -1 err)"
	same "round $round" out got
	case $round in
	1) grep -q 'bug.hst is unpacked to .*traces/bug$' err || fail "it did not say so: $(cat err)" ;;
	2) [ ! -s err ] || fail "the second time it said: $(cat err)" ;;
	esac
done
"$HINDSIGHT" info ./bug.hst >/dev/null || fail info
touch -d '1 hour' bug.hst
"$REPLAY" -a bug.hst >got 2>err; [ $? = 125 ] && grep -q 'newer than' err || fail "a newer file: $(cat err)"
echo junk >junk.hst
"$REPLAY" -a junk.hst >got 2>err; [ $? = 125 ] && grep -q 'nor a packed trace' err && [ ! -e traces/junk ] || fail "junk: $(cat err)"
head -c 3000 bug.hst >cut.hst
"$REPLAY" -a cut.hst >got 2>err; [ $? = 125 ] && [ "$(wc -l <err)" = 1 ] && [ ! -e traces/cut ] || fail "cut: $(cat err)"
