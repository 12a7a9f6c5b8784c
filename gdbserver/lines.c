/*
 * lines.c - backwards by lines, over a loop that is one line, in one move.
 *
 * gdb steps back over a line instruction by instruction, a millisecond each, until it is where the
 * line begins, or outside it. cmd/commands.py says which lines there are in the function (gdb's own
 * ranges of addresses), and that a step by lines begins. When gdb has asked for many instructions
 * of one line, it gets all that are left at once: back to the last place from which the program
 * came into the line.  Such are
 *
 *   where the line begins: gdb stops there itself;
 *   jumps elsewhere in the function that lead into it, and jumps that may lead anywhere;
 *   for reverse-step, where calls in the line come back to: what was called is stepped into.
 *
 * Breakpoints there have the condition that no more is on the stack than was at the instructions
 * seen so far: calls of the function itself, from the line, are no such places (unless the function
 * has arrays of variable length on the stack: then nothing is known of it). For reverse-next a step
 * back onto a return goes on to the call in the same way: gdb would wait at the beginning of the
 * function, and knows no beginning of one without a name.
 *
 * One may come into a line in other ways (longjmp, an exception's landing).  Then the last place of
 * these is one from before the line was left; so breakpoints are where it can be left to, too, and
 * when one of them comes last gdb steps as before.
 *
 * To stop too early is no harm: gdb looks where it is, and goes on.
 */
#include <capstone/capstone.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "gdbserver/internal.h"
#include "x86/decode.h"

enum { PATIENCE = 24, CODE_MAX = 1 << 18, WAYS_MAX = 400, OTHERS_MAX = 64, TABLES_MAX = 256 };

struct line_table {
	int pid;
	uint64_t start, size;
	unsigned n;
	uint32_t *len;		/* of each line, one after the other; NOT_ONE: it has no number */
};
#define NOT_ONE 0x80000000u

static struct line_table *find_table(struct server *s, int pid, uint64_t start)
{
	for (unsigned i = 0; i < s->lines.tables_n; i++) {
		if (s->lines.table[i].pid == pid && s->lines.table[i].start == start)
			return &s->lines.table[i];
	}
	return NULL;
}

static bool parse_table(const char *p, struct line_table *t)
{
	uint64_t len;

	if (!parse_hex(&p, &t->start) || !parse_char(&p, ' '))
		return false;
	t->len = alloc_zeroed(strlen(p) + 1, sizeof(*t->len), "lines");
	while (*p) {
		bool none = parse_char(&p, '-');

		if (!parse_hex(&p, &len) || !len || len > CODE_MAX)
			break;
		t->size += len;
		t->len[t->n++] = (uint32_t)len | (none ? NOT_ONE : 0);
		if (!parse_char(&p, ','))
			break;
	}
	if (*p)
		free(t->len);
	return !*p;
}

/* "START LENGTH,-LENGTH...", all hex: of a function of the thread being read. */
bool lines_table(struct server *s, const char *p)
{
	struct line_table t = { 0 }, *old;
	struct replay_task task;

	if (!target_task(s, thread_to_read(s), &task) || !parse_table(p, &t))
		return false;
	t.pid = task.pid;
	old = find_table(s, t.pid, t.start);
	if (!old && s->lines.tables_n == TABLES_MAX) {	/* all are told again */
		free(t.len);
		lines_deinit(s);
		return false;
	}
	if (!s->lines.table)
		s->lines.table = alloc_zeroed(TABLES_MAX, sizeof(t), "lines");
	if (!old)
		old = &s->lines.table[s->lines.tables_n++];
	free(old->len);
	*old = t;
	return true;
}

void lines_deinit(struct server *s)
{
	for (unsigned i = 0; i < s->lines.tables_n; i++)
		free(s->lines.table[i].len);
	free(s->lines.table);
	s->lines.table = NULL;
	s->lines.tables_n = 0;
}

void lines_mode(struct server *s, enum lines_mode mode)
{
	s->lines.mode = mode;
	s->lines.asked = 0;
	s->lines.start = s->lines.end = s->lines.refused = 0;
}

