#!/bin/bash
# test: timeout=240
# hindsight pack --sources takes along debug files that only a link names (.gnu_debuglink, dwz); where there are none of them, gdb, leaks and bt show lines.
. "$LIB"
need gcc gdb objcopy
dir=$PWD
# make_split HOW: work/p and its debug file, which no build-id leads to but for "id"
make_split() {
	rm -rf work t w pack.hst && mkdir -p work/sub work/.debug || fail mkdir
	cat >work/sub/lk.c <<'E2'
#include <stdlib.h>
struct sum { int a, b; };
int add(struct sum s)
{
	void *p = malloc(64);	/* here: it is lost */
	p = NULL;
	return s.a + s.b + (p != NULL);
}
int main(void)
{
	struct sum s = { 1, 2 };
	return add(s) - 3;
}
E2
	local id=--build-id=none to=p.debug
	case $1 in
	*id) id=--build-id ;;
	.debug) to=.debug/p.debug ;;
	esac
	cd work || fail cd
	gcc -g -O0 -Wl,$id -o p sub/lk.c && objcopy --only-keep-debug p "$to" && strip -g p &&
		objcopy --add-gnu-debuglink="$to" p || fail "split $1"
	case $1 in dwz*)
		cp p.debug q.debug
		if [ "$1" = dwz-whole-id ]; then dwz -m common -M "$dir/work/common" p.debug q.debug
		else dwz -m common -M common p.debug q.debug; fi || fail dwz
		objcopy --remove-section=.gnu_debuglink p && objcopy --add-gnu-debuglink=p.debug p || fail relink
		readelf -S p.debug | grep -q gnu_debugaltlink || fail 'dwz made no common file'
	esac
	cd ..
}
kinds="beside .debug id"
! command -v dwz >/dev/null || kinds="$kinds dwz dwz-whole-id"
for how in $kinds; do
	make_split $how
	"$REC" -o t work/p || fail rec
	"$HINDSIGHT" pack --sources -o pack.hst t >said || fail 'pack --sources'
	rm -rf t work
	"$HINDSIGHT" unpack -o w pack.hst >/dev/null || fail unpack
	timeout 100 "$REPLAY" --batch --ex 'break add' --ex continue --ex 'print s' --ex 'list 5,5' --ex 'hindsight bt' w >out 2>&1 </dev/null
	grep -q '^\$1 = {a = 1, b = 2}' out || fail "$how: gdb has no types: $(tail -5 out | tr '\n' '|')"
	grep -q 'here: it is lost' out || fail "$how: gdb shows no source: $(tail -5 out | tr '\n' '|')"
	grep -q 'main.*lk.c:12' out || fail "$how: hindsight bt in gdb has no lines: $(tail -5 out | tr '\n' '|')"
	"$HINDSIGHT" leaks -q w >out 2>err || fail "$how: leaks: $(tail -1 err)"
	grep -q 'add at lk.c:5: void \*p = malloc(64)' out || fail "$how: leaks: $(head -4 out)"
done
# What an untrusted trace links to stays closed.
echo secret >secret
rm -f w/sources.d/debug/evil; ln -s "$dir/secret" w/sources.d/debug/evil
timeout 100 "$REPLAY" --batch --ex 'remote get /evil got' w >out 2>&1 </dev/null
[ ! -s got ] || fail "a file outside the trace was served"
exit 0
