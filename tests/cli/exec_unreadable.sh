#!/bin/bash
# test: timeout=120
# An ordinary user's program executes one that may not be read, by itself, as a script's interpreter or with such a loader: that fails with
# EACCES and one line, and the recording goes on.  Root records it.
. "$LIB"
need gcc setpriv
[ "$(id -u)" = 0 ] || skip 'needs root'
d=$TMP; while [ "$d" != / ]; do d=${d%/*}; d=${d:-/}; [ "$(stat -c %A "$d" | cut -c10 | tr t x)" = x ] || skip "$d is closed to others"; done
chmod 711 "$TMP"; chmod 755 .
mkdir w; chmod 777 w; cp "$REC" "$REPLAY" "$HINDSIGHT" w/
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$PWD/w" HINDSIGHT_TRACE_DIR="$PWD/w/traces" "$@"; }
nobody test -x w/rec || skip 'files are closed to others'
cp "$(readlink -f /lib64/ld-linux-x86-64.so.2)" ld.so; cp /bin/id x; chmod 711 x ld.so
echo 'int main(void) { return 0; }' >m.c
gcc -o loader m.c "-Wl,--dynamic-linker=$PWD/ld.so" && gcc -o plain m.c || fail gcc
printf '#!%s -x\n' "$PWD/x" >script; printf '#!/bin/sh\necho script\n' >fine; chmod 755 script fine
cp plain suid; chmod 4755 suid; cp x noexec; chmod 700 noexec
all='for p in ./x ./script ./loader ./noexec ./fine ./suid; do $p; echo "$p: $?"; done 2>/dev/null; echo end'
nobody w/rec --checksum -o w/t sh -c "$all" >out 2>said || fail "rec: $?, $(cat said)"
printf '%s\n' './x: 126' './script: 126' './loader: 126' './noexec: 126' script './fine: 0' './suid: 0' end | cmp -s - out || fail "$(cat out)"
[ "$(cat said)" = 'hindsight: ./x cannot be recorded: it may be executed but not read; to execute it is answered EACCES (run rec as root)' ] || fail "said: $(cat said)"
nobody w/replay -a w/t >again 2>/dev/null || fail "replay: $?"
cmp -s out again || fail 'replay: other output'
nobody w/rec -o w/none ./x >out 2>said; rc=$?
[ $rc = 125 ] && [ "$(wc -l <said)" = 1 ] && grep -q 'may be executed but not read' said || fail "rec ./x: $rc, $(cat said)"
nobody w/rec -o w/none ./loader >out 2>said; rc=$?
[ $rc = 125 ] && [ "$(wc -l <said)" = 1 ] || fail "rec ./loader: $rc, $(cat said)"
[ ! -e w/none ] || fail 'a trace was left behind'
"$REC" -o root setpriv --reuid 65534 --regid 65534 --clear-groups sh -c './x -u; ./loader' >out || fail 'rec as root'
[ "$(cat out)" = 65534 ] || fail "as root: $(cat out)"
"$REPLAY" -a root >again || fail 'replay as root'
cmp -s out again || fail 'replay as root: other output'
