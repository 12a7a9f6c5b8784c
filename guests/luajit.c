/*
 * luajit.c - stacks of LuaJIT.
 *
 * At fixed places in the interpreter's native frame lie the lua_State (SAVE_L) and the pc that was
 * saved last.  So each native frame of the interpreter or of a trace stands for the Lua frames down
 * to the next one that C called: both stacks are walked side by side.
 *
 * Where the innermost Lua function stands is in registers, in memory, or in between: each case has
 * its function (top_...).
 */
#include "guests/luajit.h"

enum { VM_INTERP, VM_C, VM_GC, VM_EXIT, VM_RECORD, VM_OPT, VM_ASM, VM_STATES };

/* A walk through the Lua stacks that native frames run. */
struct stack {
	struct lj lj;
	struct walk *w;
	struct guests_vm *vm;
	size_t host;
	uint64_t cframe, L;		/* of that native frame */
	uint64_t bottom, top;		/* of L's stack */
	uint64_t frame;			/* to come next; 0 = L's stack is done */
	uint64_t pc;			/* where it stands, if it is a Lua function; 0 = unknown */
	bool hidden;			/* it only holds variable arguments */
	bool fresh;			/* it is the innermost of L */
	bool returning;			/* its slot holds its result already */
	bool left;			/* C gets its results: it runs none any more */
	bool innermost;			/* no frame of the machine has come before */
	uint32_t trace;			/* in machine code of that trace */
	uint32_t snapshot;		/* of it, with the base it began with */
	uint64_t base;
	int32_t vmstate;
};

/* The pc that the interpreter has saved, or that of the instruction a trace has replaced. */
static bool pc_usable(const struct lj *lj, const struct lj_proto *pt, uint64_t *pc)
{
	const struct lj_shape *sh = lj->y->shape;
	uint64_t start, trace;
	uint8_t type;

	if (lj_proto_has(pt, *pc) && *pc > pt->bytecode)
		return true;
	trace = *pc - 4 - sh->trace.startins;
	if (*pc & 3 || !mem_u8(lj->g, trace + sh->gct, &type) || type != LJ_T_TRACE ||
	    !lj_ref(lj, trace + sh->trace.startpc, &start) || !lj_proto_has(pt, start))
		return false;
	*pc = start + 4;
	return true;
}

/* Where the stack's first frame is, which is none. */
static uint64_t frame_first(const struct stack *s)
{
	return s->bottom + 8ull * (s->lj.y->shape->slots - 1u);
}

static bool saved_pc(const struct stack *s, uint64_t *ret)
{
	return lj_ref(&s->lj, s->cframe + s->lj.y->shape->cf.pc, ret);
}

static bool frame_is_sane(const struct stack *s, uint64_t frame)
{
	return !(frame & 7) && frame > s->bottom && frame <= s->top;
}

/*
 * Returns the frame further out; *type_ret: the type of the link.  0 = the frame's link leads
 * nowhere.
 */
static uint64_t frame_before(const struct stack *s, uint64_t frame, unsigned *type_ret,
			     uint64_t *pc_ret)
{
	uint64_t link, delta, before;
	uint32_t ins;

	*pc_ret = 0;
	if (!lj_frame_link(&s->lj, frame, &link))
		return 0;
	*type_ret = link & 7;
	if (!(link & 3)) {
		*type_ret = LJ_LUA;
		if (!mem_u32(s->lj.g, link - 4, &ins))
			return 0;
		delta = 8 * (s->lj.y->shape->slots + (uint64_t)(ins >> 8 & 255));
		*pc_ret = link;
	} else {
		delta = link & ~7ull;
		if (*type_ret == LJ_CONT)
			lj_ref(&s->lj, frame - s->lj.y->shape->cont_pc, pc_ret);
	}
	before = frame - delta;
	return delta && before < frame && before >= s->bottom ? before : 0;
}

/* A continuation that only marks where C called through the FFI. */
static bool is_callback(const struct stack *s, uint64_t frame)
{
	uint64_t cont;

	return lj_ref(&s->lj, frame - s->lj.y->shape->cont, &cont) && cont == 1;
}

static bool emit(struct stack *s, struct guests_frame *f)
{
	f->vm = s->vm;
	f->host = (unsigned)s->host;
	s->innermost = false;
	return walk_add(s->lj.g, s->w, f);
}

