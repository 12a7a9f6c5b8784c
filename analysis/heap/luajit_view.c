/*
 * luajit_view.c - LuaJIT's traces and prototypes in words.
 *
 * Offsets are those of GC64 builds (types/luajit.c has the whole).  An IR instruction is 8 bytes:
 * two operands, type, opcode, register, spill slot; references are biased by 0x8000, constants
 * lie below and grow downwards, with 64 bits of value in the instruction behind.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "analysis/heap/luajit_names.h"
#include "analysis/heap/luajit_view.h"
#include "x86/decode.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
enum {
	BIAS = 0x8000, IR_MAX = 8192, CODE_MAX = 1 << 16, BYTECODES_MAX = 1 << 14,
	SNAPS_MAX = 1024
};

struct memory { struct heap_store *st; bool raptor; };

static bool get(const struct memory *m, uint64_t addr, void *buf, size_t len)
{
	return m->st->ops->read(m->st, addr, buf, len) == len;
}

#define READER(name, type) \
	static uint64_t name(const struct memory *m, uint64_t addr) \
	{ \
		type v; \
		return get(m, addr, &v, sizeof(v)) ? v : 0; \
	}
READER(u8, uint8_t)
READER(u16, uint16_t)
READER(u32, uint32_t)
READER(u64, uint64_t)

/* ---- strings -------------------- */

static void quote(const char *from, size_t n, char *buf, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < n && at + 6 < size; i++) {
		unsigned char c = (unsigned char)from[i];

		if (c == '\n' || c == '\t')
			at += (size_t)snprintf(buf + at, size - at, c == '\n' ? "\\n" : "\\t");
		else if (c < 32 || c >= 127)
			at += (size_t)snprintf(buf + at, size - at, "\\x%02x", c);
		else
			buf[at++] = (char)c;
	}
	buf[at] = '\0';
}

bool heap_luajit_string(struct heap_store *st, bool raptor, uint64_t addr, char *buf, size_t size)
{
	const struct memory m = { st, raptor };
	uint64_t len = u32(&m, addr + (raptor ? 16 : 20));
	char text[256];

	if (u8(&m, addr + 9) != 4 || !size)
		return false;
	len = len < sizeof(text) ? len : sizeof(text);
	if (!get(&m, addr + 24, text, len))
		return false;
	quote(text, len, buf, size);
	return true;
}

/* ---- prototypes -------------------- */

struct proto {
	uint64_t addr, bytecode, k, lineinfo;
	uint32_t sizebc, firstline, numline;
	char chunk[200];
};

static bool proto_read(const struct memory *m, uint64_t addr, struct proto *ret)
{
	char name[200];

	*ret = (struct proto){ .addr = addr, .bytecode = addr + (m->raptor ? 112 : 104) };
	if (!addr || u8(m, addr + 9) != 7)
		return false;
	ret->sizebc = (uint32_t)u32(m, addr + 12);
	ret->k = u64(m, addr + 32);
	ret->firstline = (uint32_t)u32(m, addr + 72);
	ret->numline = (uint32_t)u32(m, addr + 76);
	ret->lineinfo = u64(m, addr + 80);
	if (!heap_luajit_string(m->st, m->raptor, u64(m, addr + 64), name, sizeof(name)))
		snprintf(name, sizeof(name), "?");
	snprintf(ret->chunk, sizeof(ret->chunk), "%.150s",
		 *name == '@' || *name == '=' ? name + 1 : name);
	return true;
}

/* The line of the instruction number pos. */
static uint32_t proto_line(const struct memory *m, const struct proto *p, uint32_t pos)
{
	if (!p->lineinfo || pos > p->sizebc)
		return p->firstline;
	if (m->raptor)		/* one for each instruction, as it is */
		return (uint32_t)u32(m, p->lineinfo + 4ull * pos);
	if (!pos)
		return p->firstline;
	pos--;
	return p->firstline + (uint32_t)(p->numline < 256     ? u8(m, p->lineinfo + pos)
					 : p->numline < 65536 ? u16(m, p->lineinfo + 2ull * pos)
							      : u32(m, p->lineinfo + 4ull * pos));
}

