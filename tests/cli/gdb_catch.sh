#!/bin/bash
# test: timeout=120
# Catchpoints: system calls (traced and buffered), fork, vfork, exec, signals, C++ exceptions: the same stops both ways.
. "$LIB"
need gdb gcc g++
cat >c.c <<'EOF2'
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
volatile int got, i;
static void on_usr1(int sig) { got = sig; }
int main(int argc, char **argv)
{
	int st;
	signal(SIGUSR1, on_usr1);
	for (i = 0; i < 10; i++)
		getppid();
	raise(SIGUSR1);
	if (!fork())
		_exit(3);
	wait(&st);
	if (!vfork()) {
		execl("/bin/true", "true", (char *)0);
		_exit(1);
	}
	wait(&st);
	getppid();
	if (argc > 1)
		return 7;
	execl(argv[0], argv[0], "again", (char *)0);
	return 5;
}
EOF2
gcc -g -O0 -o c c.c || skip 'no compiler'
"$REC" -o "$TMP/c" ./c; [ $? = 7 ] || fail 'rec c'
cat >both.py <<'EOF2'
import gdb, re
last = ['']
def on_stop(ev):
    b = getattr(ev, 'breakpoints', None)
    last[0] = 'end' if not b and not getattr(ev, 'stop_signal', None) else b[0].number if b else ev.stop_signal
gdb.events.stop.connect(on_stop)
def here():
    return tuple(int(gdb.parse_and_eval('(unsigned long)$' + x)) for x in 'rip rsp rax rbx orig_rax rdi rsi'.split())
def go(cmd):
    out = []
    while len(out) < 2000:
        gdb.execute(cmd, to_string=True)
        if last[0] == 'end':
            break
        out.append((last[0],) + (here() if last[0] != 4 else ()))   # of an exec backwards the program before is shown
    return out
there, back = go('continue'), go('reverse-continue')[::-1]
again = go('continue')
print('stops', len(there), len(back), len(again), there == back, there == again)
ends = [s for s in there if s[0] == 1]
print('entries', all(s[3] == -38 & (1 << 64) - 1 for s in ends[::2][:20]), [s[5] for s in ends].count(110))
EOF2
cat >all.gdb <<'EOF2'
catch syscall
catch fork
catch vfork
catch exec
catch signal SIGUSR1
source both.py
EOF2
say() { timeout 90 "$REPLAY" --batch -x "$1" "$2" >"$TMP/out" 2>&1 </dev/null || fail "$1: exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"; }
expect() { grep -aqE -- "$1" "$TMP/out" || fail "no '$1' in: $(tail -12 "$TMP/out" | tr '\n' '|' | cut -c1-900)"; }
say all.gdb "$TMP/c"
expect '^stops [12]..  *[12].. [12].. True True'; expect '^entries True 44'

cat >some.gdb <<'EOF2'
catch syscall getppid
handle SIGUSR1 nostop noprint pass
continue
x/i $pc-2
print $rax
continue
print $rax > 1
tbreak main
stepi
reverse-stepi
reverse-stepi
x/i $pc
continue
stepi
delete
catch vfork
continue
reverse-continue
continue
reverse-continue
EOF2
say some.gdb "$TMP/c"
expect '^Catchpoint 1 \(call to syscall getppid\)'; expect '^Catchpoint 1 \(returned from syscall getppid\)'
expect 'getppid[^:]*>:	syscall'; expect '^\$1 = -38'; expect '^\$2 = 1'; expect '=> .*getppid[^:]*>:	syscall'; expect '^Catchpoint 3 \(vforked process'
grep -q 'received signal' "$TMP/out" && fail 'handle nostop: stopped'

cat >t.cc <<'EOF2'
#include <stdexcept>
volatile int n;
static void f(int x) { if (x > 1) throw std::runtime_error("x"); n = n + 1; }
int main() { for (int i = 0; i < 4; i++) try { f(i); } catch (std::exception &e) { n = n + 10; } return n != 22; }
EOF2
g++ -g -O0 -o t t.cc || exit 0
"$REC" -o "$TMP/t" ./t || fail 'rec t'
cat >throw.gdb <<'EOF2'
catch throw
catch catch
break main
continue
continue
print n
continue
print n
continue
print n
reverse-continue
print n
reverse-continue
print n
EOF2
say throw.gdb "$TMP/t"
expect '\(exception thrown\)'; expect '\(exception caught\)'; expect '^\$1 = 2'; expect '^\$3 = 12'; expect '^\$4 = 2'; expect '^\$5 = 2'

# processes that end while others go on
cat >w.c <<'EOF2'
#include <sys/wait.h>
#include <unistd.h>
int main(void) { int st; if (!fork()) _exit(9); wait(&st); return WEXITSTATUS(st) != 9; }
EOF2
gcc -g -o w w.c && "$REC" -o "$TMP/w" ./w || fail 'rec w'
cat >w.gdb <<'EOF2'
set detach-on-fork off
set schedule-multiple on
continue
print $_exitcode
info inferiors
inferior 1
continue
EOF2
say w.gdb "$TMP/w"
expect '\[Inferior 2 \(process [0-9]*\) exited with code 011\]'; expect '^\$1 = 9'; expect 'No more reverse-execution'

# calls that are not caught cost nothing; breakpoints in front of buffered calls, met while the timer ticks
cat >n.c <<'EOF2'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 300000; i++)
		getppid();
	close(open("/dev/null", O_RDONLY));
	for (int i = 0; i < 2000; i++)
		getppid();
	return 0;
}
EOF2
gcc -g -O1 -o n n.c && "$REC" -o "$TMP/n" ./n || fail 'rec n'
cat >n.gdb <<'EOF2'
break main
continue
catch syscall close
continue
print $rdi
continue
delete
break *(char *)getppid + 5 if $rax == 7
continue
EOF2
say n.gdb "$TMP/n"
expect '\(call to syscall close\)'; expect '\(returned from syscall close\)'; expect '^\$1 = 3'
[ "$(grep -c 'No more reverse-execution' "$TMP/out")" = 1 ] || fail "n.gdb: $(tail -3 "$TMP/out" | tr '\n' '|')"

# Going back to the exec from behind it: gdb steps off its own breakpoint in the loader, in front of a buffered call.
"$REC" -o "$TMP/p" sh -c 'echo a b c | tr a-z A-Z | cat' >/dev/null || fail 'rec p'
printf 'catch syscall write\ncontinue\nreverse-continue\n' >p.gdb
timeout 20 "$REPLAY" -p tr --batch -x p.gdb "$TMP/p" >"$TMP/out" 2>&1 </dev/null || fail "p.gdb: exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
expect 'call to syscall write'; expect 'No more reverse-execution'