/* The line at pc. */
static bool line_at(struct server *s, int pid, uint64_t pc)
{
	struct lines *l = &s->lines;

	if (pc >= l->start && pc < l->end)
		return true;
	l->asked = 0;
	for (unsigned i = l->tables_n; i--;) {
		const struct line_table *t = &l->table[i];
		uint64_t at = t->start;

		if (t->pid != pid || pc - at >= t->size)
			continue;
		l->function = t->start;
		l->function_end = t->start + t->size;
		for (unsigned k = 0; k < t->n; at += t->len[k++] & ~NOT_ONE) {
			l->start = at;
			l->end = at + (t->len[k] & ~NOT_ONE);
			if (pc < l->end)
				return !(t->len[k] & NOT_ONE);
		}
	}
	l->start = l->end = 0;
	return false;
}

/* ---- ways into a line, and out of it --------------------------------------------------------- */

struct ways {
	struct replay_break b[WAYS_MAX];
	bool out[WAYS_MAX];
	unsigned n;
	bool whole;		/* all there is room for */
	bool dynamic;		/* the function takes stack as it goes */
	int pid;
	const struct lines *l;
};

static void add(struct ways *w, uint64_t addr, bool out)
{
	for (unsigned i = 0; i < w->n; i++) {
		if (w->b[i].addr == addr) {
			w->out[i] &= out;
			return;
		}
	}
	if (w->n == WAYS_MAX) {
		w->whole = false;
		return;
	}
	w->out[w->n] = out;
	w->b[w->n++] = (struct replay_break){
		.kind = REPLAY_BREAK, .pid = w->pid, .addr = addr, .len = 1
	};
}

static void look_at(void *ctx, csh cs, const cs_insn *insn)
{
	struct ways *w = ctx;
	const struct lines *l = w->l;
	bool within = insn->address >= l->start && insn->address < l->end;
	bool direct =
		insn->detail->x86.op_count && insn->detail->x86.operands[0].type == X86_OP_IMM;
	uint64_t to = direct ? (uint64_t)insn->detail->x86.operands[0].imm : 0;

	w->dynamic |= insn->id == X86_INS_SUB && insn->detail->x86.operands[0].reg == X86_REG_RSP &&
		      insn->detail->x86.operands[1].type == X86_OP_REG;
	if (cs_insn_group(cs, insn, CS_GRP_CALL) && within && l->mode == LINES_STEP)
		add(w, insn->address + insn->size, false);
	if (!cs_insn_group(cs, insn, CS_GRP_JUMP))
		return;
	if (!within && (!direct || (to > l->start && to < l->end)))
		add(w, insn->address, false);
	if (within && direct && (to < l->start || to >= l->end))
		add(w, to, true);
}

typedef void look_fn(void *ctx, csh cs, const cs_insn *insn);

/* At each instruction of the function; false: that cannot be done. */
static bool decode(struct server *s, int tid, look_fn *look, void *ctx)
{
	uint64_t at = s->lines.function;
	size_t len = s->lines.function_end - at;
	csh cs = decoder();
	cs_insn *insn = cs ? cs_malloc(cs) : NULL;
	uint8_t *code = len <= CODE_MAX ? malloc(len + 1) : NULL;
	const uint8_t *p = code;
	bool good = insn && code && replay_memory(s->r, tid, at, code, len) == len;

	while (good && len) {
		good = cs_disasm_iter(cs, &p, &len, &at, insn);
		if (good)
			look(ctx, cs, insn);
	}
	if (insn)
		cs_free(insn, 1);
	free(code);
	return good;
}

static bool find_ways(struct server *s, int tid, struct ways *w)
{
	w->whole = true;
	add(w, w->l->start, false);
	if (w->l->end < w->l->function_end)
		add(w, w->l->end, true);
	return decode(s, tid, look_at, w) && w->whole;
}

struct callees { struct server *s; int pid; struct reply *o; };

static void look_for_call(void *ctx, csh cs, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	const struct callees *c = ctx;

	if (cs_insn_group(cs, insn, CS_GRP_CALL) && insn->detail->x86.op_count &&
	    op->type == X86_OP_IMM && !find_table(c->s, c->pid, (uint64_t)op->imm))
		reply_text(c->o, "%" PRIx64 "\n", (uint64_t)op->imm);
}

/*
 * Functions that the present one calls, and whose lines are not known: reverse-step may step into
 * one.
 */
void lines_wanted(struct server *s, struct reply *o)
{
	struct callees c = { .s = s, .o = o };
	struct replay_task task;
	struct regs regs;
	struct err *err;

	if (!target_task(s, thread_to_read(s), &task))
		return;
	err = replay_regs(s->r, task.tid, &regs);
	c.pid = task.pid;
	if (!err && line_at(s, task.pid, regs.rip))
		decode(s, task.tid, look_for_call, &c);
	err_free(err);
}

