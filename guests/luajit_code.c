/*
 * luajit_code.c - LuaJIT's machines, and the way out of their code.
 *
 * The interpreter is one piece of assembly whose native frame always has the same size; machine
 * code of traces runs in that same frame, some bytes further down.  The code also has pieces in
 * which that frame is not there: entries and ends, found by their pushes and pops; the handler of
 * exits from traces, which saves all registers; and leaf functions.
 */
#include "guests/luajit.h"

#define SIZE_MIN 0x2000

const struct lj_shape lj_gc64 = {
	.ref = 8, .slots = 2, .gct = 9, .cont = 24, .cont_pc = 16,
	.L = { .glref = 16, .base = 32, .maxstack = 48, .stack = 56, .cframe = 80 },
	.cf = { .nres = 8, .L = 16, .pc = 24 },
	.proto = { .k = 32, .flags = 61, .chunkname = 64, .firstline = 72, .lineinfo = 80,
		   .uvinfo = 88, .varinfo = 96 },
	.function = { .pc = 32, .c = 40, .upvalue = 40 },
	.str = { .len = 20, .text = 24 },
	.tab = { .array = 16, .node = 40, .asize = 48 },
	.udata = 48, .cdata = 16, .upvalue = 32,
	.trace = { .ir = 32, .nk = 40, .nsnapmap = 44, .snap = 48, .snapmap = 56, .startpt = 64,
		   .startpc = 72, .startins = 80, .szmcode = 84, .mcode = 88, .spadjust = 102,
		   .traceno = 104, .link = 106, .root = 108, .linktype = 116 },
};
/* By the DWARF of Debian's Tarantool 2.6.0. */
const struct lj_shape lj_gc32 = {
	.ref = 4, .slots = 1, .gct = 5, .cont = 8, .cont_pc = 4,
	.L = { .glref = 8, .base = 16, .maxstack = 32, .stack = 36, .cframe = 48 },
	.cf = { .nres = 16, .L = 24, .pc = 28 },
	.proto = { .k = 16, .flags = 37, .chunkname = 40, .firstline = 44, .lineinfo = 52,
		   .uvinfo = 56, .varinfo = 60 },
	.function = { .pc = 16, .c = 24, .upvalue = 20 },
	.str = { .len = 12, .text = 16 },
	.tab = { .array = 8, .node = 20, .asize = 24 },
	.udata = 24, .cdata = 8, .upvalue = 16,
	.trace = { .ir = 16, .nk = 24, .nsnapmap = 28, .snap = 32, .snapmap = 40, .startpt = 48,
		   .startpc = 52, .startins = 56, .szmcode = 60, .mcode = 64, .spadjust = 78,
		   .traceno = 80, .link = 82, .root = 84, .linktype = 92 },
};

#define G64 &lj_gc64, true
#define G32 &lj_gc32, false
static const struct lj_layout layouts[] = {
	{ "LuaJIT 2.1", G64, false, 80, 32, 184, 192, 368, 376, 728, 3968, 384, 396, 1696, 104 },
	{ "LuaJIT 2.1", G64, false, 80, 32, 184, 192, 376, 384, 744, 4000, 384, 396, 1696, 104 },
	{ "LuaJIT 2.1 (OpenResty)",
	  G64, false, 80, 32, 184, 192, 368, 376, 736, 4008, 384, 396, 1696, 104 },
	{ "LuaJIT 2.1 (Tarantool)",
	  G64, true, 96, 48, 408, 304, 448, 464, 808, 4080, 392, 404, 0, 104 },
	{ "LuaJIT 2.1 (GC32, Tarantool 2.6)",
	  G32, false, 80, 32, 120, 160, 280, 284, 448, 3144, 368, 380, 1672, 64 },
};
enum { LAYOUTS = sizeof(layouts) / sizeof(*layouts) };

/* ---- the module ------------------------------------------------------------------------------ */

