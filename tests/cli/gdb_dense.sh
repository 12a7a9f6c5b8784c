#!/bin/bash
# test: timeout=200
# A watched word on a page that the program writes to all the time, in every way: the same stops as without the traffic; nothing else changes.
. "$LIB"
need gdb gcc
cat >t.c <<'XX'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <emmintrin.h>
static struct page {
	char bytes[256];
	long l[16];
	int i[16];
	short s[16];
	float f[16];
	double d[16];
	__m128i v[4];
	long double ld[2];
	long before;
	volatile int watched;
	long after;
} p __attribute__((aligned(4096)));
static char *volatile near_end = (char *)&p + 4070;
static unsigned long sum;
static void mix(const void *what, size_t len) { for (size_t i = 0; i < len; i++) sum = sum * 31 + ((const unsigned char *)what)[i]; }
#define FLAGS(insn, ...) ({ unsigned long f_; __asm__ volatile(insn "\n\tpushfq\n\tpop %0" : "=&r"(f_) : __VA_ARGS__ : "memory", "cc"); f_ & 0x8d5; })
static void __attribute__((noinline)) stores(long i)
{
	long k = i & 15, x = i * 0x9e3779b97f4a7c15l;
	unsigned char carry;

	p.bytes[i & 255] += (char)x;
	p.l[k] ^= x;
	p.i[k] -= (int)x;
	p.s[k] = (short)(p.s[k] + 3);
	p.f[k] = (float)i / 3;
	p.d[k] += (double)i;
	_mm_store_si128(&p.v[k & 3], _mm_set1_epi32((int)x));
	_mm_storeu_si128((__m128i *)(p.bytes + (i & 63) + 3), _mm_set1_epi8((char)i));
	p.ld[k & 1] = (long double)i / 7;
	p.before += p.after++;
	__asm__ volatile("stc; adcq %1, (%0)" :: "r"(&p.l[k]), "r"(x) : "memory", "cc");
	__asm__ volatile("cmpq %2, %1; setb (%0)" :: "r"(p.bytes + 9), "r"(x), "r"(i) : "memory", "cc");
	__asm__ volatile("lock xaddl %%eax, (%%rbx, %%rsi, 4)" :: "a"((int)i), "b"(p.i), "S"(k) : "memory", "cc");
	__asm__ volatile("movb %%ah, (%%rbx)" :: "a"((int)x), "b"(p.bytes + 11) : "memory");
	__asm__ volatile("rolw %%cl, (%%rdx)" :: "c"((int)i & 7), "d"(&p.s[k]) : "memory", "cc");
	__asm__ volatile("addq $-5, %1; setc %0" : "=q"(carry), "+m"(p.l[3]) :: "cc");
	__asm__ volatile("movnti %1, %0" : "=m"(p.l[5]) : "r"(x));
	__asm__ volatile("cmpxchgl %2, %0" : "+m"(p.i[2]) : "a"(p.i[2]), "r"((int)x) : "memory", "cc");
	sum += carry + FLAGS("negl (%1)", "r"(&p.i[k])) + FLAGS("incb (%1)", "r"(p.bytes + 13)) + FLAGS("xchgq %2, (%1)", "r"(&p.l[7]), "r"(x));
	if (i % 50 == 9)
		memset(p.bytes + 100, (int)i, 50);
	memcpy(near_end, &x, 8);
	if (i % 50 == 7)
		__asm__ volatile("rep stosb" : "+D"((char *){ p.bytes + 60 }), "+c"((long){ 30 }) : "a"((int)i) : "memory");
	if (i % 300 == 100)
		p.watched++;
	if (i % 300 == 200)
		memcpy((char *)&p.watched - 2, (char[]){ 1, 2, (char)i, 4, 5, 6 }, 6);
}
static long deep(long n);
static long (*volatile chosen)(long) = deep;
static struct { long before; long (*f)(long); } table[2] = { { 1, deep }, { 2, deep } };
#define CALL(how, ...) ({ long r_, n_ = n - 1; __asm__ volatile("sub $128, %%rsp; sub $8, %%rsp; " how "; add $8, %%rsp; add $128, %%rsp" \
	: "=a"(r_), "+D"(n_) : __VA_ARGS__ : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc"); r_; })
