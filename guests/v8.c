/*
 * v8.c - stacks of V8 (node 18 and 20).
 *
 * All frames of JavaScript keep rbp.  What a frame is stands below it: a small number for frames of
 * V8's own, else a context, and below that the function:
 *
 *	rbp + 8		return address
 *	rbp		the caller's rbp
 *	rbp - 8		context, or a frame type (a number shifted by one)
 *	rbp - 16	JSFunction
 *	rbp - 32	BytecodeArray, and
 *	rbp - 40	offset into it: of interpreted functions
 *
 * V8 says where things are in its objects by symbols for debuggers (v8dbg_...).  Machine code of a
 * function has a Code object with tables: which position of the script, inlined by which call.
 */
#include "guests/v8.h"


enum { SCAN_CODE = 1 << 18 };

/* ---- the module ------------------------------------------------------------------------------ */

static bool symbol_at(struct guests *g, const struct code *c, const char *name, uint64_t *ret)
{
	struct symbols_found found[4];
	size_t n = symbols_find(g->o.symbols, name, SYMBOLS_FUNC | SYMBOLS_OBJECT, found, 4);

	for (size_t i = 0; i < n && i < 4; i++)
		if (found[i].module == c->module && found[i].bias == c->bias) {
			*ret = found[i].addr;
			return true;
		}
	return false;
}

static bool constant(struct guests *g, const struct code *c, const char *name, uint16_t *ret)
{
	uint64_t at;
	uint32_t v;

	if (!symbol_at(g, c, name, &at) || !mem_u32(g, at, &v) || v > UINT16_MAX)
		return false;
	*ret = (uint16_t)v;
	return true;
}

static bool layout_read(struct guests *g, const struct code *c, struct v8_layout *y)
{
	const struct { const char *name; uint16_t *to; } all[] = {
		{ "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
		  &y->type_function_info },
		{ "v8dbg_type_Script__SCRIPT_TYPE", &y->type_script },
		{ "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", &y->type_scope_info },
		{ "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", &y->type_bytecode },
		{ "v8dbg_class_Map__instance_type__uint16_t", &y->map_type },
		{ "v8dbg_class_JSFunction__shared__SharedFunctionInfo", &y->function_info },
		{ "v8dbg_class_SharedFunctionInfo__function_data__Object", &y->info_data },
		{ "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", &y->info_name },
		{ "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
		  &y->info_script },
		{ "v8dbg_class_Script__source__Object", &y->script_source },
		{ "v8dbg_class_Script__name__Object", &y->script_name },
		{ "v8dbg_class_Script__line_ends__Object", &y->line_ends },
		{ "v8dbg_FirstNonstringType", &y->first_nonstring },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!constant(g, c, all[i].name, all[i].to))
			return false;
	y->code = 48;
	if (!constant(g, c, "v8dbg_class_BytecodeArray__data__uintptr_t", &y->bytecode))
		y->bytecode = 54;
	/* up to V8 10 a Code object ends with the instructions themselves */
	if (constant(g, c, "v8dbg_class_Code__instruction_start__uintptr_t", &y->instructions) &&
	    (!y->instructions ||
	     !constant(g, c, "v8dbg_type_Code__CODE_TYPE", &y->type_code)))
		return false;
	return true;
}

static void sizes_find(struct guests *g, const struct code *c, struct v8_code *v8)
{
	static const char name[] = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE";
	struct symbols_found found[4];
	size_t n = symbols_find(g->o.symbols, name, SYMBOLS_OBJECT, found, 4);

	for (size_t i = 0; i < n && i < 4; i++) {
		if (found[i].module != c->module || found[i].bias != c->bias ||
		    found[i].size > 3 * 256)
			continue;
		v8->sizes = found[i].addr;
		v8->bytecodes = (uint32_t)found[i].size / 3;
	}
}

/*
 * Finds the value that a function returns which does nothing else: 4 or 8 bytes at a fixed address.
 */
