#!/bin/bash
# test: timeout=60
# Breakpoints on a page whose code stores to that page itself: each call is a stop, and the program goes on behind it.
. "$LIB"
need gcc gdb
cat >t.c <<'XX'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
unsigned char *code;
void __attribute__((noinline)) begin(void) { __asm__ volatile(""); }
void __attribute__((noinline)) end(void) { __asm__ volatile(""); }
int main(void)
{
	/* nop; addq $1, 0x807(%rip); nop; mov $7, %eax; ret */
	static const char text[] = "\x90\x48\x83\x05\x07\x08\x00\x00\x01\x90\xb8\x07\x00\x00\x00\xc3";
	int sum = 0;

	code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, text, sizeof(text));
	begin();
	for (int i = 0; i < 30; i++)
		sum += ((int (*)(void))(unsigned long)code)();
	end();
	printf("%d %ld\n", sum, *(long *)(code + 0x810));
	return 0;
}
XX
gcc -g -O1 -o t t.c || skip 'no compiler'
"$REC" -o trace ./t >said || fail 'rec'
printf '%s\n' 'set pagination off' 'break begin' 'break end' 'continue' 'break *code' 'break *(code + 9)' 'ignore 3 2' >go.gdb
for i in {1..58}; do echo continue; done >>go.gdb
printf '%s\n' 'continue' 'print *(long *)(code + 0x810)' 'info breakpoints' 'reverse-continue' 'print *(long *)(code + 0x810)' >>go.gdb
timeout 40 "$REPLAY" -x go.gdb --batch trace >out 2>err </dev/null || fail "exit $?: $(tail -3 out err)"
[ "$(grep -c '^Breakpoint 3, ' out)" = 28 ] && [ "$(grep -c '^Breakpoint 4, ' out)" = 31 ] || fail "$(grep -c '^Breakpoint [34], ' out) stops"
grep -q '^Breakpoint 2, end' out && [ "$(sed -n 's/^\$[12] = //p' out | tr '\n' ' ')" = '30 30 ' ] || fail "$(tail out)"