static bool emit_lua(struct stack *s, enum guests_kind kind, uint64_t proto, uint64_t pc,
		     uint64_t function, uint64_t frame, const char *name)
{
	struct guests_frame f = { .kind = kind, .trace = s->trace, .address = proto,
				  .where = frame, .function_object = function };
	struct lj_proto pt;

	if (kind == GUESTS_FRAME)
		f.trace = 0;
	if (lj_proto_read(&s->lj, proto, &pt)) {
		f.function = name ? name : lj_unnamed(&s->lj, &pt);
		f.file = lj_chunk(&s->lj, &pt);
		f.first_line = pt.firstline;
		f.approximate = !pc_usable(&s->lj, &pt, &pc);
		f.line = f.approximate ? pt.firstline : lj_line(&s->lj, &pt, pc);
		f.inside.pc = pc;
		f.inside.base = s->base;
		f.inside.snapshot = s->snapshot;
	} else {
		f.function = name;
		f.approximate = true;
	}
	return emit(s, &f);
}

/* Returns the name that the caller, a Lua function in the frame before, has for the function. */
static const char *name_by_caller(const struct stack *s, uint64_t before, uint64_t pc)
{
	struct lj_function fn;
	struct lj_proto pt;

	return before && lj_function_at(&s->lj, before, &fn) && !fn.ffid &&
			       lj_proto_read(&s->lj, fn.proto, &pt)
		       ? lj_called(&s->lj, &pt, pc)
		       : NULL;
}

/* By the link of a frame, or of the one below that holds only its variable arguments. */
static const char *name_by_link(const struct stack *s, uint64_t before, unsigned type, uint64_t pc)
{
	if (type == LJ_VARG && before)
		before = frame_before(s, before, &type, &pc);
	return before && (type == LJ_LUA || type == LJ_CONT) ? name_by_caller(s, before, pc)
							      : NULL;
}

/* A frame in memory.  False: no more room. */
static bool emit_frame(struct stack *s, const struct lj_function *fn, uint64_t before,
		       unsigned type, uint64_t pc)
{
	const char *name = name_by_link(s, before, type, pc);
	struct guests_frame f = { .kind = GUESTS_BUILTIN, .address = fn->c, .function = name,
				  .function_object = fn->addr };

	if (!fn->ffid)
		return emit_lua(s, GUESTS_FRAME, fn->proto, s->pc, fn->addr, s->frame, name);
	return emit(s, &f);
}

/*
 * The function of the next frame; ffid 0 and no address where a frame has none.  False: no frame
 * can be there.
 */
static bool frame_function(struct stack *s, struct lj_function *fn)
{
	bool sane = frame_is_sane(s, s->frame);
	uint64_t v;

	if (sane && lj_function_at(&s->lj, s->frame, fn))
		return true;
	*fn = (struct lj_function){ .ffid = s->returning ? 2 : 0 };
	if (s->returning) {
		s->returning = false;
		return true;
	}
	/* a frame without a function has its lua_State there */
	return sane && lj_frame_object(&s->lj, s->frame, &v) && v == s->L;
}

/*
 * The Lua frames of one native frame, down to the one that C called.  said: the first of them is
 * among the frames already (a trace began in it).  False: the walk is over.
 */
static bool walk_frames(struct stack *s, bool said)
{
	for (;; said = false) {
		struct lj_function fn;
		uint64_t before = 0, pc, frame = s->frame;
		unsigned type;

		if (frame <= frame_first(s)) {
			s->frame = 0;
			return true;
		}
		if (frame_function(s, &fn))
			before = frame_before(s, frame, &type, &pc);
		if (!before) {
			s->w->stack->why = GUESTS_CORRUPT;
			return false;
		}
		if (!said && !s->hidden && (fn.addr || fn.ffid) &&
		    !emit_frame(s, &fn, before, type, pc))
			return false;
		s->hidden = type == LJ_VARG;
		s->frame = before;
		s->pc = pc;
		if ((type & 3) == LJ_C || (type == LJ_CONT && is_callback(s, frame))) {
			s->pc = 0;
			return true;
		}
	}
}

/* ---- where the innermost Lua function stands ------------------------------------------------- */

/*
 * Handles a return of one of the language's own functions: the result is where the function itself
 * was.
 */