static bool returned(struct guests *g, uint64_t function, uint64_t *ret)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t b[24];
	unsigned at = 0;
	int32_t rel;
	uint32_t narrow;
	bool loads;

	if (!mem_bytes(g, function, b, sizeof(b)))
		return false;
	if (!memcmp(b, endbr, sizeof(endbr)))
		at = sizeof(endbr);
	loads = b[at + 1] == 0x8b;			/* mov rel(%rip),%rax */
	if (b[at] != 0x48 || (!loads && b[at + 1] != 0x8d) || b[at + 2] != 0x05)
		return false;
	memcpy(&rel, b + at + 3, 4);
	at += 7;
	*ret = function + at + (uint64_t)(int64_t)rel;
	if (loads && !mem_u64(g, *ret, ret))
		return false;
	if (!memcmp(b + at, "\x48\x8b\x00\xc3", 4))	/* mov (%rax),%rax */
		return mem_u64(g, *ret, ret);
	if (memcmp(b + at, "\x8b\x00\xc3", 3))		/* mov (%rax),%eax */
		return b[at] == 0xc3;
	if (!mem_u32(g, *ret, &narrow))
		return false;
	*ret = narrow;
	return true;
}

/*
 * Where V8's builtins are: by symbols, or where those are stripped by functions that are exported.
 */
static bool blob_find(struct guests *g, const struct code *c, uint64_t *start_ret,
		      uint64_t *size_ret)
{
	static const char exported[] = "_ZN2v88internal23DefaultEmbeddedBlobCodeEv",
			  exported_size[] = "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv";
	uint64_t at;
	uint32_t size = 3 << 20;

	if (symbol_at(g, c, "v8_Default_embedded_blob_code_", start_ret)) {
		if (symbol_at(g, c, "v8_Default_embedded_blob_code_size_", &at))
			mem_u32(g, at, &size);
		*size_ret = size;
		return true;
	}
	return symbol_at(g, c, exported, &at) && returned(g, at, start_ret) &&
	       symbol_at(g, c, exported_size, &at) && returned(g, at, size_ret) &&
	       *size_ret < 1 << 28;
}

static bool examine(struct guests *g, struct code *c)
{
	struct v8_code *v8;
	uint64_t blob, size;

	if (!blob_find(g, c, &blob, &size))
		return false;
	v8 = calloc(1, sizeof(*v8));
	if (!v8)
		return false;
	v8->module = c->module;
	v8->bias = c->bias;
	v8->start = blob;
	v8->end = blob + size;
	sizes_find(g, c, v8);
	if (!layout_read(g, c, &v8->y)) {
		free(v8);
		return false;
	}
	c->data = v8;
	c->data_size = sizeof(*v8);
	return true;
}

/* ---- out of its code ------------------------------------------------------------------------- */

static bool leave(struct guests *g, struct symbols_regs *regs, uint64_t at, bool pushed,
		  uint64_t *cfa_ret)
{
	uint64_t w[2];

	if (!mem_bytes(g, at, w, pushed ? 16 : 8))
		return false;
	if (pushed)
		regs->r[SYMBOLS_RBP] = w[0];
	regs->r[SYMBOLS_RIP] = w[pushed];
	regs->r[SYMBOLS_RSP] = *cfa_ret = at + (pushed ? 16 : 8);
	regs->known &= 1u << SYMBOLS_RBP;
	regs->known |= 1u << SYMBOLS_RIP | 1u << SYMBOLS_RSP;
	return regs->r[SYMBOLS_RIP] != 0;
}

/* V8's own builtins, which it may have mapped once more near its heap, or code that it made. */
static bool is_builtin(struct guests *g, const struct v8_code *v8, uint64_t pc)
{
	uint64_t bias;

	if (pc - v8->start < v8->end - v8->start)
		return true;
	return symbols_module_at(g->o.symbols, pc, &bias) == v8->module &&
	       pc - bias - (v8->start - v8->bias) < v8->end - v8->start;
}

static bool is_code(struct guests *g, const struct v8_code *v8, uint64_t pc)
{
	uint64_t bias;

	return is_builtin(g, v8, pc) ||
	       (pc > 4096 && !symbols_module_at(g->o.symbols, pc, &bias));
}

/*
 * The ends of a function, where its frame is not there, as V8 writes them.  At the beginning:
 *
 *	mov -8(%rcx),%rbx; testb $1,..(%rbx); jne ..	was it deoptimised?
 *	push %rbp; mov %rsp,%rbp
 *
 * At the end it takes its arguments along, however many there were:
 *
 *	pop %rbp; cmp ..,%rcx; jg 1f; ret ..
 *  1:	pop %r10; lea (%rsp,%rcx,8),%rsp; push %r10; ret
 */
