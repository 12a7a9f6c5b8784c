#!/bin/bash
# test: timeout=30
# Two processes under one gdb: on after the end of one without choosing the other; back in a process chosen with `inferior N'; no memory
# from gdb's cache that was another time's; one stop for each exec.
. "$LIB"
need gdb gcc
cat >f.c <<'END'
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int value, *shared, to_child[2], to_parent[2];
static void step(int n) { value += n; *shared += n; }
static void turn(int n, int from, int to)
{
	char c = 0;

	for (int i = 0; i < 3; i++) {
		if (read(from, &c, 1) != 1)
			_exit(9);
		step(n);
		if (write(to, &c, 1) != 1)
			_exit(9);
	}
}
int main(int argc, char **argv)
{
	int st;

	shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pipe(to_child) || pipe(to_parent))
		return 9;
	if (!fork()) {
		turn(10, to_child[0], to_parent[1]);
		_exit(3);
	}
	if (write(to_child[1], "x", 1) != 1)
		return 9;
	turn(1, to_parent[0], to_child[1]);
	wait(&st);
	step(1000);
	if (argc == 1)
		execl(argv[0], argv[0], "x", (char *)0);
	return 0;
}
END
gcc -g -O0 -o f f.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./f || fail 'rec'
cat >both.gdb <<'END'
set detach-on-fork off
set schedule-multiple on
tbreak f.c:27
run
break step
python
seen = []
def on_stop(event):
    if isinstance(event, gdb.BreakpointEvent):
        seen.append(tuple(int(gdb.parse_and_eval(x)) for x in ('n', 'value', '*shared', '$pc')))
def go(command):
    global seen
    seen = []
    for i in range(9):
        try:
            gdb.execute(command, to_string=True)
        except gdb.error as e:
            print('error', e)
    return seen
gdb.events.stop.connect(on_stop)
there = go('continue')
back = go('reverse-continue')
print('stops', len(there), there[:7] == back[::-1][-7:], there == go('continue'), [s[2] for s in there][:7])
end
END
cat >chosen.gdb <<'END'
set detach-on-fork off
set schedule-multiple on
break step
continue
continue
continue
inferior 1
reverse-stepi
stepi
inferior 2
delete
tbreak step
reverse-continue
python print('hit', gdb.parse_and_eval('n'))
inferior 1
reverse-stepi
thread apply all backtrace 1
reverse-stepi
python print('first', gdb.selected_inferior().num)
inferior 2
reverse-stepi
python print('second', gdb.selected_inferior().num)
END
cat >execs.gdb <<'END'
catch exec
continue
continue
reverse-continue
reverse-continue
END
for s in both chosen execs; do
	timeout 25 "$REPLAY" --batch -x $s.gdb "$TMP/t" >"$s.out" 2>&1 || fail "$s: exit $?"
done
expect() { grep -qE -- "$2" "$1.out" || fail "$1: no '$2' in: $(tail -n 20 "$1.out")"; }
expect both '^stops 1?[0-9] True True \[0, 10, 11, 21, 22, 32, 33\]'
expect both '^.Inferior 2 .*exited with code 03'; grep -q '^error' both.out && fail "$(grep '^error' both.out)"
expect chosen '^hit 1$'; expect chosen '^first 1'; expect chosen '^second 2'; grep -q SIGTRAP chosen.out && fail 'a step was made by another process'
[ "$(grep -c '^Catchpoint 1 .exec.d' execs.out)" = 2 ] || fail "execs: $(grep '^Catch' execs.out)"
exit 0