static bool top_returns(struct stack *s, uint64_t frame)
{
	struct lj_function fn;
	uint64_t before, link;
	unsigned type;

	before = frame_before(s, frame, &type, &link);
	if (!before || !lj_function_at(&s->lj, before, &fn) || (type == LJ_LUA && fn.ffid))
		return false;
	s->frame = frame;
	s->returning = true;
	return true;
}

/* The function at base is being called, or has been left: its caller stands behind that call. */
static bool top_calls(struct stack *s, uint64_t base, uint64_t pc)
{
	struct lj_function fn;
	struct lj_proto pt;
	uint64_t before;
	uint32_t ins;

	if (pc & 3 || !mem_u32(s->lj.g, pc - 4, &ins))
		return false;
	before = base - 8 - 8 * (s->lj.y->shape->slots + (uint64_t)(ins >> 8 & 255));
	if (!frame_is_sane(s, before) || !lj_function_at(&s->lj, before, &fn) || fn.ffid ||
	    !lj_proto_read(&s->lj, fn.proto, &pt) || !lj_proto_has(&pt, pc))
		return false;
	s->frame = before;
	s->pc = pc;
	return true;
}

/*
 * The way back out of a frame whose slots hold results by now: its link is in rbx, or, on the way
 * to C, the base of the frame before.
 */
static bool top_left(struct stack *s, const struct symbols_regs *regs)
{
	uint64_t rbx = regs->r[SYMBOLS_RBX], before = regs->r[SYMBOLS_RDX] - (rbx & ~7ull) - 8;
	uint64_t link;
	unsigned type;

	if (!(regs->known & 1u << SYMBOLS_RDX))
		return false;
	/* (bytecode of what is called may lie right behind the stack) */
	if ((frame_is_sane(s, rbx - 8) && frame_before(s, rbx - 8, &type, &link)) ||
	    rbx == frame_first(s) + 8) {
		s->frame = rbx - 8;
		s->left = true;
		return true;
	}
	if (!(rbx & 3))
		return top_calls(s, regs->r[SYMBOLS_RDX], rbx);
	if (!frame_is_sane(s, before))
		return false;
	s->frame = before;
	s->left = (rbx & 3) == LJ_C;
	return true;
}

/* A base and a pc.  False: they do not belong to each other. */
static bool top_at(struct stack *s, uint64_t base, uint64_t pc)
{
	uint64_t before, link;
	struct lj_function fn;
	struct lj_proto pt;
	unsigned type;

	if (!frame_is_sane(s, base - 8))
		return false;
	before = frame_before(s, base - 8, &type, &link);
	if (!before)
		return false;
	if (!lj_function_at(&s->lj, base - 8, &fn))
		return top_returns(s, base - 8);
	s->frame = base - 8;
	s->pc = pc;
	/* Being entered in the place of the one that ends with a call of it. */
	if (!fn.ffid && lj_proto_read(&s->lj, fn.proto, &pt) && pc == pt.bytecode) {
		s->pc = pc + 4;
		return true;
	}
	if (fn.ffid || (lj_proto_read(&s->lj, fn.proto, &pt) && pc_usable(&s->lj, &pt, &s->pc)))
		return true;
	/* C has just called the function, or gets its results: rbx is its link. */
	if (pc < 1 << 20 && lj_frame_link(&s->lj, base - 8, &link) && link == pc) {
		s->pc = 0;
		return true;
	}
	/* C is about to call a function: rbx is the link to be. */
	if (pc < 1 << 20 && (pc & 3) == LJ_C) {
		s->left = true;
		return true;
	}
	/* Likewise for a metamethod; the pc was saved before. */
	if (pc < 1 << 20 && saved_pc(s, &s->pc) &&
	    pc_usable(&s->lj, &pt, &s->pc))
		return true;
	/* Being called or returned from: the caller stands at pc. */
	if (type == LJ_LUA && link == pc) {
		s->frame = before;
		s->pc = pc;
		return true;
	}
	return top_calls(s, base, pc);
}

/*
 * By registers of the interpreter.  While it calls a C function that can neither fail nor collect
 * garbage, the base waits in rbp.  False: all that matters is in memory.
 */
