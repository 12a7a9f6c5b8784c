/*
 * luajit_value.c - values and variables of LuaJIT.
 *
 * A value is 8 bytes: a number, or a type in the upper 17 bits.  Variables of interpreted frames
 * lie in slots behind the frame.  In a frame of a trace a slot in memory is only right where the
 * trace cannot have changed it: its snapshot says that it need not be restored, or no instruction
 * in the variable's scope writes it.  Constants are in the snapshot; the rest is in registers.
 */
#include "guests/lua_text.h"
#include "guests/luajit.h"

enum {
	V_NIL = -1, V_FALSE = -2, V_TRUE = -3, V_LIGHT = -4, V_STR = -5, V_UPVAL = -6,
	V_THREAD = -7, V_PROTO = -8, V_FUNC = -9, V_TRACE = -10, V_CDATA = -11, V_TAB = -12,
	V_UDATA = -13, V_INT = -14,
};
enum { CT_INT64 = 11, CT_UINT64 = 12, UD_IO_FILE = 1, PROTO_VARARG = 2 };

static void value_put(const struct lj *lj, uint64_t v, struct out *t);

/* As the language prints addresses. */
static void address_put(struct out *t, const char *what, uint64_t p)
{
	out_format(t, p >> 40 ? "%s: 0x%012" PRIx64 : p >> 32 ? "%s: 0x%010" PRIx64
							       : "%s: 0x%08" PRIx64, what, p);
}

static void number_put(struct out *t, uint64_t v)
{
	double d;

	memcpy(&d, &v, 8);
	if (d != d)
		out_word(t, "nan");
	else
		lua_text_float(t, d, false);
}

static void string_put(const struct lj *lj, uint64_t addr, struct out *t)
{
	const struct lj_shape *sh = lj->y->shape;
	unsigned char b[24];
	uint32_t len;

	if (!mem_bytes(lj->g, addr, b, sh->str.text) || b[sh->gct] != LJ_T_STR) {
		out_word(t, "?");
		return;
	}
	memcpy(&len, b + sh->str.len, 4);
	lua_text_string(t, lj->g, addr + sh->str.text, len);
}

static void function_put(const struct lj *lj, uint64_t addr, struct out *t)
{
	struct lj_function fn;
	struct lj_proto pt;
	const char *chunk;

	if (!lj_function_read(lj, addr, &fn)) {
		out_word(t, "?");
		return;
	}
	if (fn.ffid > 1) {
		out_format(t, "function: builtin#%u", fn.ffid);
		return;
	}
	address_put(t, "function", addr);
	if (fn.ffid || !lj_proto_read(lj, fn.proto, &pt))
		return;
	chunk = lj_chunk(lj, &pt);
	out_format(t, " (%.200s:%u)", chunk ? chunk : "?", pt.firstline);
}

static void cdata_put(const struct lj *lj, uint64_t addr, struct out *t)
{
	uint64_t v, at = addr + lj->y->shape->cdata;
	uint16_t type;

	if (!mem_u16(lj->g, addr + lj->y->shape->gct + 1, &type) || !mem_u64(lj->g, at, &v))
		out_word(t, "?");
	else if (type == CT_INT64)
		out_format(t, "%" PRId64 "LL", (int64_t)v);
	else if (type == CT_UINT64)
		out_format(t, "%" PRIu64 "ULL", v);
	else
		address_put(t, "cdata", at);
}

static void userdata_put(const struct lj *lj, uint64_t addr, struct out *t)
{
	uint64_t file, at = addr + lj->y->shape->udata;
	uint8_t type;

	if (mem_u8(lj->g, addr + lj->y->shape->gct + 1, &type) && type == UD_IO_FILE &&
	    mem_u64(lj->g, at, &file)) {
		if (file)
			out_format(t, "file (0x%" PRIx64 ")", file);
		else
			out_word(t, "file (closed)");
		return;
	}
	address_put(t, "userdata", at);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int type_of(uint64_t v)
{
	int64_t type = (int64_t)v >> 47;

	return type < 0 && type >= V_INT ? (int)type : 0;
}

bool lj_slot(const struct lj *lj, uint64_t addr, uint64_t *ret)
{
	int32_t type;

	if (!mem_u64(lj->g, addr, ret))
		return false;
	if (!lj_is_gc32(lj))
		return true;
	type = (int32_t)(*ret >> 32);
	if (type >> 15 == -2)		/* a pointer of 47 bits */
		*ret = LJ_POINTER(*ret) | (uint64_t)(int64_t)V_LIGHT << 47;
	else if (type >= V_INT && type < 0)
		*ret = (uint64_t)(int64_t)type << 47 | (uint32_t)*ret;
	return true;
}

static void array_put(const struct lj *lj, uint64_t array, uint32_t n, struct lua_table_text *e)
{
	uint32_t expected = 1;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t v;

		if (!lj_slot(lj, array + 8ull * i, &v))
			return;
		if (type_of(v) == V_NIL)
			continue;
		if (!lua_text_entry(e))
			return;
		if (i != expected)
			out_format(e->t, "[%u] = ", i);
		expected = i + 1;
		value_put(lj, v, e->t);
	}
}

