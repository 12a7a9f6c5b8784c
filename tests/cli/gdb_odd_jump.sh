#!/bin/bash
# test: timeout=120
# What is counted is an instruction, also where it is looked for in code that holds a breakpoint's jump; a breakpoint without room for one is found going back.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF2'
#include <stdio.h>
/*
 * The jump at `site' has 7f c0 at `slow', where time is spent: "jg" to 62 bytes before, which is inside an instruction whose result matters.  `turns'
 * is called through a pointer, so its beginning is not known.
 */
unsigned long turns(unsigned long n);
__asm__(".globl turns\n"
	"turns: mov %rdi, %r8\n xor %r9d, %r9d\n"
	"outer:\n"
	".rept 14\n mov $0x90909090, %ecx\n add %rcx, %r9\n .endr\n"
	"mov $1000, %r10d\n mov $3, %ecx\n"
	"inner: xor %edx, %edx\n"
	"site: mov %r10, %rax\n"
	"slow: div %rcx\n"
	" dec %r10\n"
	".globl edge\n edge: jne inner\n"
	" jmp 1f\n ud2\n"
	"1: dec %r8\n jne outer\n"
	" mov %r9, %rax\n ret\n");
static unsigned long (*volatile fn)(unsigned long) = turns;
int main(void)
{
	printf("%lx\n", fn(60000));
	return 0;
}
EOF2
gcc -O1 -o t t.c || skip 'no compiler for x86-64'
"$REC" -o "$TMP/t" ./t >plain || fail 'rec'
cat >script <<'EOF2'
python
import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
gdb.execute('break *site if $rdi == -1', to_string=True)
gdb.execute('break turns', to_string=True)
gdb.execute('continue', to_string=True)
gdb.execute('continue', to_string=True)
print('end: %x' % int(gdb.parse_and_eval('1')))
gdb.execute('delete', to_string=True)
gdb.execute('break turns', to_string=True)
gdb.execute('reverse-continue', to_string=True)
print('turns: %d' % int(gdb.parse_and_eval('$rdi')))
gdb.execute('delete', to_string=True)
gdb.execute('break *outer if $r8 == 30000', to_string=True)
gdb.execute('continue', to_string=True)
gdb.execute('delete', to_string=True)
gdb.execute('break *edge', to_string=True)
for i in range(3):
    gdb.execute('continue', to_string=True)
print('edge: %d %d' % (int(gdb.parse_and_eval('$r8')), int(gdb.parse_and_eval('$r10'))))
start = spent()
for i in range(4):
    gdb.execute('reverse-continue', to_string=True)
print('edge: %d %d' % (int(gdb.parse_and_eval('$r8')), int(gdb.parse_and_eval('$r10'))))
print('quick: %s' % (spent() - start < 5), flush=True)
print('took %.2f' % (spent() - start), flush=True)
end
EOF2
timeout 100 "$REPLAY" --batch -x script "$TMP/t" >gdb.out 2>&1 </dev/null || fail "replay: exit $?: $(tail -3 gdb.out)"
grep -q diverged gdb.out && fail "$(grep diverged gdb.out)"
said=$(grep -E '^(end|turns|edge|quick): ' gdb.out)
expected='end: 1
turns: 60000
edge: 30000 997
edge: 30001 1
quick: True'
[ "$said" = "$expected" ] || fail "$said"$'\n'"$(tail -3 gdb.out)"
