/*
 * guest_types.c - what an object of a language says of itself: kinds of LuaJIT's blocks by their
 * first bytes (guests/luajit.h has the layouts), types of Python's.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "guests/value.h"

/* ---- LuaJIT (GC64): its size says whether what a header says is true ------------------------- */

enum { MARKED = 8, TYPE = 9, UPVALUES = 11, STRING_LEN = 20, PROTO_SIZE = 56 };
enum { STR = 4, UPVAL = 5, THREAD = 6, PROTO = 7, FUNC = 8, TAB = 11, UDATA = 12 };

static uint32_t u32(const unsigned char *p, unsigned at)
{
	uint32_t v;

	memcpy(&v, p + at, 4);
	return v;
}

const char *guest_luajit_kind(const unsigned char *p, uint64_t size)
{
	if (size < 24 || p[MARKED] & 0x80)
		return NULL;
	switch (p[TYPE]) {
	case STR:
		return size >= 25ull + u32(p, STRING_LEN) && size < 33ull + u32(p, STRING_LEN) ?
			       "Lua string" : NULL;
	case UPVAL: return size == 48 ? "Lua upvalue" : NULL;
	case PROTO: return size >= 104 && u32(p, PROTO_SIZE) == size ? "Lua prototype" : NULL;
	case FUNC: return size == 40 + 8ull * p[UPVALUES] ? "Lua function" : NULL;
	case TAB: return size == 64 ? "Lua table" : NULL;
	case THREAD: return size == 96 || size == 104 ? "Lua thread" : NULL;
	case UDATA: return size >= 48 && u32(p, 16) + 48ull == size ? "Lua userdata" : NULL;
	}
	return NULL;
}

/* ---- Python ---------------------------------------------------------------------------------- */

const char *guest_python_kind(struct guests *g, const struct guests_vm *vm, uint64_t addr,
			      uint64_t size)
{
	/* two words for the collector may come before it, and before these two for its dict */
	enum { OBJECT = 16, DEEPEST = 32 };
	const char *type = NULL;

	for (uint64_t at = 0; !type && at <= DEEPEST && at + OBJECT <= size; at += 16)
		type = guests_type_name(g, vm, addr + at);
	return type;
}
