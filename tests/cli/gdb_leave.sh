#!/bin/bash
# test: timeout=100
# detach, kill, disconnect, quit, a lost gdb: no process is left.  target extended-remote: run, kill, run again.
. "$LIB"
need gdb gcc
cat >d.c <<'EOF2'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int total;
static int work(int n) { total += n; return total; }
int main(void)
{
	work(1);
	if (!fork())
		_exit(0);
	wait(NULL);
	work(2);
	return total != 3;
}
EOF2
gcc -g -O0 -o d d.c || skip 'no compiler'
"$REC" -o "$TMP/d" ./d || fail 'rec'
tree() {	# all descendants of $1
	local c
	for c in $(cat /proc/"$1"/task/*/children 2>/dev/null); do echo "$c"; tree "$c"; done
}
nothing_left() { local p; for p in $below; do ! kill -0 "$p" 2>/dev/null || return 1; done; }

for end in detach kill disconnect; do
	for fork in on off; do
		[ $fork = on ] || [ $end = kill ] || continue
		port=$(free_port)
		"$REPLAY" --serve=127.0.0.1:"$port" "$TMP/d" & server=$!
		more=; [ $fork = on ] || more='inferior 1\ncontinue\n'	# it has stopped at the child's end
		printf 'set confirm off\nset sysroot target:\nset detach-on-fork %s\nset schedule-multiple on\ntarget remote 127.0.0.1:%s\nbreak work if n == 2\ncontinue\n'"$more"'print total\n%s\n' $fork "$port" "$end" >x.gdb
		wait_for 5 eval '[ -n "$(tree $server)" ]'
		below=$(tree $server)
		timeout 30 gdb -nx -batch -x x.gdb >"$TMP/out" 2>&1 </dev/null || fail "$end: $(tail -2 "$TMP/out")"
		grep -q '^\$1 = 1' "$TMP/out" || fail "$end: $(tail -2 "$TMP/out")"
		wait_for 5 eval '! kill -0 $server' || fail "$end, detach-on-fork $fork: the server stays"
		wait_for 2 nothing_left || fail "$end: processes are left: $below"
	done
	printf 'set confirm off\nbreak work if n == 2\ncontinue\n%s\n' "$end" >y.gdb
	command timeout 30 "$REPLAY" --batch -x y.gdb "$TMP/d" >"$TMP/out" 2>&1 </dev/null & server=$!
	wait_for 5 eval '[ -n "$(tree $server)" ]'
	below=$(tree $server)
	wait $server || fail "replay, $end: $(tail -2 "$TMP/out")"
	wait_for 2 nothing_left || fail "replay, $end: processes are left: $below"
done

port=$(free_port)
"$REPLAY" --serve=127.0.0.1:"$port" "$TMP/d" & server=$!
cat >e.gdb <<EOF2
set confirm off
set sysroot target:
target extended-remote 127.0.0.1:$port
break work
continue
continue
print total
run
print total
kill
run
continue
continue
print total
disconnect
EOF2
sleep 0.2
timeout 30 gdb -nx -batch -x e.gdb ./d >"$TMP/out" 2>&1 </dev/null
for want in '^\$1 = 1' '^\$2 = 0' '^\$3 = 3'; do
	grep -q "$want" "$TMP/out" || fail "extended-remote: no '$want' in: $(tail -5 "$TMP/out" | tr '\n' '|')"
done
wait_for 5 eval '! kill -0 $server' || fail 'extended-remote: the server stays'
