#!/bin/bash
# test: timeout=120
# What is asked for and is not there, or would not be heeded, is one line that says so, and 125; so is a machine that lacks something.
. "$LIB"
need python3 gcc
cat >p.c <<'E'
#include <stdlib.h>
int push(int v) { return v; }
int main(void) { free(malloc(100)); return push(3) - 3; }
E
gcc -g -O0 -o p p.c || skip 'no compiler'
"$REC" -o t ./p || fail rec
"$HINDSIGHT" pack -o p.hst t >/dev/null || fail pack
g=$ROOT/tests/golden/audit.log m=$ROOT/tests/golden/memprof-jitoff.bin
no() {	# no WORDS COMMAND... - 125, one line with the words, nothing on stdout
	local words=$1; shift
	timeout 30 "$@" >out 2>err </dev/null; local rc=$?
	[ $rc = 125 ] && [ "$(wc -l <err)" = 1 ] && grep -qe "$words" err && [ ! -s out ] || fail "$*: exit $rc: $(cat out err)"
	! grep -qE '([^ ]{4,}): \1: ' err || fail "$*: says it twice: $(cat err)"
}
h=$HINDSIGHT
# Not there.
no 'cannot read /nonexist' "$h" ls /nonexist; no 'cannot read' "$h" gc /nonexist
no 'no thread 99' "$h" dump -t 99 t; no 'up to event 3' "$h" dump -t 99 -e 1-3 t; no 'no process 99' "$h" profile -q -p 99 t
no 'never wrote to descriptor 77' "$h" bt -w 77 t; no 'ends with event' "$h" memprof --from=99999999 t
no 'no process or thread' "$h" heap -p 4294967297 t
# No count is 0.
for o in 'profile --rate=0' 'profile --passes=0' 'profile --top=0' 'leaks --top=0' 'leaks --moments=0' 'memprof --churn=0' 'heap --depth=0' 'heap --elements=0' 'dump --bytes=0' 'stats --top=0' 'bt --max=0' 'jit --at=0'; do
	# shellcheck disable=SC2086
	no 'from 1 on' "$h" $o t
done
no 'from 1 on' "$REC" --num-cores=0 true
# Would not be heeded.
for o in --on=push --preset=lua --memory=x --pid=1 --tid=1 --alloc=f --free=f; do no 'leave it out' "$h" heap --read="$g" $o; done
no 'goes with --read' "$h" heap --types=/bin/ls t; no 'goes with --diff' "$h" heap --writers=3 t; no 'leave out' "$h" heap --html=x --json t; no 'leave out --at' "$h" heap --log=x --on=push --at=5 t
no 'memory and --on' "$h" heap --log=x --on=push t push; no 'one of them' "$h" heap --diff=1,2 --history=x t
no 'leave out --at' "$h" memprof --diff=1,2 --at=3 t; no 'leave out' "$h" memprof --diff=1,2 --to=3 t; no 'leave them out' "$h" memprof --read="$m" --pid=3; no 'one of them' "$h" memprof --at=3 --to=4 t
no 'leave out' "$h" profile --diff=1-2:3-4 --html=x t; [ ! -e x ] || fail 'a file was written'
# Written wrongly.
for d in 5-3:1-2 1-2:3 1:2 1-2:3-4-5; do no 'A less than B' "$h" profile -q --diff=$d t; done
for o in 'profile --html' 'leaks --html' 'memprof --ljm' 'heap --log' 'heap --read' 'pack -o' 'unpack -o' 'jit --elf'; do
	# shellcheck disable=SC2086
	no 'nothing was given' "$h" $o '' t
done
no 'nothing was given' "$REC" -o '' true; no 'unix:/PATH' "$REPLAY" -s unix: t; no 'nothing was given' "$REPLAY" -s '' t
no 'events of a log have type of their own' "$h" heap --log=x --on=push:type=v t; no 'have event of their own' "$h" heap --log=x --on=push:event=v t; no nanotime "$h" heap --log=x --on=push:nanotime=v t
no 'given twice' "$h" heap --log=x --on=push:a=v:b=v:a=v t
for n in -1 0 1048577 99999999999999999999; do no 'give 1 to' "$h" heap --log=x --on=push --memory=v:int:$n t; done
# A file is no trace, whatever it is called, and a pack is one.
echo text >file; no 'neither a trace directory nor a packed trace' "$h" info file; no 'neither a trace' "$h" leaks file; no 'neither a trace' "$REPLAY" -a ./file; no 'neither a trace' "$h" heap file
cp p.hst b.pack; HINDSIGHT_TRACE_DIR=$PWD/d "$h" info b.pack >out 2>err && grep -q 'is unpacked to' err || fail "a pack of another name: $(cat err)"
HINDSIGHT_TRACE_DIR=$PWD/d "$REPLAY" -a b.pack >out 2>err || fail "replay of it: $(cat err)"
# A trace that is damaged is no expression.
cp -r t broken; chmod -R u+w broken; : >broken/meta; no 'meta is damaged' "$h" heap broken; mkdir nothing; no 'not a Hindsight trace' "$h" heap nothing
# What the program is.
script() { printf "$1" >prog; chmod +x prog; }
script '#!/no/such/interp -x\n'; no 'names the interpreter /no/such/interp, which is not there' "$REC" -o r ./prog; script '#!\n'; no 'names no interpreter' "$REC" -o r ./prog
script 'echo hi\n'; no 'rec sh .*/prog' "$REC" -o r ./prog; script '\177ELF\2\1\1'; no 'damaged, or for another machine' "$REC" -o r ./prog; [ ! -e r ] || fail 'a recording is left'
# The machine.
(ulimit -n 9; no 'ulimit -n' "$h" memprof -q t; ! grep -q damaged err) || fail "few files: $(cat err)"
mkfifo pipe; cat "$m" >pipe & "$h" memprof --read=pipe >out 2>err && grep -q '^@mem1.lua:4 holds' out || fail "a pipe: $(cat err)"; wait
no 'is empty' "$h" memprof --read=/dev/null; no 'is empty' "$h" profile --read=/dev/null
unset HINDSIGHT_TRACE_DIR XDG_DATA_HOME
for c in ls gc; do HOME=$PWD/home "$h" $c >out 2>err || fail "$c without traces: $(cat err)"; [ ! -e home ] || fail "$c makes directories"; done
for c in info leaks dump; do HOME=$PWD/home no 'record a program' "$h" $c; [ ! -e home ] || fail "$c makes directories"; done
HOME=/proc/none no 'set HINDSIGHT_TRACE_DIR' "$REC" true
# gdb.
command -v gdb >/dev/null || exit 0
timeout 60 "$REPLAY" --batch --ex 'break push' --ex continue --ex 'hindsight bt 1' --ex 'hindsight bt 99' t >out 2>&1 </dev/null
grep -q 'there is no frame 99' out && grep -q '1 .*main' out || fail "hindsight bt 99: $(tail -3 out)"
set --; for i in $(seq 100); do set -- "$@" --ex "echo [$i]"; done
timeout 60 "$REPLAY" --batch "$@" t >out 2>&1 </dev/null; grep -q '\[100\]' out || fail 'a hundred --ex'
exit 0