enum end { END_NO, END_BARE, END_PUSHED, END_POPPED };
enum { END_BYTES = 14, ANY = 0x100 };
static const struct { enum end end; uint8_t n; uint16_t byte[END_BYTES]; } ends[] = {
	{ END_BARE, 1, { 0xc3 } },
	{ END_BARE, 1, { 0xc2 } },
	{ END_BARE, 4, { 0x55, 0x48, 0x89, 0xe5 } },
	{ END_BARE, 10, { 0x0f, 0x85, ANY, ANY, ANY, ANY, 0x55, 0x48, 0x89, 0xe5 } },
	{ END_BARE, 14, { 0xf6, 0x43, ANY, 0x01, 0x0f, 0x85, ANY, ANY, ANY, ANY, 0x55, 0x48, 0x89,
			  0xe5 } },
	{ END_BARE, 10, { 0x48, 0x8b, 0x59, ANY, 0xf6, 0x43, ANY, 0x01, 0x0f, 0x85 } },
	{ END_BARE, 7, { 0x48, 0x83, 0xf9, ANY, 0x7f, 0x03, 0xc2 } },
	{ END_BARE, 10, { 0x48, 0x81, 0xf9, ANY, ANY, ANY, ANY, 0x7f, 0x03, 0xc2 } },
	{ END_BARE, 7, { 0x7f, 0x03, 0xc2, ANY, ANY, 0x41, 0x5a } },
	{ END_BARE, 9, { 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3 } },
	{ END_PUSHED, 3, { 0x48, 0x89, 0xe5 } },
	{ END_POPPED, 7, { 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3 } },
	{ END_POPPED, 3, { 0x41, 0x52, 0xc3 } },
};

static enum end end_at(struct guests *g, uint64_t pc)
{
	uint8_t b[END_BYTES];
	unsigned n = sizeof(b);

	while (n && !mem_bytes(g, pc, b, n))
		n--;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		unsigned k = 0;

		while (k < ends[i].n && k < n &&
		       (ends[i].byte[k] == ANY || ends[i].byte[k] == b[k]))
			k++;
		if (k == ends[i].n)
			return ends[i].end;
	}
	return END_NO;
}

static bool leave_popped(struct symbols_regs *regs, uint64_t *cfa_ret)
{
	regs->r[SYMBOLS_RIP] = regs->r[SYMBOLS_R10];
	*cfa_ret = regs->r[SYMBOLS_RSP] += 8;
	regs->known &= 1u << SYMBOLS_RBP | 1u << SYMBOLS_RIP | 1u << SYMBOLS_RSP;
	return regs->r[SYMBOLS_RIP] != 0;
}

static bool step(struct guests *g, struct code *c, struct symbols_regs *regs, bool first,
		 uint64_t *cfa_ret)
{
	const struct v8_code *v8 = c->data;
	uint64_t pc = regs->r[SYMBOLS_RIP] - !first, rsp = regs->r[SYMBOLS_RSP];
	uint64_t rbp = regs->r[SYMBOLS_RBP];
	enum end end;

	if (!is_code(g, v8, pc))
		return false;
	end = first ? end_at(g, pc) : END_NO;
	if (end == END_POPPED && regs->known & 1u << SYMBOLS_R10)
		return leave_popped(regs, cfa_ret);
	if (end != END_NO)
		return leave(g, regs, rsp, end == END_PUSHED, cfa_ret);
	return (regs->known & 1u << SYMBOLS_RBP) && rbp >= rsp && rbp - rsp < 1 << 24 &&
	       !(rbp & 7) && leave(g, regs, rbp, true, cfa_ret);
}

/* ---- machine code ---------------------------------------------------------------------------- */

static bool code_read(const struct v8 *v8, uint64_t code, struct v8_machine_code *ret)
{
	unsigned char b[64];
	uint32_t flags, size;

	if ((code & 3) != 1 || !mem_bytes(v8->g, code - 1, b, sizeof(b)))
		return false;
	*ret = (struct v8_machine_code){ .addr = code };
	memcpy(&ret->deopt, b + 16, 8);
	memcpy(&ret->positions, b + 24, 8);
	memcpy(&flags, b + 48, 4);
	if (v8->code->y.instructions) {
		ret->start = code - 1 + v8->code->y.instructions;
		memcpy(&size, b + 40, 4);
	} else {
		memcpy(&ret->start, b + 40, 8);
		memcpy(&size, b + 56, 4);
	}
	ret->size = size;
	ret->kind = flags & 15;
	return true;
}

