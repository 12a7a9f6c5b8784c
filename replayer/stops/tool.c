/*
 * tool.c - the room as a tool of the machine: what is asked of it while a task runs, and in the
 * address spaces of tasks.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/machine/run.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/page_watch.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/stops.h"
#include "replayer/stops/written_code.h"

/* ---- around a run ---------------------------------------------------------------------------- */

static struct err *before_run(struct replay *r, struct rp_task *t, int *request)
{
	return stops_of(r) ? rp_debug_before(r, t, request) : NULL;
}

static void after_stop(struct replay *r, struct rp_task *t, int status)
{
	if (!stops_of(r))
		return;
	dual_leave(t);
	if (!stops_mm(t->mm)->inprocess_n)
		return;
	if (tracee_stop_kind(status) == STOP_SIGNAL)
		inprocess_leave(t);
	else
		inprocess_interrupted(t);
}

/* Behind an int3 of ours, which may be in a stub of the buffer. */
static bool keeps_place(const struct replay *r, const struct rp_task *t, int status)
{
	return stops_of(r) && WSTOPSIG(status) == SIGTRAP && rp_int3_hit(t);
}

static void on_call(struct replay *r, struct rp_task *t)
{
	if (stops_of(r) && stops_of(r)->leaving)
		rp_debug_left(r, t);
}

static bool on_hook_end(struct replay *r, struct rp_task *t)
{
	return stops_of(r) && stops_of(r)->leaving && rp_debug_left_by_us(r, t);
}

static struct err *on_interrupt(struct replay *r, struct rp_task *t, enum run_verdict *ret)
{
	bool end = false;

	if (!stops_of(r))
		return NULL;
	TRY(rp_debug_pause(r, t, &end));
	*ret = RUN_GO_ON;
	if (end && rp_debug_leave(r, t, false))
		return NULL;
	if (end || stops_of(r)->trapped)
		*ret = RUN_STOP;
	return NULL;
}

static struct err *on_signal(struct replay *r, struct rp_task *t, siginfo_t *info, bool ours,
			     enum run_verdict *ret)
{
	if (!stops_of(r))
		return NULL;
	*ret = RUN_GO_ON;
	if ((!ours && dual_fault(r, t, info)) || page_watch_opens(r, t, info))
		return NULL;
	*ret = RUN_NOT_MINE;
	if (!rp_debug_trap(r, t, info))
		return NULL;
	*ret = RUN_GO_ON;
	if (page_watch_passes(r, t) || rp_debug_leave(r, t, stops_of(r)->trapped))
		return NULL;
	*ret = RUN_STOP;
	return NULL;
}

static bool on_unexpected(struct replay *r, struct rp_task *t, const siginfo_t *info, bool grown)
{
	if (!stops_of(r))
		return false;
	if (grown)	/* maybe of an instruction in inprocess.c's copy */
		stops_of(r)->from.counted = stops_of(r)->from.seen = true;
	if (info->si_signo != SIGTRAP ||
	    (info->si_code != TRAP_TRACE && info->si_code != TRAP_BRKPT))
		return false;
	/*
	 * of a step that an interrupt overtook: its flag may have come into the program's flags
	 * through a pushf of a stub, and would trap for ever
	 */
	rp_clear_trace_flag(t);
	t->dirty = true;
	return true;
}

static void forget_stop(struct replay *r)
{
	if (stops_of(r))
		stops_of(r)->trapped = false;
}

/* ---- around a search ------------------------------------------------------------------------- */

static void clear(struct replay *r, struct rp_task *t)
{
	if (stops_of(r))
		rp_debug_clear(r, t);
}

static void remove_code(struct replay *r)
{
	if (stops_of(r))
		rp_int3_out(r);
}

static bool in_the_way(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start,
		       uint64_t end)
{
	return stops_of(r) && rp_debug_in_the_way(r, t, at, start, end);
}

