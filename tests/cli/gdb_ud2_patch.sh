#!/bin/bash
# test: timeout=60
# Instructions that are marked because the machine cannot trap them (HINDSIGHT_MARK=1 does so everywhere): stepped onto and over
# both ways, with a breakpoint on them; and a call of address 0 is not taken for one.
. "$LIB"
need gdb gcc
cat >m.c <<'END'
#include <setjmp.h>
#include <signal.h>
static sigjmp_buf back;
unsigned lo, hi;
int got;
static void on_segv(int sig) { got = sig; siglongjmp(back, 1); }
int main(void)
{
	void (*volatile nowhere)(void) = 0;
	__asm__ volatile("mark_it: rdtsc" : "=a"(lo), "=d"(hi));
	signal(SIGSEGV, on_segv);
	if (!sigsetjmp(back, 1))
		nowhere();
	return got != SIGSEGV;
}
END
gcc -g -O0 -o m m.c || skip 'no compiler'
HINDSIGHT_MARK=1 "$REC" -o "$TMP/m" ./m || fail 'rec'
"$REPLAY" -a "$TMP/m" || fail 'replay -a'
cat >m.gdb <<'END'
stepi 40
break mark_it
continue
x/i $pc
set $before = $rax
stepi
set $after = $rax
reverse-stepi
x/i $pc
print $rax == $before
reverse-stepi
stepi
stepi
print $rax == $after
continue
print $pc
reverse-continue
print $rax == $before
END
timeout 50 "$REPLAY" --batch -x m.gdb "$TMP/m" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -3 "$TMP/out")"
[ "$(grep -c '<main+.*>:.*rdtsc' "$TMP/out")" = 2 ] || fail 'the instruction is not shown as it was'
for n in 1 2 4; do grep -q "^\$$n = 1" "$TMP/out" || fail "$n: $(tail -8 "$TMP/out" | tr '\n' '|')"; done
grep -q '^\$3 = (void (\*)()) 0x0' "$TMP/out" || fail "not at 0: $(grep '^\$3' "$TMP/out")"
