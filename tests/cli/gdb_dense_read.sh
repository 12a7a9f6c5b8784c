#!/bin/bash
# test: timeout=200
# Read and access watchpoints on pages that the program reads all the time, in every way: each access is a stop, no other is, and nothing else changes.
. "$LIB"
need gdb gcc
cat >t.c <<'XX'
#include <emmintrin.h>
#include <stdio.h>
#include <string.h>
static void step_a(long i), step_b(long i);
static struct page {
	unsigned char bytes[64];
	double d[16]; float f[16]; long double ld[2];
	long l[16]; int i[16]; short s[16];
	__m128i v[4];
	void (*call[2])(long);
	void *jump[2];
	long pad;
	long watched;		/* read by each kind of load, now and then */
	long quiet;
	double real;
} p __attribute__((aligned(4096))) = { .call = { step_a, step_b }, .jump = { step_a, step_b } };
static unsigned long sum;
static long turn;
static void step_a(long i) { sum += (unsigned long)i; }
static void step_b(long i) { sum ^= (unsigned long)i << 3; }
static long pick(long i) { return i & 15; }
static void __attribute__((noinline)) loads(struct page *q, long i)
{
	long k = pick(i), x = i * 0x9e3779b97f4a7c15l, y = i;
	unsigned long fl;
	double d = (double)i;

	p.bytes[i & 63] = (unsigned char)x;
	p.l[k] ^= x;
	p.i[k] = (int)(x >> 7);
	p.s[k] = (short)x;
	p.f[k] = (float)i / 3;
	p.d[k] = (double)i;
	p.ld[k & 1] = (long double)i / 7;
	sum += q->bytes[(i + 5) & 63] + (unsigned long)(signed char)q->bytes[i & 31] + (unsigned long)q->s[k] + (unsigned long)(long)q->i[k];
	sum ^= (unsigned long)q->l[(k + 3) & 15] * 3 + (unsigned long)(q->f[k] + 1) + (unsigned long)(q->d[(k + 1) & 15] * 3) + (unsigned long)(q->ld[0] * 2);
	sum += (unsigned long)_mm_cvtsi128_si64(_mm_add_epi64(_mm_loadu_si128((__m128i *)(q->bytes + (i & 15))), q->v[k & 3]));
	__asm__ volatile("cmpq (%1), %2; pushfq; pop %0" : "=&r"(fl) : "r"(&q->l[k]), "r"(x) : "memory", "cc");
	sum = sum * 31 + (fl & 0x8d5);
	__asm__ volatile("testb $5, (%1); pushfq; pop %0" : "=&r"(fl) : "r"(&q->bytes[k]) : "memory", "cc");
	sum = sum * 31 + (fl & 0x8c5);
	__asm__ volatile("stc; adcq (%1), %0; pushfq; pop %2" : "+r"(y) : "r"(&q->l[k]), "r"(fl) : "memory", "cc");
	__asm__ volatile("imulq $7, (%1), %0" : "=r"(fl) : "r"(&q->l[5]) : "memory", "cc");
	sum += fl + (unsigned long)y;
	__asm__ volatile("mulq (%2)" : "=a"(fl), "=d"(y) : "r"(&q->l[6]), "a"(x) : "memory", "cc");
	sum += fl ^ (unsigned long)y;
	__asm__ volatile("cmp %1, %2; cmovl (%3), %0" : "+r"(y) : "r"(i), "r"(450l), "r"(&q->l[7]) : "memory", "cc");
	__asm__ volatile("movb (%%rbx), %%ah" : "+a"(y) : "b"(&q->bytes[9]) : "memory");
	__asm__ volatile("ucomisd (%1), %2; pushfq; pop %0" : "=&r"(fl) : "r"(&q->d[k]), "x"(d) : "memory", "cc");
	sum = sum * 31 + (fl & 0x45) + (unsigned long)y;
	__asm__ volatile("cvtsi2sdl (%1), %0; addsd (%2), %0; mulsd %3, %0" : "+x"(d) : "r"(&q->i[k]), "r"(&q->d[2]), "m"(p.d[3]) : "memory");
	sum += (unsigned long)(d / 1e6);
	__asm__ volatile("xchgq %0, (%1)" : "+r"(y) : "r"(&q->l[9]) : "memory");
	__asm__ volatile("cld; lodsq" : "=a"(fl), "+S"((char *[]){ (char *)&q->l[3] }[0]) :: "memory");
	sum += fl + (unsigned long)y + (memcmp(q->bytes, q->bytes + 1, 40) > 0) + memchr(q->bytes, (int)i & 255, 64) != NULL;
	/* through memory: call, push, jump, ret, pop */
	q->call[i & 1](i);
	p.call[1](i);
	__asm__ volatile("sub $128, %%rsp; push %1; pop %0; add $128, %%rsp" : "=r"(fl) : "m"(q->l[4]) : "memory");
	sum += fl;
	__asm__ volatile("jmp *%0\n\tud2\n1:" :: "m"(*(void **)({ static void *to; __asm__ volatile("lea 1f(%%rip), %0" : "=r"(to)); p.jump[0] = to; &p.jump[0]; })) : "memory");
}
/* One way in a turn. */
static void __attribute__((noinline)) once(struct page *q, int how)
{
	long x = 1;
	switch (how) {
	case 0: x = p.watched; break;
	case 1: x = q->watched; break;
	case 2: x = ((unsigned char *)&q->watched)[7]; break;
	case 3: __asm__ volatile("cmpl $3, 4(%0)" :: "r"(&q->watched) : "cc"); break;
	case 4: x += q->watched; break;
	case 5: __asm__ volatile("movdqu -4(%0), %%xmm0" :: "r"(&q->watched) : "xmm0"); break;
	case 6: __asm__ volatile("push %0; pop %%rax" :: "m"(q->watched) : "rax", "memory"); break;
	case 7: __asm__ volatile("fildll %0; fstp %%st" :: "m"(p.watched) : "st"); break;
	case 8: __asm__ volatile("xchgq %0, %1" : "+r"(x), "+m"(q->watched)); break;
	case 9: __asm__ volatile("lodsq" : "=a"(x), "+S"((char *[]){ (char *)&q->watched }[0]) :: "memory"); break;
	case 10: q->watched = 10; break;
	case 11: q->watched++; break;
	case 12: __asm__ volatile("movq %%rsp, %%rdx; leaq %0, %%rsp; pop %%rax; movq %%rdx, %%rsp" :: "m"(p.watched) : "rax", "rdx", "memory"); break;
	case 13: __asm__ volatile("movsd -1(%0), %%xmm0" :: "r"(&q->watched) : "xmm0"); break;
	case 14: q->watched = 11; break;	/* which it is */
	}
	sum += (unsigned long)x & 1;
}
static long __attribute__((noinline)) deep(long n, volatile long *seen)
{
	volatile long x = n, y = *seen & (n == 7 ? -1 : 0);
	return n ? deep(n - 1, n == 8 ? seen : (volatile long *)&x) + x + y - y : 0;
}
static void __attribute__((noinline)) done(void) { __asm__ volatile(""); }
int main(void)
{
	volatile long local = 1;
	struct page *volatile q = &p;

	for (turn = 0; turn < 1500; turn++) {
		loads(q, turn);
		if (turn % 100 == 50)
			once(q, (int)(turn / 100));
	}
	for (turn = 0; turn < 60; turn++) {
		sum += (unsigned long)deep(30, (volatile long *)&turn);
		if (turn % 20 == 10)
			sum += (unsigned long)local;
	}
	printf("%lx\n", sum);
	done();
	return 0;
}
XX
cat >go.py <<'XX'
import gdb
def go(cmd):
    gdb.execute(cmd, to_string=True)
    return gdb.selected_frame().name() not in ('done', '_start') and int(gdb.parse_and_eval('turn'))
