#!/bin/bash
# test: timeout=120
# hindsight memprof: several Lua states at once, one with an allocator of a library that logs; all closed: nothing is left alive.
. "$LIB"
need python3
need cc
cd "$TMP" || exit 1
cat >a.c <<'X'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
void *log_alloc(void *ud, void *p, size_t o, size_t n)
{
	static char *at;
	char *q;
	if (!at) at = mmap(0, 64 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!n) { if (p) fprintf(ud, "free %p %zu\n", p, o); return NULL; }
	if (p && n <= o) { fprintf(ud, "realloc %p %zu %p %zu\n", p, o, p, n); return p; }
	q = at; at += (n + 15) & ~15ul;
	if (p) { memcpy(q, p, o); fprintf(ud, "realloc %p %zu %p %zu\n", p, o, q, n); }
	else fprintf(ud, "alloc %p %zu\n", q, n);
	return q;
}
X
cat >m.c <<'X'
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
static void *plain(void *ud, void *p, size_t o, size_t n) { if (!n) { free(p); return 0; } return realloc(p, n); }
int main(void)
{
	FILE *log = fopen("truth", "w");
	lua_Alloc f = (lua_Alloc)dlsym(dlopen("./a.so", RTLD_NOW), "log_alloc");
	for (int round = 0; round < 2; round++) {
		lua_State *a = lua_newstate(f, log), *b = lua_newstate(plain, 0), *c = luaL_newstate();
		luaL_openlibs(a); luaL_openlibs(b); luaL_openlibs(c);
		luaL_dostring(a, "local t = {} for i = 1, 300 do t[i] = {i, tostring(i)} end local s = ('x'):rep(1000)");
		luaL_dostring(b, "local t = {}\nfor i = 1, 50 do t[i] = {i} end");
		luaL_dostring(c, "local t = {}\nfor i = 1, 70 do t[i] = {i} end");
		lua_close(b); lua_close(a); lua_close(c);
	}
	fclose(log);
	return 0;
}
X
cc -g -O1 -shared -fPIC -o a.so a.c || fail 'no library'
ran=
for lua in 'lua5.4 -I/usr/include/lua5.4 -llua5.4' 'luajit -I/usr/include/luajit-2.1 -lluajit-5.1'; do
	# shellcheck disable=SC2086
	set -- $lua
	cc -g -O1 -w "$2" -o m m.c "$3" -ldl 2>/dev/null || continue
	ran=1
	rm -rf t
	"$REC" -o t ./m || fail "$1: rec"
	"$HINDSIGHT" memprof -q --list t >list 2>err || fail "$1: $(cat err)"
	python3 - <<'Y' || fail "$1: not what happened"
def number(w):
    return int(w, 16) if w.startswith("0x") else int(w)
truth = [[l.split()[0]] + [number(w) for w in l.split()[1:]] for l in open("truth")]
own = {w for t in truth for w in t[1::2]}
got, alive = [], {}
for l in open("list"):
    w = l.split()
    e = [w[2]] + [number(x) for x in w[3:7 if w[2] == "realloc" else 5]]
    if e[0] != "alloc":
        alive.pop(e[1], None)
    if not e[0].startswith("free"):
        alive[e[-2]] = l
    if e[1] in own:
        got.append(e)
assert got == truth, next((i, a, b) for i, (a, b) in enumerate(zip(got, truth)) if a != b)
left = [v for v in alive.values() if any("main at m.c:%d" % n in v for n in range(14, 19)) or "chunk" in v]
assert len(truth) > 3000 and not left, left
Y
done
[ -n "$ran" ] || skip 'no Lua libraries to build with'
exit 0
