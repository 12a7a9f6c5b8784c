#!/bin/bash
# test: timeout=150
# A signal to rec reaches the program as if it had been sent to the program, and once.
. "$LIB"
need python3
# Each ends the program as natively.
for s in HUP USR1 USR2 ALRM PIPE ABRT SEGV RTMIN+2; do
	rm -rf t; "$REC" -o t sleep 60 2> err & p=$!
	wait_for 20 pgrep -x -P $p sleep > /dev/null || fail 'not started'
	kill -$s $p; wait $p; rc=$?
	[ $rc = $((128 + $(kill -l $s))) ] || fail "SIG$s to rec: exit $rc: $(cat err)"
	"$REPLAY" -a t > out 2> err; [ $? = $rc ] || fail "its replay: $(cat err)"
done
# What a handler sees: who sent it, by which call, and how often.
cat > seen.py <<'P'
import os, signal, sys
wanted = {getattr(signal, "SIG" + s) for s in "HUP TERM INT QUIT USR1 WINCH TSTP".split()}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print("ready", flush=True)
while True:
    i = signal.sigtimedwait(wanted, 60)
    if i is None: sys.exit(1)
    print("sig", i.si_signo, "by", i.si_pid, flush=True)
    if i.si_signo == signal.SIGQUIT: sys.exit(9)
P
cat > handled.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static void on(int sig, siginfo_t *i, void *c)
{
	char line[64];

	(void)c;
	write(1, line, (size_t)snprintf(line, sizeof(line), "sig %d code %d by %d\n", sig, i->si_code, (int)i->si_pid));
	if (sig == SIGQUIT)
		_exit(9);
}
int main(void)
{
	struct sigaction sa = { .sa_sigaction = on, .sa_flags = SA_SIGINFO };

	for (int sig = 1; sig < 65; sig++)
		sigaction(sig, &sa, NULL);
	alarm(100);
	write(1, "ready\n", 6);
	for (;;)
		pause();
}
C
cc -w -o handled handled.c || skip 'no compiler'
arrived() { [ "$(grep -c sig out)" -ge "$1" ]; }
for program in ./handled "/usr/bin/python3 -S seen.py"; do
	rm -rf t out; setsid "$REC" -o t $program > out 2> err & p=$!
	wait_for 20 grep -q ready out || { kill -9 -- -$p; fail 'not started'; }
	n=0
	for s in HUP INT USR1 WINCH TSTP; do
		for to in '' '-'; do
			kill -$s -- $to$p; n=$((n + 1))
			wait_for 10 arrived $n || { kill -9 -- -$p; fail "SIG$s to $to rec did not arrive"; }
			sleep 0.4
		done
	done
	arrived 11 && { kill -9 -- -$p; fail "not one each: $(cat out)"; }
	kill -QUIT -- -$p; wait $p; rc=$?
	[ $rc = 9 ] || fail "exit $rc: $(cat err)"
	[ "$(grep -c "by $$\$" out)" = 11 ] || fail "another sender: $(cat out)"
	[ "$program" != ./handled ] || [ "$(grep -c 'code 0' out)" = 11 ] || fail "not by kill(): $(cat out)"
	exits 9 replay "$REPLAY" -a t
	same replay out "$TMP/out"
done
# SIGTERM: a handler runs once, and the program is given time.
cat > term.sh <<'P'
trap 'echo term' TERM
echo ready
while [ ! -e go ]; do sleep 0.1; done
exit 4
P
for to in '' '-'; do
	rm -rf t go out; setsid "$REC" -o t bash term.sh > out 2> err & p=$!
	wait_for 20 grep -q ready out || fail 'not started'
	kill -TERM -- $to$p; wait_for 10 grep -q term out || fail 'SIGTERM did not arrive'
	sleep 0.5; touch go; wait $p; rc=$?
	[ $rc = 4 ] && [ "$(grep -c term out)" = 1 ] || fail "SIGTERM to $to rec: exit $rc: $(cat out)"
done
# An alarm that was set before, and a hangup of the terminal that rec leads.
rm -rf t; python3 -c 'import os, signal, sys; signal.alarm(2); os.execv(sys.argv[1], sys.argv[1:])' "$REC" -o t sleep 30; rc=$?
[ $rc = 142 ] || fail "alarm, then rec: exit $rc"
cat > hangup.py <<'P'
import os, pty, sys
pid, master = pty.fork()
if not pid: os.execv(sys.argv[1], sys.argv[1:])
text = b""
while b"ready" not in text: text += os.read(master, 100)
os.close(master)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
P
cat > hup.sh <<'P'
trap 'echo got HUP > hup.out; exit 3' HUP
echo ready
for i in $(seq 100); do sleep 0.1; done
P
python3 hangup.py /bin/bash hup.sh; rc=$?; [ $rc = 3 ] || skip "no hangup here: exit $rc"
rm -rf t hup.out; python3 hangup.py "$REC" -o t bash hup.sh; rc=$?
[ $rc = 3 ] && grep -q 'got HUP' hup.out || fail "a hangup: exit $rc"
exits 3 'replay of a hangup' "$REPLAY" -a t
# Stopped and continued by rec's number alone.
set -m		# a group of its own, with a parent outside: stop signals do stop it
rm -rf t; "$REC" -o t bash -c 'for i in $(seq 30); do sleep 0.1; done; exit 5' & p=$!
sleep 1; kill -TSTP $p
wait_for 10 grep -q '^State:.T' /proc/$p/status || { kill -9 $p; fail 'rec does not stop'; }
kill -CONT $p; wait -f $p; rc=$?
[ $rc = 5 ] || fail "stopped and continued: exit $rc"
