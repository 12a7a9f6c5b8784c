/*
 * luajit_frame.c - LuaJIT's functions: lines, chunks, names, variables.
 *
 * Functions have no names.  What a caller calls one is found as the language itself does for its
 * tracebacks: by the instruction that put the function where the call took it from.
 */
#include "guests/luajit.h"

enum {
	BC_MOV = 18, BC_CAT = 38, BC_KPRI = 43, BC_KNIL = 44, BC_UGET = 45, BC_FNEW = 51,
	BC_GGET = 54, BC_TGETS = 57, BC_TGETR = 59, BC_TSETM = 63, BC_CALLM = 65, BC_CALLT = 68,
	BC_ITERC = 69, BC_ITERN = 70, BC_VARG = 71, BC_ISNEXT = 72, BC_RETM = 73, BC_JITERL = 84,
};
enum { CHUNK_MAX = 4096, NAME_MAX_LEN = 128, WALK_MAX = 1 << 18 };

bool lj_function_read(const struct lj *lj, uint64_t addr, struct lj_function *ret)
{
	const struct lj_shape *sh = lj->y->shape;
	unsigned char b[48];
	size_t head = (size_t)sh->function.pc + sh->ref;
	uint64_t pc = 0;

	if (!addr || !mem_bytes(lj->g, addr, b, head) || b[sh->gct] != LJ_T_FUNC)
		return false;
	*ret = (struct lj_function){ .addr = addr, .ffid = b[sh->gct + 1] };
	memcpy(&pc, b + sh->function.pc, sh->ref);
	if (!ret->ffid)
		ret->proto = pc - lj->y->proto;
	else if (!mem_u64(lj->g, addr + sh->function.c, &ret->c))
		return false;
	return true;
}

bool lj_frame_object(const struct lj *lj, uint64_t frame, uint64_t *ret)
{
	if (!lj_ref(lj, frame - 8ull * (lj->y->shape->slots - 1u), ret))
		return false;
	*ret = LJ_POINTER(*ret);
	return true;
}

bool lj_frame_link(const struct lj *lj, uint64_t frame, uint64_t *ret)
{
	return lj_ref(lj, frame + 8u - lj->y->shape->ref, ret);
}

bool lj_function_at(const struct lj *lj, uint64_t frame, struct lj_function *ret)
{
	uint64_t v;

	return lj_frame_object(lj, frame, &v) && lj_function_read(lj, v, ret);
}

bool lj_proto_read(const struct lj *lj, uint64_t addr, struct lj_proto *ret)
{
	const struct lj_shape *sh = lj->y->shape;
	unsigned char b[104];
	size_t len = (size_t)sh->proto.varinfo + sh->ref;

	if (!addr || !mem_bytes(lj->g, addr, b, len) || b[sh->gct] != LJ_T_PROTO)
		return false;
	*ret = (struct lj_proto){ .addr = addr, .bytecode = addr + lj->y->proto,
				  .numparams = b[sh->gct + 1], .framesize = b[sh->gct + 2],
				  .flags = b[sh->proto.flags] };
	memcpy(&ret->sizebc, b + sh->gct + 3, 4);
	memcpy(&ret->k, b + sh->proto.k, sh->ref);
	memcpy(&ret->chunkname, b + sh->proto.chunkname, sh->ref);
	memcpy(&ret->firstline, b + sh->proto.firstline, 4);
	memcpy(&ret->numline, b + sh->proto.firstline + 4, 4);
	memcpy(&ret->lineinfo, b + sh->proto.lineinfo, sh->ref);
	memcpy(&ret->uvinfo, b + sh->proto.uvinfo, sh->ref);
	memcpy(&ret->varinfo, b + sh->proto.varinfo, sh->ref);
	return ret->sizebc && ret->sizebc < 1 << 26;
}

