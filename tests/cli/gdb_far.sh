#!/bin/bash
# test: timeout=120
# reverse-continue to the last write of a variable, however far and however often it was written: where pages tell that nothing was written, where
# the value changes and changes back between two checkpoints, and in a loop that writes it all the time.
. "$LIB"
need gdb gcc

cat >far.c <<'EOF2'
#include <stdio.h>
static struct { _Alignas(4096) volatile long w; char rest[4088]; } cold;
static struct { _Alignas(4096) volatile long w, late; char rest[4080]; } warm;
#define hot warm.w
#define late warm.late
static long heap[512];
static unsigned long sum = 1;
static void compute(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		sum = sum * 6364136223846793005ul + i;
		heap[sum >> 55] += (long)i;
	}
}
int main(void)
{
	compute(20000000);
	cold.w = 5;
	compute(20000000);
	cold.w = 7;	/* there and back */
	cold.w = 5;
	compute(60000000);
	for (int i = 0; i < 20000000; i++)
		hot++;
	compute(60000000);
	for (int i = 0; i < 3000000; i++) {
		hot += 2;
		if (i == 1000000)
			late = i;
	}
	printf("%lu %ld %ld %ld\n", sum, cold.w, hot, late);
	return 0;
}
EOF2
gcc -g -O1 -o far far.c
"$REC" -o far.trace ./far >plain || fail "rec: exit $?"
line() { grep -n -- "$1" far.c | cut -d: -f1; }
cat >far.gdb <<'EOF2'
set pagination off
python
import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
def took(name, limit):
    global t0
    print("%s took %.2f s%s" % (name, spent() - t0, " TOO LONG" if spent() - t0 > limit else ""))
    t0 = spent()
def line(name):
    gdb.execute("frame function main")
    print("%s line %d hot %d cold %d late %d" % (name, gdb.selected_frame().find_sal().line, int(gdb.parse_and_eval("warm.w")), int(gdb.parse_and_eval("cold.w")), int(gdb.parse_and_eval("warm.late"))))
def back(name, limit=30):
    gdb.execute("reverse-continue")
    took(name, limit)
    line(name)
t0 = spent()
end
seek end
python took("end", 60)
watch cold.w
python
for i in (1, 2, 3):
    back("cold%d" % i)
end
delete
seek end
python t0 = spent()
watch warm.w
python
for i in (1, 2, 3):
    back("hot%d" % i)
end
delete
watch warm.late
python back("late")
EOF2
timeout 100 "$REPLAY" --batch -x far.gdb far.trace >out 2>&1 </dev/null || fail "replay: exit $?: $(tail -3 out | tr '\n' '|')"
grep -q 'TOO LONG' out && fail "$(grep 'TOO LONG' out | tr '\n' '|')"
has() { grep -q -- "^$1\$" out || fail "no '$1' in: $(grep ' line ' out | tr '\n' '|')"; }
seven=$(line 'cold.w = 7')
has "cold1 line $((seven + 1)) hot 0 cold 7 late 0"
has "cold2 line $seven hot 0 cold 5 late 0"
has "cold3 line $(line 'compute(20000000)' | head -1 | xargs -I{} expr {} + 1) hot 0 cold 0 late 0"
has "hot1 line $(line 'hot += 2') hot 25999998 cold 5 late 1000000"
has "hot2 line $(line 'hot += 2') hot 25999996 cold 5 late 1000000"
has "hot3 line $(line 'hot += 2') hot 25999994 cold 5 late 1000000"
has "late line $(line 'late = i') hot 22000002 cold 5 late 0"
