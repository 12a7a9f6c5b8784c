#!/bin/bash
# test: timeout=120
# gdb on a recording: forwards, backwards, and forwards again to the same registers.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int total;
static int work(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	total += sum;			/* WRITE */
	return sum;
}
int main(void)
{
	char *p = malloc(16);
	for (int i = 1; i <= 10; i++) {
		work(i * 1000);
		if (i == 5)
			strcpy(p, "five");
		printf("%d\n", i);
		fflush(stdout);
	}
	printf("%s %d\n", p, total);
	return 0;
}
EOF
gcc -g -O0 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
mv t t.gone; mv t.c t.gone.c		# what is debugged is in the trace

gdb_says() {	# gdb_says FILE - leaves what gdb printed in $TMP/out
	timeout 60 "$REPLAY" --batch -x "$1" "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "$1: exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
}
expect() { grep -aqE -- "$1" "$TMP/out" || fail "$script: no '$1' in: $(tail -12 "$TMP/out" | tr '\n' '|' | cut -c1-900)"; }

script=breakpoints
cat >breakpoints <<'EOF'
break work
continue
continue
continue
print n
backtrace
reverse-continue
print n
reverse-continue
reverse-continue
continue
print n
EOF
gdb_says breakpoints
expect '^\$1 = 3000'; expect '#1 .* in main'; expect '^\$2 = 2000'; expect 'No more reverse-execution'; expect '^\$3 = 1000'

script=writer
cat >writer <<'EOF'
break work if n == 10000
continue
watch total
reverse-continue
print total
print n
reverse-continue
print total
delete
continue
print total
reverse-stepi
when
EOF
gdb_says writer
expect 'Old value = '; expect '^\$1 = 101982000'; expect 't.c:10'; expect '^\$2 = 9000'; expect '^\$3 = 69986000'; expect '^\$4 = 192472500'; expect '^event '

script=end
cat >end <<'EOF'
continue
info threads
reverse-stepi
stepi
break work
reverse-continue
print n
EOF
gdb_says end
expect 'No more reverse-execution history'; expect '\* 1 '; expect '^\$1 = 10000'

# N steps back and N steps forward: the same registers, bit for bit
script=registers
cat >registers <<'EOF'
python
import gdb
gdb.execute('set pagination off')
gdb.execute('break work')
for i in range(4): gdb.execute('continue', to_string=True)
gdb.execute('delete')
def look(): return gdb.execute('info all-registers', to_string=True) + gdb.execute('x/64gx $sp', to_string=True)
for count in (1, 3, 20):
    for start in range(3):
        before = look()
        gdb.execute('reverse-stepi %d' % count, to_string=True)
        gdb.execute('stepi %d' % count, to_string=True)
        print('SAME' if look() == before else 'DIFFERENT %d %d' % (count, start))
        gdb.execute('stepi 17', to_string=True)
for command in ('next', 'step'):
    before = gdb.execute('frame', to_string=True)
    gdb.execute('reverse-' + command, to_string=True)
    gdb.execute('reverse-' + command, to_string=True)
    gdb.execute(command, to_string=True)
    gdb.execute(command, to_string=True)
    print(command, gdb.execute('frame', to_string=True).split()[1:3], before.split()[1:3])
end
EOF
gdb_says registers
[ "$(grep -c '^SAME' "$TMP/out")" = 9 ] || fail "registers differ: $(grep -E 'DIFF|rror' "$TMP/out" | head -3 | tr '\n' '|')$(tail -3 "$TMP/out")"

# a write that led here is undone first; out of a function whose breakpoint one stands on
script=undone
cat >undone <<'EOF'
break work if n == 3000
continue
watch total
continue
print total
reverse-continue
print total
reverse-continue
reverse-finish
print i
reverse-next
print i
EOF
gdb_says undone
expect '^\$1 = 6997000'; expect '^\$2 = 2498500'; expect 'Breakpoint 1, work'; expect '^\$3 = 3'; expect '^\$4 = 3'
