/*
 * lua_proto.c - Lua's functions: lines, chunks, names.
 *
 * Functions have no names.  What a caller calls one is found as the language does for tracebacks:
 * by the instruction that put the function into the register that was called (5.4; lua_names.c for
 * older ones).
 */
#include "guests/lua.h"

enum { LUA_SHORT = 4, LUA_LONG = 0x14, CHUNK_MAX = 4096, NAME_MAX_LEN = 128 };
enum {
	OP_MOVE = 0, OP_LOADNIL = 8, OP_GETUPVAL = 9, OP_GETTABUP = 11, OP_GETTABLE = 12,
	OP_GETI = 13, OP_GETFIELD = 14, OP_SELF = 20, OP_ADD = 34, OP_SHR = 45, OP_MMBIN = 46,
	OP_MMBINK = 48, OP_UNM = 49, OP_BNOT = 50, OP_LEN = 52, OP_CONCAT = 53, OP_JMP = 56,
	OP_EQ = 57, OP_LT = 58, OP_LE = 59, OP_EQI = 61, OP_LTI = 62, OP_LEI = 63, OP_GEI = 65,
	OP_CALL = 68, OP_TAILCALL = 69, OP_TFORCALL = 76,
};
#define A(ins) ((ins) >> 7 & 255)
#define B(ins) ((ins) >> 16 & 255)
#define C(ins) ((ins) >> 24)

bool lua_proto_read(const struct lua *lua, uint64_t addr, struct lua_proto *ret)
{
	const struct lua_layout *y = lua->y;
	unsigned char b[128];

	if (!addr || addr & 7 || !mem_bytes(lua->g, addr, b, sizeof(b)))
		return false;
	*ret = (struct lua_proto){ .addr = addr, .numparams = b[y->numparams],
				   .vararg = b[y->numparams + 1] };
	memcpy(&ret->sizeupvalues, b + y->sizeupvalues, 4);
	memcpy(&ret->sizek, b + y->sizek, 4);
	memcpy(&ret->sizecode, b + y->sizecode, 4);
	memcpy(&ret->sizelineinfo, b + y->sizelineinfo, 4);
	memcpy(&ret->linedefined, b + y->linedefined, 4);
	memcpy(&ret->k, b + y->k, 8);
	memcpy(&ret->code, b + y->code, 8);
	memcpy(&ret->lineinfo, b + y->lineinfo, 8);
	memcpy(&ret->locvars, b + y->locvars, 8);
	memcpy(&ret->sizelocvars, b + y->sizelocvars, 4);
	memcpy(&ret->source, b + y->source, 8);
	memcpy(&ret->upvalues, b + y->upvalues, 8);
	if (y->abslineinfo) {
		memcpy(&ret->abslineinfo, b + y->abslineinfo, 8);
		memcpy(&ret->sizeabslineinfo, b + y->sizeabslineinfo, 4);
	}
	return ret->code && !(ret->code & 3) && ret->sizecode && ret->sizecode < 1 << 26;
}

/* 5.4: differences, and absolute lines here and there. */
static unsigned line_by_differences(const struct lua *lua, const struct lua_proto *p, uint32_t at)
{
	unsigned line = p->linedefined;
	uint32_t i = 0, lo = 0, hi = p->sizeabslineinfo < 1 << 24 ? p->sizeabslineinfo : 0;
	int8_t piece[256];

	while (lo < hi) {		/* the last absolute one at or before it */
		uint32_t mid = lo + (hi - lo) / 2, entry[2];

		if (!mem_bytes(lua->g, p->abslineinfo + 8ull * mid, entry, 8))
			return 0;
		if (entry[0] <= at) {
			lo = mid + 1;
			i = entry[0] + 1;
			line = entry[1];
		} else {
			hi = mid;
		}
	}
	while (i <= at) {
		uint32_t n = at - i + 1 < sizeof(piece) ? at - i + 1 : sizeof(piece);

		if (!mem_bytes(lua->g, p->lineinfo + i, piece, n))
			return 0;
		for (uint32_t k = 0; k < n; k++)
			if (piece[k] != -128)
				line += (unsigned)piece[k];
		i += n;
	}
	return line;
}

