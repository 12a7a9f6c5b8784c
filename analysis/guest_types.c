/*
 * guest_types.c - what an object of a language says of itself: kinds of LuaJIT's blocks by their
 * first bytes (guests/luajit.h has the layouts), types of Python's.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "guests/value.h"

/* ---- LuaJIT: its size says whether what a header says is true -------------------------------- */

/* Offsets and sizes, by the size of references: GC64, GC32. */
static const struct kinds {
	uint8_t marked, type, upvalues, string_len, proto_size;
	uint8_t str, upval, proto, function, c_function, ref, tab, thread, thread_too, udata;
	uint8_t udata_len;
} kinds[] = {
	{ 8, 9, 11, 20, 56, 24, 48, 104, 40, 40, 8, 64, 96, 104, 48, 16 },
	{ 4, 5, 7, 12, 32, 16, 24, 64, 20, 32, 4, 32, 64, 64, 24, 12 },
};
enum { STR = 4, UPVAL = 5, THREAD = 6, PROTO = 7, FUNC = 8, TAB = 11, UDATA = 12 };

static uint32_t u32(const unsigned char *p, unsigned at)
{
	uint32_t v;

	memcpy(&v, p + at, 4);
	return v;
}

static bool is_function(const struct kinds *k, const unsigned char *p, uint64_t size)
{
	uint64_t n = p[k->upvalues];

	return size == (p[k->type + 1] ? k->c_function + 8 * n : k->function + k->ref * n);
}

const char *guest_luajit_kind(const char *vm, const unsigned char *p, uint64_t size)
{
	const struct kinds *k = &kinds[strstr(vm, "GC32") ? 1 : 0];

	if (size < k->str || p[k->marked] & 0x80)
		return NULL;
	switch (p[k->type]) {
	case STR:
		return size > k->str + (uint64_t)u32(p, k->string_len) &&
		       size < k->str + 9ull + u32(p, k->string_len) ? "Lua string" : NULL;
	case UPVAL: return size == k->upval ? "Lua upvalue" : NULL;
	case PROTO:
		return size >= k->proto && u32(p, k->proto_size) == size ? "Lua prototype" : NULL;
	case FUNC: return is_function(k, p, size) ? "Lua function" : NULL;
	/* a small array lies behind it, which was made with it */
	case TAB: return size == k->tab + 8ull * (p[k->upvalues] & 0x7f) ? "Lua table" : NULL;
	case THREAD: return size == k->thread || size == k->thread_too ? "Lua thread" : NULL;
	case UDATA:
		return size >= k->udata && u32(p, k->udata_len) + (uint64_t)k->udata == size ?
			       "Lua userdata" : NULL;
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
