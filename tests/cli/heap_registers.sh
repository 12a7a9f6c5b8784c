#!/bin/bash
# test: timeout=60
# hindsight heap: a variable that the compiler keeps in a register is its value, not an address.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gcc
cat >t.c <<'XX'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum color { RED, GREEN, BLUE };
struct node { int v; struct node *next; };
struct pair { int a, b; };
static void stop(void) { if (write(1, "", 0)) abort(); }
__attribute__((noinline)) static void work(long n, unsigned char c, enum color k, struct node *p, int small, struct pair two)
{
	register long rn asm("rbx") = n;
	register unsigned char rc asm("r12") = c;
	register enum color rk asm("r13") = k;
	register struct node *rp asm("r14") = p;
	register int rs asm("r15") = small;
	register struct pair rt asm("rbp") = two;

	asm volatile("" : "+r"(rn), "+r"(rc), "+r"(rk), "+r"(rp), "+r"(rs), "+r"(rt));
	stop();
	asm volatile("" : "+r"(rn), "+r"(rc), "+r"(rk), "+r"(rp), "+r"(rs), "+r"(rt));
}
int main(int argc, char **argv)
{
	struct node *p = malloc(sizeof(*p));

	(void)argv;
	p->v = 42;
	p->next = NULL;
	work(-5 * argc, 200, (enum color)(argc + 1), p, 77 * argc, (struct pair){ 11 * argc, -12 });
	return 0;
}
XX
gcc -g -O2 -o t t.c || fail 'cannot compile'
"$REC" --no-syscallbuf -o "$TMP/t1" ./t >/dev/null || fail 'rec failed'
event=$("$HINDSIGHT" dump "$TMP/t1" | awk '/ write\(1/ { print $1; exit }')
h() { "$HINDSIGHT" heap -q "$TMP/t1" --at="$event" "$@" >"$TMP/out" 2>"$TMP/err"; }
shows() { # EXPR TEXT
	h "$1" || fail "$1: $(cat "$TMP/err")"
	grep -qF "$2" "$TMP/out" || fail "$1 is not shown as $2: $(cat "$TMP/out")"
}
shows rn 'long int rn = -5'
shows rc "unsigned char rc = 200"
shows rk 'enum color rk = BLUE'
shows rs 'int rs = 77'
shows rp 'int v = 42'
shows 'rp->v' '= 42'
grep -q '^0x[0-9a-f]* int' "$TMP/out" || fail "a field behind a register has an address: $(cat "$TMP/out")"
for x in rn rc rk rs rp; do
	h "$x" && grep -q '^in a register, event' "$TMP/out" || fail "$x: no word of a register: $(cat "$TMP/out")"
done
h --json rs || fail 'json'
tr -d ' \n' <"$TMP/out" | grep -q '"value":"77","size":4,"register":true' && ! grep -q address "$TMP/out" || fail "json: $(cat "$TMP/out")"
h --history=rs; [ $? = 125 ] && grep -q 'only memory has a history' "$TMP/err" || fail "history of a register: $(cat "$TMP/err")"
h --type='struct node' rp && grep -q 'int v = 42' "$TMP/out" || fail "--type: $(cat "$TMP/out" "$TMP/err")"
exit 0