static long __attribute__((noinline)) deep(long n)
{
	volatile long x = n;
	long got;

	if (!n)
		return 1;
	switch (n % 6) {
	case 0: return deep(n - 1) + x;
	case 1: return chosen(n - 1) + x;
	case 2: return table[n & 1].f(n - 1) + x;
	case 3: return CALL("call *%2", "r"(deep)) + x;
	case 4: return CALL("push %2; call *(%%rsp); lea 8(%%rsp), %%rsp", "r"(deep)) + x;		/* one more word on the stack: no matter to deep() */
	default:
		__asm__ volatile("sub $128, %%rsp; push 8(%1); push (%%rsp); pop %0; pop %0; add $128, %%rsp" : "=&r"(got) : "r"(&table[1]) : "memory", "cc");
		return deep(n - 1) + x + (got == (long)deep);
	}
}
static char state[512] __attribute__((aligned(4096)));	/* its fault names the last byte */
static void __attribute__((noinline)) at_end(void) { __asm__ volatile(""); }
int main(void)
{
	volatile int local = 1;

	for (long i = 0; i < 900; i++)
		stores(i);
	mix(&p, sizeof(p));
	for (int i = 0; i < 60; i++) {
		sum += (unsigned long)deep(30);
		if (i % 20 == 10)
			local += i;
	}
	printf("%lx %d %d\n", sum, p.watched, local);
	at_end();
	__asm__ volatile("fxsave %0" : "=m"(state));
	at_end();
	return 0;
}
XX
cat >go.py <<'XX'
import gdb
def go(cmd, what):
    out = gdb.execute(cmd, to_string=True)
    if 'history' in out:
        return None
    return int(gdb.parse_and_eval(what)), int(gdb.parse_and_eval('$pc')), int(gdb.parse_and_eval('$rsp')), int(gdb.parse_and_eval('$eflags'))
def run(what, n, cmd='continue'):
    return [go(cmd, what) for i in range(n)]
gdb.execute('break main'); gdb.execute('continue')
gdb.execute('delete')
gdb.execute('watch p.watched')
there = run('p.watched', 8)
back = run('p.watched', 8, 'reverse-continue')
again = run('p.watched', 8)
print('@ watched', [s and s[0] for s in there], there == again, [s and s[0] for s in back])
gdb.execute('delete')
gdb.execute('watch -l p.l[15]')
gdb.execute('continue 3')
print('@ other', gdb.execute('print p.l[15] != 0', to_string=True).strip())
gdb.execute('delete'); gdb.execute('continue'); gdb.execute('reverse-continue'); gdb.execute('break main'); gdb.execute('continue'); gdb.execute('next')
gdb.execute('watch local')
print('@ local', [s and s[0] for s in run('local', 3)])
gdb.execute('break at_end'); gdb.execute('continue')
print('@ sum', '%x' % int(gdb.parse_and_eval('sum')))
XX
gcc -g -O0 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >"$TMP/said" || fail 'rec failed'
for nodr in 0 1; do
	HINDSIGHT_NODR=$nodr timeout 100 "$REPLAY" --batch -x go.py "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
	grep '^@' "$TMP/out" >"$TMP/got$nodr"
	grep -qx "@ sum $(cut -d ' ' -f 1 "$TMP/said")" "$TMP/got$nodr" || fail "NODR=$nodr: it computed something else than $(cat "$TMP/said"): $(tail -1 "$TMP/got$nodr")"
	grep -qE '^@ watched \[1, 1224, 100992200, 100992201, 100992244, 100992245(, 100992032)+\] True \[100992245, 100992244, 100992201, 100992200, 1224, 1(, 0)+\]' "$TMP/got$nodr" &&
		grep -q '^@ other .* = 1$' "$TMP/got$nodr" && grep -qE '^@ local \[11, 41, 91' "$TMP/got$nodr" || fail "NODR=$nodr: $(cat "$TMP/got$nodr")"
	HINDSIGHT_NODR=$nodr timeout 20 "$REPLAY" --batch -ex 'break main' -ex c -ex 'watch *(unsigned *)(state + 24)' -ex c "$TMP/trace" >"$TMP/out" 2>&1 </dev/null
	grep -q '^New value = [1-9]' "$TMP/out" || fail "NODR=$nodr: fxsave's store was not seen: $(tail -3 "$TMP/out" | tr '\n' '|')"
done
