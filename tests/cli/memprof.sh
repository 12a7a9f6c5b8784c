#!/bin/bash
# test: timeout=60
# hindsight memprof: every event of a program that says what it does, one by one; totals, moments, forms.
. "$LIB"
need python3
"$REC" -o "$TMP/t" "$BUILD/tests/cli/memprof" "$TMP/truth" >/dev/null || fail 'rec failed'
m() { "$HINDSIGHT" memprof -q "$@" "$TMP/t" 2>"$TMP/err" || fail "memprof $*: $(cat "$TMP/err")"; }
m --list >"$TMP/list"
m --json >"$TMP/json"
python3 - "$TMP" <<'EOF' || fail 'the events differ'
import json, re, sys
d = sys.argv[1]
truth, ours, live, most, sites = [], [], {}, 0, {}
for l in open(d + "/truth"):
	w, old, osize, new, size, line = l.split()
	truth.append((w, int(old, 16), int(osize), int(new, 16), int(size), int(line)))
at = 0
for l in open(d + "/list"):
	m = re.match(r"(\d+) \d+ (\S+) (.*?) (\w+) at memprof\.c:(\d+)$", l.rstrip("\n"))
	assert int(l.split()[0]) >= at, l
	at = int(l.split()[0])
	if not m or m[4] not in ("work", "main") or "pthread_create" in l:
		continue
	what, n, line = m[2], m[3].split(), int(m[5])
	old = (int(n[0], 16), int(n[1])) if what[:4] != "allo" else (0, 0)
	new = (int(n[-2], 16), int(n[-1])) if what[:4] != "free" else (0, 0)
	ours.append((what, *old, *new, line))
pthreads = {x[5] for x in ours} - {x[5] for x in truth}
ours = [x for x in ours if x[5] not in pthreads]          # pthread_create()'s own, and those of puts()
assert len(pthreads) <= 2, pthreads
assert len(truth) > 6000, len(truth)
for a, b in zip(truth, ours):
	assert a == b, (a, b)
assert len(truth) == len(ours), (len(truth), len(ours))
j = json.load(open(d + "/json"))
for w, o, os, n, s, line in truth:
	if o: live.pop(o)
	if n: live[n] = (s, line)
for s, line in live.values():
	sites[line] = sites.get(line, 0) + s
for line, size in sites.items():
	got = [x["live_bytes"] for x in j["sites"] if x["line"] == line]
	assert got == [size], (line, size, got)
assert j["curve"]["bytes"][-1] == j["total"]["live_bytes"]
assert j["total"]["peak_bytes"] >= max(j["curve"]["bytes"])
EOF
# The heap of a moment is what --list had until then; a difference is the difference.
e=$(awk '{ n++; e[n] = $1 } END { print e[int(n / 2)] }' "$TMP/list")
m --json --at="$e" >"$TMP/at"
m --json --diff="$e,$(tail -1 "$TMP/list" | cut -d' ' -f1)" --by=stack >"$TMP/diff"
m --json --from="$e" --by=thread >"$TMP/from"
m --leaks --at="$e" >"$TMP/leaks"
python3 - "$TMP" "$e" <<'EOF' || fail 'the heap at a moment is wrong'
import json, re, sys
d, e = sys.argv[1], int(sys.argv[2])
live, later = {}, 0
for l in open(d + "/list"):
	f = l.split()
	if int(f[0]) >= e:
		later += f[2][:4] == "allo"
		continue
	n = f[3:]
	if f[2][:4] != "allo": live.pop(n[0]); n = n[2:]
	if f[2][:4] != "free": live[n[0]] = int(n[1])
a, diff, fr = (json.load(open(d + "/" + x)) for x in ("at", "diff", "from"))
assert a["total"]["live_blocks"] == len(live) and a["total"]["live_bytes"] == sum(live.values()), (a["total"], len(live))
assert sum(s["live_bytes_before"] for s in diff["sites"]) == sum(live.values())
assert fr["total"]["allocs"] == later, (fr["total"], later)
# Who holds how much, moved blocks, too.
place = {}
for s in a["sites"]:
	if s["live_bytes"]: place[s["name"]] = s["live_bytes"]
held = {m[1]: int(m[2]) for m in re.finditer(r"^(.*) holds (\d+)B:", open(d + "/leaks").read(), re.M)}
assert held == place, (held, place)
EOF
# The peer's report, ours, the forms.
m >"$TMP/text"
grep -q '^ALLOCATIONS' "$TMP/text" && grep -q '^HEAP SUMMARY:' "$TMP/text" && grep -q '^LIFETIMES' "$TMP/text" || fail 'text'
for by in stack function trace type thread; do m --by=$by >"$TMP/text"; [ -s "$TMP/text" ] || fail "--by=$by"; done
m --pprof="$TMP/p.gz" --collapsed="$TMP/c" --flame="$TMP/f.html" --html="$TMP/h.html"
grep -q 'main;.*work\|work.* [0-9]' "$TMP/c" || fail "collapsed: $(head -2 "$TMP/c")"
grep -q '@DATA@' "$TMP/h.html" && fail 'no data in the page'
if command -v go >/dev/null; then
	go tool pprof -raw "$TMP/p.gz" >"$TMP/raw" 2>"$TMP/err" || fail "pprof: $(cat "$TMP/err")"
	grep -q 'alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes' "$TMP/raw" || fail 'sample types'
fi
refused() {
	"$HINDSIGHT" memprof "$@" "$TMP/t" >"$TMP/out" 2>"$TMP/err"
	[ $? = 125 ] && [ "$(wc -l <"$TMP/err")" = 1 ] || fail "$*: $(cat "$TMP/err")"
}
# For speedscope: the stacks of the collapsed form, with the same weights.
m --speedscope="$TMP/s.json" --collapsed="$TMP/c" --value=alloc_space
python3 - "$TMP" <<'X' || fail 'speedscope'
import json, sys
d = json.load(open(sys.argv[1] + "/s.json"))
assert d["$schema"] == "https://www.speedscope.app/file-format-schema.json"
p = d["profiles"]
assert [x["name"] for x in p] == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"] and [x["unit"] for x in p] == ["none", "bytes"] * 2
for x in p:
	assert x["type"] == "sampled" and len(x["samples"]) == len(x["weights"]) and x["startValue"] == 0 and x["endValue"] == sum(x["weights"]), x
name = [f["name"] for f in d["shared"]["frames"]]
assert len(set(name)) == len(name)
mine = {";".join(name[f] for f in s): w for s, w in zip(p[1]["samples"], p[1]["weights"])}
theirs = {l.rsplit(" ", 1)[0]: int(l.rsplit(" ", 1)[1]) for l in open(sys.argv[1] + "/c")}
assert mine == theirs and p[d["activeProfileIndex"]]["name"] == "alloc_space", (mine, theirs)
X
refused --at=0; refused --at=-1; refused --diff=exit,3; refused --diff=1; refused --diff=9,3; refused --at=99999999; refused -p 1; refused --by=nothing
exit 0