static void find_sequences(struct lj_code *code, const uint8_t *b, size_t n)
{
	static const uint8_t in[] = { 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec };
	static const uint8_t out[] = { 0x48, 0x83, 0xc4 };
	static const uint8_t pops[] = { 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0x5d, 0xc3 };

	for (size_t i = 0; i + 16 < n && code->sequences < LJ_SEQUENCES; i++) {
		bool entry = !memcmp(b + i, in, sizeof(in));
		/* where C calls Lua through the FFI, code outside has pushed rbp */
		bool callback = !entry && i && b[i - 1] != in[0] &&
				!memcmp(b + i, in + 1, sizeof(in) - 1);

		if (entry || callback || (!memcmp(b + i, out, sizeof(out)) &&
					  !memcmp(b + i + 4, pops, sizeof(pops))))
			code->sequence[code->sequences++] = (struct lj_sequence){
				code->start + i - callback, entry || callback, callback
			};
	}
}

/* The handler begins by pushing all registers, and stores the exit and the trace it was of. */
static void find_exit(struct lj_code *code, const uint8_t *b, size_t n)
{
	static const uint8_t in[] = { 0x41, 0x55, 0x41, 0x54, 0x41, 0x53, 0x41, 0x52,
				      0x41, 0x51, 0x41, 0x50, 0x57, 0x56, 0x55 };
	static const uint8_t exitno[] = { 0x41, 0x89, 0x86 }, parent[] = { 0x41, 0x89, 0x8e };

	for (size_t i = 0; i + 256 < n; i++) {
		if (memcmp(b + i, in, sizeof(in)))
			continue;
		code->exit = code->start + i;
		for (size_t k = i; k < i + 96 && !code->exit_stored; k++)
			if (!memcmp(b + k, exitno, 3) && !memcmp(b + k + 7, parent, 3)) {
				memcpy(&code->exitno_disp, b + k + 3, 4);
				memcpy(&code->parent_disp, b + k + 10, 4);
				code->exit_stored = code->start + k + 14;
			}
		/* mov %rcx, %rsp gives the frame back */
		for (size_t k = i; k < i + 384 && k + 3 < n; k++)
			if (!memcmp(b + k, "\x48\x89\xcc", 3)) {
				code->exit_end = code->start + k;
				return;
			}
		code->exit_end = code->start + i + 0x110;
		return;
	}
}

bool lj_examine(struct guests *g, struct code *c)
{
	enum { FRAME_SAVED = 1 << SYMBOLS_RBP | 1 << SYMBOLS_RBX | 1 << SYMBOLS_R14 |
			     1 << SYMBOLS_R15 };
	struct symbols_fixed_frame fixed[8];
	size_t n = symbols_fixed_frames(c->module, SIZE_MIN, 64, fixed, 8);

	(void)g;
	for (size_t i = 0; i < n; i++) {
		struct lj_code *code;
		size_t len;
		const uint8_t *b = symbols_module_bytes(c->module, fixed[i].start, &len);

		if ((fixed[i].saved & FRAME_SAVED) != FRAME_SAVED || !b)
			continue;
		code = calloc(1, sizeof(*code));
		if (!code)
			return false;
		code->start = c->bias + fixed[i].start;
		code->end = c->bias + fixed[i].end;
		code->cframe = (uint32_t)fixed[i].cfa_offset;
		if (len > fixed[i].end - fixed[i].start)
			len = (size_t)(fixed[i].end - fixed[i].start);
		find_sequences(code, b, len);
		find_exit(code, b, len);
		if (code->sequences < 2) {	/* some other assembly */
			free(code);
			continue;
		}
		c->data = code;
		c->data_size = sizeof(*code);
		return true;
	}
	return false;
}

/* ---- machines -------------------------------------------------------------------------------- */

