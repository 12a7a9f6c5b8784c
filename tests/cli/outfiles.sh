#!/bin/bash
# test: timeout=120
# Files that commands write: whole or not at all, also when they are read at the time; "-" is stdout for each form, and for one only.
. "$LIB"
need python3 gcc
g=$ROOT/tests/golden/audit.log m=$ROOT/tests/golden/memprof-jitoff.bin
refused() {	# refused WHAT ARG...
	local what=$1; shift
	"$HINDSIGHT" "$@" >out 2>err
	[ $? = 125 ] && [ "$(wc -l <err)" = 1 ] || fail "$what ($*): $(cat err)"
}
h() { "$HINDSIGHT" "$@" 2>err || fail "$*: $(cat err)"; }
cat >p.c <<"E"
#include <stdlib.h>
#include <string.h>
int push(int v) { return *(int *)memset(malloc(100), v, 100); }
int main(void) { unsigned sum = 0; for (unsigned i = 0; i < 300000000; i++) sum += i ^ sum << 3; return push((int)(sum & 1)) < 0; }
E
gcc -g -O0 -o p p.c || skip 'no compiler'
"$REC" -o t ./p || fail rec
# The log that is read is the one that is written.
cp "$g" x.log; chmod 640 x.log; ln -s x.log link
h heap --read=x.log --log=x.log; cmp x.log "$g" || fail 'the log was destroyed'
h heap --read=x.log --log=link; cmp x.log "$g" && [ -L link ] || fail 'a link'
[ "$(stat -c %a x.log)" = 640 ] || fail "its mode is $(stat -c %a x.log)"
cp "$m" x.ljm; h memprof --read=x.ljm --ljm=x.ljm >out; cmp x.ljm "$m" || fail 'the file of memprof was destroyed'
# What is refused, or fails half-way, leaves what was there, and nothing else.
printf precious >keep; mkdir dir; cp keep dir
refused 'no such function' heap --log=keep --on=nothing t
refused 'no such function' heap --html=keep --on=nothing t
refused 'no such value' memprof --svg=keep --value=nothing t
for form in 'heap --html' 'heap --on=push --log' 'memprof --html' 'memprof --ljm' 'memprof --pprof' 'memprof --speedscope' 'leaks --html' 'leaks --flame' 'profile --html' 'profile --sysprof'; do
	# shellcheck disable=SC2086
	(ulimit -f 1; exec "$HINDSIGHT" ${form% *} -q "${form##* }=dir/keep" t >out 2>err); rc=$?
	[ $rc = 0 ] && cp keep dir; [ $rc = 0 ] || { [ $rc = 125 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'File too large' err; } || fail "$form, too large: exit $rc: $(cat err)"
	[ "$(cat dir/keep)" = precious ] && [ "$(ls dir)" = keep ] || fail "$form: what was there is gone: $(ls dir)"
	# shellcheck disable=SC2086
	h ${form% *} -q "${form##* }=dir/keep" t >out
	[ ! -s out ] && [ -s dir/keep ] && [ "$(ls dir)" = keep ] || fail "$form: $(ls dir), $(cat out)"
	# shellcheck disable=SC2086
	h ${form% *} -q "${form##* }=-" t >out
	case $form in *pprof|*profile*|*html) [ -s out ] ;; *) cmp -s out dir/keep ;; esac || fail "$form=- is not what goes into a file"
	cp keep dir
done
refused 'no directory' leaks --html=dir/none/x t; refused 'a directory' leaks --html=dir t; refused 'no name' leaks --html= t; refused 'no name' memprof --ljm= t
(ulimit -f 1; refused 'pack, too large' pack -o new.hst t; [ ! -e new.hst ] && grep -q 'File too large' err) || fail "pack: $(cat err)"
(ulimit -f 1; refused 'read, too large' memprof --read="$m" --html=new.html; [ ! -e new.html ]) || fail "memprof: $(cat err)"
[ ! -c /dev/full ] || refused 'full' memprof --read="$m" --html=/dev/full
# A pipe with a name, and a file whose directory takes no other.
mkfifo pipe; cat pipe >piped & h heap --read="$g" --log=pipe; wait; cmp piped "$g" || fail 'a pipe'
# Standard output: the file and no report.
h memprof --read="$m" --ljm=- >out; cmp out "$m" || fail 'memprof --ljm=-'
h memprof --read="$m" --html=- >out; head -c 20 out | grep -qi '<!doctype' && ! grep -q 'HEAP SUMMARY\|allocs, ' <(tail -5 out) || fail 'memprof --html=-'
h heap --read="$g" --log=- >out; cmp out "$g" || fail 'heap --log=-'
h heap -q --on=push:v=v --log=- --html=page.html t >out; [ -s page.html ] && h heap --read=out | grep -q "'push'" || fail 'heap --log=- --html'
h pack -o f.hst t >out; h pack -o - t >out; cmp out f.hst || fail 'pack -o -'
[ ! -e ./- ] || fail 'there is a file called -'
refused 'two' memprof --read="$m" --html=- --ljm=-; refused 'two' memprof --html=- --json t; refused 'two' memprof --pprof=- --list t; refused 'two' leaks --svg=- --dot=- t
refused 'two' leaks --html=- --json t; refused 'two' heap --read="$g" --log=- --html=-; refused 'two' heap --read="$g" --log=- 0x10; refused 'two' pack --json -o - t
refused 'two' profile --pprof=- --json t; refused 'two' jit --perf-map=- --jitdump=- t; refused 'one file' leaks --svg=a --dot=a t
[ ! -e a ] || fail 'it wrote one of them'
exit 0
