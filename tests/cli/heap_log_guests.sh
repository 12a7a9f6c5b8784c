#!/bin/bash
# test: timeout=60
# hindsight heap --preset=lua, --preset=python: prototypes, code and types as the programs themselves name them, at their addresses.
. "$LIB"
need python3
cd "$TMP" || exit 1
/usr/bin/python3 -c 'import msgpack' 2>/dev/null || skip 'no msgpack'
h() { "$HINDSIGHT" heap -q "$@" 2>err || fail "heap $*: $(cat err)"; }
refused() {
	"$HINDSIGHT" heap -q "$@" >out 2>err
	[ $? = 125 ] && [ "$(wc -l <err)" = 1 ] || fail "$*: $(cat err)"
}
cat >read.py <<'X'
import msgpack, struct
def messages(name): return list(msgpack.Unpacker(open(name, "rb"), raw=False))
class Memory:	# the newest piece before a message
	def __init__(self, m): self.m = {}; [self.m.__setitem__(x["address"], x) for x in m if x["type"] == "memory"]
	def u64(self, at):
		for a, x in self.m.items():
			if a <= at and at + 8 <= a + len(x["data"]): return struct.unpack_from("<Q", x["data"], at - a)[0]
		return None
	def object(self, a, hint):
		assert self.m[a]["hint"] == hint, (self.m[a]["hint"], hint)
		return self.m[a]["data"]
X
if command -v lua5.4 >/dev/null; then
	cat >p.lua <<'X'
config = { name = "server", port = 8080, tags = { "a", "b", "c" } }
local M = {}
function M.add(a, b)
	local function inner(c)
		return a + c
	end
	return inner(b)
end
for i = 1, 5 do
	local f = load("return function() return " .. i .. " end")
	f()
end
print(config)
print(M.add(2, 3))
X
	for run in '' 'os.exit(3)' 'os.exit(3, true)' 'error("no")'; do
		rm -rf l; cp p.lua q.lua; echo "$run" >>q.lua
		"$REC" -o l lua5.4 q.lua >said 2>/dev/null
		h --log=lua.log --preset=lua l
		python3 - <<'X' || fail "lua ($run)"
import re, sys
sys.path.insert(0, ".")
from read import *
m = messages("lua.log"); mem = Memory(m)
starts = [x["start"] for x in m if x.get("event") == "new_prototype"]
assert starts[:3] == ["q.lua:0", "q.lua:3", "q.lua:4"], starts
for i in range(1, 6):
	assert starts.count("return function() return %d end:0" % i) == 1 and starts.count("return function() return %d end:1" % i) == 1, starts
assert len(starts) == 13, starts
end = [x for x in m if x.get("event") == "close"]
assert len(end) == 1, end
config = int(re.match(r"table: (0x[0-9a-f]+)", open("said").read())[1], 16)
def text(a):
	b = mem.object(a, "TString")
	n = b[11] if b[8] == 4 else struct.unpack_from("<Q", b, 16)[0]
	return b[24:24 + n].decode()
def pairs(a):
	b = mem.object(a, "Table"); node = struct.unpack_from("<Q", b, 24)[0]; d = mem.m[node]["data"]
	for i in range(1 << b[11]):
		v, tt, key, nxt, k = struct.unpack_from("<QBBxxiQ", d, 24 * i)
		if key & 0x4f == 0x44 and tt & 15: yield text(k), (tt, v)
