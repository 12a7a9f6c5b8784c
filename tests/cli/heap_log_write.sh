#!/bin/bash
# test: timeout=90
# hindsight heap --log: an audit log of a recording, decoded by another msgpack; LuaJIT's traces as its own -jv told them.
. "$LIB"
need python3 gcc
h() { "$HINDSIGHT" heap -q "$@" 2>err || fail "heap $*: $(cat err)"; }
for o in '-O0' '-O2' '-O0 -fcf-protection=none' '-O1 -gdwarf-4'; do
	rm -rf t
	# shellcheck disable=SC2086
	gcc $o -g -o list "$ROOT/tests/cli/heap_log_write.c" || skip 'no compiler'
	"$REC" -o t ./list >said || fail rec
	h --log=log --memory='head:struct node' --memory=count --memory='numbers:int:count' --on='push:v=v:c=c:list=list' --on='done:n=n:head=head' t
	[ ! -s err ] || fail "it said: $(cat err)"
	h --read=log >listing
	grep -q "^50 .*('event', 'push')" listing && grep -q "^50 .*('memory', 'node')" listing && grep -q "^50 .*('memory', 'int\[\]')" listing || fail "listing: $(cat listing)"
	h --read=log --log=again; cmp log again || fail 'written once more it is another'
	h --read=log head >a
	grep -q 'int value = 343$' a || fail "types inside: $(cat a)"
	h --read=log --history=int >counts
	[ "$(awk 'NR > 2 { print $3 }' counts)" = "$(seq 0 50)" ] || fail "values of count: $(cat counts)"
	next=$(sed -n 's/.*struct node \*next = \(0x[0-9a-f]*\) -> node$/\1/p' a)
	h --read=log "${next:-none}" >a
	grep -q 'int value = 336$' a || fail "the next node: $(cat a)"
	/usr/bin/python3 -c 'import msgpack' 2>/dev/null || continue
	/usr/bin/python3 - <<'X' || fail "$o: another reader reads something else"
import msgpack, re, struct
m = list(msgpack.Unpacker(open("log", "rb"), raw=False))
push = [x for x in m if x.get("event") == "push"]
assert [x["v"] for x in push] == [i * 7 for i in range(50)] and [x["c"] for x in push] == [i % 26 + 97 for i in range(50)]
assert len({x["list"] for x in push}) == 1
end = [x for x in m if x.get("event") == "done"]
said = open("said").read().split()
assert len(end) == 1 and end[0]["n"] == 50 and end[0]["head"] == int(said[0], 16), end
at, count, numbers = None, None, None
for i, x in enumerate(m):
	if x.get("hint") == "node": at = struct.unpack_from("<i", x["data"])[0]
	if x.get("hint") == "int": count = struct.unpack("<i", x["data"])[0]
	if x.get("hint") == "int[]": numbers = list(struct.unpack("<%di" % (len(x["data"]) // 4), x["data"]))
	if x.get("event") == "push":
		k = x["v"] // 7
		assert count == k and at == (None if not k else (k - 1) * 7) and (numbers or []) == [j * 7 for j in range(k)], (k, at, count, numbers)
lines = [re.match(r"(\d+) (\d+) \('(\w+)', '(.*?)'\)", l).groups() for l in open("listing")]
for n, size, kind, name in lines:
	assert int(n) == sum(1 for x in m if x["type"] == kind and name in (x.get("hint"), x.get("name"), x.get("event"))), name
X
done
refused() {
	"$HINDSIGHT" heap -q "$@" t >out 2>err
	[ $? = 125 ] && [ "$(wc -l <err)" = 1 ] || fail "$*: $(cat err)"
}
refused --log=x; refused --log=x --on=nothing; refused --log=x --on=push:v; refused --log=x --on=push::; refused --on=push; refused --log=/nonexistent/x --on=push
refused --log=x --on=push --memory=; refused --log=x --on=push --memory=0x10:int:99999999999999; refused --log=x --preset=luajit; refused --log=x --preset=perl
[ ! -c /dev/full ] || refused --log=/dev/full --on=push
# What has no value is left out, and told in one line.
for bad in 'nothing:int' 'head->next->next->next->next->nothing:int' 'head:struct nothing' '*****head:int' 'head->:int' '((((((:int' 'numbers:int:nothing'; do
	h --log=x --on=push --memory="$bad" t
	[ "$(wc -l <err)" -le 1 ] || fail "$bad: $(cat err)"
	h --read=x >listing; grep -q "^50 .*('event', 'push')" listing || fail "$bad: $(cat listing)"
done
# LuaJIT says itself what it compiles.
command -v luajit >/dev/null || exit 0
luajit -v 2>&1 | grep -q 'LuaJIT 2\.1' || exit 0
cat >p.lua <<'X'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local s = fib(20)
local t = {}
for i = 1, 200 do t[#t + 1] = function(x) return s * x end end	-- FNEW cannot be compiled
for i = 1, 40 do s = s + loadstring("local a = ... local r = 0 for i = 1, 100 do r = r + a * " .. i .. " end return r")(i) end
for i = 1, 300 do if i % 3 == 0 then s = s + i else s = s - 1 end end
X
"$REC" -o l luajit -jv p.lua >/dev/null 2>jv || fail 'rec luajit'
h --log=lua.log --preset=luajit --html=p.html l
h --read=lua.log >listing
grep -q "('event', 'new_prototype')" listing || fail "luajit: $(cat listing)"
python3 - <<'X' || fail "other traces than LuaJIT's own -jv: $(tail -3 jv)"
import json, re
d = json.loads(open("p.html").read().split('id="data">')[1].split("</script>")[0])
ours = [(t["number"], t["parent"], t["exit"]) for t in d["traces"]]
theirs, starts, aborts = [], {}, set()
for l in open("jv"):
	m = re.match(r"\[TRACE +(\d+) (?:\((\d+)/(\w+)\) )?(\S+) (.*)\]$", l.rstrip())
	if m and m[3] != "stitch":
		theirs.append((int(m[1]), int(m[2] or 0), int(m[3] or 0)))
		if m[4].startswith("p.lua"): starts[len(theirs) - 1] = m[4]
	elif m:
		theirs.append((int(m[1]), None, None))
	m = re.match(r"\[TRACE --- (p\.lua:\d+) -- (.*?)( at \S+)?\]$", l.rstrip())
	if m: aborts.add((m[1], re.sub(r"(bytecode) \d+$", r"\1", m[2])))
assert len(theirs) > 10, theirs
assert len(ours) == len(theirs), (ours, theirs)
for i, (a, b) in enumerate(zip(ours, theirs)):
	assert a[0] == b[0] and (b[1] is None or a == b), (i, a, b)
for i, place in starts.items():
	assert d["traces"][i]["start"] == place, (i, place, d["traces"][i]["start"])
told = {(a["start"], a["reason"]) for a in d["aborts"]}
assert ("p.lua:4", "NYI: bytecode") in told and told <= aborts | {(p, "retry recording") for p, _ in aborts}, (told, aborts)
for t in d["traces"]:
	assert sum(len(r[1]) // 2 for r in t["mcode"]) == t["size"] > 0
X
exit 0
