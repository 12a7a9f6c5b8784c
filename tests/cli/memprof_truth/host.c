/*
 * host.c PROGRAM.lua LOG ROUNDS - runs a Lua program in two states, with allocators of its own that
 * write down each call: one cuts blocks from an array, the other takes them from malloc(), and they change.
 * With -DLUAJIT it is for LuaJIT, which never asks again for memory, and whose programs may store lines in CELL[0], and 0 in
 * CELL[1] as long as these are not to be looked at; the blocks' addresses then end in 8, since LuaJIT also has memory from malloc() (unwinding tables of machine code).
 */
#include <fcntl.h>
#ifdef LUAJIT
#include "luajit_api.h"
enum { FAILS_EACH = 0x7fffffff, CALL_INFO = 0, END = 8 };
#else
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
/* After an error the calls that were left are given back, where they were left to: a line that only Lua knows. */
enum { FAILS_EACH = 5003, CALL_INFO = 64, END = 0 };
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char text[256 << 20], pool[256 << 20] __attribute__((aligned(16)));
static size_t len, used = END;
static void *first[64];		/* free blocks by size */
static int cell[2] = { 0, 1 };
static unsigned calls;

static void say(const char *what, void *old, size_t old_size, void *new, size_t size)
{
	len += (size_t)sprintf(text + len, "%s %#lx %zu %#lx %zu %d\n", what, (uintptr_t)old, old_size, (uintptr_t)new, size,
			       CALL_INFO && old_size == CALL_INFO && !new ? 0 : cell[0] * cell[1]);
}

static void log_call(void *ptr, size_t osize, size_t nsize, void *ret)
{
	if (!ptr && ret)
		say("alloc", NULL, 0, ret, nsize);
	else if (ptr && !nsize)
		say("free", ptr, osize, NULL, 0);
	else if (ptr && ret)
		say("realloc", ptr, osize, ret, nsize);
}

static size_t class_of(size_t n) { return n <= 960 ? (n + 15) / 16 : 0; }

static void *pool_alloc(void *ud, void *ptr, size_t osize, size_t nsize)
{
	size_t old = class_of(osize), new = class_of(nsize);
	void *ret = NULL;

	(void)ud;
	if (nsize && ptr && new && new == old) {
		ret = ptr;
	} else if (nsize) {
		if (++calls % FAILS_EACH == 0)	/* no memory: the collector runs, and it is asked for again */
			return NULL;
		if (new && first[new]) {
			ret = first[new];
			memcpy(&first[new], ret, sizeof(void *));
		} else {
			ret = pool + used;
			used += (nsize + 15) & ~(size_t)15;
			if (used > sizeof(pool))
				abort();
		}
		if (ptr)
			memcpy(ret, ptr, osize < nsize ? osize : nsize);
	}
	if (ptr && ret != ptr && old) {
		memcpy(ptr, &first[old], sizeof(void *));
		first[old] = ptr;
	}
	log_call(ptr, osize, nsize, ret);
	return ret;
}

static void *heap_alloc(void *ud, void *ptr, size_t osize, size_t nsize)
{
	void *ret = NULL;

	(void)ud;
	if (nsize)
		ret = (char *)realloc(ptr ? (char *)ptr - END : NULL, nsize + END) + END;
	log_call(ptr, osize, nsize, ret);
	if (!nsize && ptr)
		free((char *)ptr - END);
	return ret;
}

static int mark(lua_State *L)
{
	cell[0] = (int)lua_tointeger(L, 1);
	len += (size_t)sprintf(text + len, "mark %d\n", cell[0]);
	return 0;
}

static lua_State *state_new(lua_Alloc f, const char *rounds)
{
	lua_State *L = lua_newstate(f, NULL);

	if (!L)
		exit(1);
	luaL_openlibs(L);
	lua_pushcfunction(L, mark);
	lua_setglobal(L, "mark");
	lua_pushlightuserdata(L, cell);
	lua_setglobal(L, "CELL");
	lua_pushstring(L, rounds);
	lua_setglobal(L, "ROUNDS");
	return L;
}

static void state_run(lua_State *L, const char *source, size_t size)
{
	if (luaL_loadbuffer(L, source, size, "@p.lua") || lua_pcall(L, 0, 0, 0)) {
		cell[0] = 0;
		dprintf(2, "%s\n", lua_tostring(L, -1));
		exit(1);
	}
	cell[0] = 0;
}

int main(int argc, char **argv)
{
	static char source[1 << 20];
	static const lua_Alloc f[] = { pool_alloc, heap_alloc };
	lua_State *L[2];
	int fd = open(argv[1], O_RDONLY);
	ssize_t size = read(fd, source, sizeof(source));

	if (argc < 4 || size <= 0)
		return 1;
	close(fd);
	for (int i = 0; i < 2; i++)
		L[i] = state_new(f[i], argv[3]);
	for (int i = 0; i < 2; i++)
		state_run(L[i], source, (size_t)size);
	lua_close(L[1]);
	state_run(L[0], source, (size_t)size);
	lua_close(L[0]);
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, text + at, len - at);

		if (n <= 0)
			return 1;
		at += (size_t)n;
	}
	puts("EXIT-SUCCESS");
	return 0;
}