def every(cmd):
    said = []
    while len(said) < 40:
        said.append(go(cmd))
        if said[-1] is False:
            break
    return said[:-1]
gdb.execute('break main'); gdb.execute('continue'); gdb.execute('delete')
gdb.execute('break done')
for kind in ('awatch', 'rwatch'):
    gdb.execute(kind + ' p.watched')
    there = every('continue')
    gdb.execute('delete $bpnum')
    print('@ sum', '%x' % int(gdb.parse_and_eval('sum')))
    gdb.execute(kind + ' p.watched')
    back = every('reverse-continue')
    print('@', kind, sorted(set(there)), there == back[::-1])
    gdb.execute('delete $bpnum')
gdb.execute('awatch p.quiet')
gdb.execute('watch p.real')
gdb.execute('continue')
print('@ quiet', gdb.selected_frame().name(), int(gdb.parse_and_eval('turn')))
gdb.execute('delete'); gdb.execute('tbreak main'); gdb.execute('reverse-continue')
gdb.execute('next'); gdb.execute('break done')
gdb.execute('awatch local')
print('@ local', sorted(set(every('continue')) - {0, 60}))
print('@ sum', '%x' % int(gdb.parse_and_eval('sum')))
XX
for how in -O0 '-O2 -fno-plt' '-O1 -no-pie'; do
	gcc -w -g $how -o t t.c || skip 'no compiler'
	"$REC" -o "$TMP/trace" ./t >"$TMP/said" || fail 'rec failed'
	timeout 100 "$REPLAY" --batch -x go.py "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "$how: exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
	grep '^@' "$TMP/out" >"$TMP/got"
	# gdb shows no read that changed the value
	cat >"$TMP/expected" <<-XX
		@ sum $(cat "$TMP/said")
		@ awatch [50, 150, 250, 350, 450, 550, 650, 750, 850, 950, 1050, 1150, 1250, 1350, 1450] True
		@ sum $(cat "$TMP/said")
		@ rwatch [50, 150, 250, 350, 450, 550, 650, 750, 950, 1250, 1350, 1450] True
		@ quiet once 550
		@ local [10, 30, 50]
		@ sum $(cat "$TMP/said")
	XX
	sed -i '/^@ rwatch/s/ 1150,//' "$TMP/got"	# read and written by one instruction, or by two
	cmp -s "$TMP/got" "$TMP/expected" || fail "$how: $(diff "$TMP/got" "$TMP/expected")"
	rm -rf "$TMP/trace"
done
