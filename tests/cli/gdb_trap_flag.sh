#!/bin/bash
# test: timeout=120
# A program that sets its own trap flag, and one with traps of its own: forward and backward by instructions, the same places.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF2'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
static volatile int hits;
static void on_trap(int sig, siginfo_t *info, void *u)
{
	ucontext_t *c = u;

	(void)sig;
	(void)info;
	if (++hits % 5 == 0)
		c->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}
int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &sa, NULL);
	__asm__ volatile(".globl first; first: nop; pushf; orq $0x100,(%%rsp); popf; nop; nop; nop; nop; nop; nop; nop;"
			 "int3; nop; int3; nop; pushf; popf; nop" ::: "memory");
	__asm__ volatile("mov $39, %%eax; syscall; nop; .globl last; last: nop" ::: "rax", "rcx", "r11", "memory");
	printf("%d\n", hits);
	return 0;
}
EOF2
cat >script <<'EOF2'
break first
continue
delete
python
def pc(): return gdb.newest_frame().pc()
last = int(gdb.parse_and_eval('(long)&last'))
there = [pc()]
while pc() != last and len(there) < 400:
    gdb.execute('stepi', to_string=True)
    there.append(pc())
back = [pc()]
while pc() != there[0] and len(back) < 400:
    gdb.execute('reverse-stepi', to_string=True)
    back.append(pc())
back.reverse()
print('many: %s (%d)' % (60 < len(there) < 400, len(there)))
print('same: %s' % (there == back))
for i in range(min(len(there), len(back))):
    if there[i] != back[i]:
        print('at %d: %#x, %#x' % (i, there[i], back[i]))
        break
end
continue
EOF2
gcc -O1 -g -no-pie -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null 2>&1
timeout 100 "$REPLAY" --batch -x script "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
for want in '^many: True' '^same: True'; do
	grep -aqE "$want" "$TMP/out" || fail "no '$want' in: $(tail -25 "$TMP/out" | tr '\n' '|' | cut -c1-1500)"
done