static bool inside(const struct replay *r, const struct rp_task *t)
{
	return stops_of(r) && dual_inside(t);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void hide(const struct rp_mm *mm, uint64_t addr, void *bytes, size_t len)
{
	if (mm->tool[TOOL_STOPS])
		rp_int3_hide(mm, addr, bytes, len);
}

static bool owns(const struct rp_mm *mm, uint64_t addr)
{
	return mm->tool[TOOL_STOPS] && (inprocess_area(mm, addr) || dual_area(mm, addr));
}

struct err *rp_stops_effect(struct rp_task *t, const struct trace_effect *e)
{
	uint64_t at = e->kind == TRACE_MOVE ? e->x : e->addr,
		 len = e->kind == TRACE_MOVE ? e->y : e->len;

	if (e->kind == TRACE_MAP || e->kind == TRACE_MOVE || e->kind == TRACE_UNMAP ||
	    e->kind == TRACE_PROTECT) {
		stops_mm(t->mm)->solid_end = 0;
		rp_written_forget(t->mm, e->addr, e->len);
		dual_forget(t, e->addr, e->len);
	}
	if (e->kind == TRACE_MOVE) {
		rp_written_forget(t->mm, at, len);
		dual_forget(t, at, len);
	}
	if (e->kind != TRACE_MAP && e->kind != TRACE_MOVE && e->kind != TRACE_UNMAP)
		return NULL;
	stops_mm(t->mm)->unchecked.stale = true;
	return rp_tools_make_room(t, at, len);
}

static struct err *effect_begins(struct replay *r, struct rp_task *t, const struct trace_effect *e)
{
	if (!stops_of(r))
		return NULL;
	TRY(rp_stops_effect(t, e));
	page_watch_make_room(r, t, e);
	rp_written_mapped(r, t, e);
	return NULL;
}

static struct err *make_room(struct rp_task *t, uint64_t addr, uint64_t len)
{
	if (!t->mm->tool[TOOL_STOPS])
		return NULL;
	TRY(dual_make_room(t, addr, len));
	return inprocess_make_room(t, addr, len);
}

static void mapped(struct rp_mm *mm)
{
	if (!mm->tool[TOOL_STOPS])
		return;
	stops_mm(mm)->unchecked.stale = true;
	stops_mm(mm)->solid_end = 0;
	rp_written_forget(mm, 0, UINT64_MAX);
}

static bool fixed_code(struct rp_task *t, uint64_t addr)
{
	return t->mm->tool[TOOL_STOPS] && inprocess_solid(t, addr);
}

static void memory_same(struct rp_mm *to, const struct rp_mm *from)
{
	struct stops_mm *a;
	const struct stops_mm *b;

	if (!from->tool[TOOL_STOPS] && !to->tool[TOOL_STOPS])
		return;
	a = stops_mm(to);
	b = stops_mm(from);
	memcpy(a->areas, b->areas, sizeof(a->areas));
	memcpy(a->dual_area, b->dual_area, sizeof(a->dual_area));
	a->unchecked = b->unchecked;
	memcpy(a->open, b->open, sizeof(a->open));
	a->open_n = b->open_n;
}

/* Areas are mapped in a copy, too; stubs are made anew. */
static void memory_copied(struct rp_mm *copy, const struct rp_mm *mm)
{
	if (!mm->tool[TOOL_STOPS])
		return;
	dual_copy(copy, mm);
	inprocess_forget(copy);
}

static void memory_freed(struct rp_mm *mm)
{
	struct stops_mm *s = mm->tool[TOOL_STOPS];

	if (!s)
		return;
	free(s->int3);
	free(s->inprocess);
	free(s->carried);
	free(s->page_watch);
	dual_free(mm);
	free(s);
	mm->tool[TOOL_STOPS] = NULL;
}

/* ---- for a replay ---------------------------------------------------------------------------- */

static void stops_close(struct replay *r)
{
	struct stops *stops = stops_of(r);

	if (!stops)
		return;
	for (unsigned i = 0; i < stops->sets_n; i++) {
		free(stops->sets[i]->b);
		free(stops->sets[i]);
	}
	free(stops->sets);
	for (unsigned i = 0; i < stops->conds_n; i++)
		free(stops->conds[i].bytes);
	free(stops->conds);
	free(stops->silent);
	free(stops->log);
	free(stops);
	r->tool[TOOL_STOPS] = NULL;
}

static const struct run_ops stops_ops = {
	.watches = true,
	.before_run = before_run,
	.after_stop = after_stop,
	.keeps_place = keeps_place,
	.on_call = on_call,
	.on_hook_end = on_hook_end,
	.on_interrupt = on_interrupt,
	.on_signal = on_signal,
	.on_unexpected = on_unexpected,
	.forget_stop = forget_stop,
	.clear = clear,
	.remove_code = remove_code,
	.remove_code_from = rp_int3_out_mm,
	.in_the_way = in_the_way,
	.inside = inside,
	.hide = hide,
	.owns = owns,
	.effect_begins = effect_begins,
	.make_room = make_room,
	.mapped = mapped,
	.fixed_code = fixed_code,
	.memory_same = memory_same,
	.memory_copied = memory_copied,
	.memory_freed = memory_freed,
	.close = stops_close,
};

struct err *rp_stops_open(struct replay *r)
{
	struct stops *stops = calloc(1, sizeof(*stops));

	if (!stops)
		return &err_nomem;
	rp_tool_register(TOOL_STOPS, &stops_ops);
	r->tool[TOOL_STOPS] = stops;
	rp_set_intern(r, NULL, 0);
	return NULL;
}