static void table_put(const struct lj *lj, uint64_t addr, struct out *t)
{
	struct lua_table_text e = { .t = t };
	const struct lj_shape *sh = lj->y->shape;
	uint64_t array = 0, node = 0, entry[2];
	unsigned char b[64];
	uint32_t in_array, mask;

	if (!mem_bytes(lj->g, addr, b, sh->tab.asize + 8u) || b[sh->gct] != LJ_T_TAB) {
		out_word(t, "?");
		return;
	}
	if (!out_enter(t, addr)) {
		address_put(t, "table", addr);
		return;
	}
	memcpy(&array, b + sh->tab.array, sh->ref);
	memcpy(&node, b + sh->tab.node, sh->ref);
	memcpy(&in_array, b + sh->tab.asize, 4);
	memcpy(&mask, b + sh->tab.asize + 4, 4);
	out_word(t, "{");
	array_put(lj, array, in_array, &e);
	for (uint64_t i = 0; i <= mask && e.n <= t->limits.entries; i++) {
		if (!lj_slot(lj, node + 24 * i, &entry[0]) ||
		    !lj_slot(lj, node + 24 * i + 8, &entry[1]))
			break;
		if (type_of(entry[0]) == V_NIL || type_of(entry[1]) == V_NIL)
			continue;
		if (!lua_text_entry(&e))
			break;
		lua_text_key_begin(&e);
		value_put(lj, entry[1], t);
		lua_text_key_end(&e);
		value_put(lj, entry[0], t);
	}
	out_word(t, "}");
	out_leave(t);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void object_put(const struct lj *lj, int type, uint64_t addr, struct out *t)
{
	struct lj_proto pt;
	const char *chunk;

	switch (type) {
	case V_STR:
		string_put(lj, addr, t);
		return;
	case V_THREAD:
		address_put(t, "thread", addr);
		return;
	case V_FUNC:
		function_put(lj, addr, t);
		return;
	case V_CDATA:
		cdata_put(lj, addr, t);
		return;
	case V_TAB:
		table_put(lj, addr, t);
		return;
	case V_UDATA:
		userdata_put(lj, addr, t);
		return;
	case V_PROTO:
		chunk = lj_proto_read(lj, addr, &pt) ? lj_chunk(lj, &pt) : NULL;
		address_put(t, "proto", addr);
		if (chunk)
			out_format(t, " (%.200s:%u)", chunk, pt.firstline);
		return;
	case V_TRACE:
		address_put(t, "trace", addr);
		return;
	default:
		out_word(t, "?");
	}
}

/* A pointer without a type: its upper bits say which segment it is of. */
static void light_put(struct out *t, uint64_t v)
{
	address_put(t, "userdata", v & ((1ull << 39) - 1));
}

static void value_put(const struct lj *lj, uint64_t v, struct out *t)
{
	int type = type_of(v);

	switch (type) {
	case 0:
		number_put(t, v);
		return;
	case V_NIL:
		out_word(t, "nil");
		return;
	case V_FALSE: case V_TRUE:
		out_word(t, type == V_TRUE ? "true" : "false");
		return;
	case V_LIGHT:
		light_put(t, v);
		return;
	case V_INT:
		out_format(t, "%d", (int)v);
		return;
	default:
		object_put(lj, type, LJ_POINTER(v), t);
	}
}

static bool machine_of(struct guests *g, struct code *c, const struct guests_vm *vm, struct lj *ret)
{
	struct lj_code *code = c->data;

	*ret = (struct lj){ .g = g, .code = code, .G = vm->address, .main = vm->main };
	for (unsigned i = 0; i < code->vms && i < LJ_VMS; i++)
		if (code->vm[i].G == vm->address)
			ret->y = code->vm[i].layout;
	if (!ret->y)
		return false;
	ret->J = ret->G + ret->y->J;
	return true;
}

bool lj_value(struct guests *g, struct code *c, const struct guests_vm *vm, enum guests_at at,
	      uint64_t addr, struct out *t)
{
	struct lj lj;
	uint8_t type;
	uint64_t v;

	if (!machine_of(g, c, vm, &lj))
		return false;
	if (at == GUESTS_SLOT) {
		if (!lj_slot(&lj, addr, &v))
			return false;
		value_put(&lj, v, t);
		return true;
	}
	if (!mem_u8(g, addr + lj.y->shape->gct, &type) || type < LJ_T_STR || type > 12)
		return false;
	object_put(&lj, ~(int)type, addr, t);
	return true;
}

/* ---- variables ------------------------------------------------------------------------------- */

struct frame {
	struct lj lj;
	struct variables vs;
	struct lj_proto pt;
	const struct guests_frame *f;
	struct lj_trace trace;
	bool in_trace, enough;
};

/*
 * May the slot in memory, which the snapshot does not name, be another than the variable's value?
 * Not if the variable had it before the first trace began (a loop in its scope, where nothing
 * writes it), and what runs later reads it: else it may not have been written back by a trace that
 * went on to this one.
 */
static bool is_changed(const struct frame *fr, const struct lj_variable *v)
{
	struct lj_trace root = fr->trace;
	uint64_t at;

	if (fr->f->kind != GUESTS_TRACE_FRAME ||
	    (root.root && !lj_trace_read(&fr->lj, root.root, &root)) ||
	    root.startpt != fr->pt.addr)
		return true;
	at = (root.startpc - fr->pt.bytecode) / 4;
	if (at < v->start || at >= v->end || !at)
		return true;
	return (fr->trace.root && lj_in_loop(&fr->lj, &fr->pt, v->start)) ||
	       !lj_reads(&fr->lj, &fr->pt, v->slot, (uint32_t)at, v->end) ||
	       lj_writes(&fr->lj, &fr->pt, v->slot, v->start, v->end);
}

static void tell_in_trace(struct frame *fr, enum guests_variable_kind kind,
			  const struct lj_variable *v, uint64_t addr)
{
	/* slots of snapshots count from the function's of the frame that the trace began in */
	uint64_t slot = (addr - fr->f->inside.base) / 8 + fr->lj.y->shape->slots;
	struct guests_variable var = { kind, v->name, "<in a register of the trace>", 0 };
	struct out t;
	char buf[VALUE_MAX];
	uint64_t value;

	switch (lj_snapshot_slot(&fr->lj, &fr->trace, fr->f->inside.snapshot, (unsigned)slot,
				 &value)) {
	case LJ_SLOT_MEMORY:
		fr->enough |= !variable_tell(&fr->vs, kind, v->name, GUESTS_SLOT, addr);
		return;
	case LJ_SLOT_ABSENT:
		if (!is_changed(fr, v)) {
			fr->enough |= !variable_tell(&fr->vs, kind, v->name, GUESTS_SLOT, addr);
			return;
		}
		var.value = "<not kept by the trace>";
		break;
	case LJ_SLOT_VALUE:
		out_start(&t, NULL, buf, sizeof(buf));
		value_put(&fr->lj, value, &t);
		out_end(&t);
		var.value = buf;
		break;
	case LJ_SLOT_ELSEWHERE:
		break;
	}
	fr->vs.fn(fr->vs.ctx, &var);
}

static void tell_local(void *ctx, const struct lj_variable *v)
{
	struct frame *fr = ctx;
	uint64_t addr = fr->f->where + 8 + 8ull * v->slot;
	enum guests_variable_kind kind = v->slot < fr->pt.numparams ? GUESTS_ARGUMENT
								     : GUESTS_LOCAL;

	if (fr->enough || v->name[0] == '(')
		return;			/* the language's own */
	if (fr->in_trace)
		tell_in_trace(fr, kind, v, addr);
	else
		fr->enough |= !variable_tell(&fr->vs, kind, v->name, GUESTS_SLOT, addr);
}

/* Variable arguments lie in a frame of their own below. */
static void tell_varargs(struct frame *fr)
{
	uint64_t link, frame = fr->f->where, below;
	char name[32];

	if (!(fr->pt.flags & PROTO_VARARG) || fr->in_trace ||
	    !lj_frame_link(&fr->lj, frame, &link) ||
	    (link & 7) != LJ_VARG)
		return;
	below = frame - (link & ~7ull);
	for (unsigned i = 0; i < 64 && !fr->enough; i++) {
		uint64_t addr = below + 8 + 8ull * (fr->pt.numparams + i);

		if (addr + 8 >= frame)
			return;
		snprintf(name, sizeof(name), "...[%u]", i + 1);
		fr->enough = !variable_tell(&fr->vs, GUESTS_VARARG, name, GUESTS_SLOT, addr);
	}
}

static void tell_upvalues(struct frame *fr)
{
	const struct lj_shape *sh = fr->lj.y->shape;
	uint64_t function = fr->f->function_object;
	uint8_t n;

	if (!function || !mem_u8(fr->lj.g, function + sh->gct + 2, &n))
		return;
	for (unsigned i = 0; i < n && !fr->enough; i++) {
		const char *name = lj_upvalue(&fr->lj, &fr->pt, i);
		uint64_t upvalue, v;

		if (!lj_ref(&fr->lj, function + sh->function.upvalue + (uint64_t)sh->ref * i,
			    &upvalue) ||
		    !lj_ref(&fr->lj, LJ_POINTER(upvalue) + sh->upvalue, &v))
			return;
		fr->enough = !variable_tell(&fr->vs, GUESTS_UPVALUE, name ? name : "?", GUESTS_SLOT,
					    v);
	}
}

bool lj_locals(struct guests *g, struct code *c, const struct guests_frame *f,
	       guests_variable_fn *fn, void *ctx)
{
	struct frame fr = { .vs = { .g = g, .code = c, .vm = f->vm, .fn = fn, .ctx = ctx },
			    .f = f,
			    .in_trace = f->kind != GUESTS_FRAME };

	if ((f->kind != GUESTS_FRAME && f->kind != GUESTS_TRACE_FRAME &&
	     f->kind != GUESTS_INLINED) ||
	    !machine_of(g, c, f->vm, &fr.lj) || !lj_proto_read(&fr.lj, f->address, &fr.pt))
		return false;
	if (fr.in_trace && !lj_trace_read(&fr.lj, f->trace, &fr.trace))
		return false;
	lj_variables(&fr.lj, &fr.pt, f->inside.pc, tell_local, &fr);
	tell_varargs(&fr);
	tell_upvalues(&fr);
	return true;
}

/* ---- globals --------------------------------------------------------------------------------- */

static bool is_name(const struct lj *lj, uint64_t value, const char *name)
{
	const struct lj_shape *sh = lj->y->shape;
	uint64_t addr = LJ_POINTER(value);
	size_t n = strlen(name);
	char text[256];
	uint32_t len;

	return type_of(value) == V_STR && n < sizeof(text) &&
	       mem_u32(lj->g, addr + sh->str.len, &len) && len == n &&
	       mem_bytes(lj->g, addr + sh->str.text, text, n) && !memcmp(text, name, n);
}

bool lj_global(struct guests *g, struct code *c, const struct guests_frame *f, const char *name,
	       guests_variable_fn *fn, void *ctx)
{
	enum { GLOBALS_MAX = 1 << 20, NODE = 24 };
	struct variables vs = { .g = g, .code = c, .vm = f->vm, .fn = fn, .ctx = ctx };
	uint64_t table, node, value, key;
	const struct lj_shape *sh;
	uint32_t mask;
	struct lj lj;

	if (!f->function_object || !machine_of(g, c, f->vm, &lj))
		return false;
	sh = lj.y->shape;
	/* in a function: its globals, the collector's link, where its code is */
	if (!lj_ref(&lj, f->function_object + sh->function.pc - 2u * sh->ref, &table) ||
	    !lj_ref(&lj, table + sh->tab.node, &node) ||
	    !mem_u32(g, table + sh->tab.asize + 4, &mask))
		return false;
	for (uint64_t i = 0; i <= mask && i < GLOBALS_MAX; i++) {
		if (!lj_slot(&lj, node + NODE * i, &value) ||
		    !lj_slot(&lj, node + NODE * i + 8, &key))
			return false;
		if (type_of(value) == V_NIL || !is_name(&lj, key, name))
			continue;
		variable_tell(&vs, GUESTS_LOCAL, name, GUESTS_SLOT, node + NODE * i);
		return true;
	}
	return false;
}
