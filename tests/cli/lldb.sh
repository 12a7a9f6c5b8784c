#!/bin/bash
# test: timeout=120
# lldb: connects, stops, steps, reads, goes back by monitor commands.
. "$LIB"
need lldb gcc
cat >c.c <<'EOF2'
#include <pthread.h>
#include <stdio.h>
int total;
static int work(int n)
{
	total += n;
	return total;
}
static void *thread(void *a) { work(7); return a; }
int main(void)
{
	pthread_t t;
	for (int i = 1; i <= 3; i++)
		work(i);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	printf("%d\n", total);
	return 3;
}
EOF2
gcc -g -O0 -pthread -o c c.c || skip 'no compiler'
"$REC" -o "$TMP/c" ./c >/dev/null; [ $? = 3 ] || fail 'rec c'
port=$(free_port)
"$REPLAY" --serve=127.0.0.1:"$port" "$TMP/c" & server=$!
sleep 0.3
cat >c.lldb <<EOF2
settings set plugin.process.gdb-remote.packet-timeout 60
gdb-remote $port
breakpoint set -n work
continue
frame variable n
continue
frame variable n
bt
process plugin packet monitor reverse-continue
si
frame variable n
process plugin packet monitor reverse-stepi
si
thread step-inst
continue
continue
continue
thread list
register read rip eflags xmm0
image list
expression total + 100
expression -i true -- work(1000)
expression total + 200
memory region \$pc
thread step-out
breakpoint delete -f
continue
quit
EOF2
timeout 60 lldb --no-lldbinit -b -s c.lldb ./c >"$TMP/out" 2>&1 </dev/null
[ "$(grep -c '^(lldb)' "$TMP/out")" -gt 10 ] || skip "lldb does not start: $(tail -1 "$TMP/out")"
expect() { grep -aqE -- "$1" "$TMP/out" || fail "no '$1' in: $(tail -12 "$TMP/out" | tr '\n' '|' | cut -c1-900)"; }
[ "$(grep -a '^(int) n = ' "$TMP/out" | tr -dc '0-9')" = 121 ] || fail "n: $(grep -a '^(int) n = ' "$TMP/out" | tr '\n' ' ')"
expect 'stop reason = breakpoint 1.1'; expect 'stop reason = gone back to a breakpoint'; expect 'stop reason = gone back$'
expect "frame #1: .*main"; expect 'thread #2: .*work.n=7.*'; expect '^\(int\) \$0 = 106'; expect '^\(int\) \$1 = 1006'; expect '^\(int\) \$2 = 1206'; expect 'Return value: .int. \$[0-9] = 13'
expect 'libc.so'; expect 'r-x .*/c'; expect 'stop reason = step out'; expect 'stop reason = the recording ends here'
for i in $(seq 50); do kill -0 $server 2>/dev/null || exit 0; sleep 0.1; done
kill $server; fail 'the server is still there'
