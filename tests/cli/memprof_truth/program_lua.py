"""program_lua.py SEED - prints a Lua program of which each statement says its line before it allocates."""
import random
import sys

r = random.Random(int(sys.argv[1]))
out = []


def put(text):
    out.append(text.replace("@", str(len(out) + 1)))


put("local mark, keep, fn = mark, {}, {}")
for f in range(12):
    put(f"mark(0) fn[{f}] = function(i, depth)")	# made on the line of its end
    for _ in range(r.randint(3, 8)):
        k = r.randrange(40)
        put("\t" + r.choice([
            f"mark(@) keep[{k}] = {{}}",
            f"mark(@) keep[{k}] = {{ i, depth, x = i }}",
            f"mark(@) keep[{k}] = 'text ' .. i .. ' {k}'",
            f"mark(@) keep[{k}] = function() return i, depth end",
            f"mark(@) keep[{k}] = ('%d %s'):format(i, 'f{f}')",
            f"mark(@) keep[{k}] = ('ab'):rep(i % 50 + 1)",
            f"mark(@) keep[{k}] = keep[{k}] or {{}}",
            f"mark(@) table.insert(keep, i)",
            f"mark(@) keep[#keep + 1] = nil",
            f"mark(@) keep[{k}] = setmetatable({{}}, {{ __index = keep }})",
            f"mark(@) keep[{k}] = tostring(i + depth / 3)",
            f"mark(@) keep[{k}] = select('#', i, {{}}, 'a' .. i)",
            "mark(@) if i % 97 == 0 then collectgarbage() end",
            "mark(@) if i % 31 == 0 then keep = {} end",
            f"mark(@) if depth > 0 then fn[{r.randrange(12)}](i + 1, depth - 1) end",
            f"mark(@) if depth > 0 then pcall(fn[{r.randrange(12)}], i, depth - 1) end",
            "mark(@) pcall(function() mark(@) error('no ' .. i) end)",
            f"mark(@) if depth > 0 then local co = coroutine.wrap(function(n) mark(@) fn[{r.randrange(12)}](n, 0) end) co(i) end",
            f"mark(@) keep[{k}] = coroutine.create(function(n) mark(@) local t = {{ n }} mark(@) coroutine.yield(t) end)",
            f"mark(@) if type(keep[{k}]) == 'thread' then coroutine.resume(keep[{k}], i) end",
            "mark(@) local load = loadstring or load mark(@) load('return ' .. i .. ' + 1, {}')",
            "mark(@) for j = 1, 3 do mark(@) local t = { j, i } end",
        ]))
    put("end")
put("for i = 1, tonumber(ROUNDS) do")
for f in range(12):
    put(f"\tmark(@) fn[{f}](i, i % 6)")
put("end")
print("\n".join(out))
