#!/bin/bash
# test: timeout=180
# hindsight pack --sources takes along sources and separate debug files; on a machine that has neither, gdb and leaks show them.
. "$LIB"
need gcc gdb objcopy
mkdir -p "work/sub dir" work/inc work/build
cat >"work/sub dir/a.c" <<'E2'
#include <stdlib.h>
#include "../inc/b.h"
int main(void)
{
	void *p = lose(64);	/* here: it is lost */
	p = NULL;
	return p != NULL;
}
E2
cat >work/inc/b.h <<'E2'
static void *lose(size_t n)
{
	return malloc(n);	/* in the header */
}
E2
(cd work/build && gcc -g -O0 -o ../../p "../sub dir/a.c") || fail gcc
# With debug information in a file of its own, too, by build-id and by its link; where only root may put it.
has_debug=
if [ "$(id -u)" = 0 ]; then
	id=$(readelf -n p | sed -n 's/.*Build ID: //p')
	at=/usr/lib/debug/.build-id/${id:0:2}
	had=; [ -d "$at" ] && had=1
	mkdir -p "$at" && objcopy --only-keep-debug p "$at/${id:2}.debug" && objcopy --strip-debug p && has_debug=$at/${id:2}.debug
	trap 'rm -f "$has_debug"; [ -n "$had" ] || rmdir "$at" 2>/dev/null' EXIT
fi
touch -d '2001-02-03 04:05:06 UTC' "work/sub dir/a.c" work/inc/b.h
"$REC" -o t ./p || fail rec
"$HINDSIGHT" pack -o without.hst t >/dev/null || fail 'pack'
"$HINDSIGHT" pack --sources -o with.hst t >said || fail 'pack --sources'
grep -q 'source and debug files' said || fail "pack said: $(cat said)"
# A machine that has none of it.
rm -rf t work p; [ -z "$has_debug" ] || rm -f "$has_debug"
mkdir bare && cd bare || exit 1
"$HINDSIGHT" unpack -o u ../with.hst >/dev/null || fail 'unpack'
"$HINDSIGHT" unpack -o w ../without.hst >/dev/null || fail 'unpack'
mv u moved			# traces move
[ "$(find moved/files -newermt 2001-02-03 ! -newermt 2001-02-04 | wc -l)" = 2 ] || fail "times of sources: $(ls -l moved/files)"
look() { timeout 60 "$REPLAY" --batch --ex 'break lose' --ex continue --ex 'list 3,3' --ex up --ex 'info source' --ex 'list 5,5' "$1" >out 2>&1 </dev/null; }
look moved || fail "replay: $(tail -2 out)"
! grep -q 'more recent than' out || fail "gdb warns: $(grep 'more recent' out)"
grep -q 'in the header' out || fail "gdb does not show the header: $(tail -5 out | tr '\n' '|')"
grep -q 'here: it is lost' out || fail "gdb does not show the source: $(tail -5 out | tr '\n' '|')"
look w; ! grep -q 'in the header' out || fail 'sources without --sources?'
"$HINDSIGHT" leaks moved >out 2>err || fail "leaks: $(tail -1 err)"
grep -q 'lose at b.h:3: return malloc(n);' out || fail "leaks: $(grep lose out | head -2)"
grep -q 'main at a.c:5: void \*p = lose(64)' out || fail "leaks: $(grep main out | head -2)"
"$REPLAY" -a moved || fail 'replay -a'
# It can be packed again, with all of it, and what somebody else writes into it leads nowhere.
"$HINDSIGHT" pack -o again.hst moved >/dev/null || fail 'pack again'
"$HINDSIGHT" unpack -o third again.hst >/dev/null && look third && grep -q 'in the header' out || fail 'packed again'
h=$(sed -n 's/^s \([0-9a-f]*\) .*/\1/p' third/sources | head -1)
printf 's %s /../../../out\ns %s /a\ns %s /a/b\ns %s x\nd %s ../../../out\ns %s /x/./y\ns /etc/passwd /z\np /../../../dir\nq\n\ns %s /good\n' $h $h $h $h $h $h $h >third/sources
rm -rf third/sources.d; "$HINDSIGHT" pack -o evil.hst third >/dev/null || fail 'pack evil'
"$HINDSIGHT" unpack -o fourth evil.hst >/dev/null || fail 'unpack evil'
(cd fourth/sources.d && find . \( -type l -o -type f \) | sort) >found
printf '%s\n' ./src/a ./src/good | cmp -s - found || fail "foreign paths: $(tr '\n' ' ' <found)"
[ ! -e out.c ] && [ ! -e ../dir ] && [ ! -e dir ] || fail 'outside'
find fourth/sources.d -type l -printf '%l\n' | grep -v '^\(\.\./\)*files/[0-9a-f]*$' && fail 'a link that leads elsewhere'
exit 0
