#!/bin/bash
# test: timeout=120
# The disk fills while recording: the program keeps its output and its files, or dies as one line
# said; the trace replays up to there.
. "$LIB"
prog='import os, sys
for i in range(40000):
    sys.stdout.write("%d %s\n" % (i, os.urandom(100).hex())); sys.stdout.flush()
open(sys.argv[1], "w").write("kept")'
judge() {	# judge WHAT RC
	n=$(grep -c . err)
	[ "$n" = 1 ] || fail "$1: exit $2, $n lines on stderr: $(head -3 err | tr '\n' '|')"
	if [ "$2" = 0 ]; then
		[ "$(wc -l < out)" = 40000 ] || fail "$1: exit 0 but only $(wc -l < out) lines of output"
		[ "$(cat file)" = kept ] || fail "$1: the program's file is not there"
	else
		[ "$2" = 125 ] || fail "$1: exit $2: $(head -1 err)"
	fi
	fails "$1: replay" "$REPLAY" -a "$3"
	prefix "$TMP/out" out || fail "$1: the replay's output is not a prefix"
	[ -s "$TMP/out" ] || fail "$1: nothing replays"
	"$HINDSIGHT" info "$3" >/dev/null 2>&1 || [ $? = 125 ] || fail "$1: hindsight info fails"
}
# What it maps is in the store already, so that only the events grow.
"$REC" -o first /usr/bin/python3 -S -c 'import os, sys' || fail 'rec'
# A limit on the size of files stops only the recorder's: the program writes to a pipe and little more.
(ulimit -f 1500; exec "$REC" -o t /usr/bin/python3 -S -c "$prog" "$PWD/file" 2> err) | cat > out
judge 'file size limit' "${PIPESTATUS[0]}" t
# A small file system, where we may mount one.
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo 'no small tmpfs without root'; exit 0; }
mkdir small copy; rm -f file
unshare -m bash -c '
mount -t tmpfs -o size=13m tmpfs small || exit 77
"$1" -o small/t /usr/bin/python3 -S -c "$2" "$PWD/file" > out 2> err; echo $? > rc
cp -r small/t copy/t 2>/dev/null; exit 0' bash "$REC" "$prog" || exit 0
judge 'full tmpfs' "$(cat rc)" copy/t
