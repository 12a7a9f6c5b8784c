#!/bin/bash
# test: timeout=150
# reverse-continue with workers, which look through intervals of time on other processors, finds what it finds without: the last write on a page
# that is written all the time, writes there and back, breakpoints, a signal; nothing is left of a worker, not even when it is killed.
. "$LIB"
need gdb gcc

cat >par.c <<'EOF2'
#include <signal.h>
#include <stdio.h>
static volatile unsigned long acc[8];
static volatile int g, blink, caught;
static unsigned long x = 88172645463325252ul;
static void __attribute__((noinline)) rare(void) { caught += 2; }
static void handler(int sig) { caught += sig > 0; }
static void compute(long n)
{
	for (long i = 0; i < n; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		acc[i & 3] += x;
		if (i == n / 2)
			g += 40;	/* MIDDLE */
	}
}
int main(void)
{
	signal(SIGUSR1, handler);
	compute(30000000);
	rare();
	blink = 1;
	blink = 0;
	compute(60000000);
	raise(SIGUSR1);
	compute(60000000);
	compute(3000000);
	printf("%d %d\n", g, caught);
	return 0;
}
EOF2
gcc -g -O1 -o par par.c
"$REC" -o par.trace ./par >plain || fail "rec: exit $?"
cat >par.gdb <<'EOF2'
set pagination off
handle SIGUSR1 stop print
python
def back(what, n):
    gdb.execute("seek end", to_string=True)
    gdb.execute("delete")
    for w in what:
        gdb.execute(w)
    for i in range(n):
        print(gdb.execute("reverse-continue", to_string=True).strip())
        print("AT", gdb.execute("monitor when", to_string=True).strip(), gdb.execute("info registers rip rsp rbx", to_string=True))
gdb.execute("seek end", to_string=True)
back(["watch g"], 5)
back(["watch blink"], 3)
back(["break rare", "watch -l g if g > 100"], 3)
end
EOF2
for w in 0 2; do
	HINDSIGHT_WORKERS=$w HINDSIGHT_DEBUG=1 timeout 100 "$REPLAY" --batch -x par.gdb par.trace >out.$w 2>log.$w </dev/null ||
		fail "$w workers: exit $?: $(tail -2 out.$w | tr '\n' '|')"
	grep -q ' no worker\|worker failed' log.$w && fail "$(grep worker log.$w | head -1)"
	sed -i 's/, position [^ ]*//' out.$w	# one place has many names
	cmp -s out.0 out.$w || fail "$w workers: $(diff out.0 out.$w | head -3 | tr '\n' '|')"
done
[ "$(grep -c ^AT out.0)" = 11 ] || fail "stops: $(grep -c ^AT out.0)"
grep -q 'MIDDLE' out.0 || fail "no write found"
grep -q 'worker' log.2 || fail 'nobody worked'

# Killed at work (it may have been quicker: again, then): what it would have found is found all the same.
for i in 1 2 3 4 5 6; do
	HINDSIGHT_WORKERS=2 HINDSIGHT_DEBUG=1 command timeout 60 "$REPLAY" --batch -ex 'seek end' -ex 'handle SIGUSR1 nostop noprint' -ex 'watch blink' -ex reverse-continue par.trace >killed 2>log.killed </dev/null &
	replay=$!
	until worker=$(sed -n 's/.*worker \([0-9]*\) begins.*/\1/p' log.killed | tail -1); [ -n "$worker" ]; do
		kill -0 $replay || fail 'no worker to kill'
		sleep 0.01
	done
	kill -9 "$worker"
	wait $replay || fail "a worker killed: exit $?"
	grep -q 'Old value = 0' killed || fail "a worker killed: $(tail -3 killed | tr '\n' '|')"
	[ -z "$(pgrep -f "$PWD/par.trace")" ] || fail 'processes are left'
	! grep -q 'a worker failed' log.killed || exit 0
done
fail 'no worker was killed at work'
