#!/bin/bash
# test: timeout=60
# A breakpoint with a condition at an instruction into whose neighbour code from far away (.text.unlikely) jumps.
. "$LIB"
need gdb gcc
cat >f.c <<'EOF2'
#include <stdio.h>
long through(long x), around(long x);
__asm__(".text\n.globl through\nthrough: mov %rdi,%rdx\nsite: xor %eax,%eax\nmid: add $1,%rdx\nadd %rdx,%rax\nret\n"
	".skip 20000, 0x90\n.globl around\naround: mov %rdi,%rdx\nmov $5,%eax\njmp mid\n.byte 0x0f,0x1f,0,0x0f,0x1f,0\n");
int main(void)
{
	long sum = 0;
	for (long i = 0; i < 3000; i++)
		sum += i & 1 ? through(i) : around(i);
	printf("%ld\n", sum);
	return sum != 4509000;
}
EOF2
gcc -g -O1 -o f f.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./f >/dev/null || fail 'rec'
"$REPLAY" --batch --ex 'break *&site if $rdi == 1501' --ex 'continue' --ex 'print $rdi' --ex 'continue' --ex 'reverse-continue' --ex 'print $rdi' \
	"$TMP/t" >gdb.out 2>&1 || fail "gdb: $(tail -3 gdb.out)"
[ "$(grep -cE '^\$[12] = 1501$' gdb.out)" = 2 ] || fail "$(cat gdb.out)"