static void proto_place(const struct memory *m, const struct proto *p, uint32_t pos, char *buf,
			size_t size)
{
	snprintf(buf, size, "%.150s:%u", p->chunk, proto_line(m, p, pos));
}

void heap_luajit_proto_name(struct heap_store *st, bool raptor, uint64_t addr, char *buf,
			    size_t size)
{
	const struct memory m = { st, raptor };
	struct proto p;

	snprintf(buf, size, "?");
	if (proto_read(&m, addr, &p))
		proto_place(&m, &p, 0, buf, size);
}

/* An operand of a bytecode instruction. */
static void operand(const struct memory *m, const struct proto *p, char kind, uint32_t v,
		    uint32_t pos, char *buf, size_t size)
{
	static const char *const primitive[] = { "nil", "false", "true" };
	char text[60];
	double n;

	*buf = '\0';
	if (kind == 's' &&
	    heap_luajit_string(m->st, m->raptor, u64(m, p->k - 8ull * (v + 1)), text, 50))
		snprintf(buf, size, "\"%s\"", text);
	else if (kind == 'n' && get(m, p->k + 8ull * v, &n, 8))
		snprintf(buf, size, "%.14g", n);
	else if (kind == 'p' && v < 3)
		snprintf(buf, size, "%s", primitive[v]);
	else if (kind == 'j')
		snprintf(buf, size, "=> %04u", pos + 1 + v - 0x8000);
	else if (kind == 'i')
		snprintf(buf, size, "%d", (int16_t)v);
	else if (kind == 'f')
		heap_luajit_proto_name(m->st, m->raptor, u64(m, p->k - 8ull * (v + 1)), buf, size);
	else if (kind != '-')
		snprintf(buf, size, "%u", v);
}

static void bytecode_text(const struct memory *m, const struct proto *p, uint32_t pos, char *buf,
			  size_t size)
{
	uint32_t ins = (uint32_t)u32(m, p->bytecode + 4ull * pos), op = ins & 255;
	const char *name, *kind;
	char b[200] = "", c[200];

	if (pos >= p->sizebc || op >= COUNT(bytecode_names)) {
		snprintf(buf, size, "?");
		return;
	}
	name = bytecode_names[op];
	kind = strchr(name, ' ') + 1;
	if (kind[1])
		operand(m, p, kind[0], ins >> 24, pos, b, sizeof(b));
	operand(m, p, kind[1] ? kind[1] : kind[0], kind[1] ? ins >> 16 & 255 : ins >> 16, pos, c,
		sizeof(c));
	snprintf(buf, size, "%04u %-6.*s %3u%s%s%s%s", pos, (int)(kind - 1 - name), name,
		 ins >> 8 & 255, *b ? " " : "", b, *c ? " " : "", c);
}

static void bytecode_line(const struct memory *m, const struct proto *p, uint32_t pos,
			  const char *first, heap_luajit_fn *fn, void *ctx)
{
	const char *cell[HEAP_LUAJIT_CELLS] = { first };
	char place[300], text[500];

	proto_place(m, p, pos, place, sizeof(place));
	bytecode_text(m, p, pos, text, sizeof(text));
	cell[1] = place;
	cell[2] = text;
	fn(ctx, HEAP_LUAJIT_BYTECODE, cell);
}

void heap_luajit_proto_lines(struct heap_store *st, bool raptor, uint64_t addr, heap_luajit_fn *fn,
			     void *ctx)
{
	const struct memory m = { st, raptor };
	struct proto p;

	if (!proto_read(&m, addr, &p))
		return;
	for (uint32_t i = 0; i < p.sizebc && i < BYTECODES_MAX; i++) {
		uint32_t ins;

		if (!get(&m, p.bytecode + 4ull * i, &ins, 4))
			break;
		bytecode_line(&m, &p, i, "", fn, ctx);
	}
}

