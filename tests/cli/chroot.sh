#!/bin/bash
# test: timeout=180
# Programs whose files have other names for rec than for themselves (chroot, bwrap, a newline in the name, a file system that is gone) replay.
. "$LIB"
need gcc chroot unshare
[ "$(id -u)" = 0 ] || skip 'needs root'
d=$TMP; while [ "$d" != / ]; do d=${d%/*}; d=${d:-/}; [ "$(stat -c %A "$d" | cut -c10 | tr t x)" = x ] || skip "$d is closed to others"; done
echo '#include <stdio.h>
int main(int argc, char **argv) { printf("%s runs\n", argv[argc - 1]); return 0; }' >m.c
ld=$(readlink -f /lib64/ld-linux-x86-64.so.2)
libc=$(ldd /bin/true | sed -n 's/.*libc.so.6 => \([^ ]*\) .*/\1/p')
chmod 711 "$TMP"; chmod 777 .
mkdir -p mini/bin mini/lib64 "mini${libc%/*}" w; chmod 777 w
gcc -O1 -o mini/bin/m m.c || fail gcc
cp "$ld" mini/lib64/ld-linux-x86-64.so.2; cp "$(readlink -f "$libc")" "mini$libc"
cp "$REC" "$REPLAY" mini w/; chmod -R a+rX mini w 2>/dev/null
n=0
try() {	# try WHO COMMAND...: as root or nobody; rec must give what the plain run gives, and replay the same
	local who=() rc i; n=$((n + 1))
	[ "$1" = root ] || who=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$PWD/w" HINDSIGHT_TRACE_DIR="$PWD/w/traces")
	shift
	"${who[@]}" "$@" >plain.out 2>plain.err || { echo "left out: $*: $(tail -1 plain.err)"; return; }
	timeout 60 "${who[@]}" w/rec --checksum -o w/t$n "$@" >rec.out 2>rec.err; rc=$?
	[ $rc = 0 ] || fail "rec $*: $rc: $(tail -1 rec.err)"
	same "rec $*" plain.out rec.out
	timeout 60 "${who[@]}" w/replay -a w/t$n >rep.out 2>rep.err; rc=$?
	[ $rc = 0 ] || fail "replay of $*: $rc: $(tail -1 rep.err)"
	same "replay of $*" plain.out rep.out
}
try root chroot mini /bin/m chroot
try root unshare -R mini /bin/m root
try root sh -c 'chroot mini /bin/m one; unshare -m chroot mini /bin/m two; echo after'
try nobody unshare -r chroot mini /bin/m user
if command -v bwrap >/dev/null; then
	try nobody bwrap --bind mini / /bin/m bwrap
	try root bwrap --bind mini / --unshare-pid /bin/m pid
	try nobody bwrap --bind / / --unshare-user --uid 0 --gid 0 --cap-add ALL chroot "$PWD/mini" /bin/m both
fi
# newlines
gcc -O1 -o w/newline m.c "-Wl,--dynamic-linker=$PWD/w/l
d.so" || fail gcc
cp "$ld" "w/l
d.so"
cp w/newline "w/new
line"
for who in root nobody; do try $who w/newline name; try $who "w/new
line" names; done
# the loader lies in a file system that is not in the tree any more
gcc -O1 -o w/gone m.c -Wl,--dynamic-linker=./ld.so || fail gcc
cp "$ld" w/ld
gone='cd w; mkdir -p m; mount -t tmpfs x m; cp ld m/ld.so; cp gone m; cd m; umount -l ../m; ./gone fs; echo after'
try root unshare -m sh -c "$gone"
try nobody unshare -rm sh -c "$gone"
