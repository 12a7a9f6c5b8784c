/* lua_text.h - strings, numbers and tables as Lua writes them; for LuaJIT, too. */
#ifndef GUESTS_LUA_TEXT_H
#define GUESTS_LUA_TEXT_H

#include <stdio.h>

#include "guests/internal.h"

/* Quoted. */
void lua_text_string(struct out *t, struct guests *g, uint64_t addr, uint64_t len);
/* point: what looks like an integer gets ".0". */
void lua_text_float(struct out *t, double v, bool point);

/* The entries of a table; the caller writes "{" and "}". */
struct lua_table_text {
	struct out *t;
	unsigned n;
	size_t key;
};
/* Begins one more entry: false = there are enough, and the text says so. */
bool lua_text_entry(struct lua_table_text *e);
/* Between them the key is written as a value. */
void lua_text_key_begin(struct lua_table_text *e);
void lua_text_key_end(struct lua_table_text *e);

#endif