void heap_luajit_recorded(struct heap_store *st, bool raptor, const void *entries, size_t len,
			  heap_luajit_fn *fn, void *ctx)
{
	const struct memory m = { st, raptor };

	for (size_t i = 0; i < len / 16 && i < BYTECODES_MAX; i++) {
		struct { uint64_t pt; uint32_t pos; int32_t depth; } e;
		struct proto p;
		char depth[16];

		memcpy(&e, (const char *)entries + 16 * i, sizeof(e));
		if (!proto_read(&m, e.pt, &p))
			continue;
		snprintf(depth, sizeof(depth), "%d", e.depth);
		bytecode_line(&m, &p, e.pos, depth, fn, ctx);
	}
}

/* ---- traces -------------------- */

struct trace {
	uint64_t ir, snap, snapmap, startpt, startpc, mcode;
	uint32_t nins, nk, nsnapmap, szmcode;
	unsigned nsnap, linktype;
};

static bool trace_read(const struct memory *m, uint64_t addr, struct trace *t,
		       struct heap_luajit_trace *ret)
{
	uint64_t names = addr + (m->raptor ? 116 : 104);

	if (u8(m, addr + 9) != 9)
		return false;
	*t = (struct trace){ .ir = u64(m, addr + 32),
			     .snap = u64(m, addr + 48),
			     .snapmap = u64(m, addr + 56),
			     .startpt = u64(m, addr + 64),
			     .startpc = u64(m, addr + 72),
			     .mcode = u64(m, addr + 88),
			     .nins = (uint32_t)u32(m, addr + 12),
			     .nk = (uint32_t)u32(m, addr + 40),
			     .nsnapmap = (uint32_t)u32(m, addr + 44),
			     .szmcode = (uint32_t)u32(m, addr + 84),
			     .nsnap = (unsigned)u16(m, addr + 10),
			     .linktype = (unsigned)u8(m, addr + (m->raptor ? 134 : 116)) };
	*ret = (struct heap_luajit_trace){ .addr = addr,
					   .code = t->mcode,
					   .code_size = t->szmcode,
					   .number = (unsigned)u16(m, names),
					   .link = (unsigned)u16(m, names + 2),
					   .root = (unsigned)u16(m, names + 4) };
	ret->linktype = t->linktype < COUNT(link_names) ? link_names[t->linktype] : "?";
	return t->nk <= BIAS && t->nins >= BIAS && t->nins - t->nk <= IR_MAX;
}

bool heap_luajit_trace(struct heap_store *st, bool raptor, uint64_t addr,
		       struct heap_luajit_trace *ret)
{
	const struct memory m = { st, raptor };
	struct trace t;
	struct proto p;

	if (!trace_read(&m, addr, &t, ret))
		return false;
	ret->parent = (unsigned)u16(&m, t.ir + 8ull * BIAS);
	ret->exit = ret->parent ? (unsigned)u16(&m, t.ir + 8ull * BIAS + 2) : 0;
	snprintf(ret->start, sizeof(ret->start), "?");
	if (proto_read(&m, t.startpt, &p))
		proto_place(&m, &p, (uint32_t)((t.startpc - p.bytecode) / 4), ret->start,
			    sizeof(ret->start));
	return true;
}

struct ir { uint16_t op1, op2; uint8_t t, o, r, s; };

/* The opcode as ours, or the number of them. */
static unsigned ir_op(const struct memory *m, const struct ir *ins)
{
	return m->raptor && ins->o >= IR_PROF ? ins->o + 1u : ins->o;
}

