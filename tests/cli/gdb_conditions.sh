#!/bin/bash
# test: timeout=90
# Conditions that gdb evaluates itself ($_streq, $_regex, characters, strcmp): the replay stops where they hold, not each time, both ways;
# and other breakpoints at the same place are met.
. "$LIB"
need gdb gcc
cat >t.c <<'XX'
#include <stdio.h>
#include <string.h>
static const char *const names[] = { "alice", "bob", "caro", "carol", "" };
static char full[4] = "xyz", other[9] = "abc";
static volatile unsigned long sum;
__attribute__((noinline)) void visit(const char *name, int i)
{
	sum += strlen(name) + i;
}
__attribute__((noinline)) void look(int i)
{
	sum += i;
	if (i == 150)
		strcpy(other, "end");
}
int main(void)
{
	for (int i = 0; i < 300; i++) {
		visit(i == 200 ? "dave" : names[i % 5], i);
		look(i);
	}
	printf("%c%c\n", full[0], other[0]);
	return 0;
}
XX
gcc -g -O0 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
# Where is CONDITION true, at first going forwards, and at first going back?  In how many moves?
ask()
{
	cat >t.gdb <<XX
break $1 if $2
python
moves = 0
def moved(event):
    global moves
    moves += 1
gdb.events.cont.connect(moved)
end
continue
echo at:
output i
echo \n
tbreak t.c:24
condition 1 0
continue
condition 1 $2
reverse-continue
echo at:
output i
echo \n
python print('moves:%d' % moves)
XX
	"$REPLAY" --batch -x t.gdb "$TMP/trace" >out 2>&1 || fail 'replay failed' "$(tail -5 out)"
	got=$(grep -o '^at:.*' out | tr -d '\n')
	[ "$got" = "$3" ] || fail "$2: got $got, expected $3"
	n=$(sed -n 's/^moves://p' out)
	[ "$n" -le "$4" ] || fail "$2: $n moves"
}
ask visit '$_streq(name, "dave")' at:200at:200 20
ask visit 'i > 5 && !strcmp(name, "dave")' at:200at:200 20
ask visit "name[0] == 'd'" at:200at:200 20
ask visit '$_regex(name, "dav?e$") || (i < 9 && $_streq(name, "carol"))' at:3at:200 20
ask look '$_streq(other, "end") && i % 2' at:151at:299 20
ask look '$_streq(full, "xyz") && i == 77' at:77at:77 20
# A place that others stop at, too: gdb's own breakpoint for finish, and the user's.
cat >t.gdb <<'XX'
break look if i == 20
continue
finish
delete
break visit if $_streq(name, "never")
tbreak visit
continue
echo at:
output i
echo \n
delete
break look
continue
delete
tbreak t.c:21 if $_streq(full, "no")
until 21
echo at:
output i
echo \n
XX
"$REPLAY" --batch -x t.gdb "$TMP/trace" >out 2>&1 || fail 'replay failed' "$(tail -5 out)"
grep -q '^at:21' out || fail 'the other breakpoint was not met' "$(cat out)"