g = dict(pairs(end[0]["globals"]))
assert g["config"] == (69, config), (g, config)
c = dict(pairs(config))
assert text(c["name"][1]) == "server" and c["port"] == (3, 8080) and sorted(c) == ["name", "port", "tags"], c
tags = mem.object(c["tags"][1], "Table"); array = struct.unpack_from("<Q", tags, 16)[0]
assert [text(mem.u64(array + 16 * i)) for i in range(3)] == ["a", "b", "c"]
X
	done
	h --read=lua.log >listing
	grep -q "^13 .*('event', 'new_prototype')" listing || fail "listing: $(cat listing)"
	h --read=lua.log globals >a
	grep -q 'union Value key_val = {.short_string}' a && grep -q 'enum lua_type tt = LUA_TABLE' a || fail "types: $(cat a)"
	h --read=lua.log --type=Proto --top=20 >a
	[ "$(grep -c 'int linedefined = ' a)" -ge 9 ] && grep -q 'int linedefined = 4$' a || fail "prototypes: $(cat a)"
	refused --log=x --preset=python l
fi
[ "$(/usr/bin/python3 -c 'import sys; print(sys.version_info[:2])' 2>&1)" = '(3, 11)' ] || exit 0
cat >p.py <<'X'
class Session:
    limit = 7
    def __init__(self, user):
        self.user = user
    def token(self):
        return [c for c in self.user]
class Admin(Session):
    pass
class Meta(type):
    pass
class Strange(Admin, metaclass=Meta):
    __slots__ = ("x",)
def handle(user):
    def inner(): return user
    return Session(inner())
answer = "forty-two"
table = {"a": handle("a"), 5: 6}
made = type("made", (Session,), {"k": 1})
exec("def late(x):\n    return x + 1\n")
def walk(co):
    print("code", hex(id(co)), co.co_qualname, co.co_firstlineno)
    for c in co.co_consts:
        if isinstance(c, type(co)): walk(c)
import sys
walk(sys._getframe().f_code)
walk(late.__code__)
for t in Session, Admin, Meta, Strange, made: print("type", hex(id(t)), t.__name__, hex(id(t.__base__)))
print("dict", hex(id(globals())), hex(id(answer)))
X
"$REC" -o y /usr/bin/python3 -S p.py >said || fail 'rec python'
h --log=py.log --preset=python y
python3 - <<'X' || fail python
import sys
sys.path.insert(0, ".")
from read import *
m = messages("py.log"); mem = Memory(m)
said = [l.split() for l in open("said")]
code = {(x["PyCodeObject"], x["name"], int(x["start"].rsplit(":", 1)[1])) for x in m if x.get("event") == "new_code"}
for k in [s for s in said if s[0] == "code"]:
	assert (int(k[1], 16), k[2], int(k[3])) in code, k
types = {(x["PyTypeObject"], x["name"], x["base"]) for x in m if x.get("event") == "new_type"}
for k in [s for s in said if s[0] == "type"]:
	assert (int(k[1], 16), k[2], int(k[3], 16)) in types, k
assert any(n == "signal.struct_siginfo" for _, n, _ in types), len(types)
d = [x for x in m if x.get("event") == "dict" and x["owner"].endswith("p.py")]
k = [s for s in said if s[0] == "dict"][0]
assert len(d) == 1 and d[0]["PyDictObject"] == int(k[1], 16), (d, k)
keys = mem.u64(d[0]["PyDictObject"] + 32); head = mem.object(keys, "PyDictKeysObject")
entries = mem.object(keys + 32 + (1 << head[9]), "PyDictUnicodeEntry[]")
def text(a): b = mem.object(a, "PyUnicodeObject"); return b[48:48 + struct.unpack_from("<Q", b, 16)[0]].decode()
names = {text(a): b for a, b in struct.iter_unpack("<QQ", entries) if b}
assert names["answer"] == int(k[2], 16) and text(names["answer"]) == "forty-two" and "handle" in names, names
assert any(x["owner"] == "Session" and x["used"] >= 6 for x in m if x.get("event") == "dict")
X
h --read=py.log PyDictObject >a
grep -q 'const char \*tp_name = 0x[0-9a-f]* "dict"' a || fail "types: $(cat a)"
h --read=py.log --html=p.html
grep -q 'Session.token' p.html || fail 'no page'
refused --log=x --preset=lua y; refused --log=x --preset=luajit y; refused --log=x --preset=perl y
exit 0
