#!/bin/bash
# test: timeout=240
# Commands of replay's in gdb: points in time, checkpoints, places, last, find-pointer; plain, in scripts, in Python, as monitor.
. "$LIB"
need gdb gcc
cat >t.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct account { char name[32]; long balance; } accounts[4], *heap;
int total, *cell;
static char big[6000];
static __thread void *mine;
static void *secret;
static pthread_barrier_t bar;
static int work(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	total += sum;				/* TOTAL */
	accounts[n / 1000 % 4].balance = n;	/* BALANCE */
	return sum;
}
static void inner(void *copy)
{
	mine = copy;
	pthread_barrier_wait(&bar);
	pthread_barrier_wait(&bar);
}
static void *worker(void *arg)
{
	inner(arg);
	return NULL;
}
/* as memset() does on many processors, not on all */
static void fill(char *to, unsigned long len)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(len) : "a"(1) : "memory");
}
static void look(void) { __asm__ volatile("" ::: "memory"); }
int main(void)
{
	pthread_t t;
	int local = 1;

	pthread_barrier_init(&bar, NULL, 2);
	cell = malloc(40);
	secret = malloc(72);
	heap = malloc(sizeof(*heap));
	fill(big, sizeof(big));
	memcpy(heap->name, &secret, sizeof(secret));
	memcpy((char *)heap + 9, &secret, sizeof(secret));
	for (int i = 1; i <= 6; i++) {
		cell[3] = work(i * 1000);	/* CELL */
		local += i;			/* LOCAL */
		if (i == 3)
			heap->balance = 33;	/* HEAP */
	}
	pthread_create(&t, NULL, worker, secret);
	pthread_barrier_wait(&bar);
	look();
	pthread_barrier_wait(&bar);
	pthread_join(t, NULL);
	printf("%d %d\n", total, local);
	return 0;
}
END
gcc -g -O0 -pthread -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
line() { grep -n "/\* $1 \*/" t.c | cut -d: -f1; }
# under NAME OPTION... - commands from stdin, each in a line; what one says begins with ">>> COMMAND", an error with ERR
under() {
	name=$1; shift
	{ echo 'python'; echo 'import gdb, sys'; echo 'def r(c):'; echo '  gdb.write(">>> " + c + "\n")'
	  echo '  try: gdb.execute(c)'; echo '  except gdb.error as e: gdb.write("ERR %s\n" % e)'; echo '  gdb.flush()'
	  sed "s/.*/r('&')/"; echo end; } >"$name.gdb"
	timeout 150 "$REPLAY" --batch -x "$name.gdb" "$@" "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "$name: exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
}
expect() { grep -aqE -- "$1" "$TMP/out" || fail "$name: no '$1' in: $(tail -40 "$TMP/out" | tr '\n' '|' | cut -c1-1500)"; }
# said N PATTERN - in what the N-th command said
said() { awk -v n="$1" '/^>>> /{i++} i==n' "$TMP/out" | grep -aqE -- "$2" || fail "$name: command $1 did not say '$2': $(awk -v n="$1" '/^>>> /{i++} i==n' "$TMP/out" | tr '\n' '|')"; }

under points <<'END'
break work
continue
when
checkpoint
continue
continue
checkpoint
next
next
info checkpoints
restart 1
print n
restart 2
print n
delete checkpoint 1
restart 1
restart x
delete checkpoint
info checkpoints
restart
elapsed
real-tid
run
print n
start
seek 30
seek
seek 12x
seek 12:1234x1
seek 99999999
when nonsense
record
record full
target record-full
find-pointer -s
END
said 3 '^event [0-9]+, thread [0-9]+, position [0-9]+:'; said 4 'Checkpoint 1 at work at t.c:'; said 10 '^1 .*work at t.c'; said 10 '^2 '
said 12 '= 1000'; said 14 '= 3000'; said 16 'ERR there is no checkpoint 1'; said 17 'ERR there is no checkpoint x'
said 18 'ERR the number of a checkpoint'; said 20 '_start'; said 21 '^[0-9.]+ s since'; said 22 '^thread [0-9]+ of process'
said 24 '= 1000'; said 25 'main \(\)'; said 27 'ERR seek EVENT'; said 28 "ERR '12x' is no point"; said 29 'ERR the recording has no such point'; said 31 'ERR when takes no argument'
said 30 'no event 99999999: the recording ends at [0-9]+'; for n in 32 33 34; do said $n 'ERR This is a recording already'; done; said 35 'ERR find-pointer .-u. .-s SIZE. VALUE'
pos=$(awk '/^>>> /{i++} i==3' "$TMP/out" | sed -n 's/.*position //p')

# a position means the same in another session, from the command line and in seek
under elsewhere -e "$pos" <<END
print n
when
break look
continue
seek $pos
print n
END
said 1 '= 1000'; said 2 "^event ${pos%%:*}, "; said 6 '= 1000'