static bool top_by_registers(struct stack *s, const struct symbols_regs *regs)
{
	static const uint8_t holds_base[] = { SYMBOLS_RDX, SYMBOLS_RBP };

	for (unsigned i = 0; i < 2; i++)
		if ((regs->known & 1u << holds_base[i]) &&
		    top_at(s, regs->r[holds_base[i]], regs->r[SYMBOLS_RBX]))
			return true;
	return top_left(s, regs);
}

static void top_by_memory(struct stack *s, const struct symbols_regs *regs)
{
	struct lj_function fn;
	struct lj_proto pt;
	uint64_t saved = 0;

	s->pc = 0;
	saved_pc(s, &saved);
	if (!lj_function_at(&s->lj, s->frame, &fn)) {
		/* Results of one of the language's own may lie over its link, too. */
		if (!top_returns(s, s->frame))
			top_calls(s, s->frame + 8, saved);
		return;
	}
	if (fn.ffid || !lj_proto_read(&s->lj, fn.proto, &pt))
		return;
	s->pc = saved;
	/* The register is nearer than what was saved for errors, but it may be in another use. */
	if (regs->known & 1u << SYMBOLS_RBX && lj_proto_has(&pt, regs->r[SYMBOLS_RBX]) &&
	    regs->r[SYMBOLS_RBX] > pt.bytecode)
		s->pc = regs->r[SYMBOLS_RBX];
}

/* Frames of a snapshot.  False: there is no more room, or the trace says nothing. */
static bool walk_snapshot(struct stack *s, const struct lj_trace *t, unsigned snapshot,
			  uint64_t base)
{
	struct lj_inlined in[LJ_INLINED];
	unsigned n = lj_snapshot_frames(&s->lj, t, snapshot, base, in);

	if (!n) {
		s->w->stack->why = GUESTS_TRACE;
		return false;
	}
	s->base = base;
	s->snapshot = snapshot;
	for (unsigned i = 0; i < n; i++) {
		enum guests_kind kind = i + 1 < n ? GUESTS_INLINED : GUESTS_TRACE_FRAME;
		const char *name = NULL;
		struct lj_proto pt;
		uint64_t before, pc;
		unsigned type;

		unsigned by = i + 1;	/* what called it */

		if (by < n && in[by].hidden)
			by++;
		if (in[by - 1].by_lua && by < n && lj_proto_read(&s->lj, in[by].proto, &pt)) {
			name = lj_called(&s->lj, &pt, in[by].pc);
		} else if (i + 1 == n) {
			before = frame_before(s, base - 8, &type, &pc);
			name = name_by_link(s, before, type, pc);
		}
		if (in[i].hidden)
			continue;
		if (in[i].proto) {
			if (!emit_lua(s, kind, in[i].proto, in[i].pc, in[i].function, in[i].frame,
				      name))
				return false;
		} else {
			struct lj_function fn = { 0 };
			struct guests_frame f = { .kind = GUESTS_BUILTIN, .function = name,
						  .function_object = in[i].function,
						  .trace = s->trace };

			if (lj_function_read(&s->lj, in[i].function, &fn))
				f.address = fn.c;
			if (!emit(s, &f))
				return false;
		}
	}
	s->frame = base - 8;
	return true;
}

static uint64_t trace_base(struct stack *s)
{
	uint64_t base = 0;

	if (s->fresh && s->innermost && lj_ref(&s->lj, s->lj.G + s->lj.y->jit_base, &base) &&
	    frame_is_sane(s, base - 8))
		return base;
	return s->frame + 8;
}

static void trace_is(struct stack *s, const struct lj_trace *t)
{
	struct guests_stack *st = s->w->stack;
	struct lj_proto pt;

	s->trace = t->traceno;
	if (st->trace || !s->innermost)
		return;
	st->trace = t->traceno;
	if (lj_proto_read(&s->lj, t->startpt, &pt)) {
		st->trace_file = lj_chunk(&s->lj, &pt);
		st->trace_line = lj_line(&s->lj, &pt, t->startpc + 4);
		st->trace_link = lj_trace_text(&s->lj, t);
	}
}

