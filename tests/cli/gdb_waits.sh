#!/bin/bash
# test: timeout=60
# A store in the code of a conditional breakpoint waits for a jump (stops/dual_stub.c) while that code becomes another breakpoint's: the jump came into
# the middle of an instruction.
. "$LIB"
need gcc gdb
cat >t.c <<'XX'
#include <stdio.h>
__attribute__((aligned(4096))) char page[4096];
__attribute__((noinline)) void stop_here(long sum) { __asm__ volatile("nop; nop; nop; nop; nop" : : "r"(sum)); }
int main(void)
{
	long sum = 0;

	for (long i = 0; i < 25; i++)
		__asm__ volatile(".globl a_place\na_place: mov %0, %%rdx; mov %%rdx, (%%rdi); nop; nop" : : "c"(i), "D"(page + 512) : "rdx", "memory");
	stop_here(sum);
	for (long i = 0; i < 100; i++)
		__asm__ volatile("mov %1, 0x200(%%rdi); nop; mov %1, 0x208(%%rdi); nop; mov %1, 0x210(%%rdi); nop; mov %1, 0x218(%%rdi); nop\n"
				 "mov %1, 0x220(%%rdi); nop; mov %1, 0x228(%%rdi); nop; mov %1, 0x230(%%rdi); nop; mov %1, 0x238(%%rdi); nop\n"
				 ".globl b_place\nb_place: lea 0x1234567(%1), %%rdx; add %%rdx, %0"
				 : "+r"(sum) : "c"(i), "D"(page) : "rdx", "memory");
	stop_here(sum);
	printf("%ld\n", sum);
	return 0;
}
XX
gcc -g -O1 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
HINDSIGHT_NODR=1 "$REPLAY" --batch --ex 'break main' --ex 'continue' --ex 'watch *(long *)&page[64]' --ex 'break stop_here' --ex 'break *a_place if $rcx == 77777' --ex 'continue' \
	--ex 'delete 4' --ex 'break *b_place if $rcx == 77777' --ex 'continue' --ex 'print $rdi' --ex 'continue' "$TMP/trace" >"$TMP/out" 2>&1 || fail "$(tail -3 "$TMP/out")"
grep -q 'Breakpoint 3, stop_here' "$TMP/out" || fail "not there: $(tail -5 "$TMP/out")"
grep -q '^\$1 = 1908879250$' "$TMP/out" || fail "wrong: $(grep '^\$1' "$TMP/out")"
grep -q 'No more reverse-execution history' "$TMP/out" || fail "not on to the end: $(tail -5 "$TMP/out")"
