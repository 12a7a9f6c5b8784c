#!/bin/bash
# test: timeout=120
# A variable that one loop after the other writes, all between two checkpoints: the last write is found in the last of them, without a stop at each.
. "$LIB"
need gdb gcc
cat >twice.c <<'XX'
#include <stdio.h>
static volatile long hot;
static void __attribute__((noinline)) between(void) { __asm__ volatile(""); }
int main(void)
{
	for (int i = 0; i < 3000000; i++)
		hot++;
	between();
	for (int i = 0; i < 3000000; i++)
		hot += 2;
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 700000; i++)
			hot += 3;
	hot = 7;
	printf("%ld\n", hot);
	return 0;
}
XX
gcc -g -O1 -o twice twice.c
"$REC" -o twice.trace ./twice >plain || fail "rec: exit $?"
cat >twice.gdb <<'XX'
set pagination off
python
import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
def back(name):
    began = spent()
    gdb.execute("reverse-continue")
    gdb.execute("frame function main")
    print("%s line %d hot %d%s" % (name, gdb.selected_frame().find_sal().line, int(gdb.parse_and_eval("hot")), " TOO LONG: %.1f s" % (spent() - began) if spent() - began > 15 else ""))
end
seek end
watch hot
python
back("1"); back("2"); back("3")
end
delete
tbreak between
reverse-continue
watch hot
python
back("4"); back("5")
end
XX
timeout 110 "$REPLAY" --batch -x twice.gdb twice.trace >out 2>&1 </dev/null || fail "replay: exit $?: $(tail -3 out | tr '\n' '|')"
line() { grep -n -- "$1" twice.c | cut -d: -f1; }
has() { grep -qx -- "$1" out || fail "no '$1' in: $(grep ' line ' out | tr '\n' '|')"; }
has "1 line $(line 'hot = 7') hot 15300000"
has "2 line $(line 'hot += 3') hot 15299997"
has "3 line $(line 'hot += 3') hot 15299994"
has "4 line $(line 'hot++') hot 2999999"
has "5 line $(line 'hot++') hot 2999998"
