#!/bin/bash
# test: timeout=60
# An instruction that touches a watched page, and then a page of the stack that has to grow: the second fault was taken for a signal of our own.
. "$LIB"
need gcc gdb
cat >t.c <<'XX'
#include <stdio.h>
__attribute__((aligned(4096))) volatile long g[1024] = { 5 };
int main(void)
{
	long ret;

	__asm__ volatile("mov %%rsp, %%rbx; sub $1000000, %%rsp; and $-4096, %%rsp; pushq g(%%rip); pop %0; mov %%rbx, %%rsp" : "=r"(ret) : : "rbx", "memory");
	printf("%ld\n", ret);
	return 0;
}
XX
gcc -g -O1 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
HINDSIGHT_NODR=1 "$REPLAY" --batch --ex 'break main' --ex 'continue' --ex 'rwatch g[0]' --ex 'continue' --ex 'x/i $pc' --ex 'print/d *(long *)$rsp' --ex 'continue' "$TMP/trace" >"$TMP/out" 2>&1 ||
	fail "$(tail -3 "$TMP/out")"
grep -q '^Value = 5' "$TMP/out" || fail "no read: $(tail -5 "$TMP/out")"
grep -q '^\$1 = 5' "$TMP/out" || fail "not pushed: $(tail -5 "$TMP/out")"
grep -q 'No more reverse-execution history' "$TMP/out" || fail "not on to the end: $(tail -5 "$TMP/out")"
