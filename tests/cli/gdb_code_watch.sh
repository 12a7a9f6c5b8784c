#!/bin/bash
# test: timeout=120
# Six read watchpoints on a page that has code, too (as JIT compilers keep constants), with breakpoints in that code: each
# access and each breakpoint is a stop, forwards and backwards.  A copy between two watched pages, a pushf and a condition
# that reads a watched page are told right, too.
. "$LIB"
need gcc gdb
cat >t.c <<'XX'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
long *k;
unsigned char *code;
long from[512] __attribute__((aligned(4096))), to[512] __attribute__((aligned(4096)));
volatile unsigned long flags;
void __attribute__((noinline)) begin(void) { __asm__ volatile(""); }
void __attribute__((noinline)) end(void) { __asm__ volatile(""); }
void __attribute__((noinline)) copy_one(void)
{
	__asm__ volatile("movsq" : : "S"(&from[9]), "D"(&to[9]) : "memory");
	__asm__ volatile("pushq %0; popq %1" : "+m"(from[9]), "+m"(to[10]));
}
void __attribute__((noinline)) push_flags(void)
{
	unsigned long f;

	__asm__ volatile("pushf; pop %0" : "=r"(f));
	flags = f;
}
int main(void)
{
	long (*f)(long *), sum = 0;
	int n = 0;

	code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	k = (long *)(code + 2048);
	for (int i = 0; i < 8; i++)
		k[i] = 100 + i;
	memcpy(code, "\x31\xc0\x48\x89\xfa", 5);	/* xor %eax,%eax; mov %rdi,%rdx */
	n = 5;
	for (int i = 0; i < 8; i++) {
		memcpy(code + n, "\x48\x03\x42", 3);	/* add 8*i(%rdx),%rax */
		code[n + 3] = (unsigned char)(8 * i);
		n += 4;
	}
	code[n] = 0xc3;
	f = (long (*)(long *))(unsigned long)code;
	begin();
	for (int i = 0; i < 3; i++)
		sum += f(k);
	copy_one();
	push_flags();
	end();
	printf("%ld %lx %ld\n", sum, flags & 0x100, to[9]);
	return 0;
}
XX
gcc -g -O1 -o t t.c || skip 'no compiler'
"$REC" -o trace ./t >said || fail 'rec'

# stops FILE - what a session stopped for, a word each: the number of the breakpoint, and that of the watchpoint.
stops() {
	sed -nE 's/^Breakpoint ([0-9]+), .*/b\1/p; s/^Hardware (read|access \(read\/write\)) watchpoint ([0-9]+): .*/w\2/p' "$1" | tr '\n' ' '
}

# session FILE COMMAND... - gdb's output.
session() {
	local out=$1; shift
	printf '%s\n' 'set pagination off' "$@" >go.gdb
	timeout 60 "$REPLAY" -x go.gdb --batch trace >"$out" 2>err </dev/null || fail "$out: exit $?: $(tail -2 "$out" err)"
}

# 1: begin, 2: end; 3 to 8: k[0] to k[5]; 9 and 10 in the code; gdb shows a breakpoint where a watchpoint has hit, too.
once='b9 w3 w4 w5 w6 w7 b10 w8 ' back='w8 b10 w7 w6 w5 w4 w3 b9 '
for kind in rwatch awatch; do
	{
		printf 'set pagination off\nbreak begin\nbreak end\ncontinue\nset $k = k\n'
		for i in 0 1 2 3 4 5; do echo "$kind *(long *)(\$k + $i)"; done
		printf 'break *code\nbreak *(code + 25)\necho ---\\n\n'
		for i in {1..25}; do echo continue; done
		printf 'echo ---\\n\n'
		for i in {1..23}; do echo reverse-continue; done
	} >go.gdb
	timeout 100 "$REPLAY" -x go.gdb --batch trace >out 2>err </dev/null || fail "$kind: exit $?: $(tail -2 out err)"
	awk '/^---$/ { n++; next } { print > ("part" n + 0) }' out
	[ "$(stops part1)" = "$once$once${once}b2 " ] || fail "$kind: $(stops part1)"
	# backwards a watchpoint is met when the access has been undone; the breakpoint behind it, before
	[ "$(stops part2)" = "b2 $back$back${back}b1 " ] || fail "$kind, backwards: $(stops part2)"
done

# A copy, and a push of what is in memory: the place that they touch second.
for first in 0 1; do
	many=(); for i in 0 1 2 3 4 5 6 7 8 9; do many+=("rwatch from[$((100 + i))]"); done
	session copied 'break copy_one' 'break end' 'continue' "${many[@]:$((first * 10))}" 'awatch to[9]' "${many[@]:0:$((first * 10))}" \
		'continue' 'continue'
	[ "$(grep -c '^Hardware access .* watchpoint [0-9]*: to.9.$' copied)" = 2 ] || fail "the copy's target, $first: $(tail -5 copied)"
	grep -q '^Breakpoint 2, end' copied || fail "no way on from there: $(tail -3 copied)"
done

# The flags that a program pushes to a watched stack have no trap flag.
session pushed 'break push_flags' 'break end' 'continue' 'set $s = $sp' \
	'awatch *(long *)($s - 24)' 'awatch *(long *)($s - 32)' 'awatch *(long *)($s - 40)' 'awatch *(long *)($s - 48)' \
	'awatch *(long *)($s - 56)' 'awatch *(long *)($s - 64)' 'awatch *(long *)($s - 16)' 'awatch *(long *)($s - 8)' \
	'continue' 'continue' 'continue' 'continue' 'continue' 'continue' 'print flags & 0x100' 'reverse-continue' 'reverse-continue' 'reverse-continue'
[ "$(grep -c '^Hardware access' pushed)" -gt 8 ] && grep -q '^\$1 = 0$' pushed || fail "pushf: $(tail pushed)"

# Conditions that read a page which cannot be read now.
for value in 100 7; do
	session asked 'break begin' 'break end' 'continue' 'set $k = k' \
		'awatch *(long *)($k + 7)' 'awatch *(int *)($k + 70)' 'awatch *(int *)($k + 71)' 'awatch *(int *)($k + 72)' \
		'awatch *(int *)($k + 73)' 'awatch *(int *)($k + 74)' "break *(code + 5) if *(long *)\$k == $value" \
		'continue' 'continue' 'continue' 'continue' 'continue' 'continue' 'continue'
	hit='b9 w3 '; [ $value = 100 ] || hit='w3 '
	[ "$(sed '1,/^Breakpoint 9 at/d' asked >asked.stops; stops asked.stops)" = "$hit$hit${hit}b2 " ] ||
		fail "if $value: $(stops asked)"
done
