#!/bin/bash
# test: timeout=120
# hindsight pack of a trace that is torn or damaged: all that is there is packed, then one line says what is wrong, and 125.
. "$LIB"
"$REC" -o good sh -c 'echo said; cat /etc/hostname; exit 3' >said || [ $? = 3 ] || fail rec
packs() {	# packs WHAT TRACE WORDS
	rm -rf p.hst u
	"$HINDSIGHT" pack -o p.hst "$2" >out 2>err; rc=$?
	[ $rc = 125 ] && [ "$(wc -l <err)" = 1 ] && grep -q "$3" err || fail "$1: exit $rc: $(cat err)"
	grep -q 'p.hst: [0-9]* files' out || fail "$1: it does not say what is packed: $(cat out)"
	"$HINDSIGHT" unpack -o u p.hst >/dev/null 2>err || fail "$1: the pack cannot be unpacked: $(cat err)"
	"$HINDSIGHT" pack --sources --json -o s.hst "$2" >out 2>err; [ $? = 125 ] && [ "$(wc -l <err)" = 1 ] && [ -s s.hst ] || fail "$1, with sources: $(cat err)"
	rm -f s.hst
	# What replays of it is what replays of the original.
	"$REPLAY" -a "$2" >one 2>/dev/null; "$REPLAY" -a u >two 2>/dev/null; same "$1: replay" one two
}
damage() { rm -rf t; cp -r good t; chmod -R u+w t; }
flip() { python3 -c 'import sys; b = bytearray(open(sys.argv[1], "rb").read()); b[len(b) * 3 // 4] ^= 4; open(sys.argv[1], "wb").write(b)' "$1"; }
need python3
file=$(find good/files -size +8k -size -400k | sort | head -1); file=files/${file##*/}
damage; rm "t/$file"; packs 'a file is missing' t "damaged: .*$file"
damage; truncate -s -1 "t/$file"; packs 'a file is cut' t "damaged: .*$file"
damage; flip "t/$file"; packs 'a file has changed' t "damaged: .*$file"
damage; rm -r t/files; packs 'all files are missing' t 'damaged: '
damage; flip t/data; packs 'a flipped bit of the data' t 'damaged'
damage; flip t/events; packs 'a flipped bit of the events' t 'damaged'
damage; truncate -s -100 t/events; packs 'events are cut' t 'damaged'
damage; rm t/end; packs 'no end' t 'ends early'
damage; "$HINDSIGHT" pack -o whole.hst t >out 2>err && [ ! -s err ] || fail "a whole one: $(cat err)"
# A recorder that was killed.
"$REC" -o torn sh -c 'echo said; for i in $(seq 300); do cat /etc/hostname >/dev/null; done; sleep 60' >out 2>err & p=$!
wait_for 20 grep -q said out; sleep 0.5
kill -9 "$p"; wait "$p" 2>/dev/null
wait_for 20 sh -c "! '$HINDSIGHT' info torn 2>/dev/null | grep -q 'still being'"
packs 'torn' torn 'ends early after event'
"$HINDSIGHT" dump torn >one 2>/dev/null; "$HINDSIGHT" dump u >two 2>/dev/null; same 'dump' one two
exit 0
