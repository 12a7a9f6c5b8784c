#!/bin/bash
# test: timeout=120
# A file that nobody has mapped is written to by a process that is not recorded, at once behind the last unmapping; the next
# mapping shows that, in replay too, and no line says that the file is shared.
. "$LIB"
P=$BUILD/tests/cli/mmap_kept
mkfifo to from
head -c $((64 << 20)) /dev/zero > file
python3 -c '
import os
file, to, answer = os.open("file", os.O_WRONLY), os.open("to", os.O_RDONLY), os.open("from", os.O_WRONLY)
while c := os.read(to, 1):
    if c not in b"cg":
        os.pwrite(file, c, 0)
    os.write(answer, c)
' & peer=$!
timeout 60 "$REC" --checksum -o trace -- "$P" file to from > rec.out 2> rec.err || fail "rec exited $?: $(cat rec.err)"
wait $peer
[ "$(tail -4 rec.out | tr '\n' ,)" = '15 p,16 q,17 r,18 s,' ] || fail "rec: $(cat -v rec.out)"
[ ! -s rec.err ] || fail "rec says: $(cat rec.err)"
for i in 1 2; do
	timeout 60 "$REPLAY" -a trace > replay.out 2> replay.err || fail "replay: $(cat replay.err)"
	cmp -s rec.out replay.out || fail 'replay printed something else'
done
exit 0
