#!/bin/bash
# test: timeout=120
# hindsight profile --html: the data are whole, the source is there, and a browser draws it.
. "$LIB"
need python3
cp "$ROOT/tests/cli/profile_loops.c" loops.c
gcc -O1 -g -pthread -o loops "$PWD/loops.c" || skip 'no compiler'
"$REC" -o t ./loops loops 10000000 >/dev/null || fail rec
"$HINDSIGHT" profile -q --html=p.html t >out 2>err || fail "html: $(cat err)"
[ ! -s out ] && [ ! -s err ] || fail "it said: $(cat out err)"
python3 - <<'X' || fail 'page'
import json
page = open("p.html").read()
d = json.loads(page.split('id="data">')[1].split("</script>")[0])
names = [f[0] for f in d["frames"]]
assert {"main", "sixty", "thirty", "ten"} <= set(names), names
assert sum(s[1] for s in d["stacks"]) == sum(n for b in d["time"] for n in b) > 0
source = [s for f, s in d["sources"].items() if f.endswith("/loops.c")][0]
line = [f[2] for f in d["frames"] if f[0] == "sixty"][0]
assert "LOOP(sixty)" in source[line - 1], source[line - 1]
assert "/*JS*/" not in page and "/*CSS*/" not in page and "http" not in page.split('id="data">')[0]
X
if command -v node >/dev/null; then
	python3 -c 'p = open("p.html").read(); open("p.js", "w").write(p.split("<script>\n")[1].split("</script>")[0])'
	node --check p.js 2>err || fail "script: $(head -3 err)"
fi
command -v chromium >/dev/null || exit 0
root=; [ "$(id -u)" != 0 ] || root="--no-sandbox --no-zygote"
HOME=$PWD TMPDIR=/tmp timeout 60 chromium --headless $root --disable-gpu --no-first-run --disable-background-networking --disable-crash-reporter --disable-breakpad \
	--user-data-dir="$PWD/profile" --virtual-time-budget=3000 --dump-dom "file://$PWD/p.html" >dom 2>err
status=$?
for _ in 1 2 3 4 5 6 7 8 9 10; do		# its helpers may outlive it: those of this folder
	pkill -KILL -f -- "--user-data-dir=$PWD/profile" || break
	sleep 0.1
done
[ $status = 0 ] || exit 0	# no browser here
[ -s dom ] || exit 0
grep -q '<td>sixty</td>' dom || fail "no table drawn: $(head -c 300 dom)"
grep -qE '<div title="sixty \([0-9]+ samples' dom || fail 'no flame graph drawn'
grep -q 'LOOP(sixty)</td>' dom || fail 'no source drawn'
