#!/bin/bash
# test: timeout=60
# rdpid of a program that does not ask cpuid gives the processor that the program is told it is on; a debugger may call a function with rdrand.
. "$LIB"
need gcc gdb
grep -qw rdpid /proc/cpuinfo && grep -qw rdrand /proc/cpuinfo || skip 'needs a CPU with rdpid and rdrand'
cat >p.c <<'E'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
unsigned long draw(void) { unsigned long v; __asm__ volatile("1: rdrand %0\n\tjnc 1b" : "=r"(v) : : "cc"); return v != 0; }
int main(void)
{
	unsigned long v, cpu = 0;
	for (int i = 0; i < 4; i++) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			break;
		__asm__ volatile("rdpid %0" : "=r"(v));
		__asm__ volatile("rdpid %%r14\n\tmov %%r14, %0" : "=r"(cpu) : : "r14");
		printf("%lu %lu\n", v, cpu);
	}
	printf("%lu\n", draw());
	return 0;
}
E
gcc -g -O0 -o p p.c || skip 'no compiler'
for n in 1 4; do
	rm -rf t; exits 0 "rec --num-cores=$n" "$REC" --num-cores=$n -o t ./p
	{ for ((i = 0; i < n; i++)); do echo "$i $i"; done; echo 1; } > want
	same "rdpid of $n" want "$TMP/out"
	exits 0 replay "$REPLAY" -a t; same replay want "$TMP/out"
done
"$REPLAY" --batch --ex 'break main' --ex continue --ex 'print (unsigned long)draw() + 41' --ex continue t > out 2>&1
grep -q '^\$1 = 42' out || fail "rdrand in a called function: $(tail -3 out)"