/* The snapshot by which a trace was left, while the interpreter's frames are not yet restored. */
static bool exit_snapshot(struct stack *s, struct lj_trace *t, unsigned *ret)
{
	const struct lj_code *code = s->lj.code;
	uint64_t dispatch = s->lj.G + s->lj.y->dispatch, saved, pc;
	uint32_t parent, exitno;
	unsigned base;

	if (!mem_u32(s->lj.g, dispatch + (uint64_t)(int64_t)code->parent_disp, &parent) ||
	    !mem_u32(s->lj.g, dispatch + (uint64_t)(int64_t)code->exitno_disp, &exitno) ||
	    !lj_trace_read(&s->lj, parent, t) || exitno >= t->nsnap)
		return false;
	*ret = exitno;
	if (!lj_snapshot_pc(&s->lj, t, exitno, &pc, &base) || !saved_pc(s, &saved))
		return false;
	/* The pc is saved before the slots are written; the base moves last. */
	if (saved != pc + 4)
		return true;
	if (base) {
		struct lj_function fn;
		struct lj_proto pt;

		return !lj_function_at(&s->lj, s->frame, &fn) || fn.ffid ||
		       !lj_proto_read(&s->lj, fn.proto, &pt) || !lj_proto_has(&pt, pc);
	}
	return false;
}

/* In the exit handler before it has stored which exit: it is in the pushed bytes, or in eax. */
static bool exit_early(struct stack *s, const struct symbols_regs *regs, struct lj_trace *t,
		       unsigned *ret)
{
	const struct lj_code *code = s->lj.code;
	uint64_t pc = regs->r[SYMBOLS_RIP], frame = regs->r[SYMBOLS_RSP] + 16, at = code->exit;
	uint32_t number = s->vmstate > 0 ? (uint32_t)s->vmstate
					 : (uint32_t)regs->r[SYMBOLS_RCX];
	uint8_t b, lo, hi;

	if (pc < code->exit || pc >= code->exit_stored || !lj_trace_read(&s->lj, number, t))
		return false;
	for (; at < pc && mem_u8(s->lj.g, at, &b); at++) {
		if (b == 0x48) {		/* lea: 5 bytes */
			at += 4;
			continue;
		}
		if (b == 0x0f)
			break;
		if (b != 0x41)
			frame += 8;
	}
	if (pc >= code->exit + 0x20 && !(mem_u8(s->lj.g, frame - 8, &lo) &&
					  s->vmstate > 0 && pc < code->exit + 0x24)) {
		*ret = (uint32_t)regs->r[SYMBOLS_RAX] & 0xffff;
		return *ret < t->nsnap;
	}
	if (!mem_u8(s->lj.g, frame - 8, &lo) || !mem_u8(s->lj.g, frame - 16, &hi))
		return false;
	*ret = lo | (unsigned)hi << 8;
	return *ret < t->nsnap;
}

/* ---- a native frame -------------------------------------------------------------------------- */

/* Sets s up for a native frame.  False: it is none of a machine. */
static bool host_enter(struct stack *s, size_t host)
{
	uint64_t cfa = s->w->pc[host].cfa, rsp = s->w->host[host].regs.r[SYMBOLS_RSP], L, cf;
	const struct lj_shape *sh;
	uint64_t old = s->lj.G;

	/* an entry or an end, a leaf function: no frame there */
	if (cfa - rsp < s->lj.code->cframe ||
	    !lj_vm_of_cframe(&s->lj, cfa - s->lj.code->cframe, &L))
		return false;
	sh = s->lj.y->shape;
	/* Not linked yet, or no more: what it runs is still in C's frames. */
	if ((L != s->L || !s->frame) &&
	    (!mem_u64(s->lj.g, L + sh->L.cframe, &cf) || (cf & ~3ull) != cfa - s->lj.code->cframe))
		return false;
	if (s->lj.G != old || !s->vm) {
		s->vm = vm_at(s->lj.g, GUESTS_LUAJIT, s->lj.G);
		s->innermost = true;
		if (s->vm) {
			s->vm->name = s->lj.y->name;
			s->vm->main = s->lj.main;
		}
		mem_u32(s->lj.g, s->lj.G + s->lj.y->vmstate, (uint32_t *)&s->vmstate);
	}
	s->host = host;
	s->cframe = cfa - s->lj.code->cframe;
	s->fresh = L != s->L || !s->frame;
	s->trace = 0;
	if (s->fresh) {
		s->L = L;
		s->hidden = false;
		if (!lj_ref(&s->lj, L + sh->L.stack, &s->bottom) ||
		    !lj_ref(&s->lj, L + sh->L.maxstack, &s->top) ||
		    !mem_u64(s->lj.g, L + sh->L.base, &s->frame))
			return false;
		if (!s->bottom || s->frame <= s->bottom)
			return false;	/* it is being made */
		s->top += 4096;		/* slots for errors, and of a function that is called */
		s->frame -= 8;
		s->pc = 0;
	}
	return true;
}