/* kept: what the constant is that this one is a slot of; again: it is known. */
static void constant_of(const struct memory *m, const struct trace *t, uint32_t ref, bool again,
			const char *kept, char *buf, size_t size)
{
	struct ir ins = { 0 };
	uint64_t wide = 0;
	unsigned type;
	char text[60];
	double n;

	if (!get(m, t->ir + 8ull * ref, &ins, 8)) {
		snprintf(buf, size, "?");
		return;
	}
	type = ins.t & 31;
	get(m, t->ir + 8ull * (ref + 1), &wide, 8);
	memcpy(&n, &wide, 8);
	switch (ir_op(m, &ins)) {
	case IR_KPRI: snprintf(buf, size, "%s", type < 3 ? ir_types[type] : "?"); break;
	case IR_KINT:
		snprintf(buf, size, "%+d", (int32_t)(ins.op1 | (uint32_t)ins.op2 << 16));
		break;
	case IR_KNUM: snprintf(buf, size, "%+.14g", n); break;
	case IR_KINT64: snprintf(buf, size, "%+" PRId64, (int64_t)wide); break;
	case IR_KNULL: snprintf(buf, size, "NULL"); break;
	case IR_KSLOT: snprintf(buf, size, "%s @%u", again ? kept : "?", ins.op2); break;
	case IR_KGC:
		if (type == IRT_STR && heap_luajit_string(m->st, m->raptor, wide, text, 50))
			snprintf(buf, size, "\"%s\"", text);
		else
			snprintf(buf, size, "%s:0x%" PRIx64,
				 type < COUNT(ir_types) ? ir_types[type] : "gc", wide);
		break;
	default: snprintf(buf, size, "[0x%" PRIx64 "]", wide);
	}
}

static void constant(const struct memory *m, const struct trace *t, uint32_t ref, char *buf,
		     size_t size)
{
	struct ir ins = { 0 };
	char kept[100];
	bool slot = get(m, t->ir + 8ull * ref, &ins, 8) && ir_op(m, &ins) == IR_KSLOT;

	if (slot)
		constant_of(m, t, ins.op1, false, NULL, kept, sizeof(kept));
	constant_of(m, t, ref, slot, kept, buf, size);
}

static void ir_operand(const struct memory *m, const struct trace *t, char kind, unsigned v,
		       char *buf, size_t size)
{
	*buf = '\0';
	if (kind == 'r' && v >= BIAS)
		snprintf(buf, size, "%04u", v - BIAS);
	else if (kind == 'r' && v >= t->nk)
		constant(m, t, v, buf, size);
	else if (kind == 'l' || (kind == 'r' && v))
		snprintf(buf, size, "#%u", v);
}

static void ir_line(const struct memory *m, const struct trace *t, uint32_t ref, heap_luajit_fn *fn,
		    void *ctx)
{
	char number[16], name[16], flags[4], one[100], two[100], both[204];
	struct ir ins;
	unsigned op, type;
	const char *row;

	if (!get(m, t->ir + 8ull * ref, &ins, 8))
		return;
	op = ir_op(m, &ins);
	row = op < COUNT(ir_names) ? ir_names[op] : "? ll";
	type = ins.t & 31;
	snprintf(number, sizeof(number), "%u", ref - BIAS);
	snprintf(flags, sizeof(flags), "%s%s", ins.t & 0x80 ? ">" : "", ins.t & 0x40 ? "+" : "");
	snprintf(name, sizeof(name), "%.*s", (int)(strchr(row, ' ') - row), row);
	row = strchr(row, ' ') + 1;
	ir_operand(m, t, row[0], ins.op1, one, sizeof(one));
	ir_operand(m, t, row[1], ins.op2, two, sizeof(two));
	if (op == IR_CONV)
		snprintf(two, sizeof(two), "%s.%s",
			 (ins.op2 >> 5 & 31u) < COUNT(ir_types) ? ir_types[ins.op2 >> 5 & 31] : "?",
			 (ins.op2 & 31u) < COUNT(ir_types) ? ir_types[ins.op2 & 31] : "?");
	snprintf(both, sizeof(both), "%s%s%s", one, *two ? "  " : "", two);
	fn(ctx, HEAP_LUAJIT_IR,
	   (const char *[HEAP_LUAJIT_CELLS]){
		   number, flags, row[0] == '-' || type >= COUNT(ir_types) ? "" : ir_types[type],
		   name, both });
}

struct snap {
	uint32_t mapofs;
	uint16_t ref, mcofs;
	uint8_t nslots, topslot, nent, count;
};

