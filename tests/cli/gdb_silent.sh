#!/bin/bash
# test: timeout=150
# Variables that a loop writes all the time, nearly always what is there already: each change is a stop, forwards and backwards, whatever
# instruction stores it, and millions of stores that change nothing cost next to nothing; with debug registers and without.
. "$LIB"
need gdb gcc
cat >silent.c <<'XX'
#include <stdint.h>
#include <stdio.h>
enum { N = 20000 };
static volatile uint8_t b;
static volatile uint16_t w;
static volatile uint32_t d;
static volatile uint64_t q, pushed[8];
static int step(long i) { return (i > 10000) + (i > 10001) + (i > 18000); }
#define WORK "\n\timul $3, %%rcx, %%rcx\n\tadd $12345, %%rcx\n\timul $5, %%rcx, %%rcx\n\tadd $54321, %%rcx\n\timul $7, %%rcx, %%rcx\n\t"
static void __attribute__((noinline)) all(long i)
{
	uint64_t v = (uint64_t)step(i);

	__asm__ volatile(WORK "movb %b4, %0" WORK "movw %w4, %1" WORK "movl %k4, %2" WORK "movq %q4, %3" WORK
			 : "=m"(b), "=m"(w), "=m"(d), "=m"(q) : "a"(v) : "rcx", "cc");
}
static void __attribute__((noinline)) numbers(void)
{
	__asm__ volatile(WORK "movb $-3, %0" WORK "movw $-3, %1" WORK "movl $-3, %2" WORK "movq $-3, %3" WORK
			 : "=m"(b), "=m"(w), "=m"(d), "=m"(q) :: "rcx", "cc");
}
static void __attribute__((noinline)) push(uint64_t v)
{
	__asm__ volatile("mov %%rsp, %%rbx\n\tlea 32(%0), %%rsp" WORK "push %1" WORK "push $-5" WORK "mov %%rbx, %%rsp"
			 :: "r"(pushed), "a"(v) : "rbx", "rcx", "memory", "cc");
}
int main(void)
{
	for (long i = 0; i < N; i++)
		all(i);
	for (long i = 0; i < N; i++)
		numbers();
	for (long i = 0; i < N; i++)
		push((uint64_t)step(i));
	puts("end");
	return 0;
}
XX
gcc -g -O1 -fno-pie -no-pie -o silent silent.c
"$REC" -o silent.trace ./silent >plain || fail "rec: exit $?"
cat >silent.gdb <<'XX'
set pagination off
set confirm off
python
import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
def run(what):
    began = spent()
    gdb.execute("seek 1")
    watch = gdb.Breakpoint(what, gdb.BP_WATCHPOINT)
    there, back = [], []
    while True:
        gdb.execute("continue")
        if watch.hit_count == len(there):
            break
        there.append(int(gdb.parse_and_eval(what)))
    n = watch.hit_count
    while True:
        gdb.execute("reverse-continue")
        if watch.hit_count == n + len(back):
            break
        back.append(int(gdb.parse_and_eval(what)))
    watch.delete()
    print("%s: %s %s%s" % (what, there, back, " TOO LONG: %.1f s" % (spent() - began) if spent() - began > 20 else ""))
gdb.execute("break main")
gdb.execute("continue")
gdb.execute("delete")
for what in "b", "w", "d", "q", "pushed[3]", "pushed[2]":
    run(what)
end
XX
cat >long.c <<'XX'
#include <stdio.h>
#include <stdlib.h>
struct state { long before, value, after; } *heap;
volatile long flag = 1, other;
static __attribute__((noinline)) void callee(long v, volatile long *local)
{
	*local = v;
}
int main(void)
{
	volatile long local = 0;

	heap = calloc(1, sizeof(*heap));
	for (long i = 0; i < 20000000; i++) {
		flag = i > 5000000;
		((volatile struct state *)heap)->value = flag;
		callee(heap->value, &local);
		other += i;
	}
	printf("%ld %ld %ld %ld\n", flag, heap->value, local, other);
	return 0;
}
XX
gcc -g -O0 -o long long.c
"$REC" -o long.trace ./long >plain || fail "rec: exit $?"
line() { grep -n -- "$1" long.c | cut -d: -f1; }
cat >long.gdb <<XX
set pagination off
set confirm off
break $(line 'printf')
python
import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
for what in [WHAT]:
    gdb.execute("seek end")
    gdb.execute("reverse-continue")
    watch = gdb.Breakpoint(what, gdb.BP_WATCHPOINT)
    began = spent()
    gdb.execute("reverse-continue")
    took = spent() - began
    line = gdb.selected_frame().find_sal().line
    gdb.execute("frame function main")
    print("%s: line %d i %d%s" % (what, line, int(gdb.parse_and_eval("i")), " TOO LONG: %.1f s" % took if took > 15 else ""))
    watch.delete()
end
XX
for mode in registers pages; do
	if [ $mode = pages ]; then export HINDSIGHT_NODR=1; else unset HINDSIGHT_NODR; fi
	timeout 70 "$REPLAY" --batch -x silent.gdb silent.trace >out 2>&1 </dev/null || fail "$mode: replay: exit $?: $(tail -3 out | tr '\n' '|')"
	has() { grep -qxF -- "$1" out || fail "$mode: no '$1' in: $(grep '^[a-z]*.*: ' out | tr '\n' '|') $(tail -2 out)"; }
	for what in flag 'heap->value' local; do
		sed "s/WHAT/\"$what\"/" long.gdb >one.gdb
		timeout 40 "$REPLAY" --batch -x one.gdb long.trace >>out2 2>&1 </dev/null || fail "$mode: $what: replay: exit $?: $(tail -3 out2 | tr '\n' '|')"
	done
	has "b: [1, 2, 3, 253] [3, 2, 1, 0]"
	has "w: [1, 2, 3, 65533] [3, 2, 1, 0]"
	has "d: [1, 2, 3, 4294967293] [3, 2, 1, 0]"
	has "q: [1, 2, 3, 18446744073709551613] [3, 2, 1, 0]"
	has "pushed[3]: [1, 2, 3] [2, 1, 0]"
	has "pushed[2]: [18446744073709551611] [0]"
	mv out2 out
	has "flag: line $(line 'flag = i') i 5000001"
	has "heap->value: line $(line '>value = flag') i 5000001"
	has "local: line $(line 'local = v') i 5000001"
done