static bool code_covers(const struct v8 *v8, uint64_t code, uint64_t pc,
			struct v8_machine_code *ret)
{
	return code_read(v8, code, ret) && pc - ret->start < ret->size;
}

static bool code_of_function(const struct v8 *v8, uint64_t function, uint64_t pc,
			     struct v8_machine_code *ret)
{
	uint64_t code;

	return v8_field(v8, function, v8->code->y.code, &code) && code_covers(v8, code, pc, ret);
}

/* By the header in front of the instructions at `at`, which points to it, or is it. */
static bool code_before(const struct v8 *v8, uint64_t at, uint64_t pc, uint64_t *code_ret,
			struct v8_machine_code *ret)
{
	uint64_t word[8];

	if (v8->code->y.instructions) {
		*code_ret = at - v8->code->y.instructions + 1;
		return v8_is(v8, *code_ret, v8->code->y.type_code) &&
		       code_covers(v8, *code_ret, pc, ret);
	}
	if (!mem_bytes(v8->g, at - 64, word, sizeof(word)))
		return false;
	for (unsigned i = 0; i < 8; i++) {
		*code_ret = word[i];
		if (code_covers(v8, word[i], pc, ret) && ret->start == at)
			return true;
	}
	return false;
}

/*
 * The Code of the machine code at pc which is no function's own (it was made for a loop that was
 * running).
 */
