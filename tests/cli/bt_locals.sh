#!/bin/bash
# test: timeout=90
# hindsight bt --locals: variables of Lua, LuaJIT and Python equal what the program prints of them; in a trace, too, or it says that they are not known.
. "$LIB"
need python3
here=$ROOT/tests/cli
cat >say.lua <<'END_OF'
local text
do
local within = {}
function text(v, depth)
	local kind = math.type and math.type(v) or type(v)
	if type(v) == 'string' then
		return '"' .. v:gsub('[\\"]', '\\%0'):gsub('\n', '\\n'):gsub('\t', '\\t'):gsub('%z', '\\0') .. '"'
	elseif type(v) ~= 'table' then
		return tostring(v)
	elseif depth == 3 or within[v] then
		return tostring(v)
	end
	local out, next_index = {}, 1
	within[v] = true
	for k, x in pairs(v) do
		local s = text(x, depth + 1)
		if k == next_index then
			next_index = k + 1
		elseif type(k) == 'string' and k:match('^[%a_][%w_]*$') and k ~= 'end' then
			s = k .. ' = ' .. s
		else
			s = '[' .. text(k, depth + 1) .. '] = ' .. s
		end
		out[#out + 1] = s
	end
	within[v] = nil
	return '{' .. table.concat(out, ', ') .. '}'
end
end
local function say()
	local out = {}
	for level = 2, 9 do
		local info = debug.getinfo(level, 'Sf')
		if not info then break end
		if info.what ~= 'C' and info.func then
			out[#out + 1] = 'frame ' .. info.linedefined .. '\n'
			local i = 1
			while true do
				local name, v = debug.getlocal(level, i)
				if not name then break end
				if name:sub(1, 1) ~= '(' then out[#out + 1] = '\t' .. name .. '\t' .. text(v, 0) .. '\n' end
				i = i + 1
			end
			i = -1
			while true do
				local name, v = debug.getlocal(level, i)
				if not name then break end
				out[#out + 1] = '\t...[' .. -i .. ']\t' .. text(v, 0) .. '\n'
				i = i - 1
			end
			i = 1
			while true do
				local name, v = debug.getupvalue(info.func, i)
				if not name then break end
				if name ~= '_ENV' then out[#out + 1] = '\t' .. name .. '\t' .. text(v, 0) .. '\n' end
				i = i + 1
			end
		end
	end
	io.stderr:write('say\n' .. table.concat(out))
end
local shared, count = { 1, 2, nil, 4, ['a b'] = 'x "y"\n', ['end'] = false, [1.5] = { { { {} } } }, z = { 1 } }, 0
local function leaf(n, s)
	local half = n / 2
	do local gone = 1 end
	local e = {}
	local b, no, nothing = true, false
	for i = n, n + 1 do
		local inside = i .. 'th\t\0'
		count = count + 1
		if i % 7 == 0 then say() end
	end
	local later = shared
	return half + #s
end
local Obj = {}
Obj.__index = Obj
function Obj:meth(a, ...)
	local r = leaf(a, ...)
	local f = function() return leaf(a + 1, 'in') + r end
	return f() + select('#', ...)
end
local o = setmetatable({ size = 1e300, neg = -0.25, int = 2^31, inf = 1/0 }, Obj)
local co = coroutine.wrap(function(x) while true do local y = o:meth(x, 'co', x) x = coroutine.yield(y) end end)
for k = 1, 60 do
	o:meth(k, 'two', nil, 'four')
	pcall(leaf, k, 'p')
	co(k)
	string.gsub('a', 'a', function(c) local upper = c:upper() return leaf(k, upper) end)
end
END_OF
cat >trace.lua <<'END_OF'
local ffi = require 'ffi'
ffi.cdef 'long write(int, const void *, size_t);'
local function say(s) ffi.C.write(2, s, #s) end
local fixed, list = 'fixed', { 1, 2, 3 }
local function inner(a, b)
	local sum = a + b
	local k = 12
	if a % 50 == 0 then
		say('say\nframe 5\n\ta\t' .. a .. '\n\tb\t' .. b .. '\n\tsum\t' .. sum .. '\n\tk\t12\nframe 14\n\tn\t' .. b .. '\n\ts\t"' .. fixed .. '"\n\tt\t' ..
			'{1, 2, 3}\n\ti\t' .. a .. '\n\ttwice\t' .. 2 * a .. '\n')
	end
	return sum + k
end
local function outer(n, s)
	local t = list
	local total = 0
	for i = 1, n do
		local twice = 2 * i
		total = total + inner(i, n) + #t + twice
	end
	return total
end
for r = 1, 3 do outer(400, fixed) end
END_OF
cat >loops.lua <<'END_OF'
local ffi = require 'ffi'
ffi.cdef 'long write(int, const void *, size_t);'
local function say(s) ffi.C.write(2, s, #s) end
local function f(n, p)
	local once = n * 3
	local str = 'p' .. p
	local unused = n + 1
	local acc = 0
	for i = 1, 60 do
		local dead = i * 2 + n
		local used = i + n
		for j = 1, 60 do
			acc = acc + j
			if j % 30 == 0 then say('say\nframe 4\n\tn\t' .. n .. '\n\tp\t"' .. p .. '"\n\tonce\t' .. once .. '\n\tstr\t"' .. str .. '"\n\tunused\t' .. n + 1 .. '\n\tdead\t' .. i * 2 + n .. '\n\tused\t' .. i + n .. '\n\tacc\t' .. acc .. '\n\ti\t' .. i .. '\n\tj\t' .. j .. '\n') end
			if j == 100 then acc = used end
		end
	end
	return acc + once + #str
end
for k = 1, 9 do f(k, 'q' .. k) end
END_OF
cat >say.py <<'END_OF'
import collections, sys
Pair = collections.namedtuple('Pair', 'left right')
class Base:
    pass
class Error(ValueError):
    pass
def say():
    out = 'say\n'
    f = sys._getframe(1)
    while f.f_back:
        # a class's cells are no variables of its frame
        out += 'frame %d\n' % f.f_code.co_firstlineno + ''.join('\t%s\t%s\n' % (k, repr(v)) for k, v in f.f_locals.items()
                                                                  if k[0] != '.' and k[:2] != '__')
        f = f.f_back
    sys.stderr.write(out)
    sys.stderr.flush()
def leaf(n, *rest, key=None, **more):
    big, small, neg = 3 ** n, n * 1.1, -(2 ** (30 * (n % 5)))
    text, raw = 'it\'s "x"\n' + chr(200 + n) + '\u4e2d\U0001f600\u200b' * (n % 3), bytes(range(n)) + b'"'
    things = [None, True, n % 2 == 0, {}, set(), frozenset({n}), (n,), (), [], {1: {2: [3]}}, range(n), range(0, n, 3), ..., 1e100, 1e16, -1e-5, n + 1j]
    things2 = [leaf, len, Base, int, Base(), Error('bad', n), KeyError('k'), Pair(1, [2]), slice(1, None), Base().__init__, bytearray(raw)]
    more2 = {'a': collections.OrderedDict(a=1, b=n), 'd': collections.defaultdict(list, {n: [n]}), b'k': -0.0, None: float('inf'), (1, 2): float('nan')}
    gone = 1
    del gone
    itself = [1]
    itself.append(itself)
    def inner(x):
        nonlocal small
        small += x
        say()
        return small + n
    r = inner(2)
    later = 1
    return r
def gen(n):
    for i in range(n):
        yield leaf(i, i, key=str(i), other=[i])
class Obj:
    attr = 5
    def __init__(self, v):
        self.v = v
    def meth(self, a):
        return sum(map(lambda q: leaf(q, key='in'), [a]))
def main():
    for x in gen(20):
        pass
    for i in range(8):
        Obj(i).meth(i)
    def decorated():
        class Inside:
            member = [1, 2]
            say()
    decorated()
    [leaf(i) for i in range(3)]
main()
END_OF
same() {	# same WHAT LEAST PROGRAM...: at least so many variables, and which
	rm -rf t
	"$REC" -o t "${@:3}" 2>said || fail "$1: rec: $(tail -3 said)"
	"$HINDSIGHT" bt --json -gl --writes=2 t >found || fail "$1: bt"
	python3 "$here/bt_locals.py" said found "$1" "$2" >out || fail "$1: $(cat out)"
	cat out
}
for lua in lua5.4 lua5.3 lua5.2 lua5.1; do
	command -v $lua >/dev/null && same $lua 1000 $lua say.lua
done
if command -v luajit >/dev/null; then
	same 'luajit -joff' 1000 luajit -joff say.lua
	same 'luajit' 1000 luajit say.lua
	same trace 30 luajit trace.lua
	same trace 1000 luajit loops.lua
fi
for python in /usr/bin/python3 ~/.pyenv/versions/3.1[123]*/bin/python3; do
	[ -x "$python" ] || continue
	version=$("$python" -c 'import sys; print(sys.version_info[1])')
	[[ $version = 1[123] ]] && same "python 3.$version" 500 "$python" say.py
done
exit 0