/* A protected call of C code inside the machine, without any Lua frame of its own. */
static bool host_is_empty(const struct stack *s)
{
	int32_t nres;

	return mem_u32(s->lj.g, s->cframe + s->lj.y->shape->cf.nres, (uint32_t *)&nres) &&
	       nres < 0 &&
	       s->frame < s->bottom + (uint64_t)-(int64_t)nres;
}

/* Frames in machine code.  False: the walk is over. */
static bool host_trace(struct stack *s, uint64_t pc)
{
	int stub = lj_exit_stub(&s->lj, pc);
	struct lj_trace t;
	unsigned snapshot;

	if (stub >= 0) {
		if (!lj_trace_read(&s->lj, (uint32_t)s->vmstate, &t) || stub >= t.nsnap) {
			s->w->stack->why = GUESTS_TRACE;
			return false;
		}
		snapshot = (unsigned)stub;
	} else if (lj_trace_at(&s->lj, pc, &t)) {
		snapshot = lj_snapshot_at(&s->lj, &t, (uint32_t)(pc - t.mcode));
	} else {
		s->w->stack->why = GUESTS_TRACE;
		return false;
	}
	trace_is(s, &t);
	return walk_snapshot(s, &t, snapshot, trace_base(s)) && walk_frames(s, true);
}

static bool host_interpreter(struct stack *s, const struct symbols_regs *regs)
{
	const struct lj_code *code = s->lj.code;
	uint64_t pc = regs->r[SYMBOLS_RIP];
	bool in_exit = code->exit && pc - code->exit <= code->exit_end - code->exit;
	struct lj_trace t;
	unsigned snapshot;

	if (in_exit && s->innermost &&
	    (s->host == 0 && pc < code->exit_stored ? exit_early(s, regs, &t, &snapshot)
						    : exit_snapshot(s, &t, &snapshot))) {
		trace_is(s, &t);
		return walk_snapshot(s, &t, snapshot, trace_base(s)) && walk_frames(s, true);
	}
	if (!s->innermost || in_exit || !top_by_registers(s, regs))
		top_by_memory(s, regs);
	if (s->left) {
		s->left = false;
		return true;
	}
	return walk_frames(s, false);
}

static enum guests_state state_of(struct stack *s, const struct walk *w)
{
	static const enum guests_state state[VM_STATES] = {
		GUESTS_STATE_INTERP, GUESTS_STATE_C,	    GUESTS_STATE_GC,
		GUESTS_STATE_EXIT,   GUESTS_STATE_RECORD,   GUESTS_STATE_OPTIMIZE,
		GUESTS_STATE_ASSEMBLE,
	};
	static const enum guests_state forked[] = {
		GUESTS_STATE_INTERP, GUESTS_STATE_INTERP,   GUESTS_STATE_BUILTIN,
		GUESTS_STATE_C,	     GUESTS_STATE_GC,	    GUESTS_STATE_EXIT,
		GUESTS_STATE_RECORD, GUESTS_STATE_OPTIMIZE, GUESTS_STATE_ASSEMBLE,
	};
	unsigned n = ~(unsigned)s->vmstate;

	if (s->vmstate > 0)
		return s->host && w->host[0].code < 0 &&
				       symbols_module_at(s->lj.g->o.symbols, w->pc[0].pc,
							 &(uint64_t){ 0 })
			       ? GUESTS_STATE_C
			       : GUESTS_STATE_TRACE;
	if (s->lj.y->fork)
		return n < sizeof(forked) / sizeof(*forked) ? forked[n] : GUESTS_STATE_UNKNOWN;
	return n < VM_STATES ? state[n] : GUESTS_STATE_UNKNOWN;
}

/* The interpreter's and C's states are coarse: the top function tells. */
static enum guests_state refine(enum guests_state state, const struct lj_function *top)
{
	if (state != GUESTS_STATE_INTERP && state != GUESTS_STATE_C)
		return state;
	return top->ffid == 1	? GUESTS_STATE_C
	       : top->ffid > 1 ? GUESTS_STATE_BUILTIN
			       : GUESTS_STATE_INTERP;
}