static void snap_line(const struct memory *m, const struct trace *t, const struct snap *s,
		      heap_luajit_fn *fn, void *ctx)
{
	char ref[16], slots[2000] = "[", pc[500] = "";
	uint64_t link = 0, at = t->snapmap + 4ull * s->mapofs;
	size_t n = 1;
	struct proto p;

	for (unsigned i = 0; i < s->nent && n + 40 < sizeof(slots); i++) {
		uint32_t e = (uint32_t)u32(m, at + 4ull * i), r = e & 0xffff;
		char value[100];

		ir_operand(m, t, 'r', r, value, 24);
		n += (size_t)snprintf(slots + n, sizeof(slots) - n, " %u:%s%s", e >> 24, value,
				      e & 0x10000 ? "|" : "");
	}
	snprintf(slots + n, sizeof(slots) - n, " ]");
	snprintf(ref, sizeof(ref), "%d", (int)s->ref - BIAS);
	link = u64(m, at + 4ull * s->nent) >> 8;
	if (proto_read(m, t->startpt, &p) && link - p.bytecode < 4ull * p.sizebc) {
		char place[300], text[180];

		proto_place(m, &p, (uint32_t)((link - p.bytecode) / 4), place, sizeof(place));
		bytecode_text(m, &p, (uint32_t)((link - p.bytecode) / 4), text, sizeof(text));
		snprintf(pc, sizeof(pc), "%.200s  %s", place, text);
	}
	fn(ctx, HEAP_LUAJIT_EXIT, (const char *[HEAP_LUAJIT_CELLS]){ ref, slots, pc });
}

/* As many instructions as there are in the first n bytes of code; bytes that are none, too. */
static void code_lines(const uint8_t *code, size_t n, uint64_t addr, heap_luajit_fn *fn, void *ctx)
{
	cs_insn *insn = NULL;
	size_t at = 0, k = 0;
	csh cs = decoder_open(DECODE_SKIP);

	k = cs ? cs_disasm(cs, code, n, addr, 0, &insn) : 0;
	for (size_t i = 0; i < k; i++) {
		char offset[16], bytes[64] = "", text[260];

		for (unsigned b = 0; b < insn[i].size && b < 16; b++)
			snprintf(bytes + 2 * b, sizeof(bytes) - 2 * b, "%02x", code[at + b]);
		snprintf(offset, sizeof(offset), "+%zu", at);
		snprintf(text, sizeof(text), "%s %s", insn[i].mnemonic, insn[i].op_str);
		fn(ctx, HEAP_LUAJIT_CODE,
		   (const char *[HEAP_LUAJIT_CELLS]){ offset, bytes, text });
		at += insn[i].size;
	}
	if (insn)
		cs_free(insn, k);
	decoder_close(cs);
}

void heap_luajit_trace_lines(struct heap_store *st, bool raptor, uint64_t addr, heap_luajit_fn *fn,
			     void *ctx)
{
	const struct memory m = { st, raptor };
	struct heap_luajit_trace name;
	struct trace t;
	uint8_t *code;
	size_t n;

	if (!trace_read(&m, addr, &t, &name))
		return;
	for (uint32_t ref = BIAS + 1; ref < t.nins; ref++)
		ir_line(&m, &t, ref, fn, ctx);
	for (unsigned i = 0; i < t.nsnap && i < SNAPS_MAX; i++) {
		struct snap s;

		if (get(&m, t.snap + sizeof(s) * i, &s, sizeof(s)))
			snap_line(&m, &t, &s, fn, ctx);
	}
	n = t.szmcode < CODE_MAX ? t.szmcode : CODE_MAX;
	code = n ? malloc(n) : NULL;
	if (code) {
		n = st->ops->read(st, t.mcode, code, n);
		code_lines(code, n, t.mcode, fn, ctx);
	}
	free(code);
}

const char *heap_luajit_error(uint64_t number)
{
	return number < COUNT(error_names) ? error_names[number] : NULL;
}
