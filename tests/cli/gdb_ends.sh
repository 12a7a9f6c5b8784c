#!/bin/bash
# test: timeout=120
# Processes that end while others go on: told once, there again where time goes back over the end, with their breakpoints and the
# program they ran; also at a jump into their time.  Breakpoints in a child of vfork; libraries after a jump.
. "$LIB"
need gdb gcc
cat >inner.c <<'END'
int inner_value;
static void set(int n) { inner_value = n; }
int main(int argc, char **argv) { (void)argv; set(1); set(argc); return 3; }
END
cat >lives.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
int level;
static void at(int n) { level = n; }
int main(void)
{
	int st, p[2];
	char c;
	if (pipe(p))
		return 1;
	at(1);
	if (fork() == 0) {
		at(2);
		if (fork() == 0) {
			close(p[0]);
			at(3);
			_exit(5);
		}
		close(p[1]);
		while (read(p[0], &c, 1) > 0)
			;
		_exit(0);
	}
	close(p[1]);
	wait(&st);
	while (read(p[0], &c, 1) > 0)
		;
	at(4);
	if (vfork() == 0) {
		at(5);
		execl("./inner", "inner", "x", (char *)0);
	}
	wait(&st);
	at(6);
	return 0;
}
END
gcc -g -O0 -w -o lives lives.c && gcc -g -O0 -o inner inner.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./lives || fail 'rec'
cat >lives.gdb <<'END'
set detach-on-fork off
set schedule-multiple on
break at
break set
python
def go(command, times):
    for _ in range(times):
        gdb.execute(command, to_string=True)
        there = gdb.selected_frame()
        if stops and there.name() in ('at', 'set'):
            print('<%s%d>' % (there.name(), there.read_var('n')))
        stops.clear()
stops = []
gdb.events.stop.connect(stops.append)
end
python go('continue', 7)
checkpoint
python go('continue', 20)
echo back\n
python go('reverse-continue', 12)
info threads
restart 1
print n
bt 2
seek end
bt
restart
bt 1
END
timeout 100 "$REPLAY" --batch -x lives.gdb "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
forth=$(sed '/^back/,$d' "$TMP/out" | grep -o '^<[a-z]*[0-9]>' | tr -d '\n')
back=$(sed '1,/^back/d' "$TMP/out" | grep -o '^<[a-z]*[0-9]>' | tac | tr -d '\n')
[ "$forth" = '<at1><at2><at3><at4><at5><set1><set2><at6>' ] || fail "forth: $forth"
[ "$back" = "$forth" ] || fail "back: $back"
[ "$(grep -c '^.Inferior [0-9]* .* exited' "$TMP/out")" = 3 ] || fail "ends: $(grep 'exited' "$TMP/out")"
expect() { grep -aqE -- "$1" "$TMP/out" || fail "no '$1' in: $(tail -25 "$TMP/out" | tr '\n' '|' | cut -c1-1200)"; }
expect '\(not here\)'; expect '^\$1 = 5'; expect '#1 .* main '; expect '#[0-9] .*libc_start_main'
grep -aq 'Broken pipe\|packet reply\|Traceback' "$TMP/out" && fail "$(grep -a 'Broken pipe\|packet reply\|Traceback' "$TMP/out")"
exit 0
