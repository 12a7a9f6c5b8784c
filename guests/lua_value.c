/*
 * lua_value.c - values and variables of Lua 5.1 to 5.4.
 *
 * A type's low four bits are what the language calls its type, the next two which kind of it (not
 * in 5.1), bit 6 whether it is on the heap.  Kinds of numbers are there from 5.3 on; 5.4 differs in
 * booleans; tables have three forms, closures two.
 */
#include "guests/lua.h"
#include "guests/lua_text.h"

enum {
	T_NIL, T_BOOLEAN, T_LIGHT, T_NUMBER, T_STRING, T_TABLE, T_FUNCTION, T_USERDATA, T_THREAD,
	T_PROTO_OLD, T_PROTO,
};
enum { SHORT = 4, LCL = 6, TRUE_54 = 0x11 };
enum { TABLE_MAX = 1 << 27, NODE_MAX = 40 };

struct lua_value {
	uint64_t v;
	uint8_t type;		/* with its kind, without bit 6 */
};
static void value_put(const struct lua *lua, const struct lua_value *v, struct out *t);

static bool value_read(const struct lua *lua, uint64_t addr, struct lua_value *ret)
{
	unsigned char b[9];

	if (addr & 7 || !mem_bytes(lua->g, addr, b, sizeof(b)))
		return false;
	memcpy(&ret->v, b, 8);
	ret->type = b[8] & 0x3f;
	return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct table {
	uint64_t array, node, metatable;
	uint32_t in_array, in_hash;
};

static bool table_read_51(const struct lua *lua, uint64_t addr, struct table *ret)
{
	unsigned char b[60];

	if (!mem_bytes(lua->g, addr, b, sizeof(b)) || b[8] != T_TABLE || b[11] > 27)
		return false;
	*ret = (struct table){ .in_hash = 1u << b[11] };
	memcpy(&ret->metatable, b + 16, 8);
	memcpy(&ret->array, b + 24, 8);
	memcpy(&ret->node, b + 32, 8);
	memcpy(&ret->in_array, b + 56, 4);
	return ret->in_array < TABLE_MAX;
}

static bool table_read(const struct lua *lua, uint64_t addr, struct table *ret)
{
	unsigned char b[48];
	uint32_t n;

	if (!addr || addr & 7)
		return false;
	if (lua->y->minor == 1)
		return table_read_51(lua, addr, ret);
	if (!mem_bytes(lua->g, addr, b, sizeof(b)) || (b[8] & 15) != T_TABLE || b[11] > 27)
		return false;
	memcpy(&n, b + 12, 4);
	/* 5.4: it may be a hint for the length; the size is the next power of two then */
	if (lua->y->minor == 4 && b[10] & 128 && n & (n - 1)) {
		uint32_t size = 1;

		while (size < n && size < 1u << 31)
			size *= 2;
		n = size;
	}
	*ret = (struct table){ .in_array = n, .in_hash = 1u << b[11] };
	memcpy(&ret->array, b + 16, 8);
	memcpy(&ret->node, b + 24, 8);
	memcpy(&ret->metatable, b + 40, 8);
	return n < TABLE_MAX;
}

static bool node_read(const struct lua *lua, const struct table *table, uint32_t i,
		      struct lua_value *key, struct lua_value *value)
{
	unsigned char b[NODE_MAX];
	size_t size = lua->y->minor < 3 ? 40 : lua->y->minor == 3 ? 32 : 24;

	if (!mem_bytes(lua->g, table->node + size * i, b, size))
		return false;
	memcpy(&value->v, b, 8);
	value->type = b[8] & 0x3f;
	memcpy(&key->v, b + 16, 8);
	key->type = (lua->y->minor < 4 ? b[24] : b[9]) & 0x3f;
	return true;
}

static bool is_nil(const struct lua_value *v)
{
	return (v->type & 15) == T_NIL;
}

static void array_put(const struct lua *lua, const struct table *table, struct lua_table_text *e)
{
	uint32_t expected = 0;

	for (uint32_t i = 0; i < table->in_array; i++) {
		struct lua_value v;

		if (!value_read(lua, table->array + 16ull * i, &v))
			return;
		if (is_nil(&v))
			continue;
		if (!lua_text_entry(e))
			return;
		if (i != expected)
			out_format(e->t, "[%u] = ", i + 1);
		expected = i + 1;
		value_put(lua, &v, e->t);
	}
}

static void table_put(const struct lua *lua, uint64_t addr, struct out *t)
{
	struct lua_table_text e = { .t = t };
	struct lua_value key, v;
	struct table table;

	if (!table_read(lua, addr, &table)) {
		out_word(t, "?");
		return;
	}
	if (!out_enter(t, addr)) {
		out_format(t, "table: 0x%" PRIx64, addr);
		return;
	}
	out_word(t, "{");
	array_put(lua, &table, &e);
	for (uint32_t i = 0; i < table.in_hash && e.n <= t->limits.entries; i++) {
		if (!node_read(lua, &table, i, &key, &v))
			break;
		if (is_nil(&v))
			continue;
		if (!lua_text_entry(&e))
			break;
		lua_text_key_begin(&e);
		value_put(lua, &key, t);
		lua_text_key_end(&e);
		value_put(lua, &v, t);
	}
	out_word(t, "}");
	out_leave(t);
}

/* ---- strings and the rest -------------------------------------------------------------------- */

static void string_put(const struct lua *lua, uint64_t addr, struct out *t)
{
	unsigned char b[24];
	uint64_t n;

	if (!addr || addr & 7 || !mem_bytes(lua->g, addr, b, sizeof(b)) ||
	    (b[8] & 15) != T_STRING) {
		out_word(t, "?");
		return;
	}
	memcpy(&n, b + 16, 8);
	lua_text_string(t, lua->g, addr + 24, lua->y->minor > 2 && b[8] == SHORT ? b[11] : n);
}

/* The string that a table has under a name, if it is short: what metatables call a type. */
static const char *string_in(const struct lua *lua, uint64_t addr, const char *name)
{
	struct table table;

	if (!table_read(lua, addr, &table))
		return NULL;
	for (uint32_t i = 0; i < table.in_hash && i < 256; i++) {
		struct lua_value key, v;
		const char *s;

		if (!node_read(lua, &table, i, &key, &v))
			return NULL;
		if (key.type != SHORT || (v.type & 15) != T_STRING)
			continue;
		s = lua_string(lua, key.v);
		if (s && !strcmp(s, name))
			return lua_string(lua, v.v);
	}
	return NULL;
}

static void userdata_put(const struct lua *lua, uint64_t addr, struct out *t)
{
	uint64_t metatable, memory, file[2];
	const char *name;
	uint16_t values;

	if (!mem_u64(lua->g, addr + (lua->y->minor < 4 ? 16 : 24), &metatable) ||
	    !mem_u16(lua->g, addr + 10, &values)) {
		out_word(t, "?");
		return;
	}
	memory = lua->y->minor < 4 ? addr + 40 : values ? addr + 40 + 16ull * values : addr + 32;
	name = metatable ? string_in(lua, metatable, "__name") : NULL;
	if (name && !strcmp(name, "FILE*") && mem_bytes(lua->g, memory, file, sizeof(file))) {
		if (file[1])
			out_format(t, "file (0x%" PRIx64 ")", file[0]);
		else
			out_word(t, "file (closed)");
		return;
	}
	out_format(t, "%.64s: 0x%" PRIx64, name ? name : "userdata", memory);
}

/* The Proto of a function that is written in Lua. */
static bool proto_of(const struct lua *lua, const struct lua_value *v, uint64_t *ret)
{
	uint8_t is_c;

	if (lua->y->minor > 1)
		return v->type == LCL && mem_u64(lua->g, v->v + 24, ret);
	return mem_u8(lua->g, v->v + 10, &is_c) && !is_c && mem_u64(lua->g, v->v + 32, ret);
}

static void function_put(const struct lua *lua, const struct lua_value *v, struct out *t)
{
	struct lua_proto p;
	uint64_t proto;

	out_format(t, "function: 0x%" PRIx64, v->v);
	if (!proto_of(lua, v, &proto) || !lua_proto_read(lua, proto, &p))
		return;
	out_format(t, " (%.200s:%u)", lua_chunk(lua, &p) ? lua_chunk(lua, &p) : "?",
		    p.linedefined);
}

static void number_put(const struct lua *lua, const struct lua_value *v, struct out *t)
{
	bool integer = lua->y->minor < 4 ? v->type & 16 : !(v->type & 16);
	double d;

	if (integer) {
		out_format(t, "%" PRId64, (int64_t)v->v);
		return;
	}
	memcpy(&d, &v->v, 8);
	lua_text_float(t, d, lua->y->minor > 2);
}

static void value_put(const struct lua *lua, const struct lua_value *v, struct out *t)
{
	switch (v->type & 15) {
	case T_NIL:
		out_word(t, "nil");
		return;
	case T_BOOLEAN:
		out_word(t, (lua->y->minor < 4 ? (int)v->v != 0 : v->type == TRUE_54) ? "true"
											 : "false");
		return;
	case T_LIGHT:
		out_format(t, "userdata: 0x%" PRIx64, v->v);
		return;
	case T_NUMBER:
		number_put(lua, v, t);
		return;
	case T_STRING:
		string_put(lua, v->v, t);
		return;
	case T_TABLE:
		table_put(lua, v->v, t);
		return;
	case T_FUNCTION:
		function_put(lua, v, t);
		return;
	case T_USERDATA:
		userdata_put(lua, v->v, t);
		return;
	case T_THREAD:
		out_format(t, "thread: 0x%" PRIx64, v->v);
		return;
	default:
		out_word(t, "?");
	}
}

bool lua_value(struct guests *g, struct code *c, const struct guests_vm *vm, enum guests_at at,
	       uint64_t addr, struct out *t)
{
	struct lua lua = { .g = g, .y = lua_layout_of(c) };
	struct lua_value v = { .v = addr };
	struct lua_proto p;

	(void)vm;
	if (!lua.y)
		return false;
	if (at == GUESTS_SLOT) {
		if (!value_read(&lua, addr, &v))
			return false;
	} else {
		if (addr & 7 || !mem_u8(g, addr + 8, &v.type))
			return false;
		v.type &= 0x3f;
		if ((v.type & 15) == (lua.y->minor < 4 ? T_PROTO_OLD : T_PROTO) &&
		    lua_proto_read(&lua, addr, &p)) {
			out_format(t, "proto: 0x%" PRIx64 " (%.200s:%u)", addr,
				    lua_chunk(&lua, &p) ? lua_chunk(&lua, &p) : "?", p.linedefined);
			return true;
		}
		if ((v.type & 15) < T_STRING)
			return false;
	}
	value_put(&lua, &v, t);
	return (v.type & 15) <= T_THREAD;
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool tell(struct variables *vs, enum guests_variable_kind kind, const char *name,
		 uint64_t addr)
{
	/* names in brackets are the language's own: "(for state)" */
	return (name && name[0] == '(') || variable_tell(vs, kind, name ? name : "?", GUESTS_SLOT,
							  addr);
}

static bool tell_locals(const struct lua *lua, struct variables *vs, const struct lua_proto *p,
			uint64_t pc, uint64_t base)
{
	uint32_t at = (uint32_t)((pc - p->code) / 4), slot = 0;

	at = at ? at - 1 : 0;
	for (uint32_t i = 0; i < p->sizelocvars && i < 65536; i++) {
		struct { uint64_t name; uint32_t start, end; } v;

		if (!mem_bytes(lua->g, p->locvars + 16ull * i, &v, sizeof(v)) || v.start > at)
			break;
		if (at >= v.end)
			continue;
		if (!tell(vs, slot < p->numparams ? GUESTS_ARGUMENT : GUESTS_LOCAL,
			  lua_string(lua, v.name), base + 16ull * slot))
			return false;
		slot++;
	}
	return true;
}

static bool tell_varargs(const struct lua *lua, struct variables *vs, const struct lua_proto *p,
			 const struct lua_call *call, uint64_t base)
{
	uint64_t n, first;
	int32_t extra;
	char name[32];

	if (!p->vararg)
		return true;
	if (lua->y->minor < 4) {
		first = call->func + 16 + 16ull * p->numparams;
		n = base > first ? (base - first) / 16 : 0;
	} else {
		if (!mem_u32(lua->g, call->ci + 44, (uint32_t *)&extra) || extra < 0)
			return true;
		n = (uint64_t)extra;
		first = call->func - 16 * n;
	}
	for (uint64_t i = 0; i < n && i < 64; i++) {
		snprintf(name, sizeof(name), "...[%u]", (unsigned)i + 1);
		if (!variable_tell(vs, GUESTS_VARARG, name, GUESTS_SLOT, first + 16 * i))
			return false;
	}
	return true;
}

static void tell_upvalues(const struct lua *lua, struct variables *vs, const struct lua_proto *p,
			  uint64_t closure)
{
	unsigned minor = lua->y->minor;
	uint8_t n;

	if (!mem_u8(lua->g, closure + (minor == 1 ? 11 : 10), &n))
		return;
	for (unsigned i = 0; i < n && i < p->sizeupvalues; i++) {
		uint64_t upvalue, name, v;
		const char *s;

		if (!mem_u64(lua->g, closure + (minor == 1 ? 40 : 32) + 8ull * i, &upvalue) ||
		    !mem_u64(lua->g, p->upvalues + (minor == 1 ? 8ull : 16ull) * i, &name) ||
		    !mem_u64(lua->g, upvalue + (minor == 3 ? 0 : 16), &v))
			return;
		s = lua_string(lua, name);
		if (s && !strcmp(s, "_ENV"))
			continue;		/* all globals */
		if (!tell(vs, GUESTS_UPVALUE, s, v))
			return;
	}
}

/* Where a call's variables begin. */
static bool base_of(const struct lua *lua, const struct lua_call *call, uint64_t *ret)
{
	*ret = call->func + 16;
	if (lua->y->minor == 4)
		return true;
	return mem_u64(lua->g, call->ci + (lua->y->minor == 1 ? 0 : lua->y->savedpc - 8u), ret);
}

bool lua_locals(struct guests *g, struct code *c, const struct guests_frame *f,
		guests_variable_fn *fn, void *ctx)
{
	struct lua lua = { .g = g, .y = lua_layout_of(c) };
	struct variables vs = { .g = g, .code = c, .vm = f->vm, .fn = fn, .ctx = ctx };
	struct lua_call call;
	struct lua_proto p;
	uint64_t base;

	if (!lua.y || f->kind != GUESTS_FRAME || !lua_call_read(&lua, f->where, &call) ||
	    !call.lua || call.proto != f->address || !lua_proto_read(&lua, call.proto, &p) ||
	    !base_of(&lua, &call, &base))
		return false;
	if (tell_locals(&lua, &vs, &p, f->inside.pc, base) &&
	    tell_varargs(&lua, &vs, &p, &call, base))
		tell_upvalues(&lua, &vs, &p, call.closure);
	return true;
}

/* ---- globals --------------------------------------------------------------------------------- */

enum { GLOBALS_MAX = 1 << 20 };

/* The table that a function has its globals in: an upvalue; of 5.1 a field of the function. */
static uint64_t globals_of(const struct lua *lua, const struct lua_proto *p, uint64_t closure)
{
	struct lua_value v;
	uint8_t n = 0;

	if (lua->y->minor == 1)
		return mem_u64(lua->g, closure + 24, &v.v) ? v.v : 0;
	mem_u8(lua->g, closure + 10, &n);
	for (unsigned i = 0; i < n && i < p->sizeupvalues; i++) {
		uint64_t upvalue, name, at;
		const char *s;

		if (!mem_u64(lua->g, p->upvalues + 16ull * i, &name))
			return 0;
		s = lua_string(lua, name);
		if (!s || strcmp(s, "_ENV"))
			continue;
		if (!mem_u64(lua->g, closure + 32 + 8ull * i, &upvalue) ||
		    !mem_u64(lua->g, upvalue + (lua->y->minor == 3 ? 0 : 16), &at) ||
		    !value_read(lua, at, &v))
			return 0;
		return (v.type & 15) == T_TABLE ? v.v : 0;
	}
	return 0;
}

bool lua_global(struct guests *g, struct code *c, const struct guests_frame *f, const char *name,
		guests_variable_fn *fn, void *ctx)
{
	struct lua lua = { .g = g, .y = lua_layout_of(c) };
	struct variables vs = { .g = g, .code = c, .vm = f->vm, .fn = fn, .ctx = ctx };
	size_t size = !lua.y ? 0 : lua.y->minor < 3 ? 40 : lua.y->minor == 3 ? 32 : 24;
	struct lua_call call;
	struct lua_proto p;
	struct table table;

	if (!lua.y || f->kind != GUESTS_FRAME || !lua_call_read(&lua, f->where, &call) ||
	    !call.lua || call.proto != f->address || !lua_proto_read(&lua, call.proto, &p) ||
	    !table_read(&lua, globals_of(&lua, &p, call.closure), &table))
		return false;
	for (uint32_t i = 0; i < table.in_hash && i < GLOBALS_MAX; i++) {
		struct lua_value key, v;
		const char *s;

		if (!node_read(&lua, &table, i, &key, &v))
			return false;
		s = (key.type & 15) == T_STRING && !is_nil(&v) ? lua_string(&lua, key.v) : NULL;
		if (!s || strcmp(s, name))
			continue;
		variable_tell(&vs, GUESTS_LOCAL, name, GUESTS_SLOT, table.node + size * i);
		return true;
	}
	return false;
}