bool lj_is_thread(const struct lj *lj, uint64_t L)
{
	const struct lj_shape *sh = lj->y->shape;
	unsigned char b[24];
	uint64_t G = 0;

	if (!L || L & 7 || !mem_bytes(lj->g, L, b, sizeof(b)) || b[sh->gct] != LJ_T_THREAD)
		return false;
	memcpy(&G, b + sh->L.glref, sh->ref);
	return G == lj->G;
}

/* The dispatch table begins there: addresses of the interpreter's code, and before it none. */
static bool dispatch_is(const struct lj *lj, uint64_t table)
{
	uint64_t w[3], start = lj->code->start, size = lj->code->end - start;

	return mem_bytes(lj->g, table - 8, w, sizeof(w)) && w[0] - start >= size &&
	       w[1] - start < size && w[2] - start < size;
}

static bool vm_is(struct lj *lj, uint64_t G, const struct lj_layout *y)
{
	uint64_t cur;

	*lj = (struct lj){ .g = lj->g, .code = lj->code, .y = y, .G = G, .J = G + y->J };
	return G && !(G & 7) && y->cframe == lj->code->cframe && dispatch_is(lj, G + y->dispatch) &&
	       lj_ref(lj, G + y->mainthref, &lj->main) && lj_is_thread(lj, lj->main) &&
	       lj_ref(lj, G + y->cur_L, &cur) && (!cur || lj_is_thread(lj, cur));
}

/* Known ones are asked again each time: they may have ended. */
static bool vm_check(struct lj *lj, uint64_t G)
{
	struct lj_code *code = lj->code;

	for (unsigned i = 0; i < code->vms; i++)
		if (code->vm[i].G == G && vm_is(lj, G, code->vm[i].layout))
			return true;
	for (unsigned i = 0; i < LAYOUTS; i++) {
		if (!vm_is(lj, G, &layouts[i]))
			continue;
		code->vm[code->vms % LJ_VMS] = (struct lj_known){ G, lj->y };
		if (code->vms < LJ_VMS)
			code->vms++;
		return true;
	}
	return false;
}

/* cf.L bytes above at is the saved thread of a machine of this shape. */
static bool vm_of_saved(struct lj *lj, const struct lj_shape *sh, uint64_t at, uint64_t *L)
{
	uint64_t G = 0;

	*L = 0;
	return mem_bytes(lj->g, at + sh->cf.L, L, sh->ref) && *L && !(*L & 7) &&
	       mem_bytes(lj->g, *L + sh->L.glref, &G, sh->ref) && G && vm_check(lj, G) &&
	       lj->y->shape == sh;
}

bool lj_vm_of_cframe(struct lj *lj, uint64_t cframe, uint64_t *L_ret)
{
	return vm_of_saved(lj, &lj_gc64, cframe, L_ret) ||
	       vm_of_saved(lj, &lj_gc32, cframe, L_ret);
}

/*
 * The machine that code with these registers is of: by the dispatch table in r14, else known.
 * Machine code with references of 32 bits uses r14 for itself; the interpreter's frame, with the
 * thread in it, is not far above.
 */
static bool vm_of_registers(struct lj *lj, const struct symbols_regs *regs)
{
	enum { FRAME_MAX = 4096 };
	uint64_t L;

	if (regs->known & 1u << SYMBOLS_R14)
		for (unsigned i = 0; i < LAYOUTS; i++)
			if (vm_is(lj, regs->r[SYMBOLS_R14] - layouts[i].dispatch, &layouts[i]) &&
			    vm_check(lj, lj->G))
				return true;
	for (unsigned i = 0; i < lj->code->vms; i++)
		if (vm_is(lj, lj->code->vm[i].G, lj->code->vm[i].layout))
			return true;
	for (uint64_t at = regs->r[SYMBOLS_RSP] & ~7ull, end = at + FRAME_MAX; at < end; at += 8)
		if (vm_of_saved(lj, &lj_gc32, at, &L))
			return true;
	return false;
}

