#!/bin/bash
# test: timeout=90
# Conditions at indirect jumps (or just before short ones), of linkage tables, switches and tail calls, are decided inside the process: a million false ones in a moment, the
# program goes where it did, and a true one stops where it should.
. "$LIB"
need gdb gcc
cat >t.c <<'X'
#include <stdio.h>
#include <stdlib.h>
enum { TURNS = 300000 };
typedef long fn(long, long);
static volatile unsigned long sum;
static long twice(long n, long turn) { return 2 * n + (turn & 1); }
static long third(long n, long turn) { return n / 3 - (turn & 3); }
fn *const functions[] = { twice, third };
fn *volatile chosen = twice;
/* by register, through a word with an index, through a word near the code; rsi is the turn */
long by_register(long n, long turn, fn *f), by_index(long n, long turn, long i), by_word(long n, long turn), by_rsp(long n, long turn, fn *f);
__asm__(".text\n.globl by_register, by_index, by_word, by_rsp\n"
	"by_register: mov %rdx, %rdx\n jmp *%rdx\n nop; nop; nop; nop; nop; nop\n"
	"by_index: lea functions(%rip), %rax\n j_index: mov %rdx, %rdx\n jmp *(%rax,%rdx,8)\n nop; nop; nop; nop; nop; nop\n"
	"by_word: jmp *chosen(%rip)\n nop; nop; nop; nop; nop; nop\n"
	"by_rsp: push %rdx\n add $8, %rsp\n j_rsp: notrack jmp *-8(%rsp)\n nop; nop; nop; nop; nop; nop\n"
	".globl j_index, j_rsp\n");
int main(void)
{
	for (long i = 0; i < TURNS; i++) {
		fn *f = functions[i * 7 % 5 & 1];

		chosen = functions[i % 3 & 1];
		sum += (unsigned long)by_register(i, i, f) + (unsigned long)by_index(i, i, i & 1) + (unsigned long)by_word(i, i) + (unsigned long)by_rsp(i, i, f);
		sum += (unsigned long)labs((long)sum % 1000);
	}
	printf("%lu\n", sum);
	return 0;
}
X
cat >go.py <<'X'
import gdb; import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
gdb.execute('break main')
gdb.execute('continue')
for place in ('by_register', 'j_index', 'by_word', 'j_rsp', "'labs@plt'"):
    gdb.execute('break *%s if $rsi == -5' % place, to_string=True)
start = spent()
gdb.execute('continue', to_string=True)
print('@ took', 'long' if spent() - start > 20 else 'a moment')
print('@ sum', int(gdb.parse_and_eval('sum')))
gdb.execute('delete')
for place, steps in (('by_register', 2), ('j_index', 2), ('by_word', 1), ('j_rsp', 1)):
    b = gdb.Breakpoint('*' + place)
    b.condition = '$rsi == 200001'
    gdb.execute('reverse-continue', to_string=True)
    print('@', place, 'at', int(gdb.parse_and_eval('$rsi')), gdb.execute('info symbol $pc', to_string=True).split()[0])
    gdb.execute('stepi %d' % steps, to_string=True)
    print('@', place, 'to', gdb.newest_frame().name())
    gdb.execute('reverse-stepi %d' % steps, to_string=True)
    print('@', place, 'back', gdb.execute('info symbol $pc', to_string=True).split()[0])
    b.delete()
    gdb.execute('seek end', to_string=True)
X
for how in '' '-fcf-protection -Wl,-z,ibtplt'; do
	# shellcheck disable=SC2086
	gcc -g -O1 -fno-builtin -Wl,-z,lazy $how -o t t.c || skip 'no compiler'
	rm -rf "$TMP/trace"
	"$REC" -o "$TMP/trace" ./t >plain || fail 'rec failed'
	timeout 60 "$REPLAY" --batch -x go.py "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "$how: exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
	sed -n 's/^@ //p' "$TMP/out" >told
	printf '%s\n' 'took a moment' "sum $(cat plain)" \
		'by_register at 200001 by_register' 'by_register to twice' 'by_register back by_register' \
		'j_index at 200001 j_index' 'j_index to third' 'j_index back j_index' \
		'by_word at 200001 by_word' 'by_word to twice' 'by_word back by_word' \
		'j_rsp at 200001 j_rsp' 'j_rsp to twice' 'j_rsp back j_rsp' >wanted
	same "$how" wanted told
done
