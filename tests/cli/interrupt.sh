#!/bin/bash
# test: timeout=60
# A signal to the whole foreground group reaches the program; rec lives until it ends and passes its status on.
. "$LIB"
cat > p.py <<'P'
import os, signal, sys, time
n = 0
def h(s, f):
    global n
    n += 1
    os.write(1, b"got %d\n" % s)	# a buffered writer refuses to be entered twice
signal.signal(signal.SIGINT, h); signal.signal(signal.SIGTERM, h)
print("ready", flush=True)
while n < 2: time.sleep(0.05)
sys.exit(33)
P
setsid "$REC" -o t /usr/bin/python3 -S p.py > out 2> err & p=$!
wait_for 20 grep -q ready out || { kill -9 -- -$p; fail 'not started'; }
kill -INT -- -$p
wait_for 10 grep -q 'got 2' out || { kill -9 -- -$p; fail 'SIGINT did not arrive'; }
kill -TERM -- -$p
wait $p; rc=$?
[ $rc = 33 ] || fail "rec exited $rc: $(head -1 err)"
exits 33 replay "$REPLAY" -a t
same output out "$TMP/out"
# SIGTERM to rec alone ends the program too, and leaves a trace that replays.
rm -rf t; "$REC" -o t sleep 100 2> err & p=$!
wait_for 10 pgrep -P $p > /dev/null; sleep 0.3
kill -TERM $p; end=$((SECONDS + 15))
while kill -0 $p 2>/dev/null; do [ $SECONDS -lt $end ] || { kill -9 $p; fail 'rec does not end on SIGTERM'; }; sleep 0.1; done
wait $p; rc=$?
[ $rc = 143 ] || [ $rc = 125 ] || fail "rec ended by SIGTERM: exit $rc"
"$REPLAY" -a t > out 2> err; rc=$?
[ $rc = 143 ] || [ $rc = 125 ] || fail "its replay: exit $rc"
