#!/bin/bash
# test: timeout=200
# Breakpoints in a hot loop together with a watchpoint that is stored to at every turn and seldom changed, where threads are switched:
# back is a matter of the last turns, not of all.
. "$LIB"
need gdb gcc
cat >t.c <<'XX'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
enum { THREADS = 2, TURNS = 40000000 };
static uint64_t result[THREADS];
static volatile uint64_t slot[64];
static uint64_t __attribute__((noinline)) turn(uint64_t h, uint64_t i, uint64_t k)
{
	slot[k] = i / 1000;
	h ^= i;				/* FIRST */
	h *= 1099511628211ull;
	h ^= h >> 17;			/* SECOND */
	return h;
}
static void *work(void *arg)
{
	unsigned which = (unsigned)(uintptr_t)arg;
	uint64_t h = which;

	for (uint64_t i = 0; i < TURNS; i++)
		h = turn(h, i, which * 32);
	result[which] = h;
	return NULL;
}
int main(void)
{
	pthread_t t[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%llx\n", (unsigned long long)(result[0] ^ result[1]));
	return 0;
}
XX
cat >go.py <<'XX'
def here():
    return tuple(int(gdb.parse_and_eval(what)) for what in ('h', 'i', 'k', '$pc', '$rsp', 'slot[0]', 'slot[32]')) + (gdb.selected_thread().num,)
ex('break turn if i == 25000500')
ex('continue')
ex('delete')
lines = open('t.c').read().split('\n')
for what in ('FIRST', 'SECOND'):
    ex('break %d' % [n for n, l in enumerate(lines, 1) if '/* ' + what in l][0])
ex('watch *(unsigned long *) &slot[%d]' % int(gdb.parse_and_eval('k')))
ex('continue')
ex('continue')
stops = [here()]
for n in range(12):
    ex('reverse-continue')
    stops.append(here())
print('back', stops[0][1] - stops[-1][1])
for n in range(11, -1, -1):
    ex('continue')
    if here() != stops[n]:
        print('WRONG', n, here(), stops[n])
print('slow: %.1f s' % slowest if slowest > 20 else 'fast')
XX
gcc -g -O1 -pthread -o t t.c || skip 'no compiler for x86-64'
"$REC" -o "$TMP/t" ./t >/dev/null || fail 'rec'
printf 'back 6\nfast\n' >expected
# With interrupts that come much more often, too: the first breakpoint is where threads are switched, and counted places are beside it.
for tick in '' 150; do
	HINDSIGHT_TICK_US=$tick timeout 90 "$REPLAY" --batch -x "$ROOT/tests/timed.py" -x go.py "$TMP/t" >gdb.out 2>debug.out </dev/null || fail "replay: exit $?: $(tail -3 gdb.out)"
	grep -E '^(back|WRONG|slow|fast)' gdb.out >said
	cmp said expected || fail "$(diff said expected | head -8)"
done