unsigned lua_line(const struct lua *lua, const struct lua_proto *p, uint64_t pc)
{
	uint32_t at = (uint32_t)((pc - p->code) / 4), line;

	at = at ? at - 1 : 0;
	if (pc - p->code > 4ull * p->sizecode || !p->lineinfo || at >= p->sizelineinfo)
		return p->linedefined;
	if (p->abslineinfo || lua->y->abslineinfo)
		return line_by_differences(lua, p, at);
	return mem_u32(lua->g, p->lineinfo + 4ull * at, &line) ? line : 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool string_read(const struct lua *lua, uint64_t addr, char *buf, size_t size, size_t *len)
{
	unsigned char b[24];
	uint64_t n;

	if (!addr || addr & 7 || !mem_bytes(lua->g, addr, b, sizeof(b)) ||
	    (b[8] != LUA_SHORT && b[8] != LUA_LONG))
		return false;
	memcpy(&n, b + 16, 8);
	if (b[8] == LUA_SHORT && lua->y->minor > 2)
		n = b[11];
	*len = n < size ? (size_t)n : size - 1;
	return mem_bytes(lua->g, addr + 24, buf, *len);
}

const char *lua_chunk(const struct lua *lua, const struct lua_proto *p)
{
	char text[CHUNK_MAX];
	size_t len;

	if (!string_read(lua, p->source, text, sizeof(text), &len))
		return NULL;
	return lua_chunk_name(lua->g, text, len, 44);
}

const char *lua_unnamed(const struct lua *lua, const struct lua_proto *p)
{
	const char *chunk = lua_chunk(lua, p);

	if (!p->linedefined)
		return string_intern(lua->g, "main chunk", 10);
	return string_format(lua->g, "<%.200s:%u>", chunk ? chunk : "?", p->linedefined);
}

const char *lua_string(const struct lua *lua, uint64_t string)
{
	char text[NAME_MAX_LEN];
	size_t len;

	return string_read(lua, string, text, sizeof(text), &len)
		       ? string_intern(lua->g, text, len)
		       : NULL;
}

const char *lua_constant(const struct lua *lua, const struct lua_proto *p, uint32_t i)
{
	uint64_t value;
	uint8_t type;

	if (i >= p->sizek || !mem_u64(lua->g, p->k + 16ull * i, &value) ||
	    !mem_u8(lua->g, p->k + 16ull * i + 8, &type) || (type & 15) != LUA_SHORT)
		return NULL;
	return lua_string(lua, value);
}

const char *lua_local(const struct lua *lua, const struct lua_proto *p, unsigned reg, uint32_t at)
{
	for (uint32_t i = 0; i < p->sizelocvars && i < 65536; i++) {
		struct { uint64_t name; uint32_t start, end; } v;

		if (!mem_bytes(lua->g, p->locvars + 16ull * i, &v, sizeof(v)) || v.start > at)
			return NULL;
		if (at < v.end && !reg--)
			return lua_string(lua, v.name);
	}
	return NULL;
}

static bool sets_a(unsigned op)
{
	return op <= 9 || (op >= 11 && op <= 14) || (op >= 19 && op <= 45) ||
	       (op >= 49 && op <= 53) || op == 67 || op == 73 || op == 74 || op == 77 ||
	       (op >= 79 && op <= 81);
}

/* The last instruction before `last` that set a register; -1 = not known. */
static int64_t set_by(const struct lua *lua, const struct lua_proto *p, uint32_t last, unsigned reg)
{
	int64_t set = -1, target = 0;
	uint32_t ins;

	if (!mem_u32(lua->g, p->code + 4ull * last, &ins))
		return -1;
	if ((ins & 127) >= OP_MMBIN && (ins & 127) <= OP_MMBINK)
		last--;
	for (uint32_t pc = 0; pc < last; pc++) {
		unsigned op, a;
		bool change;

		if (!mem_u32(lua->g, p->code + 4ull * pc, &ins))
			return -1;
		op = ins & 127;
		a = A(ins);
		if (op == OP_LOADNIL) {
			change = a <= reg && reg <= a + B(ins);
		} else if (op == OP_TFORCALL) {
			change = reg >= a + 2;
		} else if (op == OP_CALL || op == OP_TAILCALL) {
			change = reg >= a;
		} else if (op == OP_JMP) {
			int64_t to = (int64_t)pc + 1 + (int64_t)(ins >> 7) - 0xffffff;

			if (to <= last && to > target)
				target = to;
			change = false;
		} else {
			change = sets_a(op) && a == reg;
		}
		if (change)
			set = pc < target ? -1 : (int64_t)pc;
	}
	return set;
}

static const char *register_name(const struct lua *lua, const struct lua_proto *p, uint32_t at,
				 unsigned reg)
{
	for (unsigned n = 0; n < 256; n++) {
		const char *name = lua_local(lua, p, reg, at);
		int64_t pc = name ? -1 : set_by(lua, p, at, reg);
		uint64_t string;
		uint32_t ins;

		if (pc < 0 || !mem_u32(lua->g, p->code + 4ull * (uint32_t)pc, &ins))
			return name;
		switch (ins & 127) {
		case OP_MOVE:
			if (B(ins) >= A(ins))
				return NULL;
			reg = B(ins);
			at = (uint32_t)pc;
			continue;
		case OP_GETTABUP: case OP_GETFIELD: case OP_SELF:
			if ((ins & 127) == OP_SELF && !(ins >> 15 & 1))
				return register_name(lua, p, (uint32_t)pc, C(ins));
			return lua_constant(lua, p, C(ins));
		case OP_GETUPVAL:
			if (B(ins) >= p->sizeupvalues ||
			    !mem_u64(lua->g, p->upvalues + 16ull * B(ins), &string))
				return NULL;
			return lua_string(lua, string);
		default:
			return NULL;
		}
	}
	return NULL;
}

/* The metamethod that an instruction may need; NULL = none. */
static const char *metamethod(uint32_t ins)
{
	static const char *const event[] = {
		"index", "newindex", "gc", "mode", "len", "eq", "add", "sub", "mul", "mod", "pow",
		"div", "idiv", "band", "bor", "bxor", "shl", "shr", "unm", "bnot", "lt", "le",
		"concat", "call", "close",
	};
	unsigned op = ins & 127;

	if (op >= OP_MMBIN && op <= OP_MMBINK)
		return C(ins) < sizeof(event) / sizeof(*event) ? event[C(ins)] : NULL;
	if (op == OP_SELF || (op >= OP_GETTABUP && op <= OP_GETFIELD))
		return "index";
	if (op > OP_GETFIELD && op < 19)
		return "newindex";
	switch (op) {
	case OP_UNM: return "unm";
	case OP_BNOT: return "bnot";
	case OP_LEN: return "len";
	case OP_CONCAT: return "concat";
	case OP_EQ: return "eq";
	case OP_LT: case OP_LTI: case 64: return "lt";
	case OP_LE: case OP_LEI: case OP_GEI: return "le";
	case 54: case 70: return "close";
	default: return NULL;
	}
}

const char *lua_called(const struct lua *lua, const struct lua_proto *caller, uint64_t pc)
{
	uint32_t at = (uint32_t)((pc - caller->code) / 4), ins;
	const char *name;

	if (!at || at > caller->sizecode || at > 65536 ||
	    !mem_u32(lua->g, caller->code + 4ull * --at, &ins))
		return NULL;
	if (lua->y->minor < 4)
		return lua_called_old(lua, caller, at, ins);
	if ((ins & 127) == OP_CALL || (ins & 127) == OP_TAILCALL)
		return register_name(lua, caller, at, A(ins));
	if ((ins & 127) == OP_TFORCALL)
		return string_intern(lua->g, "for iterator", 12);
	name = metamethod(ins);
	return name ? string_intern(lua->g, name, strlen(name)) : NULL;
}