static bool code_at(const struct v8 *v8, uint64_t pc, struct v8_machine_code *ret)
{
	uint64_t *hint = &v8->code->hint_pc[(pc >> 6) % V8_HINTS];
	uint64_t *known = &v8->code->hint_code[(pc >> 6) % V8_HINTS];
	uint64_t at = pc & ~31ull, code;
	uint8_t any;

	if (*hint == pc >> 6 && code_covers(v8, *known, pc, ret))
		return true;
	for (unsigned n = 0; n < SCAN_CODE / 32; n++, at -= 32) {
		if (!mem_u8(v8->g, at - 64, &any))
			return false;
		if (code_before(v8, at, pc, &code, ret)) {
			*hint = pc >> 6;
			*known = code;
			return true;
		}
	}
	return false;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool emit(struct v8 *v8, struct guests_frame *f, uint64_t info, uint32_t position,
		 bool known)
{
	v8_describe(v8, info, f);
	f->vm = v8->vm;
	f->line = known ? v8_line(v8, info, position) : 0;
	if (!f->line && f->kind != GUESTS_BUILTIN) {
		f->line = f->first_line;
		f->approximate = true;
	}
	return walk_add(v8->g, v8->w, f);
}

/* Optimised code: the functions that were inlined at pc, innermost first, then its own. */
static bool emit_optimised(struct v8 *v8, struct guests_frame *f, uint64_t info,
			   const struct v8_machine_code *m, uint64_t pc)
{
	uint32_t position = 0;
	int inlined = -1;
	bool known = v8_position(v8, m->positions, (uint32_t)(pc - m->start), &position, &inlined);

	f->kind = GUESTS_INLINED;
	for (unsigned n = 0; known && inlined >= 0 && n < 64; n++) {
		struct guests_frame in = *f;
		uint32_t at;
		uint64_t callee;

		if (!v8_inlining(v8, m, inlined, &callee, &at, &inlined))
			break;
		if (!emit(v8, &in, callee, position, true))
			return false;
		position = at;
	}
	f->kind = GUESTS_TRACE_FRAME;
	return emit(v8, f, info, position, known);
}

static bool emit_interpreted(struct v8 *v8, struct guests_frame *f, uint64_t info, uint64_t fp)
{
	enum { POSITIONS = 32 };
	uint64_t bytecode, offset, table, header = v8->code->y.bytecode - 1u;
	uint32_t position = 0;
	int inlined;
	bool known = mem_u64(v8->g, fp - 32, &bytecode) &&
		     v8_is(v8, bytecode, v8->code->y.type_bytecode) &&
		     mem_u64(v8->g, fp - 40, &offset) && !(offset & 0xffffffff) &&
		     offset >> 32 >= header && v8_field(v8, bytecode, POSITIONS, &table) &&
		     v8_position(v8, table, (uint32_t)((offset >> 32) - header), &position,
				 &inlined);

	f->kind = GUESTS_FRAME;
	return emit(v8, f, info, position, known);
}

/* Baseline code: which bytecode it is for, in the function's bytecode. */
static bool emit_baseline(struct v8 *v8, struct guests_frame *f, uint64_t info, uint64_t fp,
			  const struct v8_machine_code *m, uint64_t pc)
{
	enum { POSITIONS = 32 };
	uint64_t bytecode, table;
	uint32_t position = 0, offset;
	int inlined;
	bool known = mem_u64(v8->g, fp - 32, &bytecode) &&
		     v8_is(v8, bytecode, v8->code->y.type_bytecode) &&
		     v8_bytecode_at(v8, m->positions, bytecode, (uint32_t)(pc - m->start),
				    &offset) &&
		     v8_field(v8, bytecode, POSITIONS, &table) &&
		     v8_position(v8, table, offset, &position, &inlined);

	f->kind = GUESTS_TRACE_FRAME;
	return emit(v8, f, info, position, known);
}

/* The frame of a function at fp.  False: the walk is over. */
static bool emit_frame(struct v8 *v8, size_t host, uint64_t fp, uint64_t function, uint64_t info)
{
	struct guests_frame f = { .host = (unsigned)host, .where = fp,
				  .function_object = function };
	uint64_t pc = v8->w->pc[host].lookup, data;
	struct v8_machine_code m;
	bool builtin = is_builtin(v8->g, v8->code, pc);

	if (v8_field(v8, info, v8->code->y.info_data, &data) && !(data & 1)) {
		f.kind = GUESTS_BUILTIN;
		return emit(v8, &f, info, 0, false);
	}
	if (!builtin && (code_of_function(v8, function, pc, &m) || code_at(v8, pc, &m))) {
		if (m.kind == V8_BASELINE)
			return emit_baseline(v8, &f, info, fp, &m, pc);
		if (m.kind == V8_TURBOFAN || m.kind == V8_MAGLEV)
			return emit_optimised(v8, &f, info, &m, pc);
	}
	return emit_interpreted(v8, &f, info, fp);
}

/* The function that optimised code was made of. */
static bool info_of_code(const struct v8 *v8, const struct v8_machine_code *m, uint64_t *ret)
{
	enum { FUNCTION = 6 };

	return (m->kind == V8_TURBOFAN || m->kind == V8_MAGLEV) &&
	       v8_field(v8, m->deopt, 16 + 8 * FUNCTION, ret) &&
	       v8_is(v8, *ret, v8->code->y.type_function_info);
}

static bool info_of_function(const struct v8 *v8, uint64_t function, uint64_t *ret)
{
	return v8_field(v8, function, v8->code->y.function_info, ret) &&
	       v8_is(v8, *ret, v8->code->y.type_function_info);
}

/*
 * Machine code whose frame is not there yet, or no more.  A function that begins is in rdi; that of
 * a frame which was just given up still lies below rsp.  Either says by its code whether it is.
 */
static bool emit_bare(struct v8 *v8, size_t host)
{
	const struct symbols_regs *regs = &v8->w->host[host].regs;
	uint64_t pc = v8->w->pc[host].lookup, function = 0, info = 0;
	struct guests_frame f = { .host = (unsigned)host };
	struct v8_machine_code m;
	bool known = false;

	for (unsigned i = 0; i < 3 && !known; i++) {
		if (i ? !mem_u64(v8->g, regs->r[SYMBOLS_RSP] - 16 - 8 * i, &function)
		      : !(regs->known & 1u << SYMBOLS_RDI))
			continue;
		if (!i)
			function = regs->r[SYMBOLS_RDI];
		known = info_of_function(v8, function, &info) &&
			code_of_function(v8, function, pc, &m);
	}
	if (known)
		f.function_object = function;
	else if (!code_at(v8, pc, &m) || !info_of_code(v8, &m, &info))
		return true;
	walk_machinery(v8->g, host);
	if (m.kind == V8_TURBOFAN || m.kind == V8_MAGLEV)
		return emit_optimised(v8, &f, info, &m, pc);
	f.kind = GUESTS_TRACE_FRAME;
	return emit(v8, &f, info, 0, false);
}

static const char *version(struct guests *g, const struct code *c)
{
	uint64_t major, minor;
	uint32_t a = 0, b = 0;

	if (!symbol_at(g, c, "_ZN2v88internal7Version6major_E", &major) ||
	    !symbol_at(g, c, "_ZN2v88internal7Version6minor_E", &minor) ||
	    !mem_u32(g, major, &a) || !mem_u32(g, minor, &b))
		return "V8";
	return string_format(g, "V8 %u.%u", a, b);
}

static void found(struct v8 *v8, const struct code *c, size_t host, enum guests_kind kind)
{
	struct guests_stack *st = v8->w->stack;
	uint64_t bias;

	if (st->vm)
		return;
	st->vm = v8->vm;
	if (symbols_module_at(v8->g->o.symbols, v8->w->pc[0].lookup, &bias) != c->module &&
	    v8->w->host[0].code < 0 && host)
		st->state = GUESTS_STATE_C;
	else if (host || kind == GUESTS_BUILTIN)
		st->state = GUESTS_STATE_BUILTIN;
	else
		st->state = kind == GUESTS_FRAME ? GUESTS_STATE_INTERP : GUESTS_STATE_TRACE;
}

/* The frame at fp is a function's, and this native frame has it. */
static bool frame_at(struct v8 *v8, size_t host, uint64_t fp)
{
	uint64_t context, function, info;

	if (!mem_u64(v8->g, fp - 8, &context))
		return true;
	walk_machinery(v8->g, host);
	if (!(context & 1) ||		/* a frame of V8's own */
	    !mem_u64(v8->g, fp - 16, &function) || !info_of_function(v8, function, &info))
		return true;
	return emit_frame(v8, host, fp, function, info);
}

/* Does the next native frame out have the same frame?  Then this one has none of its own. */
static bool is_bare(const struct v8 *v8, size_t i)
{
	const struct host *out = &v8->w->host[i + 1];

	return i + 1 < v8->w->hosts && is_code(v8->g, v8->code, v8->w->pc[i + 1].lookup) &&
	       (out->regs.known & 1u << SYMBOLS_RBP) &&
	       out->regs.r[SYMBOLS_RBP] == v8->w->host[i].regs.r[SYMBOLS_RBP];
}

/* False: the walk is over. */
static bool unwind_one(struct v8 *v8, size_t i, uint64_t *last)
{
	const struct symbols_regs *regs = &v8->w->host[i].regs;
	uint64_t pc = v8->w->pc[i].lookup, fp = regs->r[SYMBOLS_RBP];
	bool builtin = is_builtin(v8->g, v8->code, pc);

	if (!(regs->known & 1u << SYMBOLS_RBP) || fp == *last || fp & 7 ||
	    fp < regs->r[SYMBOLS_RSP])
		return true;
	if (is_bare(v8, i)) {
		if (!builtin)
			return emit_bare(v8, i);
		walk_machinery(v8->g, i);
		return true;
	}
	*last = fp;
	/* The function's frame is being made. */
	if (!i && !builtin && regs->r[SYMBOLS_RSP] > fp - 16)
		return emit_bare(v8, i);
	return frame_at(v8, i, fp);
}

static void unwind(struct guests *g, struct code *c, struct walk *w)
{
	struct v8 v8 = { .g = g, .w = w, .code = c->data };
	uint64_t last = 0;

	for (size_t i = 0; i < w->hosts; i++) {
		size_t before = g->guests;

		if (!is_code(g, v8.code, w->pc[i].lookup))
			continue;
		if (!v8.vm)
			v8.vm = vm_at(g, GUESTS_V8, c->bias + v8.code->start);
		if (!v8.vm) {
			w->stack->why = GUESTS_NO_MEMORY;
			return;
		}
		if (!v8.vm->name)
			v8.vm->name = version(g, c);
		v8.vm->module = c->module;
		if (!unwind_one(&v8, i, &last))
			return;
		if (g->guests > before)
			found(&v8, c, i, g->guest[before].kind);
	}
}

const struct machine v8_machine = { .language = GUESTS_V8,
				.examine = examine, .unwind = unwind, .step = step };
