#!/bin/bash
# test: timeout=60
# Six watchpoints on a page of code that the program has just written to, with a breakpoint in it: each store is reported.
. "$LIB"
need gcc gdb
cat >t.c <<'XX'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
unsigned char *volatile p;
void __attribute__((noinline)) stop0(void) { __asm__ volatile(""); }
void __attribute__((noinline)) stop1(void) { __asm__ volatile(""); }
int main(void)
{
	unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
	int (*f)(void), sum = 0;

	p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy((void *)p, code, sizeof(code));
	f = (int (*)(void))(unsigned long)p;
	for (int i = 0; i < 200; i++) {
		p[1] = (unsigned char)i;
		sum += f();
	}
	stop0();
	p[1] = 2;
	stop1();
	for (int i = 4; i < 6; i++)
		*(volatile int *)(p + 2048 + 8 * i) = 7 + i;
	sum += f() + *(volatile int *)(p + 2048);
	printf("%d\n", sum);
	return 0;
}
XX
gcc -g -O1 -o t t.c || skip 'no compiler'
"$REC" -o trace ./t >said || fail 'rec'
for kind in watch awatch; do
	{
		printf 'set pagination off\nbreak stop0\ncontinue\nbreak *p\nbreak stop1\ncontinue\n'
		for i in 0 1 2 3 4 5; do echo "$kind *(int*)(p+2048+8*$i)"; done
		for i in 1 2 3 4 5 6 7 8; do echo continue; done
	} >go.gdb
	timeout 40 "$REPLAY" -x go.gdb trace >out 2>err </dev/null || fail "$kind: exit $?: $(tail -2 out err)"
	grep -q '8\*4)' out && grep -qE '^(New value|Value) = 11$' out || fail "$kind: the store of 11: $(tail -30 out)"
	grep -qE '^(New value|Value) = 12$' out || fail "$kind: the store of 12: $(tail -30 out)"
done
