#!/bin/bash
# test: timeout=120
# Two lots of buffered calls with no event between: nobody is shown the program inside our hook.
. "$LIB"
need gcc python3
cat >t.c <<'XX'
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static volatile long sum;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + (double)t.tv_nsec / 1e9; }
static void *work(void *p)
{
	double end = now() + *(double *)p;

	while (now() < end) {
		for (int k = 0; k < 3000; k++)
			sum += k;
		sum += getppid();
	}
	return NULL;
}
int main(void)
{
	pthread_t t[3];
	double seconds = 0.5;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, &seconds);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
XX
gcc -g -O1 -pthread -o t t.c || skip 'no compiler'
for i in $(seq 40); do	# chance; one in ten or so
	rm -rf "$TMP/trace"
	"$REC" -o "$TMP/trace" ./t || fail 'rec failed'
	rows=$("$HINDSIGHT" dump "$TMP/trace" | awk '{ split($1, a, "."); if (a[1] == last) next; last = a[1]
		if ($4 == "calls" && kind == "calls") print last; kind = $4 }' | head -5)
	[ -n "$rows" ] && break
done
[ -n "$rows" ] || skip 'no two in a row'
set --
for n in $rows; do
	set -- "$@" --ex "seek $n" --ex stepi --ex 'printf "AT %#lx\n", $pc' --ex reverse-stepi --ex 'printf "AT %#lx\n", $pc'
done
"$REPLAY" --batch "$@" "$TMP/trace" >"$TMP/out" 2>&1 || fail "$(tail -2 "$TMP/out")"
[ "$(grep -c '^AT 0x' "$TMP/out")" -ge 2 ] || fail "nothing seen: $(tail -3 "$TMP/out")"
! grep '^AT 0x700[0-9a-f]*$' "$TMP/out" || fail 'inside the hook'