# a long way has a short name that leads there
under walk <<'END'
break work if n == 3000
continue
delete
python [gdb.execute(c, to_string=True) for c in ("next", "next", "next", "stepi") * 12]
print $pc
print i
when
END
pos=$(awk '/^>>> /{i++} i==7' "$TMP/out" | sed -n 's/.*position //p')
pc=$(awk '/^>>> /{i++} i==5' "$TMP/out" | sed -n 's/.*(void (\*)()) \(0x[0-9a-f]*\).*/\1/p')
i=$(awk '/^>>> /{i++} i==6' "$TMP/out" | sed -n 's/.* = //p')
[ -n "$pos" ] && [ -n "$pc" ] && [ "${i:-0}" -gt 5 ] || fail "walk: pos '$pos' pc '$pc' i '$i'"
[ ${#pos} -le 60 ] || fail "walk: the position has ${#pos} characters: $pos"
under there -e "$pos" <<'END'
print $pc
print i
END
said 1 "$pc"; said 2 "= $i\$"

under last <<END
break look
continue
last total
last total
last accounts[1].balance
last heap->balance
last *cell
last cell[3]
break $(line LOCAL) if i == 5
continue
last local
last \$rax
last 3 + 4
last
last nosuch
last accounts[3].name
delete
last big
last big[100]@300
finish
last big[100]@300
END
said 3 'TOTAL'; said 3 'total became [0-9]+ here, was [0-9]+; by thread'; said 4 'TOTAL'; said 5 'BALANCE'; said 6 'ERR heap->balance: not written'
said 7 'ERR|became'; said 8 'CELL|cell'; said 11 'LOCAL'; said 12 'ERR last .rax: that is in no memory'; said 13 'ERR last 3 . 4'
said 14 'ERR last EXPR'; said 15 'ERR No symbol "nosuch"'; said 16 'ERR .*not written'
said 18 '^big became .*by thread'; said 19 'ERR big.100.@300: not written'; said 21 'big.100.@300 became'	# all of it by one instruction

# the write is the instruction just before: that is the last one, too, and forwards and backwards meet the same ones
under near <<'END'
break work
continue
last n
back
delete
watch total
continue
continue
print total
reverse-continue
print total
reverse-continue
print total
continue
print total
END
said 3 'n became 1000 here'; said 9 '= 2498500'; said 11 '= 499500'; said 13 '= 0'; said 15 '= 499500'

under places <<'END'
break work
continue
continue
continue
back
print n
back 2
forward
forward
print n
forward 7
continue
forward
END
said 6 '= 2000'; said 10 '= 2000'; said 11 'ERR places further forward: 1'; said 13 'ERR places further forward: 0'

under pointers <<'END'
break look
continue
find-pointer secret
find-pointer -u secret
find-pointer -s 72 secret
find-pointer 0
find-pointer
find-pointer nosuch
find-pointer &total
END
said 3 ': variable secret$'; said 3 ': heap block 0x[0-9a-f]+ of 40 bytes, \+ 0$'; said 3 'variable mine .thread-local. of thread [0-9]+'
said 3 'stack of thread [0-9]+: parameter copy of inner, frame of inner at t.c:'; said 4 'heap block 0x[0-9a-f]+ of 40 bytes, \+ 9$'
said 5 'variable secret'; said 6 'ERR 0 is everywhere'; said 7 'ERR find-pointer'; said 8 'ERR No symbol'
awk '/^>>> /{i++} i==3' "$TMP/out" | grep -q '+ 9$' && fail 'find-pointer without -u found an unaligned one'

under monitor <<'END'
monitor help
monitor seek 40
stepi
monitor when
monitor checkpoint
monitor seek end
continue
monitor restart 1
stepi
monitor when
monitor info checkpoints
monitor back
reverse-stepi
monitor nonsense
monitor find-pointer 0
monitor last 1 x
monitor elapsed
END
said 1 'monitor find-pointer'; said 4 '^event 40,'; said 10 '^event 40,'; said 11 '^1 +40 '; said 14 'error: no such command'; said 15 'error: 0 is'; said 16 'error: last'

# from a breakpoint in one thread to a point of another
under threads <<'END'
break inner
break work if n == 2000
continue
checkpoint
continue
thread
restart 1
thread
back
thread
restart
run
print n
END
said 6 'thread is 2 '; said 8 'thread is 1 '; said 10 'thread is [23] '; said 11 '_start'; said 13 '= 2000'

# in breakpoint commands, in define, with to_string, and TAB
cat >"$TMP/scripts.gdb" <<'END'
define twice
  checkpoint
  when
end
break work if n == 2000
commands
  silent
  when
  twice
  last total
end
continue
python print('STRING', gdb.execute('when', to_string=True).startswith('event '), gdb.execute('info checkpoints', to_string=True).count('work at'))
complete restart 
complete delete checkpoint 
help find-pointer
help last
END
timeout 150 "$REPLAY" --batch -x "$TMP/scripts.gdb" "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "scripts: exit $?"
name=scripts
[ "$(grep -c '^event ' "$TMP/out")" = 2 ] || fail "scripts: $(tr '\n' '|' <"$TMP/out")"
expect 'Checkpoint 1 at work'; expect 'TOTAL'; expect '^total became 499500 here, was 0'; expect '^STRING True 1$'; expect '^restart 1$'
expect '^delete checkpoint 1$'; expect '^Usage: find-pointer'; expect '^Usage: last'
exit 0
