#!/bin/bash
# test: timeout=600
# What is known of a program's stores since it was run forward is right: each of many neighbours, stored to in its own way, is found where it was written last.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF2'
#include <immintrin.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* All on one page, which is stored to all the time. */
static struct {
	unsigned long fixed, near[8];
	char bytes[16], flag[2];
	int half[2];
	unsigned long array[64];
	__m128i wide[2];
	char text[256];
	struct rusage used;
	double real;
	unsigned long often;
	struct timespec early;
	unsigned long counter, quiet, last;
	struct body { double x, v; unsigned long n, m; float f[4]; char c; } body[6];
} g __attribute__((aligned(4096)));
static char big[20000];		/* begins behind it */
volatile unsigned long turn;
static void __attribute__((noinline)) busy(unsigned long i)
{
	unsigned long i_and_8 = i | 8;

	g.counter += i;
	g.array[8 + (i & 7)] ^= i;
	g.half[1] = (int)i;
	((unsigned char *)g.bytes)[i & 3]++;
	/* what it stores depends on the flags, which nobody needs behind it */
	__asm__ volatile("cmpq %1, %1; sete %0; addq $1, %1" : "=m"(g.flag[i & 1]), "+r"(i_and_8) : : "memory");
	if (g.flag[i & 1] && turn >= 100 && turn < 200)
		g.often = i;
}
/* Straight code that uses the same address often: what is on the page, what is not, and what only begins there. */
static void __attribute__((noinline)) walk(struct body *b, int n, unsigned long i)
{
	for (; n--; b++) {
		b->x += b->v * 0.5;
		b->v = (double)(i & 3) - b->x * 0.1;
		b->n++;
		b->m ^= b->n + g.counter;
		b->f[1] = b->f[0] + (float)b->v;
		if (i == 77)
			b->c = (char)i;
	}
}
static struct body other[3];
static void __attribute__((noinline)) index_walk(unsigned long *p, const unsigned long *q, unsigned long i)
{
	for (unsigned long k = 0; k < 4; k++) {
		p[k] += q[k + 1] + i;
		p[k + 8] = p[k] ^ i;
	}
}
static void __attribute__((noinline)) once(int what, volatile unsigned long *p, unsigned long i)
{
	switch (what) {
	case 0: g.fixed = i; break;
	case 12: p[3] = i; break;
	case 2: g.bytes[9] = (char)i + 1; break;
	case 3: g.half[0] = (int)i; break;
	case 4: g.array[i % 3 + 30] = i; break;
	case 5: _mm_store_si128(&g.wide[1], _mm_set1_epi32((int)i)); break;
	case 6: memset(g.text + 16, (int)i % 100 + 1, 100 + i % 2); break;
	case 7: g.real = (double)i; break;
	case 8: __asm__ volatile("lock incq %0" : "+m"(g.near[6])); break;
	case 9: __asm__ volatile("xchg %0, %1" : "+m"(g.near[7]), "+r"(i)); break;
	case 10: __asm__ volatile("cld; rep stosb" : "+D"((char *[]){ g.text + 200 }[0]), "+c"((unsigned long[]){ 9 }[0]) : "a"(i) : "memory"); break;
	case 11: g.last = i; break;
	case 1: __asm__ volatile("lock btsq $3, %0" : "+m"(g.near[5])); break;	/* no form that stops/dual_form.c knows */
	}
}
int main(void)
{
	unsigned long x = 1;

	for (turn = 0; turn < 2800; turn++) {
		for (int k = 0; k < 2000; k++) {
			for (int n = 0; n < 150; n++)
				x = x * 6364136223846793005ul + 1442695040888963407ul;
			busy(x >> 40);
			walk(k & 1 ? g.body : other, 3, k);
			if (k % 16 == 0)
				index_walk(g.array + 40, g.array + 39, x);
		}
		if (turn == 1250)
			walk(&g.body[4], 1, 1);
		__asm__ volatile("cld; rep stosb" : "+D"((char *[]){ big }[0]), "+c"((unsigned long[]){ sizeof(big) }[0]) : "a"(turn) : "memory");
		if (turn % 200 == 100)
			once((int)(turn / 200), g.near, turn);
		if (turn == 300)
			syscall(SYS_clock_gettime, 1, &g.early);
		if (turn % 400 == 0)
			syscall(SYS_getrusage, RUSAGE_SELF, &g.used);	/* an event writes it */
	}
	printf("%lu\n", g.counter);
	return 0;
}
EOF2
cat >script <<'EOF2'
python
for v in ('fixed', 'near[3]', 'bytes[9]', 'half[0]', 'array[30]', 'wide[1][1]', 'text[40]', 'real', 'near[6]', 'near[7]', 'text[205]', 'last', 'near[5]', 'used.ru_utime',
          'quiet', 'half[1]', 'array[9]', 'array[7]', 'bytes[2]', 'bytes[4]', 'big[10]', 'big[19999]', 'often', 'early.tv_nsec',
          'body[0].x', 'body[2].f[1]', 'body[2].f[0]', 'body[3].n', 'body[4].v', 'body[4].m', 'body[5].x', 'body[1].c', 'body[0].c', 'array[43]', 'array[44]', 'array[51]', 'array[52]', 'array[39]'):
    gdb.execute('seek end', to_string=True)
    gdb.execute('watch -l ' + (v if v.startswith('big') else 'g.' + v), to_string=True)
    o = gdb.execute('reverse-continue', to_string=True)
    gdb.execute('delete', to_string=True)
    print('%s: %s' % (v, 'none' if gdb.selected_frame().name() == '_start' else int(gdb.parse_and_eval('turn'))), flush=True)
end
EOF2
cat >expected <<'EOF2'
fixed: 100
near[3]: 2500
bytes[9]: 500
half[0]: 700
array[30]: 900
wide[1][1]: 1100
text[40]: 1300
real: 1500
near[6]: 1700
near[7]: 1900
text[205]: 2100
last: 2300
near[5]: 300
used.ru_utime: 2400
quiet: none
half[1]: 2799
array[9]: 2799
array[7]: none
bytes[2]: 2799
bytes[4]: none
big[10]: 2799
big[19999]: 2799
often: 199
early.tv_nsec: 300
body[0].x: 2799
body[2].f[1]: 2799
body[2].f[0]: none
body[3].n: none
body[4].v: 1250
body[4].m: 1250
body[5].x: none
body[1].c: 0
body[0].c: 0
array[43]: 2799
array[44]: none
array[51]: 2799
array[52]: none
array[39]: none
EOF2
# On whatever processor, and however long it takes, so that there is a write log.
for o in 0 1 2; do
	gcc -O$o -g -fno-toplevel-reorder -o t t.c || skip 'no compiler for x86-64'
	rm -rf "$TMP/t"
	"$REC" -o "$TMP/t" ./t >/dev/null || fail 'rec'
	HINDSIGHT_DEBUG=1 HINDSIGHT_WORKERS=1 HINDSIGHT_PATIENT=1 timeout 500 "$REPLAY" --batch -x script "$TMP/t" >gdb.out 2>debug.out </dev/null || fail "-O$o: replay: exit $?: $(tail -3 gdb.out)"
	grep -E '^[a-z0-9_.]*(\[.*)?: ' gdb.out >said
	cmp said expected || fail "-O$o: $(diff said expected)"
	! grep -q 'a write log failed' debug.out || fail "-O$o: a write log failed"
	! grep -q 'a write log was given up' debug.out || fail "-O$o: a write log was given up"
	grep -q 'logged: ' debug.out || fail "-O$o: nothing was logged"
done
