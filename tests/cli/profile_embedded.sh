#!/bin/bash
# test: timeout=120
# hindsight profile of programs that have Lua built in: machines made late, closed, several at once in threads, one inside another, stripped; each sample has its whole stack, and its machine's.
. "$LIB"
need gcc python3
cat >lua.c <<'END'
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WORK "(n) local x = 1 for i = 1, n do x = (x * 110351 + 12345) % 2147483648 end return x end\n"
static const char *const script[2] = {
	"function work_a" WORK "function go(n) local r = work_a(n) return r end",
	"function work_b" WORK "function go(n) local r = other(n) return r end\nfunction go2(n) local r = work_b(n) return r end",
};
static lua_State *inner;

static lua_State *make(int which, lua_CFunction other)
{
	lua_State *L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "other", other);
	if (luaL_dostring(L, script[which]))
		exit(1);
	return L;
}

static void call(lua_State *L, const char *name, int n)
{
	lua_getglobal(L, name);
	lua_pushnumber(L, n);
	if (lua_pcall(L, 1, 1, 0))
		exit(2);
	lua_settop(L, 0);
}

static int other(lua_State *L)
{
	call(inner, "go", (int)lua_tonumber(L, 1));
	return 0;
}

static void *thread(void *n)
{
	for (int i = 0; i < 5; i++) {
		lua_State *L = make(0, other);

		call(L, "go", *(int *)n);
		lua_close(L);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]);
	pthread_t t;
	lua_State *L;

	pthread_create(&t, NULL, thread, &n);
	inner = make(0, other);
	L = make(1, other);
	for (int i = 0; i < 5; i++) {
		call(L, "go", n);
		call(L, "go2", n);
	}
	pthread_join(t, NULL);
	return 0;
}
END
cat >check.py <<'END'
import json, sys
d = json.load(open("found"))
if d["complete"] < .98 * d["samples"] or d["samples"] < 60:
    sys.exit(f"{d['complete']} of {d['samples']} complete: {d['incomplete']}")
# what works, below: the function that called it, by its line; and whether it is inside another machine
seen = {}
for s in d["stacks"]:
    guest = [(f["function"], f["line"]) for f in (d["frames"][i] for i in s["frames"]) if f["kind"] in ("guest", "builtin", "trace", "inlined")]
    if guest and guest[-1][0] in ("work_a", "work_b"):
        key = guest[-1][0], guest[-2][1], "other" in [g[0] for g in guest], len(guest)
        seen[key] = seen.get(key, 0) + s["count"]
wrong = set(seen) - {("work_a", 2, False, 2), ("work_a", 2, True, 4), ("work_b", 3, False, 2)}
if wrong or len(seen) != 3:
    sys.exit(f"stacks: {seen}")
END
any=0
for version in 5.4 5.3 5.2 5.1; do
	[ -e /usr/include/lua$version/lua.h ] || continue
	for how in "-llua$version" "-s /usr/lib/x86_64-linux-gnu/liblua$version.a -ldl"; do
		# shellcheck disable=SC2086
		gcc -O2 -I/usr/include/lua$version -o lua lua.c $how -lm -lpthread 2>/dev/null || continue
		rm -rf t
		"$REC" -o t ./lua 400000 || fail "$version: rec"
		"$HINDSIGHT" profile -q --passes=2 --rate=2000 --json t >found || fail "$version $how: profile"
		python3 check.py >said 2>&1 || fail "$version $how: $(cat said)"
		any=1
	done
done
[ $any = 1 ] || skip "no liblua with headers"