/* Sets where the Lua stack is, for callers that do not unwind: by the base that is valid now. */
static void chain_set(const struct stack *s)
{
	const struct lj_shape *sh = s->lj.y->shape;
	struct guests_chain *chain = &s->w->stack->chain;
	uint64_t base = 0;

	*chain = (struct guests_chain){ .root = s->cframe + sh->cf.L,
					.pre = sh->L.base,
					.luajit = true,
					.gc32 = lj_is_gc32(&s->lj),
					.pc = s->cframe + sh->cf.pc };
	if (s->trace && lj_ref(&s->lj, s->lj.G + s->lj.y->jit_base, &base) &&
	    frame_is_sane(s, base - 8)) {
		chain->root = s->lj.G + s->lj.y->jit_base;
		chain->pre = -1;
	}
}

static bool host_walk(struct stack *s, struct walk *w, size_t i, bool interpreter)
{
	bool first = s->innermost;
	size_t before = s->lj.g->guests;
	enum guests_state state = first ? state_of(s, w) : GUESTS_STATE_UNKNOWN;
	bool ok;

	if (first && state == GUESTS_STATE_GC) {
		struct guests_frame gc = { .kind = GUESTS_GC_FRAME,
					   .function = string_intern(s->lj.g, "GC", 2) };

		emit(s, &gc);
		s->innermost = true;
		before++;
	}
	ok = interpreter ? host_interpreter(s, &w->host[i].regs) : host_trace(s, w->pc[i].lookup);
	if (first && !w->stack->vm) {
		struct lj_function top = { 0 };

		if (s->lj.g->guests > before)
			lj_function_read(&s->lj, s->lj.g->guest[before].function_object, &top);
		w->stack->vm = s->vm;
		w->stack->state = refine(state, &top);
		chain_set(s);
	}
	return ok;
}

/* Does that native frame of the interpreter run a machine whose references have 32 bits? */
static bool host_is_gc32(struct guests *g, const struct symbols_regs *regs)
{
	uint32_t L, G;
	uint8_t gct;

	return mem_u32(g, regs->r[SYMBOLS_RSP] + lj_gc32.cf.L, &L) && L && !(L & 7) &&
	       mem_u8(g, (uint64_t)L + lj_gc32.gct, &gct) && gct == LJ_T_THREAD &&
	       mem_u32(g, (uint64_t)L + lj_gc32.L.glref, &G) && G && !(G & 7) &&
	       mem_u8(g, G, &gct);
}

static void unwind(struct guests *g, struct code *c, struct walk *w)
{
	struct lj_code *code = c->data;
	struct stack s = { .lj = { .g = g, .code = code }, .w = w, .innermost = true };
	bool seen = false, made = false;
	uint64_t bias;

	for (size_t i = 0; i < w->hosts; i++) {
		bool interpreter = w->pc[i].lookup - code->start < code->end - code->start;

		seen |= interpreter;

		if (!interpreter && (w->host[i].code >= 0 ||
				     symbols_module_at(g->o.symbols, w->pc[i].lookup, &bias)))
			continue;
		made |= !interpreter;
		code->gc32 |= interpreter && host_is_gc32(g, &w->host[i].regs);
		if (!host_enter(&s, i))
			continue;
		s.vm->module = c->module;
		walk_machinery(g, i);
		if (interpreter && host_is_empty(&s))
			continue;
		/* one coroutine's calls are a list */
		if (s.fresh && g->guests && w->stack->vm == s.vm && !w->stack->chain.frames)
			w->stack->chain.frames = g->guests;
		if (!host_walk(&s, w, i, interpreter))
			return;
	}
	if (!s.vm && (seen || (made && code->gc32)))
		w->stack->why = code->gc32 ? GUESTS_GC32 : GUESTS_STARTING;
	if (s.vm && s.frame > frame_first(&s) && w->stack->why == GUESTS_COMPLETE)
		w->stack->why = GUESTS_HOST;
}

const struct machine luajit_machine = { .language = GUESTS_LUAJIT,
				.examine = lj_examine, .unwind = unwind, .step = lj_step,
					.locals = lj_locals, .global = lj_global,
					.value = lj_value };
