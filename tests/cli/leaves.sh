#!/bin/bash
# test: timeout=150
# rec returns when the program does; what is left behind goes on being recorded, or is waited for (--wait), or ended (--kill).
. "$LIB"
need python3
whole() { wait_for 20 test -e "$1/end" || fail "$2: the trace has no end"; }
# A background job: rec is back at once, with the program's status; the trace is whole later.
start=$SECONDS
exits 7 'a background job' "$REC" -o t1 sh -c 'sleep 4 > /dev/null 2>&1 & exit 7'
[ $((SECONDS - start)) -lt 4 ] || fail 'rec waited for a background job'
"$REPLAY" -a t1 > out 2> err; grep -q 'is still being recorded' err || [ -e t1/end ] || fail "replay of a trace that is being recorded: $(cat err)"
"$HINDSIGHT" info t1 > out || fail 'hindsight info of a trace that is being recorded'
# Nobody waits for a stream that only the recorder would hold.
start=$SECONDS
[ "$("$REC" -o t2 sh -c 'sleep 5 > /dev/null 2>&1 & echo hi' 2>&1 | cat)" = hi ] || fail 'output into a pipe'
[ $((SECONDS - start)) -lt 5 ] || fail 'the recorder holds a stream open'
# --wait and --kill.
start=$SECONDS
exits 3 --wait "$REC" --wait -o t3 sh -c 'sleep 1.5 > /dev/null 2>&1 & exit 3'
[ -e t3/end ] && [ $((SECONDS - start)) -ge 1 ] || fail '--wait did not wait'
exits 3 'replay, --wait' "$REPLAY" -a t3
start=$SECONDS
exits 4 --kill "$REC" --kill -o t4 sh -c '(trap "" TERM; sleep 60; sleep 60) > /dev/null 2>&1 & sleep 60 > /dev/null 2>&1 & exit 4'
[ -e t4/end ] && [ $((SECONDS - start)) -lt 30 ] || fail '--kill did not kill'
exits 4 'replay, --kill' "$REPLAY" -a t4
fails 'both' "$REC" --wait --kill -o t5 true
whole t1 'a background job'; exits 7 'replay, a background job' "$REPLAY" -a t1
whole t2 'a background job into a pipe'; exits 0 'replay' "$REPLAY" -a t2
# A daemon: two forks, setsid; ended through its own doing, then by SIGTERM to the recorder.
cat > daemon.py <<'P'
import os, socket, sys, time
path = sys.argv[1]
s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen(5)
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
null = os.open("/dev/null", os.O_RDWR)
for fd in 0, 1, 2: os.dup2(null, fd)
n = 0
while True:
    c, _ = s.accept()
    word = c.recv(100)
    n += 1
    c.send(b"%d %d %s" % (os.getpid(), n, word))
    c.close()
    if word == b"end": sys.exit(5)
P
ask() { python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(sys.argv[2].encode()); print(s.recv(100).decode())' "$@"; }
exits 0 'a daemon' "$REC" -o t6 /usr/bin/python3 -S daemon.py ./sock6
[ "$(ask ./sock6 a | cut -d ' ' -f 2-)" = '1 a' ] || fail 'the daemon does not answer'
[ "$(ask ./sock6 b | cut -d ' ' -f 2-)" = '2 b' ] || fail 'the daemon does not answer'
ask ./sock6 end > /dev/null
whole t6 'a daemon'; exits 0 'replay, a daemon' "$REPLAY" -a t6
"$HINDSIGHT" dump t6 | grep -q 'recvfrom.*"end"' || fail 'what the daemon did is not in the trace'
exits 0 'a daemon' "$REC" -o t7 /usr/bin/python3 -S daemon.py ./sock7
ask ./sock7 a > out
recorder=$(grep '^TracerPid' "/proc/$(cut -d ' ' -f 1 out)/status" | tr -dc 0-9)
kill -TERM "$recorder"
whole t7 'a daemon ended by SIGTERM'; exits 0 'replay, a daemon ended by SIGTERM' "$REPLAY" -a t7
# SIGINT to rec --wait when only the rest is there.
setsid "$REC" --wait -o t8 sh -c 'sleep 60 > /dev/null 2>&1 & exit 6' & p=$!
sleep 1.5; kill -INT $p; kill -TERM $p; wait $p; rc=$?
[ $rc = 6 ] || fail "SIGTERM to rec --wait: exit $rc"
[ -e t8/end ] || fail 'SIGTERM to rec --wait: the trace has no end'
# Signals to one's own process group do not reach the recorder.
cat > group.py <<'P'
import os, signal, sys
sig = int(sys.argv[1])
if sys.argv[2] == "caught":
    signal.signal(sig, lambda s, f: print("got it", flush=True))
elif sig != 9:
    signal.signal(sig, signal.SIG_DFL)
os.kill(0, sig)
if sys.argv[2] == "caught": sys.exit(9)
while True: pass
P
for s in ABRT TRAP XCPU PROF IO SEGV HUP INT QUIT TERM USR1 ALRM PIPE BUS SYS VTALRM XFSZ; do
	n=$(kill -l $s)
	rm -rf t9; setsid "$REC" -o t9 /usr/bin/python3 -S group.py $n caught > out 2> err < /dev/null; rc=$?
	[ $rc = 9 ] && grep -q 'got it' out || fail "kill(0, SIG$s), handled: exit $rc: $(cat err)"
	[ -e t9/end ] || fail "kill(0, SIG$s), handled: the trace has no end"
	exits 9 "replay, SIG$s handled" "$REPLAY" -a t9
	rm -rf t9; setsid "$REC" -o t9 /usr/bin/python3 -S group.py $n x > out 2> err < /dev/null; rc=$?
	[ $rc = $((128 + n)) ] || fail "kill(0, SIG$s): exit $rc: $(cat err)"
	[ -e t9/end ] || fail "kill(0, SIG$s): the trace has no end"
	exits $((128 + n)) "replay, SIG$s" "$REPLAY" -a t9
done
rm -rf t9; setsid "$REC" -o t9 /usr/bin/python3 -S group.py 9 x > out 2> err < /dev/null; rc=$?
[ $rc = 137 ] || fail "kill(0, SIGKILL): exit $rc"
whole t9 'kill(0, SIGKILL)'; exits 137 'replay, SIGKILL' "$REPLAY" -a t9
