#!/bin/bash
# test: timeout=120
# How a session begins: whatever .gdbinit says, files that changed, traces that moved, several at once, MI, other gdbs.
. "$LIB"
need gdb gcc
cat >t.c <<'END'
#include <stdio.h>
int total;
static void work(int n) { total += n; }
int main(void)
{
	for (int i = 1; i < 5; i++)
		work(i);
	printf("%d\n", total);
	return 0;
}
END
gcc -g -O0 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
expect() { grep -aqE -- "$1" "$TMP/out" || fail "$name: no '$1' in: $(tail -25 "$TMP/out" | tr '\n' '|' | cut -c1-1200)"; }
cat >script <<'END'
break work
continue
continue
print n
last total
info symbol work
END
name=plain
timeout 60 "$REPLAY" --batch -x script "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "plain: exit $?"
expect '^\$1 = 2'; expect '^total became 1 here, was 0'
grep -aq '^Reading' "$TMP/out" && fail 'files that are here are read from the trace'

# a .gdbinit cannot break the connection, but is heard
cat >"$HOME/.gdbinit" <<'END'
set non-stop on
set confirm on
set sysroot /nonexistent
set remotetimeout 1
set schedule-multiple on
set disassembly-flavor intel
set $mine = 77
no such command
END
name=gdbinit
printf 'break work\ncontinue\nprint n\nprint $mine\nwhen\nshow disassembly-flavor\nquit\n' |
	timeout 60 "$REPLAY" "$TMP/trace" >"$TMP/out" 2>&1 || fail "gdbinit: exit $?: $(tail -3 "$TMP/out")"
expect '\$1 = 1$'; expect '\$2 = 77'; expect 'event [0-9]+, thread'; expect 'intel'
rm "$HOME/.gdbinit"

# two at once on a trace that has moved and cannot be written
cp -r "$TMP/trace" "$TMP/moved" && chmod -R a-w "$TMP/moved"
for k in 1 2; do
	timeout 60 "$REPLAY" --batch -x script "$TMP/moved" >"$TMP/out.$k" 2>&1 </dev/null || echo "$k: $?" >"$TMP/failed" &
done
wait
chmod -R u+w "$TMP/moved"
[ ! -e "$TMP/failed" ] || fail "two at once: $(cat "$TMP/failed")"
name='two at once'; cat "$TMP/out.1" >"$TMP/out"; expect '^total became 1 here'; cat "$TMP/out.2" >"$TMP/out"; expect '^total became 1 here'

# the program is another one by now: the trace's bytes count
sed 's/static void work/static int padding(int x) { return x * 3; }\n&/; s/total += n/total += n + padding(0)/' t.c >t2.c
gcc -g -O0 -o t t2.c || fail 'gcc'
name=replaced
timeout 60 "$REPLAY" --batch -x script "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "replaced: exit $?"
expect '^\$1 = 2'; expect '^total became 1 here, was 0'; expect 'work in section .text'
grep -aq '^Reading' "$TMP/out" || fail 'the changed file was not read from the trace'

# an editor: MI, and a port
name=mi
{ for c in '-break-insert work' -exec-continue -exec-continue '-exec-continue --reverse' '-exec-next-instruction --reverse' -exec-run \
	'-interpreter-exec console "when"' '-interpreter-exec console "seek 30"' '-stack-list-frames' -gdb-exit; do echo "$c"; sleep 0.3; done; } |
	timeout 60 "$REPLAY" -i=mi "$TMP/trace" >"$TMP/out" 2>&1 || fail "mi: exit $?"
[ "$(grep -c 'reason="breakpoint-hit"' "$TMP/out")" = 4 ] || fail "mi: $(grep -o 'stopped,reason="[a-z-]*"' "$TMP/out" | tr '\n' ' ')"
expect 'reason="end-stepping-range"'; expect '~"event [0-9]+, thread'; expect '\^done,stack='
grep -aq '\^error' "$TMP/out" && fail "mi: $(grep -a '\^error' "$TMP/out" | head -1)"
name=port
port=$((20000 + $$ % 20000))
timeout 60 "$REPLAY" -s $port "$TMP/trace" & pid=$!
printf 'target remote 127.0.0.1:%d\nbreak work\ncontinue\nmonitor when\nkill\n' $port >port.gdb
for _ in 1 2 3 4 5 6 7 8 9 10; do
	sleep 0.2
	timeout 30 gdb -nx -q -batch -iex 'set confirm off' -iex 'set sysroot target:' -x port.gdb >"$TMP/out" 2>&1 </dev/null
	grep -q 'hit Breakpoint\|^Breakpoint 1,' "$TMP/out" && break
done
expect '^Breakpoint 1, work'; expect '^event [0-9]+, thread [0-9]+, position'
wait $pid || fail "port: exit $?"

cat >mygdb <<'END'
#!/bin/sh
echo MYGDB
exec gdb "$@"
END
chmod +x mygdb
name=--gdb
timeout 60 "$REPLAY" --gdb=./mygdb --batch --ex when "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "--gdb: exit $?"
expect '^MYGDB'; expect '^event '
for bad in ./nosuch nosuch-gdb .; do
	"$REPLAY" --gdb=$bad --batch "$TMP/trace" >"$TMP/out" 2>&1 </dev/null; [ $? = 125 ] || fail "--gdb=$bad: not 125"
	expect 'no such program'
done
"$REPLAY" -s 99999999 "$TMP/trace" >"$TMP/out" 2>&1; [ $? = 125 ] || fail '-s 99999999: not 125'
# our own children only: nothing stays
ls -d "${TMPDIR:-/tmp}"/hindsight-?????? 2>/dev/null | while read -r d; do [ -O "$d" ] && [ "$d" -nt script ] && [ -S "$d/gdb" ] && echo "left: $d" >&2; done
exit 0
