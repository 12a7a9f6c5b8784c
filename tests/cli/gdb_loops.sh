#!/bin/bash
# test: timeout=120
# Breakpoints in the very loops in which threads are switched, where landmark/'s jump has no room beside them: each move takes
# about as long as without; back and forward are the same stops.
. "$LIB"
need gdb gcc
cat >t.c <<'XX'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
enum { THREADS = 4, BYTES = 4096, TURNS = 9000 };
static unsigned char text[BYTES];
static uint64_t result[THREADS];
static uint64_t __attribute__((noinline)) hash(uint64_t h, const unsigned char *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		h ^= p[i];
		h *= 1099511628211ull;	/* LOOP */
	}
	return h;
}
static void *work(void *arg)
{
	unsigned which = (unsigned)(uintptr_t)arg;
	uint64_t h = which;

	for (int i = 0; i < TURNS; i++)
		h = hash(h, text, BYTES);
	result[which] = h;
	return NULL;
}
int main(void)
{
	pthread_t t[THREADS];
	uint64_t all = 0;

	for (unsigned i = 0; i < BYTES; i++)
		text[i] = (unsigned char)(i * 7);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < THREADS; i++)
		all ^= result[i];
	printf("%llx\n", (unsigned long long)all);
	return 0;
}
XX
cat >go.py <<'XX'
def here():
    return tuple(int(gdb.parse_and_eval(what)) for what in ('h', '$pc', '$rsp', '$rax', '$rdx')) + (gdb.selected_thread().num,)
switches = [int(n) for n in os.environ['SWITCHES'].split()]
same = []
ex('seek end')
for n in [switches[-1], switches[-2], switches[len(switches) // 2]]:	# (behind the last one the main thread may be next, which computed long ago)
    ex('delete')
    ex('seek %d' % n)
    ex('reverse-stepi')
    ex('break t.c:' + os.environ['LINE'])
    back = []
    for i in range(3):
        ex('reverse-continue')
        back.append(here())
    there = []
    for i in range(2):
        ex('continue')
        there.append(here())
    same.append(there == back[1::-1] and len(set(back)) == 3)
print('@', same, 'slowest %.1f s' % slowest, 'SLOW' if slowest > 15 else 'fine')
XX
for o in 0 2; do
	gcc -g -O$o -pthread -o t t.c || skip 'no compiler'
	"$REC" -o "$TMP/trace$o" ./t >/dev/null || fail 'rec failed'
	SWITCHES=$("$HINDSIGHT" dump "$TMP/trace$o" | awk '$4 == "switch" && /at=state/ { print $1 }' | tr '\n' ' ') LINE=$(grep -n LOOP t.c | cut -d: -f1) \
		timeout 60 "$REPLAY" --batch -x "$ROOT/tests/timed.py" -x go.py "$TMP/trace$o" >"$TMP/out" 2>&1 </dev/null || fail "-O$o: exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
	grep -q '^@ \[True, True, True\] .*fine' "$TMP/out" || fail "-O$o: $(tail -3 "$TMP/out" | tr '\n' '|')"
done
