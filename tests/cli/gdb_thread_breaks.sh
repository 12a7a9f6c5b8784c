#!/bin/bash
# test: timeout=40
# Breakpoints for one thread of many: the same stops both ways, without a stop in each other thread on the way (that took 15 s); conditions,
# another breakpoint at the same place, a step of another thread through it.  Back to a thread's first instruction, where it stays.
# With scheduler-locking only the selected thread stops.  A watched thread-local variable, going back to before there is any.
. "$LIB"
need gdb gcc
cat >t.c <<'END'
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turn, total;
static __thread int mine;
enum { N = 40, TURNS = 5 };
static void bump(int k, int i)
{
	total += k + i;
}
static void *worker(void *arg)
{
	int k = (int)(long)arg;

	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&m);
		while (turn != i * N + k)
			pthread_cond_wait(&c, &m);
		bump(k, i);
		turn++;
		pthread_cond_broadcast(&c);
		pthread_mutex_unlock(&m);
	}
	return arg;
}
int main(void)
{
	pthread_t t[N];

	mine = 7;
	for (long i = 0; i < N; i++)
		pthread_create(&t[i], 0, worker, (void *)i);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], 0);
	return total != 4300;
}
END
gcc -g -O0 -pthread -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./t || fail 'rec'
cat >s.gdb <<'END'
break bump if k == 17
continue
python
import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
tid = gdb.selected_thread().num
def say():
    print('at', gdb.parse_and_eval('k'), gdb.parse_and_eval('i'))
def go(command, n, breaks=None):
    start = spent()
    for _ in range(n):
        gdb.execute(command, to_string=True)
        say()
    return spent() - start
gdb.execute('delete')
gdb.execute('break bump thread %d' % tid)
there = go('continue', 4)
back = go('reverse-continue', 4)
print('slow' if back > 8 else 'quick', back)
print('condition')
gdb.execute('delete')
gdb.execute('break bump thread %d if i > 2' % tid)
go('continue', 2)
go('reverse-continue', 1)
print('two')
gdb.execute('break bump if k == 16')
go('reverse-continue', 3)
print('step')
gdb.execute('delete 4')
gdb.execute('continue', to_string=True)
say()
for t in gdb.selected_inferior().threads():
    if t.name and t.num == tid + 2:
        t.switch()
gdb.execute('tbreak bump', to_string=True)
gdb.execute('reverse-continue', to_string=True)
say()
gdb.execute('delete')
gdb.execute('break bump if $fs_base == %d' % int(gdb.parse_and_eval('$fs_base')))
go('reverse-continue', 1)
print('locked')
gdb.execute('delete')
gdb.execute('set scheduler-locking on')
gdb.execute('break bump')
go('continue', 2)
gdb.execute('finish', to_string=True)
for _ in range(3):
    gdb.execute('reverse-next', to_string=True)
go('reverse-continue', 1)
gdb.execute('set scheduler-locking replay')
go('reverse-continue', 1)
print('born')
gdb.execute('delete')
gdb.execute('tbreak worker', to_string=True)
gdb.execute('reverse-continue', to_string=True)
who, pc = gdb.selected_thread().num, 0
while pc != gdb.selected_frame().pc():
    pc = gdb.selected_frame().pc()
    gdb.execute('reverse-stepi', to_string=True)
print('born', gdb.selected_thread().num == who, 'clone' in gdb.selected_frame().name())
gdb.execute('stepi', to_string=True)
print('born', gdb.selected_thread().num == who, gdb.selected_frame().pc() != pc)
end
END
cat >local.gdb <<'END'
break main
continue
watch mine
continue
print mine
reverse-continue
reverse-continue
reverse-continue
END
timeout 20 "$REPLAY" --batch -x local.gdb "$TMP/t" >local.out 2>&1 || fail "exit $?"
[ "$(grep -cE '^New value = [07]$|^.1 = 7$|^Breakpoint 1, main|^No more rev' local.out)" = 6 ] || fail "a thread-local variable: $(tail -n 20 local.out)"
timeout 35 "$REPLAY" --batch -x s.gdb "$TMP/t" >out 2>&1 || fail "exit $?"
want='at 17 1,at 17 2,at 17 3,at 17 4,at 17 3,at 17 2,at 17 1,at 17 0,quick,condition,at 17 3,at 17 4,at 17 3,'
want+='two,at 16 3,at 16 2,at 16 1,step,at 17 3,at 16 3,at 16 2,locked,at 16 3,at 16 4,at 16 3,at 15 3,born,born True True,born True True,'
got=$(grep -E '^(at|quick|slow|condition|two|step|locked|born)' out | sed 's/^\(slow\|quick\).*/\1/' | tr '\n' ',')
[ "$got" = "$want" ] || fail "$got, not $want"
exit 0