static bool cframe_owner(const struct lj *lj, uint64_t cframe)
{
	uint64_t L;

	return lj_ref(lj, cframe + lj->y->shape->cf.L, &L) && lj_is_thread(lj, L);
}

/* ---- out of its code ------------------------------------------------------------------------- */

static bool frame_leave(struct guests *g, struct symbols_regs *regs, uint64_t cframe, uint32_t size,
			bool compiled, uint64_t *cfa_ret)
{
	uint64_t cfa = cframe + size, w[5], more[2];

	if (!mem_bytes(g, cfa - 40, w, sizeof(w)) || !w[4])
		return false;
	regs->known &= 1u << SYMBOLS_R12 | 1u << SYMBOLS_R13;
	if (compiled && mem_bytes(g, cframe - 8, more, sizeof(more))) {
		regs->r[SYMBOLS_R13] = more[0];
		regs->r[SYMBOLS_R12] = more[1];
		regs->known |= 1u << SYMBOLS_R12 | 1u << SYMBOLS_R13;
	}
	regs->r[SYMBOLS_R14] = w[0];
	regs->r[SYMBOLS_R15] = w[1];
	regs->r[SYMBOLS_RBX] = w[2];
	regs->r[SYMBOLS_RBP] = w[3];
	regs->r[SYMBOLS_RIP] = w[4];
	regs->r[SYMBOLS_RSP] = *cfa_ret = cfa;
	regs->known |= 1u << SYMBOLS_R14 | 1u << SYMBOLS_R15 | 1u << SYMBOLS_RBX |
		       1u << SYMBOLS_RBP | 1u << SYMBOLS_RIP | 1u << SYMBOLS_RSP;
	return true;
}

/* The innermost native frame of the running coroutine that is not below rsp. */
static bool frame_above(const struct lj *lj, uint64_t rsp, uint64_t *ret)
{
	uint64_t L, cf;

	if (!lj_ref(lj, lj->G + lj->y->cur_L, &L) ||
	    !mem_u64(lj->g, L + lj->y->shape->L.cframe, &cf))
		return false;
	for (unsigned n = 0; n < 256; n++) {
		cf &= ~3ull;
		if (!cf || cf & 7)
			return false;
		if (cf >= rsp) {
			*ret = cf;
			return cf - rsp < 1 << 16 && cframe_owner(lj, cf);
		}
		if (!mem_u64(lj->g, cf + lj->y->cframe_prev, &cf))
			return false;
	}
	return false;
}

static bool step_mcode(struct lj *lj, struct symbols_regs *regs, bool first, uint64_t *cfa_ret)
{
	uint64_t cf, pc = regs->r[SYMBOLS_RIP] - !first, rsp = regs->r[SYMBOLS_RSP];
	struct lj_trace t;
	bool known;

	if (!vm_of_registers(lj, regs))
		return false;
	known = lj_trace_at(lj, pc, &t);
	if (!known && lj_exit_stub(lj, pc) < 0)
		return false;
	if (known) {
		cf = rsp + t.spadjust + 16;
		/* where it has not moved rsp yet, another word lies there */
		if (cframe_owner(lj, cf))
			return frame_leave(lj->g, regs, cf, lj->y->cframe, true, cfa_ret);
	}
	return frame_above(lj, rsp, &cf) &&
	       frame_leave(lj->g, regs, cf, lj->y->cframe, true, cfa_ret);
}

