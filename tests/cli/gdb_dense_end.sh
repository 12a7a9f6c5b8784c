#!/bin/bash
# test: timeout=60
# Back from behind a loop with thousands of stops: a stop between the loop and the present is the first, then the loop's last ones.
. "$LIB"
need gdb gcc
cat >h.c <<'EOF2'
volatile long g, other;
int main(void)
{
	for (long i = 0; i < 3000; i++)
		g = i;
	other = 1;
	g = 77777;
	for (long i = 0; i < 30; i++)
		other += i;
	return 0;	/* END */
}
EOF2
gcc -g -O0 -o h h.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./h || fail 'rec'
for how in 0 1; do
	HINDSIGHT_NODR=$how timeout 50 "$REPLAY" --batch --ex 'break 10' --ex continue --ex 'watch g' --ex reverse-continue --ex reverse-continue \
		--ex reverse-continue --ex continue --ex continue --ex continue --ex continue "$TMP/t" >"$TMP/out" 2>&1
	grep -E '^(Old|New)|^Breakpoint 1,' "$TMP/out" >"$TMP/got"
	diff - "$TMP/got" <<'EOF2' || { cat "$TMP/out"; fail "the last stops, HINDSIGHT_NODR=$how"; }
Breakpoint 1, main () at h.c:10
Old value = 77777
New value = 2999
Old value = 2999
New value = 2998
Old value = 2998
New value = 2997
Old value = 2997
New value = 2998
Old value = 2998
New value = 2999
Old value = 2999
New value = 77777
Breakpoint 1, main () at h.c:10
EOF2
done
