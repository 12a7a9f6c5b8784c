/* luajit_api.h - what host.c needs of LuaJIT, whose headers Debian has in a package of their own. */
#include <stddef.h>
#include <stdint.h>

typedef struct lua_State lua_State;
typedef void *(*lua_Alloc)(void *ud, void *ptr, size_t osize, size_t nsize);
typedef int (*lua_CFunction)(lua_State *L);
enum { LUA_GLOBALSINDEX = -10002 };

lua_State *lua_newstate(lua_Alloc f, void *ud);
void lua_close(lua_State *L);
void luaL_openlibs(lua_State *L);
int luaL_loadbuffer(lua_State *L, const char *text, size_t size, const char *name);
int lua_pcall(lua_State *L, int args, int results, int handler);
ptrdiff_t lua_tointeger(lua_State *L, int at);
const char *lua_tolstring(lua_State *L, int at, size_t *len);
void lua_pushcclosure(lua_State *L, lua_CFunction f, int n);
void lua_pushlightuserdata(lua_State *L, void *p);
void lua_pushstring(lua_State *L, const char *s);
void lua_setfield(lua_State *L, int table, const char *name);

#define lua_tostring(L, at) lua_tolstring(L, at, NULL)
#define lua_pushcfunction(L, f) lua_pushcclosure(L, f, 0)
#define lua_setglobal(L, name) lua_setfield(L, LUA_GLOBALSINDEX, name)
