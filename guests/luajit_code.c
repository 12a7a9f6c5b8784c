/*
 * luajit_code.c - LuaJIT's machines, and the way out of their code.
 *
 * The interpreter is one piece of assembly whose native frame always has the same size; machine
 * code of traces runs in that same frame, some bytes further down.  The code also has pieces in
 * which that frame is not there: entries and ends, found by their pushes and pops; the handler of
 * exits from traces, which saves all registers; and leaf functions.
 */
#include "guests/luajit.h"

enum { L_GLREF = 16, L_CFRAME = 80, CF_L = 16 };
#define SIZE_MIN 0x2000

static const struct lj_layout layouts[] = {
	{ "LuaJIT 2.1", false, 80, 32, 184, 192, 368, 376, 728, 3968, 384, 396, 1696, 104 },
	{ "LuaJIT 2.1", false, 80, 32, 184, 192, 376, 384, 744, 4000, 384, 396, 1696, 104 },
	{ "LuaJIT 2.1 (OpenResty)", false, 80, 32, 184, 192, 368, 376, 736, 4008, 384, 396, 1696, 104 },
	{ "LuaJIT 2.1 (Tarantool)", true, 96, 48, 408, 304, 448, 464, 808, 4080, 392, 404, 0, 104 },
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
	unsigned char b[24];
	uint64_t G;

	if (!L || L & 7 || !mem_bytes(lj->g, L, b, sizeof(b)) || b[9] != LJ_T_THREAD)
		return false;
	memcpy(&G, b + L_GLREF, 8);
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
	       mem_u64(lj->g, G + y->mainthref, &lj->main) && lj_is_thread(lj, lj->main) &&
	       mem_u64(lj->g, G + y->cur_L, &cur) && (!cur || lj_is_thread(lj, cur));
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

bool lj_vm_of_thread(struct lj *lj, uint64_t L)
{
	uint64_t G;

	return L && !(L & 7) && mem_u64(lj->g, L + L_GLREF, &G) && vm_check(lj, G);
}

/* The machine that code with these registers is of: by the dispatch table in r14, else known. */
static bool vm_of_registers(struct lj *lj, const struct symbols_regs *regs)
{
	if (regs->known & 1u << SYMBOLS_R14)
		for (unsigned i = 0; i < LAYOUTS; i++)
			if (vm_is(lj, regs->r[SYMBOLS_R14] - layouts[i].dispatch, &layouts[i]) &&
			    vm_check(lj, lj->G))
				return true;
	for (unsigned i = 0; i < lj->code->vms; i++)
		if (vm_is(lj, lj->code->vm[i].G, lj->code->vm[i].layout))
			return true;
	return false;
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
	uint64_t L, cf, owner;

	if (!mem_u64(lj->g, lj->G + lj->y->cur_L, &L) || !mem_u64(lj->g, L + L_CFRAME, &cf))
		return false;
	for (unsigned n = 0; n < 256; n++) {
		cf &= ~3ull;
		if (!cf || cf & 7)
			return false;
		if (cf >= rsp) {
			*ret = cf;
			return cf - rsp < 1 << 16 && mem_u64(lj->g, cf + CF_L, &owner) &&
			       lj_is_thread(lj, owner);
		}
		if (!mem_u64(lj->g, cf + lj->y->cframe_prev, &cf))
			return false;
	}
	return false;
}

static bool step_mcode(struct lj *lj, struct symbols_regs *regs, bool first, uint64_t *cfa_ret)
{
	uint64_t cf, owner, pc = regs->r[SYMBOLS_RIP] - !first, rsp = regs->r[SYMBOLS_RSP];
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
		if (mem_u64(lj->g, cf + CF_L, &owner) && lj_is_thread(lj, owner))
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
	/* It leaves the interpreter's registers alone: BASE, too. */
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
	if (mem_u64(lj->g, rsp + CF_L, &L) && lj_vm_of_thread(lj, L))
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
