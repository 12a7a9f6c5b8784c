#!/bin/bash
# test: timeout=300
# Backwards over a hot loop in code that a program has made itself, and makes anew now and then: a matter of the last turns, not of all,
# and the stops are those that the program counts.
. "$LIB"
need gcc python3
cat >t.c <<'XX'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { PAGE = 4096, CHUNKS = 12, TURNS = 250000, FEW = 40 };
volatile uint64_t total, chunk;
static unsigned char *code = (unsigned char *)0x500000000;
static int toggles;
/* 1: addq $n, (%rsi) ; dec %rdi ; jz 2f ; jmp 1b ; 2: ret */
static const unsigned char often[] = { 0x48, 0x83, 6, 1, 0x48, 0xff, 0xcf, 0xf, 0x84, 5, 0, 0, 0, 0xe9, 0xee, 0xff, 0xff, 0xff, 0xc3 };
/* 1: addq $n, (%rsi) ; mov $..., %rax (the jz would be in its middle) ; dec %rdi ; jnz 1b ; ret */
static const unsigned char seldom[] = { 0x48, 0x83, 6, 1, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x48, 0xff, 0xcf, 0x75, 0xed, 0xc3 };
static void emit(const unsigned char *from, size_t len, unsigned char n)
{
	if (toggles)
		mprotect(code, PAGE, PROT_READ | PROT_WRITE);
	memcpy(code, from, len);
	((volatile unsigned char *)code)[3] = n;
	/* the program looks at what it has written, too */
	if (memcmp(code, from, 3) || memcmp(code + 4, from + 4, len - 4))
		abort();
	if (toggles)
		mprotect(code, PAGE, PROT_READ | PROT_EXEC);
}
static uint64_t run(uint64_t turns)
{
	return ((uint64_t(*)(uint64_t, volatile uint64_t *))(uintptr_t)code)(turns, &total);
}
void __attribute__((noinline)) between(void)
{
	__asm__ volatile("" : : : "memory");
}
void __attribute__((noinline)) finish(void)
{
	printf("%llu\n", (unsigned long long)total);
}
int main(int argc, char **argv)
{
	toggles = argc > 1 && !strcmp(argv[1], "toggles");
	code = mmap(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (chunk = 1; argc > 2; argc--) {	/* long enough for names on the way */
		emit(often, sizeof(often), 1);
		run(500000000);
	}
	for (chunk = 1; chunk <= CHUNKS; chunk++) {
		emit(often, sizeof(often), (unsigned char)chunk);
		run(TURNS);
		between();
		emit(seldom, sizeof(seldom), 100);
		if (run(FEW) != 0x0807060504030201)
			abort();
	}
	finish();
	return 0;
}
XX
cat >go.py <<'XX'
import sys, time
sys.path.insert(0, sys.argv[1] + '/bench')
import places
r = places.Remote(sys.argv[2], sys.argv[3])
symbol = {l.split()[-1]: int(l.split()[0], 16) for l in open('symbols') if len(l.split()) == 3}
CODE, TURNS, FEW = 0x500000000, 250000, 40
def cmd(text):
    began = time.time()
    stop = r.cmd(text)
    if time.time() - began > 20:
        print('SLOW', text, time.time() - began)
    return stop
def word(at):
    return int.from_bytes(bytes.fromhex(r.cmd('m%x,8' % symbol[at])), 'little')
def pc():
    return int.from_bytes(bytes.fromhex(r.cmd('g')[256:272]), 'little')
def check(what, is_so):
    if not is_so:
        print('WRONG', what, 'chunk', word('chunk'), 'total', word('total'), 'pc %x' % pc(), r.monitor('when'))
def total(chunks):
    return sum(c * TURNS + 100 * FEW for c in range(1, chunks + 1))
def breaks(text, on):
    r.cmd(('Z' if on else 'z') + text)
def before(left, n, end):
    """Stops at the loop's beginning, going backwards from `end': n of them, each `left' less."""
    seen = []
    for i in range(n):
        cmd('bc')
        seen.append((word('total'), pc()))
    check('back from %d: %s' % (end, seen), seen == [(end - left * (i + 1), CODE) for i in range(n)])
breaks('0,%x,1' % symbol['between'], True)
breaks('0,%x,1' % symbol['finish'], True)
cmd('vCont;c')
for c in range(2, 8):
    cmd('vCont;c')
check('between', word('chunk') == 7 and word('total') == total(6) + 7 * TURNS)
breaks('0,%x,1' % symbol['between'], False)
# In the middle; over each turn of the last loop.
loop, watch = '0,%x,1' % CODE, '2,%x,8' % symbol['total']
breaks(loop, True)
before(7, 6, total(6) + 7 * TURNS)
# Its name is good for coming back to it.
name = r.monitor('when').split('position ')[1].strip()
check('name %s' % name, ':C%x=' % (CODE + 7) in name)
for to in ('75', name):
    r.monitor('seek ' + to)
    r.cmd('vCont;s')
check('named %s' % name, word('total') == total(6) + 7 * (TURNS - 6) and pc() == CODE)
# Forward they are the same, and behind them it is between() again.
for i in range(5):
    cmd('vCont;c')
check('forward', word('total') == total(6) + 7 * (TURNS - 1) and pc() == CODE)
# A value that was there long ago: back over all the turns of several loops, whose code is not there any more.
breaks(loop, False)
breaks('2,%x,8' % symbol['chunk'], True)
cmd('bc')
check('chunk', word('chunk') == 6 and word('total') == total(6))
breaks('2,%x,8' % symbol['chunk'], False)
breaks(loop, True)
breaks(watch, True)
seen = []
for i in range(2 * FEW + 8):
    cmd('bc')
    seen.append((word('total'), pc()))
totals = [t for t, p in seen if p == CODE]
want = [total(6) - 100 * (i + 1) for i in range(FEW)]
want += [total(6) - 100 * FEW - 6 * (i + 1) for i in range(len(totals))]
check('both %s' % totals, totals == want[:len(totals)] and len(totals) > FEW)
breaks(loop, False)
breaks(watch, False)
# To the end, and back from there by a watchpoint alone.
cmd('vCont;c')
check('end', pc() == symbol['finish'] and word('total') == total(12))
breaks(loop, True)
before(100, 3, total(12))
for i in range(FEW - 3):
    cmd('bc')
before(12, 3, total(12) - 100 * FEW)
print('done')
r.close()
XX
cat >long.py <<'XX'
exec(open('go.py').read().split('breaks(\'0,%x,1\' % symbol[\'between')[0])
breaks('0,%x,1' % symbol['between'], True)
cmd('vCont;c')
check('between', word('total') == 500000000 + TURNS)
breaks('0,%x,1' % CODE, True)
before(1, 2, 500000000 + TURNS)
print('done')
r.close()
XX
gcc -g -O1 -no-pie -o t t.c || skip 'no compiler for x86-64'
nm t >symbols
for mode in writes toggles; do
	"$REC" -o "$TMP/$mode" ./t $mode >said || fail 'rec'
	timeout 80 python3 go.py "$ROOT" "$REPLAY" "$TMP/$mode" >out 2>err.out || fail "$mode: exit $?: $(tail -3 out err.out)"
	[ "$(cat out)" = done ] || fail "$mode: $(head -5 out)"
done
"$REC" -o "$TMP/long" ./t toggles long >said || fail 'rec'
timeout 80 python3 long.py "$ROOT" "$REPLAY" "$TMP/long" >out 2>err.out || fail "long: exit $?: $(tail -3 err.out)"
[ "$(cat out)" = done ] || fail "long: $(head -5 out)"
