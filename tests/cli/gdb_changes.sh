#!/bin/bash
# test: timeout=120
# gdb: conditions, many watchpoints, functions called in a throw-away copy, and steps back and forth at random places.
. "$LIB"
need gdb gcc python3
cat >t.c <<'EOF'
#include <stdio.h>
#include <string.h>
long sum, cells[100] __attribute__((aligned(4096)));
char other_page[4096];
int counter = 3;
__attribute__((noinline)) int add(int x) { counter += x; return counter * 2; }
__attribute__((noinline)) void hit(long i, const char *s) { sum += i * s[0]; __asm__ volatile(""); }
int main(void)
{
	for (long i = 0; i < 1000000; i++)
		hit(i, "abc");
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 100; i++)
			cells[i] = round * 100 + i + 1;
	for (int i = 0; i < 5; i++)
		add(i);
	printf("%ld %d\n", sum + cells[7] + (long)strlen("four"), counter);
	return 0;
}
EOF
gcc -g -O0 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
under() {	# under NAME - commands from stdin
	name=$1; cat >"$name.gdb"
	timeout 60 "$REPLAY" --batch -x "$name.gdb" "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "$name: exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
}
expect() { grep -aqE -- "$1" "$TMP/out" || fail "$name: no '$1' in: $(tail -12 "$TMP/out" | tr '\n' '|' | cut -c1-900)"; }

under conditions <<'EOF'
break hit if i == 999990 && s[0] == 97
break hit if i * 2 == 46
continue
print i
continue
print i
reverse-continue
print i
EOF
expect '^\$1 = 23'; expect '^\$2 = 999990'; expect '^\$3 = 23'

{ echo 'break add'; echo 'continue'; echo delete
for i in $(seq 64); do echo "watch cells[$i]"; done
printf '%s\n' reverse-continue 'print cells[64]' 'print cells[63]' reverse-continue 'print cells[63]' continue 'print cells[63]'
} >w.txt
under watch <w.txt
expect '^\$1 = 165'; expect '^\$2 = 264'; expect '^\$3 = 164'; expect '^\$4 = 264'

under calls <<'EOF'
break add if x == 3
continue
print counter
print add(10)
print counter
print (int)strlen("four")
set var counter = 77
print counter
reverse-stepi
stepi
print counter
finish
print counter
EOF
expect '^\$1 = 6'; expect '^\$2 = 32'; expect '^\$3 = 16'; expect '^\$4 = 4'; expect '^\$5 = 77'; expect '^\$6 = 6'; expect '= 9$'

python3 "$ROOT/bench/places.py" -n 30 "$REPLAY" "$TMP/trace" >"$TMP/out" 2>&1 || fail "places: $(grep -v same "$TMP/out" | tail -2 | tr '\n' '|')"
exit 0
