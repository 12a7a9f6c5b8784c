#!/bin/bash
# test: timeout=60
# Steps back over calls whose bytes, with one of the instruction before, look like another call: a breakpoint there would be inside
# an instruction.
. "$LIB"
need gdb gcc
cat >t.c <<'X'
#include <stdio.h>
static long sum;
long seven = 7;
/* 0x40 behind `before' is a pointer; where an int3 for 0x40 would read one, there is none */
struct object { unsigned char front[64]; long before[8]; long *value; } object = { .front = { [0 ... 63] = 0x77 }, .value = &seven };
__attribute__((noinline)) static void add(const long *n) { sum += *n; }
void (*called)(const long *) = add;
__attribute__((noinline)) static void through_memory(long *p)
{
	__asm__ volatile("mov %0, %%r12; mov 0x40(%%r12), %%rdi; call *called(%%rip)" :: "r"(p) : "r12", "rdi", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory");
	sum += 1;	/* FIRST */
}
__attribute__((noinline)) static void through_register(void)
{
	__asm__ volatile("mov called(%%rip), %%r12; lea seven(%%rip), %%rdi; call *%%r12" ::: "r12", "rdi", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory");
	sum += 2;	/* SECOND */
}
int main(void)
{
	for (int i = 0; i < 3; i++) {
		through_memory(object.before);
		through_register();
	}
	printf("%ld\n", sum);
	return 0;
}
X
gcc -g -O1 -fno-stack-protector -o t t.c || skip 'no compiler'
cat >go.py <<'X'
import gdb
def line():
    return gdb.selected_frame().find_sal().line
def at(mark):
    return next(i for i, text in enumerate(open('t.c'), 1) if mark in text)
for mark in ('FIRST', 'SECOND'):
    b = gdb.Breakpoint('t.c:%d' % at('/* ' + mark))
    for i in range(3):
        gdb.execute('continue', to_string=True)
    b.enabled = False
    gdb.execute('reverse-next', to_string=True)
    print('@', mark, '.', line() - at('/* ' + mark), gdb.selected_frame().name())
    gdb.execute('seek end', to_string=True)
    gdb.execute('reverse-continue', to_string=True)
X
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
timeout 40 "$REPLAY" --batch -x go.py "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
for mark in 'FIRST . -1 through_memory' 'SECOND . -1 through_register'; do
	grep -q "^@ .*$mark\$" "$TMP/out" || fail "not over the call: $(tail -4 "$TMP/out" | tr '\n' '|')"
done