unsigned lj_line(const struct lj *lj, const struct lj_proto *pt, uint64_t pc)
{
	uint32_t at = (uint32_t)((pc - pt->bytecode) / 4), line = 0;
	unsigned width = pt->numline < 256 ? 1 : pt->numline < 65536 ? 2 : 4;

	if (!lj_proto_has(pt, pc) || !pt->lineinfo)
		return pt->firstline;
	at = at ? at - 1 : 0;
	if (!at)
		return pt->firstline;
	if (!mem_bytes(lj->g, pt->lineinfo + (uint64_t)width * (at - 1), &line, width))
		return 0;
	return pt->firstline + line;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A Lua string's bytes, cut; false: it is none. */
static bool string_read(const struct lj *lj, uint64_t addr, char *buf, size_t size, size_t *len_ret)
{
	const struct lj_shape *sh = lj->y->shape;
	unsigned char b[24];
	uint32_t len;

	if (!addr || !mem_bytes(lj->g, addr, b, sh->str.text) || b[sh->gct] != LJ_T_STR)
		return false;
	memcpy(&len, b + sh->str.len, 4);
	*len_ret = len < size ? len : size - 1;
	if (!mem_bytes(lj->g, addr + sh->str.text, buf, *len_ret))
		return false;
	buf[*len_ret] = '\0';
	return true;
}

const char *lj_chunk(const struct lj *lj, const struct lj_proto *pt)
{
	char text[CHUNK_MAX];
	size_t len;

	if (!string_read(lj, LJ_POINTER(pt->chunkname), text, sizeof(text), &len))
		return NULL;
	return lua_chunk_name(lj->g, text, len, 48);
}

const char *lj_unnamed(const struct lj *lj, const struct lj_proto *pt)
{
	const char *chunk = lj_chunk(lj, pt);

	if (!pt->firstline)
		return string_intern(lj->g, "main chunk", 10);
	return string_format(lj->g, "<%.200s:%u>", chunk ? chunk : "?", pt->firstline);
}

/* A NUL-terminated name in memory. */
static const char *name_at(const struct lj *lj, uint64_t addr, size_t *len_ret)
{
	char text[NAME_MAX_LEN];

	for (size_t n = 0; n < sizeof(text); n++) {
		if (!mem_bytes(lj->g, addr + n, &text[n], 1))
			return NULL;
		if (!text[n]) {
			*len_ret = n;
			return string_intern(lj->g, text, n);
		}
	}
	return NULL;
}

static bool uleb(const struct lj *lj, uint64_t *at, uint32_t *ret)
{
	unsigned shift = 0;
	uint8_t b;

	*ret = 0;
	do {
		if (shift > 28 || !mem_u8(lj->g, (*at)++, &b))
			return false;
		*ret |= (uint32_t)(b & 127) << shift;
		shift += 7;
	} while (b & 128);
	return true;
}

void lj_variables(const struct lj *lj, const struct lj_proto *pt, uint64_t pc, lj_variable_fn *fn,
		  void *ctx)
{
	static const char *const internal[] = { "", "(for index)", "(for limit)", "(for step)",
						"(for generator)", "(for state)", "(for control)" };
	uint32_t at = (uint32_t)((pc - pt->bytecode) / 4), start = 0, delta;
	uint64_t p = pt->varinfo;
	unsigned slot = 0;

	at = at ? at - 1 : 0;
	for (unsigned i = 0; p && i < 65536; i++) {
		const char *name;
		size_t len = 0;
		uint8_t kind;

		if (!mem_u8(lj->g, p, &kind) || !kind)
			return;
		name = kind < 7 ? internal[kind] : name_at(lj, p, &len);
		p += kind < 7 ? 1 : len + 1;
		if (!name || !uleb(lj, &p, &delta))
			return;
		start += delta;
		if (start > at || !uleb(lj, &p, &delta))
			return;
		if (at < start + delta)
			fn(ctx, &(struct lj_variable){ slot++, name, start, start + delta });
	}
}

struct wanted { unsigned slot; const char *name; };

static void variable_wanted(void *ctx, const struct lj_variable *v)
{
	struct wanted *w = ctx;

	if (v->slot == w->slot)
		w->name = v->name;
}

static const char *constant_name(const struct lj *lj, const struct lj_proto *pt, unsigned i)
{
	char text[NAME_MAX_LEN];
	uint64_t v;
	size_t len;

	if (!lj_ref(lj, pt->k - (uint64_t)lj->y->shape->ref * (i + 1), &v) ||
	    !string_read(lj, LJ_POINTER(v), text, sizeof(text), &len))
		return NULL;
	return string_intern(lj->g, text, len);
}

const char *lj_upvalue(const struct lj *lj, const struct lj_proto *pt, unsigned i)
{
	uint64_t p = pt->uvinfo;
	const char *name = NULL;
	size_t len;

	for (unsigned k = 0; p && k <= i; k++, p += len + 1) {
		name = name_at(lj, p, &len);
		if (!name)
			return NULL;
	}
	return name;
}

/* Does the instruction write slots from its A on, or just that one? */
static bool writes_from(unsigned op)
{
	return op == BC_KNIL || op == BC_TSETM || (op >= BC_CALLM && op <= BC_JITERL);
}
static bool writes_one(unsigned op)
{
	return (op >= BC_MOV && op <= BC_KPRI) || op == BC_UGET ||
	       (op >= BC_FNEW && op <= BC_GGET) || (op > BC_GGET + 1 && op <= BC_TGETR) ||
	       op == 12 || op == 13;
}

bool lj_writes(const struct lj *lj, const struct lj_proto *pt, unsigned slot, uint32_t start,
	       uint32_t end)
{
	for (uint32_t i = start; i < end && i < pt->sizebc; i++) {
		unsigned op, a;
		uint32_t ins;

		if (!mem_u32(lj->g, pt->bytecode + 4ull * i, &ins))
			return true;
		op = ins & 255;
		a = ins >> 8 & 255;
		/* results of loops and calls lie above the variables that are in scope there */
		if (writes_from(op) ? slot >= a : writes_one(op) && a == slot)
			return true;
	}
	return false;
}

/* Does an instruction read that slot?  Not told of calls: their arguments lie above variables. */
static bool reads(uint32_t ins, unsigned slot)
{
	unsigned op = ins & 255, a = ins >> 8 & 255, b = ins >> 24, c = ins >> 16 & 255;
	bool of_a = op < 12 || op == 16 || op == 17 || op == BC_GGET + 1 ||
		    (op > BC_TGETR && op != BC_TSETM && op < BC_CALLM) ||
		    (op >= BC_RETM && op <= BC_RETM + 3 && op != BC_RETM + 2);
	bool of_b = (op > 21 && op < BC_CAT) ||
		    (op > BC_GGET + 1 && op < BC_CALLM && op != BC_TSETM);
	bool of_c = (op > 31 && op < BC_CAT) || op == BC_GGET + 2 || op == BC_TGETR ||
		    op == BC_TGETR + 1 || op == BC_TSETM + 1;
	bool of_d = op < 6 || (op > 11 && op < 16) || (op > 17 && op < 22) || op == BC_UGET + 1;

	return (of_a && a == slot) || (of_b && b == slot) || (of_c && c == slot) ||
	       (of_d && ins >> 16 == slot) || (op == BC_CAT && slot >= b && slot <= c);
}

bool lj_reads(const struct lj *lj, const struct lj_proto *pt, unsigned slot, uint32_t start,
	      uint32_t end)
{
	uint32_t ins;

	for (uint32_t i = start; i < end && i < pt->sizebc; i++)
		if (mem_u32(lj->g, pt->bytecode + 4ull * i, &ins) && reads(ins, slot))
			return true;
	return false;
}

bool lj_in_loop(const struct lj *lj, const struct lj_proto *pt, uint32_t at)
{
	enum { FORL = 79, JFORL = 81, JITERL = 84, JMP = 88 };
	const uint64_t startins = lj->y->shape->trace.startins;

	for (uint32_t i = at; i < pt->sizebc; i++) {
		struct lj_trace t;
		uint32_t ins;
		unsigned op;

		if (!mem_u32(lj->g, pt->bytecode + 4ull * i, &ins))
			return true;
		op = ins & 255;
		/* a trace has taken the place of the instruction */
		if ((op == JFORL || op == JITERL) &&
		    (!lj_trace_read(lj, ins >> 16, &t) || !mem_u32(lj->g, t.addr + startins, &ins)))
			return true;
		if (((op >= FORL && op <= JITERL) || op == JMP) &&
		    (int64_t)i + 1 + (ins >> 16) - 0x8000 < at)
			return true;
	}
	return false;
}

/* Names what is in the slot before the instruction at pc. */
static const char *slot_name(const struct lj *lj, const struct lj_proto *pt, uint64_t pc,
			     unsigned slot)
{
	struct wanted w = { slot, NULL };
	uint32_t ins;

	lj_variables(lj, pt, pc + 4, variable_wanted, &w);
	for (unsigned n = 0; !w.name && pc > pt->bytecode + 4 && n < WALK_MAX; n++) {
		unsigned op, a, d;

		pc -= 4;
		if (!mem_u32(lj->g, pc, &ins))
			return NULL;
		op = ins & 255;
		a = ins >> 8 & 255;
		d = ins >> 16;
		if (writes_from(op)) {
			if (slot >= a && (op != BC_KNIL || slot <= d))
				return NULL;
			continue;
		}
		if (!writes_one(op) || a != slot)
			continue;
		switch (op) {
		case BC_MOV:
			slot = w.slot = d;
			lj_variables(lj, pt, pc + 4, variable_wanted, &w);
			continue;
		case BC_GGET:
			return constant_name(lj, pt, d);
		case BC_TGETS:
			return constant_name(lj, pt, d & 255);
		case BC_UGET:
			return lj_upvalue(lj, pt, d);
		default:
			return NULL;
		}
	}
	return w.name;
}

/* The metamethod that an instruction may need; NULL = none. */
static const char *metamethod(unsigned op)
{
	static const char *const name[] = {
		"__lt", "__lt", "__le", "__le", "__eq", "__eq", "__eq", "__eq", "__eq", "__eq",
		"__eq", "__eq", [20] = "__unm", "__len", "__add", "__sub", "__mul", "__div",
		"__mod", "__add", "__sub", "__mul", "__div", "__mod", "__add", "__sub", "__mul",
		"__div", "__mod", "__pow", "__concat", [54] = "__index", "__newindex", "__index",
		"__index", "__index", "__index", "__newindex", "__newindex", "__newindex",
		"__newindex", "__newindex",
	};

	return op < sizeof(name) / sizeof(*name) ? name[op] : NULL;
}

const char *lj_called(const struct lj *lj, const struct lj_proto *caller, uint64_t pc)
{
	uint32_t ins;
	unsigned op, a;

	if (!lj_proto_has(caller, pc) || pc < caller->bytecode + 8 ||
	    !mem_u32(lj->g, pc - 4, &ins))
		return NULL;
	op = ins & 255;
	a = ins >> 8 & 255;
	if (op == BC_ITERC || op == BC_ITERN)
		return slot_name(lj, caller, pc - 4, a - 3);
	if (op >= BC_CALLM && op <= BC_CALLT)
		return slot_name(lj, caller, pc - 4, a);
	return metamethod(op) ? string_intern(lj->g, metamethod(op), strlen(metamethod(op)))
			      : NULL;
}
