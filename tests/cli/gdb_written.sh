#!/bin/bash
# test: timeout=300
# A breakpoint where the program writes its code while it computes: it is hit each time, whatever code is there, and back and
# forward are the same stops.
. "$LIB"
need gdb gcc
cat >t.c <<'XX'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { PAGE = 4096, TURNS = 300, CALLS = 7 };
volatile uint64_t turn, calls, total;
static unsigned char *to, *code;	/* where it is written and where it runs: not always the same */
static uint64_t spin(uint64_t x)
{
	for (int i = 0; i < 60000; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x;
}
/* mov $n, %eax (or, longer: nop first) ; add %edi, %eax ; ret */
static void emit(unsigned char *p, uint32_t n)
{
	static const unsigned char text[2][9] = { { 0xb8, 0, 0, 0, 0, 1, 0xf8, 0xc3 }, { 0x90, 0xb8, 0, 0, 0, 0, 1, 0xf8, 0xc3 } };
	unsigned char all[3000];
	size_t len = sizeof(all);

	memset(all, 0x90, sizeof(all));
	memcpy(all, text[n & 1], sizeof(text[0]));
	memcpy(all + 1 + (n & 1), &n, 4);
	switch (n % 5) {
	case 0:
		memcpy(p, all, 64);
		break;
	case 1:
		__asm__ volatile("cld; rep movsb" : "+D"(p), "+S"((const unsigned char *[]){ all }[0]), "+c"(len) : : "memory");
		break;
	case 2:		/* backwards, byte by byte */
		for (int i = 8; i >= 0; i--)
			((volatile unsigned char *)p)[i] = all[i];
		break;
	case 3:		/* only behind its first byte, which is written twice */
		((volatile unsigned char *)p)[0] = 0xf4;
		memcpy(p + 1, all + 1, 8);
		((volatile unsigned char *)p)[0] = all[0];
		break;
	case 4:
		for (int i = 0; i < 9; i++)
			__atomic_exchange_n(p + i, all[i], __ATOMIC_SEQ_CST);
		break;
	}
}
int main(int argc, char **argv)
{
	uint64_t x = 1, n = 0;

	(void)argv;
	if (argc == 1) {
		to = code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	} else if (argc == 2) {
		to = code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	} else {
		int fd = memfd_create("code", 0);

		if (ftruncate(fd, 2 * PAGE))
			return 1;
		to = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE);
		code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0) + PAGE;
	}
	getppid();
	for (turn = 0; turn < TURNS; turn++) {
		x = spin(x);
		emit(to, (uint32_t)turn);
		for (int i = 0; i < CALLS; i++) {
			calls++;
			n += ((uint32_t (*)(uint32_t))(uintptr_t)code)((uint32_t)i);
			total = n;
		}
	}
	printf("%lu %lu\n", n, x);
	return 0;
}
XX
cat >go.py <<'XX'
import gdb
TURNS, CALLS = 300, 7
def ex(cmd):
    return gdb.execute(cmd, to_string=True)
def value(what):
    return int(gdb.parse_and_eval(what))
def here():
    return tuple(value(what) for what in ('turn', 'calls', 'total', '(long) $pc', '(long) $rax', '(long) $rsp', '(long) $rdi', '*(long *) $pc'))
ex('break spin')
ex('continue')
ex('delete')
code = value('(long) code')
ex('break *%d' % code)
stops = []
for n in range(1, 41):
    ex('continue')
    stops.append(here())
    if stops[-1][3] != code or value('calls') != n:
        print('WRONG forward', n, value('calls'))
print('stops', len(stops))
at = len(stops) - 1
for back, forth in ((3, 5), (20, 20), (7, 1), (12, 15), (30, 30)):
    for i in range(back):
        if at == 0:
            break
        ex('reverse-continue')
        at -= 1
        if here() != stops[at]:
            print('WRONG back', at, here(), stops[at])
    for i in range(forth):
        ex('continue')
        at += 1
        now = here()
        if at == len(stops):
            stops.append(now)
        elif now != stops[at]:
            print('WRONG forth', at, now, stops[at])
ex('ignore 2 1000')
ex('continue')
print('later', value('calls') - stops[at][1])
number = value('calls')
ex('reverse-continue')
print('before', number - value('calls'))
ex('seek end')
ex('reverse-continue')
print('last', value('calls'), value('turn'))
ex('disable')
ex('watch *(char *) %d' % value('(long) to'))
ex('reverse-continue')
print('written', value('turn'))
XX
gcc -g -O1 -o t t.c || skip 'no compiler for x86-64'
printf 'stops 40\nlater 1001\nbefore 1\nlast 2100 299\nwritten 299\n' >expected
# marked: where cpuid is marked in code, the page cannot be written to and executed at once (recorder/written_code.c)
for how in '' 'shared' 'two addresses' marked; do
	mark=0 args=$how
	[ "$how" != marked ] || mark=1 args=
	# shellcheck disable=SC2086
	HINDSIGHT_MARK=$mark "$REC" -o "$TMP/t-${how% *}" ./t $args >/dev/null || fail "$how: rec"
	timeout 100 "$REPLAY" --batch -x go.py "$TMP/t-${how% *}" >gdb.out 2>debug.out </dev/null || fail "$how: replay: exit $?: $(tail -3 gdb.out)"
	grep -E '^(stops|later|before|last|written|WRONG) ' gdb.out >said
	cmp said expected || fail "$how: $(diff said expected | head -8)"
done