/* ---- the move -------------------------------------------------------------------------------- */

static int way_at(const struct ways *w, uint64_t addr)
{
	for (unsigned i = 0; i < w->n; i++) {
		if (w->b[i].addr == addr)
			return (int)i;
	}
	return -1;
}

static struct err *back_to_a_way(struct server *s, int tid, uint64_t rsp, const struct ways *w,
				 struct replay_stop *stop, bool *good)
{
	for (unsigned others = 0; others < OTHERS_MAX; others++) {
		struct regs regs;
		int way;

		TRY(replay_backward(s->r, stop));
		*good = stop->kind != REPLAY_STOP_BEGIN && stop->kind != REPLAY_STOP_BREAK;
		if (stop->kind != REPLAY_STOP_BREAK)
			return NULL;
		TRY(replay_regs(s->r, replay_current(s->r), &regs));
		way = way_at(w, regs.rip);
		/* the user's, or gdb's for longjmp: for gdb to meet in its own way */
		if (callee_is_set(s, regs.rip) || way < 0)
			return NULL;
		if (replay_current(s->r) != tid || regs.rsp < rsp)
			continue;
		*good = !w->out[way];
		stop->kind = REPLAY_STOP_STEP;
		return NULL;
	}
	*good = false;
	return NULL;
}

/*
 * Back to a way, with at least (or just) so much stack; *done false: there is none, and nothing has
 * moved.
 */
static struct err *go_back(struct server *s, int tid, uint64_t rsp, bool same, const struct ways *w,
			   struct replay_stop *stop, bool *done)
{
	unsigned condition, had = s->breaks_n;
	struct replay_point *here;
	struct err *err;

	*done = false;
	if (had + w->n > BREAKS_MAX)
		return NULL;
	here = replay_point_here(s->r);
	condition = callee_condition(s, tid, true, rsp, same);
	for (unsigned i = 0; i < w->n; i++) {
		s->breaks[had + i] = w->b[i];
		s->breaks[had + i].cond = condition;
	}
	s->breaks_n = had + w->n;
	err = process_breaks(s);
	s->breaks_n = had;
	if (!err)
		err = back_to_a_way(s, tid, rsp, w, stop, done);
	err_free(process_breaks(s));
	if (!err && !*done)
		err = replay_point_go(s->r, here, stop);
	replay_point_drop(here);
	return err;
}

struct err *lines_back(struct server *s, int tid, struct replay_stop *stop, bool *done)
{
	struct lines *l = &s->lines;
	static struct ways w;
	struct replay_task task;
	struct regs regs;
	bool good;
	int way;

	*done = false;
	if (!l->mode || !target_task(s, tid, &task))
		return NULL;
	TRY(replay_regs(s->r, tid, &regs));
	if (!line_at(s, task.pid, regs.rip) || regs.rip == l->start || l->start == l->refused)
		return NULL;
	if (!l->asked || regs.rsp < l->lowest)
		l->lowest = regs.rsp;
	if (l->asked++ < PATIENCE)
		return NULL;
	w = (struct ways){ .l = l, .pid = task.pid };
	good = find_ways(s, tid, &w);
	way = way_at(&w, regs.rip);
	if (good && way >= 0 && !w.out[way])	/* into what was called: one step */
		return NULL;
	if (good)
		TRY(go_back(s, tid, w.dynamic ? 0 : l->lowest, false, &w, stop, done));
	if (!*done)
		l->refused = l->start;
	return NULL;
}

struct err *lines_over_call(struct server *s, int tid, const struct regs *from,
			    struct replay_stop *stop)
{
	struct replay_task task;
	static struct ways w;
	uint64_t call;
	bool done;

	if (s->lines.mode != LINES_NEXT || !s->callee.returns || s->callee.rsp + 8 != from->rsp ||
	    !target_task(s, tid, &task))
		return NULL;
	call = callee_call_before(s, tid, from->rip);
	if (!call)
		return NULL;
	w = (struct ways){ .l = &s->lines, .pid = task.pid };
	add(&w, call, false);
	TRY(go_back(s, tid, from->rsp, true, &w, stop, &done));
	if (done)
		callee_user_stop(s);
	else
		stop->kind = REPLAY_STOP_STEP;
	return NULL;
}
