#!/bin/bash
# test: timeout=120
# Memory that is shared with a process that is not recorded: what it wrote before an answer is in the recording, and one line says that it is shared.
. "$LIB"
P=$BUILD/tests/cli/outside

for kind in map read write sysv; do
	mkdir $kind; cd $kind || exit
	mkfifo ask answer
	head -c 16384 /dev/zero > file
	"$P" $kind outside & peer=$!
	case $kind in map|read) for i in $(seq 200); do grep -q "$PWD/file" /proc/$peer/maps && break; sleep 0.05; done;; esac
	timeout 60 "$REC" --checksum -o trace -- "$P" $kind inside > rec.out 2> rec.err || fail "$kind: rec exited $?: $(cat rec.err)"
	wait $peer
	[ "$(tail -1 rec.out)" = EXIT-SUCCESS ] || fail "$kind: $(tail -1 rec.out)"
	[ "$(grep -c 'not recorded' rec.err)" = 1 ] && [ "$(wc -l < rec.err)" = 1 ] || fail "$kind: rec says: $(cat rec.err)"
	for i in 1 2; do
		timeout 60 "$REPLAY" -a trace > replay.out 2> replay.err || fail "$kind: replay: $(cat replay.err)"
		cmp -s rec.out replay.out || fail "$kind: replay printed something else"
	done
	[ $kind != sysv ] || ipcrm -M "$(python3 -c 'import os; s=os.stat("file"); print(hex((7<<24)|((s.st_dev&0xff)<<16)|(s.st_ino&0xffff)))' )" 2>/dev/null
	cd ..
done
# nobody outside: no line, and nothing is read again
mkdir alone; cd alone || exit
mkfifo ask answer
head -c 16384 /dev/zero > file
timeout 60 "$REC" --checksum -o trace -- bash -c "$P map outside & $P map inside; wait" > rec.out 2> rec.err || fail "alone: rec exited $?"
[ ! -s rec.err ] || fail "alone: rec says: $(cat rec.err)"
timeout 60 "$REPLAY" -a trace | cmp -s rec.out || fail 'alone: replay printed something else'
exit 0
