#!/bin/bash
# test: timeout=60
# Back over string instructions that repeat a million times: each is as many steps, and takes no time; and to the middle of them.
. "$LIB"
need gdb gcc
cat >t.c <<'XX'
#include <stdio.h>
enum { SIZE = 1 << 20 };
static char buf[SIZE], other[SIZE];
static void fill(char *p, int c, unsigned long n) { __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory"); }
static void copy(char *to, const char *from, unsigned long n) { __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory"); }
static char *find(char *p, int c, unsigned long n)
{
	__asm__ volatile("repne scasb" : "+D"(p), "+c"(n) : "a"(c) : "memory", "cc");
	return p;
}
int main(void)
{
	int k = 1;
	fill(buf, 7, SIZE);
	k++;
	buf[SIZE - 1000] = 8;
	copy(other, buf, SIZE);
	k++;
	k += find(other, 8, SIZE) == other + SIZE - 999;
	printf("%d\n", k);
	return 0;
}
XX
gcc -g -O0 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
cat >t.gdb <<'XX'
break 22
continue
reverse-next
reverse-next
reverse-next
reverse-next
reverse-next
reverse-next
print k
tbreak 19
continue
reverse-step
python
for i in range(40):
    if b"rep movs" in gdb.execute("x/i $pc", to_string=True).encode():
        break
    gdb.execute("reverse-stepi", to_string=True)
end
printf "rcx %ld, %d %d\n", $rcx, other[SIZE - 2], other[SIZE - 1]
reverse-stepi 20
printf "rcx %ld, %d %d %d\n", $rcx, other[SIZE - 22], other[SIZE - 21], $rdi == &other[SIZE - 21]
stepi 20
printf "rcx %ld, %d %d\n", $rcx, other[SIZE - 2], other[SIZE - 1]
stepi
printf "rcx %ld, %d %d\n", $rcx, other[SIZE - 2], other[SIZE - 1]
XX
timeout 50 "$REPLAY" --batch -x t.gdb "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -3 "$TMP/out" | tr '\n' '|' | cut -c1-700)"
for want in '^.1 = [12]$' '^rcx 1, 7 0$' '^rcx 21, 7 0 1$' '^rcx 0, 7 7$'; do
	grep -qE -- "$want" "$TMP/out" || fail "no '$want' in: $(tail -25 "$TMP/out" | tr '\n' '|' | cut -c1-900)"
done
