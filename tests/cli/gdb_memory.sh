#!/bin/bash
# test: timeout=120
# A program that writes to all of its memory again and again: each checkpoint makes it copy all of that, so they must be few.
. "$LIB"
need gdb gcc
cat >m.c <<'E2'
#include <stdlib.h>
volatile long g;
static unsigned long *p;
static const size_t n = (20 << 20) / 8;
__attribute__((noinline)) static void pass(long r)
{
	for (size_t i = 0; i < n; i += 8)
		p[i] = p[i] * 3 + i + r;
}
int main(void)
{
	p = malloc(n * 8);
	for (long r = 0; r < 800; r++) {
		pass(r);
		if (r == 400)
			g = r;
	}
	return 0;
}
E2
gcc -g -O1 -o m m.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./m || fail 'rec'
for memory in 100000 0; do	# enough; none: then there are still some
	HINDSIGHT_MEMORY=$memory timeout 50 "$REPLAY" --batch --ex continue --ex 'watch g' --ex reverse-continue --ex reverse-next --ex reverse-next \
		"$TMP/t" >"$TMP/out" 2>&1 || { cat "$TMP/out"; fail "HINDSIGHT_MEMORY=$memory: exit $?"; }
	grep -E '^(Old|New) value|^1[0-9]' "$TMP/out" >"$TMP/got"
	diff - "$TMP/got" <<'E2' || { cat "$TMP/out"; fail "HINDSIGHT_MEMORY=$memory"; }
Old value = 400
New value = 0
16				g = r;
15			if (r == 400)
14			pass(r);
E2
done
