"""program_lua.py SEED [on|off] - prints a Lua program of which each statement says its line before it allocates.

With on or off it is for LuaJIT: of such statements as are compiled, and the line is stored, not said (see host.c).  Lines are known
in its second half: nothing is compiled any more then, which would allocate on the way to a store; but what was compiled runs.
"""
import random
import re
import sys

r = random.Random(int(sys.argv[1]))
jit = sys.argv[2] if len(sys.argv) > 2 else ""
out = []


def put(text):
    out.append(text.replace("@", str(len(out) + 1)))


put("local mark, keep, fn = mark, {}, {}" + f" jit.{jit}() require('jit.opt').start('hotexit=10') "
    "local cell = require('ffi').cast('int *', CELL) cell[1] = 0" * bool(jit))
for f in range(12):
    put(f"mark(0) fn[{f}] = function(i, depth) mark(@)")	# made on the line of its end
    for _ in range(r.randint(3, 8)):
        k = r.randrange(40)
        put("\t" + r.choice([
            f"mark(@) keep[{k}] = {{}}",
            f"mark(@) keep[{k}] = {{ i, depth, x = i }}",
            f"mark(@) keep[{k}] = 'text ' .. i .. ' {k}'",
            f"mark(@) keep[{k}] = ('%d %s'):format(i, 'f{f}')",
            f"mark(@) keep[{k}] = keep[{k}] or {{}}",
            f"mark(@) keep[{k}] = setmetatable({{}}, {{ __index = keep }})",
            f"mark(@) keep[{k}] = tostring(i + depth / 3)",
            "mark(@) if i % 31 == 0 then keep = {} end",
            f"mark(@) if depth > 0 then fn[{r.randrange(12)}](i + 1, depth - 1) end",
            "mark(@) for j = 1, 3 do mark(@) local t = { j, i } end",
        ] + [
            f"mark(@) keep[{k}] = {{ i }} mark(@) keep[{k}][2] = {{ i }}",
            f"mark(@) local t = {{ x = i }} mark(@) t.y = 'a' .. t.x mark(@) keep[{k}] = t",
            f"mark(@) if i % {r.randint(3, 9)} == 0 then keep[{k}] = 'if' .. i mark(@) else keep[{k}] = {{ 'else' }} end",
        ] * bool(jit) + [
            f"mark(@) keep[{k}] = function() return i, depth end",
            f"mark(@) keep[{k}] = ('ab'):rep(i % 50 + 1)",
            f"mark(@) table.insert(keep, i)",
            f"mark(@) keep[#keep + 1] = nil",
            f"mark(@) keep[{k}] = select('#', i, {{}}, 'a' .. i)",
            "mark(@) if i % 97 == 0 then collectgarbage() end",
            f"mark(@) if depth > 0 then pcall(fn[{r.randrange(12)}], i, depth - 1) end",
            "mark(@) pcall(function() mark(@) error('no ' .. i) end)",
            f"mark(@) if depth > 0 then local co = coroutine.wrap(function(n) mark(@) fn[{r.randrange(12)}](n, 0) mark(@) end) co(i) end",
            f"mark(@) keep[{k}] = coroutine.create(function(n) mark(@) local t = {{ n }} mark(@) coroutine.yield(t) end)",
            f"mark(@) if type(keep[{k}]) == 'thread' then coroutine.resume(keep[{k}], i) end",
            "mark(@) local load = loadstring or load mark(@) load('return ' .. i .. ' + 1, {}')",
        ] * (not jit)))
    put("mark(@) end")
put("for i = 1, tonumber(ROUNDS) do")
if jit:
    put("\tif i == math.floor(ROUNDS / 2) then jit.off() require('jit.opt').start('hotexit=60000') cell[1] = 1 end")
for f in range(12):
    put(f"\tmark(@) fn[{f}](i, i % 6)")
put("end")
text = "\n".join(out)
print(re.sub(r"mark\((\d+)\)", r"cell[0] = \1", text) if jit else text)
