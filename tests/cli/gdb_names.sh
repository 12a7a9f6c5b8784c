#!/bin/bash
# test: timeout=120
# The names that a long computation gets while the replayer runs through it lead to where they were made (HINDSIGHT_CHECK_NAMES: each is gone to, and
# all registers compared): while a write log looks at events behind it, and with interrupts anywhere.
. "$LIB"
need gdb gcc

cat >names.c <<'EOF2'
#include <stdio.h>
#include <unistd.h>
static long heap[512];
static unsigned long sum = 1;
static void __attribute__((noinline)) compute(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		sum = sum * 6364136223846793005ul + i;
		heap[sum >> 55] += (long)i;
	}
}
int main(void)
{
	for (int i = 0; i < 6; i++) {
		compute(30000000);
		if (write(1, ".", 1) != 1)
			return 1;
		compute(100000000);
	}
	printf("%lu\n", sum);
	return 0;
}
EOF2
gcc -g -O1 -o names names.c
"$REC" -o names.trace ./names >plain || fail "rec: exit $?"
sum=$(sed 's/^\.*//' plain)
# check NAME ENVIRONMENT...
check() {
	local name=$1; shift
	env HINDSIGHT_CHECK_NAMES=1 "$@" timeout 100 "$REPLAY" --batch -ex 'seek end' -ex 'break compute' -ex reverse-continue -ex reverse-continue \
		-ex 'delete' -ex 'seek end' -ex 'frame function main' -ex 'printf "sum %lu\n", sum' names.trace >"$name.out" 2>&1 </dev/null ||
		fail "$name: exit $?: $(grep diverged "$name.out" | head -1) $(tail -2 "$name.out" | tr '\n' '|')"
	grep -q "sum $sum" "$name.out" || fail "$name: no sum $sum: $(tail -3 "$name.out" | tr '\n' '|')"
}
check usual
check often HINDSIGHT_TICK_US=3000
check alone HINDSIGHT_WORKERS=0
