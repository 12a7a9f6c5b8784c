#!/bin/bash
# test: timeout=150
# hindsight heap: of each Python that is here all small objects are told, also when libraries lie beside their memory; of one that is too old it
# says that it does not know it.
. "$LIB"
need python3
cd "$TMP" || exit 1
cat >p.py <<'X'
import json
import os, sys
class Pt:
    __slots__ = ('x', 'y')
    def __init__(s, x, y): s.x = x; s.y = y
keep = [Pt(i, str(i)) for i in range(3000)]
os.write(1, b"%d\n" % sys.getallocatedblocks())
os.getppid()
os._exit(0)
X
known=0
for py in /usr/bin/python3 /root/.pyenv/versions/3.*/bin/python3; do
	minor=$("$py" -c 'import sys; print(sys.version_info[1])' 2>/dev/null) || continue
	rm -rf t
	n=$("$REC" -o t "$py" -S p.py) || fail "$py: rec"
	E=$("$HINDSIGHT" dump t | awk '/ getppid\(/ { e = $1 } END { print e }')
	if [ "$minor" -lt 11 ]; then
		"$HINDSIGHT" heap -q t --at="$E" python:keep >out 2>err && fail "$py is known"
		grep -q 'build is not known (CPython 3.11 to 3.13' err || fail "$py: $(cat err)"
		continue
	fi
	[ "$minor" -gt 13 ] && continue
	known=$((known + 1))
	"$HINDSIGHT" heap -q t --at="$E" --json --top=1000 >json 2>err || fail "$py: $(cat err)"
	/usr/bin/python3 - "$n" <<'X' || fail "$py: not all are told"
import json, sys
j, n = json.load(open("json")), int(sys.argv[1])
pts = [t["count"] for t in j["types"] if t["type"] == "Python Pt"]
python = sum(t["count"] for t in j["types"] if t["type"].startswith("Python"))
# beside these there are blocks of malloc(), some of which getallocatedblocks() counts, too
assert pts == [3000] and j["blocks"] >= n * 0.999 and n * 0.95 < python < n * 1.02, (pts, j["blocks"], python, n)
X
	"$HINDSIGHT" heap -q t --at="$E" python:keep >out 2>err && grep -q '__main__.Pt object' out || fail "$py: keep: $(cat out err)"
done
[ $known -gt 0 ] || skip 'no Python 3.11 to 3.13'
