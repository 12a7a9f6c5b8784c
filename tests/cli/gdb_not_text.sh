#!/bin/bash
# test: timeout=240
# Programs whose paths are no text (not UTF-8): gdb's commands work, also over an exec of one by another and back.
. "$LIB"
need gcc gdb
cat >c.c <<'E2'
#include <stdio.h>
#include <unistd.h>
int old(int x) { return x + 1; }
int main(int argc, char **argv)
{
	int y = old(argc);
	if (argc > 1)
		execl(argv[1], argv[1], NULL);
	puts("done");
	return y;
}
E2
gcc -g -o p c.c && sed 's/old/new/' c.c >d.c && gcc -g -o q d.c || fail gcc
mv p $'pr\xff'; mv q $'q\xfe'
"$REC" -o t ./$'pr\xff' ./$'q\xfe' >out || true
grep -q done out || fail "rec: $(cat out)"
look() {
	timeout 100 "$REPLAY" --batch --ex 'break old' --ex continue --ex bt --ex when --ex 'hindsight bt' --ex next --ex 'reverse-next' --ex 'catch exec' --ex continue --ex 'break new' --ex continue --ex bt --ex 'reverse-continue' --ex 'reverse-continue' --ex 'info line old' t >out 2>&1 </dev/null
	! grep -a 'Python\|Unicode\|Traceback' out >said || fail "$1: $(head -2 said)"
	grep -aq '^#0  old (x=2)' out || fail "$1: no frame of the first program: $(tail -5 out)"
	grep -aq '_start in pr.xff' out || fail "$1: hindsight bt: $(grep -a _start out)"
	grep -aq '^#0  new (x=1)' out || fail "$1: no frame of the second program: $(tail -5 out)"
	grep -aq 'Line 3 of "c.c" starts at' out || fail "$1: no lines of the first program: $(tail -2 out)"
}
LC_ALL=C.UTF-8 look 'with its files'
LC_ALL=C look 'with its files, LC_ALL=C'
rm -f $'pr\xff' $'q\xfe'
LC_ALL=C.UTF-8 look 'without its files'
exit 0