/* In a sequence of pushes or pops: how much of the frame is there? */
static bool step_sequence(struct lj_code *code, struct guests *g, struct symbols_regs *regs,
			  uint64_t *cfa_ret)
{
	static const uint8_t reg[] = { SYMBOLS_RBP, SYMBOLS_RBX, SYMBOLS_R15, SYMBOLS_R14 };
	static const uint8_t in[] = { 0, 1, 2, 4, 6 }, out[] = { 11, 10, 9, 8, 6, 4 };
	uint64_t pc = regs->r[SYMBOLS_RIP], rsp = regs->r[SYMBOLS_RSP], w[5];
	unsigned saved = 5;

	for (unsigned i = 0; i < code->sequences; i++) {
		const struct lj_sequence *q = &code->sequence[i];

		if (pc - q->addr > 11)
			continue;
		for (unsigned k = 0; k < 5; k++) {
			if (q->entry && pc - q->addr == in[k] && !(q->callback && !k))
				saved = k;
			if (!q->entry && pc - q->addr == out[k + 1])
				saved = k;
		}
		break;
	}
	if (saved > 4 || !mem_bytes(g, rsp, w, 8 * (saved + 1)))
		return false;
	for (unsigned k = 0; k < saved; k++)
		regs->r[reg[k]] = w[saved - 1 - k];
	regs->r[SYMBOLS_RIP] = w[saved];
	regs->r[SYMBOLS_RSP] = *cfa_ret = rsp + 8 * (saved + 1);
	regs->known &= 1u << SYMBOLS_RBP | 1u << SYMBOLS_RBX | 0xfu << SYMBOLS_R12;
	regs->known |= 1u << SYMBOLS_RIP | 1u << SYMBOLS_RSP;
	return w[saved] != 0;
}

/* A leaf function of the interpreter: behind a call at rsp? */
static bool step_leaf(struct lj *lj, struct symbols_regs *regs, uint64_t *cfa_ret)
{
	struct lj_trace t;
	uint64_t word, bias;

	if (!mem_u64(lj->g, regs->r[SYMBOLS_RSP], &word) || word < 4096)
		return false;
	if (!symbols_module_at(lj->g->o.symbols, word, &bias) &&
	    (!vm_of_registers(lj, regs) || !lj_trace_at(lj, word - 1, &t)))
		return false;
	regs->r[SYMBOLS_RIP] = word;
	regs->r[SYMBOLS_RSP] += 8;
	*cfa_ret = regs->r[SYMBOLS_RSP];
	/* The instruction leaves the interpreter's registers alone: BASE, too. */
	regs->known &= 1u << SYMBOLS_RBP | 1u << SYMBOLS_RBX | 1u << SYMBOLS_RDX |
		       0xfu << SYMBOLS_R12;
	regs->known |= 1u << SYMBOLS_RIP | 1u << SYMBOLS_RSP;
	return true;
}

static bool step_interpreter(struct lj *lj, struct symbols_regs *regs, bool first,
			     uint64_t *cfa_ret)
{
	uint64_t pc = regs->r[SYMBOLS_RIP], rsp = regs->r[SYMBOLS_RSP], L, cf;
	const struct lj_code *code = lj->code;
	bool exits = code->exit && pc - code->exit < code->exit_end - code->exit;

	if (first && step_sequence(lj->code, lj->g, regs, cfa_ret))
		return true;
	/* Behind a trace, and on the way into one, two more registers are in it. */
	if (vm_of_registers(lj, regs) && frame_above(lj, rsp, &cf) && (exits || cf - rsp == 16))
		return frame_leave(lj->g, regs, cf, code->cframe, true, cfa_ret);
	if (lj_vm_of_cframe(lj, rsp, &L))
		return frame_leave(lj->g, regs, rsp, code->cframe, false, cfa_ret);
	return first && step_leaf(lj, regs, cfa_ret);
}

bool lj_step(struct guests *g, struct code *c, struct symbols_regs *regs, bool first,
	     uint64_t *cfa_ret)
{
	struct lj_code *code = c->data;
	struct lj lj = { .g = g, .code = code };
	uint64_t bias, pc = regs->r[SYMBOLS_RIP] - !first;

	if (pc - code->start < code->end - code->start)
		return step_interpreter(&lj, regs, first, cfa_ret);
	if (symbols_module_at(g->o.symbols, pc, &bias))
		return false;
	return step_mcode(&lj, regs, first, cfa_ret);
}
