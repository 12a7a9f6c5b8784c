#!/bin/bash
# test: timeout=300
# gdb inside of a recording: breakpoints, watchpoints, steps, threads; then gdb on the recording of both.
. "$LIB"
need gdb gcc
export DEBUGINFOD_URLS=
cat >"$TMP/p.c" <<'END'
#include <pthread.h>
#include <stdio.h>
int x, y;
static void f(int i)
{
	x = i * 3;
	y++;
}
static void *thread(void *arg)
{
	f(7);
	return arg;
}
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 4; i++)
		f(i);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	printf("done %d %d\n", x, y);
	return 3;
}
END
gcc -g -O0 -pthread -o "$TMP/p" "$TMP/p.c"
cat >"$TMP/commands" <<'END'
set width 0
break main
run
bt
next
next
watch x
continue
continue
stepi
delete
break thread
continue
info threads
next
set var x = 300
print x
delete
continue
END
clean() { grep -vE '^\[New|^\[Thread|^\[Inferior|^\* |^  [0-9]|Thread 0x|^Run till|libthread_db|^\[Switching|No such file|^warning|in \.\./|extended state|0x0000'; }
plain gdb -nx -batch -x "$TMP/commands" "$TMP/p"
record gdb -nx -batch -x "$TMP/commands" "$TMP/p"
recorded_as_plain clean
grep -q 'Hardware watchpoint 2: x' "$TMP/rec.out" || fail 'no watchpoint'
grep -q 'done 300 5' "$TMP/rec.out" || fail "the program's end is missing: $(tail -3 "$TMP/rec.out" | tr '\n' '|')"
replays
[ -z "$PLAIN" ] || exit 0
cat >"$TMP/outer" <<'END'
break f
continue
continue
continue
print i
reverse-continue
print i
watch x
continue
END
timeout 200 "$REPLAY" --batch -p p -x "$TMP/outer" "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "replay of the tracee: $(tail -2 "$TMP/out" | tr '\n' '|')"
[ "$(grep -c '^\$. = [12]$' "$TMP/out")" = 2 ] || fail "the tracee's variables: $(tail -5 "$TMP/out" | tr '\n' '|')"
grep -q 'New value = 3' "$TMP/out" || fail "the tracee's watchpoint: $(tail -5 "$TMP/out" | tr '\n' '|')"
timeout 200 "$REPLAY" --batch -p gdb --ex 'catch syscall ptrace' --ex continue --ex 'reverse-stepi' --ex 'info registers rax' "$TMP/trace" >"$TMP/out" 2>&1 </dev/null ||
	fail "replay of the tracer: $(tail -2 "$TMP/out" | tr '\n' '|')"
grep -q '^rax  *0x65 ' "$TMP/out" || fail "the tracer's call: $(tail -3 "$TMP/out" | tr '\n' '|')"
