#!/bin/bash
# test: timeout=120
# cpuid tells of as many processors as --num-cores says: cores of one thread, one package; each thread sees its own number.
. "$LIB"
need gcc
cat >p.c <<'P'
#define _GNU_SOURCE
#include <cpuid.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	unsigned a, b, c, d, n = atoi(argv[1]), amd, max = __get_cpuid_max(0, NULL), ext = __get_cpuid_max(0x80000000, NULL), bad = 0, bits = 0;
	cpu_set_t one;

	while (1u << bits < n)
		bits++;
	__cpuid(0, a, b, c, d);
	amd = c == 0x444d4163;
#define IS(what, is, wanted) do { if ((is) != (wanted)) { printf("cpu %u: %s is %u, not %u\n", i, what, (unsigned)(is), (unsigned)(wanted)); bad++; } } while (0)
	for (unsigned i = 0; i < n; i++) {
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			return 3;
		for (int k = 0; k < 3; k++) {	/* the site is patched meanwhile */
			__cpuid(1, a, b, c, d);
			IS("number", b >> 24, i);
			IS("processors", b >> 16 & 0xff, n);
			IS("ht", d >> 28 & 1, n > 1);
		}
		for (unsigned leaf = 0xb; leaf <= max && leaf <= 0x1f; leaf += 0x14) {
			__cpuid_count(leaf, 0, a, b, c, d);
			if (!b)
				continue;
			IS("threads", b, 1);
			IS("shift of threads", a, 0);
			IS("type", c >> 8, 1);
			IS("x2apic", d, i);
			__cpuid_count(leaf, 1, a, b, c, d);
			IS("cores", b, n);
			IS("shift of cores", a, bits);
			IS("type", c >> 8, 2);
			__cpuid_count(leaf, 2, a, b, c, d);
			IS("end", b, 0);
		}
		for (unsigned k = 0; k < 6; k++) {
			unsigned leaf = amd ? 0x8000001d : 4;

			if (leaf > (amd ? ext : max))
				break;
			__cpuid_count(leaf, k, a, b, c, d);
			if (!(a & 0x1f))
				break;
			IS("who shares a cache", a >> 14 & 0xfff, (a >> 5 & 7) < 3 ? 0 : amd ? n - 1 : (1u << bits) - 1);
			if (!amd)
				IS("cores of a package", a >> 26, (1u << bits) - 1);
		}
		if (amd && ext >= 0x80000008) {
			__cpuid(0x80000008, a, b, c, d);
			IS("NC", c & 0xff, n - 1);
		}
		if (amd && ext >= 0x8000001e) {
			__cpuid(0x8000001e, a, b, c, d);
			IS("extended number", a, i);
			IS("threads of a core", b >> 8 & 0xff, 0);
		}
	}
	return bad != 0;
}
P
gcc -O1 -w -o p p.c || skip 'no compiler'
for n in 1 2 3 16 64; do
	for more in '' --no-syscallbuf --cpu=x86-64-v2; do
		rm -rf t; exits 0 "rec --num-cores=$n $more" "$REC" --num-cores=$n $more -o t ./p $n
		exits 0 "replay of $n $more" "$REPLAY" -a t
	done
done
